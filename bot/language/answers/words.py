"""The words of a language, from `words/*.yml`: what each means, so that a native speaker can read and correct it.

A file is read when a bot is loaded that speaks the language, or at the first answer in it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from pkgutil import get_data
from typing import Any

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.tokens import Spelling, split
from bot.language.expressions.formats import decimal_sign
from bot.language.source.languages import ENGLISH, without_country
from bot.language.source.word_matching import folded, normalise


class Kind(Enum):
    """The kinds of words. Their values are the keys of the files."""

    NUMBER = "numbers"
    COUNT = "counts"
    MULTIPLE = "multiples"
    FRACTION = "fractions"
    ADDED = "added fractions"
    BEFORE_NUMBER = "before numbers"
    ONE = "one before"
    TEEN = "teen"
    AND = "and"
    POINT = "point"
    MINUS = "minus"
    OVER = "over"
    PLUS = "plus"
    ORDINAL = "ordinals"
    PLACE = "places"
    ENDING = "ordinal endings"
    UNIT = "units"
    CURRENCY = "currencies"
    MONTH = "months"
    WEEKDAY = "weekdays"
    DAY = "days"
    DAY_PART = "days with parts"
    PERIOD = "periods"
    LASTING = "lasting"
    BETWEEN = "between dates"
    PART = "parts"
    TIME = "times"
    TIME_OF_12 = "times of 12"
    BEFORE_TIME = "before times"
    BEHIND_HOUR = "behind hours"
    HOUR = "hour words"
    NOW = "now"
    YES = "yes"
    NO = "no"
    HARMLESS = "harmless"
    TENSE = "tenses"
    AROUND_DATE = "around dates"
    AROUND_TITLE = "around titles"
    AGAINST = "against"
    DENIAL = "denials"
    SUPPOSED = "supposed"
    ASKING = "asking"
    TELLING = "telling"
    PAST = "past"
    REFUSAL = "refusals"
    OTHER = "others"
    CORRECTING = "corrections"
    EVERYTHING = "everything"
    REASON = "reasons"
    LACKING = "lacking"
    MYSELF = "myself"
    COMPANION = "companions"
    BETWEEN_PEOPLE = "between people"
    DEFECT = "defects"
    DAILY = "daily"
    ROUGHLY = "roughly"
    OR = "or"
    FAREWELL = "farewells"
    NOTHING = "nothing"
    EXTREME = "extremes"
    ENJOYED = "enjoyed"


Mark = tuple[int, Kind, Any]
"""The end of a phrase, its kind, and its value."""
Phrase = tuple[tuple[str, ...], Kind, Any]

_NUMBERS = (
    Kind.NUMBER,
    Kind.COUNT,
    Kind.MULTIPLE,
    Kind.ORDINAL,
    Kind.PLACE,
    Kind.MONTH,
    Kind.WEEKDAY,
    Kind.DAY,
    Kind.HOUR,
)
_FRACTIONS = (Kind.FRACTION, Kind.ADDED, Kind.BEFORE_NUMBER)
_IMPLIED = {Kind.TENSE: Kind.HARMLESS, Kind.DENIAL: Kind.AGAINST, Kind.PAST: Kind.TELLING, Kind.ENJOYED: Kind.TELLING}
PIECES = frozenset({Kind.NUMBER, Kind.MULTIPLE, Kind.AND, Kind.FRACTION, Kind.ADDED, Kind.ONE})
"""The kinds of words that a language may write together."""
_SLOT = lazy_pattern(r"\{(\w+)\}")


@immutable
class Pattern:
    """A way of saying a day or a time: ``in {n} {period}``, with the name of what it means."""

    name: str
    elements: tuple[str, ...]  # words, and slots in braces
    words: frozenset[str]


@immutable(eq=False)
class Patterns:
    """The patterns of a language by the word that they begin with; those that begin with a slot by their first word,
    which is empty where they have none. ``words`` are all words in them.
    """

    by_word: Mapping[str, Sequence[Pattern]]
    by_slot: Mapping[str, Sequence[Pattern]]
    words: frozenset[str]


@immutable(eq=False)
class Words:
    """The words of a language. ``phrases`` begin with the word that is their key; longer ones come first.

    ``single`` are those of a word, ``longer`` those of several by the first two.
    """

    language: str  # without the country
    spelling: Spelling
    phrases: Mapping[str, tuple[Phrase, ...]]
    single: Mapping[str, Sequence[tuple[Kind, Any]]]
    longer: Mapping[tuple[str, str], Sequence[Phrase]]
    dates: Patterns
    clock: Patterns
    joined: bool  # number words are written together
    unit_first: bool  # 21 is one and twenty
    capitals_are_names: bool  # a word with a capital letter within a sentence is a name
    tens_alone: bool  # each number below 100 is a word of its own
    hours_of_12: bool  # 8 o'clock may be in the evening
    dashed_days: bool  # 12-5 is a day, and not two
    week_begins: int  # for some: 6 is Saturday, 7 Sunday; 1 for all
    unsure_days: frozenset[str]  # words that mean a day before or after today
    counted_with_today: frozenset[int]  # so many days may be a day less: in 8 days is in a week
    unsure_multiples: Mapping[str, Decimal]  # letters behind figures that may be a unit or multiply: 5L
    wishes: Mapping[str, Sequence[str]]  # the phrases of each wish of customers
    modals: frozenset[str]  # words that make a request of a question
    country: str = ""  # in capital letters, where it is known
    decimal_comma: bool = False  # 1.000 is a thousand

    @property
    def month_first(self) -> bool:
        """True if 5/12 is 12 May."""
        return self.language == ENGLISH and self.country in ("US", "PH", "CA")

    @property
    def order_unsure(self) -> bool:
        """True if 5/12 may be 12 May or 5 December."""
        return self.language == ENGLISH and not self.country

    def marks(self, tokens: list[str], start: int) -> list[Mark]:
        """The phrases that begin at a token, the longest first."""
        first, second = tokens[start], tokens[start + 1] if start + 1 < len(tokens) else ""
        found = [
            (start + len(phrase), kind, value)
            for phrase, kind, value in self.longer.get((first, second), ())
            if tuple(tokens[start : start + len(phrase)]) == phrase
        ]
        return found + [(start + 1, kind, value) for kind, value in self.single.get(first, ())]


@lru_cache(maxsize=64)
def words_of(language: str | None) -> Words:
    """The words of a language, with its country or without; of English for a language that has no file."""
    spoken = without_country(language or ENGLISH)
    try:
        words = _read(spoken)
    except FileNotFoundError:
        words = _read(ENGLISH)
    country = (language or "").partition("-")[2].upper()
    comma = language not in (None, ENGLISH) and decimal_sign(str(language)) == ","
    return replace(words, country=country, decimal_comma=comma)


@lru_cache(maxsize=64)
def _read(language: str) -> Words:
    own, common = read_words(f"words/{language}.yml"), read_words("words/all.yml")
    spelling = Spelling(
        frozenset(listed(own.get("elided", ""))),
        own.get("apostrophe ends") == "true",
        frozenset(folded(word) for word in listed(own.get("kept endings", ""))),
        frozenset(folded(word) for word in listed(own.get("endings", ""))),
        own.get("prefixes") or {},
    )
    phrases: dict[str, list[Phrase]] = {}
    for source in (own, common):
        for kind in Kind:
            for value, written in _entries(kind, source.get(kind.value)):
                tokens = tuple(split(written, spelling).tokens)
                if tokens:
                    phrases.setdefault(tokens[0], []).append((tokens, kind, value))
                    if kind in _IMPLIED:
                        phrases[tokens[0]].append((tokens, _IMPLIED[kind], None))
    for found in phrases.values():
        found.sort(key=lambda phrase: -len(phrase[0]))  # stable: those of the language before those of all
    spelling = replace(spelling, known=frozenset(phrases))
    single: dict[str, list[tuple[Kind, Any]]] = {}
    longer: dict[tuple[str, str], list[Phrase]] = {}
    for first, found in phrases.items():
        for phrase, kind, value in found:
            if len(phrase) == 1:
                single.setdefault(first, []).append((kind, value))
            else:
                longer.setdefault((first, phrase[1]), []).append((phrase, kind, value))
    return Words(
        language,
        spelling,
        {first: tuple(found) for first, found in phrases.items()},
        single,
        longer,
        _patterns(own.get("dates"), spelling),
        _patterns(own.get("clock"), spelling),
        own.get("joined") == "true",
        own.get("unit before ten") == "true",
        own.get("nouns have capitals") != "true",
        own.get("tens stand alone") == "true",
        own.get("hours are of 12") == "true",
        own.get("days have dashes") == "true",
        int(own.get("week begins", 1)),
        frozenset(word for written in listed(own.get("unsure days", "")) for word in split(written, spelling).tokens),
        frozenset(map(int, listed(own.get("days counted with today", "")))),
        {word: Decimal(value) for value, word in _entries(Kind.UNIT, own.get("unsure multiples"))},
        {wish: listed(phrases) for wish, phrases in (own.get("wishes") or {}).items()},
        frozenset(map(normalise, listed(own.get("modals", "")))),
    )


def read_words(file: str) -> dict[str, Any]:
    """A file of this package. Raises `FileNotFoundError`."""
    import yaml  # every scalar is a text: no, yes and on are words here

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    found: dict[str, Any] = yaml.load(get_data("bot.language.answers", file) or "", Loader=loader)
    return found


def listed(written: str | Iterable[str]) -> list[str]:
    """The words of a line, which commas separate."""
    words = written.split(",") if isinstance(written, str) else written
    return [word.strip() for word in words if word.strip()]


def _entries(kind: Kind, found: Any) -> Iterator[tuple[Any, str]]:
    """Each value with each of its phrases; a list without values has None."""
    if isinstance(found, Mapping):
        for value, written in found.items():
            for word in listed(written):
                yield _value(kind, value), word
    elif found:
        for word in listed(found):
            yield None, word


def _value(kind: Kind, written: str) -> Any:
    if kind in _NUMBERS:
        return Decimal(written)
    if kind in _FRACTIONS:
        return Fraction(written)
    if kind in (Kind.PERIOD, Kind.DAY_PART):
        number, _, unit = written.partition(" ")
        return int(number), unit
    return written


def _patterns(found: Mapping[str, Any] | None, spelling: Spelling) -> Patterns:
    """The patterns, the longest first: ``{weekday} next week`` before ``next {weekday}``."""
    made = [
        Pattern(name, elements, frozenset(element for element in elements if element[0] != "{"))
        for name, patterns in (found or {}).items()
        for written in listed(patterns)
        if (elements := tuple(_elements(written, spelling)))
    ]
    by_word: dict[str, list[Pattern]] = {}
    by_slot: dict[str, list[Pattern]] = {}
    for pattern in sorted(made, key=lambda pattern: -len(pattern.elements)):
        word = next((element for element in pattern.elements if element in pattern.words), "")
        (by_slot if pattern.elements[0][0] == "{" else by_word).setdefault(word, []).append(pattern)
    return Patterns(by_word, by_slot, frozenset[str]().union(*(pattern.words for pattern in made)))


def _elements(written: str, spelling: Spelling) -> Iterator[str]:
    end = 0
    for slot in _SLOT.finditer(written):
        yield from split(written[end : slot.start()], spelling).tokens
        yield slot.group()
        end = slot.end()
    yield from split(written[end:], spelling).tokens
