"""What a locale's file notes of the texts that it translates: the original, as a comment above each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bot.lang.comments import comments
from bot.lang.nodes import Map, Mark
from bot.lang.shapes import Part, Path, Spot, texts_of

HEAD = "# What the bot says in"
"""How a file begins that notes the originals: in one that somebody began by hand a comment may be anything."""
WAS = "was:"
"""What stands before an original that the flow does not say any more, although its translation does."""


def original_of(spot: Spot) -> tuple[str, ...]:
    """The lines of what is written in the flow."""
    between = ", " if spot.part is Part.WORDS else "\n"
    return tuple(line.rstrip() for line in between.join(texts_of(spot.node)).splitlines())


@dataclass(frozen=True, slots=True)
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
