"""Compares what a test expects with the messages, the state of the conversation and the model's acts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

from bot.core.effects import AskModel, Effect, Publish
from bot.core.events import CallEnded
from bot.core.immutable import immutable
from bot.core.messages import MEDIA_KINDS
from bot.core.session import Session, effect_ref
from bot.core.text import json_object
from bot.language.expressions.abstract_values import just
from bot.language.expressions.formats import shown
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.flow.library import Library
from bot.language.source.yaml_tree import List, Map, Node, Scalar, one_or_more
from bot.language.steps.step_kind import payload_of
from bot.language.steps.tools import LEAVE, REMEMBER
from bot.language.types.type_registry import Answer, InvalidAnswer, TypeMismatch, Variable
from bot.store.trace_rows import TurnTraced
from bot.testing.conversations.expectation_reader import EXIT
from bot.testing.conversations.stubs import ObservedCall
from bot.testing.conversations.transcript import BotLine, ExpectLine, is_meant
from bot.testing.simulation.phone import ShownMessage

NOTHING = "nothing"


@immutable
class ExpectationDifference:
    """One difference between what is expected and what was found, in words."""

    what: str
    expected: str
    found: str


def differences_of(says: BotLine, message: ShownMessage) -> list[ExpectationDifference]:
    """The differences between a message and what a test expects of it."""
    found = list(_differing(says.parts, message))
    if says.alone and not found:
        found = [ExpectationDifference(key, NOTHING, _words(PARTS[key](message))) for key in _beside_text(message)]
    return found


def parts_to_list(says: BotLine, message: ShownMessage) -> Mapping[str, str]:
    """The parts besides the text, as a test lists them, if the line expects only that text; else no parts."""
    if not says.alone or any(_differing(says.parts, message)):
        return {}
    parts = {key: PARTS[key](message) for key in _beside_text(message)}
    return {key: part if isinstance(part, str) else f"[{', '.join(part)}]" for key, part in parts.items()}


def _differing(parts: Mapping[str, str | tuple[str, ...]], message: ShownMessage) -> Iterator[ExpectationDifference]:
    for key, expected in parts.items():
        if key == "contains":
            missing = [text for text in expected if text not in message.text]
            if missing:
                yield ExpectationDifference(key, _words(tuple(missing)), _words(message.text))
        elif (value := NAMED_PARTS[key](message)) != expected:
            yield ExpectationDifference(key, _words(expected), _words(value))


def _beside_text(message: ShownMessage) -> Iterator[str]:
    return (key for key, part in PARTS.items() if key != "says" and part(message))


def _file(kind: str) -> Callable[[ShownMessage], str]:
    return lambda message: message.file.link if message.file is not None and message.file.kind == kind else ""


PARTS: dict[str, Callable[[ShownMessage], str | tuple[str, ...]]] = {
    "says": lambda message: message.text,
    "header": lambda message: message.header or "",
    "footer": lambda message: message.footer or "",
    "buttons": lambda message: message.buttons,
    "rows": lambda message: tuple(row.title for row in message.rows),
    "link": lambda message: message.link.url if message.link is not None else "",
    "link title": lambda message: message.link.title if message.link is not None else "",
    **{kind: _file(kind) for kind in MEDIA_KINDS},
    "filename": lambda message: message.file.filename if message.file is not None else "",
    "file text": lambda message: message.file.text if message.file is not None else "",
    "location": lambda message: message.place or "",
    "template": lambda message: message.template or "",
    "language": lambda message: message.language or "",
    "body": lambda message: message.body,
}
"""The parts of a message that are shown, and how each is read from a message."""
NAMED_PARTS = PARTS | {"payloads": lambda message: tuple(map(payload_of, message.ids))}
"""The parts of a message that a test can name."""


def _words(value: str | tuple[str, ...]) -> str:
    return (value if isinstance(value, str) else " | ".join(value)) or NOTHING


@immutable
class ObservedState:
    """The facts of a conversation, besides its messages, that a test can expect."""

    session: Session
    vars: Mapping[str, Any] = field(default_factory=dict)
    language: str | None = None
    calls: Sequence[ObservedCall] = ()
    sent: int = 0
    files: int = 0
    exits: Sequence[str] = ()
    reached: Sequence[str] = ()
    events: Sequence[ObservedCall] = ()
    filled: Mapping[str, Any] = field(default_factory=dict)
    said: Sequence[str] = ()
    refusal: str = ""
    asked: Sequence[str] = ()


def differences_in(expect: ExpectLine, seen: ObservedState) -> Iterator[ExpectationDifference]:
    """The differences between a conversation and what a test expects of it."""
    wanted = expect.wanted
    session, frame = seen.session, seen.session.frame
    for key in ("flow", "step"):
        if key in wanted:
            yield from _differing_value(key, wanted[key], None if frame is None else getattr(frame, key))
    yield from _differing_fields(wanted.get("vars"), seen.vars)
    yield from _differing_fields(wanted.get("kept"), session.kept_variables)
    single = {"tags": list(session.tags), "language": seen.language, "sent": seen.sent, "files": seen.files}
    for key, value in single.items():
        if key in wanted:
            yield from _differing_value(key, wanted[key], value)
    if "calls" in wanted and not _calls_fit(wanted["calls"], seen.calls):
        yield ExpectationDifference(
            "calls", _expected(wanted["calls"]), _found([{call.name: call.arguments} for call in seen.calls])
        )
    if "refused" in wanted and not (seen.refusal and all(text in seen.refusal for text in texts_of(wanted["refused"]))):
        yield ExpectationDifference("refused", _expected(wanted["refused"]), seen.refusal or "nothing was refused")
    missed = [name for name in texts_of(wanted.get("reached")) if name not in seen.reached]
    if missed:
        yield ExpectationDifference("reached", ", ".join(missed), ", ".join(seen.reached) or "null")
    yield from _differing_events(wanted.get("events"), seen.events)
    yield from _differing_deeds(wanted, seen)
    yield from _differing_texts("says", wanted.get("says"), "\n".join(seen.said))
    yield from _differing_texts("asked", wanted.get("asked"), "\n".join(seen.asked))


def _differing_events(wanted: Node | None, events: Sequence[ObservedCall]) -> Iterator[ExpectationDifference]:
    """The wanted events that were not delivered; if a test wants no event, all delivered ones."""
    delivered = _found([{event.name: event.arguments} for event in events])
    nodes = one_or_more(wanted)
    if wanted is not None and not nodes and events:
        yield ExpectationDifference("events", "[]", delivered)
    for node in nodes:
        if not any(_call_fits(node, event) for event in events):
            yield ExpectationDifference("events", _expected(node), delivered)


def _differing_deeds(wanted: Mapping[str, Node], seen: ObservedState) -> Iterator[ExpectationDifference]:
    """The differences in what a model did: its exit (one of several), its values, and its tools, however often they
    were called.
    """
    if "exit" in wanted:
        names = texts_of(wanted["exit"])
        if not (any(name in seen.exits for name in names) if names else not seen.exits):
            yield ExpectationDifference("exit", " or ".join(names) or "null", ", ".join(seen.exits) or "null")
    yield from _differing_fields(wanted.get("filled"), seen.filled)
    made = _found([{call.name: call.arguments} for call in seen.calls])
    for key, should in (("called", True), ("not_called", False)):
        for node in one_or_more(wanted.get(key)):
            if any(_call_fits(node, call) for call in seen.calls) is not should:
                yield ExpectationDifference(key, _expected(node), made)


def _differing_texts(key: str, wanted: Node | None, said: str) -> Iterator[ExpectationDifference]:
    """The texts that are missing in what was said, and those that must not occur in it.

    Capitals and spaces do not matter.
    """
    if not isinstance(wanted, Map):
        return
    there = _folded(said)
    missing = [text for text in texts_of(wanted.get("contains")) if _folded(text) not in there]
    choices = texts_of(wanted.get("any"))
    unwanted = [text for text in texts_of(wanted.get("without")) if _folded(text) in there]
    if missing:
        yield ExpectationDifference(f"{key}: contains", _words(tuple(missing)), said or NOTHING)
    if choices and not any(_folded(text) in there for text in choices):
        yield ExpectationDifference(f"{key}: any", " or ".join(choices), said or NOTHING)
    if unwanted:
        yield ExpectationDifference(f"{key}: without", _words(tuple(unwanted)), said)


def texts_of(node: Node | None) -> tuple[str, ...]:
    """The texts of a list or of a single value; null has none."""
    return tuple(item.text for item in one_or_more(node) if isinstance(item, Scalar) and item.value is not None)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _differing_fields(wanted: Node | None, values: Mapping[str, Any]) -> Iterator[ExpectationDifference]:
    for name, node in wanted.entries if isinstance(wanted, Map) else ():
        yield from _differing_value(name.text, node, values.get(name.text))


def _differing_value(what: str, expected: Node, value: Any) -> Iterator[ExpectationDifference]:
    if not fits(expected, value):
        wanted, found = _expected(expected), _found(value)
        if wanted == found and isinstance(expected, Scalar):
            wanted, found = (
                f"{text} ({just(of).kind.value})" for text, of in ((wanted, expected.value), (found, value))
            )
        yield ExpectationDifference(what, wanted, found)


def _calls_fit(expected: Node, calls: Sequence[ObservedCall]) -> bool:
    items = expected.items if isinstance(expected, List) else ()
    return len(items) == len(calls) and all(map(_call_fits, items, calls))


def _call_fits(expected: Node, call: ObservedCall) -> bool:
    """True if a call is the expected one: by its name alone, or by its name and arguments."""
    if not isinstance(expected, Map):
        return isinstance(expected, Scalar) and is_meant(expected.text, call.name)
    return all(is_meant(name.text, call.name) and fits(node, call.arguments) for name, node in expected.entries)


def fits(expected: Node, value: Any) -> bool:
    """True if a value is as expected: lists in full, maps as far as their keys are written.

    A number is no text and no yes or no; days, times and the like are as they are shown.
    """
    match expected:
        case Map(entries=entries):
            return _is_record(value) and all(fits(node, _fields_of(value).get(key.text)) for key, node in entries)
        case List(items=items):
            same = isinstance(value, list | tuple) and len(value) == len(items)
            return same and all(fits(node, item) for node, item in zip(items, value, strict=True))
    if expected.value is None or value is None:
        return expected.value is None and value is None
    if isinstance(value, str):  # 007 is a text, even without quotes
        return expected.text == value and (isinstance(expected.value, str) or expected.altered)
    number = isinstance(value, bool | int | float | Decimal)
    alike = isinstance(expected.value, str) is not number and isinstance(expected.value, bool) == isinstance(
        value, bool
    )
    return alike and shown(expected.value) == shown(value)


def _is_record(value: Any) -> bool:
    return isinstance(value, Mapping) or hasattr(value, "__dataclass_fields__")


def _fields_of(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _expected(node: Node) -> str:
    match node:
        case Map(entries=entries):
            return "{" + ", ".join(f"{key.text}: {_expected(item)}" for key, item in entries) + "}"
        case List(items=items):
            return "[" + ", ".join(map(_expected, items)) + "]"
    return "null" if node.value is None else node.text


def _found(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_found, value)) + "]"
    if _is_record(value):
        return "{" + ", ".join(f"{key}: {_found(item)}" for key, item in _fields_of(value).items()) + "}"
    return shown(value)


def asked_in(turns: Iterable[TurnTraced]) -> dict[str, Effect]:
    """All calls and requests that effects asked for, by name."""
    return {effect_ref(turn.event_id, ordinal): effect for turn in turns for ordinal, effect in enumerate(turn.effects)}


def exits_in(turns: Iterable[TurnTraced]) -> list[str]:
    """The exits that were taken, in order."""
    outcomes = [step["outcome"] or "" for turn in turns for step in turn.steps]
    return [outcome.removeprefix(EXIT) for outcome in outcomes if outcome.startswith(EXIT)]


def reached_in(turns: Iterable[TurnTraced], library: Library) -> list[str]:
    """The steps with a `report` through which the conversation has come, by its name."""
    steps = ((library.flows.get(step["flow"]), step["step"]) for turn in turns for step in turn.steps)
    return [flow.reported_as[step] for flow, step in steps if flow is not None and step in flow.reported_as]


def events_in(turns: Iterable[TurnTraced]) -> list[ObservedCall]:
    """The events that were delivered, in order."""
    effects = (effect for turn in turns for effect in turn.effects)
    return [ObservedCall(effect.name, effect.data) for effect in effects if isinstance(effect, Publish)]


def filled_in(turns: Sequence[TurnTraced], session: Session, library: Library) -> dict[str, Any]:
    """The known values, with those that a model has noted in a flow that has ended since."""
    known = {name: value for frame in session.frames for name, value in frame.vars.items()} | dict(
        session.kept_variables
    )
    asked = asked_in(turns)
    for turn in turns:
        event = turn.event
        flow = library.flows.get(turn.steps[0]["flow"]) if turn.steps else None
        if flow is not None and isinstance(event, CallEnded) and isinstance(asked.get(event.effect), AskModel):
            for name, value in _noted(event.value):
                if name in flow.variables:
                    now = turn.at.astimezone(library.bot.timezone)
                    text = str(value).lower() if isinstance(value, bool) else str(value)
                    known = _with(known, flow.variables[name], text, now)
    return known


def _noted(answer: Any) -> Iterator[tuple[str, Any]]:
    """The values that the calls in a model's answer note."""
    for call in answer["calls"] if isinstance(answer, Mapping) else ():
        if call["name"] == REMEMBER or call["name"].startswith(LEAVE):
            arguments = json_object(call["arguments"])
            yield from ((name, value) for name, value in arguments.items() if value not in (None, ""))


def _with(known: dict[str, Any], variable: Variable, text: str, now: datetime) -> dict[str, Any]:
    """The values with one more, as its variable takes it; unchanged if that depends on something unknown here."""
    try:
        return known | {variable.name: variable.accept(Answer(text), now, known)}
    except (InvalidAnswer, TypeMismatch):
        return known
    except TemplateFailed:
        with suppress(TypeMismatch):
            return known | {variable.name: variable.coerce(text, now)}
        return known | {variable.name: text}
