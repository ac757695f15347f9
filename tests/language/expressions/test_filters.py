"""Filters: what they do at their edges. An example of each is in docs/language/data.md."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.core.values import Record
from bot.language.expressions.filters import DRAW
from bot.language.expressions.templates import TemplateFailed, compile_expression
from bot.language.source.problems import Mark, Problems

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2030, 3, 30, 12, tzinfo=BERLIN)  # the day before summer time
SCOPE: dict[str, Any] = {
    "now": NOW,
    "today": NOW.date(),
    "nothing": None,
    "names": ["bo", "Ann", "äl", None],
    "orders": [Record("Order", {"n": 1, "total": 0.1}), {"n": 2, "total": None}, {"n": 3}],
    "rows": [
        {"id": "a", "left": 2, "price": 3},
        {"id": "b", "left": 0, "price": 4},
        {"id": "c", "left": 3, "price": 2.5},
    ],
    "least": 3,
    "other": {"left": 9},
    "key": "spare",
    "many": list(range(9_000)),
    "long": "x" * 40_000,
    "leap": date(2028, 2, 29),
    "utc": datetime(2030, 3, 30, 23, 30, tzinfo=UTC),
    "card": "4111",
    DRAW: lambda: 0.0,
}


def value(source: str) -> Any:
    problems = Problems()
    expression = compile_expression(source, Mark("f.yml", 1, 1), problems)
    assert problems.sorted() == []
    return expression.evaluate(SCOPE)


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("nothing | append(1)", [1]),
        ("names | sort", ["äl", "Ann", "bo", None]),
        ("orders | sort('total') | map('n')", [1, 2, 3]),
        ("orders | map('total')", [Decimal("0.1"), None, None]),
        ("orders | where('total', none) | map('n')", [2, 3]),
        ("orders | find('n', 4)", None),
        ("orders | sum('total')", Decimal("0.1")),
        ("[] | sum", 0),
        ("nothing | max", None),
        ("orders | max('total')", Decimal("0.1")),
        ("[1, 1.0, '1', {'a': 1}, {'a': 1}, {'a': 2}] | unique", [1, "1", {"a": 1}, {"a": 2}]),
        ("nothing | merge({'a': 1})", {"a": 1}),
        ("[{'a': 1}, {'a': 2}] | update(true, {'a': it.a + 1}) | map('a')", [2, 3]),
        ("[{'a': 1}] | update(false, {'a': 2}) | map('a')", [1]),
        ("[[1, 2], none, 3, [[4]]] | flatten", [1, 2, 3, [4]]),
        ("nothing | flatten", []),
        ("orders[0] | merge({'n': 9})", {"n": 9, "total": 0.1}),
        ("nothing | keys", []),
        ("'a  b' | split", ["a", "b"]),
        ("'a,,b,' | split(',')", ["a", "b"]),
        ("'aaa' | replace('a', 'bb')", "bbbbbb"),
        ("'a' | replace('', 'b')", "a"),
        ("'ä/?' | urlencode", "%C3%A4%2F%3F"),
        ("'-1.50' | as_number", Decimal("-1.50")),
        ("3 | as_number", 3),
        ("leap | add_months(12)", date(2029, 2, 28)),
        ("leap | add_months(-1)", date(2028, 1, 29)),
        ("leap | age", 2),
        ("utc | weekday", "sunday"),
        ("utc | days_until", 1),
        ("today | start_of('year')", date(2030, 1, 1)),
        ("'2030-05-12T15:00Z' | as_date", date(2030, 5, 12)),
        ("'2030-05-12T23:00-05:00' | as_date", date(2030, 5, 13)),
        ("utc | as_date", date(2030, 3, 31)),
        ("utc | utc", "2030-03-30T23:30:00Z"),
        ("'2030-05-12' | as_datetime", datetime(2030, 5, 12, tzinfo=BERLIN)),
        ("[3, 4] | pick", 3),
        ("nothing | pick", None),
        ("nothing | shuffle", []),
        ("nothing | csv", ""),
        ("['a', none, -2] | csv", "a\n\n-2\n"),
        ("[['a,b', none], ['say \"x\"', ' y']] | csv", '"a,b",\n"say ""x"""," y"\n'),
        ("[{'a': 1}, {'b': '=1+1'}, 3] | csv", "a,b\n1,\n,'=1+1\n3\n"),
    ],
)
def test_a_filter_at_its_edges(source: str, result: Any) -> None:
    assert value(source) == result


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("orders | map('m')", "no element has this field; there are: n, total"),
        ("orders | map(card)", "no element has this field; there are: n, total"),
        ("card | append(1)", "a text is no list"),
        ("['a', 1] | sort", "a number and a text cannot be used like this"),
        ("[card] | sum", "a text cannot be added up"),
        ("card | merge({'a': 1})", "a text is no record"),
        ("card | replace(1, 'a')", "a number is no text"),
        ("long | replace('x', 'xx')", "a text longer than 65536 characters"),
        ("[long, long] | csv", "a text longer than 65536 characters"),
        ("'nan' | as_number", "this text is no number"),
        ("'1e999999' | as_number", "this text is no number"),
        ("card | as_date", "a text is no date, or not written like 2030-05-12"),
        ("today | at('25:00')", 'at() takes a time of day like "15:00", not a text'),
        ("today | start_of('day')", 'start_of() takes "week", "month" or "year"'),
        ("today | add_months(1.5)", "add_months() takes a whole number, not a number"),
        ("today | add_months(99999)", "a value does not fit here"),
        ("many | append(1) | reverse", "loops and filters read more than 10000 elements"),
    ],
)
def test_a_filter_fails_in_words(source: str, reason: str) -> None:
    with pytest.raises(TemplateFailed) as failed:
        value(source)
    assert str(failed.value) == f"f.yml:1:1: {reason}"


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("rows | where(it.left > 0) | map('id')", ["a", "c"]),
        ("rows | reject(it.left > 0) | map('id')", ["b"]),
        ("rows | where(it.left) | map('id')", ["a", "c"]),
        ("(rows | find(it.left > 2)).id", "c"),
        ("rows | find(it.left > 9)", None),
        ("rows | sum(it.left * it.price)", Decimal("13.5")),
        ("rows | map(it.left + 1)", [3, 1, 4]),
        ("rows | map({'n': it.id, 'total': it.left * it.price}) | last", {"n": "c", "total": Decimal("7.5")}),
        ("rows | map({'one': 1}) | length", 3),
        ("rows | sort(-it.left) | map('id')", ["c", "a", "b"]),
        ("rows | sort([it.price > 2.6, it.id]) | map('id')", ["c", "a", "b"]),
        ("rows | max(it.left * it.price)", Decimal("7.5")),
        ("rows | min(it.left * it.price)", 0),
        ("rows | unique(it.left > 0) | map('id')", ["a", "b"]),
        ("nothing | where(it.left > 0)", []),
        ("rows | where(it.left >= least) | map('id')", ["c"]),
        ("[[1, 2], [3]] | map(it | sum)", [3, 3]),
        ("[[1, 2], [3]] | map(it | where(it > 1) | length)", [1, 1]),
        ("rows | update(it.id == 'b', {'left': it.left + 5}) | map('left')", [2, 5, 3]),
        ("rows | update(it.id == 'b', {'left': 7}) | sum('left')", 12),
        ("rows | update(it.id == 'b', other) | map('left')", [2, 9, 3]),
        ("rows | update(it.id == 'z', {'left': 7}) | map('left')", [2, 0, 3]),
        ("(other | put(key, 4)).spare", 4),
        ("nothing | put(key, 4) | keys", ["spare"]),
        ("2.7 | floor", 2), ("-2.1 | floor", -3), ("2.1 | ceil", 3), ("-2.7 | ceil", -2), ("3 | floor", 3),
        ("'AB12' | matches('[A-Z]{2}[0-9]{2}')", True),
        ("'AB12x' | matches('[A-Z]{2}[0-9]{2}')", False),
        ("12 | matches('[0-9]+')", True),
        ("nothing | matches('[0-9]+')", False),
    ],
)  # fmt: skip
def test_an_expression_is_evaluated_for_each_element(source: str, result: Any) -> None:
    assert value(source) == result


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("rows | where(it.left > nothing)", "a number and null cannot be used like this"),
        ("rows | map(it.nix)", "no element has this field; there are: id, left, price"),
        ("rows | sum(it.id)", "a text cannot be added up"),
        (
            "rows | update('id', {'a': 1})",
            'update() takes a condition about it, like update(it.sku == sku, {"count": 2}), or true',
        ),
        ("[1] | update(it == 1, {'a': 1})", "a number is no record"),
        ("other | put(3, 4)", "put() takes a text as the name, not a number"),
        ("'x' | floor", "a text is no number"),
        ("many | where(it + 1 > 0) | where(it > 1)", "loops and filters read more than 10000 elements"),
    ],
)
def test_an_expression_for_each_element_fails_in_words(source: str, reason: str) -> None:
    with pytest.raises(TemplateFailed) as failed:
        value(source)
    assert str(failed.value) == f"f.yml:1:1: {reason}"


@pytest.mark.parametrize(
    ("source", "results"),
    [
        ("{0}7 // {1}2", {"": 3, "-": -4, " -": -4, "--": 3}),
        ("{0}7 % {1}2", {"": 1, "-": 1, " -": -1, "--": -1}),
        ("{0}6 // {1}2", {"": 3, "-": -3, " -": -3, "--": 3}),
        ("{0}6 % {1}2", {"": 0, "-": 0, " -": 0, "--": 0}),
    ],
)
def test_a_quotient_is_rounded_down_and_the_rest_has_the_sign_of_the_divisor_whatever_the_type(
    source: str, results: dict[str, int]
) -> None:
    for signs, result in results.items():
        plain = source.format(*{"": "  ", "-": "- ", " -": " -", "--": "--"}[signs])
        assert value(plain) == result, plain
        assert value(plain.replace("7", "7.0").replace("6", "6.0")) == result, plain
        assert value(plain.replace(" 2", " 2.0").replace("-2", "-2.0")) == result, plain
        days = value(plain.replace("7", "days(7)").replace("6", "days(6)").replace("2", "days(2)"))
        assert (days if isinstance(days, int) else days.days) == result, plain


def test_a_duration_is_divided_by_any_number() -> None:
    assert value("minutes(5) / 2") == value("minutes(5) / 2.0") == value("minutes(2.5)")
    assert value("minutes(5) // 2") == value("minutes(5) // 2.0") == value("minutes(2.5)")
    assert value("minutes(-5) // 2.5") == value("minutes(-2)")


@pytest.mark.parametrize(
    ("source", "moment"),
    [
        ("now + days(1)", "2030-03-31T12:00:00+02:00"),
        ("now + hours(23)", "2030-03-31T12:00:00+02:00"),
        ("now + hours(15)", "2030-03-31T04:00:00+02:00"),
        ("hours(15) + now", "2030-03-31T04:00:00+02:00"),
        ("(now + days(1)) - days(1)", "2030-03-30T12:00:00+01:00"),
        ("(now + days(1)) - hours(23)", "2030-03-30T12:00:00+01:00"),
        ("utc + days(1)", "2030-04-01T00:30:00+02:00"),
        ("'2030-03-31' | as_date | at('2:30')", "2030-03-31T03:30:00+02:00"),
    ],
)
def test_days_go_by_the_calendar_and_hours_by_the_clock(source: str, moment: str) -> None:
    assert value(source).isoformat() == moment


def test_between_two_times_lies_what_the_clock_has_run() -> None:
    assert value("(now + days(1)) - now").total_seconds() == 23 * 3600


def test_no_filter_changes_what_it_is_given() -> None:
    before = list(SCOPE["names"])
    value("names | append(1) | reverse | without('bo')")
    assert SCOPE["names"] == before
    assert value("{'a': 1}") == {"a": 1}


def test_a_number_of_many_digits_is_rounded_like_any_other() -> None:
    assert value("'1234567890123456789012345678901.255' | as_number | round(2)") == Decimal(
        "1234567890123456789012345678901.26"
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('["a", "b"] | map(loop.index ~ it)', ["1a", "2b"]),
        ('["a", "b", "c"] | where(not loop.first)', ["b", "c"]),
        ('["a", "b"] | map({"no": loop.index, "last": loop.last})', [{"no": 1, "last": False}, {"no": 2, "last": True}]),
        ('[{"n": 1}, {"n": 5}] | update(it.n > 1, {"n": loop.index})', [{"n": 1}, {"n": 2}]),
        ('[["a"], ["b", "c"]] | map(it | map(loop.index ~ it) | join)', ["1a", "1b, 2c"]),
    ],
)  # fmt: skip
def test_an_expression_about_an_element_knows_its_place(source: str, expected: object) -> None:
    assert value(source) == expected
