"""Denials in a sentence: "no onions" names onions, and does not ask for them."""

from collections.abc import Iterator, Sequence

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.phrases import all_phrases
from bot.language.answers.sentences import denials_in, is_denied, place_of, words_in
from bot.language.answers.titles import has_word, is_phrase
from bot.language.answers.words import Kind
from bot.language.source.languages import ENGLISH, without_country
from bot.language.source.word_matching import normalise, singular

_BEHIND = ("hi", "tr")  # there, "not" stands behind what it denies
_ANSWERS = frozenset({
    "i", "im", "id", "ill", "it", "its", "he", "she", "we", "were", "well", "you", "they", "this", "that", "the", "a", "an",
    "my", "our", "make", "please", "thanks", "sorry", "actually", "wait",
})  # fmt: skip
"""Words before which "no" is an answer by itself: "no make it two"."""
_ENDS = (",", ".", ";", ":", "!", "?", "،", "؛", "؟", "।", "。", "，", "\n")


def affirmed(text: str, language: str | None) -> str:
    """The text without what it denies: ``affirmed("Two teas and no sugar, thanks", "en")  -> Two teas and thanks``.

    A "not" denies what follows in its clause, or all of the clause where it stands at the end.
    """
    return " ".join(word for clause in _clauses(words_in(text)) for word in _affirmed(clause, language))


def is_negated(text: str, phrase: str, language: str | None) -> bool:
    """True if a "not" stands before a phrase, apart from harmless words: "I don't want to order", not "all cold"."""
    words = words_in(text)
    span = place_of(phrase, words)
    is_behind = span is not None and any(place < span[0] for place in _denials(words, language))
    return is_behind and is_denied(text, phrase, language)


def denies(text: str, language: str | None) -> bool:
    """True if a text has a "not"."""
    return bool(_denials(words_in(text), language))


def denies_asked(text: str, question: str, language: str | None) -> bool:
    """True for a "not" before words of what is asked: "no refund" for "Would you like a refund?"."""
    asked = _ASKED.findall(question)
    words = normalise(text).split()
    if (
        len(asked) != 1
        or "?" in text
        or not 1 < len(words) <= _MOST_OF_DENIAL
        or not has_word(words[0], (Kind.DENIAL, Kind.NO), language)
    ):
        return False
    said = {singular(word) for word in normalise(asked[0]).split()}
    named = [word for word in words[1:] if singular(word) in said and len(word) >= _SHORTEST_THING]
    is_plain = not has_word(asked[0], (Kind.OR, Kind.DENIAL), language)
    rest = (word for word in words[1:] if singular(word) not in said)
    return bool(named) and is_plain and all(is_phrase(word, (Kind.HARMLESS,), language) for word in rest)


_ASKED = lazy_pattern(r"(?<![^.!?¿\n])[^.!?¿\n]+\?")
_MOST_OF_DENIAL = 4  # words
_SHORTEST_THING = 4  # letters


def _affirmed(clause: Sequence[str], language: str | None) -> Sequence[str]:
    for place in _denials(clause, language):
        behind = place + 1 == len(clause) or _code(language) in _BEHIND
        return () if behind else clause[:place]
    return clause


def _denials(words: Sequence[str], language: str | None) -> list[int]:
    return [place for place in denials_in(words, language) if not _is_answer(words, place)]


def _is_answer(words: Sequence[str], place: int) -> bool:
    """True for a "no" that is an answer by itself, or short for "number"."""
    following = words[place + 1] if normalise(words[place]) == "no" and place + 1 < len(words) else ""
    is_number = any(map(str.isdigit, following))  # "order no 17"
    return is_number or normalise(following) in _ANSWERS


def _code(language: str | None) -> str:
    return without_country(language or ENGLISH)


def _clauses(words: Sequence[str]) -> Iterator[Sequence[str]]:
    clause: list[str] = []
    for word in words:
        if normalise(word) in all_phrases("breaks"):
            yield clause
            clause = []
        clause.append(word)
        if word.endswith(_ENDS):
            yield clause
            clause = []
    yield clause
