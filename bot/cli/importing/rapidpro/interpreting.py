"""The rules of RapidPro: runs flows as goflow does, without the new bot, and makes conversations of their ways."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime
from itertools import zip_longest
from typing import Any

from bot.cli.importing.conversations import SourceMessage
from bot.cli.importing.imported import shortened
from bot.cli.importing.rapidpro import excellent_functions as library
from bot.cli.importing.rapidpro.expressions import FUNCTIONS, Path, Untranslatable, evaluated, parts_of, takes_now
from bot.cli.importing.rapidpro.messages import ROW_TITLE, file_of, message_of
from bot.cli.importing.rapidpro.reading import (
    MEDIA_TESTS,
    Data,
    RapidProExport,
    RapidProFlow,
    RapidProNode,
    action_key,
    language_of,
    result_key,
)
from bot.cli.importing.rapidpro.scopes import place_of, result_names
from bot.core.immutable import mutable

_MOST_STEPS = 100  # of RapidPro without a wait


@mutable
class PlayedRun:
    """A run of a flow: its results, and the node at which it is."""

    flow: RapidProFlow
    node: str
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)  # locals
    visits: dict[str, int] = field(default_factory=dict)
    parent: "PlayedRun | None" = None
    child: "PlayedRun | None" = None
    status: str = "active"


@mutable
class RapidProContact:
    """A contact as RapidPro knows it."""

    number: str = "6281234567890"
    name: str | None = None
    language: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Its address on WhatsApp."""
        return f"whatsapp:{self.number}"


class UnwrittenAction(Exception):
    """The run reaches an action that cannot be played, so the conversation ends before it."""


Choose = Callable[[RapidProFlow, RapidProNode, list[str]], int]
"""Chooses one of the ways out of a node, by their names."""


@mutable
class RapidProSession:
    """The state of a session: the contact, the runs with the newest last, and the newest input and answer."""

    export: RapidProExport
    contact: RapidProContact
    now: datetime
    runs: list[PlayedRun] = field(default_factory=list)
    input: str = ""
    input_kind: str = ""
    input_file: str = ""
    webhook: dict[str, Any] = field(default_factory=lambda: {"json": "", "status": 0, "request": ""})
    extra: dict[str, Any] = field(default_factory=dict)
    params: Any = None
    parent: Mapping[str, Any] = field(default_factory=dict)  # the run of another contact that has started the session


class SessionTexts:
    """The texts and values of a session, as they are now."""

    def __init__(self, session: RapidProSession) -> None:
        self._session = session

    def text(self, template: str) -> str:
        """A text with the values of now; an expression that fails is empty."""
        try:
            parts = parts_of(template)
        except Untranslatable:
            return ""
        said = ""
        for part in parts:
            if isinstance(part, str):
                said += part
                continue
            try:
                said += library.shown(evaluated(part.tree, self.value, self._session.now))
            except (Untranslatable, ValueError, TypeError, ArithmeticError, IndexError, AttributeError, KeyError):
                continue
        return said

    def localized(self, uuid: str, key: str, default: list[Any]) -> list[Any]:
        """Texts in the contact's language, each where the flow has it."""
        flow = self._session.runs[-1].flow
        wanted = language_of(self._session.contact.language or flow.language)
        if wanted == language_of(flow.language) and not flow.is_glific:
            return default
        for code, translated in flow.localization.items():
            texts = (translated.get(uuid) or {}).get(key) or ()
            if language_of(code) == wanted and any(texts):
                return [text or own for text, own in zip_longest(texts, default) if text or own]
        return default

    def value(self, path: Path) -> Any:
        """The value of a path such as `results.age.category`."""
        root, *rest = path
        run = self._session.runs[-1]
        match root, rest:
            case "results", []:
                return library.lines_of(
                    {name: run.results.get(result_key(name), {}).get("value") for name in result_names(run.flow)}
                )
            case "results", [key, *parts]:
                return self._part(run, key, parts)
            case ("fields", [key, *_]) | ("contact", ["fields", key, *_]):
                return self._session.contact.fields.get(key, "")
            case "contact", parts:
                return self._of_contact(parts)
            case "urns", ["tel"]:
                return f"tel:+{self._session.contact.number}"
            case ("urns", ["whatsapp"]) | ("input", ["urn"]):
                return self._session.contact.address
            case "urns", []:
                return [self._session.contact.address]
            case "input", ([] | ["text"]):
                return self._session.input
            case "input", _:
                return self._session.input_file
            case "node", ["visit_count"]:
                return run.visits.get(run.node, 0)
            case "webhook", parts if run.flow.version < 14:
                return _within(self._session.webhook["json"], parts)
            case "webhook", parts:
                return _within(self._session.webhook, parts or ["request"])
            case "locals", [key, *_]:
                return run.values.get(key, "")
            case "trigger", ["params", *parts]:
                return _within(self._session.params, parts)
            case "legacy_extra", parts:
                return _within(library.with_extra(self._session.params, "", self._session.extra), parts)
            case "child", [*parts]:
                return self._of_run(run.child, [part for part in parts if part != "run"])
            case "parent", [*parts] if run.parent is not None:
                return self._of_run(run.parent, parts)
            case "parent", [*parts]:
                return _plain(self._session.parent, parts)
            case ("run", ["flow", "name"]) | ("flow", ["name"]):
                return run.flow.name
            case (("globals" | "global"), [key, *_]):
                known = self._session.export.assets.get("globals", ())
                return next((each.get("value", "") for each in known if each.get("key") == key), "")
        return ""

    def _part(self, run: PlayedRun, key: str, parts: list[str]) -> Any:
        result = run.results.get(key, {})
        part = parts[0] if parts else "value"
        if part == "input" and run.flow.is_glific:
            part = "value"
        if part in result or not run.flow.is_glific:
            return _within(result.get(part, ""), parts[1:])
        return _within(result.get("extra"), parts)

    def _of_contact(self, parts: list[str]) -> Any:
        match parts:
            case [] | ["name"]:
                return self._session.contact.name or ""
            case ["first_name"]:
                return library.first_word(self._session.contact.name)
            case ["id" | "uuid" | "phone"]:
                return self._session.contact.number
            case ["tel" | "tel_e164"]:
                return f"+{self._session.contact.number}"
            case ["urn"]:
                return self._session.contact.address
            case ["urns", *rest]:
                return _within([self._session.contact.address], rest)
            case ["groups", *rest]:
                return _within(self._session.contact.groups, rest)
        return ""

    def _of_run(self, run: PlayedRun | None, parts: list[str]) -> Any:
        match parts:
            case ["results", key, *rest] if run is not None:
                return self._part(run, key, rest)
            case ["status"]:
                return run.status if run is not None else ""
            case ["flow", "name"] if run is not None:
                return run.flow.name
            case ["contact", "fields", key, *_]:
                return self._session.contact.fields.get(key, "")
            case ["contact", *rest]:
                return self._of_contact(rest)
        return ""


class FlowInterpreter:
    """A session of one contact. ``choose`` decides what services answer, and what chance draws."""

    def __init__(self, export: RapidProExport, contact: RapidProContact, now: datetime, choose: Choose) -> None:
        self.session = RapidProSession(export, contact, now)
        self.texts = SessionTexts(self.session)
        self.choose = choose
        self.said: list[SourceMessage] = []
        self.visited: list[str] = []
        self.http: list[tuple[str, int, Any]] = []
        self.calls: list[tuple[str, Any]] = []
        self.draws: list[float] = []
        self.sleep = 0
        self._tapped: dict[str, str] = {}  # the choices that are shown, each behind the title that the platform cuts
        self._pending: int | None = None  # the number of the action after which the node sleeps

    # what happens

    def start(self, flow: str, message: str | None = None) -> None:
        """Start a flow, by a message or without one."""
        self.session.input = message or ""
        self.session.input_kind = "text" if message else ""
        found = self.session.export.flows[flow]
        self.session.runs = [PlayedRun(found, next(iter(found.nodes), ""))]
        self._walk(skips_wait=bool(message))

    def reply(self, text: str, kind: str = "text") -> None:
        """The contact writes, or sends a file of a kind."""
        self.hear(text, kind)
        self._route(self.node)
        self._walk()

    def hear(self, text: str, kind: str) -> None:
        """Note the input. A `choice` is a text: what was tapped, in full."""
        is_text = kind in ("text", "choice")
        text = self._tapped.get(text, text) if kind == "choice" else text
        self.session.input, self.session.input_kind = text, "text" if is_text else kind
        self.session.input_file = "" if is_text else f"{kind}:https://files.example/{kind}"

    def time_out(self) -> None:
        """The time-out of the wait is over."""
        node = self.node
        assert node is not None and node.timeout is not None
        category = str(node.timeout["category_uuid"])
        self._save(node, "", category, "", None)
        self.session.runs[-1].node = node.target(category)
        self._walk()

    def wake(self) -> None:
        """The time for which the flow sleeps is over."""
        self.sleep = 0
        self._walk(resumes=True)

    @property
    def node(self) -> RapidProNode | None:
        """The node that waits; None if the session is over."""
        return self.session.runs[-1].flow.nodes[self.session.runs[-1].node] if self.session.runs else None

    def take(self) -> tuple[tuple[SourceMessage, ...], tuple[str, ...]]:
        """Return what was said and which nodes were visited since the last time."""
        taken = tuple(self.said), tuple(dict.fromkeys(self.visited))
        self.said, self.visited = [], []
        return taken

    # the loop

    def _walk(self, skips_wait: bool = False, resumes: bool = False) -> None:
        steps = 0
        while self.session.runs:
            run = self.session.runs[-1]
            if not run.node:
                self._end()
                continue
            node = run.flow.nodes[run.node]
            if not resumes:
                steps += 1
                if steps > _MOST_STEPS:
                    self.session.runs = []
                    return
                run.visits[node.uuid] = run.visits.get(node.uuid, 0) + 1
                self.visited.append(place_of(run.flow, node))
            pushed = None
            done, self._pending = (self._pending or 0) if resumes else 0, None
            resumes = False
            for place, action in enumerate(node.actions[done:], start=done):
                if action["type"] == "wait_for_time":
                    self.sleep, self._pending = max(1, int(action.get("delay") or 60)), place + 1
                    return
                if action["type"] == "enter_flow":
                    pushed = action
                else:
                    self._act(node, action)
            if pushed is not None:
                self._enter(run, pushed)
                continue
            if node.waits is not None:
                first = skips_wait and len(self.session.runs) == 1 and sum(run.visits.values()) == 1
                skips_wait = False
                if not first:
                    return
            self._route(node)

    def _enter(self, run: PlayedRun, action: Data) -> None:
        flow = self.session.export.flows.get(str((action.get("flow") or {}).get("uuid")))
        if flow is None:
            self.session.runs = []
            return
        child = PlayedRun(flow, next(iter(flow.nodes), ""), parent=run)
        if action.get("terminal"):
            self.session.runs = [child]
        else:
            run.child = child
            self.session.runs.append(child)

    def _end(self) -> None:
        run = self.session.runs.pop()
        run.status = "completed"
        if self.session.runs:
            self._route(self.node)

    # routers

    def _route(self, node: RapidProNode | None) -> None:
        assert node is not None
        run = self.session.runs[-1]
        if node.router is None:
            run.node = node.target()
            return
        if node.router["type"] == "random":
            names = [str(each.get("name")) for each in node.categories.values()]
            place = self.choose(run.flow, node, names)
            drawn = (place + 0.5) / len(names)
            self.draws.append(drawn)
            category, value, extra = list(node.categories)[place], str(drawn), None
        else:
            category, value, extra = self.category(node)
        self._save(node, value, category, self._operand(node), extra)
        run.node = node.target(category)

    def _operand(self, node: RapidProNode) -> str:
        return self.texts.text(str((node.router or {}).get("operand") or "@input.text"))

    def category(self, node: RapidProNode) -> tuple[str, str, Any]:
        """The category that a node's router chooses now, with what was matched."""
        router = node.router or {}
        for case in router.get("cases") or ():
            found, extra = self._matched(node, case)
            if found is not None:
                return str(case["category_uuid"]), found, extra
        default = router.get("default_category_uuid") or next(iter(node.categories), "")
        return str(default), self._operand(node), None

    def _matched(self, node: RapidProNode, case: Data) -> tuple[str | None, Any]:
        kind, operand = str(case["type"]), str((node.router or {}).get("operand") or "@input.text")
        written = self.texts.localized(str(case.get("uuid", "")), "arguments", list(case.get("arguments") or ()))
        arguments = [self.texts.text(str(each)) for each in written]
        if kind in MEDIA_TESTS:
            return (self.session.input_file if self.session.input_kind == MEDIA_TESTS[kind] else None), None
        if kind == "has_category":
            result = self.session.runs[-1].results.get(result_key(operand.removeprefix("@results.").split(".")[0]), {})
            return (result["category"] if result.get("category") in arguments else None), None
        if kind == "has_group":
            name = arguments[1] if len(arguments) > 1 else arguments[0]
            return (name if name in self.session.contact.groups else None), None
        name = FUNCTIONS.get(kind, "")
        if not name:
            return None, None
        values: list[Any] = [self._operand(node), *arguments]
        function = getattr(library, name)
        size = function.__code__.co_argcount - takes_now(name)
        try:
            found = function(*values[:size], **({"now": self.session.now} if takes_now(name) else {}))
        except (ValueError, TypeError):
            return None, None
        return found, library.pattern_groups(*values[:2]) if kind == "has_pattern" else None

    def _save(self, node: RapidProNode, value: str, category: str, given: str, extra: Any) -> None:
        if name := (node.router or {}).get("result_name"):
            title = str(node.categories.get(category, {}).get("name") or "")
            self._result(str(name), value, title, given, extra, category)

    def _result(self, name: str, value: str, category: str, given: str = "", extra: Any = None, uuid: str = "") -> None:
        localized = self.texts.localized(uuid, "name", [category])[0] if uuid else category
        self.session.runs[-1].results[result_key(name)] = {
            "value": value, "category": category, "category_localized": localized, "input": given,
            "extra": extra, "name": name,
        }  # fmt: skip
        if extra is not None:
            self.session.extra = library.with_extra(self.session.extra, result_key(name), extra)

    # actions

    def _act(self, node: RapidProNode, action: Data) -> None:
        run, uuid = self.session.runs[-1], str(action.get("uuid", ""))
        match action["type"]:
            case "send_msg" | "send_interactive_msg" | "say_msg" | "play_audio":
                self._say(node, action, uuid)
            case "set_run_result":
                category = self.texts.text(str(action.get("category") or ""))
                self._result(str(action["name"]), self.texts.text(str(action.get("value") or "")), category)
            case "set_run_local":
                self._local(run, action)
            case "set_contact_field":
                key = str(action["field"]["key"]).lower()
                self.session.contact.fields[key] = self.texts.text(str(action.get("value") or ""))
            case "set_contact_name":
                self.session.contact.name = self.texts.text(str(action.get("name") or ""))
            case "set_contact_language":
                self.session.contact.language = str(action.get("language") or "")
            case "add_contact_groups" | "remove_contact_groups":
                self._groups(action)
            case "call_webhook" | "call_resthook":
                self._service(node, action)
            case kind if action.get("result_name") or kind in ("call_classifier", "transfer_airtime", "open_ticket"):
                self._called(node, action)

    def _say(self, node: RapidProNode, action: Data, uuid: str) -> None:
        message = message_of(action)
        place = place_of(self.session.runs[-1].flow, node)
        text = self.texts.text(str(self.texts.localized(uuid, "text", [message.text])[0]))
        if action.get("templating") and not text:
            name = (action["templating"].get("template") or {}).get("name")
            self.said.append(SourceMessage(f"template {name}", place=place))
            return
        replies = self.texts.localized(uuid, "quick_replies", list(message.choices))
        files = self.texts.localized(uuid, "attachments", list(message.media))
        media = tuple(" ".join(file_of(self.texts.text(each))) for each in files)
        titles = [self.texts.text(each) for each in replies]
        shown = shortened(titles, ROW_TITLE)
        self._tapped = dict(zip(shown, titles, strict=True))
        self.said.append(SourceMessage(text, tuple(shown), media, place))

    def _local(self, run: PlayedRun, action: Data) -> None:
        key, value = str(action.get("local")), self.texts.text(str(action.get("value") or ""))
        match action.get("operation"):
            case "increment":
                value = library.shown(library.to_number(run.values.get(key) or 0) + library.to_number(value))
            case "clear":
                value = ""
        run.values[key] = value

    def _groups(self, action: Data) -> None:
        groups = self.session.contact.groups
        names = [
            self.texts.text(str(each.get("name") or each.get("name_match"))) for each in action.get("groups") or ()
        ]
        if action["type"] == "add_contact_groups":
            groups += [name for name in names if name not in groups]
        else:
            gone = names if not action.get("all_groups") else list(groups)
            groups[:] = [name for name in groups if name not in gone]

    def _service(self, node: RapidProNode, action: Data) -> None:
        method = str(action.get("method") or "GET").upper()
        if method == "FUNCTION":
            self._called(node, action)
            return
        if action["type"] == "call_resthook":
            raise UnwrittenAction
        url = self.texts.text(str(action.get("url") or ""))
        works = self.choose(self.session.runs[-1].flow, node, ["Success", "Failure"]) == 0
        answer: Any = self.answer(action) if works else {"error": "down"}
        status = 200 if works else 500
        self.http.append((f"{method} {url}", status, answer))
        self.session.webhook = {"json": answer, "status": status, "request": f"{method} {url}"}
        if name := action.get("result_name"):
            self._result(str(name), str(status), "Success" if works else "Failure", f"{method} {url}", answer)

    def _called(self, node: RapidProNode, action: Data) -> None:
        """A function that is still to be written: it works, or it does not."""
        works = self.choose(self.session.runs[-1].flow, node, ["Success", "Failure"]) == 0
        answer = self.answer(action) if works else None
        if works:
            self.calls.append((action_key(action), answer))
        if name := action.get("result_name"):
            self._result(str(name), "200" if works else "0", "Success" if works else "Failure", "", answer)

    def answer(self, action: Data) -> dict[str, str]:
        """An answer of a service that has all that the texts of the flow take of it."""
        run = self.session.runs[-1]
        name = result_key(str(action.get("result_name") or ""))
        texts = json.dumps([[node.actions, node.router] for node in run.flow.nodes.values()], default=dict)
        found = re.findall(rf"results\.{name}\.(?:extra\.)?(\w+)", texts)
        found += re.findall(r"@webhook\.(?:json\.)?(\w+)", texts)
        own = ("value", "category", "input", "extra", "json", "status", "text")
        return {part: f"the {part}" for part in found if part not in own}


def _within(value: Any, parts: list[str]) -> Any:
    for part in parts:
        value = library.part_of(value, part)
    return value


def _plain(value: Any, parts: list[str]) -> Any:
    found = _within(value, parts)
    if isinstance(found, Mapping):
        return next((found[part] for part in ("value", "ward", "district", "state", "text") if part in found), "")
    return found
