"""Sources of templates and expressions: parsed, and compiled with what is counted while they are worked out."""

from collections.abc import Callable, Iterator
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.parser import Parser

from bot.lang.effort import CALL
from bot.lang.filters import FILTERS
from bot.lang.sandbox import EACH, OWN_FILTER, Sandbox, Scope

SANDBOX = Sandbox()


def parse_template(source: str) -> nodes.Template:
    """The syntax tree of a text. Raises `jinja2.TemplateSyntaxError`."""
    return Parser(SANDBOX, source).parse()


def parse_expression(source: str) -> nodes.Template:
    """The syntax tree of a text that is nothing but this expression. Raises `jinja2.TemplateSyntaxError`."""
    parser = Parser(SANDBOX, source, state="variable")
    expression = parser.parse_expression()
    if not parser.stream.eos:
        parser.fail(f'"{parser.stream.current.value}" is not expected here')
    tree = nodes.Template([nodes.Output([expression], lineno=1)], lineno=1)
    tree.set_environment(SANDBOX)
    return tree


def is_single(tree: nodes.Template) -> bool:
    """Whether a text is exactly one ``{{ }}``."""
    match tree.body:
        case [nodes.Output(nodes=[only])]:
            return not isinstance(only, nodes.TemplateData)
    return False


def compiled(tree: nodes.Template) -> Callable[[Scope], Iterator[Any]]:
    """What yields the parts of a text. The tree is changed by that."""
    _complete(tree)
    return jinja2.Template.from_code(SANDBOX, SANDBOX.compile(tree), {}).root_render_func


def _complete(node: nodes.Node) -> None:
    """Count what loops go over, and name the one filter that stands for all of the bot's own; from the inside out."""
    for child in node.iter_child_nodes():
        _complete(child)
    match node:
        case nodes.For():
            node.iter = nodes.Filter(node.iter, EACH, [nodes.Const(_size(node))], [], None, None, lineno=node.lineno)
        case nodes.Filter(name=name) if name not in FILTERS:
            node.args.insert(0, nodes.Const(name, lineno=node.lineno))
            node.name = OWN_FILTER


def _size(loop: nodes.For) -> int:
    """How many nodes are gone through at each pass of a loop; filters and functions count for more than one."""
    inside = [part for child in (*loop.body, loop.test) if child for part in (child, *child.find_all(nodes.Node))]
    return len(inside) + CALL * sum(isinstance(part, nodes.Filter | nodes.Call) for part in inside)
