"""How like a message is to what flows are about: by the words that it shares with their examples, without a model."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from bot.core.immutable import immutable
from bot.language.answers.stems import filling, stems
from bot.language.answers.titles import has_word
from bot.language.answers.words import Kind, words_of
from bot.language.source.languages import ENGLISH, without_country
from bot.language.source.word_matching import is_slip, normalise

FEWEST_LETTERS = 3  # of a word that counts
MOST_WORDS = 40  # of a message that are looked at
UNSURE = 60  # per cent, at most, by one word among others, or beside a word such as "not"


@immutable
class Subject:
    """The subject of messages that start a flow: a description, and messages of this kind."""

    flow: str
    about: str
    examples: tuple[str, ...] = ()


def likeness(text: str, subjects: Iterable[Subject], language: str | None) -> dict[str, int]:
    """How sure it is, in per cent, that a text is about each of these subjects; those without a common word are left
    out.
    """
    said = _content(text, language)
    if not said or len(text.split()) > MOST_WORDS:
        return {}
    denied = has_word(text, (Kind.AGAINST,), language)
    found = {}
    for subject in subjects:
        sure = max(
            _like_subject(said, subject.about, language), *(_like(said, each, language) for each in subject.examples), 0
        )
        if sure:
            found[subject.flow] = min(sure, UNSURE) if denied else sure
    return found


def _like(said: Sequence[str], example: str, language: str | None) -> int:
    """A text is like an example if it has its words, and not many others."""
    wanted = _content(example, language)
    common = _common(said, wanted)
    if not common:
        return 0
    sure = round(50 * common / len(said) + 50 * common / len(wanted))
    return min(sure, UNSURE) if common == 1 and len(said) + len(wanted) > 2 else sure


def _like_subject(said: Sequence[str], about: str, language: str | None) -> int:
    """A text is like the description of a subject if that has its words."""
    wanted = _content(about, language)
    common = _common(said, wanted)
    if not common:
        return 0
    sure = round(75 * common / len(said) + 25 * common / len(wanted))
    return min(sure, UNSURE) if common == 1 else sure


def _common(said: Sequence[str], wanted: Sequence[str]) -> int:
    return sum(any(word == other or is_slip(word, other) for other in wanted) for word in said)


@lru_cache(maxsize=1024)
def _content(text: str, language: str | None) -> tuple[str, ...]:
    """The words of a text that count, each once, without their endings."""
    spoken = without_country(language or ENGLISH)
    filling = _filling(spoken)
    words = (word for word in normalise(text).split() if len(word) >= FEWEST_LETTERS and word not in filling)
    return tuple(dict.fromkeys(stems(word, spoken)[0] for word in words))


@lru_cache(maxsize=64)
def _filling(language: str) -> frozenset[str]:
    """The words that do not count; greetings and thanks are among them, and English words in every language."""
    own = filling(language) | filling(ENGLISH)
    greetings = {phrase[0] for found in words_of(language).phrases.values() for phrase, kind, _ in found
                 if len(phrase) == 1 and kind in (Kind.YES, Kind.NO)}  # fmt: skip
    return own | greetings
