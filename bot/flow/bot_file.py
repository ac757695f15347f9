"""``bot.yml``: how it is read, its opening hours, and what its keys take."""

import re
from datetime import date
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.core.messages import BUTTON_TITLE
from bot.expressions.opening_hours import Hours, Span
from bot.expressions.templates import Template
from bot.extensions.gathered import Extensions
from bot.flow.definition import LANGUAGE, BotDefinition, OptOut
from bot.keys.fields import Fields, name_of, text_of
from bot.keys.key_schemas import (
    ANY_TEXT,
    EMPTY,
    WORDING,
    Schema,
    Schemas,
    either,
    list_of,
    map_of,
    one_or_several,
    pattern,
    record,
    takes,
)
from bot.lang.languages import SENTENCES, SORRY, WORDINGS
from bot.lang.problems import Mark, Problems
from bot.lang.source import List, Map, Node, Scalar, one_or_more
from bot.lang.wall_clock import A_DAY, WEEKDAYS, days_in, minutes_in
from bot.lang.word_matching import normalise
from bot.steps.ai_settings import SETTINGS, AiSettings, read_ai_settings
from bot.steps.http_services import SECRETS, SERVICES, read_secrets, read_services
from bot.steps.message_parts import check_length
from bot.steps.step_options import DEFAULTS, Defaults, read_defaults
from bot.steps.transition import WORDS, read_words
from bot.types.text_types import ChoiceVariable
from bot.types.variable import Variable

LANGUAGE_PATTERN = "[a-z]{2,3}(-[A-Za-z0-9]{2,8})*"
_LANGUAGE = re.compile(LANGUAGE_PATTERN)


def read_bot(node: Map, extensions: Extensions, problems: Problems) -> BotDefinition:
    """Read ``bot.yml``."""
    fields = Fields(node, problems, "bot")
    name = fields.string("name") or "Bot"
    timezone = read_zone(fields, "timezone", ZoneInfo("UTC"))
    words = read_words(fields)
    inner = fields.fields_meant("defaults")
    defaults = Defaults() if inner is None else read_defaults(inner)
    fields.raw("settings")  # read by bot.settings
    languages, channels = _read_languages(fields), _read_channels(fields)
    ai, sorry = _read_ai(fields, extensions)
    common, wordings = _common(fields, languages), _read_wordings(fields) | sorry
    secrets = read_secrets(fields)
    services, hours, opt_out = read_services(fields, secrets), read_hours(fields, timezone), _read_opt_out(fields)
    fields.close()
    return BotDefinition(
        name, node.mark, timezone, words, defaults, languages, common, wordings, ai, channels, secrets, services, hours,
        opt_out,
    )  # fmt: skip


def _read_opt_out(fields: Fields) -> OptOut:
    inner = fields.fields("opt_out", "opt_out: {words: [stop], say: ..., back: [start]}")
    if inner is None:
        return OptOut()
    inner.require("words")
    words, say, back = _read_said(inner, "words"), inner.wording("say"), _read_said(inner, "back")
    inner.close()
    for said in words.keys() & back.keys():
        fix = "choose another word for one of them"
        inner.problems.add("E312", back[said], f'{inner.what}: back: "{said}" is a word that opts out', fix)
    return OptOut(words, say, back)


def _read_said(fields: Fields, key: str) -> dict[str, Mark]:
    """Read words, as they are matched, each with its place."""
    marks = (item.mark for item in fields.one_or_more(key))
    return {normalise(text): mark for text, mark in zip(fields.strings(key), marks, strict=False)}


def _read_languages(fields: Fields) -> tuple[str, ...]:
    languages = fields.strings("languages")
    for language in languages:
        if not _LANGUAGE.fullmatch(language):
            what = f'bot: languages: "{language}" is no language code'
            fields.problems.add("E109", fields.mark_of("languages"), what, "write codes like en, id or pt-BR")
    return languages


def _common(fields: Fields, languages: tuple[str, ...]) -> dict[str, Variable]:
    """The contact's language, as flows see it."""
    mark = fields.mark_of("languages")
    return {LANGUAGE: ChoiceVariable(LANGUAGE, mark, of=languages)} if languages else {}


def _read_wordings(fields: Fields) -> dict[str, Template]:
    """Read `wordings`: texts in place of the built-in ones."""
    inner = fields.fields("wordings")
    if inner is None:
        return {}
    inner.declare(WORDINGS)
    found = {name: inner.template(name) for name in WORDINGS if inner.has(name)}
    inner.close()
    titles: set[str] = set()
    for name, text in found.items():
        if text is None or name in SENTENCES:
            continue
        check_length(inner, name, text, BUTTON_TITLE)
        if text.source in titles:
            what = f'{inner.what}: a second "{text.source}"'
            inner.problems.add(
                "E406", text.mark, what, "the buttons stand beside each other: give each a title of its own"
            )
        titles.add(text.source)
    return {name: text for name, text in found.items() if text is not None}


def _read_ai(fields: Fields, extensions: Extensions) -> tuple[AiSettings, dict[str, Template]]:
    """Read `ai`: the settings of all AI turns; and what is said where one fails, as one of the bot's wordings."""
    inner = fields.fields("ai")
    if inner is None:
        return AiSettings(), {}
    settings = read_ai_settings(inner, extensions.handlers)
    sorry = inner.wording("sorry")
    inner.close()
    return settings, {} if sorry is None else {"sorry": sorry}


def _read_channels(fields: Fields) -> dict[str, str]:
    """The gateway's channel ids, by the channel's number."""
    inner = fields.fields("channels")
    entries = () if inner is None else inner.entries()
    found = {number.text.removeprefix("+"): text_of(node, fields.problems, "channel") for number, node in entries}
    for number, node in entries:
        if not number.text.removeprefix("+").isdigit():
            what = f'bot: channels: "{number.text}" is no number'
            fields.problems.add(
                "E109",
                node.mark,
                what,
                "write the channel's number with its country code, then its id: 6281234567890: chn_1",
            )
    return {number: id for number, id in found.items() if id is not None}


# -- opening hours ----------------------------------------------------------------------------------
_OWN_KEYS = ("zone", "holidays")
_DAYS_OFF = either(ANY_TEXT, list_of(ANY_TEXT), map_of(either(one_or_several(ANY_TEXT), EMPTY)))
HOURS = map_of(
    map_of(
        takes(one_or_several(ANY_TEXT), "From when to when, like 9:00-18:00; or a list of such."),
        {
            "zone": takes(ANY_TEXT, "Their time zone; the bot's without it."),
            "holidays": takes(
                _DAYS_OFF, "Days like 2030-12-25 on which it is closed, with their names or with other times."
            ),
        },
    )
)
_STARTS_WITH_A_TIME = re.compile(r"\s*\d")


def read_hours(fields: Fields, zone: ZoneInfo) -> dict[str, Hours]:
    """Read `hours`: days and times by name. ``zone`` is the bot's."""
    inner = fields.fields("hours")
    if inner is None:
        return {}
    names = [key.text for key, _ in inner.entries() if name_of(key, fields.problems, "hours") is not None]
    found = ((name, inner.fields(name)) for name in names)
    return {name: _read_one(name, of, zone) for name, of in found if of is not None}


def read_zone(fields: Fields, key: str, default: ZoneInfo) -> ZoneInfo:
    """Read a time zone."""
    name = fields.string(key)
    try:
        return default if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        fields.problems.add("E109", fields.mark_of(key), f'no time zone "{name}"', "write one like Asia/Jakarta or UTC")
        return default


def _read_one(name: str, fields: Fields, zone: ZoneInfo) -> Hours:
    fields.what = f'hours "{name}"'
    zone = read_zone(fields, "zone", zone)
    holidays = _read_holidays(fields)
    week: dict[int, tuple[Span, ...]] = {}
    days = [(key, node) for key, node in fields.entries() if key.text not in _OWN_KEYS]
    for key, node in days:
        _add_days(key, _spans_of(node, fields), week, fields)
    if not any(one_or_more(node) for _, node in days) and not any(holidays.values()):
        fields.problems.add("E105", fields.mark, f"{fields.what}: it never opens", 'add mon-fri: "9:00-18:00"')
    return Hours(name, tuple(week.get(day, ()) for day in range(7)), holidays, zone)


def _add_days(key: Scalar, spans: tuple[Span, ...], week: dict[int, tuple[Span, ...]], fields: Fields) -> None:
    days = days_in(key.text)
    if days is None:
        what = f'{fields.what}: "{key.text}" is no day'
        fields.problems.add(
            "E104", key.mark, what, f"write days like mon, mon-fri or sat, sun; or {', '.join(_OWN_KEYS)}"
        )
        return
    for day in sorted(days & week.keys()):
        fields.problems.add("E121", key.mark, f"{fields.what}: {WEEKDAYS[day]} stands twice", "keep one of them")
    week.update(dict.fromkeys(days, spans))


def _read_holidays(fields: Fields) -> dict[date, tuple[Span, ...]]:
    """A list of days, or a map of days and their names, or the times at which it is open then all the same."""
    match fields.raw("holidays"):
        case List(items=items):
            entries: list[tuple[Node, Node | None]] = [(item, None) for item in items]
        case Map(entries=found):
            entries = list(found)
        case None:
            return {}
        case other:
            entries = [(other, None)]
    days = ((_day_of(key, fields.problems), node) for key, node in entries)
    return {day: () if _is_name(node) else _spans_of(node, fields) for day, node in days if day is not None}


def _is_name(node: Node | None) -> bool:
    return node is None or (isinstance(node, Scalar) and not _STARTS_WITH_A_TIME.match(node.text))


def _day_of(node: Node, problems: Problems) -> date | None:
    text = node.text if isinstance(node, Scalar) else ""
    try:
        return date.fromisoformat(text)
    except ValueError:
        problems.add("E106", node.mark, f'holidays: "{text}" is no day', "write days like 2030-12-25")
        return None


def _spans_of(node: Node | None, fields: Fields) -> tuple[Span, ...]:
    """``9:00-18:00``, or a list of such."""
    spans = [_span_of(item.text if isinstance(item, Scalar) else "", item.mark, fields) for item in one_or_more(node)]
    return tuple(sorted(span for span in spans if span is not None))


def _span_of(text: str, mark: Mark, fields: Fields) -> Span | None:
    """From when to when; what ends before it begins ends on the next day."""
    opens, _, closes = text.replace("–", "-").partition("-")
    start, end = minutes_in(opens), minutes_in(closes)
    if start is None or end is None or start in (end, A_DAY):
        what = f'{fields.what}: "{text}" is not from when to when'
        fix = 'write "9:00-18:00", "22:00-2:00", or a list of such'
        if start is not None and start == end:
            fix = 'write "0:00-24:00" for a whole day'
        fields.problems.add("E106", mark, what, fix)
        return None
    return start, end if end > start else end + A_DAY


# -- what its keys take, for editors ----------------------------------------------------------------
_WORDINGS: Schemas = {
    name: takes(ANY_TEXT, f"In place of {texts['en']!r}.") for name, texts in WORDINGS.items()
}  # fmt: skip
_SORRY: Schemas = {"sorry": takes(WORDING, f"Said where a model fails and the flow says nothing, for {SORRY['en']!r}.")}
_OPT_OUT: Schemas = {
    "words": takes(one_or_several(ANY_TEXT), "A contact who writes one of these opts out, in any flow."),
    "say": takes(WORDING, "What is said then."),
    "back": takes(one_or_several(ANY_TEXT), "A contact who has opted out and writes one of these is back."),
}
_BOT: Schemas = {
    "name": takes(ANY_TEXT, "The bot's name, for operators."),
    "timezone": takes(ANY_TEXT, "The time zone of dates and times, like Asia/Jakarta; UTC without it."),
    "words": takes(WORDS.schema, "Words that are understood in every flow and outside of all."),
    "opt_out": takes(
        record(_OPT_OUT, "words"), "Words with which a contact opts out of everything that it does not ask for."
    ),
    "defaults": takes(DEFAULTS.schema(), "What a step does where it says nothing itself."),
    "languages": takes(
        one_or_several(pattern(LANGUAGE_PATTERN, "write codes like en, id or pt-BR")),
        "The languages that it speaks, that of the flows first.",
    ),
    "wordings": takes(record(_WORDINGS), "The bot's own sentences, in place of the built-in ones."),
    "hours": takes(HOURS, "Opening hours, by name."),
    "http": takes(SERVICES, "The services that it sends requests to, by name."),
    "secrets": takes(SECRETS, "Names of environment variables whose values the services get."),
    "ai": takes(record({**SETTINGS.schemas, **_SORRY}), "What holds for all AI turns."),
    "channels": takes(map_of(ANY_TEXT), "The gateway's channel ids, by the channel's number."),
}


def bot_schema(settings: Schemas) -> Schema:
    """``bot.yml``. ``settings`` are the keys below the key of that name."""
    about = "Settings that are no secrets, by their names in small letters, without BOT_."
    return record({**_BOT, "settings": takes(record(settings), about)})
