"""Values that fit: each is an answer that its variable takes, or a result that its annotation does."""

import dataclasses
import enum
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import pytest

from bot.checker.exploring.sample_values import (
    lengthened,
    sample_texts,
    value_for_schema,
    values_for_annotation,
    values_for_variable,
)
from bot.language.python.annotations import Arguments, parameters_schema, reader
from bot.language.python.decorators import spec_of
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Map, read
from bot.language.types.type_registry import Answer, InvalidAnswer, Variable, read_variable

NOW = datetime(2030, 5, 6, 10, tzinfo=UTC)


def variable(declared: str) -> Variable:
    problems = Problems()
    (node,) = read("flow.yml", declared, problems)
    assert isinstance(node, Map)
    found = read_variable("it_", node, problems)
    assert not problems, [str(problem) for problem in problems.sorted()]
    return found


def taken(declared: str) -> list[Any]:
    """The values of the answers that the variable takes."""
    declared_variable, values = variable(declared), []
    for text in sample_texts(declared_variable, NOW, large=True):
        try:
            values.append(declared_variable.accept(Answer(text), NOW))
        except InvalidAnswer:
            continue
    return values


@pytest.mark.parametrize(
    "declared",
    [
        "{type: text}", "{type: text, max: 3}", "{type: text, pattern: '[A-Z]{2}\\d{6}'}", "{type: text, example: x}",
        "{type: number}", "{type: number, min: 0.5, max: 0.75}", "{type: choice, of: [a, b]}", "{type: boolean}",
        "{type: date}", "{type: date, after: today, within: 14d}", "{type: date, before: 1990-01-01}",
        "{type: date, after: 2031-12-31}", "{type: datetime, after: now, within: 3d}", "{type: time, min: '9:00'}",
        "{type: time, max: '8:00'}", "{type: email}", "{type: phone}", "{type: phone, country: DE}",
        "{type: integer, check: it % 2 == 0}",
    ],
)  # fmt: skip
def test_whatever_is_asked_for_some_answer_is_taken(declared: str) -> None:
    assert taken(declared)


def test_numbers_are_tried_at_their_bounds_and_beyond_them() -> None:
    assert {*taken("{type: integer, min: 2, max: 9}")} == {2, 5, 9}
    assert "10" in list(sample_texts(variable("{type: integer, min: 2, max: 9}"), NOW))


def test_the_longest_text_that_is_taken_is_among_them() -> None:
    assert max(map(len, taken("{type: text, max: 40}"))) == 40


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@dataclasses.dataclass
class Slot:
    name: str
    url: str
    day: date
    starts: datetime
    size: Size
    state: Literal["free", "taken"]
    seats: int | None = None


def compared(name: str) -> list[Any]:
    return ["gone"] if name == "name" else []


def test_a_handlers_result_is_made_of_its_annotation_and_of_what_flows_compare() -> None:
    slots = [reader(Slot)(value) for value in values_for_annotation(Slot, NOW, compared)]
    assert all(isinstance(slot, Slot) for slot in slots)
    assert {slot.state for slot in slots} == {"free", "taken"}
    assert {slot.size for slot in slots} == {Size.SMALL, Size.LARGE}
    assert "gone" in [slot.name for slot in slots]
    assert slots[0].url.startswith("https://")
    assert [len(each) for each in values_for_annotation(list[Slot], NOW, compared)] == [2, 0]


def test_a_map_of_which_nothing_is_known_is_returned_empty() -> None:
    assert [list(values_for_annotation(kind, NOW, compared)) for kind in (dict, dict[str, Any])] == [[{}], [{}]]


def test_a_list_is_lengthened_wherever_it_is() -> None:
    assert len(lengthened({"a": {"b": [1]}})["a"]["b"]) == 100


@dataclasses.dataclass
class Parcel:
    day: date
    weight: Decimal
    note: str | None = None


@pytest.mark.parametrize(
    "annotation",
    [str, int, float, bool, date, datetime, time, timedelta, Decimal, Parcel, list[Parcel], dict[str, int], date | None,
     Literal["post", "courier"], Any],
)  # fmt: skip
def test_what_a_model_is_made_to_give_a_tool_fits_the_handler(annotation: Any) -> None:
    def ship(it: Any) -> None: ...

    ship.__annotations__["it"] = annotation
    spec = spec_of("ship", ship, "handler")
    schema = parameters_schema(spec, ())
    given = {name: value_for_schema(each, schema.get("$defs", {}), NOW) for name, each in schema["properties"].items()}
    assert Arguments(spec).fitted(given).keys() == {"it"}


def test_a_record_has_values_for_its_declared_fields() -> None:
    fields = (
        "{s: text, n: {type: integer, min: 2}, c: {type: choice, of: [S, M]}, b: boolean, d: date, at: datetime, "
        "t: time, e: email, l: list, o: {type: object, fields: {in: text}}, p: location}"
    )
    found = variable(f"{{type: object, fields: {fields}}}")
    (value,) = values_for_variable(found, NOW, {})
    assert found.coerce(value, NOW) is not None
    assert [name for name in value if value[name] is None] == ["p"], "nothing that is written is a place"
