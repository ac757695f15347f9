"""Typed reads from a map, and the problems that they note instead of stopping."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from bot.keys.fields import Fields, name_of
from bot.lang.problems import Mark, Problems
from bot.lang.source import read

T = TypeVar("T")


def fields(text: str) -> Fields:
    problems = Problems()
    (node,) = read("f.yml", text, problems)
    return Fields(node, problems, 'step "a"')


def given(value: T | None) -> T:
    assert value is not None
    return value


def noted(found: Fields) -> list[str]:
    return [str(problem).removeprefix("f.yml:") for problem in found.problems.sorted()]


GOOD: dict[str, tuple[str, Callable[[Fields], Any], Any]] = {
    "a text": ("{x: Hello}", lambda f: f.string("x"), "Hello"),
    "a number as a text": ("{x: 007}", lambda f: f.string("x"), "007"),
    "true as a text": ("{x: true}", lambda f: f.string("x"), "true"),
    "a missing text": ("{}", lambda f: f.string("x", "d"), "d"),
    "a name": ("{x: a_1}", lambda f: f.name("x"), "a_1"),
    "a whole number": ("{x: 3}", lambda f: f.integer("x", 1, 3), 3),
    "a number": ("{x: 3.5}", lambda f: f.number("x", 1), 3.5),
    "a missing number": ("{}", lambda f: f.number("x"), None),
    "yes or no": ("{x: true}", lambda f: f.boolean("x"), True),
    "a missing yes or no": ("{}", lambda f: f.boolean("x", True), True),
    "a duration": ("{x: 2h30m}", lambda f: f.duration("x"), timedelta(hours=2, minutes=30)),
    "a choice": ("{x: b}", lambda f: f.choice("x", ["a", "b"]), "b"),
    "a missing choice": ("{}", lambda f: f.choice("x", ["a"], "a"), "a"),
    "texts": ("{x: [a, 1]}", lambda f: f.strings("x"), ("a", "1")),
    "one text of many": ("{x: a}", lambda f: f.strings("x"), ("a",)),
    "one text with a comma": ("{x: 'no, thanks'}", lambda f: f.strings("x"), ("no, thanks",)),
    "no texts": ("{}", lambda f: f.strings("x"), ()),
    "null": ("{x: }", lambda f: (f.has("x"), f.null("x"), f.null("y")), (True, True, True)),
    "a text, not a number": ("{x: '1', y: 1}", lambda f: (f.is_text("x"), f.is_text("y")), (True, False)),
    "a template": ("{x: 'Hi {{ n }}'}", lambda f: given(f.template("x")).render({"n": 1}), "Hi 1"),
    "a block of lines": ("x: |\n  a\n  b\n", lambda f: given(f.template("x")).render({}), "a\nb"),
    "templates": ("{x: [a, b]}", lambda f: [t.source for t in f.templates("x")], ["a", "b"]),
    "an expression": ("{x: n == 1}", lambda f: given(f.expression("x")).evaluate({"n": 1}), True),
    "a map in a map": ("{x: {y: 1}}", lambda f: given(f.fields("x")).integer("y"), 1),
    "a list": ("{x: [1, {}]}", lambda f: len(f.items("x")), 2),
    "entries": ("{b: 1, a: 2}", lambda f: [key.text for key, _ in f.entries()], ["b", "a"]),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_it_is_read(name: str) -> None:
    text, read_it, expected = GOOD[name]
    found = fields(text)
    assert read_it(found) == expected
    assert noted(found) == []


BAD: dict[str, tuple[str, Callable[[Fields], Any], str]] = {
    "a map for a text": ("{x: {a: 1}}", lambda f: f.string("x"),
        '1:5: E106 step "a": x: a text is expected, YAML reads a map here (put the text in quotes)'),
    "a text without a value": ("{x: }", lambda f: f.string("x"),
        '1:5: E105 step "a": x: a text is missing (write one; if a text has a comma in it, put it in quotes)'),
    "a bad name": ("{x: My-Name}", lambda f: f.name("x"),
        '1:5: E108 step "a": x: "My-Name" is no name '
        "(use small letters, digits and _, a letter first, 64 at most)"),
    "a text for a whole number": ("{x: '3'}", lambda f: f.integer("x"),
        '1:5: E106 step "a": x: "3" is not a whole number (write a whole number)'),
    "true for a whole number": ("{x: true}", lambda f: f.integer("x"),
        '1:5: E106 step "a": x: "true" is not a whole number (write a whole number)'),
    "a number out of bounds": ("{x: 9}", lambda f: f.integer("x", 1, 3),
        '1:5: E106 step "a": x: "9" is not a whole number from 1 to 3 (write a whole number from 1 to 3)'),
    "a list for a number": ("{x: [1]}", lambda f: f.number("x"),
        '1:5: E106 step "a": x: a list is not a number (write a number)'),
    "yes for true": ("{x: yes}", lambda f: f.boolean("x"),
        '1:5: E106 step "a": x: "yes" is not true or false (write true or false)'),
    "no duration": ("{x: 2 hours}", lambda f: f.duration("x"),
        '1:5: E106 step "a": x: "2 hours" is not a duration '
        "(write one like 90s, 10m, 2h30m or 5d, 366d at most)"),
    "an unknown choice": ("{x: explan}", lambda f: f.choice("x", ["explain", "ignore"]),
        '1:5: E109 step "a": x: "explan" is not known (did you mean "explain"?)'),
    "a map among texts": ("{x: [a, {b: 1}]}", lambda f: f.strings("x"),
        '1:9: E106 step "a": x: a text is expected, YAML reads a map here (put the text in quotes)'),
    "a text for a list": ("{x: a}", lambda f: f.items("x"), '1:5: E106 step "a": x: "a" is not a list (write a list)'),
    "a text for a map": ("{x: a}", lambda f: f.fields("x"),
        '1:5: E106 step "a": x: a map of keys is expected (write key: value)'),
    "several texts without brackets": ("x: hi, hello", lambda f: f.strings("x"),
        '1:4: E106 step "a": x: "hi, hello" is one text (write [hi, hello] where several are meant, else put it in quotes)'),
    "a list for a wording": ("{x: [a, b]}", lambda f: f.wording("x"),
        '1:5: E106 step "a": x: a text is expected, YAML reads a list here '
        "(write one text in quotes, or {any: [...]}, of which one is sent each time)"),
    "a missing key": ("{y: 1}", lambda f: f.require("x"), '1:1: E105 step "a": "x" is missing (add x:)'),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_it_is_noted(name: str) -> None:
    text, read_it, expected = BAD[name]
    found = fields(text)
    read_it(found)
    assert noted(found) == [expected]


def test_what_is_no_map_is_noted_once_and_then_empty() -> None:
    found = fields("just a text")
    assert found.string("x") is None
    assert not found.require("x")
    found.close()
    assert noted(found) == ['1:1: E106 step "a": a map of keys is expected (write key: value)']


def test_closing_notes_every_key_that_was_never_asked_for() -> None:
    found = fields("{say: x, tehn: b, zebra: 1, no luck.: }")
    found.string("say")
    found.string("then")
    found.close()
    assert noted(found) == [
        '1:10: E104 step "a": unknown key "tehn" (did you mean "then"?)',
        '1:19: E104 step "a": unknown key "zebra" (known here: say, then)',
        '1:29: E104 step "a": "no luck." is a key without a value '
        "(if it belongs to a text with a comma, put that text in quotes)",
    ]


def test_a_key_that_is_misspelt_is_not_missed_as_well() -> None:
    found = fields("{tehn: b}")
    assert not found.require("then")
    found.close()
    assert noted(found) == ['1:2: E104 step "a": unknown key "tehn" (did you mean "then"?)']


def test_where_other_keys_may_stand_only_those_that_are_like_a_missing_one_are_refused() -> None:
    found = fields("{tpye: text, max: 40}")
    assert not found.require("type")
    found.close(whole=False)
    assert noted(found) == ['1:2: E104 step "a": unknown key "tpye" (did you mean "type"?)']


@pytest.mark.parametrize(
    ("written", "expected"), [("{vras: {a: 1}}", 1), ("{vras: 1}", None), ("{steps: {a: 1}}", None)]
)
def test_a_map_under_a_misspelt_key_is_read_all_the_same(written: str, expected: int | None) -> None:
    inner = fields(written).fields_meant("vars")
    assert (None if inner is None else inner.integer("a")) == expected


def test_one_text_with_several_commas_is_one_problem() -> None:
    found = fields("{say: Well, then, good bye}")
    found.string("say")
    found.close()
    assert noted(found) == [
        '1:13: E104 step "a": "then" is a key without a value '
        "(if it belongs to a text with a comma, put that text in quotes)"
    ]


def test_a_key_on_a_line_of_its_own_is_no_part_of_a_text() -> None:
    found = fields("say: Well\nthen it ends:\n")
    found.string("say")
    found.close()
    assert noted(found) == [
        '2:1: E104 step "a": unknown key "then it ends", without a value '
        "(if it is a part of the text above, indent it further; known keys: say)"
    ]


def test_entries_count_as_asked_for() -> None:
    found = fields("{a: 1}")
    found.entries()
    found.close()
    assert noted(found) == []


def test_marks_are_those_of_the_values() -> None:
    found = fields("a: 1\nb: 2\n")
    assert found.mark_of("b") == Mark("f.yml", 2, 4)
    assert found.mark_of("c") == found.mark == Mark("f.yml", 1, 1)


def test_a_name_has_64_characters_at_most() -> None:
    for length, fits in ((64, True), (65, False)):
        problems = Problems()
        (node,) = read("f.yml", "a" * length, problems)
        assert (name_of(node, problems, "step") is not None) is fits
