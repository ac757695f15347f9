"""The café's own part: its prices and its tables. Plain functions, called by `call` steps."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from bot import handler

PRICES = {"espresso": Decimal("1.20"), "flat_white": Decimal("2.50"), "tea": Decimal("1.80")}
NAMES = {"espresso": "espresso", "flat_white": "flat white", "tea": "tea"}
SOLD_OUT: set[str] = set()
SEATS = 8


class SoldOut(LookupError):
    """The drink cannot be had today."""


@dataclass
class Order:
    """A priced order. ``total`` is in euros."""

    name: str
    cups: int
    total: Decimal
    minutes: int


@handler("cafe.price", errors=[SoldOut])
def price(drink: str, cups: int) -> Order:
    """What some cups of a drink cost, and how long they take."""
    if drink in SOLD_OUT:
        raise SoldOut(drink)
    return Order(NAMES[drink], cups, PRICES[drink] * cups, 2 + cups)


@handler("cafe.free_tables")
def free_tables(day: date, guests: int) -> list[str]:
    """The times at which a table is free; none for parties larger than our largest table."""
    if guests > SEATS:
        return []
    return ["12:00", "13:30"] if day.weekday() >= 5 else ["08:30", "12:00", "17:00"]
