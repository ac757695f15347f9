"""Findings: what the checker says of a bot, where, what to do, and the talk that leads there."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.lang.nodes import Mark

if TYPE_CHECKING:
    from bot.checker.graph import Edge

RULES: dict[str, str] = {
    # W0: comments
    "W001": "an allowance that allows nothing",
    "W002": "an allowance without a reason",
    "W003": "a comment that may be a part of the text before it",
    # W1: steps and ends
    "W101": "a step that nobody reaches",
    "W102": "a conversation that never ends",
    # W3: data
    "W301": "a variable that is read before it is set",
    "W302": "a condition that is always true",
    "W303": "a condition that is never true",
    "W304": "a choice that no option gives",
    "W305": "a value that never fits",
    "W306": "an exit that may be shut",
    "W307": "a value that goes into a flow which never reads it",
    "W308": "a variable that another flow has, and this one was not given",
    # W4: limits
    "W401": "a text that may be longer than the gateway takes",
    "W402": "too many choices, or too few",
    "W403": "choices that may read the same",
    "W404": "a text that may be empty where one is needed",
    # W5: the window
    "W501": "a message after the 24 hours",
    # W6: load
    "W601": "more messages in one turn than a minute allows",
    # W7: words
    "W701": "choices that look alike",
    "W702": "a word that takes an answer",
    # W8: translations
    "W801": "texts that are not translated",
    "W802": "a translation of what the flow does not say any more",
    "W803": "a translation that shows other values",
    # W9: models
    "W901": "a model's failure that says nothing",
    "W902": "a tool that changes something and asks nobody",
}
"""Every rule by its code, in a few words; the page in docs/checks says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that would go wrong, and what to do about it.

    ``story`` are the edges that lead there from a beginning, where there is one: what `bot.checker.counterexamples.counterexample` tells as a
    talk. Two findings are the same where all but that is.
    """

    path: str
    line: int
    column: int
    code: str
    what: str
    fix: str
    story: tuple["Edge", ...] = field(default=(), compare=False)

    @classmethod
    def at(cls, code: str, mark: Mark, what: str, fix: str, story: tuple["Edge", ...] = ()) -> "Finding":
        """A finding at a mark. Raises `KeyError` for a code that is not in `RULES`."""
        RULES[code]
        return cls(mark.path, mark.line, mark.column, code, what, fix, story)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.what} ({self.fix})"
