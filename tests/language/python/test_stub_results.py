"""What is written in place of a handler's result is read by its annotation."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from bot import handler
from bot.core.values import Record
from bot.language.python.annotations import Results, reader
from bot.language.python.gathered import extensions_in


@dataclass
class Slot:
    day: date
    price: Decimal


@handler("free")
def free() -> list[Slot]:
    """Slots."""
    return []


@pytest.mark.parametrize(
    ("annotation", "written", "read"),
    [
        (date, "2030-05-12", date(2030, 5, 12)),
        (datetime | None, "2030-05-12T15:00", datetime(2030, 5, 12, 15)),
        (datetime | None, None, None),
        (Slot, {"day": "2030-05-12", "price": 9.9}, Slot(date(2030, 5, 12), Decimal("9.9"))),
        (list[Slot], [{"day": "2030-05-12", "price": 1}], [Slot(date(2030, 5, 12), Decimal(1))]),
        (Any, {"day": "2030-05-12"}, {"day": "2030-05-12"}),
    ],
)
def test_a_value_is_what_its_annotation_says(annotation: Any, written: Any, read: Any) -> None:
    assert reader(annotation)(written) == read


@pytest.mark.parametrize("annotation", [Slot, Record, int])
def test_what_does_not_fit_or_of_which_nothing_is_known_stays_as_it_is(annotation: Any) -> None:
    assert reader(annotation)({"state": "new"}) == {"state": "new"}


def test_a_dataclass_comes_to_a_conversation_as_a_record() -> None:
    results = Results(extensions_in([{"free": free}]))
    (slot,) = results.of("free", [{"day": "2030-05-12", "price": 9.9}])
    assert slot == Record("Slot", {"day": date(2030, 5, 12), "price": Decimal("9.9")})
    assert results.of("another", {"a": 1}) == {"a": 1}
