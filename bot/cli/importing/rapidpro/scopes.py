"""The variables of an imported flow: what `@results.age.category` or `@contact.name` is called in the new bot."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.cli.importing.imported import name_of
from bot.cli.importing.rapidpro import excellent_functions as library
from bot.cli.importing.rapidpro.expressions import Path, Untranslatable, quoted
from bot.cli.importing.rapidpro.reading import RapidProExport, RapidProFlow, RapidProNode, result_key

RESULT_PARTS = ("value", "category", "category_localized", "input", "extra", "name")
_DAYS = {"current_date": "today", "tomorrow": "(today + days(1))", "yesterday": "(today - days(1))"}  # of Glific
ADDRESS = '("whatsapp:" ~ contact.id)'
"""The contact's address: the bot writes on WhatsApp, whatever the channel was."""
_WRITTEN_NUMBER = "a phone number is shown as +14155550123, not as in its country"
_LIBRARY = frozenset(name for name in vars(library) if not name.startswith("__"))


def result_names(flow: RapidProFlow) -> Iterator[str]:
    """The names of all results that a flow sets, as they are written."""
    for node in flow.nodes.values():
        yield from (str(each["result_name"]) for each in node.actions if each.get("result_name"))
        yield from (str(each["name"]) for each in node.actions if each["type"] == "set_run_result")
        if node.router and node.router.get("result_name"):
            yield str(node.router["result_name"])


class ContactFields:
    """The fields of contacts, which all flows share: variables that are kept."""

    def __init__(self, export: RapidProExport) -> None:
        self._results = {result_key(name) for flow in export.flows.values() for name in result_names(flow)}
        self.names: dict[str, str] = {}
        listed = [each for each in export.assets.get("fields", ()) if isinstance(each, Mapping)]
        self.types = {str(each.get("key")): str(each.get("type") or "text") for each in listed}
        known = [each for each in export.assets.get("globals", ()) if isinstance(each, Mapping)]
        self.globals = {str(each.get("key")).lower(): str(each.get("value") or "") for each in known}

    def name(self, key: str) -> str:
        """Return the variable of a field."""
        if key not in self.names:
            taken = {*self._results, *_LIBRARY, *self.names.values(), "language", "timezone", "input"}
            self.names[key] = name_of(f"contact {key}" if key in taken else key, taken, "field")
        return self.names[key]


class FlowScope:
    """The variables of one flow. ``read`` are those that some text of any flow reads: only these are set."""

    def __init__(self, flow: RapidProFlow, fields: ContactFields) -> None:
        self.flow = flow
        self.fields = fields
        self.names: dict[Path, str] = {}
        self.variables: dict[str, dict[str, Any]] = {}
        self.read: set[Path] = set()
        self.remarks: list[str] = []  # what differs in the expressions since they were last looked at
        self.visits = ""  # the variable that counts the visits of the node that is written

    def name(self, key: Path, title: str, **declaration: Any) -> str:
        """Return the variable of a key, and declare it."""
        if key not in self.names:
            taken = {*self.names.values(), *_LIBRARY, *self.fields.names.values(), "language", "timezone"}
            self.names[key] = name_of(title, taken, "value")
        self.variables[self.names[key]] = declaration or {"type": "text", "value": ""}
        return self.names[key]

    def field(self, key: str) -> str:
        """Return the variable of a field of contacts, and declare it."""
        name = self.fields.name(key.lower())
        self.variables[name] = {"type": "text", "value": "", "keep": True}
        return name

    def result(self, key: str, part: str = "value") -> str:
        """Return the variable of a result, or of a part of it."""
        key = result_key(key)
        title = key if part == "value" else f"{key} {part}"
        if part == "extra":
            return self.name(("results", key, part), title, type="object", value={"json": ""})
        return self.name(("results", key, part), title)

    def extra(self) -> str:
        """Return the variable with all that results have beside their values."""
        return self.name(("legacy_extra",), "legacy_extra", type="object", value={})

    def webhook(self) -> str:
        """Return the variable with the newest request of a webhook, and its answer."""
        return self.name(("webhook",), "webhook", type="object", value={"json": "", "status": 0, "request": ""})

    def other_addresses(self) -> str:
        """Return the variable with the addresses that flows add to a contact."""
        return self.name(("contact", "urns"), "other addresses", type="text", value="", keep=True)

    def reads(self, *key: str) -> bool:
        """True if a text reads a variable."""
        return key in self.read

    def written(self, path: Path) -> tuple[str, str]:
        """Return what a path is in this flow, and its kind. Raises `Untranslatable`."""
        root, *rest = path
        match root, rest:
            case "results", []:
                names = {
                    name: self.written(("results", result_key(name)))[0] for name in sorted({*result_names(self.flow)})
                }
                pairs = ", ".join(f"{quoted(title)}: {name}" for title, name in names.items())
                return f"lines_of({{{pairs}}})", "text"
            case ("results", [key, *parts]) | ("run", ["results", key, *parts]):
                return self._result(key, parts)
            case ("fields", [key, *_]) | ("contact", ["fields", key, *_]):
                if (kind := self.fields.types.get(key, "text")) != "text":
                    self.remarks.append(f"the field {key} is a text here; RapidPro shows it as a {kind}")
                return self.field(key), "text"
            case "contact", parts:
                return self._contact(parts)
            case (("urns" | "contact"), ["urns"]):
                return f"[{ADDRESS}, {self.other_addresses()}]", "any"
            case "urns", ["whatsapp"]:
                return ADDRESS, "text"
            case "urns", ["tel"]:
                self.remarks.append(_WRITTEN_NUMBER)
                return '("tel:+" ~ contact.id)', "text"
            case "urns", [_]:
                return '""', "text"
            case "input", parts:
                return self._input(parts)
            case ("run", ["flow", "name"]) | ("flow", ["name"]):
                return quoted(self.flow.name), "text"
            case "run", ["contact", *parts]:
                return self._contact(parts)
            case "run", ["status"]:
                return '"active"', "text"
            case "node", ["visit_count"]:
                return self.visits, "number"
            case "webhook", parts:
                return self._webhook(parts)
            case "locals", [key, *_]:
                return self.name(("locals", key), f"local {key}"), "text"
            case "trigger", ["params", *parts]:
                return _part(self.name(("trigger", "params"), "params", type="object"), parts)
            case "legacy_extra", parts:
                self.read.add(("legacy_extra",))
                given = self.name(("trigger", "params"), "params", type="object")
                return _part(f'with_extra({given}, "", {self.extra()})', parts)
            case (("child" | "parent"), [_, *_]):
                return self._shared(path)
            case "calendar", [day] if day in _DAYS:
                return f'format_date({_DAYS[day]}, "DD/MM/YYYY")', "text"
            case (("globals" | "global"), [key, *_]):
                if key not in self.fields.globals:
                    self.remarks.append(f"the export has no value of the global {key}: give its variable one")
                value = self.fields.globals.get(key, "")
                return self.name(("globals", key), f"global {key}", type="text", value=value), "text"
        raise Untranslatable(f"@{'.'.join(path)}")

    def _result(self, key: str, parts: list[str]) -> tuple[str, str]:
        part = parts[0] if parts else "value"
        if part == "text" or (self.flow.is_glific and part == "input"):
            part = "value"
        if part not in RESULT_PARTS:
            if not self.flow.is_glific:
                raise Untranslatable(f"@results.{key}.{part}")
            part, parts = "extra", ["extra", *parts]
        if part == "name":
            return quoted(next((name for name in result_names(self.flow) if result_key(name) == key), key)), "text"
        self.read.add(("results", result_key(key), part))
        name = self.result(key, part)
        return _part(f"{name}.json", parts[1:]) if part == "extra" else (name, "text")

    def _contact(self, parts: list[str]) -> tuple[str, str]:
        match parts:
            case [] | ["name"] | ["display"] | ["first_name"]:
                name = "(contact.name | default(''))"
                if ("contact", "name") in self.read:
                    own = self.name(("contact", "name"), "own name", type="text", value="", keep=True)
                    name = f"({own} | default(contact.name | default('')))"
                return (f"first_word({name})" if parts == ["first_name"] else name), "text"
            case ["id"] | ["uuid"]:
                self.remarks.append(f"@contact.{parts[0]} is the phone number")
                return "contact.id", "text"
            case ["phone"]:
                return "contact.id", "text"
            case ["language", *_]:
                self.remarks.append("@contact.language is a code of two letters, and never empty")
                return "language", "text"
            case ["groups", *_]:
                return _part("contact.tags", parts[1:])
            case ["urn"]:
                return ADDRESS, "text"
            case ["tel"] | ["tel_e164"]:
                self.remarks.append(_WRITTEN_NUMBER)
                return '("+" ~ contact.id)', "text"
        raise Untranslatable(f"@contact.{'.'.join(parts)}")

    def _input(self, parts: list[str]) -> tuple[str, str]:
        match parts:
            case [] | ["text"]:
                self.read.add(("input", "text"))
                return self.name(("input", "text"), "input"), "text"
            case ["attachments"]:
                return f"[{self.written(('input', 'attachments', '0'))[0]}]", "any"
            case ["attachments", "0", *_] | ["media", *_] | ["file"]:
                self.read.add(("input", "file"))
                return self.name(("input", "file"), "input file"), "text"
            case ["kind"]:
                self.read.add(("input", "kind"))
                return self.name(("input", "kind"), "input kind"), "text"
            case ["type"]:
                return '"msg"', "text"
            case ["urn"]:
                return ADDRESS, "text"
        raise Untranslatable(f"@input.{'.'.join(parts)}")

    def _webhook(self, parts: list[str]) -> tuple[str, str]:
        name = self.webhook()
        self.read.add(("webhook",))
        if self.flow.version < 14:
            return _part(f"{name}.json", parts)
        match parts:
            case []:
                return f"{name}.request", "text"
            case ["json", *rest]:
                return _part(f"{name}.json", rest)
            case ["status"]:
                return f"{name}.status", "any"
        raise Untranslatable(f"@webhook.{'.'.join(parts)}")

    def _shared(self, path: Path) -> tuple[str, str]:
        """A value that is given by the flow that runs this one, or taken from the flow that this one runs."""
        path = ("child", *path[2:]) if path[:2] == ("child", "run") else path
        rest = path[1:]
        if rest[0] == "results" and rest[2:] in ((), ("value",)):
            path = (path[0], "results", rest[1])
        title = " ".join(part for part in path if part not in ("results", "fields"))
        self.read.add(path)
        return self.name(path, title), "text"


def _part(name: str, parts: list[str]) -> tuple[str, str]:
    """A value within a record, which may lack it."""
    for part in parts:
        name = f"part_of({name}, {quoted(part)})"
    return name, "any"


def first_words(text: str) -> str:
    """Return the first words of a text, without those of its expressions."""
    return " ".join(re.findall(r"[A-Za-z][\w']*", re.sub(r"@\([^)]*\)|@[\w.]+", " ", text))[:4])[:30]


def label_of(node: RapidProNode) -> str:
    """Return what a node is about, for the names of its steps: its first text, or its result."""
    for action in node.actions:
        if action["type"] == "send_msg" and (words := first_words(str(action.get("text") or ""))):
            return words
    if node.router is not None and node.router.get("result_name"):
        return f"{'wait' if node.waits is not None else 'split'} {node.router['result_name']}"
    if node.actions:
        first = node.actions[0]
        is_named = first["type"] == "send_interactive_msg" and first.get("name")
        return str(first["name"] if is_named else first["type"])
    return "wait" if node.waits is not None else "split"


def place_of(flow: RapidProFlow, node: RapidProNode) -> str:
    """Return where a node is in the export, for the report."""
    return f'{flow.name} > "{label_of(node)}" ({node.uuid[:8]})'
