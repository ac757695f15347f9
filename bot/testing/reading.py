"""Reading a test out of its document; what is wrong with it becomes a problem."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from bot.core.messages import MEDIA_KINDS
from bot.flow.definition import Flow
from bot.lang.fields import Fields, text_of
from bot.lang.nodes import List, Map, Node, Scalar
from bot.lang.problems import Problems, did_you_mean
from bot.testing.transcript import Expect, Line, Model, Pick, Says, Tap, Transcript, User, Wait

NOW = datetime(2030, 5, 6, 10, 0)  # a Monday
LATER_IN_TEST = {
    "models": "scripted models",
    "handlers": "stand-ins for handlers",
    "random": "fixed random numbers",
}
LATER_LINES = {
    "send": "media and places from the contact",
    "event": "other events",
    "http": "scripted HTTP answers",
    "restart": "restarts",
    "fault": "faults of the gateway",
    "start": "starts by a program",
}
FAILURES = ("server_error", "quota_exceeded", "model_no_tool_support")
"""The failures of a model that a test may script, by the service's names (spec: Errors)."""

LATER_IN_EXPECT = {"calls": "expectations on calls"}


def read_transcript(node: Map, flows: Mapping[str, Flow], problems: Problems) -> Transcript:
    """Read one test; what is wrong with it becomes a problem. ``flows`` are those that it may expect."""
    fields = Fields(node, problems, "this document")
    name = fields.string("test") or ""
    fields.what = f'test "{name}"'
    now = _read_now(fields)
    items = fields.items("talk")
    if fields.require("talk") and isinstance(fields.raw("talk"), List) and not items:
        problems.add("E601", fields.mark_of("talk"), "nothing is said in this talk", "begin it with - user: hello")
    lines = [_read_line(item, flows, problems) for item in items]
    fields.close(LATER_IN_TEST)
    return Transcript(name, node.mark, now, tuple(line for line in lines if line is not None))


def _read_now(fields: Fields) -> datetime:
    text = fields.string("now")
    if text is None:
        return NOW
    try:
        now = datetime.fromisoformat(text)
    except ValueError:
        now = None
    if now is None or now.tzinfo is not None:
        what = f'{fields.what}: "{text}" is no time on the bot\'s clock'
        fields.problems.add("E602", fields.mark_of("now"), what, "write one like 2030-05-06T10:00")
        return NOW
    return now


def _read_line(node: Node, flows: Mapping[str, Flow], problems: Problems) -> Line | None:
    if not isinstance(node, Map):
        written = f'"{node.text}"' if isinstance(node, Scalar) else "a list"
        problems.add("E601", node.mark, f"{written} is no line of a talk", "write who does what, like user: hello")
        return None
    fields = Fields(node, problems, "talk")
    verbs = [key.text for key, _ in node.entries if key.text in VERBS]
    line = None
    if len(verbs) > 1:
        problems.add("E601", node.key_mark(verbs[1]), f'"{verbs[0]}" and "{verbs[1]}" in one line', "make two lines")
        return None
    if verbs:
        line = VERBS[verbs[0]](fields, flows)
    elif not any(key.text in LATER_LINES for key, _ in node.entries):
        first = node.entries[0][0].text if node.entries else ""
        fix = did_you_mean(first, VERBS, f"begin it with one of {', '.join(VERBS)}")
        problems.add("E601", node.mark, f'a line of a talk cannot begin with "{first}"', fix)
        return None
    fields.close(LATER_LINES)
    return line


def _read_user(fields: Fields, flows: Mapping[str, Flow]) -> User | None:
    text = fields.string("user")
    return None if text is None else User(fields.mark, text)


def _read_tap(fields: Fields, flows: Mapping[str, Flow]) -> Tap | None:
    title = fields.string("tap")
    return None if title is None else Tap(fields.mark, title)


def _read_pick(fields: Fields, flows: Mapping[str, Flow]) -> Pick | None:
    title = fields.string("pick")
    return None if title is None else Pick(fields.mark, title)


def _read_wait(fields: Fields, flows: Mapping[str, Flow]) -> Wait | None:
    duration = fields.duration("wait")
    return None if duration is None else Wait(fields.mark, duration)


def _read_model(fields: Fields, flows: Mapping[str, Flow]) -> Model | None:
    if not isinstance(fields.raw("model"), Map):
        text = fields.string("model")
        return None if text is None else Model(fields.mark, text)
    inner = fields.fields("model")
    assert inner is not None
    inner.what = "model"
    text, fails = inner.string("says") or "", inner.choice("fails", FAILURES)
    calls = [_read_call(node, fields.problems) for node in inner.items("calls")]
    inner.close()
    return Model(fields.mark, text, tuple(call for call in calls if call is not None), fails)


def _read_call(node: Node, problems: Problems) -> tuple[str, Mapping[str, Any]] | None:
    """``{leave: tracking}``, or the name of a tool with its arguments."""
    match node:
        case Scalar(text=name):
            return name, {}
        case Map(entries=((Scalar(text="leave"), Scalar(text=name)),)):
            return f"leave_{name}", {}
        case Map(entries=((Scalar(text=name), Map(entries=arguments)),)):
            return name, {key.text: _plain_value(value) for key, value in arguments}
    problems.add(
        "E601", node.mark, "this is no call", "write the tool's name and its arguments: {orders.find: {number: 1}}"
    )
    return None


def _plain_value(node: Node) -> Any:
    """A value as it is written."""
    match node:
        case Scalar(value=value):
            return value
        case Map(entries=entries):
            return {key.text: _plain_value(value) for key, value in entries}
        case List(items=items):
            return [_plain_value(item) for item in items]


def _read_says(fields: Fields, flows: Mapping[str, Flow]) -> Says | None:
    if not isinstance(fields.raw("bot"), Map):
        text = fields.string("bot")
        return None if text is None else Says(fields.mark, {"says": text}, alone=True)
    inner = fields.fields("bot")
    assert inner is not None
    inner.what = "bot"
    parts: dict[str, str | tuple[str, ...]] = {}
    for key in _TEXTS:
        text = inner.string(key)
        if text is not None:
            parts[key] = text
    for key in _LISTS:
        if inner.has(key):
            parts[key] = inner.strings(key)
    inner.close()
    if not inner.node.entries:
        fields.problems.add("E601", inner.mark, "nothing is said about this message", "write says: or contains:")
    return Says(fields.mark, parts)


def _read_expect(fields: Fields, flows: Mapping[str, Flow]) -> Expect | None:
    inner = fields.fields("expect")
    if inner is None:
        return None
    inner.what = "expect"
    wanted = {key: node for key in ("flow", "step", "vars", "tags") if (node := inner.raw(key)) is not None}
    inner.close(LATER_IN_EXPECT)
    if not inner.node.entries:
        fields.problems.add("E601", inner.mark, "nothing is expected here", "write flow:, step:, vars: or tags:")
    _check_forms(inner, wanted)
    if flows:
        _check_names(inner, wanted, flows)
    return Expect(fields.mark, wanted)


def _check_forms(fields: Fields, wanted: Mapping[str, Node]) -> None:
    for key in ("flow", "step"):
        if not fields.null(key):
            fields.string(key)
    if "vars" in wanted:
        fields.fields("vars")
    if "tags" in wanted and not isinstance(wanted["tags"], List):
        text_of(wanted["tags"], fields.problems, "expect: tags")


def _check_names(fields: Fields, wanted: Mapping[str, Node], flows: Mapping[str, Flow]) -> None:
    """The flow, the step and the variables that are expected are there to be expected."""
    flow, step, variables = (wanted.get(key) for key in ("flow", "step", "vars"))
    within = list(flows.values())
    if isinstance(flow, Scalar) and flow.value is not None:
        if flow.text not in flows:
            fix = did_you_mean(flow.text, flows, f"there are {', '.join(flows)}")
            fields.problems.add("E103", flow.mark, f'no flow "{flow.text}"', fix)
            return
        within = [flows[flow.text]]
    if isinstance(step, Scalar) and step.value is not None:
        steps = [name for one in within for name in one.steps]
        if step.text not in steps:
            fields.problems.add("E102", step.mark, f'no step "{step.text}"', did_you_mean(step.text, steps))
    for key, _ in variables.entries if isinstance(variables, Map) else ():
        known = [name for one in within for name in one.variables]
        if key.text not in known:
            where = f" in flow {flow.text}" if len(within) == 1 and isinstance(flow, Scalar) else ""
            otherwise = f"there are {', '.join(known)}" if known else "it has none"
            fix = did_you_mean(key.text, known, otherwise)
            fields.problems.add("E301", key.mark, f'no variable "{key.text}"{where}', fix)


_TEXTS = ("says", "header", "footer", "link", "template", "language", *MEDIA_KINDS, "location")
_LISTS = ("contains", "buttons", "rows", "body")
VERBS: dict[str, Callable[[Fields, Mapping[str, Flow]], Line | None]] = {
    "user": _read_user,
    "tap": _read_tap,
    "pick": _read_pick,
    "wait": _read_wait,
    "model": _read_model,
    "bot": _read_says,
    "expect": _read_expect,
}
