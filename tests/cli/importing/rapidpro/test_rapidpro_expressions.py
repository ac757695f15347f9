"""Expressions of RapidPro: read by a grammar, evaluated by its rules, and written as those of a bot."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.cli.importing.rapidpro import excellent_functions as library
from bot.cli.importing.rapidpro.expressions import (
    ExpressionWriter,
    Inserted,
    Untranslatable,
    evaluated,
    parts_of,
    used_in,
)

NOW = datetime(2018, 4, 11, 13, 24, 30, 123456, ZoneInfo("America/Guayaquil"))
VALUES: dict[tuple[str, ...], Any] = {
    ("contact", "name"): "Ann Lee",
    ("results", "age"): "23",
    ("contact", "groups"): ["A", "B"],
}


def said(template: str) -> str:
    return "".join(
        library.shown(evaluated(part.tree, lambda path: VALUES.get(path, ""), NOW))
        if isinstance(part, Inserted)
        else part
        for part in parts_of(template)
    )


def written(template: str) -> str:
    return ExpressionWriter(lambda path: ("_".join(path), "text")).text(template)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hi @contact.name. Write to bob@shop.example, @@joe", "Hi Ann Lee. Write to bob@shop.example, @joe"),
        ("@(1 + 2 * 3 - 4 / 8)", "6.5"),
        ('@("a" & 1 & (2 > 1))', "a1true"),
        ("@(2 ^ 3)", "8"),
        ('@(if(results.age >= 18, "adult", "minor"))', "adult"),
        ('@(upper(word("bee cat", 1)))', "CAT"),
        ('@(join(foreach(contact.groups, (x) => lower(x)), "+"))', "a+b"),
        ('@(format_datetime("1979-07-18 15:00", "DD-MM-YY tt:mm"))', "18-07-79 15:00"),
        ('@(datetime_add("2020-01-31", 1, "M"))', "2020-02-29T00:00:00.000000-05:00"),
        ('@(format_number(1234.5670)) @(round(2.5)) @(title("ann lee"))', "1,234.567 3 Ann Lee"),
        ('@(default(results.none, "there"))', "there"),
        ('@(array("a", "b")[1]) @(object("k", 5).k)', "b 5"),
        ('@(regex_match("no 34, 5", "\\d+")) @(mean(1, 2, 6)) @(is_error("a"))', "34 3 false"),
        ('@(clean("a\\r\\tb")) @(field("a  b c", 1, " ")) @(default(array(), "none"))', "ab b none"),
    ],
)
def test_an_expression_has_the_value_that_rapidpro_gives_it(template: str, text: str) -> None:
    assert said(template) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hi @contact.name!", "Hi {{ contact_name }}!"),
        ("@(upper(results.age) & 1)", "{{ ((results_age | upper) ~ 1) }}"),
        ("@(results.age + 1)", "{{ (to_number(results_age) + 1) }}"),
        ("@(json(null))", "{{ to_json(none) }}"),
        ('@(results.age = "23")', '{{ shown((results_age == "23")) }}'),
        ("{{ this }} is @@ text", '{{ "{{" }} this {{ "}}" }} is @ text'),
    ],
)
def test_an_expression_is_written_in_the_words_of_a_bot(template: str, text: str) -> None:
    assert written(template) == text


@pytest.mark.parametrize(
    "template", ["@(1 +", "@(nothing_known(1))", "<%= 1 + 1 %>", "@(a b)", '@(object("a"))', "@(word(1, 2, 3, 4, 5))"]
)
def test_an_expression_that_cannot_be_translated_says_so(template: str) -> None:
    if template == "@(1 +":
        assert written(template) == template  # a bracket that is never closed is text
        return
    with pytest.raises(Untranslatable):
        written(template)


@pytest.mark.parametrize(
    ("test", "text", "argument", "match"),
    [
        (library.has_any_word, "The Quick Brown Fox", "fox quick", "Quick Fox"),
        (library.has_all_words, "the quick brown FOX", "the fox", "the FOX"),
        (library.has_all_words, "the quick brown fox", "red fox", None),
        (library.has_phrase, "the quick brown fox", "brown fox", "brown fox"),
        (library.has_phrase, "the Quick Brown fox", "quick fox", None),
        (library.has_only_phrase, "Quick Brown", "quick brown", "Quick Brown"),
        (library.has_beginning, "The Quick Brown", "the quick", "The Quick"),
        (library.has_pattern, "Buy cheese please", r"buy (\w+)", "Buy cheese"),
        (library.has_number_gte, "the number is 42", "42", "42"),
        (library.has_number_lt, "the number is 42", "40", None),
        (library.has_phone, "my number is 206 779 9294", "US", "+12067799294"),
        (library.has_any_word, "👍", "👍", "👍"),
    ],
)
def test_a_test_matches_as_rapidpro_does(test: object, text: str, argument: str, match: str | None) -> None:
    assert callable(test) and test(text, argument) == match


def test_a_bot_gets_the_functions_that_it_uses_and_those_that_they_call() -> None:
    imports, sources = used_in(["{{ has_number_eq(input, 5) }}"])
    names = [source.partition("def ")[2].partition("(")[0] for source in sources]
    assert names == ["shown", "iso_datetime", "to_number", "numbers_in", "number_where", "has_number_eq"]
    assert [source.startswith("@function") for source in sources] == [False] * 5 + [True]
    assert "import re" in imports and "import json" not in imports
