"""Two texts side by side, in two columns of a terminal."""

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from bot.core.immutable import immutable

Paint = Callable[[str, str], str]
"""A function that gives a text a colour."""

NARROWEST = 20  # characters of a column


@immutable
class ComparedRow:
    """A row: the left text, and the right one."""

    left: str
    right: str
    differs: bool


def beside(rows: Sequence[ComparedRow], heads: tuple[str, str], paint: Paint, width: int) -> Iterator[str]:
    """Two columns below their headings, with a mark between them where they differ."""
    half = max(NARROWEST, min((width - 5) // 2, max(len(line) for row in rows for line in _lines_of(row))))
    yield f"{heads[0]:{half}}   {heads[1]}"
    for row in rows:
        left, right = _wrapped(row.left, half), _wrapped(row.right, half)
        for number, (one, other) in enumerate(zip_longest(left, right, fillvalue="")):
            between = "≠" if row.differs and number == 0 else " " if row.differs else "|"
            one = f"{one:{half}}"
            if row.differs:
                one, other = paint(one, "green"), paint(other, "red") if other else ""
            yield f"{one} {between} {other}".rstrip()


def _lines_of(row: ComparedRow) -> list[str]:
    return [*row.left.split("\n"), *row.right.split("\n")]


def _wrapped(text: str, width: int) -> list[str]:
    return [part for line in text.split("\n") for part in wrap(line, width, replace_whitespace=False) or [""]]
