"""What null does in a text or an expression: holes and failures; and what conditions may come to."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from jinja2 import nodes

from bot.lang.cases import ANYTHING, Cases, Kind, some, truths
from bot.lang.safety import is_safe
from bot.lang.templates import Expression, Template
from bot.lang.worth import NONE, Worth

_PLAIN = re.compile(r"(?:[^{]|\{(?![{%#])|\{\{ ?[a-z_]\w* ?\}\})*")  # nothing but values, which need not be parsed


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text or an expression comes to. ``cases`` are none where it fails.

    ``hole``: a text has one since the variable in question is null; ``fails``: it may fail for that reason; ``blank``: it
    is shown, and there is nothing to see.
    """

    cases: Cases
    hole: bool = False
    fails: bool = False
    blank: bool = False

    @property
    def nothing(self) -> bool:
        """Whether it may be null."""
        return any(found.kind is Kind.NULL for found in self.cases)

    @property
    def only_nothing(self) -> bool:
        """Whether it is null, if it is anything."""
        return all(found.kind is Kind.NULL for found in self.cases)

    @property
    def truths(self) -> frozenset[bool]:
        """What it may count as in a condition."""
        return truths(self.cases)


class Reads:
    """One text or expression, to be worked out as often as need be."""

    def __init__(self, text: Template | Expression) -> None:
        self._wordings = text.wordings if isinstance(text, Template) else (text,)
        self._expression = isinstance(text, Expression)
        self._single = isinstance(text, Expression) or text.single

    @cached_property
    def _trees(self) -> list[nodes.Template]:
        return [each.tree for each in self._wordings]

    def reading(self, known: Mapping[str, Cases], *, shown: bool = False) -> Reading:
        """What it comes to, where some names may be these. ``shown``: as a text, even where it is one value alone."""
        found = [self._read(tree, known, shown=shown or not self._single) for tree in self._trees]
        if len(found) == 1:
            return found[0]
        every = frozenset().union(*(each.cases for each in found))
        hole, fails = any(each.hole for each in found), any(each.fails for each in found)
        return Reading(every, hole, fails, all(each.blank for each in found))

    def never_fails(self, known: Mapping[str, Cases]) -> bool:
        """Whether it can be worked out whatever its variables are, but for null."""
        plain = all(_PLAIN.fullmatch(each.source) for each in self._wordings if isinstance(each, Template))
        return (plain and not self._expression) or all(is_safe(tree, known) for tree in self._trees)

    def _read(self, tree: nodes.Template, known: Mapping[str, Cases], *, shown: bool) -> Reading:
        worth = Worth(known)
        if not shown:
            return Reading(worth.there(worth.of(_alone(tree))), worth.hole, worth.fails)
        showing = _Showing(worth)
        return Reading(showing.text(tree), worth.hole, worth.fails, showing.blank)


def _alone(tree: nodes.Template) -> nodes.Node:
    """The expression of a text that is nothing else."""
    (output,) = tree.body
    assert isinstance(output, nodes.Output)
    return output.nodes[0]


class _Showing:
    """Shows a text part by part. ``blank``: there was nothing to see in any."""

    def __init__(self, worth: Worth) -> None:
        self._worth = worth
        self.blank = True

    def text(self, tree: nodes.Template) -> Cases:
        """All of it as a text."""
        return some(Kind.TEXT) if self.goes_through(tree.body) else NONE

    def goes_through(self, body: Iterable[nodes.Node]) -> bool:
        """Show a text's parts in order. False: that always fails."""
        return all(self._passes(node) for node in body)

    def _passes(self, node: nodes.Node) -> bool:
        match node:
            case nodes.Output(nodes=parts):
                return all(self._shows(part) for part in parts)
            case nodes.If():
                return self._if(node)
            case nodes.For():
                return self._for(node)
        return True

    def _shows(self, part: nodes.Node) -> bool:
        if isinstance(part, nodes.TemplateData):
            self.blank = self.blank and not part.data.strip()
            return True
        value = self._worth.of(part)
        self.blank = self.blank and all(found.kind is Kind.NULL for found in value)
        return self._worth.shows(value)

    def _if(self, node: nodes.If) -> bool:
        """Some way through it goes on."""
        passes, left = False, True
        for test, body in ((node.test, node.body), *((each.test, each.body) for each in node.elif_)):
            if left:
                found = truths(self._worth.there(self._worth.of(test)))
                passes = (True in found and self.goes_through(body)) or passes
                left = False in found
        return (left and self.goes_through(node.else_)) or passes

    def _for(self, node: nodes.For) -> bool:
        elements = self._worth.there(self._worth.of(node.iter))
        names = {name.name for name in (node.target, *node.target.find_all(nodes.Name)) if isinstance(name, nodes.Name)}
        outer, passes = self._worth.known, False
        if any(found.kind is not Kind.NULL for found in elements):
            self._worth.known = {**outer, **dict.fromkeys((*names, "loop"), ANYTHING)}
            passes = node.test is None or bool(self._worth.there(self._worth.of(node.test)))
            passes = self.goes_through(node.body) and passes
            self._worth.known = outer
        return (self.goes_through(node.else_) and bool(elements)) or passes
