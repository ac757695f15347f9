"""A Studio flow, written as a flow of this language."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.cli.importing.imported import ImportedBot, name_of
from bot.cli.importing.twilio.expressions import (
    LiquidError,
    LiquidExpression,
    LiquidFilter,
    LiquidOutput,
    LiquidPath,
    LiquidWriter,
    WrittenLiquid,
    may_be_empty,
    parse_liquid,
    paths_in,
    quoted,
)
from bot.cli.importing.twilio.reading import ENTRIES, StudioCondition, StudioFlow, StudioWidget

WINDOW = 23 * 3600 + 55 * 60  # seconds: how long the bot sends other messages than templates
MOST_VISITS = 10  # Studio stops an execution in which a widget runs more often in a row
WAITING = frozenset({"send-and-wait-for-reply", "send-to-flex"})
_ADDRESS = re.compile(r"https?://[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d+)?([/?]\S*)?")
_NUMBER = re.compile("-?[0-9]+([.][0-9]+)?")
_ENDINGS = {
    "mp4": "video",
    "3gp": "video",
    "mp3": "audio",
    "ogg": "audio",
    "amr": "audio",
    "aac": "audio",
    "pdf": "document",
}
_TECHNICAL = {"sid", "flow_sid", "MessageSid", "InstanceSid", "ChannelSid", "AccountSid", "SmsSid", "To", "address"}
_CALLS = "a call has no counterpart here: the bot writes and reads messages"
LOST_KINDS = {
    "say-play": _CALLS,
    "gather-input-on-call": _CALLS,
    "connect-call-to": _CALLS,
    "make-outgoing-call": _CALLS,
    "make-outgoing-call-v2": _CALLS,
    "enqueue-call": _CALLS,
    "record-voicemail": _CALLS,
    "record-call": _CALLS,
    "capture-payments": _CALLS,
    "fork-stream": _CALLS,
    "connect-virtual-agent": _CALLS,
    "add-twiml-redirect": "TwiML is not run here: write what it does as steps, or call your own program by http",
    "send-to-auto-pilot": "Autopilot has ended: write an ai step",
    "send-to-autopilot": "Autopilot has ended: write an ai step",
}


class StudioTranslation:
    """The flow of this language that a Studio flow becomes."""

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
        self.bounded = self._circles()
        self.entry_flows = dict.fromkeys(self.entries, self.flow)
        self.stubs: dict[str, str] = {}  # the functions that stand for widgets, by their places
        self.steps: dict[str, Any] = {}
        self.first_message = any(
            path[:2] == ("trigger", "message") and path[2:3] not in (("From",),) for path in self.used
        )
        bot.flows[self.flow] = {}

    # The whole flow

    def translate(self, subflows: Mapping[str, "StudioTranslation"]) -> None:
        """Write the flow into the bot, and note what became of each widget."""
        document = self.bot.flows[self.flow]
        targets = list(dict.fromkeys(self.entries.values()))
        if self.first_message and "incomingMessage" in self.entries:
            first = name_of("begin", {*self.names.values()})
            body = self._variable(("first", "Body"), "text", "first message")
            self.steps[first] = {"set": {body: "{{ message.text | default(message.file.caption) | default('') }}"}}
            if any(path[:3] == ("trigger", "message", "MediaUrl0") for path in self.used):
                file = self._variable(("first", "MediaUrl0"), "text", "first file")
                self.steps[first]["set"][file] = "{{ message.file.url | default(none) }}"
            self.steps[first]["then"] = self.step_of(targets[0])
        for widget in self.reached:
            _WidgetTranslation(self, widget, subflows).write()
        if not self.entries:
            self.steps["nothing"] = {"branch": [{"else": "end"}]}
        by_message = next(
            (event for event in ("incomingMessage", "incomingConversationMessage") if event in self.entries), ""
        )
        taken = any("start" in flow for flow in self.bot.flows.values())
        if by_message and not taken and self.entries[by_message] == targets[0]:
            document["start"] = {"otherwise": True}
        document.update({"vars": self._vars()} if self.declared else {})
        document["steps"] = self.steps
        self._note_trigger(bool(by_message) and taken)
        for event, target in self.entries.items():
            if target != targets[0]:
                self._entry(event, target)
        for widget in self.source.widgets.values():
            if widget not in self.reached and widget is not self.source.trigger:
                reason = LOST_KINDS.get(widget.kind, "no message and no program leads to it")
                self.bot.lost(self.source.place(widget), f"{reason}; it is left out")

    def _vars(self) -> dict[str, Any]:
        return {name: each["type"] if len(each) == 1 else each for name, each in self.declared.items()}

    def _note_trigger(self, is_taken: bool) -> None:
        place = self.source.place(self.source.trigger)
        notes = []
        if is_taken:
            notes.append(
                "messages start another flow of this bot: write which words start this one (start: {words: ...})"
            )
        if self.source.trigger.leads("incomingCall") is not None:
            notes.append("calls start nothing here")
        if "incomingRequest" in self.entries:
            notes.append(
                f"a program starts it by POST /api/flows/{self.flow}/start, with values that it reads alone; more than 24 hours after the contact's last "
                "message WhatsApp takes templates alone (window_closed)"
            )
        first = next(iter(self.steps))
        if notes:
            self.bot.nearly(place, "; ".join(notes), self.flow, first)
        else:
            self.bot.same(place, self.flow, first)

    def _entry(self, event: str, target: str) -> None:
        """A flow of its own for a trigger that leads elsewhere than the first."""
        name = name_of(f"{self.flow} {event}", self.bot.flows)
        document: dict[str, Any] = {}
        if self.declared:
            document["vars"] = self._vars()
        document["steps"] = {"begin": {"branch": [{"else": f"/{self.flow}/{self.names[target]}"}]}}
        self.bot.flows[name] = document
        self.entry_flows[event] = name
        note = "this trigger has a flow of its own, which leads into the other one"
        self.bot.nearly(f"{self.source.place(self.source.trigger)} {event}", note, name, "begin")

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

    def _circles(self) -> set[str]:
        """The widgets at which a circle closes in which nothing waits for the contact."""
        state: dict[str, bool] = {}  # whether a widget is on the way
        found: set[str] = set()

        def visit(name: str) -> None:
            state[name] = True
            widget = self.source.widgets[name]
            for each in widget.transitions if widget.kind not in WAITING else ():
                if each.target is not None and each.target not in state:
                    visit(each.target)
                elif each.target is not None and state[each.target]:
                    found.add(each.target)
            state[name] = False

        for widget in self.reached:
            if widget.name not in state:
                visit(widget.name)
        return found

    # Values

    def resolve(self, parts: tuple[str | int, ...]) -> WrittenLiquid:
        """How a value of the execution is read here."""
        match parts:
            case ("flow", "variables", str(name), *rest):
                return self._field(self.variable("variables", name), rest)
            case ("flow", "data", str(name), *rest) | ("trigger", "request" | "parent", "parameters", str(name), *rest):
                return self._field(self.parameter(name), rest)
            case ("flow", "data"):
                names = [
                    path[2] for path in sorted(self.used, key=str) if path[:2] == ("flow", "data") and len(path) > 2
                ]
                fields = [f"{quoted(name)}: {self.parameter(name)}" for name in dict.fromkeys(map(str, names))]
                return WrittenLiquid("{" + ", ".join(fields) + "}", "any")
            case ("contact", "channel", "address") | ("trigger", "message", "From"):
                return WrittenLiquid('("+" ~ contact.id)', "text")
            case ("widgets", str(name), "inbound", "From"):
                return WrittenLiquid('("+" ~ contact.id)', "text")
            case ("trigger", "message", "ProfileName") | ("widgets", _, "inbound", "ProfileName"):
                return WrittenLiquid("contact.name", "text")
            case ("trigger", "message", "Body" | "MediaUrl0" as field):
                title = "first message" if field == "Body" else "first file"
                return WrittenLiquid(self._variable(("first", str(field)), "text", title), "text")
            case ("widgets", str(name), "inbound", "Body" | "MediaUrl0" as field) if name in self.names:
                return WrittenLiquid(self.answer(name, str(field)), "text")
            case ("widgets", str(name), "parsed", *rest) if self._has_result(name):
                return self._field(self.result(name, "parsed"), rest)
            case ("widgets", str(name), "body" | "status_code" as field) if self._has_result(name):
                return WrittenLiquid(self.result(name, str(field)), "text")
        if parts[0] == "widgets" and str(parts[1] if len(parts) > 1 else "") not in self.source.widgets:
            return WrittenLiquid("none")  # Studio finds nothing, either
        if str(parts[-1]) in _TECHNICAL:
            raise _TechnicalId(".".join(map(str, parts)))
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
            listed = any(
                path[:3] == ("widgets", widget, "parsed") and isinstance(path[3:4][0], int)
                for path in self.used
                if len(path) > 3
            )
            kind = "list" if listed else "object"
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
            text += (
                f".{part}" if isinstance(part, str) and re.fullmatch(r"[A-Za-z_]\w*", part) else f"[{json.dumps(part)}]"
            )
        kind = "text" if text == variable and self.declared[variable]["type"] == "text" else "any"
        return WrittenLiquid(text, kind, text != variable)

    def _variable(self, key: tuple[str, ...], kind: str, title: str) -> str:
        if key not in self.variables:
            name = name_of(title, {*self.declared, *_NOT_VARIABLES}, "value")
            self.variables[key] = name
            self.declared[name] = {"type": kind}
        return self.variables[key]

    def step_of(self, target: str | None) -> str:
        """The target that stands for a widget; None: the end."""
        return "end" if target is None else self.names[target]


class _TechnicalId(LiquidError):
    """An id of Twilio's that nothing here has."""


_NOT_VARIABLES = ("language", "timezone", "event", "answer", "status", "all")
"""Names that mean something else where a text reads them."""


def texts_of(widget: StudioWidget) -> Iterator[str]:
    """All texts of a widget that may have values in them and that matter here."""
    for key in ("body", "input", "url", "attributes", "media_url", "content_variables"):
        yield widget.text(key)
    for _, value, _ in widget.pairs:
        yield value
    for transition in widget.transitions:
        for condition in transition.conditions:
            yield condition.argument
            yield condition.value


class _WidgetTexts:
    """The texts, values and conditions of a widget, and what may differ in them."""

    def __init__(self, flow: StudioTranslation, widget: StudioWidget) -> None:
        self.flow = flow
        self.widget = widget
        self.notes: list[str] = []
        self.lost: list[str] = []

    def json(self, text: str) -> Any:
        """JSON whose texts, and whose values without quotes, can be Liquid."""
        outputs: list[str] = []

        def hold(match: re.Match[str]) -> str:
            outputs.append(match[0].strip())
            return f'"\\u0000{len(outputs) - 1}"'

        try:
            data = json.loads(text)
        except ValueError:
            try:
                data = json.loads(re.sub(r"(?<=[:\[,])\s*\{\{.*?\}\}(?=\s*[,\]}])", hold, text))
            except ValueError:
                raise LiquidError("its body is no JSON") from None
        return self._in_json(data, outputs)

    def _in_json(self, data: Any, outputs: list[str]) -> Any:
        if isinstance(data, dict):
            return {key: self._in_json(value, outputs) for key, value in data.items()}
        if isinstance(data, list):
            return [self._in_json(value, outputs) for value in data]
        if not isinstance(data, str):
            return data
        if not data.startswith("\0"):
            return self.value(data)
        (node,) = parse_liquid(outputs[int(data[1:])])
        if not isinstance(node, LiquidOutput):
            raise LiquidError("its body is no JSON")
        expression = node.expression
        if isinstance(expression, LiquidFilter) and expression.name in ("json", "to_json"):
            expression = expression.operand
        written = self.expression(expression)
        if written.kind == "text":
            self.notes.append("a text that stands in the JSON without quotes is sent as a text")
        return f"{{{{ {written.safe} }}}}"

    def expression(self, node: LiquidExpression) -> WrittenLiquid:
        """An expression."""
        return self._writer().expression(node)

    def json_value(self, name: str, text: str) -> Any:
        """The JSON of a variable, which gets its type."""
        try:
            data = self.json(text)
        except LiquidError:
            nodes = parse_liquid(text)
            if len(nodes) == 1 and isinstance(nodes[0], LiquidOutput):
                return f"{{{{ {self.expression(nodes[0].expression).safe} }}}}"
            return self.value(text)
        kinds: dict[type, str] = {dict: "object", list: "list", bool: "boolean", int: "number", float: "number"}
        self.flow.declared[name]["type"] = kinds.get(type(data), "text")
        return data

    def _writer(self) -> LiquidWriter:
        return LiquidWriter(self._resolve, self.notes)

    def _resolve(self, parts: tuple[str | int, ...]) -> WrittenLiquid:
        if parts[-1] in ("From", "address"):
            self.notes.append('a number on WhatsApp has no "whatsapp:" before it')
        if parts == ("flow", "data"):
            self.notes.append("all values together are a record, which a text shows in another form")
        try:
            return self.flow.resolve(parts)
        except _TechnicalId as error:
            self.notes.append(f"{error} is empty: nothing here has it")
            return WrittenLiquid('""', "text")

    def text(self, text: str) -> str:
        """A text with values."""
        try:
            return self._writer().template(text)
        except LiquidError as error:
            return self._function_for(text, error)

    def value(self, text: str) -> str:
        """A text for a variable of type text."""
        try:
            return self._writer().value(text)
        except LiquidError as error:
            return self._function_for(text, error)

    def argument(self, text: str) -> str:
        """A value for a function: all values with which the flow was started stay a record."""
        if text.strip("{ }") == "flow.data":
            return f"{{{{ {self._resolve(('flow', 'data')).text} }}}}"
        return self.value(text)

    def _function_for(self, text: str, error: LiquidError) -> str:
        """A call of a function that must make the text, with all values that the text reads."""
        self.lost.append(f"a text is made by a function in handlers.py that must be written: {error}")
        given: dict[str, str] = {}
        for path in paths_in(text):
            try:
                given.setdefault(name_of(str(path[-1]), given, "value"), self._resolve(path).safe)
            except LiquidError:
                continue
        title = f"{self.flow.flow}_{self.flow.names[self.widget.name]}_text"
        name = self.flow.bot.untranslatable(
            name_of(title, self.flow.bot.functions), text, dict.fromkeys(given, "Any"), "function"
        )
        return f"{{{{ {name}({', '.join(given.values())}) }}}}"

    def operand(self, text: str) -> str:
        """A text as an expression."""
        try:
            return self._writer().operand(text).safe
        except LiquidError as error:
            return self._function_for(text, error)[3:-3]

    def condition(self, condition: StudioCondition) -> str:
        """A condition. Capitals do not count in Studio, nor do the spaces around a text."""
        kind = _KINDS.get(condition.kind, condition.kind)
        subject = f"{self.operand(condition.argument or self.widget.text('input'))} | trim | lower"
        plain = condition.value.strip()
        value = quoted(plain.lower()) if "{" not in plain else f"({self.operand(plain)} | trim | lower)"
        if kind.removeprefix("not_") in _DIFFER:
            self.notes.append(_DIFFER[kind.removeprefix("not_")])
        try:
            written = written_condition(kind.removeprefix("not_"), subject, value, plain)
        except LiquidError as error:
            self.lost.append(f"{error}: it never holds")
            return "false"
        return f"not ({written})" if kind.startswith("not_") else written


class _WidgetTranslation:
    """The step, or the steps, of a widget."""

    def __init__(
        self, flow: StudioTranslation, widget: StudioWidget, subflows: Mapping[str, StudioTranslation]
    ) -> None:
        self.flow = flow
        self.widget = widget
        self.subflows = subflows
        self.name = flow.names[widget.name]
        self.texts = _WidgetTexts(flow, widget)
        self.notes, self.lost = self.texts.notes, self.texts.lost
        self.before: list[dict[str, Any]] = []  # steps that come first

    def write(self) -> None:
        """Add the steps to the flow, and note what became of the widget."""
        kinds = {
            "send-message": self._say,
            "send-and-wait-for-reply": self._ask,
            "split-based-on": self._split,
            "set-variables": self._set,
            "make-http-request": self._http,
            "run-function": self._http,
            "run-subflow": self._run,
            "send-to-flex": self._handoff,
        }
        step = kinds.get(self.widget.kind, self._stub)()
        steps, names = [*self.before, step], [self.name]
        if self.widget.name in self.flow.bounded:
            self.notes.append(f"it is entered {MOST_VISITS} times at most without a reply, in Studio in a row")
            steps[0]["visits"] = {"max": MOST_VISITS, "else": "end"}
        while len(names) < len(steps):
            taken = {*self.flow.names.values(), *self.flow.steps, *names}
            names.append(name_of(f"{self.name} {len(names) + 1}", taken))
        for index, each in enumerate(steps[:-1]):
            each["then"] = names[index + 1]
        self.flow.steps.update(zip(names, steps, strict=True))
        place, (name, *_) = self.flow.source.place(self.widget), names
        if self.lost:
            self.flow.bot.lost(place, "; ".join(dict.fromkeys([*self.lost, *self.notes])), self.flow.flow, name)
        elif self.notes:
            self.flow.bot.nearly(place, "; ".join(dict.fromkeys(self.notes)), self.flow.flow, name)
        else:
            self.flow.bot.same(place, self.flow.flow, name)

    # Kinds of widgets

    def _say(self) -> dict[str, Any]:
        if (template := self._template()) is not None:
            return {**template, **self._errors("sent", "failed"), "then": self._to("sent")}
        if not self._is_to_contact():
            self.lost.append(
                "it goes to somebody else: write a start of a flow for that contact (start: /flow, contact: ...)"
            )
            return self._call(self.widget.text("body"))
        step: dict[str, Any] = {"say": self.texts.text(self.widget.text("body")), **self._media()}
        if (sender := self.widget.text("from")) and "{{" not in sender:
            self.notes.append(f"it is sent from the bot's own number, not from {sender}")
        if step == {"say": ""}:
            self.notes.append("Twilio refuses a message without words and file")
            return {"branch": [{"else": self._to("failed")}]}
        return {**step, **self._errors("sent", "failed"), "then": self._to("sent")}

    def _ask(self) -> dict[str, Any]:
        target = self._to("incomingMessage")
        step: dict[str, Any] = {"ask": ""}
        if (template := self._template()) is not None:
            self.before.append(template)
        elif media := self._media():
            self.before.append({"say": self.texts.text(self.widget.text("body")), **media})
        elif not self.widget.text("body").strip():
            self.notes.append("Twilio refuses a message without words and file")
            return {"branch": [{"else": self._to("deliveryFailure")}]}
        else:
            step["ask"] = self.texts.text(self.widget.text("body"))
        otherwise: dict[str, Any] = {"then": target}
        if self.flow.reads(self.widget.name, "inbound", "Body"):
            step["save"] = self.flow.answer(self.widget.name, "Body")
            otherwise["set"] = {step["save"]: "{{ message.text | default(message.file.caption) | default('') }}"}
        if self.flow.reads(self.widget.name, "inbound", "MediaUrl0"):
            file = self.flow.answer(self.widget.name, "MediaUrl0")
            step["set"] = {file: None}
            otherwise.setdefault("set", {})[file] = "{{ message.file.url | default(none) }}"
        step |= {"other": otherwise, "timeout": {"after": self._timeout(), "then": self._to("timeout")}}
        if bounded := [self.flow.names[name] for name in sorted(self.flow.bounded)]:
            step["reset"] = bounded[0] if len(bounded) == 1 else bounded
        failed = self._errors("", "deliveryFailure") if self.widget.leads("deliveryFailure") is not None else {}
        return {**step, **failed, "then": target}

    def _split(self) -> dict[str, Any]:
        branches: list[dict[str, Any]] = []
        for transition in self.widget.transitions:
            if transition.conditions:
                if len(transition.conditions) > 1:
                    self.notes.append("where a transition has several conditions, all of them must hold")
                tests = [self.texts.condition(each) for each in transition.conditions]
                branches.append({"if": " and ".join(tests), "then": self.flow.step_of(transition.target)})
        return {"branch": [*branches, {"else": self._to("noMatch")}]}

    def _set(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, text, as_json in self.widget.pairs:
            if any(
                ("flow", "variables", earlier) in paths_in(text) for earlier, *_ in self.widget.pairs if earlier != key
            ):
                self.notes.append(f"{key} reads the values from before this widget")
            name = self.flow.variable("variables", key)
            values[name] = self.texts.json_value(name, text) if as_json else self.texts.value(text)
        if not values:
            return {"branch": [{"else": self._to("next")}]}
        return {"set": values, "then": self._to("next")}

    def _http(self) -> dict[str, Any]:
        is_function = self.widget.kind == "run-function"
        failed = self._to("failed", "fail")
        try:
            step = {"http": self._address(), **self._sent(is_function)}
        except LiquidError as error:
            self.notes.clear()
            self.lost.append(f"write the function that is called here, in handlers.py: {error}")
            return self._call(self.widget.text("url"))
        if is_function:
            self.notes.append("the request has no signature of Twilio: a protected function refuses it")
        saved = {}
        for field, expression in (("parsed", "answer"), ("body", 'answer ~ ""'), ("status_code", 'status ~ ""')):
            if self.flow.reads(self.widget.name, field):
                saved[self.flow.result(self.widget.name, field)] = expression
        if self.flow.reads(self.widget.name, "parsed"):
            self.notes.append(
                "an answer that is no JSON leads to the failed transition, and after it there is no answer"
            )
        if self.flow.reads(self.widget.name, "body"):
            self.texts.notes.append("a text shows a body that is JSON in another form")
        if saved:
            step["save"] = saved
        return {**step, "errors": {"else": failed}, "then": self._to("success")}

    def _run(self) -> dict[str, Any]:
        child = self.subflows.get(self.widget.text("flow_sid"))
        if child is None:
            self.lost.append("the subflow is not in the export: import its definition as well, and run it here")
            return self._call(self.widget.text("flow_sid"))
        given = {child.parameter(key): self.texts.value(value) for key, value, _ in self.widget.pairs}
        self.notes.append("what the subflow has found stays in it: name what is needed in save")
        step: dict[str, Any] = {"run": f"/{child.flow}", **({"with": given} if given else {})}
        return {**step, "errors": {"else": self._to("failed")}, "then": self._to("completed")}

    def _handoff(self) -> dict[str, Any]:
        self.notes.append("the conversation goes to people at the gateway instead of Flex, and on when they resolve it")
        note = self.texts.text(self.widget.text("attributes"))
        handoff = {"team": "flex", "note": note} if note else "flex"
        return {"handoff": handoff, "closed": self._to("callComplete")}

    def _stub(self) -> dict[str, Any]:
        reason = LOST_KINDS.get(self.widget.kind, f'the widget type "{self.widget.kind}" has no counterpart here')
        self.lost.append(reason)
        return self._call(json.dumps(dict(self.widget.properties), ensure_ascii=False, default=str))

    def _call(self, original: str) -> dict[str, Any]:
        """A call of a function that must be written."""
        targets = [each.target for each in self.widget.transitions if each.target is not None]
        usual = self.widget.leads("sent", "success", "completed", "next", "incomingMessage")
        failed = self._to("failed", "fail")
        values = {name_of(key, (), "value"): self.texts.argument(value) for key, value, _ in self.widget.pairs}
        name = name_of(f"{self.flow.flow}_{self.name}", self.flow.bot.functions)
        handler = self.flow.stubs[self.flow.source.place(self.widget)] = self.flow.bot.untranslatable(
            name, original, dict.fromkeys(values, "Any")
        )
        step: dict[str, Any] = {"call": handler, **({"with": values} if values else {})}
        if self.flow.reads(self.widget.name, "parsed"):
            step["save"] = self.flow.result(self.widget.name, "parsed")
        then = self.flow.step_of(usual or (targets[0] if targets else None))
        return {**step, "errors": {"else": failed}, "then": then}

    # Parts of steps

    def _to(self, *events: str) -> str:
        return self.flow.step_of(self.widget.leads(*events))

    def _errors(self, sent: str, failed: str) -> dict[str, Any]:
        """The transition of a message that is refused; one whose values are all empty is refused as well."""
        errors = {} if self.widget.leads(sent) == self.widget.leads(failed) else {"refused": self._to(failed)}
        if (
            self.widget.leads(failed) is not None
            and not self.widget.text("media_url")
            and may_be_empty(self.widget.text("body"))
        ):
            errors["failed"] = self._to(failed)
        return {"errors": errors} if errors else {}

    def _is_to_contact(self) -> bool:
        to = self.widget.text("to").strip()
        if not to:
            return True
        paths = paths_in(to)
        return len(paths) == 1 and paths[0] in (("contact", "channel", "address"), ("trigger", "message", "From"))

    def _timeout(self) -> str:
        written = self.widget.text("timeout") or "3600"
        if not written.isdecimal() or int(written) < 1:
            self.notes.append(f'the time-out "{written}" is read as an hour')
            written = "3600"
        seconds = int(written)
        if self.widget.leads("timeout") is not None and self.flow.longest_silence >= WINDOW:
            self.notes.append("after 24 hours of silence WhatsApp takes templates alone (window_closed)")
        for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
            if seconds % length == 0:
                return f"{seconds // length}{unit}"
        return f"{seconds}s"

    def _template(self) -> dict[str, Any] | None:
        sid = self.widget.text("content_template_sid") or self.widget.text("content_sid")
        if not sid:
            return None
        self.notes.append(f"the template {sid}: write its name, its language and its buttons (replies) here")
        try:
            listed = json.loads(self.widget.text("content_variables") or "{}")
        except ValueError:
            listed = {}
        values = (
            listed.values()
            if isinstance(listed, dict)
            else [each.get("value", "") for each in listed if isinstance(each, dict)]
        )
        body = [self.texts.value(str(each)) for each in values]
        return {"template": {"name": sid.lower(), "language": "en", **({"body": body} if body else {})}}

    def _media(self) -> dict[str, Any]:
        media = self.widget.text("media_url").strip()
        if not media:
            return {}
        ending = re.sub(r"[?#].*", "", media).rpartition(".")[2].lower()
        if ending not in _ENDINGS and ending not in ("jpg", "jpeg", "png", "webp", "gif"):
            self.notes.append("the file is sent as an image: its address does not say what it is")
        return {_ENDINGS.get(ending, "image"): self.texts.text(media)}

    def _address(self) -> str:
        """The method and address of a request: a host that a variable holds is written out."""
        written = ""
        for node in parse_liquid(self.widget.text("url").strip()):
            path = (
                node.expression.parts
                if isinstance(node, LiquidOutput) and isinstance(node.expression, LiquidPath)
                else ()
            )
            if isinstance(node, str):
                written += node
            elif path[:2] == ("flow", "variables") and str(path[-1]) in self.flow.constants:
                written += self.flow.constants[str(path[-1])]
                self.notes.append(f"the address has the value of {path[-1]} in it")
            elif isinstance(node, LiquidOutput):
                written += f"{{{{ {self.texts.expression(node.expression).safe} }}}}"
                self.notes.append("a value stays one part of the address, and without one the request fails")
            else:
                raise LiquidError("an address with a block has no counterpart here")
        if (
            not _ADDRESS.fullmatch(re.sub(r"\{\{.*?\}\}", "x", written))
            or "{{" in written.partition("://")[2].partition("/")[0]
        ):
            raise LiquidError(f'"{written}" is no address')
        method = (self.widget.text("method") or ("POST" if self.widget.kind == "run-function" else "GET")).upper()
        return f"{method} {written}"

    def _sent(self, is_function: bool) -> dict[str, Any]:
        pairs = {key: self.texts.value(value) for key, value, _ in self.widget.pairs}
        if is_function or "json" not in self.widget.text("content_type"):
            where = "query" if self.widget.text("method").upper() == "GET" and not is_function else "form"
            body = self.widget.text("body")
            if body and not pairs and where == "form":
                listed = [part.partition("=") for part in body.split("&")]
                pairs = {key: self.texts.value(value) for key, sign, value in listed if sign}
                self.notes.append("the body is read as a form")
            return {where: pairs} if pairs else {}
        body = self.widget.text("body").strip()
        if self.widget.text("method").upper() == "GET":
            return {"query": pairs} if pairs else {}
        return {"json": self.texts.json(body)} if body else {}


_KINDS = {
    "not_equal_to": "not_equal_to",
    "does_not_equal": "not_equal_to",
    "is_not_equal_to": "not_equal_to",
    "is_not_blank": "not_is_blank",
    "has_any_value": "not_is_blank",
    "does_not_contain": "not_contains",
    "not_contains": "not_contains",
    "does_not_start_with": "not_starts_with",
    "does_not_match_any_of": "not_matches_any_of",
    "is_less_than": "less_than",
    "is_greater_than": "greater_than",
    "matches_regex": "regex",
}
_DIFFER = {
    "regex": "the pattern must match the whole text, in capitals or not",
    "is_before_date": "days are compared as texts like 2030-05-12",
    "is_after_date": "days are compared as texts like 2030-05-12",
    "is_before_time": "times are compared as texts like 09:30",
    "is_after_time": "times are compared as texts like 09:30",
}


def written_condition(kind: str, subject: str, value: str, plain: str) -> str:
    """A condition in this language. ``value`` is an expression for the value, ``plain`` is as it was written."""
    if kind == "equal_to":
        return f"{subject} == {value}"
    if kind == "is_blank":
        return f'{subject} == ""'
    if kind == "contains":
        return f"{value} in {subject}"
    if kind == "starts_with":
        length = f"{value} | length" if "{" in plain else len(plain)
        return f"({subject})[:{length}] == {value}"
    if kind == "matches_any_of":
        if "{" in plain:
            return f'{subject} in ({value} | split(","))'
        return f"{subject} in [{', '.join(quoted(each.strip().lower()) for each in plain.split(','))}]"
    if kind in ("less_than", "greater_than"):
        sign = "<" if kind == "less_than" else ">"
        limit = plain if _NUMBER.fullmatch(plain) else f"({value} | as_number)"
        numbers = [subject] if _NUMBER.fullmatch(plain) else [subject, value]
        known = " and ".join(f"{each} | matches({quoted(_NUMBER.pattern)})" for each in numbers)
        return f"{known} and {subject} | as_number {sign} {limit}"
    if kind == "regex" and "{{" not in plain:
        try:
            re.compile(plain)
        except re.error:
            raise LiquidError(f'the pattern "{plain}" cannot be read') from None
        return f"{subject} | matches({quoted('(?i)' + plain)})"
    if kind in ("is_before_date", "is_after_date"):
        return f"({subject})[:10] {'<' if 'before' in kind else '>'} {value}[:10]"
    if kind in ("is_before_time", "is_after_time"):
        return f"({subject})[:5] {'<' if 'before' in kind else '>'} {value}[:5]"
    raise LiquidError(f'the condition "{kind}" has no counterpart here')
