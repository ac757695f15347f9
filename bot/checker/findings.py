"""Findings: faults of a bot, each with its place, its fix and a route of a conversation to it; and `rule`, which
declares a rule.
"""

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from bot.core.immutable import immutable
from bot.language.source.problems import Mark, Problem

if TYPE_CHECKING:
    from bot.checker.graph import Edge, Graph

TITLES: dict[str, str] = {}
"""The title of each code, as the files in `bot.checker.rules` declare it. The page in docs/checks says more."""
RULES: "list[Rule]" = []
"""All rules. `bot.checker.rules` loads the files that declare them."""
OF_WHOLE_BOTS: "set[Rule]" = set()
"""The rules about things that never happen: they must know all steps."""

Rule = Callable[["Graph"], Iterable["Finding"]]


def rule(*, whole: bool = False, **titles: str) -> Callable[[Rule], Rule]:
    """Declare that a function is a rule that finds these codes: `@rule(W501="a message after the window has closed")`.

    ``whole``: it is about things that never happen, so it does not run for a bot that has steps with problems.
    """
    declare(**titles)

    def add(find: Rule) -> Rule:
        RULES.append(find)
        if whole:
            OF_WHOLE_BOTS.add(find)
        return find

    return add


def declare(**titles: str) -> None:
    """Declare codes and their titles."""
    assert TITLES.keys().isdisjoint(titles), f"{titles}: a code has one rule"
    TITLES.update(titles)


def and_more(count: int) -> str:
    """The end of a list that names only its beginning: `` and 3 more``; empty if the list names everything."""
    return f" and {count} more" if count > 0 else ""


@immutable
class Finding(Problem):
    """A fault that contacts would meet in a bot that loads, and its fix.

    ``route`` are the edges from a beginning to it, if there are any: `bot.checker.counterexamples` makes a
    conversation from them. Findings that differ only in their story are equal.
    """

    route: tuple["Edge", ...] = field(default=(), compare=False)

    @classmethod
    def at(cls, code: str, mark: Mark, what: str, fix: str, route: tuple["Edge", ...] = ()) -> "Finding":
        """A finding at a mark. Raises `KeyError` for a code that no rule declares."""
        TITLES[code]
        return cls(*mark.position, code, what, fix, route)
