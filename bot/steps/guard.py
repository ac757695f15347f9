"""What a model's text must pass: no secret, not its instructions, no limit broken (addresses: `links`)."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate

from bot.core.messages import TEXT_BODY, TextMessage
from bot.core.text import in_letters, without_invisible
from bot.steps.links import UNSPACED

RUN = 5  # words that stand together: a run
FEWEST = 40  # words: of shorter instructions no share is taken
LONG = 8  # letters and digits: a secret of so many is found within longer words, too
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
_ALIKE = str.maketrans("авекмнорстухіјѕԁԛԝαεικνορτυχıł", "abekmhopctyxijsdqwaeiknoptuxil")


def leaks(text: str, instructions: str) -> bool:
    """Whether a text has half of the instructions in it, by their runs of five words.

    A letter of a script without spaces is a word. Instructions of less than 40 words are no secret as a whole.
    """
    runs = _runs(instructions)
    return len(runs) > FEWEST - RUN and 2 * len(runs & _runs(text)) >= len(runs)


def secret_in(text: str, secrets: Sequence[str]) -> int | None:
    """Which of some secrets stands in a text, however it is written, spaced or marked. None: none does."""
    words = _words(text)
    starts = list(accumulate(map(len, words), initial=0))
    joined, bounds = "".join(words), frozenset(starts)
    for number, secret in enumerate(secrets):
        letters = "".join(_words(secret))
        if letters and any(
            len(letters) >= LONG or bounds >= {start, start + len(letters)} for start in _all_of(letters, joined)
        ):
            return number
    return None


def has_letters(text: str) -> bool:
    """Whether there are two letters or digits at least to compare a secret by."""
    return sum(map(len, _words(text))) > 1


def canary(flow: str, step: str) -> str:
    """The mark that stands among a step's rules: where it is said, the rules are."""
    return in_letters(sha256(f"{flow}/{step}".encode()).hexdigest())


def messages_of(text: str, most: int) -> tuple[TextMessage, ...]:
    """A text as messages, one a paragraph, ``most`` of them unless the gateway's limit makes it more."""
    paragraphs = [paragraph.strip() for paragraph in _BLANK.split(text.strip()) if paragraph.strip()]
    kept = paragraphs[: most - 1]
    if rest := paragraphs[most - 1 :]:
        kept.append("\n\n".join(rest))
    return tuple(TextMessage(piece) for paragraph in kept for piece in _pieces(paragraph))


def _words(text: str) -> list[str]:
    """The words as they are read, whatever stands in or between them; each letter of a script without spaces is one."""
    plain = unicodedata.normalize("NFKD", without_invisible(text)).casefold()
    return _WORD.findall(_BEYOND_ASCII.sub(_plain, plain).translate(_ALIKE))


def _plain(found: re.Match[str]) -> str:
    """A character without its accent; a digit of any script as ours."""
    char = found[0]
    return "" if unicodedata.combining(char) else str(unicodedata.decimal(char, char))


@lru_cache(maxsize=64)
def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = _words(text)
    return frozenset(tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1))


def _all_of(part: str, text: str) -> Iterator[int]:
    """Where a part begins in a text, overlapping ones too."""
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + 1)


def _pieces(text: str) -> Iterator[str]:
    while len(text) > TEXT_BODY:
        head = text[:TEXT_BODY]
        cut = max(head.rfind(end) + len(end) for end in ("\n", ". ", "! ", "? "))
        if cut < TEXT_BODY // 2:
            cut = max(head.rfind(" ") + 1, TEXT_BODY // 2)
        yield text[:cut].rstrip()
        text = text[cut:].lstrip()
    yield text
