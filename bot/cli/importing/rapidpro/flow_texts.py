"""The texts of an imported flow, in the words of the new bot, and the names that all flows share."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from bot.cli.importing.imported import ImportedBot, name_of
from bot.cli.importing.rapidpro.expressions import Excellent, ExpressionWriter, Untranslatable
from bot.cli.importing.rapidpro.reading import Data, RapidProExport, RapidProFlow, RapidProNode, language_of
from bot.cli.importing.rapidpro.scopes import ContactFields, FlowScope, label_of
from bot.core.immutable import mutable
from bot.core.lazy_patterns import lazy_pattern

_PRIVATE = lazy_pattern(
    r"https?://((?:localhost|127\.[\d.]+|10\.[\d.]+|192\.168\.[\d.]+|172\.(?:1[6-9]|2\d|3[01])\.[\d.]+"
    r"|[\w-]+\.(?:local|internal))"
    r"(?::\d+)?)(?=[/?]|$)"
)


@mutable
class NodeNotes:
    """The differences at a node: notes of what is nearly the same, and of what is lost."""

    nearly: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


class BotNames:
    """The names that all flows of a bot share."""

    def __init__(self, export: RapidProExport, bot: ImportedBot) -> None:
        self.export = export
        self.bot = bot
        self.fields = ContactFields(export)
        self.scopes = {uuid: FlowScope(flow, self.fields) for uuid, flow in export.flows.items()}
        self.flows: dict[str, str] = {}
        for uuid, flow in export.flows.items():
            self.flows[uuid] = name_of(flow.name, self.flows.values(), "flow")
        flows = list(export.flows.values())
        ((usual, _),) = Counter(flow.language for flow in flows).most_common(1)
        codes = [usual, *(code for flow in flows for code in (flow.language, *flow.localization))]
        self.languages = list(dict.fromkeys(map(language_of, codes)))
        self.missing: dict[str, str] = {}
        self.handlers: dict[str, str] = {}  # the functions that are still to be written, by the JSON of their actions
        by_query = any(each.get("query") for each in export.assets.get("groups", ()) if isinstance(each, Mapping))
        self.group_flow = name_of("update groups", self.flows.values()) if by_query else ""

    def flow_name(self, reference: Data) -> str:
        """Return the name of a flow that another one enters; one that the export lacks gets a stub."""
        uuid = str(reference.get("uuid") or reference.get("name"))
        if uuid not in self.flows:
            title = str(reference.get("name") or uuid)
            self.flows[uuid] = name_of(title, self.flows.values(), "flow")
            self.missing[uuid] = title
        return self.flows[uuid]

    def service_address(self, url: str) -> str:
        """Return an address as an http step has it: that of a private network belongs to a service of `bot.yml`."""
        found = _PRIVATE.match(url)
        if found is None:
            return url
        services = self.bot.settings.setdefault("http", {})
        known = (name for name, service in services.items() if service["base"] == found[0])
        name = next(known, None) or name_of(found[1].split(":")[0], services, "host")
        services[name] = {"base": found[0], "allow_private": True}
        rest = url[found.end() :]
        return f"{name}:{rest if rest.startswith('/') else f'/{rest}'}"

    def service_request(self, request: str) -> str:
        """Return a request as conversations answer it: with any query."""
        method, _, url = request.partition(" ")
        return f"{method} {self.service_address(url).partition('?')[0]}"

    @property
    def reads_name(self) -> bool:
        """True if a text reads the contact's name."""
        return "contact.name" in str(self.bot.flows)

    def unwritable(self, original: str) -> str:
        """Add a function for an expression that cannot be translated; return its name."""
        known = (name for name, function in self.bot.functions.items() if function.doc.endswith(f"\n\n{original}"))
        if (name := next(known, None)) is not None:
            return name
        name = name_of(f"original {original}", self.bot.functions, "original")
        return self.bot.untranslatable(name, original, decorator="function")


class FlowTexts:
    """One flow: its variables, the names of its steps, its texts, and what differs at its nodes."""

    def __init__(self, names: BotNames, flow: RapidProFlow) -> None:
        self.names = names
        self.flow = flow
        self.scope = names.scopes[flow.uuid]
        self.notes = {uuid: NodeNotes() for uuid in flow.nodes}
        self.locale: dict[str, dict[str, Any]] = {}
        self.can_fail = False  # the texts since the last step
        self.endless: set[str] = set()  # the nodes that enter a flow which enters them again, without a wait
        self.piles: set[str] = set()  # the nodes that enter a flow which enters this one again
        self.is_run = False  # by another flow, which goes on after it
        self.entries: dict[str, str] = {}
        self.routers: dict[str, str] = {}
        self.taken: set[str] = set()
        for uuid, node in flow.nodes.items():
            self.entries[uuid] = name_of(label_of(node), self.taken)
            self.taken.add(self.entries[uuid])
            if node.waits is not None and node.router is not None:
                title = node.router.get("result_name") or self.entries[uuid]
                self.routers[uuid] = name_of(f"read {title}", self.taken)
                self.taken.add(self.routers[uuid])

    def target(self, uuid: str) -> str:
        """Return the step that a node begins with."""
        return self.entries[uuid] if uuid else "end"

    def writer(self) -> ExpressionWriter:
        """Return a writer of expressions with this flow's variables."""
        return ExpressionWriter(self.scope.written)

    def nearly(self, node: RapidProNode, note: str) -> None:
        """Note a difference at a node."""
        self.notes[node.uuid].nearly.append(note)

    def lost(self, node: RapidProNode, note: str) -> None:
        """Note what has no counterpart at a node."""
        self.notes[node.uuid].lost.append(note)

    def text(self, node: RapidProNode, template: Any) -> str:
        """Return a text of an action with the values of this bot. One that cannot be translated fails."""
        return self._written(node, str(template or ""), "text")

    def value(self, node: RapidProNode, template: Any) -> str:
        """Return the value of a text as an expression."""
        return self._written(node, str(template or ""), "operand")

    def typed(self, node: RapidProNode, template: Any) -> str:
        """Return the value of a single expression, with its type."""
        return self._written(node, str(template or ""), "value")

    def _written(self, node: RapidProNode, template: str, how: str) -> str:
        writer = self.writer()
        try:
            written: str = getattr(writer, how)(template)
        except Untranslatable as reason:
            self.can_fail = True
            self.lost(node, f"{reason} cannot be translated: write the function in handlers.py")
            call = f"{self.names.unwritable(template)}()"
            return f"{{{{ {call} }}}}" if how == "text" else call
        self.notes[node.uuid].nearly += self.scope.remarks
        self.scope.remarks.clear()
        if "legacy_extra" in template:
            self.nearly(node, "what @legacy_extra has of a service's answer is written anew as JSON")
        if writer.can_fail:
            self.can_fail = True
            self.nearly(
                node,
                "where a value is no number, no time or has no such word, RapidPro inserts an empty text; "
                "here the step fails, the operator is told, and the flow goes on",
            )
        return written

    def translated(self, uuid: str, key: str, place: int = 0) -> Iterator[tuple[str, str]]:
        """Yield the translations of a text, by language."""
        own = language_of(self.flow.language)
        return ((each, str(text)) for each, text in self._localized(uuid, key, place) if each != own)

    def base(self, uuid: str, key: str, default: Any, place: int = 0) -> Any:
        """Return a text in the flow's own language; Glific alone has it among the translations."""
        own = language_of(self.flow.language) if self.flow.is_glific else None
        return next((text for each, text in self._localized(uuid, key, place) if each == own), default)

    def _localized(self, uuid: str, key: str, place: int) -> Iterator[tuple[str, Any]]:
        for code, texts in self.flow.localization.items():
            found = (texts.get(uuid) or {}).get(key) or []
            if len(found) > place and found[place]:
                yield language_of(code), found[place]

    def shown(self, node: RapidProNode, template: Any) -> str:
        """Return a value as a text, also where it is a single expression with another type."""
        return f"{{{{ {self.value(node, template)} }}}}" if "@" in str(template) else self.text(node, template)

    def shown_path(self, node: RapidProNode, path: tuple[str, ...]) -> str:
        """Return the value of a path as a text; an empty one where it has no counterpart."""
        try:
            return f"{{{{ {self.writer().shown(Excellent('path', path))} }}}}"
        except Untranslatable as reason:
            self.lost(node, f"{reason} cannot be given to the flow")
            return ""
