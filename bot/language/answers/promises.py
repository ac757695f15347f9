"""Words by which a text promises something, in twelve languages: "You get a refund", "The delivery is free"."""

from collections.abc import Iterator

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.phrases import phrase_pattern
from bot.language.source.word_matching import normalise

PROMISES = ("refund", "guarantee", "free", "discount", "compensation")

_SENTENCE = lazy_pattern(r"(?<=[.!?;؟؛।…])\s+|\n+|[,،:()–—]|\s-\s")


def promises_in(text: str) -> dict[str, str]:
    """The kinds of promises in a text, each with its words: ``"You get a refund."  -> {"refund": "refund"}``.

    "There is no refund" promises nothing.
    """
    found: dict[str, str] = {}
    for clause in _clauses(text):
        plain = phrase_pattern("no promises").sub(" ", clause)
        said = {kind: match[0] for kind in PROMISES if (match := phrase_pattern("promises", kind).search(plain))}
        if said and not _is_denied(plain):
            found = {**said, **found}
    return found


def _clauses(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        for part in phrase_pattern("breaks").split(normalise(sentence)):
            yield from phrase_pattern("conditions").split(part)


def _is_denied(clause: str) -> bool:
    """True if a clause has a word against it, apart from those of the promise itself: "at no cost"."""
    promises = (phrase_pattern("promises", kind) for kind in PROMISES)
    for pattern in (*promises, phrase_pattern("calming")):
        clause = pattern.sub(" ", clause)
    return phrase_pattern("never").search(clause) is not None
