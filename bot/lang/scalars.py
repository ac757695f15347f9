"""Typed reads of one value of the source: a text, a name, a template. What is wrong becomes a problem."""

import re

from bot.lang.nodes import Map, Node, Scalar
from bot.lang.problems import Problems
from bot.lang.templates import Template, compile_template

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def text_of(node: Node, problems: Problems, what: str) -> str | None:
    """A text, as it is written; numbers and true/false are texts too where a text is meant."""
    if isinstance(node, Scalar) and node.value is not None:
        return node.text
    if isinstance(node, Scalar):
        fix = "write one; if a text has a comma in it, put it in quotes"
        problems.add("E105", node.mark, f"{what}: a text is missing", fix)
    else:
        kind = "a map" if isinstance(node, Map) else "a list"
        problems.add("E106", node.mark, f"{what}: a text is expected, YAML reads {kind} here", "put the text in quotes")
    return None


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
