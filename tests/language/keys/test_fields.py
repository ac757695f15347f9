"""Typed reads from a map, and the problems that they note instead of stopping."""

from datetime import timedelta
from typing import Any

import pytest

from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import (
    BOOLEAN,
    DURATION,
    EXPRESSION,
    NAME,
    NAMES,
    STRING,
    STRINGS,
    TEMPLATE,
    WORDING,
    Form,
    KeySet,
    KeySpec,
    as_fields,
    either,
    integer,
    map_of,
    nested,
    number,
    one_of,
    one_or_several,
    raw_node,
    seconds,
)
from bot.language.keys.fields import Fields, entries_of, items_of, name_of
from bot.language.keys.text_shapes import TEXT
from bot.language.source.problems import Mark, Problems
from bot.language.source.yaml_tree import read

KEYS = KeySet(
    KeySpec("say", STRING, "A text."),
    KeySpec("then", STRING, "A target."),
    KeySpec("vars", as_fields(KeySet(KeySpec("a", integer(), "A number."))), "A map."),
)
NEEDED = KeySet(KeySpec("type", STRING, "A type.", required=True))


def opened_as(keys: KeySet, text: str, *, others: bool = False) -> Fields:
    problems = Problems()
    (node,) = read("f.yml", text, problems)
    return keys.open(node, problems, 'step "a"', others=others)


def noted(found: Fields) -> list[str]:
    return [str(problem).removeprefix("f.yml:") for problem in found.problems.sorted()]


def sources(written: Any) -> Any:
    """Templates by their sources."""
    if isinstance(written, tuple):
        return tuple(map(sources, written))
    return written.source if isinstance(written, Template) else written


PAIR = KeySet(KeySpec("y", integer(), "A number."))
SHORT = either(STRING, nested(PAIR, lambda fields: fields.mark.line))
ENTRIES: Form[Any] = map_of(STRING, lambda *at: [key.text for key, _ in entries_of(*at)])
ITEMS: Form[Any] = Form({}, lambda *at: len(items_of(*at)))
GOOD: dict[str, tuple[str, Form[Any], Any]] = {
    "a text": ("{x: Hello}", STRING, "Hello"),
    "a number as a text": ("{x: 007}", STRING, "007"),
    "true as a text": ("{x: true}", STRING, "true"),
    "a missing text": ("{}", STRING, None),
    "a name": ("{x: a_1}", NAME, "a_1"),
    "a whole number": ("{x: 3}", integer(1, 3), 3),
    "a number": ("{x: 3.5}", number(1), 3.5),
    "a missing number": ("{}", number(), None),
    "yes or no": ("{x: true}", BOOLEAN, True),
    "a missing yes or no": ("{}", BOOLEAN, False),
    "a duration": ("{x: 2h30m}", DURATION, timedelta(hours=2, minutes=30)),
    "seconds": ("{x: 2m}", seconds(5), 120.0),
    "missing seconds": ("{}", seconds(5), 5),
    "a choice": ("{x: b}", one_of("a", "b"), "b"),
    "a missing choice": ("{}", one_of("a", default="a"), "a"),
    "texts": ("{x: [a, 1]}", STRINGS, ("a", "1")),
    "one text of many": ("{x: a}", STRINGS, ("a",)),
    "one text with a comma": ("{x: 'no, thanks'}", STRINGS, ("no, thanks",)),
    "no texts": ("{}", STRINGS, ()),
    "a template": ("{x: 'Hi {{ n }}'}", TEMPLATE, "Hi {{ n }}"),
    "a block of lines": ("x: |\n  a\n  b\n", TEMPLATE, "a\nb"),
    "templates": ("{x: [a, b]}", one_or_several(TEMPLATE), ("a", "b")),
    "one template": ("{x: a}", one_or_several(TEMPLATE), ("a",)),
    "a short form": ("{x: a}", SHORT, "a"),
    "a form in full": ("{x: {y: 1}}", SHORT, 1),
    "a map in a map": ("{x: {y: 1}}", nested(PAIR, PAIR.keys[0].read), 1),
    "a map of names": ("{x: {b: 1, a: 2}}", ENTRIES, ["b", "a"]),
    "a list": ("{x: [1, {}]}", ITEMS, 2),
}  # fmt: skip


def read_as(form: Form[Any], text: str) -> tuple[Any, Fields]:
    key = KeySpec("x", form, "It.")
    found = opened_as(KeySet(key), text)
    return key.read(found), found


@pytest.mark.parametrize("name", GOOD)
def test_it_is_read(name: str) -> None:
    text, form, expected = GOOD[name]
    value, found = read_as(form, text)
    assert sources(value) == expected
    assert noted(found) == []


def test_an_expression_is_evaluated() -> None:
    value, _ = read_as(EXPRESSION, "{x: n == 1}")
    assert value.evaluate({"n": 1}) is True


def test_a_key_may_be_written_without_a_value() -> None:
    _, found = read_as(raw_node({}), "{x: }")
    assert (found.has("x"), found.null("x"), found.null("y")) == (True, True, True)


BAD: dict[str, tuple[str, Form[Any], str]] = {
    "a map for a text": ("{x: {a: 1}}", STRING,
        '1:5: E106 step "a": x: a text is expected, YAML reads a map here (put the text in quotes)'),
    "a text without a value": ("{x: }", STRING,
        '1:5: E105 step "a": x: a text is missing (write one; if a text has a comma in it, put it in quotes)'),
    "a bad name": ("{x: My-Name}", NAME,
        '1:5: E108 step "a": x: "My-Name" is no name '
        "(write my_name: small letters from a to z, digits and _ only)"),
    "a text for a whole number": ("{x: '3'}", integer(),
        '1:5: E106 step "a": x: "3" is not a whole number (write it without the quotes)'),
    "true for a whole number": ("{x: true}", integer(),
        '1:5: E106 step "a": x: "true" is not a whole number (write a whole number)'),
    "a number out of bounds": ("{x: 9}", integer(1, 3),
        '1:5: E106 step "a": x: "9" is not a whole number from 1 to 3 (write a whole number from 1 to 3)'),
    "a list for a number": ("{x: [1]}", number(),
        '1:5: E106 step "a": x: a list is not a number (write a number)'),
    "yes for true": ("{x: yes}", BOOLEAN,
        '1:5: E106 step "a": x: "yes" is not true or false (write true or false)'),
    "no duration": ("{x: 2 hours}", DURATION,
        '1:5: E106 step "a": x: "2 hours" is not a duration '
        "(write one like 90s, 10m, 2h30m or 5d, 366d at most)"),
    "an unknown choice": ("{x: explan}", one_of("explain", "ignore"),
        '1:5: E109 step "a": x: "explan" is not known (did you mean "explain"?)'),
    "a map among texts": ("{x: [a, {b: 1}]}", STRINGS,
        '1:9: E106 step "a": x: a text is expected, YAML reads a map here (put the text in quotes)'),
    "a text for a list": ("{x: a}", ITEMS, '1:5: E106 step "a": x: "a" is not a list (write a list)'),
    "a text for a map": ("{x: a}", as_fields(PAIR),
        '1:5: E106 step "a": x: a map of keys is expected (write key: value)'),
    "a text for a map with an example": ("{x: a}", as_fields(PAIR, "{y: 1}"),
        '1:5: E106 step "a": x: a map of keys is expected (write x: {y: 1})'),
    "several texts without brackets": ("x: hi, hello", STRINGS,
        '1:4: E106 step "a": x: "hi, hello" is one text (write [hi, hello] where several are meant, else put it in quotes)'),
    "a text that is no name among names": ("{x: [a, '?!']}", NAMES,
        '1:9: E108 step "a": x: "?!" is no name (use small letters from a to z, digits and _, a letter first, 64 at most)'),
    "several names without brackets": ("x: a, b", NAMES, '1:4: E108 step "a": x: "a, b" is no name (write [a, b])'),
    "a list for a wording": ("{x: [a, b]}", WORDING,
        '1:5: E106 step "a": x: a text is expected, YAML reads a list here '
        "(write one text in quotes, or {any: [...]}, of which one is sent each time)"),
    "wordings of which there is none": ("{x: {any: []}}", WORDING,
        '1:5: E105 step "a": x: any: there is no text to take (write two or more)'),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_it_is_noted(name: str) -> None:
    text, form, expected = BAD[name]
    _, found = read_as(form, text)
    assert noted(found) == [expected]


def test_a_key_that_is_missing_is_noted() -> None:
    assert noted(opened_as(NEEDED, "{}")) == ['1:1: E105 step "a": "type" is missing (add type:)']


def test_what_is_no_map_is_noted_once_and_then_empty() -> None:
    found = opened_as(NEEDED, "just a text")
    assert NEEDED.keys[0].read(found) is None
    assert noted(found) == ['1:1: E106 step "a": a map of keys is expected (write key: value)']


def test_every_key_that_is_not_known_is_noted() -> None:
    assert noted(opened_as(KEYS, "{say: x, tehn: b, zebra: 1, no luck.: }")) == [
        '1:10: E104 step "a": unknown key "tehn" (did you mean "then"?)',
        '1:19: E104 step "a": unknown key "zebra" (known here: say, then, vars)',
        '1:29: E104 step "a": "no luck." is a key without a value '
        "(if it belongs to a text with a comma, put that text in quotes)",
    ]


def test_a_key_that_is_misspelt_is_not_missed_as_well() -> None:
    assert noted(opened_as(NEEDED, "{tpye: b}")) == ['1:2: E104 step "a": unknown key "tpye" (did you mean "type"?)']


def test_where_other_keys_may_stand_only_those_that_are_like_a_missing_one_are_refused() -> None:
    found = opened_as(NEEDED, "{tpye: text, max: 40}", others=True)
    assert noted(found) == ['1:2: E104 step "a": unknown key "tpye" (did you mean "type"?)']


@pytest.mark.parametrize(
    ("written", "expected"), [("{vras: {a: 1}}", 1), ("{vras: 1}", None), ("{steps: {a: 1}}", None)]
)
def test_a_map_under_a_misspelt_key_is_read_all_the_same(written: str, expected: int | None) -> None:
    inner = KEYS.keys[2].read(opened_as(KEYS, written))
    assert (None if inner is None else KeySpec("a", integer(), "").read(inner)) == expected


def test_one_text_with_several_commas_is_one_problem() -> None:
    found = opened_as(KeySet(KEYS.keys[0]), "{say: Well, then, good bye}")
    assert noted(found) == [
        '1:13: E104 step "a": "then" is a key without a value '
        "(if it belongs to a text with a comma, put that text in quotes)"
    ]


def test_a_key_on_a_line_of_its_own_is_no_part_of_a_text() -> None:
    found = opened_as(KeySet(KEYS.keys[0]), "say: Well\nthen it ends:\n")
    assert noted(found) == [
        '2:1: E104 step "a": unknown key "then it ends", without a value '
        "(if it is a part of the text above, indent it further; known keys: say)"
    ]


def test_marks_are_those_of_the_values() -> None:
    found = opened_as(KEYS, "say: 1\nthen: 2\n")
    assert found.mark_of("then") == Mark("f.yml", 2, 7)
    assert found.mark_of("c") == found.mark == Mark("f.yml", 1, 1)


def test_from_a_set_of_keys_follow_its_schema_and_its_texts() -> None:
    keys = KeySet(KeySpec("say", TEMPLATE, "It.", required=True, texts=TEXT), KeySpec("in", as_fields(PAIR), "A map."))
    assert keys.schema()["required"] == ["say"]
    assert keys.schemas["in"]["properties"]["y"]["type"] == "integer"
    assert keys.texts == {"say": TEXT}


def test_a_name_has_64_characters_at_most() -> None:
    for length, fits in ((64, True), (65, False)):
        problems = Problems()
        (node,) = read("f.yml", "a" * length, problems)
        assert (name_of(node, problems, "step") is not None) is fits
