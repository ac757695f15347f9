"""Syntax trees and compiling: what is said of a text by its tree is the same before and after."""

from collections.abc import Callable
from random import Random
from typing import Any

import jinja2
import pytest
from jinja2 import TemplateSyntaxError, nodes
from jinja2.parser import Parser

from bot.language.expressions.templates import (
    SANDBOX,
    TemplateFailed,
    compile_expression,
    compile_template,
    parse_expression,
    parse_template,
)
from bot.language.source.problems import Mark, Problems

MARK = Mark("main.yml", 1, 1)
SOURCES = (
    "{{ name }}",
    "{% for row in rows %}{{ row.name | upper }}{% endfor %}",
    "{% for row in rows %}{% for each in row %}{{ each | shouted(2) }}{% endfor %}{% endfor %}",
)


@pytest.mark.parametrize("source", SOURCES)
def test_compiling_leaves_the_tree_as_it_was_written(source: str) -> None:
    text = compile_template(source, MARK, Problems())
    before = repr(text.tree)
    text.prepare()
    assert repr(text.tree) == before


def test_the_tree_of_an_expression_is_that_of_one_value() -> None:
    expression = compile_expression("size == 'S'", MARK, Problems())
    before = repr(expression.tree)
    assert expression.evaluate({"size": "S"}) is True
    assert repr(expression.tree) == before


def test_a_text_is_parsed_once_until_it_is_compiled() -> None:
    text = compile_template("{{ name }}", MARK, Problems())
    assert text.tree is text.tree


def test_what_follows_an_expression_is_an_error() -> None:
    with pytest.raises(jinja2.TemplateSyntaxError, match="is not expected here"):
        parse_expression("a b")


def test_a_text_of_names_alone_is_rendered_as_others_are() -> None:
    text, other = (
        compile_template(source, MARK, Problems()) for source in ("{{ n }}, {{ who }}", "{{ n }}, {{ (who) }}!")
    )
    for text_or_other, end in ((text, ""), (other, "!")):
        text_or_other.prepare()
        assert text_or_other.render({"n": 3, "who": "Ann"}) == f"3, Ann{end}"
        with pytest.raises(TemplateFailed, match='no variable "who"'):
            text_or_other.render({"n": 3})


PIECES = (
    "{{", "}}", "{", "}", " ", "a", "b.c", "'x'", '"}"', "|upper", "+", "-", "%", "{%", "%}", "{#", "\n", " or ", ",", "1",
    "~", "text ", "{{ name }}", "{{ a or b }}", "{{ x|round(2) }}", "{{- a }}", "{{ a, b }}",
)  # fmt: skip


def shape(source: str, parse: Callable[[str], Any]) -> object:
    """A text's tree with the lines of its nodes; its mistake, if it cannot be read."""
    try:
        tree = parse(source)
    except TemplateSyntaxError as error:
        return str(error), error.lineno
    return repr(tree), [each.lineno for each in tree.find_all(nodes.Node)]


def test_a_tree_that_is_put_together_is_the_one_that_jinja_reads() -> None:
    random = Random(1)
    for _ in range(3_000):
        source = "".join(random.choices(PIECES, k=random.randint(1, 8)))
        assert shape(source, parse_template) == shape(source, lambda text: Parser(SANDBOX, text).parse()), source
