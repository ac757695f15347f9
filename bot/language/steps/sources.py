"""The sources of a model's answer: each value in it must stand in one of them."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple

from bot.language.answers.promises import promises_in
from bot.language.answers.stated_values import (
    CODES,
    DATES,
    NUMBERS,
    PRICES,
    TIMES,
    Meaning,
    Stated,
    is_daily,
    items_in,
    language_of,
    stated_as,
    stated_in,
)
from bot.language.source.languages import ENGLISH
from bot.language.source.wall_clock import A_DAY
from bot.language.source.word_matching import normalise
from bot.language.steps.output_guard import without_addresses

PROMISES, PRODUCTS = "promises", "products"
KINDS = (NUMBERS, PRICES, DATES, TIMES, CODES, PROMISES, PRODUCTS)
MOST_AMOUNTS = 60  # sourced amounts that are added and multiplied
MOST_TIMES = 100  # a multiple of an amount
MOST_DAYS = 3660  # between two days of which one has a source
MOST_VALUES = 200  # of an answer, or of what the bot said
MOST_HEARD = 60  # of what the contact wrote
MOST_RESULTS = 500  # values of a tool's result
_WEEK = 7


class Unsupported(NamedTuple):
    """A value that no source has: its kind, and how the text writes it."""

    kind: str
    written: str


class Sources:
    """The texts that the values of an answer may come from.

    ``ours`` are those of the flow and its facts, ``promised`` those of them in which promises count, ``results``
    those of tools, ``said`` what the bot said before, ``heard`` what the contact wrote: from it come no prices and no
    promises.
    """

    def __init__(
        self,
        ours: Iterable[str],
        promised: Iterable[str],
        results: Iterable[str],
        said: Iterable[str],
        heard: Iterable[str],
        language: str,
        now: datetime,
    ) -> None:
        self._ours, self._promised, self._results = tuple(ours), tuple(promised), tuple(results)
        self._said, self._heard = tuple(said), tuple(heard)
        self._language = language
        self._today = now.date()
        self._now = now

    def lacking(
        self, text: str, kinds: Iterable[str], products: Sequence[str] = (), *, sums: bool = False
    ) -> list[Unsupported]:
        """The values of these kinds in a text that no source has. ``sums`` of sourced amounts have one."""
        wanted = frozenset(kinds)
        stated = stated_in(without_addresses(text), self._language, self._today, MOST_VALUES)
        found = [
            Unsupported(value.kind, value.written)
            for value in stated
            if value.kind in wanted and not self._has(value, text, sums=sums)
        ]
        if len(stated) == MOST_VALUES:
            found.append(Unsupported(stated[-1].kind, f"{MOST_VALUES} values or more"))
        if PROMISES in wanted and (promised := promises_in(text)):
            found += [Unsupported(PROMISES, words) for kind, words in promised.items() if kind not in self._promises]
        if PRODUCTS in wanted:
            said = _names_in(text, products) - _names_in(
                "\n".join((*self._ours, *self._results, *self._said, *self._heard)), products
            )
            found += [Unsupported(PRODUCTS, name) for name in products if name in said]
        return list(dict.fromkeys(found))

    def _has(self, value: Stated, text: str, *, sums: bool) -> bool:
        known = self._by_us | self._by_bot if value.kind == PRICES else self._all
        if not value.means.isdisjoint(known):
            return True
        if value.kind == NUMBERS and ("number", Decimal(items_in(text))) in value.means:
            return True
        return sums and any(self._is_sum(meaning, known) for meaning in value.means)

    def _is_sum(self, meaning: Meaning, known: frozenset[Meaning]) -> bool:
        """True for a sum, a difference or a multiple of amounts, and for days and times that are so far apart."""
        name, value = meaning
        if name == "day":
            days = {int(count) for kind, count in known if kind == "days" and 0 < count <= MOST_DAYS}
            return any(value - timedelta(days=count) in {day for kind, day in known if kind == "day"} for count in days)
        if name == "time":
            spans = {int(count) for kind, count in known if kind == "minutes"}
            return any(("time", (value - span) % A_DAY) in known for span in spans)
        if name in ("days", "minutes"):
            moments = {
                day.toordinal() if kind == "day" else day
                for kind, day in known
                if kind == ("day" if name == "days" else "time")
            }
            if any(moment + value in moments for moment in moments):
                return True
        if name not in ("price", "number", "days", "minutes", "months"):
            return False
        if name == "price":
            value, currency = value
            amounts = {each[1][0] for each in known if each[0] == "price" and each[1][1] == currency}
            amounts |= {each[1] for each in known if each[0] == "plain"}
        else:
            amounts = {each[1] for each in known if each[0] == name}
        counts = {
            each[1] for each in known if each[0] == "number" and each[1] == int(each[1]) and 1 < each[1] <= MOST_TIMES
        }
        return _is_of(value, sorted(amounts)[:MOST_AMOUNTS], sorted(counts)[:MOST_AMOUNTS])

    @cached_property
    def _by_us(self) -> frozenset[Meaning]:
        moment = {
            ("day", self._today),
            ("time", self._now.hour * 60 + self._now.minute),
            ("number", Decimal(self._now.year)),
        }
        return self._support_of(self._ours, None) | self._support_of(self._results, MOST_RESULTS) | moment

    @cached_property
    def _by_bot(self) -> frozenset[Meaning]:
        """The values that the bot said before, without numbers that measured nothing: these are no prices by that."""
        return frozenset(meaning for meaning in self._support_of(self._said) if meaning[0] != "plain")

    @cached_property
    def _all(self) -> frozenset[Meaning]:
        return self._by_us | self._support_of(self._said) | self._support_of(self._heard, MOST_HEARD)

    @cached_property
    def _promises(self) -> frozenset[str]:
        return frozenset(kind for text in (*self._promised, *self._results, *self._said) for kind in _promised(text))

    def _support_of(self, texts: Iterable[str], most: int | None = MOST_VALUES) -> frozenset[Meaning]:
        return frozenset[Meaning]().union(*(_supported(text, self._language, self._today, most) for text in texts))


def _is_of(value: Decimal, amounts: Sequence[Decimal], counts: Sequence[Decimal]) -> bool:
    terms = {*amounts, *(amount * count for amount in amounts for count in counts)}
    return value in terms or any(value - term in terms or value + term in terms for term in terms)


@lru_cache(maxsize=1024)
def _supported(text: str, language: str, today: date, most: int | None) -> frozenset[Meaning]:
    """The meanings that a source supports, in its own language, the usual one and English. Lengths of lists count."""
    found: set[Meaning] = set()
    readings = (stated_as(text, each, today, most) for each in (language_of(text, language), language, ENGLISH))
    for value in chain.from_iterable(dict.fromkeys(readings)):
        found |= value.supports
    if is_daily(text):
        found |= {(name, day) for name in ("weekday", "each") for day in range(_WEEK)}
    return frozenset(found | {("number", Decimal(count)) for count in _lengths(text)})


@lru_cache(maxsize=256)
def _promised(text: str) -> frozenset[str]:
    return frozenset(promises_in(text))


def _lengths(text: str) -> Iterator[int]:
    """The lengths of the lists in a tool's result."""
    if text[:1] not in ("[", "{"):
        return
    try:
        waiting: list[Any] = [json.loads(text)]
    except ValueError:
        return
    while waiting:
        match waiting.pop():
            case list() as items:
                yield len(items)
                waiting += items
            case dict() as fields:
                waiting += fields.values()


def _names_in(text: str, names: Iterable[str]) -> frozenset[str]:
    """The names that stand in a text, whatever capitals and signs they are written with."""
    plain = f" {normalise(text)} "
    return frozenset(name for name in names if f" {normalise(name)} " in plain)
