"""What null does in texts and expressions, and what conditions come to, before any value is known."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.values import Media
from bot.language.expressions.abstract_evaluation import of_null, takes, takes_null
from bot.language.expressions.abstract_texts import AbstractText, Evaluation
from bot.language.expressions.abstract_values import ANYTHING, LOST, AbstractValues, ValueKind, just, some
from bot.language.expressions.filters import DRAW, FILTERS, FUNCTIONS, drawn
from bot.language.expressions.templates import (
    Expression,
    Template,
    TemplateFailed,
    compile_expression,
    compile_template,
)
from bot.language.source.problems import Mark, Problems

MARK = Mark("f.yml", 1, 1)
NOW = datetime(2030, 5, 6, 10, tzinfo=ZoneInfo("Europe/London"))
NULL = {"x": frozenset({LOST})}
BRACKETS = {"append": "(1)", "replace": '("a", "b")', "at": '("9:00")', "add_months": "(1)", "start_of": '("week")',
            "currency": '("EUR")', "map": '("a")', "where": '("a")', "reject": '("a")', "find": '("a")', "without": "(1)",
            "merge": "({})", "put": "('b', 2)", "update": "(it == 3, {})", "matches": "('[0-9]')"}  # fmt: skip
SCOPE = {"x": None, "y": 2, "now": NOW, "today": NOW.date(), "contact": {"id": "1"}, DRAW: lambda: drawn("")}


def text(source: str) -> Template:
    problems = Problems()
    template = compile_template(source, MARK, problems)
    assert not problems.sorted(), problems.sorted()
    return template


def expression(source: str) -> Expression:
    problems = Problems()
    found = compile_expression(source, MARK, problems)
    assert not problems.sorted(), problems.sorted()
    return found


def reading(source: str, known: Mapping[str, AbstractValues] = NULL) -> Evaluation:
    return AbstractText(text(source)).evaluate(known, shown=True)


def truths(source: str, **known: AbstractValues) -> set[bool]:
    return set(AbstractText(expression(source)).evaluate(known).truths)


@pytest.mark.parametrize(
    "source",
    ["Hi {{ x }}.", "{{ x }}", "{{ x | upper }}", "{{ 'Hi ' ~ x }}", "{{ x if y else 'b' }}", "{{ y or x }}",
     "{% if y %}{{ x }}{% endif %}", "{{ x | first }}", "{% for e in [1] %}{{ x }}{% endfor %}"],
)  # fmt: skip
def test_null_leaves_a_hole_in(source: str) -> None:
    assert reading(source).hole
    assert not reading(source).fails


@pytest.mark.parametrize(
    "source",
    ["{{ x + 1 }}", "{{ -x }}", "{{ x < 3 }}", "{{ x.name }}", "{{ x['name'] }}", "{{ x | date }}", "{{ x | round }}",
     "{{ 'a' in x }}", "{{ x in 'abc' }}", "{{ minutes(x) }}", "{{ 'a' | replace('a', x) }}", "{{ (x | first).name }}",
     "{{ 2 if y else x.name }}", "{{ 'a' ~ x.name }}", "{{ [x.name] }}", "{{ own(x.name) }}", "{{ [1] | where(it > x) }}",
     "{{ [1] | map({'a': it + x}) }}"],
)  # fmt: skip
def test_null_fails_in(source: str) -> None:
    assert reading(source).fails


@pytest.mark.parametrize(
    "source",
    ["{{ x | default('you') }}", "{{ x or 'you' }}", "{% if x %}{{ x }}{% endif %}", "{{ x if x else 'you' }}",
     "{% if x is none %}-{% else %}{{ x }}{% endif %}", "{% if x and x.name %}{{ x.name }}{% endif %}", "{{ x == 3 }}",
     "{{ x.name | default('you') }}", "{% if x.name is defined %}{{ x.name }}{% endif %}", "{{ x | length }}",
     "{% for e in x %}{{ e }}{% else %}none{% endfor %}", "{{ x | join(', ') }}", "{{ x in [1, none] }}", "{{ own(x) }}",
     "{{ [1] | where(it != x) }}", "{{ x | sum(it.a * it.b) }}", "{% if not x %}-{% elif x > 3 %}many{% endif %}", "{{ x | upper | default('you') }}", "{{ x is none or x > 3 }}",
     "{% if z and x and z > x %}-{% endif %}", "{{ not (z and x) or z > x }}", "{{ not z or not x or z > x }}"],
)  # fmt: skip
def test_null_does_no_harm_in(source: str) -> None:
    assert not reading(source).hole
    assert not reading(source).fails


def test_an_expression_alone_passes_null_on() -> None:
    found = AbstractText(text("{{ x }}")).evaluate(NULL)
    assert found.nothing
    assert not found.hole


def test_what_always_fails_has_no_value() -> None:
    assert not AbstractText(text("{{ x + 1 }}")).evaluate(NULL).values
    assert AbstractText(text("{{ x + 1 if y else 2 }}")).evaluate(NULL).values


@pytest.mark.parametrize("name", sorted(FILTERS.keys() - {"default"}))
def test_it_is_known_which_filters_take_null(name: str) -> None:
    try:
        made: Any = expression(f"x | {name}{BRACKETS.get(name, '')}").evaluate(SCOPE)
    except TemplateFailed:
        assert not of_null(name)
    else:
        (case,) = of_null(name)
        assert case.kind in (just(made).kind, ValueKind.ANY)
        assert case.lost == (made is None or (made == "" and name not in ("csv", "join")))


OF_KINDS: tuple[Any, ...] = (
    True, 2, "a", date(2030, 5, 12), NOW, time(9), timedelta(hours=1), [1], {"a": 1}, Media("image", "https://x.example/1"),
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(FILTERS.keys() - {"default"}))
def test_a_filter_fails_with_every_value_that_is_none_of_its_kinds(name: str) -> None:
    for value in OF_KINDS:
        if just(value).kind not in takes(name):
            with pytest.raises(TemplateFailed):
                expression(f"x | {name}{BRACKETS.get(name, '')}").evaluate({**SCOPE, "x": value})


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "**"])
def test_what_two_kinds_of_values_make_is_known(sign: str) -> None:
    reads = AbstractText(found := expression(f"x {sign} y"))
    for x, y in product((*OF_KINDS, Decimal("2.5")), repeat=2):
        kinds = {name: some(just(value).kind) for name, value in (("x", x), ("y", y))}
        one_unknown = [{**kinds, name: ANYTHING} for name in kinds]
        try:
            made = just(found.evaluate({**SCOPE, "x": x, "y": y})).kind
        except TemplateFailed:
            continue
        for known in (kinds, *one_unknown):
            assert {each.kind for each in reads.evaluate(known).values} & {made, ValueKind.ANY}, (x, y)


ARGUMENTS = {
    "append": "[1] | append(x)", "where": "[{'a': 1}] | where('a', x)", "reject": "[{'a': 1}] | reject('a', x)",
    "find": "[{'a': 1}] | find('a', x)", "without": "[1] | without(x)", "merge": "{'a': 1} | merge(x)",
    "map": "[1] | map(x)", "sort": "[2, 1] | sort(x)", "sum": "[1] | sum(x)", "unique": "[1] | unique(x)",
    "max": "[1] | max(x)", "min": "[1] | min(x)", "split": "'a b' | split(x)", "number": "2 | number(x)",
    "join": "['a', 'b'] | join(x)", "replace": "'a' | replace(x, 'b')", "truncate": "'abc' | truncate(x)",
    "round": "2.5 | round(x)", "currency": "2 | currency(x)", "date": "today | date(x)", "time": "now | time(x)",
    "at": "today | at(x)", "add_months": "today | add_months(x)", "start_of": "today | start_of(x)",
    "put": "{'a': 1} | put('b', x)", "update": "[{'a': 1}] | update(it.a == 1, x)",
    "minutes": "minutes(x)", "hours": "hours(x)", "days": "days(x)", "weeks": "weeks(x)", "share": "share(x)",
    "signal_url": "signal_url(x)",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_it_is_known_which_arguments_may_be_null(name: str) -> None:
    number = 1 if name in ("where", "reject", "find", "put", "update") else 0
    try:
        expression(ARGUMENTS[name]).evaluate(SCOPE)
    except TemplateFailed:
        assert not takes_null(name, number)
    else:
        assert takes_null(name, number)


def test_every_filter_and_function_with_arguments_is_held_against_null() -> None:
    without = {"abs", "age", "as_date", "as_datetime", "as_number", "capitalize", "ceil", "csv", "days_until", "default", "first", "flatten", "floor",
               "keys", "last", "length", "lower", "matches", "open", "opens", "pick", "random", "reverse", "shuffle", "signal_url", "title", "title_of", "trim", "upper",
               "urlencode", "utc", "values", "weekday"}  # fmt: skip
    assert ARGUMENTS.keys() | without == {*FILTERS, *FUNCTIONS}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('size == "XL"', {False}),
        ('size == "S"', {True, False}),
        ('size != "XL"', {True}),
        ('size in ["S", "M"]', {True, False}),
        ('size in ["XL"]', {False}),
        ('count == "3"', {False}),
        ("count > 2", {True, False}),
        ('count < "3"', set()),
        ("not count", {True, False}),
        ("day == 3", {False}),
        ("1 == 1", {True}),
        ("true and 0", {False}),
        ("anything", {True, False}),
        ('size | length > 9 or size == "S"', {True, False}),
        ("day is none", {False}),
        ("day is null", {False}),
        ("day is text or count is text", {False}),
        ("size is text and count is number", {True}),
        ("anything is number", {True, False}),
        ("title_of(count) == 3", {False}),
        ("title_of(anything) == 3", {True, False}),
    ],
)
def test_a_condition_comes_to(source: str, expected: set[bool]) -> None:
    size, count, day = frozenset(map(just, ("S", "M", "L"))), some(ValueKind.NUMBER), some(ValueKind.DATE)
    assert truths(source, size=size, count=count, day=day) == expected


@pytest.mark.parametrize(
    "source",
    ["Hi {{ t }}", "{{ n + 1 }}", "{{ o.a | default('x') }}", "{{ contact.name }}", "{{ d | date }}", "{{ n > 3 }}",
     "{{ l | join(', ') }}", "{{ t | truncate(3) }}", "{% if t == 'a' %}{{ n }}{% else %}{{ t | upper }}{% endif %}",
     "{{ today + days(1) }}", "{{ 'many' if n > 2 else 'few' }}", "{{ t in ['a', 'b'] }}", "{{ open('shop') }}"],
)  # fmt: skip
def test_it_never_fails(source: str) -> None:
    assert AbstractText(text(source)).never_fails(KINDS)


@pytest.mark.parametrize(
    "source",
    ["{{ o.a }}", "{{ n / 2 }}", "{{ t | date }}", "{{ t + n }}", "{{ l | sum }}", "{{ own(t) }}", "{{ 'b' if n }}",
     "{{ o.a | upper | default('x') }}", "{% for e in l %}{{ e.a }}{% endfor %}", "{{ t < n }}", "{{ l[0] }}"],
)  # fmt: skip
def test_it_may_fail(source: str) -> None:
    assert not AbstractText(text(source)).never_fails(KINDS)


KINDS = {
    "t": some(ValueKind.TEXT),
    "n": some(ValueKind.NUMBER),
    "w": some(ValueKind.NUMBER, whole=True),
    "d": some(ValueKind.DATE),
    "l": some(ValueKind.LIST),
    "o": some(ValueKind.RECORD),
}
VALUES: dict[str, Any] = {
    "t": ("", "a", "Bo"), "n": (0, 2, Decimal("2.5")), "w": (0, 3), "d": (date(2030, 5, 12),), "l": ([], ["a"], [1, 2]), "o": ({}, {"a": 1}),
}  # fmt: skip
LEAVES = st.sampled_from(["t", "n", "w", "d", "l", "o", "x", "o.a", "1", "'a'", "none", "[1]", "x.a"])
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or", "==", "!=", "<", "in", "+", "-", "*", "~"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        inner.map(lambda each: f"(not {each})"),
        st.tuples(inner, st.sampled_from(["none", "null", "number", "text"])).map(lambda it: f"({it[0]} is {it[1]})"),
        st.tuples(inner, st.sampled_from(["upper", "length", "default(1)", "date", "first", "join", "round"])).map(
            lambda parts: f"({parts[0]} | {parts[1]})"
        ),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} if {parts[1]} else {parts[2]})"),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS, st.fixed_dictionaries({name: st.sampled_from(values) for name, values in VALUES.items()}))
def test_what_an_expression_comes_to_was_among_what_it_might(source: str, values: Mapping[str, Any]) -> None:
    written = expression(source)
    reads = AbstractText(written)
    found = reads.evaluate({**KINDS, **NULL})
    try:
        value = written.evaluate({**SCOPE, **values})
    except TemplateFailed:
        assert found.fails or not reads.never_fails(KINDS)
    else:
        kind = just(value).kind
        assert any(case.kind in (kind, ValueKind.ANY) for case in found.values), found
        if kind is ValueKind.NUMBER and all(case.whole for case in found.values):
            assert value == int(value)
        assert bool(value) in found.truths
        if value is None:
            assert found.nothing or any(case.kind is ValueKind.ANY for case in found.values)


def test_a_time_is_true_like_every_time() -> None:
    assert truths("clock", clock=frozenset({just(time(0))})) == {True}
