"""Compares texts that people write with titles, words and numbers of options (docs/language/conversations.md)."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import without_invisible

_DROPPED: dict[int, str | None] = dict.fromkeys(
    [
        *range(0x0300, 0x0370),  # accents of Latin, Greek and Cyrillic letters
        *range(0x0591, 0x05C8),  # Hebrew points
        *range(0x064B, 0x0660),  # Arabic vowel marks
        *range(0x1F3FB, 0x1F400),  # skin tones
        0x0640,  # what makes an Arabic word longer
        0x0670,  # a small alef
        0x093C,  # the dot below a letter of Hindi
        0x20E3,  # the frame of a keycap: 3️⃣
    ]
)
_AS_ANOTHER = {ord(letter): other for letter, other in zip("ıةىیکگ", "iهييكك", strict=True)}
"""Letters that people write for others: Turkish without its dots, Arabic endings, Persian forms."""
_WRITTEN_OUT = (
    {ord("№"): "#"}
    | {ord(power): f"^{place}" for place, power in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    | {place: f" {unicodedata.normalize('NFKD', chr(place))}" for place in (0xBC, 0xBD, 0xBE, *range(0x2150, 0x215F))}
)
_APOSTROPHES = dict.fromkeys(map(ord, "'’ʼ"))  # don't = dont
LONGEST = 256  # characters: no word, title or number of a choice is longer
LOOKED_AT = 4 * LONGEST  # characters of a longer text that are read
WHOLE, ANYWHERE, CLOSE = WAYS = ("whole", "anywhere", "close")
"""How a text may mean a phrase: it is the phrase, has it in it as whole words, or is like it but for slips."""
EXACT = "exact"
"""How a text means a choice only: it is the phrase as written, but for upper and lower case. No number counts."""
LIKE = 90.0  # of 100: how like a phrase a text is that has other spaces
FEWEST_LETTERS = 4  # of a word in which a slip is possible
FEWEST_AMONG_OTHERS = 6  # of one beside any other words


@immutable
class Option:
    """Something that can be chosen: its title and the words that mean it too."""

    title: str
    words: tuple[str, ...] = ()


_MINUS = "−"
_KEPT = frozenset(f"{_MINUS}<>≤≥")  # signs that make another number of one
_DASHES = lazy_pattern(r"(\d\s+|\w)?[-−–](?=(\d)?)")


def normalise(text: str) -> str:
    """Fold case, accents, punctuation and spaces.

    Letters, signs and digits of every script stay, and the minus of a number.

    A text of nothing but symbols (an emoji) stays itself, without its skin tone. A long text is cut (`LOOKED_AT`).
    """
    return _remembered(text) if len(text) <= LONGEST else _normalised(text[:LOOKED_AT])


def folded(text: str) -> str:
    """A text in small letters without accents and invisible characters, with the figures of every script as 0 to 9."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", without_invisible(text).translate(_WRITTEN_OUT))
    text = unicodedata.normalize("NFKD", text.casefold()).translate(_DROPPED).translate(_AS_ANOTHER)
    text = "".join([str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text])
    return unicodedata.normalize("NFC", text)


def _normalised(text: str) -> str:
    text = folded(text).translate(_APOSTROPHES)
    text = _DASHES.sub(lambda dash: _MINUS if dash[2] and not dash[1] else f"{dash[1] or ''} ", text)
    shown = "".join(char if unicodedata.category(char)[0] in "LNM" or char in _KEPT else " " for char in text)
    return " ".join(shown.split()) or " ".join(text.split())


_remembered = lru_cache(maxsize=4096)(_normalised)  # of short texts: a long one takes up to 40 KB


def match(text: str, options: Sequence[Option], how: str = WHOLE) -> int | None:
    """The option that a text means: by its title as written, normalised, or by its words.

    Where it means none of them as a whole, it may in a wider way: see `WAYS`.
    """
    if how == EXACT:
        return _as_written(text, options)
    if not text.strip():
        return None
    found = None if len(text) > LONGEST else _whole(text, options)
    if found is not None or how == WHOLE:
        return found
    phrases = [(phrase, index) for index, option in enumerate(options) for phrase in (option.title, *option.words)]
    wider = match_wider(text, [phrase for phrase, _ in phrases], how)
    return None if wider is None else phrases[wider][1]


def match_wider(text: str, phrases: Sequence[str], how: str) -> int | None:
    """The longest phrase that a text has in it, or the phrase that it comes closest to; the first of equal ones."""
    said, wanted = normalise(text), [normalise(phrase) for phrase in phrases]
    if how == CLOSE:
        return closest(said, wanted)
    return _best([len(phrase) if contains(said, phrase) else 0 for phrase in wanted])


def closest(said: str, phrases: Iterable[str], is_name: Callable[[str], bool] | None = None) -> int | None:
    """The phrase that a text comes closest to; the first of equal ones. All are normalised already.

    ``is_name`` tells whether a word is the name of something, and so no slip.
    """
    phrases = list(phrases)
    known = frozenset(word for phrase in phrases for word in phrase.split())
    best = _best([_close(said, phrase, known) for phrase in phrases])
    if best is None or is_name is None:
        return best
    wanted = set(phrases[best].split())
    return None if any(is_name(word) for word in said.split() if word not in wanted) else best


def _best(ranks: Sequence[float]) -> int | None:
    best = max(ranks, default=0.0)
    return ranks.index(best) if best > 0 else None


def _as_written(text: str, options: Sequence[Option]) -> int | None:
    wanted = text.strip().casefold()
    written = ((index, phrase) for index, option in enumerate(options) for phrase in (option.title, *option.words))
    return next((index for index, phrase in written if phrase.strip().casefold() == wanted), None)


def _whole(text: str, options: Sequence[Option]) -> int | None:
    written = text.strip()
    for index, option in enumerate(options):
        if option.title == written:
            return index
    wanted = normalise(text)
    for index, option in enumerate(options):
        if normalise(option.title) == wanted:
            return index
    for index, option in enumerate(options):
        if any(normalise(word) == wanted for word in option.words):
            return index
    return None


def by_number(wanted: str, count: int) -> int | None:
    """``2`` is the second of so many options."""
    number = int(wanted) if wanted.isdecimal() and len(wanted) <= 3 else 0
    return number - 1 if 1 <= number <= count else None


def contains(said: str, phrase: str) -> bool:
    """True if a text contains a phrase as whole words, or its plural: "flat whites". Both are normalised already."""
    if not phrase or not is_spaced(said):
        return bool(phrase) and _as_words(phrase).search(said) is not None
    text = f" {said} "
    if f" {phrase} " in text:
        return True
    return has_plural(phrase) and (f" {phrase}s " in text or f" {phrase}es " in text)


_UNSPACED = lazy_pattern(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|[^\w\s]")
"""A letter of a script without spaces between words, or a sign: there, Unicode's rules say where a word ends."""


def is_spaced(text: str) -> bool:
    """True if spaces alone stand between the words of a text."""
    return _UNSPACED.search(text) is None


def has_plural(phrase: str) -> bool:
    """True if a phrase ends with a word of three letters or more that may get an -s."""
    return phrase[-3:].isalpha() and phrase.isascii() and not phrase.endswith("s")


def singular(word: str) -> str:
    """A word without the -s of several; without it, the word."""
    return word[:-1] if len(word) > FEWEST_LETTERS - 1 and word.isascii() and word.endswith("s") else word


@lru_cache(maxsize=4096)
def _as_words(phrase: str) -> Any:
    """Word boundaries are Unicode's: scripts that put no spaces between words have them too."""
    import regex  # 20 ms, which are spent where such words are read

    return regex.compile(rf"\b{regex.escape(phrase)}\b", flags=regex.WORD)


def quoted(phrase: str, text: str) -> str | None:
    """The whole words of a text that a phrase repeats, whatever its spaces and capitals; None if they are not there.

    ``quoted("happy  birthday", "Happy birthday, Tom!")  -> "Happy birthday"``
    """
    import regex  # 20 ms, which are spent where such words are read

    words = phrase.split()
    if not words:
        return None
    first, last = (r"\b" if edge.isalnum() else "" for edge in (words[0][0], words[-1][-1]))
    repeated = first + r"\s+".join(map(regex.escape, words)) + last
    found = regex.search(repeated, text, flags=regex.WORD | regex.IGNORECASE)
    return None if found is None else str(found.group())


def _close(said: str, phrase: str, known: frozenset[str]) -> float:
    """The similarity of a text to a phrase, up to 100; 0 if it is not enough.

    Word by word, with a slip in each at most: no word comes or goes, for it could be a "not". A word of another phrase
    is no slip (``known``), nor is one in the first letter (``unable`` is not ``able``) or in a digit.
    """
    words, wanted = said.split(), phrase.split()
    if len(words) != len(wanted):
        together = said.replace(" ", "")
        return LIKE if len(together) >= FEWEST_LETTERS and together == phrase.replace(" ", "") else 0
    slips = 0
    for word, other in zip(words, wanted, strict=True):
        if word != other:
            slips += 1
            if word in known or not is_slip(word, other):
                return 0
    return 100 - slips


def slipped(said: str, phrases: Sequence[str]) -> tuple[int, str] | None:
    """The only long word among the phrases that a word of a text comes close to, and that word: "coffe", "tabel"."""
    words = [word for word in said.split() if len(word) >= FEWEST_AMONG_OTHERS - 1]
    found = [
        (place, word)
        for place, phrase in enumerate(phrases)
        if len(phrase) >= FEWEST_AMONG_OTHERS - 1 and " " not in phrase
        for word in words
        if is_slip(word, phrase) and _is_long_enough(word, phrase)
    ]
    return found[0] if len({place for place, _ in found}) == 1 else None


def _is_long_enough(word: str, phrase: str) -> bool:
    return len(phrase) >= FEWEST_AMONG_OTHERS or sorted(word) == sorted(phrase)


def load_slips() -> None:
    """Load what finds slips: its 20 ms are spent when a bot is read that compares words, and in no turn."""
    import rapidfuzz.distance
    import rapidfuzz.process  # noqa: F401


def is_slip(word: str, other: str) -> bool:
    """True if a word is another one but for a letter that is missing, is too much, is wrong, or has changed places."""
    from rapidfuzz.distance import OSA  # loaded by `bot.language.keys.patterns` before the first turn that needs it

    if len(other) < FEWEST_LETTERS or word[0] != other[0] or not (word.isalpha() and other.isalpha()):
        return False
    return int(OSA.distance(word, other, score_cutoff=1)) == 1


def slips_of(word: str, others: Sequence[str]) -> list[str]:
    """The words among others that somebody may have meant by a word: see `is_slip`."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    near = process.extract_iter(word, others, scorer=OSA.distance, score_cutoff=1) if others else ()
    return [other for other, _, _ in near if is_slip(word, other)]
