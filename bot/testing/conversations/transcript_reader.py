"""Reads tests and evaluations from their documents, alone or with their bot; mistakes become problems."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bot.core.events import EVENTS
from bot.core.filetypes import FILE_TYPES
from bot.core.immutable import immutable
from bot.core.messages import MEDIA_KINDS
from bot.core.session import BUSY
from bot.core.text import digits, is_phone
from bot.language.flow.kept_reading import KeptReading
from bot.language.flow.library import Library
from bot.language.keys import key_schemas as schemas
from bot.language.keys.declared_keys import (
    DURATION,
    STRING,
    Form,
    KeySet,
    KeySpec,
    either,
    fields_by_key,
    integer,
    mapped,
    nested,
    number,
    one_of,
)
from bot.language.keys.fields import Fields, entries_of, items_of, plain_of, text_of
from bot.language.source.problems import Mark, Problem, Problems, did_you_mean
from bot.language.source.yaml_tree import List, Map, Node, Scalar
from bot.loading.folder import Folder
from bot.loading.program import FaultyBot, Program, load_program
from bot.services.gateway.gateway_answers import BY_CODE
from bot.settings import problems_in
from bot.testing.conversations.expectation_reader import BOT, expectation, or_nothing
from bot.testing.conversations.pass_rates import Tries
from bot.testing.conversations.stub_reader import MODEL, REQUEST, stubs
from bot.testing.conversations.transcript import (
    AgainLine,
    AsLine,
    ColleagueLine,
    EventLine,
    FaultLine,
    HttpLine,
    KnownNames,
    MeanwhileLine,
    ModelLine,
    PersonaLine,
    PickLine,
    RestartLine,
    SendLine,
    SetLine,
    SignalLine,
    SilenceLine,
    StartLine,
    StubDefinitions,
    TapLine,
    Transcript,
    TranscriptLine,
    UserLine,
    WaitLine,
)
from bot.testing.emulator.event_payloads import NOTICE_KINDS
from bot.testing.simulation.gateway_events import GATEWAY_EVENTS
from bot.testing.simulation.sample_files import SAMPLE_FILES

T = TypeVar("T")
Line = Form[TranscriptLine | None]

LATEST = timedelta(minutes=5)  # what was on its way for longer is refused, as the gateway's specification says
FAULTS = (
    "rate_limited", "send_failed", "refused_type", "unauthorized", "error_before", "error_after", "reset_before",
    "reset_after", "truncated", "garbage", "double_delivery", "double_event",
    *(code for code in BY_CODE if code not in ("unauthorized", "RATE_LIMIT_EXCEEDED")),
)  # fmt: skip
"""The emulated gateway's faults, but for those that take real time: among them the codes of its refusals."""


@immutable
class LoadedTests:
    """A bot with its tests, and every problem of all its files. Without problems ``program`` is there.

    ``sound`` is what can be checked of a bot with problems: see `bot.language.flow.library.LoadResult`.
    """

    program: Program | None
    transcripts: list[Transcript]
    problems: list[Problem]
    sound: Library | None = None


def load_with_tests(folder: Folder, kept: KeptReading | None = None) -> LoadedTests:
    """Load a bot's handlers, flows and tests, and look at the settings in its bot.yml.

    ``kept`` is what was read by earlier loads of the bot.
    """
    settings = folder.written("settings")
    found = Problems() if settings is None else problems_in(settings)
    try:
        program = load_program(folder, kept)
    except FaultyBot as error:
        reader = TranscriptReader(KnownNames(folder=folder.path, complete=False))
        transcripts = [reader.read(node, found) for node in error.tests]
        return LoadedTests(None, transcripts, sorted({*error.problems, *found.sorted()}), error.sound)
    reader = reader_for(program, folder.path)
    transcripts = [reader.read(node, found) for node in program.tests]
    _check_names(transcripts, found)
    return LoadedTests(program, transcripts, found.sorted())


def reader_for(program: Program, folder: Path) -> "TranscriptReader":
    """The reader of the tests of a loaded bot."""
    bot, receiver = program.library.bot, program.library.bot.events_to
    events = () if receiver is None else receiver.on
    flows, calls = program.library.flows, program.extensions.calls
    return TranscriptReader(KnownNames(flows, calls, bot.languages, bot.signals, folder, sorted(events)))


def _check_names(transcripts: Iterable[Transcript], problems: Problems) -> None:
    """Recordings know evaluations by their names."""
    first: dict[tuple[str, str], Transcript] = {}
    for each in transcripts:
        known = first.setdefault((each.mark.path, each.name), each) if each.tries is not None else each
        if known is not each:
            what = f'a second evaluation "{each.name}", the first is in line {known.mark.line}'
            problems.add("E108", each.mark, what, "give it another name")


class TranscriptReader:
    """Reads the tests and evaluations of a bot whose names are known. Each mistake in them becomes a problem."""

    def __init__(self, known: KnownNames) -> None:
        tests, evaluations = replace(known, evaluates=False), replace(known, evaluates=True)
        self._tests = document_keys(tests), stubs(tests)
        self._evaluations = document_keys(evaluations), stubs(evaluations)

    def read(self, node: Map, problems: Problems) -> Transcript:
        """Read one."""
        evaluates = bool(node.entries) and node.entries[0][0].text == _EVALUATE.name
        keys, stub_keys = self._evaluations if evaluates else self._tests
        title, *_, talk = keys
        name = title.read(Fields(node, problems, "this document")) or ""
        fields = keys.open(node, problems, f'{title.name} "{name}"')
        return Transcript(
            name,
            node.mark,
            _NOW.read(fields),
            talk.read(fields),
            StubDefinitions(**stub_keys.values(fields)),
            _CONTACT.read(fields),
            _read_tries(fields) if evaluates else None,
        )


# -- the lines of a conversation ---------------------------------------------------------------------


def _line(form: Form[T | None], make: Callable[[Mark, T], TranscriptLine]) -> Line:
    """A line whose value has this form."""

    def read(node: Node, problems: Problems, what: str) -> TranscriptLine | None:
        value = form.read(node, problems, what)
        return None if value is None else make(node.mark, value)

    return Form(form.schema, read)


_PLACE = KeySet(
    KeySpec("latitude", number(-90, 90), "Its latitude, in degrees.", required=True),
    KeySpec("longitude", number(-180, 180), "Its longitude, in degrees.", required=True),
    KeySpec("name", STRING, "Its name."),
    KeySpec("address", STRING, "Its address."),
)
_LOCATION = KeySpec(
    "location", nested(_PLACE, lambda fields: {key.name: key.read(fields) for key in _PLACE}), "A place on the map."
)
_CAPTION = KeySpec("caption", STRING, "The text below the file.")
_TYPE = KeySpec("type", one_of(*SAMPLE_FILES), "The type of the sample, by its suffix: where no file is named.")


_TITLE = KeySpec("title", STRING, "The label of the button or row.", required=True)
_OF = KeySpec("of", STRING, "A part of its message's text, or the template's name.")
_PAYLOAD = KeySpec(
    "payload", STRING, "The payload of the button, for a template that no flow has sent, such as a broadcast's."
)


def _choice(line: Callable[..., TranscriptLine], *keys: KeySpec[Any]) -> Line:
    def read(fields: Fields) -> TranscriptLine | None:
        written = {key.name: value for key in keys if (value := key.read(fields)) is not None}
        return line(fields.mark, **written) if _TITLE.name in written else None

    return either(_line(STRING, line), nested(KeySet(*keys), read))


_VOICE = KeySpec("voice", STRING, "The contact's words in a voice note.", required=True)


def _read_voice(fields: Fields) -> UserLine | None:
    words = _VOICE.read(fields)
    return None if words is None else UserLine(fields.mark, words, voice=True)


def _read_known(node: Node, problems: Problems, what: str) -> dict[str, str]:
    entries = entries_of(node, problems, what)
    texts = ((key.text, text_of(value, problems, f"{what}: {key.text}")) for key, value in entries)
    return {name: text for name, text in texts if text is not None}


TURNS = 12
_GOAL = KeySpec("goal", STRING, "A model plays the contact, who wants this.", required=True)
_PERSONA = KeySpec("persona", STRING, "How the contact is and writes.")
_KNOWS = KeySpec(
    "knows", Form(schemas.map_of(schemas.ANY_TEXT), _read_known, absent={}), "Facts that the contact can tell, by name."
)
_TURNS = KeySpec("turns", integer(1, 50), f"How many messages the contact writes at most; {TURNS} by default.")
_SIMULATED = KeySet(_GOAL, _PERSONA, _KNOWS, _TURNS)


def _read_persona(fields: Fields) -> PersonaLine | None:
    goal = _GOAL.read(fields)
    if goal is None:
        return None
    turns = _TURNS.read(fields) or TURNS
    return PersonaLine(fields.mark, goal, _PERSONA.read(fields) or "", _KNOWS.read(fields), turns)


def _user(known: KnownNames) -> Line:
    """A text, a voice note, or in an evaluation a simulated contact."""
    if not known.evaluates:
        fix = f"begin the document with {_EVALUATE.name}: a model plays such a contact"
        spoken = KeySet(_VOICE, elsewhere=lambda key: fix if key in _SIMULATED.names else "")
        return either(_line(STRING, UserLine), nested(spoken, _read_voice))

    def read(fields: Fields) -> UserLine | PersonaLine | None:
        return _read_voice(fields) if _VOICE.written(fields) else _read_persona(fields)

    in_full: Line = mapped(fields_by_key({_VOICE.name: KeySet(_VOICE)}, _SIMULATED), read)
    return either(_line(STRING, UserLine), in_full)


def _send(known: KnownNames) -> Line:
    file = or_nothing(Form(STRING.schema, partial(_read_file, folder=known.folder)), schemas.EMPTY)
    files = [KeySpec(kind, file, "A file of the bot's folder, or nothing: a sample.") for kind in MEDIA_KINDS]

    def read(fields: Fields) -> SendLine | None:
        sent: list[KeySpec[Any]] = [key for key in (*files, _LOCATION) if key.written(fields)]
        if len(sent) != 1:
            fix = f"write one of {', '.join(MEDIA_KINDS)} or {_LOCATION.name}"
            fields.problems.add("E601", fields.mark, "send: exactly one thing to send is needed", fix)
            return None
        content = None if _LOCATION in sent else sent[0].read(fields)
        suffix, suffixes = _TYPE.read(fields), [each.suffix for each in FILE_TYPES if each.kind == sent[0].name]
        if suffix is not None and (content is not None or suffix not in suffixes):
            fix = f"write one of {', '.join(suffixes)}"
            if content is not None or not suffixes:
                fix = f"write {_TYPE.name} beside a kind without a file, like {{document: , type: docx}}"
            fields.problems.add("E601", fields.mark_of(_TYPE.name), f"send: {suffix} is no sample of this", fix)
        content = content if suffix is None else SAMPLE_FILES[suffix]
        return SendLine(fields.mark, sent[0].name, _CAPTION.read(fields), content, _LOCATION.read(fields))

    return either(
        _line(one_of(*MEDIA_KINDS, "sticker", *NOTICE_KINDS), SendLine),
        nested(KeySet(*files, _LOCATION, _CAPTION, _TYPE), read),
    )


def _read_file(node: Node, problems: Problems, what: str, folder: Path) -> bytes | None:
    """The bytes of a file of the bot's folder."""
    name = text_of(node, problems, what)
    if name is None:
        return None
    file = (folder / name).resolve()
    try:
        if file.is_relative_to(folder.resolve()):
            return file.read_bytes()
        raise FileNotFoundError(name)
    except OSError:
        problems.add("E113", node.mark, f'no file "{name}"', "write its path in the bot's folder")
        return None


_EVENT = schemas.either(
    one_of(*GATEWAY_EVENTS).schema,
    schemas.record({name: event.keys.schema() for name, event in GATEWAY_EVENTS.items()}, most=1),
)


def _read_event(node: Node, problems: Problems, what: str) -> EventLine | None:
    event = node.entries[0][0] if isinstance(node, Map) and len(node.entries) == 1 else node
    if not isinstance(event, Scalar) or event.text not in GATEWAY_EVENTS:
        text = event.text if isinstance(event, Scalar) else "this"
        fix = did_you_mean(text, GATEWAY_EVENTS, f"there are {', '.join(GATEWAY_EVENTS)}")
        if text in EVENTS:
            fix = "that is what the contact does: write user:, send:, tap: or pick:"
        problems.add("E109", node.mark, f"event: {text} is not an event of the gateway", fix)
        return None
    keys = GATEWAY_EVENTS[event.text].keys
    told = keys.values(keys.open(node.entries[0][1], problems, event.text)) if isinstance(node, Map) else {}
    return EventLine(node.mark, event.text, told)


_FAULTS = KeySet(*(KeySpec(kind, integer(1, 1000), "How often.") for kind in FAULTS), most=1)


def _only_one(keys: KeySet, fields: Fields, what: str, fix: str) -> tuple[str, Any] | None:
    """The only key that is written, with its value; None, and a problem, for any other number of keys."""
    written = keys.values(fields)
    if len(written) == 1:
        return next(iter(written.items()))
    fields.problems.add("E601", fields.mark, f"{what} is needed", fix)
    return None


def _read_fault(fields: Fields) -> FaultLine | None:
    found = _only_one(_FAULTS, fields, "fault: exactly one fault", "write one like {rate_limited: 2}")
    return None if found is None else FaultLine(fields.mark, found[0], found[1] or 1)


def _read_values(node: Node, problems: Problems, what: str) -> Any:
    return plain_of(Map(node.mark, entries_of(node, problems, what)), problems)


_DATA = KeySpec("data", Form(schemas.map_of(schemas.ANY), _read_values, absent={}), "Values for its variables.")
_BUSY = KeySpec(
    "busy",
    one_of(*BUSY),
    "The rule while the contact is in a flow; by default the flow's rule, else after.",
)


def _start(known: KnownNames) -> Line:
    target = Form(STRING.schema, partial(_read_target, known=known))
    flow = KeySpec("flow", target, "The flow, or FLOW/STEP.", required=True)

    def read(fields: Fields) -> StartLine | None:
        name, busy = flow.read(fields), _BUSY.read(fields)
        return None if name is None else StartLine(fields.mark, name, _DATA.read(fields), busy)

    return either(_line(target, StartLine), nested(KeySet(flow, _DATA, _BUSY), read))


def _read_target(node: Node, problems: Problems, what: str, known: KnownNames) -> str | None:
    """A flow, or FLOW/STEP."""
    target = text_of(node, problems, what)
    name, _, step = (target or "").partition("/")
    flow = known.flows.get(name)
    if target is not None and known.complete:
        fix = f"there are {', '.join(known.flows)}"
        problems.check_name("E103", node.mark, name, known.flows, f'no flow "{name}"', fix)
    if flow is not None and step:
        what, fix = f'no step "{step}" in flow {name}', f"there are {', '.join(flow.steps)}"
        problems.check_name("E102", node.mark, step, flow.steps, what, fix)
    return target


def _signal(known: KnownNames) -> Line:
    name = KeySpec("name", Form(STRING.schema, partial(_read_signal, known=known)), "The signal.", required=True)

    def read(fields: Fields) -> SignalLine | None:
        found = name.read(fields)
        return None if found is None else SignalLine(fields.mark, found, _SIGNAL_DATA.read(fields))

    return either(_line(name.form, SignalLine), nested(KeySet(name, _SIGNAL_DATA), read))


_SIGNAL_DATA = replace(_DATA, about="Data that come with it.")


_VALUES = replace(_DATA, name="set", about="An operator sets these variables of the active flow, or of `flow`.")


_DECISIONS = KeySet(
    KeySpec("agrees", STRING, "The colleague agrees, with this note."),
    KeySpec("refuses", STRING, "The colleague refuses, with this note."),
    most=1,
)


def _read_decision(fields: Fields) -> ColleagueLine | None:
    fix = "write agrees or refuses, or one of them with a note: {refuses: It has left.}"
    found = _only_one(_DECISIONS, fields, "colleague: exactly one decision", fix)
    return None if found is None else ColleagueLine(fields.mark, found[0] == "agrees", found[1] or "")


def _set(known: KnownNames) -> KeySet:
    of = KeySpec("flow", Form(STRING.schema, partial(_read_target, known=known)), "The open flow that declares them.")
    return KeySet(replace(_VALUES, form=_line(_VALUES.form, SetLine), required=True), of)


def _read_signal(node: Node, problems: Problems, what: str, known: KnownNames) -> str | None:
    name = text_of(node, problems, what)
    if name is not None and known.complete:
        fix = "declare it in bot.yml, under `signals`"
        problems.check_name("E109", node.mark, name, known.signals, f'no signal "{name}"', fix)
    return name


def _read_late(node: Node, problems: Problems, what: str) -> timedelta:
    late = DURATION.read(node, problems, what) or timedelta()
    if late > LATEST:
        fix = "write 5m at most: the bot rejects older messages"
        problems.add("E106", node.mark, f"{what}: a message cannot be more than 5 minutes late", fix)
    return late


_LATE = KeySpec(
    "late", Form(DURATION.schema, _read_late, absent=timedelta()), "How long that was on its way, 5m at the most."
)


def _refuse_model(node: Node, problems: Problems, what: str) -> None:
    fix = "leave the line out, or begin the document with test:"
    problems.add("E601", node.mark, "an evaluation cannot say what the model answers", fix)


def line_keys(known: KnownNames) -> dict[str, KeySet]:
    """The keys of each line of a conversation, by its first word, where these names are known."""
    model = Form(schemas.NEVER, _refuse_model) if known.evaluates else _line(MODEL, ModelLine)
    on_its_way = (
        KeySpec("user", _user(known), "The contact writes."),
        KeySpec("tap", _choice(TapLine, _TITLE, _OF, _PAYLOAD), "The contact taps the newest button of this title."),
        KeySpec("pick", _choice(PickLine, _TITLE, _OF), "The contact picks the newest row of this title."),
        KeySpec("send", _send(known), "The contact sends a file, a place, a sticker, or a reaction and the like."),
    )
    at_once = (
        KeySpec("wait", _line(DURATION, WaitLine), "Time passes."),
        KeySpec("event", Form(_EVENT, _read_event), "The gateway reports an event."),
        KeySpec("start", _start(known), "A program starts a flow, or FLOW/STEP."),
        KeySpec("signal", _signal(known), "A program reports a signal."),
        KeySpec(
            "colleague",
            either(
                _line(one_of(*_DECISIONS.names), lambda mark, word: ColleagueLine(mark, word == "agrees")),
                nested(_DECISIONS, _read_decision),
            ),
            "A colleague decides on what the bot asks the team.",
        ),
        KeySpec("as", _line(_PHONE, AsLine), "The next lines are about this contact."),
        KeySpec(
            "fault",
            either(_line(one_of(*FAULTS), FaultLine), nested(_FAULTS, _read_fault)),
            "The gateway does something wrong, at the next occasion.",
        ),
        KeySpec("model", model, "The model's answer, once."),
        KeySpec("meanwhile", _line(STRING, MeanwhileLine), "The contact writes during the next call."),
        KeySpec("http", _line(REQUEST, lambda mark, found: HttpLine(mark, *found)), "A service's answer, once."),
        KeySpec("bot", BOT, "The bot sends this."),
        KeySpec("expect", expectation(known), "Where the contact is, and what is known."),
    )
    found = {key.name: KeySet(replace(key, required=True), _LATE) for key in on_its_way}
    return found | {key.name: KeySet(replace(key, required=True)) for key in at_once} | {"set": _set(known)}


WORD_LINES: dict[str, Callable[[Mark], TranscriptLine]] = {
    "silence": SilenceLine,
    "restart": RestartLine,
    "again": AgainLine,
}
"""The lines that are one word."""


def _talk(known: KnownNames) -> Form[tuple[TranscriptLine, ...]]:
    of = line_keys(known)
    records = {verb: keys.schema() for verb, keys in of.items() if keys.keys[0].form.schema is not schemas.NEVER}
    begins = schemas.by_key(records, f"a line begins with one of {', '.join(records)}")

    def read(node: Node, problems: Problems, what: str) -> tuple[TranscriptLine, ...]:
        if isinstance(node, List) and not node.items:
            problems.add("E601", node.mark, "talk: there are no lines", "begin it with - user: hello")
        found = (_read_line(item, of, problems) for item in items_of(node, problems, what))
        return tuple(line for line in found if line is not None)

    return Form(schemas.list_of(schemas.either(one_of(*WORD_LINES).schema, begins)), read, absent=())


def _read_line(node: Node, of: Mapping[str, KeySet], problems: Problems) -> TranscriptLine | None:
    if not isinstance(node, Map):
        return _read_word(node, problems)
    verbs = [key.text for key, _ in node.entries if key.text in of]
    if len(verbs) > 1:
        problems.add("E601", node.key_mark(verbs[1]), f'"{verbs[0]}" and "{verbs[1]}" in one line', "make two lines")
        return None
    if not verbs:
        first = node.entries[0][0].text if node.entries else ""
        fix = did_you_mean(first, of, f"begin it with one of {', '.join(of)}")
        fix = f"write {first} alone, without a colon" if first in WORD_LINES else fix
        problems.add("E601", node.mark, f'talk: a line cannot begin with "{first}"', fix)
        return None
    verb, *beside = of[verbs[0]]
    fields, value = of[verb.name].open(node, problems, "talk"), node.get(verb.name)
    line = None if value is None else verb.form.read(value, problems, verb.name)
    more = {key.name: key.read(fields) for key in beside}
    return None if line is None else replace(line, mark=node.mark, **more)


def _read_word(node: Node, problems: Problems) -> TranscriptLine | None:
    """A line that is one word."""
    if isinstance(node, Scalar) and node.text in WORD_LINES:
        return WORD_LINES[node.text](node.mark)
    written, fix = "a list", "write who does what, like user: hello"
    if isinstance(node, Scalar):
        written, fix = f'"{node.text}"', did_you_mean(node.text, WORD_LINES, fix)
    problems.add("E601", node.mark, f"talk: {written} is not a line", fix)
    return None


# -- whole documents ----------------------------------------------------------------------------------

NOW = datetime(2030, 5, 6, 10, 0)  # a Monday
TIMES = 3
_PER_CENT = "([1-9][0-9]?) ?%"


def _read_now(node: Node, problems: Problems, what: str) -> datetime:
    text = text_of(node, problems, what)
    try:
        now = NOW if text is None else datetime.fromisoformat(text)
    except ValueError:
        now = None
    if now is None:
        fix = "write one like 2030-05-06T10:00, or with an offset: 2030-05-06T10:00+02:00"
        problems.add("E602", node.mark, f'{what}: "{text}" is not a day with a time', fix)
        return NOW
    return now


_SIGNS = "[ ().\u00a0-]*"  # between the digits of a number, as people write it
_PHONE_TEXT = rf"{_SIGNS}\+?{_SIGNS}[1-9](?:{_SIGNS}[0-9]){{6,14}}{_SIGNS}"
_PHONE_FIX = "write one with its country code: 6281234567890"


def _read_contact(node: Node, problems: Problems, what: str) -> str | None:
    text = text_of(node, problems, what)
    number = None if text is None else digits(text)
    if text is not None and (number is None or not is_phone(number)):
        problems.add("E106", node.mark, f'{what}: "{text}" is not a phone number', _PHONE_FIX)
        return None
    return number


_PHONE = Form(
    schemas.either(
        schemas.pattern(_PHONE_TEXT, _PHONE_FIX), {"type": "integer", "minimum": 10**6, "maximum": 10**15 - 1}
    ),
    _read_contact,
)


_BAR_FIX = "write a share like 80%, up to 99%; without it all tries must pass"


def _read_bar(node: Node, problems: Problems, what: str) -> int | None:
    text = text_of(node, problems, what)
    found = None if text is None else re.fullmatch(_PER_CENT, text)
    if text is not None and found is None:
        problems.add("E106", node.mark, f'{what}: "{text}" is not a percentage from 1% to 99%', _BAR_FIX)
    return None if found is None else int(found[1])


def _read_tries(fields: Fields) -> Tries:
    times, bar = _TIMES.read(fields), _PASS.read(fields)
    if bar is None:
        return Tries(times or TIMES)
    usual = Tries.with_bar(bar)
    if times is not None and times < usual.fewest:
        what = f"{_TIMES.name}: {times} tries cannot show that more than {bar} % pass"
        fix = f"write {usual.fewest} or more; without it at most {usual.times} tries are made"
        fields.problems.add("E601", fields.mark_of(_TIMES.name), what, fix)
    return usual if times is None else Tries(times, bar)


_TEST = KeySpec("test", STRING, "The behaviour that it shows.", required=True)
_EVALUATE = KeySpec("evaluate", STRING, "The behaviour of a model that it shows.", required=True)
_TIMES = KeySpec(
    "times",
    integer(1, 2000),
    f"How often the conversation is run, {TIMES} by default; with `pass` at most, by default as often as that needs.",
)
_PASS = KeySpec(
    "pass",
    Form(schemas.pattern(_PER_CENT, _BAR_FIX), _read_bar, absent=None),
    "The share of tries that must pass, beyond chance; all tries by default.",
)
_NOW = KeySpec(
    "now",
    Form(STRING.schema, _read_now, absent=NOW),
    "When it begins, on the bot's clock or with an offset; 2030-05-06T10:00 by default.",
)
_CONTACT = KeySpec("contact", _PHONE, "The contact's number, with its country code.")


def document_keys(known: KnownNames) -> KeySet:
    """The keys of a test; or of an evaluation, in which models answer themselves."""
    first = (_EVALUATE, _TIMES, _PASS) if known.evaluates else (_TEST,)
    about = "The messages and events, in order" + ("; a model answers." if known.evaluates else ".")
    return KeySet(*first, _NOW, _CONTACT, *stubs(known), KeySpec("talk", _talk(known), about, required=True))
