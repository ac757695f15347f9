"""What Python code returned, as values that a conversation can keep; what is too large is no such value."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from bot.core.values import Record, UnstorableValue, plain

MOST_LEVELS = 50
MOST_VALUES = 50_000


class State(Enum):
    OPEN = "open"


@dataclass
class Order:
    state: State
    items: tuple[str, ...]


def doubled(times: int, value: Any) -> Any:
    """A small value that is huge when it is spread out: each level holds the one below it twice."""
    for _ in range(times):
        value = [value, value]
    return value


def test_python_values_become_what_a_conversation_keeps() -> None:
    assert plain([Order(State.OPEN, ("a",)), {1: {"b", "a"}}]) == [
        Record("Order", {"state": "open", "items": ["a"]}),
        {"1": ["a", "b"]},
    ]


@pytest.mark.parametrize(
    "value",
    [
        doubled(40, "x"),
        doubled(40, Record("Node", {"x": 1})),
        Record("Node", {"x": doubled(40, 1)}),
        [["x" * 10_000] * 100] * 100,
        [{"x" * 100_000: 1}] * 100,
        [0] * MOST_VALUES,
    ],
    ids=["a list in itself", "records", "in a record", "texts", "names", "elements"],
)
def test_what_is_too_large_when_it_is_spread_out_is_no_value(value: Any) -> None:
    with pytest.raises(UnstorableValue, match="it has more than 50000 values or as much text"):
        plain(value)


def test_what_is_nested_too_deeply_is_no_value() -> None:
    value: Any = 1
    for _ in range(MOST_LEVELS):
        value = [value]
    assert plain(value) == value
    with pytest.raises(UnstorableValue, match="more than 50 levels"):
        plain([value])


def test_what_is_just_small_enough_is_kept() -> None:
    assert len(plain([0] * (MOST_VALUES - 1))) == MOST_VALUES - 1
