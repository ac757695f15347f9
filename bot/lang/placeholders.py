"""Which values a text shows, and which it only looks at."""

from collections.abc import Iterator

from jinja2 import nodes

from bot.lang.templates import Template

_RECORD = "contact"  # of which each field is a value of its own


def used(text: Template) -> frozenset[str]:
    """All values that a text looks at, each as it is written."""
    fields = {".".join(path[:2]) for path in text.paths if path[0] == _RECORD}
    return frozenset(text.names - {_RECORD}) | fields


def shown(text: Template) -> frozenset[str]:
    """The values of which something is shown: what conditions alone look at is none of them."""
    if text.constant:
        return frozenset()
    found = frozenset(name for node in text.tree.body for name in _shown(node))
    return found & used(text)  # without the names of loops


def _shown(node: nodes.Node) -> Iterator[str]:
    match node:
        case nodes.Name(name=name):
            yield name
        case nodes.Getattr(node=nodes.Name(name=name), attr=field) if name == _RECORD:
            yield f"{name}.{field}"
        case nodes.Compare() | nodes.Test() | nodes.Not() | nodes.Call():
            return
        case _:
            conditions = (node.test,) if isinstance(node, nodes.If | nodes.CondExpr | nodes.For) else ()
            for child in node.iter_child_nodes():
                if child not in conditions:
                    yield from _shown(child)
