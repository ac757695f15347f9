"""A Studio flow, written as a flow of this language."""

import json
import re
from collections.abc import Mapping
from typing import Any

from bot.cli.importing.imported import ImportedBot, name_of, unsendable
from bot.cli.importing.twilio.expressions import (
    LiquidError,
    LiquidOutput,
    LiquidPath,
    may_be_empty,
    parse_liquid,
    paths_in,
)
from bot.cli.importing.twilio.reading import ENTRIES, StudioFlow, StudioWidget, media_kind
from bot.cli.importing.twilio.scope import StudioScope
from bot.cli.importing.twilio.widget_texts import WidgetTexts
from bot.core.lazy_patterns import lazy_pattern

WINDOW = 23 * 3600 + 55 * 60  # seconds: how long the bot sends other messages than templates
MOST_VISITS = 10  # Studio stops an execution in which a widget runs more often in a row
WAITING = frozenset({"send-and-wait-for-reply", "send-to-flex"})
_ADDRESS = lazy_pattern(r"https?://[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d+)?([/?]\S*)?")
_OF_CALLS = (
    *("say-play", "gather-input-on-call", "connect-call-to", "make-outgoing-call", "make-outgoing-call-v2"),
    *("enqueue-call", "record-voicemail", "record-call", "capture-payments", "fork-stream", "connect-virtual-agent"),
)
LOST_KINDS = {
    **dict.fromkeys(_OF_CALLS, "a call has no counterpart here: the bot writes and reads messages"),
    "add-twiml-redirect": "TwiML is not run here: write what it does as steps, or call your own program by http",
    "send-to-auto-pilot": "Autopilot has ended: write an ai step",
    "send-to-autopilot": "Autopilot has ended: write an ai step",
}


class StudioTranslation:
    """The flow of this language that a Studio flow becomes."""

    def __init__(self, source: StudioFlow, bot: ImportedBot) -> None:
        self.scope = StudioScope(source, bot)
        self.bot = bot
        self.bounded = self._circles()
        self.entry_flows = dict.fromkeys(self.scope.entries, self.scope.flow)
        self.stubs: dict[str, str] = {}  # the functions that stand for widgets, by their places
        self.steps: dict[str, Any] = {}
        self.first_message = any(
            path[:2] == ("trigger", "message") and path[2:3] not in (("From",),) for path in self.scope.used
        )

    def translate(self, subflows: Mapping[str, StudioScope]) -> None:
        """Write the flow into the bot, and note what became of each widget."""
        document = self.bot.flows[self.scope.flow]
        targets = list(dict.fromkeys(self.scope.entries.values()))
        if self.first_message and "incomingMessage" in self.scope.entries:
            first = name_of("begin", {*self.scope.names.values()})
            body = self.scope.first("Body")
            self.steps[first] = {"set": {body: "{{ message.text | default(message.file.caption) | default('') }}"}}
            if any(path[:3] == ("trigger", "message", "MediaUrl0") for path in self.scope.used):
                file = self.scope.first("MediaUrl0")
                self.steps[first]["set"][file] = "{{ message.file.url | default(none) }}"
            self.steps[first]["then"] = self.scope.step_of(targets[0])
        for widget in self.scope.reached:
            _WidgetTranslation(self, widget, subflows).write()
        if not self.scope.entries:
            self.steps["nothing"] = {"branch": [{"else": "end"}]}
        by_message = next((event for event in ENTRIES[:2] if event in self.scope.entries), "")
        taken = any("start" in flow for flow in self.bot.flows.values())
        if by_message and not taken and self.scope.entries[by_message] == targets[0]:
            document["start"] = {"otherwise": True}
        document |= {**self._vars(), "steps": self.steps}
        self._note_trigger(bool(by_message) and taken)
        for event, target in self.scope.entries.items():
            if target != targets[0]:
                self._entry(event, target)
        for widget in self.scope.source.widgets.values():
            if widget not in self.scope.reached and widget is not self.scope.source.trigger:
                reason = LOST_KINDS.get(widget.kind, "no message and no program leads to it")
                self.bot.lost(self.scope.source.place(widget), f"{reason}; it is left out")

    def _vars(self) -> dict[str, Any]:
        declared = {name: each["type"] if len(each) == 1 else each for name, each in self.scope.declared.items()}
        return {"vars": declared} if declared else {}

    def _note_trigger(self, is_taken: bool) -> None:
        place = self.scope.source.place(self.scope.source.trigger)
        notes = []
        if is_taken:
            notes.append(
                "messages start another flow of this bot: write which words start this one (start: {words: ...})"
            )
        if self.scope.source.trigger.leads("incomingCall") is not None:
            notes.append("calls start nothing here")
        if "incomingRequest" in self.scope.entries:
            notes.append(
                f"a program starts it by POST /api/flows/{self.scope.flow}/start, with values that it reads alone; more than 24 hours after the contact's last "
                "message WhatsApp takes templates alone (window_closed)"
            )
        self.bot.report(place, self.scope.flow, next(iter(self.steps)), notes)

    def _entry(self, event: str, target: str) -> None:
        """A flow of its own for a trigger that leads elsewhere than the first."""
        name = name_of(f"{self.scope.flow} {event}", self.bot.flows)
        step = {"branch": [{"else": f"/{self.scope.flow}/{self.scope.names[target]}"}]}
        self.bot.flows[name] = {**self._vars(), "steps": {"begin": step}}
        self.entry_flows[event] = name
        note = "this trigger has a flow of its own, which leads into the other one"
        self.bot.nearly(f"{self.scope.source.place(self.scope.source.trigger)} {event}", note, name, "begin")

    def _circles(self) -> set[str]:
        """The widgets at which a circle closes in which nothing waits for the contact."""
        state: dict[str, bool] = {}  # whether a widget is on the way
        found: set[str] = set()

        def visit(name: str) -> None:
            state[name] = True
            widget = self.scope.source.widgets[name]
            for each in widget.transitions if widget.kind not in WAITING else ():
                if each.target is not None and each.target not in state:
                    visit(each.target)
                elif each.target is not None and state[each.target]:
                    found.add(each.target)
            state[name] = False

        for widget in self.scope.reached:
            if widget.name not in state:
                visit(widget.name)
        return found


class _WidgetTranslation:
    """The step, or the steps, of a widget."""

    def __init__(self, flow: StudioTranslation, widget: StudioWidget, subflows: Mapping[str, StudioScope]) -> None:
        self.flow = flow
        self.scope = flow.scope
        self.widget = widget
        self.subflows = subflows
        self.name = self.scope.names[widget.name]
        self.texts = WidgetTexts(self.scope, widget)
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
            taken = {*self.scope.names.values(), *self.flow.steps, *names}
            names.append(name_of(f"{self.name} {len(names) + 1}", taken))
        for index, each in enumerate(steps[:-1]):
            each["then"] = names[index + 1]
        self.flow.steps.update(zip(names, steps, strict=True))
        place, (name, *_) = self.scope.source.place(self.widget), names
        self.scope.bot.report(place, self.scope.flow, name, self.notes, self.lost)

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
        if self.scope.reads(self.widget.name, "inbound", "Body"):
            step["save"] = self.scope.answer(self.widget.name, "Body")
            otherwise["set"] = {step["save"]: "{{ message.text | default(message.file.caption) | default('') }}"}
        if self.scope.reads(self.widget.name, "inbound", "MediaUrl0"):
            file = self.scope.answer(self.widget.name, "MediaUrl0")
            step["set"] = {file: None}
            otherwise.setdefault("set", {})[file] = "{{ message.file.url | default(none) }}"
        step |= {"other": otherwise, "timeout": {"after": self._timeout(), "then": self._to("timeout")}}
        if bounded := [self.scope.names[name] for name in sorted(self.flow.bounded)]:
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
                branches.append({"if": " and ".join(tests), "then": self.scope.step_of(transition.target)})
        return {"branch": [*branches, {"else": self._to("noMatch")}]}

    def _set(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, text, as_json in self.widget.pairs:
            others = {("flow", "variables", other) for other, *_ in self.widget.pairs if other != key}
            if others.intersection(paths_in(text)):
                self.notes.append(f"{key} reads the values from before this widget")
            name = self.scope.variable("variables", key)
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
            if self.scope.reads(self.widget.name, field):
                saved[self.scope.result(self.widget.name, field)] = expression
        if self.scope.reads(self.widget.name, "parsed"):
            self.notes.append(
                "an answer that is no JSON leads to the failed transition, and after it there is no answer"
            )
        if self.scope.reads(self.widget.name, "body"):
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
        name = name_of(f"{self.scope.flow}_{self.name}", self.scope.bot.functions)
        handler = self.flow.stubs[self.scope.source.place(self.widget)] = self.scope.bot.untranslatable(
            name, original, dict.fromkeys(values, "Any")
        )
        step: dict[str, Any] = {"call": handler, **({"with": values} if values else {})}
        if self.scope.reads(self.widget.name, "parsed"):
            step["save"] = self.scope.result(self.widget.name, "parsed")
        then = self.scope.step_of(usual or (targets[0] if targets else None))
        return {**step, "errors": {"else": failed}, "then": then}

    # Parts of steps

    def _to(self, *events: str) -> str:
        return self.scope.step_of(self.widget.leads(*events))

    def _errors(self, sent: str, failed: str) -> dict[str, Any]:
        """The transition of a message that is refused; one whose values are all empty is refused as well."""
        errors = {} if self.widget.leads(sent) == self.widget.leads(failed) else {"refused": self._to(failed)}
        is_empty = not self.widget.text("media_url") and may_be_empty(self.widget.text("body"))
        if self.widget.leads(failed) is not None and is_empty:
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
        if self.widget.leads("timeout") is not None and self.scope.longest_silence >= WINDOW:
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
        if not isinstance(listed, dict):
            listed = dict(enumerate(each.get("value", "") for each in listed if isinstance(each, dict)))
        body = [self.texts.value(str(each)) for each in listed.values()]
        return {"template": {"name": sid.lower(), "language": "en", **({"body": body} if body else {})}}

    def _media(self) -> dict[str, Any]:
        media = self.widget.text("media_url").strip()
        if not media:
            return {}
        kind = media_kind(media)
        if not kind:
            self.notes.append("the file is sent as an image: its address does not say what it is")
        if "{" not in media and (why := unsendable(kind or "image", media)):
            self.lost.append(why)
            return {}
        return {kind or "image": self.texts.text(media)}

    def _address(self) -> str:
        """The method and address of a request: a host that a variable holds is written out."""
        written = ""
        for node in parse_liquid(self.widget.text("url").strip()):
            match node:
                case str():
                    written += node
                case LiquidOutput(LiquidPath(("flow", "variables", *_, name))) if str(name) in self.scope.constants:
                    written += self.scope.constants[str(name)]
                    self.notes.append(f"the address has the value of {name} in it")
                case LiquidOutput(expression):
                    written += f"{{{{ {self.texts.expression(expression).safe} }}}}"
                    self.notes.append("a value stays one part of the address, and without one the request fails")
                case _:
                    raise LiquidError("an address with a block has no counterpart here")
        host = written.partition("://")[2].partition("/")[0]
        if "{{" in host or not _ADDRESS.fullmatch(re.sub(r"\{\{.*?\}\}", "x", written)):
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
