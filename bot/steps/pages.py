"""Dividing what a list cannot show at once into pages."""

from collections import Counter
from collections.abc import Sequence

from bot.core import messages as limits
from bot.steps.choices import Shown

ROWS = limits.ROWS_PER_SECTION  # of one page, the ones that lead to other pages among them


def pages_of(shown: Sequence[Shown], more_rows: int = 0) -> list[tuple[Shown, ...]]:
    """The choices of each page: all on one, where the gateway takes as many rows in as many sections.

    Pinned ones are on every page. ``more_rows`` is how many rows each page has beside its choices.
    """
    if _fits(shown, more_rows):
        return [tuple(shown)]
    pinned = tuple(choice for choice in shown if choice.pinned)
    others = [choice for choice in shown if not choice.pinned]
    room = ROWS - len(pinned) - more_rows
    pages: list[tuple[Shown, ...]] = []
    while others:
        size = room - (1 if pages else 0)  # the row that leads back
        if len(others) > size:
            size -= 1  # the row that leads on
        pages.append((*others[:size], *pinned))
        others = others[size:]
    return pages


def _fits(shown: Sequence[Shown], more_rows: int) -> bool:
    rows = Counter(choice.section for choice in shown)
    if more_rows:
        rows[""] += more_rows
    return len(rows) <= limits.SECTIONS and max(rows.values()) <= limits.ROWS_PER_SECTION
