"""Typed reads of one value of the source: a text, a name, a template. What is wrong becomes a problem."""

import re
from decimal import Decimal
from typing import Any

from bot.lang.nodes import List, Map, Node, Scalar, plain
from bot.lang.problems import Problems
from bot.lang.templates import Template, compile_template

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_USUAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")


def text_of(node: Node, problems: Problems, what: str) -> str | None:
    """A text, as it is written; numbers and true/false are texts too where a text is meant."""
    if isinstance(node, Scalar) and node.value is not None:
        return node.text
    if isinstance(node, Scalar):
        fix = "write one; if a text has a comma in it, put it in quotes"
        if node.text:  # null in one of its spellings
            fix = f'if it is a text, put it in quotes: "{node.text}"'
        problems.add("E105", node.mark, f"{what}: a text is missing", fix)
    else:
        kind = "a map" if isinstance(node, Map) else "a list"
        problems.add("E106", node.mark, f"{what}: a text is expected, YAML reads {kind} here", "put the text in quotes")
    return None


def refuse_altered(node: Node, problems: Problems, *, number: bool = True) -> None:
    """Report every text in a value of which YAML makes a number, so that it is no longer what was written.

    ``number`` says whether a number may be meant as well: then ``8.50`` is one, in its usual form.
    """
    match node:
        case List(items=items):
            for item in items:
                refuse_altered(item, problems, number=number)
        case Map(entries=entries):
            for _, item in entries:
                refuse_altered(item, problems, number=number)
        case Scalar(value=int() | float() as value) if node.altered and not (number and _is_usual(node)):
            read = int(value) if value == int(value) else value
            fix = f'put it in quotes: "{node.text}"' + (f"; if the number is meant, write {read}" if number else "")
            problems.add("E007", node.mark, f"YAML reads {node.text} as the number {read}", fix)


def _is_usual(node: Scalar) -> bool:
    """Whether a number is written as people do, and YAML keeps all its digits."""
    return _USUAL.fullmatch(node.text) is not None and Decimal(node.text) == Decimal(str(node.value))


def plain_of(node: Node, problems: Problems) -> Any:
    """What a node holds, as plain values. A text of which YAML makes a number is a problem."""
    refuse_altered(node, problems)
    return plain(node)


def name_of(node: Node, problems: Problems, what: str) -> str | None:
    """A name: small letters, digits and underscores."""
    text = text_of(node, problems, what)
    if text is None or is_name(text):
        return text
    problems.add(
        "E108", node.mark, f'{what}: "{text}" is no name', "use small letters, digits and _, a letter first, 64 at most"
    )
    return None


def is_name(text: str) -> bool:
    """Whether a text can be the name of a flow, a step or a variable."""
    return _NAME.fullmatch(text) is not None


def template_of(node: Node, problems: Problems, what: str) -> Template | None:
    """A text that is a template. The line break that ends a block of lines is not part of it."""
    text = text_of(node, problems, what)
    if text is None or not isinstance(node, Scalar):
        return None
    return compile_template(text.rstrip("\n"), node.mark, problems, literal=node.literal)
