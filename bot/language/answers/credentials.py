"""PINs, passwords, card numbers and one-time codes: which of them a text asks the contact for.

The phrases are data (`bot.language.answers.phrases`). All languages are heard in every bot.
"""

from collections.abc import Iterator

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.phrases import LANGUAGES, phrase_pattern
from bot.language.source.word_matching import LONGEST, normalise

CREDENTIALS = ("pin", "password", "card", "code")

_SENTENCE = lazy_pattern(r"(?<=[.!?;؟؛।…])\s+|(?:(?<![:,\s])|(?<=[:,]\s))\s*\n+\s*(?![-*•·\d])")
_COMMA = lazy_pattern(r"[,،:()–—]|\s-\s")
_QUESTION = lazy_pattern(r"[?؟]\s*\Z")
_SINGLE = lazy_pattern(r"\b(?:[a-z] ){2,}[a-z]\b")  # P I N


def asked_credentials(text: str) -> frozenset[str]:
    """The kinds of credentials that a text asks the contact for: ``"Tell me your PIN."  -> {"pin"}``.

    "We never ask for your PIN" and "enter your PIN in the app" ask for none.
    """
    found = frozenset[str]()
    for sentence in _SENTENCE.split(text):
        for start in range(0, len(sentence), LONGEST):
            piece = sentence[start : start + 2 * LONGEST]  # what stands at the end of a piece is in the next one, too
            clauses = (piece, *_clauses(piece)) if credentials_in(piece) else ()
            found |= frozenset(kind for clause in clauses for kind in credentials_in(clause) if _asks_in(clause))
    return found


def credentials_in(text: str) -> frozenset[str]:
    """The kinds of credentials that a text names: ``"the PIN of the card"  -> {"pin"}``."""
    plain = phrase_pattern("no credentials").sub(" ", _plain(text))
    return frozenset(kind for kind in CREDENTIALS if phrase_pattern("credentials", kind).search(plain))


def _asks_in(clause: str) -> bool:
    """True if a clause that names a credential asks for it."""
    plain = _plain(clause)
    languages = [each for each in LANGUAGES if not phrase_pattern("never", language=each).search(plain)]
    if any(phrase_pattern("asking", language=language).search(plain) for language in languages):
        return True
    is_elsewhere = phrase_pattern("elsewhere").search(plain) is not None
    if not is_elsewhere and any(phrase_pattern("entering", language=language).search(plain) for language in languages):
        return True
    return _is_bare(plain) and bool(_QUESTION.search(clause) or phrase_pattern("please").search(plain))


def _is_bare(plain: str) -> bool:
    """True if nothing but the credential's name stands there: "and your PIN, please"."""
    names = (phrase_pattern("credentials", kind) for kind in CREDENTIALS)
    for pattern in (*names, phrase_pattern("beside a name"), phrase_pattern("please")):
        plain = pattern.sub(" ", plain)
    return not plain.strip()


def _clauses(sentence: str) -> Iterator[str]:
    """The clauses of a sentence. A word alone belongs to what follows: "Never, ever, share it"."""
    before = ""
    for piece in _COMMA.split(sentence):
        before = f"{before} {piece}".strip()
        if len(piece.split()) > 1:
            yield from phrase_pattern("breaks").split(_plain(before))
            before = ""
    if before:
        yield before


def _plain(text: str) -> str:
    words = normalise(text)
    return _SINGLE.sub(lambda letters: letters[0].replace(" ", ""), words)
