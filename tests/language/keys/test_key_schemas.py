"""How what keys take is put together: what it allows, and that an editor complains of the right place."""

from typing import Any

import pytest
from jsonschema import Draft7Validator

from bot.language.keys import declared_keys
from bot.language.keys.key_schemas import (
    ANY_TEXT,
    EMPTY,
    Schema,
    by_key,
    by_value,
    either,
    not_suggested,
    one_or_several,
    record,
    shared,
    takes,
    whole,
    with_key,
)

BOOLEAN = declared_keys.BOOLEAN.schema


def choice(*words: str) -> Schema:
    return declared_keys.one_of(*words).schema


def integer(least: int | None = None) -> Schema:
    return declared_keys.integer(least).schema


TRANSITION = shared("transition", either(choice("end"), record({"say": ANY_TEXT}, "say")))
STEP = by_key(
    {"say": record({"say": ANY_TEXT, "max": integer(1)}), "set": record({"set": BOOLEAN})}, "one verb: say, set"
)
TYPE = choice("text", "list")
TYPES = {"text": record({"type": TYPE}), "list": record({"type": TYPE, "max": integer()})}
VARIABLE = by_value("type", TYPES, record({"type": choice("own"), "keep": BOOLEAN}))
MADE = with_key("from", record({"from": ANY_TEXT}), record({"a": BOOLEAN}))


@pytest.mark.parametrize(
    ("schema", "allowed", "refused"),
    [
        (ANY_TEXT, ["a", "", 1, 2.5, True], [None, [], {}]),
        (EMPTY, [None], ["", 0, False, [], {}]),
        (one_or_several(ANY_TEXT), ["a", 1, ["a", 1], []], [None, [[]], {}]),
        (TRANSITION, ["end", {"say": "x"}], ["ende", {}, {"sya": "x"}, ["end"]]),
        (one_or_several(TRANSITION), ["end", ["end", {"say": "x"}]], [[{"sya": "x"}], {"sya": "x"}]),
        (STEP, [{"say": "x"}, {"say": "x", "max": 2}, {"set": True}], [{}, {"max": 1}, {"set": True, "max": 1}, {"say": "x", "set": True}]),
        (
            VARIABLE,
            [{"type": "text"}, {"type": "list", "max": 3}, {"type": "own", "keep": True}],
            [{}, {"type": "text", "max": 3}, {"type": "lst"}, {"type": "own", "max": 3}],
        ),
        (MADE, [{"from": "x"}, {"a": True}, {}], [{"from": "x", "a": True}, {"b": True}]),
    ],
)  # fmt: skip
def test_a_value_is_allowed_or_refused(schema: Schema, allowed: list[Any], refused: list[Any]) -> None:
    validator = Draft7Validator(whole(schema))
    assert [value for value in allowed if not validator.is_valid(value)] == []
    assert [value for value in refused if validator.is_valid(value)] == []


def test_what_is_wrong_within_a_map_is_said_of_that_map() -> None:
    (error,) = Draft7Validator(whole(TRANSITION)).iter_errors({"say": "x", "sya": "y"})
    assert error.message.startswith("Additional properties are not allowed ('sya'")
    (error,) = Draft7Validator(whole(STEP)).iter_errors({"say": "x", "max": 0})
    assert (list(error.path), error.message) == (["max"], "0 is less than the minimum of 1")


def test_what_is_shared_stands_once() -> None:
    found = whole(record({"then": takes(TRANSITION, "Where to."), "else": TRANSITION}))
    assert found["properties"]["then"] == {"$ref": "#/definitions/transition", "description": "Where to."}
    assert found["properties"]["else"] == {"$ref": "#/definitions/transition"}
    assert set(found["definitions"]) == {"transition", "text"}


def test_what_is_not_to_be_offered_stands_without_a_reference() -> None:
    assert {"doNotSuggest": True}.items() <= not_suggested(ANY_TEXT).items()
    assert "$ref" not in not_suggested(ANY_TEXT), "beside it, language servers leave out what they do not know"
