"""Reads tests and evaluations from their documents, alone or with their bot; mistakes become problems."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.core.events import EVENTS
from bot.core.messages import MEDIA_KINDS
from bot.core.session import BUSY
from bot.core.text import digits, is_phone
from bot.flow.documents import read_documents
from bot.folder import Folder
from bot.gateway.gateway_answers import BY_CODE
from bot.keys.fields import Fields, plain_of
from bot.lang.problems import Mark, Problem, Problems, did_you_mean
from bot.lang.source import List, Map, Node, Scalar
from bot.program import FaultyBot, Program, load_program
from bot.settings import problems_in
from bot.simulation.gateway_events import GATEWAY_EVENTS
from bot.testing.expectation_reader import read_expect, read_says
from bot.testing.stub_reader import read_model, read_request, read_stubs
from bot.testing.transcript import (
    AgainLine,
    EventLine,
    FaultLine,
    HttpLine,
    KnownNames,
    ModelLine,
    PickLine,
    RestartLine,
    SendLine,
    SilenceLine,
    StartLine,
    TapLine,
    Transcript,
    TranscriptLine,
    Tries,
    UserLine,
    WaitLine,
)

LATEST = timedelta(minutes=5)  # what was on its way for longer is refused, as the gateway's specification says
FAULTS = (
    "rate_limited", "send_failed", "refused_type", "unauthorized", "error_before", "error_after", "reset_before",
    "reset_after", "truncated", "garbage", "double_delivery", "double_event",
    *(code for code in BY_CODE if code not in ("unauthorized", "RATE_LIMIT_EXCEEDED")),
)  # fmt: skip
"""The emulated gateway's faults, but for those that take real time: among them the codes of its refusals."""

LineReader = Callable[[Fields, KnownNames], TranscriptLine | None]


def _read_contact_line(make: Callable[[Mark, str, timedelta], TranscriptLine], key: str) -> LineReader:
    def read(fields: Fields, known: KnownNames) -> TranscriptLine | None:
        text, late = fields.string(key), _read_late(fields)
        return None if text is None else make(fields.mark, text, late)

    return read


def _read_late(fields: Fields) -> timedelta:
    late = fields.duration("late") or timedelta()
    if late > LATEST:
        fix = "write 5m at most: the bot rejects older messages"
        fields.problems.add(
            "E106", fields.mark_of("late"), "talk: late: a message cannot be more than 5 minutes late", fix
        )
    return late


def _read_wait(fields: Fields, known: KnownNames) -> TranscriptLine | None:
    duration = fields.duration("wait")
    return None if duration is None else WaitLine(fields.mark, duration)


def _read_send(fields: Fields, known: KnownNames) -> TranscriptLine | None:
    late = _read_late(fields)
    if not isinstance(fields.raw("send"), Map):
        kind = fields.choice("send", (*MEDIA_KINDS, "sticker")) if fields.has("send") else None
        return None if kind is None else SendLine(fields.mark, kind, late=late)
    inner = fields.fields("send")
    assert inner is not None
    inner.what = "send"
    inner.declare((*MEDIA_KINDS, "location"))
    kinds = [kind for kind in (*MEDIA_KINDS, "location") if inner.has(kind)]
    caption = inner.string("caption")
    location = _read_location(inner) if kinds == ["location"] else None
    content = _read_file(inner, kinds[0], known.folder) if len(kinds) == 1 and location is None else None
    inner.close()
    if len(kinds) != 1:
        fix = f"write one of {', '.join(MEDIA_KINDS)} or location"
        inner.problems.add("E601", inner.mark, "send: exactly one thing to send is needed", fix)
        return None
    return SendLine(fields.mark, kinds[0], caption, content, location, late)


def _read_location(fields: Fields) -> Mapping[str, Any] | None:
    inner = fields.fields("location")
    if inner is None or not (inner.require("latitude") and inner.require("longitude")):
        return None
    place = {
        "latitude": inner.number("latitude", -90, 90),
        "longitude": inner.number("longitude", -180, 180),
        "name": inner.string("name"),
        "address": inner.string("address"),
    }
    inner.close()
    return place


def _read_file(fields: Fields, key: str, folder: Path) -> bytes | None:
    """The bytes of a file of the bot's folder; None where none is named."""
    name = None if fields.null(key) else fields.string(key)
    if name is None:
        return None
    try:
        return (folder / name).read_bytes()
    except OSError:
        fields.problems.add("E113", fields.mark_of(key), f'no file "{name}"', "write its path in the bot's folder")
        return None


def _read_event(fields: Fields, known: KnownNames) -> TranscriptLine | None:
    node = fields.raw("event")
    event = node.entries[0][0] if isinstance(node, Map) and len(node.entries) == 1 else node
    if not isinstance(event, Scalar) or event.text not in GATEWAY_EVENTS:
        text = event.text if isinstance(event, Scalar) else "this"
        fix = did_you_mean(text, GATEWAY_EVENTS, f"there are {', '.join(GATEWAY_EVENTS)}")
        if text in EVENTS:
            fix = "that is what the contact does: write user:, send:, tap: or pick:"
        fields.problems.add("E109", fields.mark_of("event"), f"event: {text} is not an event of the gateway", fix)
        return None
    return EventLine(fields.mark, event.text, _read_data(fields, event.text) if isinstance(node, Map) else {})


def _read_data(fields: Fields, event: str) -> Mapping[str, Any]:
    """What is said about an event: texts, and tags."""
    outer = fields.fields("event")
    inner = None if outer is None else outer.fields(event)
    if inner is None:
        return {}
    inner.what = event
    data = {key: inner.strings(key) if key == "tags" else inner.string(key) for key in GATEWAY_EVENTS[event].keys}
    inner.close()
    return {key: value for key, value in data.items() if inner.has(key)}


def _read_fault(fields: Fields, known: KnownNames) -> TranscriptLine | None:
    if not isinstance(fields.raw("fault"), Map):
        kind = fields.choice("fault", FAULTS) if fields.require("fault") else None
        return None if kind is None else FaultLine(fields.mark, kind)
    inner = fields.fields("fault")
    assert inner is not None
    inner.what = "fault"
    inner.declare(FAULTS)
    times = {kind: inner.integer(kind, 1, 1000) for kind in FAULTS if inner.has(kind)}
    inner.close()
    if len(times) != 1:
        inner.problems.add("E601", inner.mark, "fault: exactly one fault is needed", "write one like {rate_limited: 2}")
        return None
    ((kind, number),) = times.items()
    return FaultLine(fields.mark, kind, number or 1)


def _read_start(fields: Fields, known: KnownNames) -> TranscriptLine | None:
    if not isinstance(fields.raw("start"), Map):
        return _start(fields, "start", known, {}, "after")
    inner = fields.fields("start")
    assert inner is not None
    inner.what = "start"
    data, busy = inner.fields("data"), inner.choice("busy", BUSY, "after") or "after"
    given = {} if data is None else plain_of(Map(data.mark, data.entries()), fields.problems)
    line = _start(inner, "flow", known, given, busy) if inner.require("flow") else None
    inner.close()
    return line


def _start(fields: Fields, key: str, known: KnownNames, data: Mapping[str, Any], busy: str) -> TranscriptLine | None:
    target = fields.string(key)
    if target is None:
        return None
    name, _, step = target.partition("/")
    flow = known.flows.get(name)
    if flow is None and known.complete:
        fix = did_you_mean(name, known.flows, f"there are {', '.join(known.flows)}")
        fields.problems.add("E103", fields.mark_of(key), f'no flow "{name}"', fix)
    elif flow is not None and step and step not in flow.steps:
        fix = did_you_mean(step, flow.steps, f"there are {', '.join(flow.steps)}")
        fields.problems.add("E102", fields.mark_of(key), f'no step "{step}" in flow {name}', fix)
    return StartLine(fields.mark, target, data, busy)


INPUT_READERS: dict[str, LineReader] = {
    "user": _read_contact_line(UserLine, "user"),
    "tap": _read_contact_line(TapLine, "tap"),
    "pick": _read_contact_line(PickLine, "pick"),
    "send": _read_send,
    "wait": _read_wait,
    "event": _read_event,
    "start": _read_start,
    "fault": _read_fault,
}
"""The readers of lines on which something happens, by the first word of the line."""


NOW = datetime(2030, 5, 6, 10, 0)  # a Monday
TIMES = 3
MOST_TIMES = 100
LEAST = 100  # per cent of the tries
PER_CENT = "(100|[1-9][0-9]?) ?%"


def read_transcript(node: Map, known: KnownNames, problems: Problems) -> Transcript:
    """Read one test or evaluation; what is wrong with it becomes a problem."""
    fields = Fields(node, problems, "this document")
    kind = "evaluate" if node.entries and node.entries[0][0].text == "evaluate" else "test"
    known = replace(known, evaluates=kind == "evaluate")
    name = fields.string(kind) or ""
    fields.what = f'{kind} "{name}"'
    tries = _read_tries(fields) if known.evaluates else None
    now, contact, stub_definitions = _read_now(fields), _read_contact(fields), read_stubs(fields, known)
    items = fields.items("talk")
    if fields.require("talk") and isinstance(fields.raw("talk"), List) and not items:
        problems.add("E601", fields.mark_of("talk"), "talk: there are no lines", "begin it with - user: hello")
    lines = [_read_line(item, known, problems) for item in items]
    fields.close()
    conversation = tuple(line for line in lines if line is not None)
    return Transcript(name, node.mark, now, conversation, stub_definitions, contact, tries)


def _read_tries(fields: Fields) -> Tries:
    times, text = fields.integer("times", 1, MOST_TIMES) or TIMES, fields.string("pass")
    found = None if text is None else re.fullmatch(PER_CENT, text)
    if text is not None and found is None:
        fix = "write how many of the tries have to pass, like pass: 80%"
        fields.problems.add("E106", fields.mark_of("pass"), f'{fields.what}: pass: "{text}" is not a percentage', fix)
    return Tries(times, LEAST if found is None else int(found[1]))


def _read_now(fields: Fields) -> datetime:
    text = fields.string("now")
    if text is None:
        return NOW
    try:
        now = datetime.fromisoformat(text)
    except ValueError:
        now = None
    if now is None or now.tzinfo is not None:
        what = f'{fields.what}: "{text}" is not a time on the bot\'s clock'
        fields.problems.add("E602", fields.mark_of("now"), what, "write one like 2030-05-06T10:00")
        return NOW
    return now


def _read_contact(fields: Fields) -> str | None:
    text = fields.string("contact")
    number = None if text is None else digits(text)
    if text is not None and (number is None or not is_phone(number)):
        what = f'{fields.what}: contact: "{text}" is not a phone number'
        fields.problems.add("E106", fields.mark_of("contact"), what, "write one with its country code: 6281234567890")
        return None
    return number


def _read_line(node: Node, known: KnownNames, problems: Problems) -> TranscriptLine | None:
    if not isinstance(node, Map):
        return _read_word(node, problems)
    fields = Fields(node, problems, "talk")
    verbs = [key.text for key, _ in node.entries if key.text in LINE_READERS]
    if len(verbs) > 1:
        problems.add("E601", node.key_mark(verbs[1]), f'"{verbs[0]}" and "{verbs[1]}" in one line', "make two lines")
        return None
    if not verbs:
        first = node.entries[0][0].text if node.entries else ""
        fix = did_you_mean(first, LINE_READERS, f"begin it with one of {', '.join(LINE_READERS)}")
        problems.add("E601", node.mark, f'talk: a line cannot begin with "{first}"', fix)
        return None
    line = LINE_READERS[verbs[0]](fields, known)
    fields.close()
    return line


def _read_word(node: Node, problems: Problems) -> TranscriptLine | None:
    """A line that is one word."""
    if isinstance(node, Scalar) and node.text in WORD_LINES:
        return WORD_LINES[node.text](node.mark)
    written, fix = "a list", "write who does what, like user: hello"
    if isinstance(node, Scalar):
        written, fix = f'"{node.text}"', did_you_mean(node.text, WORD_LINES, fix)
    problems.add("E601", node.mark, f"talk: {written} is not a line", fix)
    return None


def _read_model(fields: Fields, known: KnownNames) -> TranscriptLine | None:
    node = fields.raw("model")
    if known.evaluates:
        fix = "leave the line out, or begin the document with test:"
        fields.problems.add("E601", fields.mark, "an evaluation cannot say what the model answers", fix)
    return None if node is None else ModelLine(fields.mark, read_model(node, fields.problems))


def _read_http(fields: Fields, known: KnownNames) -> TranscriptLine | None:
    node = fields.raw("http")
    found = None if node is None else read_request(node, fields.problems)
    return None if found is None else HttpLine(fields.mark, *found)


LINE_READERS: dict[str, LineReader] = {
    **INPUT_READERS,
    "model": _read_model,
    "http": _read_http,
    "bot": read_says,
    "expect": read_expect,
}
"""The readers of all lines, by the first word of the line."""

OF_TESTS = {"model"}
"""Those that no evaluation has."""

WORD_LINES: dict[str, Callable[[Mark], TranscriptLine]] = {
    "silence": SilenceLine,
    "restart": RestartLine,
    "again": AgainLine,
}
"""The lines that are one word."""


@dataclass(frozen=True, slots=True)
class LoadedTests:
    """A bot with its tests, and every problem of all its files. Without problems ``program`` is there."""

    program: Program | None
    transcripts: list[Transcript]
    problems: list[Problem]


def load_with_tests(folder: Folder) -> LoadedTests:
    """Load a bot's handlers, flows and tests, and look at the settings in its bot.yml."""
    settings = folder.written("settings")
    found = Problems() if settings is None else problems_in(settings)
    try:
        program = load_program(folder)
    except FaultyBot as error:
        tests = read_documents(folder.sources, Problems()).tests
        unknown = KnownNames(folder=folder.path, complete=False)
        transcripts = [read_transcript(node, unknown, found) for node in tests]
        return LoadedTests(None, transcripts, sorted({*error.problems, *found.sorted()}))
    library = program.library
    known = KnownNames(library.flows, program.extensions.calls, library.bot.languages, folder.path)
    transcripts = [read_transcript(node, known, found) for node in program.tests]
    _check_names(transcripts, found)
    return LoadedTests(program, transcripts, found.sorted())


def _check_names(transcripts: Iterable[Transcript], problems: Problems) -> None:
    """Recordings know evaluations by their names."""
    first: dict[tuple[str, str], Transcript] = {}
    for each in transcripts:
        known = first.setdefault((each.mark.path, each.name), each) if each.tries is not None else each
        if known is not each:
            what = f'a second evaluation "{each.name}", the first is in line {known.mark.line}'
            problems.add("E108", each.mark, what, "give it another name")
