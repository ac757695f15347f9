"""The measure of an answer's number, and the one that its question asks for: "5%" is no answer to "How many?"."""

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache, lru_cache
from itertools import pairwise

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.numbers import number_at
from bot.language.answers.phrases import LANGUAGES, all_phrases, phrase_pattern
from bot.language.answers.readers import read_number
from bot.language.answers.segments import TokenizedText, in_each_language
from bot.language.answers.titles import has_word, is_known, only_value, place_at
from bot.language.answers.words import Kind
from bot.language.source.languages import ENGLISH, without_country
from bot.language.source.word_matching import normalise, singular

MEASURES = {
    "money": frozenset({"euro", "dollar", "pound", "other money"}),
    "weight": frozenset({"kilo", "pound", "other weight"}),
    "length": frozenset({"metre", "centimetre", "other length"}),
    "share": frozenset({"percent"}),
    "heat": frozenset({"degree"}),
    "volume": frozenset({"litre"}),
    "time": frozenset({"hour", "night", "minute"}),
}
"""The units of each measure, keys of `measures` in the files of phrases."""
ASKED = ("money", "weight", "length", "share", "heat", "age")
"""Measures that a question may ask for without a unit, keys of `asked measures`."""
COUNTED = ("person", "room", "table", "chair", "vehicle", "animal", "luggage", "floor", "day", "hour")
"""Kinds of things that a question may ask for a number of, keys of `things`."""
_UNITS = frozenset[str]().union(*MEASURES.values())
_SIGNS = {"%": {"percent"}, "€": {"euro"}, "£": {"pound"}, "$": {"dollar", "other money"}}  # R$, A$ and pesos, too
_GLUED = lazy_pattern(r"(?<=\d)(?=[^\W\d_])")
_FIGURES = lazy_pattern(r"\d+")
_MOST_OF_NUMBERED = 6  # words
_SHORTEST_THING = 3  # letters
_MOST_BEHIND_COUNTING = 2  # words: "how many double rooms"


def measures_another(answer: str, question: str, language: str | None) -> bool:
    """True for the number of an answer that measures something else than its question asks for, or is a time or an age
    where it asks for things or for a measure: "5%" and "at 3" for "How many?", "20 euros" for a weight or for pounds.
    """
    if answer.isalpha():
        return False
    asked_units, asked, counts = _asked_by(question)
    if counts and phrase_pattern("with me").search(normalise(answer)):
        return True  # the contact may count, or not
    if (counts or asked) and _follows("before a time", answer, question, language):
        return True
    if (counts or asked) and asked <= {"money", "share"} and _follows("before an age", answer, question, language):
        return True
    asked_kinds = _kinds_asked_for(question, language)
    asks_for_things = asked_kinds or (counts and asked_units)  # "how many nights" asks for no rooms
    if asks_for_things and (kinds := _counted_things(answer, language)) and kinds.isdisjoint(asked_kinds):
        return True
    units = _counted_units(answer, language)
    if not units or units & asked_units:
        return False
    same = _measures(units) & asked
    return any(MEASURES[each] & asked_units for each in same) if same else counts or bool(asked)


def numbered(answer: str, question: str, language: str | None) -> int | None:
    """The number that names the thing asked for: 3 for "floor 3", "the 3rd floor" and "3rd", if asked which floor.

    None if the answer says more.
    """
    things = _things_asked_for(question, language) if answer.count(" ") < _MOST_OF_NUMBERED else None
    if not things:
        return None

    def read(text: TokenizedText) -> int | None:
        tokens = text.tokens.tokens

        def piece_at(start: int) -> tuple[int, Decimal | None]:
            is_named = not things.isdisjoint(tokens[:start])  # not "2 floors"
            number = number_at(text.tokens, text.marks, start, text.words, True) if is_named else None
            if number is not None:
                return number[0], number[2]
            if tokens[start] in things:
                return start + 1, None
            end, place = place_at(text, start)
            return end, None if place is None else Decimal(place)

        found = only_value(text, piece_at)
        return None if found is None or found % 1 else int(found)

    return in_each_language(answer, language, read)


@lru_cache(maxsize=512)
def _things_asked_for(question: str, language: str | None) -> frozenset[str]:
    """The words beside "which", where a question asks for no count and no measure."""
    if any(_asked_by(question)):
        return frozenset()
    words = normalise(question).split()
    asking = [at for at, word in enumerate(words) if has_word(word, (Kind.ASKING,), language)]
    beside = {words[at] for which in asking for at in (which - 1, which + 1) if 0 <= at < len(words)}
    return frozenset(word for word in beside if len(word) >= _SHORTEST_THING)


@lru_cache(maxsize=512)
def _kinds_asked_for(question: str, language: str | None) -> frozenset[str]:
    """The kinds of things whose number a question asks for, or that it asks for by their number."""
    said, named = normalise(question), _things_asked_for(question, language)
    if counting := phrase_pattern("counting").search(said):
        behind = said[counting.end() :].split()[:_MOST_BEHIND_COUNTING]
        named = frozenset((*counting.group().split(), *behind))
    return frozenset(kind for word in named for kind in _kinds().get(word, ()))


def without_scale(answer: str, question: str, most: float | None, language: str | None) -> str:
    """A text without the end of the scale that its question or its variable has: "8" for "8 out of 10" and "8/10"."""
    value, _, end = _scale_end().sub(r"\1/\2", answer).rstrip(" .!").rpartition("/")
    read = read_number(end, language) if value else None
    scale = {most, *map(float, _FIGURES.findall(question))}
    return value if read is not None and float(read.value) in scale else answer


@cache
def _scale_end() -> re.Pattern[str]:
    """The pattern of "out of 10" at the end of a text, in any language, with the character before it."""
    between = "|".join(sorted(map(re.escape, all_phrases("out of")), key=len, reverse=True))
    return re.compile(rf"(\S)\s+(?:{between})\s+(\S+(?:\s[\s.!]*)?)$")


def without_counted(answer: str, question: str, language: str | None) -> str:
    """A text without an unknown word of the question right behind a number: "10" for "10 lessons"."""
    words = answer.split()
    asked = {singular(word) for word in normalise(question).split()} if len(words) > 1 else ()
    return " ".join(
        word
        for at, word in enumerate(words)
        if not at
        or singular(said := normalise(word)) not in asked
        or is_known(said, language)
        or not _is_number([words[at - 1]], language)
    )


def without_first_of(answer: str, question: str, language: str | None) -> str:
    """A text without the preposition with which the question begins, too: "yesterday" for "Since yesterday"."""
    first, _, rest = answer.strip().partition(" ")
    if not rest or normalise(first) not in normalise(question).split()[:1]:
        return answer
    is_preposition = has_word(first, (Kind.AGAINST, Kind.ROUGHLY), language)
    return rest if is_preposition and not has_word(first, (Kind.DENIAL, Kind.NO), language) else answer


@lru_cache(maxsize=512)
def _asked_by(question: str) -> tuple[frozenset[str], frozenset[str], bool]:
    """The units that a question names, the measures that it asks for, and whether it asks for a number of things."""
    said = normalise(question)
    units = _signs(question).union(unit for unit in _UNITS if phrase_pattern("measures", unit).search(said))
    asked = (each for each in ASKED if phrase_pattern("asked measures", each).search(said))
    return units, _measures(units).union(asked), phrase_pattern("counting").search(said) is not None


def _measures(units: frozenset[str]) -> frozenset[str]:
    return frozenset(measure for measure, known in MEASURES.items() if known & units)


def _counted_units(text: str, language: str | None) -> frozenset[str]:
    """The units right behind a number, in any language, and signs: not the night in "4 this night"."""
    said = normalise(_GLUED.sub(" ", text))
    return _signs(text).union(
        unit
        for unit in _UNITS
        for found in phrase_pattern("measures", unit).finditer(said)
        if _is_number(said[: found.start()].split()[-1:], language)
    )


def _counted_things(text: str, language: str | None) -> frozenset[str]:
    """The kinds of things right behind a number, in any language."""
    beside = pairwise(normalise(_GLUED.sub(" ", text)).split())
    return frozenset(
        kind
        for before, word in beside
        if word in _kinds() and _is_number([before], language)
        for kind in _kinds()[word]
    )


@cache
def _kinds() -> Mapping[str, frozenset[str]]:
    """The kinds of things of each word; some words are of several languages."""
    words = frozenset[str]().union(*(all_phrases("things", kind) for kind in COUNTED))
    return {word: frozenset(kind for kind in COUNTED if word in all_phrases("things", kind)) for word in words}


def _signs(text: str) -> frozenset[str]:
    return frozenset[str]().union(*(units for sign, units in _SIGNS.items() if sign in text))


def _is_number(word: list[str], language: str | None) -> bool:
    return bool(word) and read_number(word[0], language) is not None


def _follows(key: str, answer: str, question: str, language: str | None) -> bool:
    """True if a number follows a phrase right away that the question does not have: not "at what age?"."""
    said, asked = normalise(answer), normalise(question)
    for spoken in {without_country(language or ENGLISH), ENGLISH}.intersection(LANGUAGES):
        pattern = phrase_pattern(key, None, spoken)
        behind = (said[found.end() :].split()[:1] for found in pattern.finditer(said))
        if any(_is_number(word, language) for word in behind) and not pattern.search(asked):
            return True
    return False
