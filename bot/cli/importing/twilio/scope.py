"""The names of a Studio flow's steps and variables here, and how its values are read."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from bot.cli.importing.imported import NOT_VARIABLES, ImportedBot, name_of
from bot.cli.importing.twilio.expressions import LiquidError, WrittenLiquid, paths_in, quoted
from bot.cli.importing.twilio.reading import ENTRIES, StudioFlow, StudioWidget

_TECHNICAL = {"sid", "flow_sid", "MessageSid", "InstanceSid", "ChannelSid", "AccountSid", "SmsSid", "To", "address"}


class StudioScope:
    """The names of a Studio flow's steps and variables here, and how its values are read."""

    def __init__(self, source: StudioFlow, bot: ImportedBot) -> None:
        self.source = source
        self.bot = bot
        self.flow = name_of(source.title, bot.flows, "flow")
        self.entries = {event: target for event in ENTRIES if (target := source.trigger.leads(event)) is not None}
        self.reached = self._reachable()
        self.names: dict[str, str] = {}
        for widget in self.reached:
            self.names[widget.name] = name_of(widget.name, {*self.names.values()})
        self.variables: dict[tuple[str, ...], str] = {}
        self.declared: dict[str, dict[str, Any]] = {}
        self.used = {path for widget in self.reached for text in texts_of(widget) for path in paths_in(text)}
        self.constants = self._constants()
        self._sent = {name for path in self.used if (name := _parameter_in(path))}
        """The names of values that programs send: they stay as they are."""
        bot.flows[self.flow] = {}

    def _reachable(self) -> list[StudioWidget]:
        found: dict[str, StudioWidget] = {}
        waiting = list(self.entries.values())
        while waiting:
            name = waiting.pop(0)
            if name not in found:
                found[name] = self.source.widgets[name]
                waiting += [each.target for each in found[name].transitions if each.target is not None]
        return list(found.values())

    def _constants(self) -> dict[str, str]:
        """The variables that one widget alone sets, to a text without values: an address may need them."""
        given: dict[str, list[str]] = {}
        for widget in self.reached:
            if widget.kind == "set-variables":
                for key, value, _ in widget.pairs:
                    given.setdefault(key, []).append(value)
        return {key: values[0] for key, values in given.items() if len(values) == 1 and "{" not in values[0]}

    def resolve(self, parts: tuple[str | int, ...]) -> WrittenLiquid:
        """How a value of the execution is read here."""
        match parts:
            case ("flow", "variables", str(name), *rest):
                return self._field(self.variable("variables", name), rest)
            case ("flow", "data", str(name), *rest) | ("trigger", "request" | "parent", "parameters", str(name), *rest):
                return self._field(self.parameter(name), rest)
            case ("flow", "data"):
                read = [path[2:3] for path in sorted(self.used, key=str) if path[:2] == ("flow", "data")]
                names = dict.fromkeys(str(name) for each in read for name in each)
                fields = [f"{quoted(name)}: {self.parameter(name)}" for name in names]
                return WrittenLiquid("{" + ", ".join(fields) + "}", "any")
            case ("contact", "channel", "address") | ("trigger", "message", "From") | ("widgets", _, "inbound", "From"):
                return WrittenLiquid('("+" ~ contact.id)', "text")
            case ("trigger", "message", "ProfileName") | ("widgets", _, "inbound", "ProfileName"):
                return WrittenLiquid("contact.name", "text")
            case ("trigger", "message", "Body" | "MediaUrl0" as field):
                return WrittenLiquid(self.first(str(field)), "text")
            case ("widgets", str(name), "inbound", "Body" | "MediaUrl0" as field) if name in self.names:
                return WrittenLiquid(self.answer(name, str(field)), "text")
            case ("widgets", str(name), "parsed", *rest) if self._has_result(name):
                return self._field(self.result(name, "parsed"), rest)
            case ("widgets", str(name), "body" | "status_code" as field) if self._has_result(name):
                return WrittenLiquid(self.result(name, str(field)), "text")
        if parts[0] == "widgets" and str(parts[1] if len(parts) > 1 else "") not in self.source.widgets:
            return WrittenLiquid("none")  # Studio finds nothing, either
        if str(parts[-1]) in _TECHNICAL:
            raise TechnicalId(".".join(map(str, parts)))
        if parts[0] in ("widgets", "trigger", "flow", "contact"):
            raise LiquidError(f"{'.'.join(map(str, parts))} is not known here")
        return WrittenLiquid("none")  # a name that Liquid does not know either

    @property
    def longest_silence(self) -> int:
        """The seconds of all time-outs together: so long the contact may be silent while the flow runs."""
        waits = [each.text("timeout") for each in self.reached if each.kind == "send-and-wait-for-reply"]
        return sum(int(each) if each.isdecimal() else 3600 for each in waits)

    def variable(self, kind: str, name: str) -> str:
        """The variable of a name that the flow sets."""
        return self._variable((kind, name), "object" if self._has_fields(("flow", kind, name)) else "text", name)

    def parameter(self, name: str) -> str:
        """The variable of a value with which the flow is started."""
        places = (
            ("flow", "data", name),
            ("trigger", "request", "parameters", name),
            ("trigger", "parent", "parameters", name),
        )
        known = ("data", name) in self.variables
        variable = self._variable(("data", name), "object" if any(map(self._has_fields, places)) else "text", name)
        if not known and variable != name:
            self.declared[variable]["sent_as"] = name
        return variable

    @property
    def parameters(self) -> dict[str, str]:
        """The variables of all values with which the flow is started, by their names in Studio."""
        return {key[1]: name for key, name in self.variables.items() if key[0] == "data"}

    def answer(self, widget: str, field: str) -> str:
        """The variable of a reply."""
        title = widget if field == "Body" else f"{widget} file"
        return self._variable(("inbound", widget, field), "text", title)

    def result(self, widget: str, field: str) -> str:
        """The variable of what a request has given."""
        kind = "text"
        if field == "parsed":
            below = (path[3] for path in self.used if path[:3] == ("widgets", widget, "parsed") and len(path) > 3)
            kind = "list" if any(isinstance(each, int) for each in below) else "object"
        return self._variable(("result", widget, field), kind, f"{widget} {field}")

    def reads(self, widget: str, *fields: str) -> bool:
        """True if a text reads this of a widget."""
        return any(path[: 2 + len(fields)] == ("widgets", widget, *fields) for path in self.used)

    def _has_result(self, name: str) -> bool:
        return name in self.names and self.source.widgets[name].kind in ("make-http-request", "run-function")

    def _has_fields(self, path: tuple[str, ...]) -> bool:
        return any(each[: len(path)] == path and len(each) > len(path) for each in self.used)

    def _field(self, variable: str, rest: Iterable[str | int]) -> WrittenLiquid:
        text = variable
        for part in rest:
            text += f".{part}" if re.fullmatch(r"[A-Za-z_]\w*", str(part)) else f"[{json.dumps(part)}]"
        kind = "text" if text == variable and self.declared[variable]["type"] == "text" else "any"
        return WrittenLiquid(text, kind, text != variable)

    def _variable(self, key: tuple[str, ...], kind: str, title: str) -> str:
        if key not in self.variables:
            others = () if key[0] == "data" else self._sent
            name = name_of(title, {*self.declared, *others, *NOT_VARIABLES}, "value")
            self.variables[key] = name
            self.declared[name] = {"type": kind}
        return self.variables[key]

    def step_of(self, target: str | None) -> str:
        """The target that stands for a widget; None: the end."""
        return "end" if target is None else self.names[target]

    def first(self, field: str) -> str:
        """The variable of the first message's text (`Body`) or file (`MediaUrl0`)."""
        return self._variable(("first", field), "text", "first message" if field == "Body" else "first file")


def _parameter_in(path: tuple[str | int, ...]) -> str | None:
    """The name of the value that a program sends, if a text reads one."""
    match path:
        case ("flow", "data", str(name), *_) | ("trigger", "request" | "parent", "parameters", str(name), *_):
            return name
    return None


class TechnicalId(LiquidError):
    """An id of Twilio's that nothing here has."""


def texts_of(widget: StudioWidget) -> Iterator[str]:
    """All texts of a widget that may have values in them and that matter here."""
    for key in ("body", "input", "url", "attributes", "media_url", "content_variables"):
        yield widget.text(key)
    for _, value, _ in widget.pairs:
        yield value
    for condition in widget.conditions:
        yield from (condition.argument, condition.value)
