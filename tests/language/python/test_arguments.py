"""What a handler is called with, held against its annotations."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import Field

from bot import handler
from bot.core.values import Record
from bot.language.python.annotations import Arguments, BadArgument
from bot.language.python.gathered import extensions_in

SECRET = "postgres://admin@db.example"


@dataclass
class Card:
    number: str

    def __post_init__(self) -> None:
        if self.number == "0":
            raise ValueError(SECRET)
        {"1": "good"}[self.number]


@handler("pay")
def pay(amount: int, day: date | None = None, card: Card | None = None, more: Any = None) -> None:
    """Pay."""


def arguments() -> Arguments:
    return Arguments(extensions_in([{"pay": pay}]).calls["pay"])


def test_each_value_becomes_what_the_annotation_says() -> None:
    assert arguments().fitted({"amount": "7", "day": "2030-05-12", "card": {"number": "1"}}) == {
        "amount": 7,
        "day": date(2030, 5, 12),
        "card": Card("1"),
    }


def test_a_type_that_is_annotated_takes_what_its_pattern_takes_and_null_where_its_type_does() -> None:
    @handler("find")
    def find(
        number: Annotated[str | None, Field(pattern=r"^[A-Z]{2}\d{6}$")], kept: Annotated[Record, "a note"]
    ) -> None:
        """Find."""

    spec = extensions_in([{"find": find}]).calls["find"]
    record = Record("order", {})
    assert Arguments(spec).fitted({"number": "AB123456", "kept": record})["number"] == "AB123456"
    with pytest.raises(BadArgument, match="pattern"):
        Arguments(spec).fitted({"number": "' OR 1=1 --", "kept": record})
    assert spec.parameters["number"].takes_null and not spec.parameters["kept"].takes_null


def test_what_is_given_is_never_handed_out_itself() -> None:
    given = {"amount": 1, "more": [1]}
    arguments().fitted(given)["more"].append(2)
    assert given == {"amount": 1, "more": [1]}


@pytest.mark.parametrize(
    ("given", "name", "why"),
    [
        ({}, "amount", "the argument amount is missing"),
        ({"amount": 1, "what": 2}, "what", "no such argument: what"),
        ({"amount": "x"}, "amount", "the argument amount: Input should be a valid integer, unable to parse string as an integer"),
        ({"amount": 1, "card": {}}, "card", "the argument card.number: Field required"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(given: dict[str, Any], name: str, why: str) -> None:
    with pytest.raises(BadArgument) as raised:
        arguments().fitted(given)
    assert (raised.value.name, str(raised.value)) == (name, why)


@pytest.mark.parametrize(("number", "text"), [("0", SECRET), ("secret", "secret")])
def test_what_an_annotations_own_python_raises_is_for_the_trace_alone(number: str, text: str) -> None:
    with pytest.raises(BadArgument) as raised:
        arguments().fitted({"amount": 1, "card": {"number": number}})
    assert str(raised.value) == "the argument card: it is not taken"
    assert text in raised.value.detail
