"""The key `define`: names that stand for expressions, in a flow or in all flows."""

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter

from bot.language.expressions.grammar import RESERVED_LIST, RESERVED_NAMES
from bot.language.expressions.templates import Definition, Expression, compile_expression
from bot.language.keys.declared_keys import EXPRESSION, KeySpec, map_of
from bot.language.keys.fields import Fields, entries_of, name_of
from bot.language.source.problems import Mark, Problems
from bot.language.source.yaml_tree import Node

Definitions = Mapping[str, Definition]


def read_definitions(fields: Fields) -> Definitions:
    """Read `define` of a map. All keys of the map that are read afterwards can use these names."""
    definitions = DEFINE.read(fields)
    fields.problems = fields.problems.defining(definitions)
    return definitions


def refuse_defined(name: str, mark: Mark, definitions: Collection[str], problems: Problems) -> bool:
    """Report an attempt to give a definition a value. Return False if the name is no definition."""
    if name in definitions:
        what = f'"{name}" is a definition, which nothing can give a value'
        problems.add("E301", mark, what, "give one to what it reads, or declare a variable of another name")
    return name in definitions


def _read(node: Node, problems: Problems, what: str) -> Definitions:
    """Read a map of names and expressions. Faulty expressions are read too."""
    nodes: dict[str, Node] = {}
    for key, item in entries_of(node, problems, what, '{total: "price * count"}'):
        if name_of(key, problems, "definition") is None:
            continue
        if key.text in RESERVED_NAMES:
            why, fix = f'the name "{key.text}" is reserved', f"choose another name: {RESERVED_LIST}"
            problems.add_taken(item.mark, f'definition "{key.text}"', key.text, why, fix)
        elif key.text in problems.definitions:
            taken = f"{problems.definitions[key.text].expression.mark} defines it for all flows"
            fix = "choose another name for the definition"
            problems.add_taken(item.mark, f'definition "{key.text}"', key.text, taken, fix)
        else:
            nodes[key.text] = item
    alone = {name: _expression(item, Problems(), name) for name, item in nodes.items()}
    found = {name: Definition(name, compile_expression("none", item.mark, problems)) for name, item in nodes.items()}
    for name in _in_order(alone, problems):
        known = problems.defining({other: found[other] for other in alone[name].names & found.keys()})
        found[name] = Definition(name, _expression(nodes[name], known, name))
    return found


def _expression(node: Node, problems: Problems, name: str) -> Expression:
    """The expression of a definition; null in place of one that cannot be read."""
    read = EXPRESSION.read(node, problems, f'definition "{name}"')
    return compile_expression("none", node.mark, problems) if read is None else read


def _in_order(written: Mapping[str, Expression], problems: Problems) -> list[str]:
    """The names, each after those that its expression reads. A circle is reported, and its names are left out."""
    reads = {name: sorted(each.names & written.keys()) for name, each in written.items()}
    while True:
        try:
            return [name for name in TopologicalSorter(reads).static_order() if name in reads]
        except CycleError as error:
            circle = error.args[1][:0:-1]  # each reads the next, and the last one reads the first
            at = circle.index(min(circle, key=list(written).index))
            first, *others = circle[at:] + circle[:at]
            shown = "".join(f" -> {name} ({written[name].mark})" for name in others)
            what = f'definition "{first}" reads itself: {first}{shown} -> {first}'
            fix = "write one of them without the others, or save a value in a variable"
            problems.add("E308", written[first].mark, what, fix)
            for name in circle:
                del reads[name]


DEFINE = KeySpec(
    "define",
    map_of(EXPRESSION, _read, absent={}),
    "Names for expressions that stand in several places; each use evaluates them anew.",
)
