"""The rows of a commit that has not been written yet."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bot.core.values import time_text

Row = tuple[Any, ...]
Rows = Mapping[str, list[Row]]
"""Rows by the statement that writes them."""


class CommitRows:
    """The rows that all parts of a commit share, by statement. ``at`` is the time of the commit."""

    def __init__(self, at: datetime) -> None:
        self.at = time_text(at)
        self.added = defaultdict[str, list[Row]](list)

    def add(self, statement: str, row: Row) -> None:
        """Add a row. Rows of one statement are written in the order in which they were added."""
        self.added[statement].append(row)
