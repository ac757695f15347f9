"""W304: choices that a variable has, and that no option gives."""

from collections.abc import Iterator

from bot.checker.data.values import Values
from bot.checker.findings import Finding
from bot.checker.graph import Graph
from bot.lang.texts import ChoiceVariable
from bot.lang.variable import Variable


def find_unoffered(graph: Graph) -> Iterator[Finding]:
    """Variables with choices that questions offer only in part, and that nothing else gives."""
    values = graph.fact(Values)
    for flow in graph.library.flows.values():
        for variable in flow.variables.values():
            left = list(_unoffered(variable, values))
            if left:
                quoted = ", ".join(f'"{choice}"' for choice in left)
                what = f'no option gives {quoted} of the variable "{variable.name}", nor does any step'
                yield Finding.at("W304", variable.mark, what, "offer it, or take it out of `of`")


def _unoffered(variable: Variable, values: Values) -> Iterator[str]:
    offered = values.offered(variable.name)
    if isinstance(variable, ChoiceVariable) and offered is not None and not variable.keep:
        known = {str(value) for value in (*offered, variable.value)}
        yield from (choice for choice in variable.of if choice not in known)
