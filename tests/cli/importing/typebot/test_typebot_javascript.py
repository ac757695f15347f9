"""Typebot's JavaScript: what becomes an expression, what is a text, and what is neither."""

import pytest

from bot.cli.importing.typebot.evaluation import evaluate, stored
from bot.cli.importing.typebot.expressions import (
    ANY,
    LIST,
    NUMBER,
    TEXT,
    NoJavaScript,
    OurExpression,
    UnknownJavaScript,
    parse,
    parse_path,
    translate,
)

NAMES = {
    "Age": OurExpression("age", NUMBER),
    "Name": OurExpression("name", TEXT),
    "Towns": OurExpression("towns", LIST),
}
ANSWER = {"data": OurExpression("answer", ANY)}


@pytest.mark.parametrize(
    ("code", "ours"),
    [
        ("{{Age}} * 2 + 1", "(age * 2) + 1"),
        ("{{Age}} + {{Age}} + 1", "age + age + 1"),
        ("({{Age}} - 1) * 2", "(age - 1) * 2"),
        ("{{Age}} - (1 - 2)", "age - (1 - 2)"),
        ("return {{Age}} >= 18 && {{Name}} === 'Bob';", "(age >= 18) and (name == 'Bob')"),
        ("{{Age}} > 3 ? 'old' : 'young'", "'old' if (age > 3) else 'young'"),
        ("`Hi ${{{Name}}}!`", "'Hi ' ~ name ~ '!'"),
        ("{{Name}} + ' x'", "name ~ ' x'"),
        ("Number({{Name}}) * 3", "(name | as_number) * 3"),
        ("Math.round({{Age}} / 3)", "((age / 3) | round)"),
        ("{{Towns}}.map(town => town.trim()).join(', ')", "((towns | map((it | trim))) | join(', '))"),
        ("'it\\'s'", "'it\\'s'"),
    ],
)
def test_code_becomes_an_expression(code: str, ours: str) -> None:
    assert translate(parse(code), NAMES).text == ours


@pytest.mark.parametrize(
    "code", ["Hello", "Hello {{Name}}", "https://shop.example/{{Name}}", "It's", "a - b", "007", "2f58"]
)
def test_words_that_are_no_code_are_a_text(code: str) -> None:
    with pytest.raises(NoJavaScript):
        parse(code)


@pytest.mark.parametrize(
    "code", ["const x = 1; return x", "JSON.parse({{Name}})", "if ({{Age}} > 3) { return 1 }", "(" * 99 + "1"]
)
def test_other_code_is_left_to_python(code: str) -> None:
    with pytest.raises(UnknownJavaScript):
        translate(parse(code), NAMES)


def test_the_path_of_a_value_in_an_answer_is_an_expression() -> None:
    path = parse_path("data.genres.flatMap(item => item.name)")
    assert translate(path, ANSWER) == OurExpression("(answer.genres | map(it.name ~ ''))", LIST)
    assert translate(parse_path("data[0].id"), ANSWER).text == "answer[0].id"


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1 + '1'", "11"),
        ("7 % 4", "3"),
        ("6 / 4", "1.5"),
        ("4 / 2", "2"),
        ("1 / 0 > 5", "true"),
        ("'a' * 2", "null"),
        ("[1, 'b']", ["1", "b"]),
    ],
)
def test_a_variable_keeps_the_text_of_a_result(code: str, value: object) -> None:
    assert stored(evaluate(parse(code), {})) == value
