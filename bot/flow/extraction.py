"""A locale's file as it should be: everything there is to say, in the order of the flows, with what is said already."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bot.flow.locales import TITLE, WORDS, Locale
from bot.flow.originals import HEAD, WAS, Originals, original_of
from bot.lang.nodes import plain
from bot.lang.shapes import Part, Path, Spot
from bot.lang.writing import INDENT, block_style

_HEAD = f"""\
{HEAD} {{language}}. Beside each text stands the original; what is left empty is said as that.
# `bot locales extract {{language}}` adds what is new and keeps what is here, but for comments.
"""
_GONE = "# No longer in the flows:"
_NONE = Originals()


@dataclass(slots=True)
class _Branch:
    """What stands under a key: further keys, or a value, which may be missing still."""

    below: dict[str, "_Branch"] = field(default_factory=dict)
    value: Any = None
    original: tuple[str, ...] = ()


def extracted(spots: Iterable[Spot], locale: Locale, before: str = "", noted: Originals = _NONE) -> str:
    """The text of the file. ``before`` is the one that is there: what it kept as a comment is kept on, and so are the
    originals that it has ``noted``, where they are others now.
    """
    shown = [spot for spot in spots if _is_shown(spot, locale)]
    above = {spot.path[:length] for spot in shown for length in range(1, len(spot.path))}
    root = _Branch()
    for spot in shown:
        for path, value in _values(spot, locale, has_more=spot.path in above):
            branch = root
            for key in path:
                branch = branch.below.setdefault(key, _Branch())
            branch.value = value
            if not spot.on_key:
                was = noted.outdated(spot) if value is not None else ()
                branch.original = (*original_of(spot), *(f"{WAS} {line}" for line in was))
    gone = [line for line in before.partition(_GONE)[2].splitlines() if line.startswith("#")]
    gone += [f"# {line}" for path, value in locale.unknown for line in block_style(".".join(path), plain(value))]
    lines = [*_lines(root), *([_GONE, *gone] if gone else [])]
    return _HEAD.format(language=locale.language) + "".join(f"{line}\n" for line in lines)


def _is_shown(spot: Spot, locale: Locale) -> bool:
    hears = spot.part in (Part.WORD, Part.WORDS)
    return spot.needed or hears or spot.path in locale.texts or spot.path in locale.words


def _values(spot: Spot, locale: Locale, *, has_more: bool) -> Iterator[tuple[Path, Any]]:
    """Where something is said of a spot, and what; beside further keys it has a key of its own."""
    words = [word.text for word in locale.words.get(spot.path, ())]
    heard = words or None
    written = locale.texts.get(spot.path)
    text = None if written is None else plain(written)
    match spot.part:
        case Part.WORD:
            yield ((*spot.path, WORDS) if has_more else spot.path), heard
        case Part.WORDS:
            yield spot.path, heard
        case Part.HEADING:
            yield (*spot.path, TITLE), text
        case Part.TITLE if has_more or words:
            yield (*spot.path, TITLE), text
            if words:
                yield (*spot.path, WORDS), heard
        case _:
            yield spot.path, text


def _lines(branch: _Branch, depth: int = 0) -> Iterator[str]:
    margin = INDENT * depth
    for key, below in branch.below.items():
        if below.below:
            yield from (f"{margin}{line}" for line in block_style(key, None))
            yield from _lines(below, depth + 1)
        else:
            yield from (f"{margin}# {line}".rstrip() for line in below.original)
            yield from (f"{margin}{line}" for line in block_style(key, below.value))
