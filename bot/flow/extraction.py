"""`bot locales extract`: a locale's file with every text of the flows, in their order, and the translations that there are."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.core.immutable import immutable
from bot.flow.translations import TITLE, WORDS, Locale
from bot.keys.text_shapes import Part, Path, Spot, texts_of
from bot.lang.problems import Mark
from bot.lang.source import Map, comments, plain
from bot.lang.writing import INDENT, block_style

HEAD = "# What the bot says in"
"""How a file begins that notes the originals: in one that somebody began by hand a comment may be anything."""
WAS = "was:"
"""What stands before an original that the flow does not say any more, although its translation does."""
_HEAD = f"""\
{HEAD} {{language}}. Beside each text stands the original; what is left empty is said as that.
# `bot locales extract {{language}}` adds what is new and keeps what is here, but for comments.
"""
_GONE = "# No longer in the flows:"


@immutable
class Originals:
    """The comments above the keys of a locale, and where these stand."""

    lines: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    marks: Mapping[Path, Mark] = field(default_factory=dict)

    @classmethod
    def of(cls, locale: Map, text: str) -> "Originals":
        """Those of a file, from its tree and its text; none where it does not begin as `bot locales extract` writes it."""
        if not text.startswith(HEAD):
            return cls()
        alone = {found.mark.line: found.text for found in comments(locale.mark.path, text) if found.alone}
        marks = dict(_keys(locale, ()))
        lines = {path: tuple(_above(mark.line, alone)) for path, mark in marks.items()}
        return cls(lines, marks)

    def outdated(self, spot: Spot) -> tuple[str, ...]:
        """The lines of the original that was translated, where that is not what the flow says; else none."""
        noted = self.lines.get(spot.path, ())
        if spot.on_key or spot.part is Part.WORDS or not noted:
            return ()
        was = tuple(line.removeprefix(WAS).strip() for line in noted if line.startswith(WAS))
        now = original_of(spot)
        starts = range(len(noted) - len(now) + 1)
        same = any(noted[start : start + len(now)] == now for start in starts)
        return was or (() if same else noted)


_NONE = Originals()


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


@dataclass(slots=True)
class _Branch:
    """What stands under a key: further keys, or a value, which may be missing still."""

    below: dict[str, "_Branch"] = field(default_factory=dict)
    value: Any = None
    original: tuple[str, ...] = ()


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


# -- what the file notes of the texts that it translates: the original, as a comment above each -----


def original_of(spot: Spot) -> tuple[str, ...]:
    """The lines of what is written in the flow."""
    between = ", " if spot.part is Part.WORDS else "\n"
    return tuple(line.rstrip() for line in between.join(texts_of(spot.node)).splitlines())


def _keys(node: Map, path: Path) -> Iterator[tuple[Path, Mark]]:
    for key, value in node.entries:
        here = (*path, key.text)
        yield here, key.mark
        if isinstance(value, Map):
            yield from _keys(value, here)


def _above(line: int, alone: Mapping[int, str]) -> list[str]:
    """The comments right above a line, from the top."""
    found: list[str] = []
    while (line := line - 1) in alone:
        found.append(alone[line].removeprefix("#").strip())
    return found[::-1]
