"""Studio's own rules: runs a flow as Studio does, for every branch, and notes what it says."""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from math import ceil, floor
from typing import Any
from urllib.parse import quote, quote_plus

from bot.checker.exploring.moves import HttpResult
from bot.cli.importing.branch_runs import BranchRun, Key, branch_runs
from bot.cli.importing.conversations import SourceMessage
from bot.cli.importing.twilio.expressions import (
    LiquidAssign,
    LiquidCapture,
    LiquidError,
    LiquidExpression,
    LiquidFilter,
    LiquidFor,
    LiquidIf,
    LiquidOutput,
    LiquidPath,
    LiquidTest,
    LiquidText,
    LiquidValue,
    parse_liquid,
    paths_in,
)
from bot.cli.importing.twilio.reading import StudioCondition, StudioFlow, StudioWidget, media_kind
from bot.testing.conversations.transcript_reader import NOW

_MOST_TURNS = 15
_ALL_TURNS = 250  # of all conversations together
_MOST_VISITS = 10
_CONTACT = "+6281234567890"
_IMAGE = "https://files.example/image"
_OTHER_WORDS = ("something else", "7", "hello there", "yes", "no", "1", "2030-05-12", "10:30", "ann@example.com")


@dataclass
class StudioRun(BranchRun):
    """A run of a Studio flow."""

    data: dict[str, Any] = field(default_factory=dict)
    http: list[HttpResult] = field(default_factory=list)
    results: dict[str, list[Any]] = field(default_factory=dict)  # of other widgets, by their places


def studio_runs(
    flow: StudioFlow, event: str, subflows: Mapping[str, StudioFlow], by_message: bool
) -> Iterator[StudioRun]:
    """Runs of a flow that is triggered by an event, which together take each branch that can be taken."""

    def run_with(given: Mapping[Key, Any]) -> StudioRun:
        run = StudioRun(given)
        execution = _Execution(flow, subflows, run)
        execution.begin_by_message() if by_message else execution.begin_by_program()
        execution.run(flow.trigger.leads(event))
        if len(run.turns) < _MOST_TURNS:
            run.end_turn(("", ""))  # else what follows the last answer is not known
        return run

    return branch_runs(run_with, _ALL_TURNS)


class _Execution:
    """One execution: its context, and the turn that is being written."""

    def __init__(self, flow: StudioFlow, subflows: Mapping[str, StudioFlow], run: StudioRun, depth: int = 0) -> None:
        self.flow = flow
        self.subflows = subflows
        self.out = run
        self.depth = depth
        self.used = [path for widget in flow.widgets.values() for text in _texts(widget) for path in paths_in(text)]
        self.context: dict[str, Any] = {
            "widgets": {},
            "flow": {"variables": {}, "data": {}},
            "contact": {"channel": {"address": _CONTACT}},
            "trigger": {"message": {"From": _CONTACT}},
        }
        self.sources: dict[str, Key] = {}  # what decides the value of a variable
        self.visits: dict[str, int] = {}
        self.replies: dict[str, int] = {}

    def run(self, target: str | None) -> None:
        """Run from a widget until the execution ends, or long enough."""
        while target is not None and len(self.out.turns) < _MOST_TURNS:
            widget = self.flow.widgets[target]
            self.visits[target] = self.visits.get(target, 0) + 1
            if self.visits[target] > _MOST_VISITS:
                break
            self.out.passed.append(self.flow.place(widget))
            event, target = self._step(widget)
            self.out.edges.append((widget.name, event))

    def begin_by_message(self) -> None:
        """The first message of the contact is the trigger."""
        first = self.out.given.get(("first",), "hello there")
        self.context["trigger"]["message"] |= {"Body": first, "NumMedia": "0"}
        self.out.happened = ("text", first)

    def begin_by_program(self) -> None:
        """A program starts the flow, with a value for each parameter that it reads."""
        for path in self.used:
            match path:
                case ("flow", "data", str(name), *rest):
                    self._parameter(name, rest)
                case ("trigger", "request" | "parent", "parameters", str(name), *rest):
                    self._parameter(name, rest)
        data = self.context["flow"]["data"]
        self.context["trigger"] |= {"request": {"parameters": data}, "parent": {"parameters": data}}
        self.out.data.update(data)

    def _subflow(self, widget: StudioWidget) -> str:
        child = self.subflows.get(widget.text("flow_sid"))
        if child is None or self.depth > 5:
            return self._outside(widget)
        execution = _Execution(child, self.subflows, self.out, self.depth + 1)
        data = {name: self._render(text) for name, text, _ in widget.pairs}
        execution.context["flow"]["data"] = data
        execution.context["trigger"] |= {"parent": {"parameters": data}}
        execution.run(child.trigger.leads("incomingParent", "incomingMessage", "incomingRequest"))
        return "completed"

    def _parameter(self, name: str, rest: list[str | int]) -> None:
        data = self.context["flow"]["data"]
        if not rest:
            data.setdefault(name, self.out.given.get(("data", name), name.replace("_", " ")))
        else:
            data[name] = _put(data.get(name), rest, self.out.given.get(("data", name, *rest), str(rest[-1])))

    def _step(self, widget: StudioWidget) -> tuple[str, str | None]:
        kinds: dict[str, Callable[[StudioWidget], str]] = {
            "send-message": self._send,
            "send-and-wait-for-reply": self._ask,
            "set-variables": self._set,
            "make-http-request": self._request,
            "run-function": self._request,
            "run-subflow": self._subflow,
        }
        if widget.kind == "split-based-on":
            return self._split(widget)
        if widget.kind == "send-to-flex":
            return "handed over", None  # people go on
        event = kinds.get(widget.kind, self._outside)(widget)
        return event, widget.leads(event)

    def _send(self, widget: StudioWidget) -> str:
        return "sent" if self._say(widget) else "failed"

    def _say(self, widget: StudioWidget) -> bool:
        """Send a message. Returns false where Twilio refuses it: it has neither words nor a file."""
        media = self._render(widget.text("media_url")).strip()
        text = self._render(widget.text("body"))
        if template := widget.text("content_template_sid") or widget.text("content_sid"):
            text, media = f"template {template.lower()}", ""
        if not text.strip() and not media:
            return False
        files = (f"{media_kind(media) or 'image'} {media}",) if media else ()
        self.out.said.append(SourceMessage(text, media=files, place=self.flow.place(widget)))
        return True

    def _ask(self, widget: StudioWidget) -> str:
        if not self._say(widget):
            return "deliveryFailure"
        self.visits.clear()  # those without a reply between them count
        number = self.replies[widget.name] = self.replies.get(widget.name, 0) + 1
        key = ("reply", self.flow.place(widget), number)
        answer = self.out.given.get(key, "hello there")
        event = "timeout" if answer is None else "incomingMessage"
        if number < 4:
            other, value = ("incomingMessage", "hello there") if answer is None else ("timeout", None)
            self.out.others.append(((widget.name, other), key, value))
        if answer is None:
            seconds = widget.text("timeout")
            self.out.end_turn(("wait", seconds if seconds.isdecimal() and int(seconds) > 0 else "3600"))
        else:
            self.out.end_turn(("text", answer) if answer else ("image", ""))
            media = {"NumMedia": "0"} if answer else {"NumMedia": "1", "MediaUrl0": _IMAGE}
            self._result(widget)["inbound"] = {"Body": answer, "From": _CONTACT, **media}
        self.out.passed.append(self.flow.place(widget))
        return event

    def _set(self, widget: StudioWidget) -> str:
        values: dict[str, Any] = {}
        for name, text, as_json in widget.pairs:
            value: Any = self._render(text)
            if as_json:
                try:
                    value = json.loads(value)
                except ValueError:
                    pass
            values[name] = value
            if key := self._decided_by(text):
                self.sources[name] = key
            else:
                self.sources.pop(name, None)
        self.context["flow"]["variables"].update(values)
        return "next"

    def _request(self, widget: StudioWidget) -> str:
        failed = "fail" if widget.kind == "run-function" else "failed"
        method = (widget.text("method") or ("POST" if widget.kind == "run-function" else "GET")).upper()
        address = quote(self._render(widget.text("url")).strip().partition("?")[0], safe="/:%*")
        fails = bool(self.out.given.get(("fails", self.flow.place(widget))))
        self.out.others.append(((widget.name, failed), ("fails", self.flow.place(widget)), True))
        if fails:
            self.out.http.append(HttpResult(f"{method} {address}", 500, json={}))
            return failed
        answer: Any = {}
        for path in self.used:
            if path[:3] == ("widgets", widget.name, "parsed") and len(path) > 3:
                rest = list(path[3:])
                answer = _put(answer, rest, self.out.given.get(("json", self.flow.place(widget), *rest), str(rest[-1])))
        self.out.http.append(HttpResult(f"{method} {address}", json=answer))
        self.out.results.setdefault(self.flow.place(widget), []).append(answer)
        self._result(widget).update(parsed=answer, body=json.dumps(answer), status_code="200")
        return "success"

    def _outside(self, widget: StudioWidget) -> str:
        """A widget whose rules are not known here: its usual transition."""
        usual = ("completed", "success", "next", "sent")
        events = [each.event for each in widget.transitions if each.target is not None]
        self.out.results.setdefault(self.flow.place(widget), []).append(None)
        return next((each.event for each in widget.transitions if each.event in usual), events[0] if events else "end")

    # Splits: capitals do not count, nor do the spaces around a text

    def _split(self, widget: StudioWidget) -> tuple[str, str | None]:
        conditions = [each for each in widget.transitions if each.conditions]
        taken = self._branch(widget, None, None)
        arguments = {self._argument(widget, condition) for condition in widget.conditions}
        keys = {key for argument in arguments if (key := self._decided_by(argument))}
        if len(keys) == 1:
            (key,) = keys
            found: dict[int, str] = {}
            for candidate in self._candidates(widget):
                found.setdefault(self._branch(widget, key, candidate), candidate)
            self.out.others += [
                ((widget.name, f"branch {index}"), key, value) for index, value in found.items() if index != taken
            ]
        target = conditions[taken].target if taken >= 0 else widget.leads("noMatch")
        return f"branch {taken}", target

    def _branch(self, widget: StudioWidget, key: Key | None, value: str | None) -> int:
        """The number of the branch that is taken; -1: none matches. With a key: if its value were another one."""
        for index, each in enumerate(each for each in widget.transitions if each.conditions):
            if all(self._holds(widget, condition, key, value) for condition in each.conditions):
                return index
        return -1

    def _argument(self, widget: StudioWidget, condition: StudioCondition) -> str:
        return condition.argument or widget.text("input")

    def _holds(self, widget: StudioWidget, condition: StudioCondition, key: Key | None, value: str | None) -> bool:
        argument = self._argument(widget, condition)
        instead = value if key is not None and self._decided_by(argument) == key else None
        subject = (self._render(argument) if instead is None else instead).strip().lower()
        compared = self._render(condition.value).strip()
        kind, is_opposite = condition.test
        return _holds(kind, subject, compared) != is_opposite

    def _candidates(self, widget: StudioWidget) -> list[str]:
        """Values that may lead to each branch."""
        found = []
        for condition in widget.conditions:
            value = self._render(condition.value).strip()
            found += [value, *(each.strip() for each in value.split(",")), f"{value} and more".strip(), value.upper()]
            found += re.findall(r"\w+", value)
            if re.fullmatch(r"-?\d+(\.\d+)?", value):
                found += [str(float(value) + 1.5), str(float(value) - 1.5)]
            if "date" in condition.kind:
                found += ["1990-01-01", "2090-01-01"]
            if "time" in condition.kind:
                found += ["00:01", "23:59"]
        return list(dict.fromkeys([*found, *_OTHER_WORDS, ""]))

    def _decided_by(self, text: str) -> Key | None:
        """The choice that decides a text; None: several do, or none that can be taken otherwise."""
        try:
            nodes = parse_liquid(text.strip())
        except LiquidError:
            return None
        if len(nodes) != 1 or not isinstance(nodes[0], LiquidOutput):
            return None
        node: LiquidExpression = nodes[0].expression
        while isinstance(node, LiquidFilter) and node.name in ("upcase", "downcase", "strip"):
            node = node.operand
        if not isinstance(node, LiquidPath):
            return None
        match node.parts:
            case ("flow", "data", *rest) | ("trigger", "request" | "parent", "parameters", *rest) if rest:
                return ("data", *rest) if self.out.data and not self.depth else None
            case ("flow", "variables", str(name)):
                return self.sources.get(name)
            case ("widgets", str(name), "inbound", "Body") if name in self.replies:
                return ("reply", self.flow.place(self.flow.widgets[name]), self.replies[name])
            case ("widgets", str(name), "parsed", *rest) if rest:
                return ("json", self.flow.place(self.flow.widgets[name]), *rest) if name in self.flow.widgets else None
            case ("trigger", "message", "Body"):
                return ("first",) if self.context["trigger"]["message"].get("Body") else None
        return None

    # The context

    def _result(self, widget: StudioWidget) -> dict[str, Any]:
        found: dict[str, Any] = self.context["widgets"].setdefault(widget.name, {})
        return found

    def _render(self, text: str) -> str:
        try:
            return _Renderer(self.context).render(parse_liquid(text))
        except LiquidError:
            return text


def _holds(kind: str, subject: str, compared: str) -> bool:
    """True if a condition holds: `compared` is the text that stands in it, `subject` has small letters."""
    small = compared.lower()
    match kind:
        case "equal_to":
            return subject == small
        case "matches_any_of":
            return subject in [each.strip() for each in small.split(",")]
        case "is_blank":
            return not subject
        case "contains":
            return small in subject
        case "starts_with":
            return subject.startswith(small)
        case "less_than" | "greater_than":
            left, right = _number(subject), _number(small)
            return left is not None and right is not None and (left < right if kind == "less_than" else left > right)
        case "regex":
            try:
                return re.fullmatch(compared, subject, re.IGNORECASE) is not None
            except re.error:
                return False
        case "is_before_date" | "is_before_time" | "is_after_date" | "is_after_time":
            length = 10 if kind.endswith("date") else 5
            left_text, right_text = subject[:length], small[:length]
            return left_text < right_text if "before" in kind else left_text > right_text
    return False


class _Renderer:
    """Liquid, as Studio evaluates it: a value that is missing is nil, and all but nil and false is true."""

    def __init__(self, context: Mapping[str, Any]) -> None:
        self.context = dict(context)

    def render(self, nodes: LiquidText) -> str:
        return "".join(self._node(node) for node in nodes)

    def _node(self, node: Any) -> str:
        match node:
            case str():
                return node
            case LiquidOutput(expression):
                return _text(self._value(expression))
            case LiquidAssign(name, expression):
                self.context[name] = self._value(expression)
            case LiquidCapture(name, body):
                self.context[name] = self.render(body)
            case LiquidIf(branches):
                for condition, body, negated in branches:
                    if condition is None or _truth(self._value(condition)) != negated:
                        return self.render(body)
            case LiquidFor(name, over, body, otherwise):
                elements = self._value(over)
                if not isinstance(elements, list) or not elements:
                    return self.render(otherwise)
                return "".join(self._round(name, elements, index, body) for index in range(len(elements)))
        return ""

    def _round(self, name: str, elements: list[Any], index: int, body: LiquidText) -> str:
        loop = {"index": index + 1, "index0": index, "first": index == 0, "last": index == len(elements) - 1}
        self.context |= {name: elements[index], "forloop": {**loop, "length": len(elements)}}
        return self.render(body)

    def _value(self, node: LiquidExpression) -> Any:
        match node:
            case LiquidValue(value):
                return value
            case LiquidPath(parts):
                found: Any = self.context
                for part in parts:
                    found = _part(found, part)
                return found
            case LiquidFilter(operand, name, arguments):
                values = [self._value(argument) for argument in arguments]
                return _filtered(name, self._value(operand), values)
            case LiquidTest():
                return self._test(node)

    def _test(self, node: LiquidTest) -> bool:
        left = self._value(node.left)
        if node.operator == "and":
            return _truth(left) and _truth(self._value(node.right))
        if node.operator == "or":
            return _truth(left) or _truth(self._value(node.right))
        right = self._value(node.right)
        if isinstance(node.right, LiquidValue) and node.right.word:
            is_blank = not (_text(left).strip() if node.right.word == "blank" else _text(left))
            return is_blank == (node.operator == "==")
        if node.operator in ("==", "!="):
            return bool(left == right) == (node.operator == "==")
        if node.operator == "contains":
            return _text(right) in (left if isinstance(left, list) else _text(left))
        if isinstance(left, int | float) or isinstance(right, int | float):
            left, right = _number(left) or 0, _number(right) or 0
        else:
            left, right = _text(left), _text(right)
        orders: dict[str, bool] = {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}
        return orders[node.operator]


def _part(found: Any, part: str | int) -> Any:
    if isinstance(found, Mapping):
        return found.get(str(part))
    if isinstance(found, list):
        if part == "size":
            return len(found)
        if part in ("first", "last"):
            part = 0 if part == "first" else -1
        return found[part] if isinstance(part, int) and -len(found) <= part < len(found) else None
    return None


def _truth(value: Any) -> bool:
    return value is not None and value is not False


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return json.dumps(value)
    return "".join(map(_text, value)) if isinstance(value, list) else str(value)


def _number(value: Any) -> float | int | None:
    if isinstance(value, int | float):
        return value
    text = _text(value).strip()
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d+\.\d+", text) else None


def _filtered(name: str, value: Any, given: list[Any]) -> Any:
    if name in _NUMBERS:
        left, right = _number(value) or 0, _number(given[0] if given else 0) or 0
        return _NUMBERS[name](left, right)
    if name in _TEXTS:
        return _TEXTS[name](_text(value), *map(_text, given))
    match name:
        case "default":
            return given[0] if value in (None, False, "", []) else value
        case "split":
            return _text(value).split(_text(given[0])) if value else []
        case "size":
            return len(value) if isinstance(value, str | list | dict) else 0
        case "first" | "last":
            return value[0 if name == "first" else -1] if value and isinstance(value, list | str) else None
        case "join":
            return _text(given[0] if given else " ").join(map(_text, value or []))
        case "map":
            return [_part(each, str(given[0])) for each in value or []]
        case "sort":
            return sorted(value or [], key=_text)
        case "uniq":
            return list({_text(each): each for each in value or []}.values())
        case "reverse":
            return list(value or [])[::-1]
        case "concat":
            return [*(value or []), *(given[0] or [])]
        case "slice":
            start, count = int(given[0]), int(given[1]) if len(given) > 1 else 1
            return _text(value)[start : start + count]
        case "truncate":
            most, end = int(given[0]), _text(given[1]) if len(given) > 1 else "..."
            text = _text(value)
            return text if len(text) <= most else text[: most - len(end)] + end
        case "date":
            try:
                moment = NOW if value in ("now", "today") else datetime.fromisoformat(_text(value).replace("Z", ""))
            except ValueError:
                return value
            return moment.strftime(_text(given[0]))
    return value


def _divided(left: float | int, right: float | int) -> float | int:
    if not right:
        return 0
    return left // right if isinstance(left, int) and isinstance(right, int) else left / right


def _rounded(left: float | int, right: float | int) -> float | int:
    found = Decimal(str(left)).quantize(Decimal(1).scaleb(-int(right)), ROUND_HALF_UP)
    return float(found) if right else int(found)


_NUMBERS: Mapping[str, Callable[[float | int, float | int], float | int]] = {
    "plus": operator.add,
    "minus": operator.sub,
    "times": operator.mul,
    "divided_by": _divided,
    "modulo": lambda left, right: left % right if right else 0,
    "round": _rounded,
    "ceil": lambda left, _: ceil(left),
    "floor": lambda left, _: floor(left),
    "abs": lambda left, _: abs(left),
}
_TEXTS: Mapping[str, Callable[..., str]] = {
    "upcase": str.upper,
    "downcase": str.lower,
    "capitalize": lambda text: text[:1].upper() + text[1:],
    "strip": str.strip,
    "append": operator.add,
    "prepend": lambda text, more: more + text,
    "replace": lambda text, old, new="": text.replace(old, new),
    "remove": lambda text, old: text.replace(old, ""),
    "url_encode": quote_plus,
}


def _put(data: Any, path: list[str | int], value: Any) -> Any:
    """JSON with a value at a path."""
    first, *rest = path
    if isinstance(first, int):
        listed = list(data) if isinstance(data, list) else []
        while len(listed) <= first:
            listed.append(None)
        listed[first] = _put(listed[first], rest, value) if rest else value
        return listed
    record = dict(data) if isinstance(data, dict) else {}
    if rest:
        record[first] = _put(record.get(first), rest, value)
    elif not isinstance(record.get(first), dict | list):
        record[first] = value
    return record


def _texts(widget: StudioWidget) -> Iterator[str]:
    yield from (str(value) for value in widget.properties.values() if isinstance(value, str))
    yield from (text for _, text, _ in widget.pairs)
    for condition in widget.conditions:
        yield from (condition.argument, condition.value)
