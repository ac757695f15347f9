"""Texts in which names stand for expressions: their trees, and what they read, are those of the expressions."""

from typing import Any

import pytest

from bot.language.expressions.inlining import MOST_NODES
from bot.language.expressions.templates import (
    Definition,
    Expression,
    Template,
    TemplateFailed,
    compile_expression,
    compile_template,
)
from bot.language.source.problems import Mark, Problems

MARK = Mark("main.yml", 9, 1)


def problems_with(**written: str) -> Problems:
    """Problems where these names stand for expressions, each of which may use those before it."""
    problems = Problems()
    for line, (name, source) in enumerate(written.items(), 1):
        expression = compile_expression(source, Mark("main.yml", line, 5), problems)
        problems = problems.defining({name: Definition(name, expression)})
    assert not problems
    return problems


def text_of(source: str, **written: str) -> Template:
    problems = problems_with(**written)
    text = compile_template(source, MARK, problems)
    assert not problems, problems.sorted()
    return text


def expression_of(source: str, **written: str) -> Expression:
    problems = problems_with(**written)
    expression = compile_expression(source, MARK, problems)
    assert not problems, problems.sorted()
    return expression


def objections(source: str, **written: str) -> list[str]:
    problems = problems_with(**written)
    compile_template(source, MARK, problems)
    return [str(problem) for problem in problems.sorted()]


GOODS = "basket | sum(it.count * it.price)"
SCOPE: dict[str, Any] = {"basket": [{"count": 2, "price": 3}, {"count": 1, "price": 4}], "rate": 10, "name": "Ann"}


@pytest.mark.parametrize(
    ("source", "written", "value"),
    [
        ("goods", {"goods": GOODS}, 10),
        ("goods * 2", {"goods": "rate + 1"}, 22),
        ("10 - goods - 1", {"goods": "rate - 7"}, 6),
        ("due", {"goods": GOODS, "off": "goods * rate / 100", "due": "goods - off"}, 9),
        ("first.price", {"first": "basket | first"}, 3),
        ("basket | map(it.price + extra)", {"extra": "basket | sum(it.price)"}, [10, 11]),
        ("basket | sum(field)", {"field": "'count'"}, 3),
        ("[goods, {'a': goods}, -goods]", {"goods": GOODS}, [10, {"a": 10}, -10]),
        ("'many' if many else 'few'", {"goods": "rate", "many": "goods > 3"}, "many"),
        ("who", {"who": "name"}, "Ann"),
        ("who is none", {"who": "none"}, True),
    ],
)
def test_a_name_has_the_value_of_its_expression(source: str, written: dict[str, str], value: object) -> None:
    expression = expression_of(source, **written)
    assert expression.evaluate(SCOPE) == value
    expression.prepare()
    assert expression.evaluate(SCOPE) == value


def test_what_a_text_reads_is_what_its_names_stand_for() -> None:
    text = text_of("{{ due }} {{ contact.name }}", off="rate / order.total", due="100 - off")
    assert text.names == {"rate", "order", "contact"}
    assert ("order", "total") in text.paths
    assert [each.name for each in text.definitions] == ["due", "off"]
    assert text.explained == "{{ due }} {{ contact.name }} (due: 100 - off; off: rate / order.total)"


def test_a_text_without_such_names_is_what_it_is_elsewhere() -> None:
    text, elsewhere = text_of("{{ name }}!", goods=GOODS), compile_template("{{ name }}!", MARK, Problems())
    assert (text.names, text.definitions, text.explained) == (elsewhere.names, (), elsewhere.source)
    assert repr(text.tree) == repr(elsewhere.tree)


def test_the_tree_is_the_same_before_and_after_compiling_and_no_tree_is_shared() -> None:
    text = text_of("{% for item in basket %}{{ goods }}{{ goods | shown }}{% endfor %}", goods=GOODS)
    before = repr(text.tree)
    (definition,) = text.definitions
    alone = repr(definition.expression.tree)
    text.prepare()
    assert repr(text.tree) == before
    assert repr(definition.expression.tree) == alone


def test_the_name_of_a_loop_hides_a_definition_within_the_loop_alone() -> None:
    text = text_of("{{ item }}{% for item in basket %}-{{ item.count }}{% endfor %}{{ item }}", item="rate")
    assert text.render(SCOPE) == "10-2-110"


def test_a_loop_cannot_give_another_meaning_to_what_a_definition_reads() -> None:
    text = "{% for rate in basket %}{{ off }}{% endfor %}"
    assert objections(text, off="rate / 2") == [
        'main.yml:9:1: E306 this text: its loop hides the variable "rate", which the definition "off" reads '
        "(give the element of the loop another name)"
    ]
    assert text_of("{% for each in [off] if off %}{{ off }}{% else %}{{ off }}{% endfor %}", off="rate / 2").names == {
        "rate"
    }


def test_names_that_stand_for_names_have_no_end_of_parts() -> None:
    doubled = {f"n{power}": f"n{power - 1} + n{power - 1}" for power in range(1, 10)}
    (objection,) = objections("{{ n9 }} {{ n9 }}", n0="rate", **doubled)
    assert f"main.yml:9:1: E205 this text has more than {MOST_NODES} parts with all that its definitions" in objection
    assert expression_of("n9", n0="rate", **doubled).evaluate(SCOPE) == 5120


def test_what_fails_names_the_text_and_its_definitions() -> None:
    text = text_of("{{ due }}", off="rate / 0", due="1 - off")
    with pytest.raises(TemplateFailed) as failed:
        text.render(SCOPE)
    assert str(failed.value) == (
        'main.yml:9:1: a division by zero (it uses "due" of main.yml:2:5, "off" of main.yml:1:5)'
    )
