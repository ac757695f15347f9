"""Inlining: a name that stands for an expression is replaced, in the syntax tree, by the tree of that expression.

So what evaluates a tree, bounds its work or knows its values beforehand needs to know nothing of such names.
"""

import copy
from collections.abc import Mapping
from typing import Any

from jinja2 import nodes

MOST_NODES = 2_000  # of a text with everything that its names stand for


class TooMany(Exception):
    """A text has more than `MOST_NODES` nodes once its names are replaced by what they stand for."""


class Hidden(Exception):
    """A loop gives ``name`` another meaning where ``defined`` is used, which reads it outside of the loop."""

    def __init__(self, name: str, defined: str) -> None:
        super().__init__(name, defined)
        self.name = name
        self.defined = defined


def inlined(
    tree: nodes.Template, trees: Mapping[str, nodes.Template], reads: Mapping[str, frozenset[str]]
) -> nodes.Template:
    """A copy of a text's tree, with the ``trees`` of expressions in place of their names.

    ``reads`` are the names in each.

    Raises `TooMany` and `Hidden`.
    """
    made = _Inliner({name: expression_of(each) for name, each in trees.items()}, reads).copied(tree)
    assert isinstance(made, nodes.Template)
    return made


def expression_of(tree: nodes.Template) -> nodes.Expr:
    """The expression of a text that is nothing else."""
    (output,) = tree.body
    assert isinstance(output, nodes.Output)
    return output.nodes[0]


class _Inliner:
    """Copies trees. ``bound``: the names of the loops around a node; ``line``: that of a copied expression's name."""

    def __init__(self, trees: Mapping[str, nodes.Expr], reads: Mapping[str, frozenset[str]]) -> None:
        self._trees = trees
        self._reads = reads
        self._nodes = 0

    def copied(
        self, node: nodes.Node, bound: frozenset[str] = frozenset(), *, inside: bool = False, line: int = 0
    ) -> nodes.Node:
        """A copy with all names replaced. ``inside``: the names of the node are replaced already."""
        if isinstance(node, nodes.Name) and not inside and node.name in self._trees.keys() - bound:
            hidden = sorted(self._reads[node.name] & bound)
            if hidden:
                raise Hidden(hidden[0], node.name)
            return self.copied(self._trees[node.name], inside=True, line=node.lineno)
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise TooMany
        made = copy.copy(node)
        made.lineno = line or node.lineno
        in_loop = bound | _names_of(node) if isinstance(node, nodes.For) else bound
        for key, value in node.iter_fields():
            is_name = key == "target" or (isinstance(node, nodes.Call) and key == "node")
            within = in_loop if key in ("body", "test") else bound
            setattr(made, key, value if is_name else self._value(value, within, inside, line))
        return made

    def _value(self, value: Any, bound: frozenset[str], inside: bool, line: int) -> Any:
        if isinstance(value, nodes.Node):
            return self.copied(value, bound, inside=inside, line=line)
        if isinstance(value, list):
            return [self._value(item, bound, inside, line) for item in value]
        return value


def _names_of(loop: nodes.For) -> frozenset[str]:
    """The names that a loop gives a meaning."""
    targets = (loop.target, *loop.target.find_all(nodes.Name))
    return frozenset({"loop", *(name.name for name in targets if isinstance(name, nodes.Name))})
