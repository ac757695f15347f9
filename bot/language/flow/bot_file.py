"""``bot.yml``: its keys, how they are read, and its opening hours."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import BUTTON_TITLE, TEXT_BODY
from bot.language.expressions.opening_hours import Hours, Span
from bot.language.expressions.templates import Template
from bot.language.flow.definition import LANGUAGE, Agents, BotDefinition, OptOut
from bot.language.flow.event_receiver import NAME as EVENTS_TO
from bot.language.flow.event_receiver import RECEIVER, read_receiver
from bot.language.keys import key_schemas as schemas
from bot.language.keys.declared_keys import (
    BOOLEAN,
    DURATION,
    LITERAL,
    STRING,
    STRINGS,
    TEMPLATE,
    WORDING,
    Form,
    KeySet,
    KeySpec,
    as_fields,
    integer,
    map_of,
    nested,
    one_of,
    one_or_several,
    raw_node,
)
from bot.language.keys.definitions import DEFINE, read_definitions
from bot.language.keys.fields import Fields, entries_of, name_of, refuse, signal_name_of, text_of
from bot.language.keys.key_schemas import Schema
from bot.language.keys.patterns import PAYLOAD_PATTERN, PayloadPattern
from bot.language.keys.text_shapes import TEXT, Part
from bot.language.python.gathered import Extensions
from bot.language.source.languages import SORRY, TITLES, WORDINGS
from bot.language.source.problems import Mark, Problems, did_you_mean
from bot.language.source.wall_clock import A_DAY, WEEKDAYS, days_in, minutes_in, parse_duration
from bot.language.source.word_matching import normalise
from bot.language.source.writing import flow_style
from bot.language.source.yaml_tree import Map, Node, Scalar, one_or_more
from bot.language.steps.ai_settings import SETTINGS, AiSettings, read_ai_settings
from bot.language.steps.http_services import SECRETS, SERVICES, read_services
from bot.language.steps.intent_step import SURE
from bot.language.steps.mcp_servers import MCP, SERVERS, read_servers
from bot.language.steps.message_parts import check_length
from bot.language.steps.small_talk_texts import TOPICS
from bot.language.steps.step_options import DEFAULTS, Defaults, read_defaults
from bot.language.steps.transcription import TRANSCRIBE, read_transcription
from bot.language.steps.transition import WORDS
from bot.language.types.contact_zones import TIMEZONE, TimezoneVariable, zone_named
from bot.language.types.text_types import ChoiceVariable
from bot.language.types.type_registry import OWN_TYPES, VARIABLE, VARIABLES
from bot.language.types.variable import Variable

LANGUAGE_PATTERN = "[a-z]{2,3}(-[A-Za-z0-9]{2,8})*"


def read_bot(
    node: Map, extensions: Extensions, problems: Problems, documents: Mapping[str, str] = MappingProxyType({})
) -> BotDefinition:
    """Read ``bot.yml``. ``documents`` are the bot's text files, by path."""
    fields = BOT_KEYS.open(node, problems, "bot")
    definitions = read_definitions(fields)
    fields.problems.types = problems.types = _TYPES.read(fields)
    timezone = _TIMEZONE.read(fields) or ZoneInfo("UTC")
    own_zones = _CONTACT_TIMEZONES.read(fields)
    languages, mark = _LANGUAGES.read(fields), fields.mark_of(_LANGUAGES.name)
    ai, sure, sorry = _read_ai(_AI.read(fields), extensions, documents)
    secrets, signals = _SECRETS.read(fields), _SIGNALS.read(fields)
    services = read_services(_HTTP.read(fields), secrets, problems)  # which know no definitions: nothing but secrets
    transcribe, receiver = TRANSCRIBE.read(fields), _EVENTS_TO.read(fields)
    return BotDefinition(
        name=_NAME.read(fields) or "Bot",
        mark=node.mark,
        timezone=timezone,
        contact_timezones=own_zones,
        words=_WORDS.read(fields),
        defaults=_DEFAULTS.read(fields) or Defaults(),
        languages=languages,
        common=({LANGUAGE: ChoiceVariable(LANGUAGE, mark, of=languages)} if languages else {})
        | ({TIMEZONE: TimezoneVariable(TIMEZONE, _CONTACT_TIMEZONES.mark(fields))} if own_zones else {}),
        wordings=(_OWN_WORDINGS.read(fields) or {}) | sorry,
        ai=ai,
        sure=sure,
        channels=_CHANNELS.read(fields),
        secrets=secrets,
        services=services,
        mcp=read_servers(_MCP.read(fields), secrets, documents, problems),
        hours=_read_hours(_HOURS.read(fields), timezone, problems),
        opt_out=_OPT_OUT.read(fields) or OptOut(),
        transcription=None if transcribe is None else read_transcription(transcribe, extensions.handlers, services),
        signals={name: signal.data for name, signal in signals.items()},
        payloads={name: signal.payload for name, signal in signals.items() if signal.payload is not None},
        kept_signals={name: signal.kept for name, signal in signals.items() if signal.kept is not None},
        definitions=definitions,
        small_talk=_SMALL_TALK.read(fields),
        events_to=None if receiver is None else read_receiver(receiver, secrets),
        agents=_AGENTS.read(fields) or Agents(),
    )


def bot_schema(settings: Form[Any]) -> Schema:
    """``bot.yml``. ``settings`` is what stands under the key of that name."""
    below = replace(_SETTINGS, form=settings)
    return KeySet(*(key for key in BOT_KEYS if key is not _SETTINGS), below).schema()


_AREAS = ("Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian")


def _read_zone(node: Node, problems: Problems, what: str) -> ZoneInfo | None:
    name = text_of(node, problems, what)
    zone = None if name is None else zone_named(name)
    if name is not None and zone is None:
        cities = (f"{area}/{name.strip().title().replace(' ', '_')}" for area in _AREAS)
        city = next((each for each in cities if zone_named(each) is not None), None)
        fix = "write one like Asia/Jakarta or UTC" if city is None else f'did you mean "{city}"?'
        problems.add("E109", node.mark, f'no time zone "{name}"', fix)
    return zone


_ZONE = Form(STRING.schema, _read_zone)


# -- words that opt out -----------------------------------------------------------------------------


def _read_spoken(node: Node, problems: Problems, what: str) -> tuple[tuple[str, Mark], ...]:
    marks = (item.mark for item in one_or_more(node))
    return tuple(zip(STRINGS.read(node, problems, what), marks, strict=False))


SPOKEN = Form(STRINGS.schema, _read_spoken, Part.WORDS, absent=())
"""Words that contacts write, each with its place."""


def _read_opt_out(fields: Fields) -> OptOut:
    words, back = ({normalise(text): mark for text, mark in key.read(fields)} for key in (_OUT_WORDS, _BACK_WORDS))
    for said in words.keys() & back.keys():
        fix = "choose another word for one of them"
        fields.report("E312", back[said], f'back: "{said}" is a word that opts out', fix)
    return OptOut(words, _OUT_SAY.read(fields), back)


_OUT_WORDS = KeySpec("words", SPOKEN, "A contact who writes one of these opts out, in any flow.", required=True)
_OUT_SAY = KeySpec("say", WORDING, "The bot's answer.", texts=TEXT)
_BACK_WORDS = KeySpec("back", SPOKEN, "A contact who has opted out and writes one of these is back.")

# -- people who answer beside the bot -----------------------------------------------------------------
_NEVER = "never"


def _read_silent(node: Node, problems: Problems, what: str) -> timedelta | None:
    if isinstance(node, Scalar) and node.text == _NEVER:
        return None
    found = parse_duration(node.text) if isinstance(node, Scalar) else None
    if found is None:
        refuse(node, problems, what, "a duration", "write one like 30m or 2h, or never")
    return found


def _read_replies(node: Node, problems: Problems, what: str) -> dict[str, str]:
    """The texts by title, each as long as a message can be."""
    replies = {}
    for title, item in entries_of(node, problems, what, "{Opening hours: We are open from nine to six.}"):
        text = LITERAL.read(item, problems, f'{what}: "{title.text}"')
        if text is not None and len(text) > TEXT_BODY:
            told = f'{what}: "{title.text}" has {len(text)} characters, {TEXT_BODY} are allowed'
            problems.add("E402", item.mark, told, "shorten it")
        replies[title.text] = text or ""
    return replies


def _read_agents(fields: Fields) -> Agents:
    silent = _SILENT.read(fields) if _SILENT.written(fields) else Agents().silent
    return Agents(silent, _REPLIES.read(fields))


_SILENT = KeySpec(
    "silent",
    Form(schemas.either(one_of(_NEVER).schema, DURATION.schema), _read_silent),
    "How long the bot is silent after an agent who has not taken the conversation answers; 30m by default, or never.",
)
_REPLIES = KeySpec(
    "replies", map_of(LITERAL, _read_replies, absent={}), "Texts that agents send often from the console, by title."
)

# -- languages and texts ----------------------------------------------------------------------------


def _read_languages(node: Node, problems: Problems, what: str) -> tuple[str, ...]:
    languages, fix = STRINGS.read(node, problems, what), "write codes like en, id or pt-BR"
    for language in languages:
        if not re.fullmatch(LANGUAGE_PATTERN, language) and ", " not in language:  # which is a problem already
            problems.add("E109", node.mark, f'{what}: "{language}" is no language code', fix)
    return languages


def _read_wordings(fields: Fields) -> dict[str, Template]:
    """The texts in place of the built-in ones."""
    found = _WORDINGS.values(fields)
    titles: set[str] = set()
    for name, text in found.items():
        if text is None or name not in TITLES:
            continue
        check_length(fields, name, text, BUTTON_TITLE)
        if text.source in titles:
            fix = "the buttons stand beside each other: give each a title of its own"
            fields.report("E406", text.mark, f'a second "{text.source}"', fix)
        titles.add(text.source)
    return {name: text for name, text in found.items() if text is not None}


_LANGUAGE = schemas.pattern(LANGUAGE_PATTERN, "write codes like en, id or pt-BR")
_WORDINGS = KeySet(*(KeySpec(name, TEMPLATE, f"In place of {texts['en']!r}.") for name, texts in WORDINGS.items()))
_SORRY = KeySpec(
    "sorry", WORDING, f"Said where a model fails and the flow says nothing, for {SORRY['en']!r}.", texts=TEXT
)
_SURE = KeySpec(
    "sure",
    integer(1, 100),
    f"How sure a model must be, in per cent, to start the flow that a message is about; {SURE} by default.",
)


def _read_ai(
    fields: Fields | None, extensions: Extensions, documents: Mapping[str, str]
) -> tuple[AiSettings, int, dict[str, Template]]:
    """The settings of all AI turns, how sure a model must be of a flow, and the wording for a model's failure."""
    if fields is None:
        return AiSettings(), SURE, {}
    sorry = _SORRY.read(fields)
    wordings = {} if sorry is None else {"sorry": sorry}
    return read_ai_settings(fields, extensions.handlers, documents), _SURE.read(fields) or SURE, wordings


def _read_channels(node: Node, problems: Problems, what: str) -> dict[str, str]:
    """The gateway's channel ids, by the channel's number."""
    channels = {}
    for key, item in entries_of(node, problems, what):
        number, id = key.text.removeprefix("+"), text_of(item, problems, "channel")
        if not number.isdigit():
            fix = "write the channel's number with its country code, then its id: 6281234567890: chn_1"
            problems.add("E109", item.mark, f'{what}: "{key.text}" is no number', fix)
        if id is not None:
            channels[number] = id
    return channels


# -- opening hours ----------------------------------------------------------------------------------
_STARTS_WITH_A_TIME = lazy_pattern(r"\s*\d")


def _read_hours(written: tuple[tuple[Scalar, Node], ...], zone: ZoneInfo, problems: Problems) -> dict[str, Hours]:
    """The opening hours by name. ``zone`` is the bot's."""
    for key, node in written:
        if days_in(key.text) is not None and not isinstance(node, Map):
            fix = f'name them: hours: {{shop: {{{key.text}: "9:00-18:00"}}}}'
            problems.add("E104", key.mark, f'hours: "{key.text}" stands where a name of opening hours is expected', fix)
            return {}
    named = [(key.text, node) for key, node in written if name_of(key, problems, "hours") is not None]
    return {name: _read_one(name, node, zone, problems) for name, node in named}


def _read_one(name: str, node: Node, zone: ZoneInfo, problems: Problems) -> Hours:
    fields = _OWN_KEYS.open(node, problems, f'hours "{name}"', others=True)
    holidays = _HOLIDAYS.read(fields)
    week: dict[int, tuple[Span, ...]] = {}
    days = [(key, item) for key, item in fields.node.entries if key.text not in _OWN_KEYS.names]
    for key, item in days:
        _add_days(key, _spans_of(item, problems, fields.what), week, fields)
    if not any(one_or_more(item) for _, item in days) and not any(holidays.values()):
        fields.report("E105", fields.mark, "it never opens", 'add mon-fri: "9:00-18:00"')
    return Hours(name, tuple(week.get(day, ()) for day in range(7)), holidays, _OWN_ZONE.read(fields) or zone)


def _add_days(key: Scalar, spans: tuple[Span, ...], week: dict[int, tuple[Span, ...]], fields: Fields) -> None:
    days = days_in(key.text)
    if days is None:
        what = f'"{key.text}" is no day'
        fix = f"write days like mon, mon-fri or sat, sun; or {', '.join(_OWN_KEYS.names)}"
        fields.report("E104", key.mark, what, fix)
        return
    for day in sorted(days & week.keys()):
        fields.report("E121", key.mark, f"{WEEKDAYS[day]} stands twice", "keep one of them")
    week.update(dict.fromkeys(days, spans))


def _read_holidays(node: Node, problems: Problems, what: str) -> dict[date, tuple[Span, ...]]:
    """A list of days, or a map of days and their names, or the times at which it is open then all the same."""
    entries = node.entries if isinstance(node, Map) else [(item, None) for item in one_or_more(node)]
    days = ((_day_of(key, problems), item) for key, item in entries)
    return {day: () if _is_name(item) else _spans_of(item, problems, what) for day, item in days if day is not None}


def _is_name(node: Node | None) -> bool:
    return node is None or (isinstance(node, Scalar) and not _STARTS_WITH_A_TIME.match(node.text))


def _day_of(node: Node, problems: Problems) -> date | None:
    text = node.text if isinstance(node, Scalar) else ""
    try:
        return date.fromisoformat(text)
    except ValueError:
        problems.add("E106", node.mark, f'holidays: "{text}" is no day', "write days like 2030-12-25")
        return None


def _spans_of(node: Node | None, problems: Problems, what: str) -> tuple[Span, ...]:
    """``9:00-18:00``, or a list of these."""
    spans = (_span_of(item, problems, what) for item in one_or_more(node))
    return tuple(sorted(span for span in spans if span is not None))


def _span_of(node: Node, problems: Problems, what: str) -> Span | None:
    """A span of opening hours; one that ends before it begins ends on the next day."""
    text = node.text if isinstance(node, Scalar) else ""
    opens, _, closes = text.replace("–", "-").partition("-")
    start, end = minutes_in(opens), minutes_in(closes)
    if start is None or end is None or start in (end, A_DAY):
        fix = 'write "9:00-18:00", "22:00-2:00", or a list of these'
        if "," in text:
            fix = f"write {flow_style([span.strip() for span in text.split(',')])}"
        if text in ("closed", "shut", "off", "no"):
            fix = "leave the day out: it is closed then"
        if start is not None and start == end:
            fix = 'write "0:00-24:00" for a whole day'
        problems.add("E106", node.mark, f'{what}: "{text}" is not from when to when', fix)
        return None
    return start, end if end > start else end + A_DAY


_SPANS = schemas.one_or_several(STRING.schema)
_DAYS_OFF = schemas.either(
    STRING.schema, schemas.list_of(STRING.schema), schemas.map_of(schemas.either(_SPANS, schemas.EMPTY))
)
_OWN_ZONE = KeySpec("zone", _ZONE, "Their time zone; the bot's without it.")
_HOLIDAYS = KeySpec(
    "holidays",
    Form(_DAYS_OFF, _read_holidays, absent={}),
    "Days like 2030-12-25 on which it is shut, with their names or with other times.",
)
_OWN_KEYS = KeySet(_OWN_ZONE, _HOLIDAYS)
_OPEN = schemas.map_of(
    schemas.takes(_SPANS, "From when to when, like 9:00-18:00; or a list of these."), _OWN_KEYS.schemas
)

# -- its keys ---------------------------------------------------------------------------------------

_NAME = KeySpec("name", STRING, "The bot's name, for operators.")
_TIMEZONE = KeySpec("timezone", _ZONE, "The time zone of dates and times, like Asia/Jakarta; UTC without it.")
_CONTACT_TIMEZONES = KeySpec(
    "contact_timezones",
    BOOLEAN,
    "Whether each contact has a time zone: that of the number's country until a flow sets timezone; false by default.",
)
_WORDS = KeySpec("words", WORDS, "Words that are understood in every flow and outside of all.")
_OPT_OUT = KeySpec(
    "opt_out",
    nested(KeySet(_OUT_WORDS, _OUT_SAY, _BACK_WORDS), _read_opt_out, "{words: [stop], say: ..., back: [start]}"),
    "Words with which a contact opts out of everything that it does not ask for.",
)
_DEFAULTS = KeySpec(
    "defaults",
    nested(DEFAULTS, read_defaults, "{timeout: {after: 20h, then: end}}"),
    "Values for each step that has none of its own.",
)
_LANGUAGES = KeySpec(
    "languages",
    Form(schemas.one_or_several(_LANGUAGE), _read_languages, absent=()),
    "The languages that it speaks, that of the flows first.",
)
_OWN_WORDINGS = KeySpec(
    "wordings", nested(_WORDINGS, _read_wordings), "The bot's own sentences, in place of the built-in ones."
)
_HOURS = KeySpec("hours", Form(schemas.map_of(_OPEN), entries_of, absent=()), "Opening hours, by name.")
_HTTP = KeySpec("http", SERVICES, "The services that it sends requests to, by name.")
_MCP = KeySpec(MCP, SERVERS, "The MCP servers whose tools models may call, by name.")
_SECRETS = KeySpec("secrets", SECRETS, "Names of environment variables whose values the services get.")
_AI = KeySpec("ai", as_fields(KeySet(*SETTINGS, _SURE, _SORRY)), "Settings of all AI turns.")
_EVENTS_TO = KeySpec(EVENTS_TO, RECEIVER, "Where the bot delivers what has happened to its contacts, signed.")
_SMALL_TALK = KeySpec(
    "small_talk",
    replace(one_or_several(one_of(*TOPICS)), absent=TOPICS),
    f"The small talk that it answers where nothing else takes it: {', '.join(TOPICS)}; all by default.",
)
_AGENTS = KeySpec(
    "agents",
    nested(KeySet(_SILENT, _REPLIES), _read_agents, "{silent: 30m}"),
    "For the people who answer beside the bot.",
)
_CHANNELS = KeySpec(
    "channels", map_of(STRING, _read_channels, absent={}), "The gateway's channel ids, by the channel's number."
)
_SETTINGS = KeySpec(
    "settings", raw_node(schemas.ANY), "Settings that are no secrets, by their names in small letters, without BOT_."
)


_KEEP = KeySpec("keep", DURATION, "How long a signal that comes early is kept until a step has it.")
_OF_SIGNAL = KeySet(PAYLOAD_PATTERN, _KEEP)


@immutable
class _Signal:
    """A declared signal: its data, the payload of a tap that is this signal, and how long it is kept for a step."""

    data: Mapping[str, Variable]
    payload: PayloadPattern | None = None
    kept: timedelta | None = None


def _read_signals(node: Node, problems: Problems, what: str) -> dict[str, _Signal]:
    """Signals by their names."""
    signals: dict[str, _Signal] = {}
    for key, item in entries_of(node, problems, what, "{name: {amount: number}}"):
        signal_name_of(key, problems, "signal")
        signals[key.text] = _read_signal(item, problems, f'signal "{key.text}"')
    return signals


def _read_signal(node: Node, problems: Problems, what: str) -> _Signal:
    if not isinstance(node, Map):
        return _Signal(VARIABLES.read(node, problems, what))
    own = tuple(entry for entry in node.entries if entry[0].text in _OF_SIGNAL.names)
    declared = VARIABLES.read(
        Map(node.mark, tuple(entry for entry in node.entries if entry not in own)), problems, what
    )
    fields = Fields(Map(node.mark, own), problems, what)
    payload, kept = PAYLOAD_PATTERN.read(fields), _KEEP.read(fields)
    if payload is None:
        return _Signal(declared, kept=kept)
    for name in sorted({*payload.names} - declared.keys()):
        fix = did_you_mean(name, declared, f"add {name}: text beside the payload")
        problems.add("E301", payload.mark, f'{what}: "{name}" is none of its data', fix)
    for name in sorted({name for name, variable in declared.items() if variable.required} - {*payload.names}):
        fix = f"write it into the payload: {payload.written}:{{{name}}}"
        problems.add("E105", payload.mark, f'{what} needs "{name}", which its payload does not give', fix)
    return _Signal(declared, payload, kept)


_TYPES = KeySpec("types", OWN_TYPES, "Types of variables for all flows, by name, each with its declaration.")
_SIGNALS = KeySpec(
    "signals",
    map_of(map_of(VARIABLE, _read_signal, known=_OF_SIGNAL), _read_signals, absent={}),
    "Events outside of a conversation, by name, with their data and the payload of a tap that is one.",
)
BOT_KEYS = KeySet(
    _NAME, _TIMEZONE, _CONTACT_TIMEZONES, _WORDS, _OPT_OUT, _DEFAULTS, _LANGUAGES, _OWN_WORDINGS, _HOURS, DEFINE, _TYPES, _SIGNALS, _HTTP, _MCP, _SECRETS, _AI,
    TRANSCRIBE, _SMALL_TALK, _EVENTS_TO, _AGENTS, _CHANNELS, _SETTINGS,
)  # fmt: skip
"""The keys of ``bot.yml``. `bot.settings` reads the values under `settings`."""
