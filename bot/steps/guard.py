"""What a model's text must pass before it is sent: none of its instructions, no limit broken (addresses: `links`)."""

import re
import unicodedata
from collections.abc import Iterator

from bot.core.messages import TEXT_BODY, Text
from bot.core.text import without_invisible
from bot.steps.links import UNSPACED

LEAK = 8  # words in a row that are the instructions' own; twice as many letters of a script without spaces
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")


def leaks(text: str, instructions: str) -> bool:
    """Whether a text repeats the instructions: so many of their words in a row."""
    secret = _words(instructions)
    long = 2 * LEAK if 2 * sum(map(_is_unspaced, secret)) > len(secret) else LEAK
    size = min(long, len(secret))
    if size < long // 2:
        return False
    runs = {tuple(secret[start : start + size]) for start in range(len(secret) - size + 1)}
    words = _words(text)
    return any(tuple(words[start : start + size]) in runs for start in range(len(words) - size + 1))


def messages_of(text: str, most: int) -> tuple[Text, ...]:
    """A text as messages, one a paragraph, ``most`` of them unless the gateway's limit makes it more."""
    paragraphs = [paragraph.strip() for paragraph in _BLANK.split(text.strip()) if paragraph.strip()]
    kept = paragraphs[: most - 1]
    if rest := paragraphs[most - 1 :]:
        kept.append("\n\n".join(rest))
    return tuple(Text(piece) for paragraph in kept for piece in _pieces(paragraph))


def _words(text: str) -> list[str]:
    """The words as they are read, whatever stands in or between them; each letter of a script without spaces is one."""
    plain = unicodedata.normalize("NFKD", without_invisible(text)).casefold()
    return _WORD.findall(_BEYOND_ASCII.sub(lambda found: "" if unicodedata.combining(found[0]) else found[0], plain))


def _is_unspaced(word: str) -> bool:
    return _UNSPACED.match(word) is not None


def _pieces(text: str) -> Iterator[str]:
    while len(text) > TEXT_BODY:
        head = text[:TEXT_BODY]
        cut = max(head.rfind(end) + len(end) for end in ("\n", ". ", "! ", "? "))
        if cut < TEXT_BODY // 2:
            cut = max(head.rfind(" ") + 1, TEXT_BODY // 2)
        yield text[:cut].rstrip()
        text = text[cut:].lstrip()
    yield text
