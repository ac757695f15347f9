"""How long texts can become."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.values import Record
from bot.expressions.filters import DRAW
from bot.expressions.length_bounds import LengthBound, LengthBounds
from bot.expressions.template_failures import TemplateFailed
from bot.expressions.templates import compile_template
from bot.lang.languages import CONTACT_LANGUAGE
from bot.lang.problems import Mark, Problems
from bot.lang.source import Map, read
from bot.types.type_registry import read_variable

MARK = Mark("flow.yml", 1, 1)
DECLARED = {
    "city": "{type: text, max: 12}",
    "note": "{type: text}",
    "size": "{type: choice, of: [S, Large, straße]}",
    "vip": "{type: boolean}",
    "count": "{type: integer, min: -3, max: 120}",
    "price": "{type: number, min: 0, max: 99.5}",
    "day": "{type: date}",
    "starts": "{type: datetime}",
    "clock": "{type: time}",
    "number": "{type: phone}",
    "items": "{type: list, max: 3}",
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "city": st.text(max_size=12),
    "note": st.text(max_size=40),
    "size": st.sampled_from(["S", "Large", "straße"]),
    "vip": st.booleans(),
    "count": st.integers(-3, 120),
    "price": st.decimals(0, Decimal("99.5"), allow_nan=False, places=3),
    "day": st.dates(date(1000, 1, 1)),
    "starts": st.datetimes(datetime(1000, 1, 1), timezones=st.just(ZoneInfo("Europe/Berlin"))),
    "clock": st.times(),
    "number": st.text("0123456789", min_size=7, max_size=15),
    "items": st.lists(st.text(max_size=9), max_size=3),
}
TEXTS = ["city", "size", "'du'", "note", "contact.name", "vip", "number"]
FILTERS = ["", " | upper", " | lower", " | title", " | trim", " | capitalize", " | truncate(5)", " | truncate",
           " | replace('a', 'abc')", " | replace('ab', '')", " | urlencode", " | default('somebody')", " | length"]  # fmt: skip
NUMBERS = [
    "count",
    "price",
    "3",
    "2.5",
    "count * 2",
    "count - price",
    "price + 100",
    "-count",
    "price / 3",
    "count * count",
]
OF_NUMBERS = ["", " | round", " | round(2)", " | number", " | number(2)", " | currency('EUR')", " | abs", " | truncate(3)",
              " | abs | round(1)", " | round(1) * 3"]  # fmt: skip
MOMENTS = ["day", "starts", "today", "now", "day + days(3)", "starts - hours(2)"]
OF_MOMENTS = ["", " | date", " | date('full')", " | date('EEE d MMM')", " | weekday", " | date('short') | upper"]
OF_TIMES = ["", " | time", " | time('medium')", " | time('h:mm a')", " | time('full')"]


def terms(values: list[str], filters: list[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda value, change: f"({value}){change}", st.sampled_from(values), st.sampled_from(filters))


EXPRESSIONS = st.recursive(
    terms(TEXTS, FILTERS)
    | terms(NUMBERS, OF_NUMBERS)
    | terms(MOMENTS, OF_MOMENTS)
    | terms(["clock", "starts"], OF_TIMES),
    lambda inner: (
        st.builds("({} ~ {})".format, inner, inner)
        | st.builds("({} if vip else {})".format, inner, inner)
        | st.builds("({} or {})".format, inner, inner)
        | st.builds("({} and {})".format, inner, inner)
        | st.builds("[{}, {}] | join(', ')".format, inner, inner)
    ),
    max_leaves=4,
)
TEMPLATES = st.recursive(
    st.builds("{{{{ {} }}}}".format, EXPRESSIONS)
    | st.sampled_from(["Hi ", "{{city}}", "{% for item in items %}- {{ item }}\n{% endfor %}"]),
    lambda inner: (
        st.builds("{}{}".format, inner, inner)
        | st.builds("{{% if vip %}}{}{{% else %}}{}{{% endif %}}".format, inner, inner)
        | st.builds("{{% if count > 3 %}}{}{{% elif city %}}x{{% endif %}}".format, inner)
    ),
    max_leaves=4,
)


def declared() -> dict[str, Any]:
    problems = Problems()
    (node,) = read("vars.yml", "\n".join(f"{name}: {text}" for name, text in DECLARED.items()), problems)
    assert isinstance(node, Map)
    found = {name.text: read_variable(name.text, of, problems) for name, of in node.entries}
    assert not problems
    return found


VARIABLES = declared()


def reach(text: str, language: str | None = None) -> LengthBound:
    problems = Problems()
    template = compile_template(text, MARK, problems)
    assert not problems, problems.sorted()
    return LengthBounds({name: each.length_bound for name, each in VARIABLES.items()}, language).of(template)


@given(TEMPLATES, st.fixed_dictionaries(VALUES), st.sampled_from(["en", "de", "id", "ru", "ar", None]), st.data())
def test_no_value_makes_a_text_longer_than_its_bound(
    text: str, values: dict[str, Any], language: str | None, data: st.DataObject
) -> None:
    bound = reach(text, language)
    if not bound.open:
        for name in data.draw(st.sets(st.sampled_from(sorted(values)))):
            values[name] = None
        contact = Record("contact", {"name": data.draw(st.none() | st.text(max_size=30))})
        now = datetime(2030, 9, 25, 10, tzinfo=ZoneInfo("Europe/Berlin"))
        scope = {
            "contact": contact,
            "now": now,
            "today": now.date(),
            CONTACT_LANGUAGE: language,
            DRAW: lambda: 0.0,
            **values,
        }
        try:
            shown = compile_template(text, MARK, Problems()).render(scope)
        except TemplateFailed:
            return
        assert len(shown) <= bound.most


@pytest.mark.parametrize(
    ("text", "language", "most"),
    [
        ("Hi!", None, 3),
        ("To {{ city }}", None, 15),
        ("{{ size }}{{ size | upper }}", None, 6 + 7),
        ("{{ city | truncate(5) }}", None, 5),
        ("{{ note | truncate(5) }}", None, 5),
        ("{{ contact.name | truncate(20) }}!", None, 21),
        ("{{ count }}", None, 3),
        ("{{ count * 1000 }}", None, 6),
        ("{{ price | round(2) }}", None, 5),
        ("{{ price | currency('EUR') }}", "de", 7),
        ("{{ day }}", None, 10),
        ("{{ day | date }}", None, len("20 September 2030")),
        ("{{ today | date('EEEE') }}", "de", len("Donnerstag")),
        ("{{ clock | time }}", None, 5),
        ("{% if vip %}Welcome back{% else %}{{ city }}!{% endif %}", None, 13),
        ("{{ 'Mx' if vip else city }}", None, 12),
        ("{{ city or 'somebody else' }}", None, 13),
        ("{{ [city, size] | join(', ') }}", None, 12 + 2 + 6),
        ("{{ vip }}", None, 5),
    ],
)
def test_what_is_declared_bounds_a_text(text: str, language: str | None, most: int) -> None:
    found = reach(text, language)
    assert (found.most, found.open) == (most, False)


@pytest.mark.parametrize(
    "text",
    [
        "{{ note }}",
        "{{ contact.name }}",
        "{{ price }}",
        "{{ price / 3 }}",
        "{{ city | upper }}",
        "{{ items }}",
        "{% for item in items %}x{% endfor %}",
        "{{ starts | time('full') }}",
        "{{ now - starts }}",
        "{{ own(city) }}",
    ],
)
def test_what_nobody_can_tell_is_open(text: str) -> None:
    assert reach(text).open


def test_what_is_known_of_an_open_text_counts() -> None:
    assert reach("{{ contact.name }} goes to {{ city }}") == LengthBound(9 + 12, True)
