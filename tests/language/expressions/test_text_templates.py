"""Templates and expressions: what they print, what they refuse, and that nothing gets out of the sandbox."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.values import Location, Media, Record
from bot.language.expressions.filters import DRAW
from bot.language.expressions.formats import shown
from bot.language.expressions.grammar import check_calls
from bot.language.expressions.templates import (
    Expression,
    Template,
    TemplateFailed,
    compile_expression,
    compile_template,
)
from bot.language.source.problems import Mark, Problems

MAX_TEXT = 64 * 1024
MARK = Mark("flows/f.yml", 3, 7)
ZONE = ZoneInfo("Asia/Jakarta")
NOW = datetime(2030, 5, 6, 10, 0, tzinfo=ZONE)
SCOPE: dict[str, Any] = {
    "contact": {"id": "628", "name": None, "tags": ["vip"]},
    "now": NOW,
    "today": NOW.date(),
    "came_from": None,
    "n": 3,
    "price": Decimal("1.50"),
    "nothing": None,
    "empty": "",
    "names": ["Ann", "Bo"],
    "order": Record("Order", {"state": "shipped", "eta": date(2030, 5, 12), "items": ["pen"], "total": 0.1}),
    "starts": datetime(2030, 5, 6, 2, 30, tzinfo=UTC),
    "photo": Media("image", "https://x.example/1"),
    "text": "{{ 7*7 }} {% for %} %(n)s {n.__class__}",
    DRAW: lambda: 0.5,
    "big": "x" * (MAX_TEXT - 10),
    "many": list(range(200)),
}


def template(source: str) -> Template:
    problems = Problems()
    compiled = compile_template(source, MARK, problems)
    assert problems.sorted() == []
    return compiled


def expression(source: str) -> Expression:
    problems = Problems()
    compiled = compile_expression(source, MARK, problems)
    assert problems.sorted() == []
    return compiled


def problems_of(source: str, *, bare: bool = False) -> list[str]:
    problems = Problems()
    read = compile_expression if bare else compile_template
    check_calls(read(source, MARK, problems).calls, {}, problems)
    return [str(problem).removeprefix("flows/f.yml:") for problem in problems.sorted()]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain { text } 100%", "plain { text } 100%"),
        ("Hi {{ contact.name | default('there') }}!", "Hi there!"),
        ("{{ nothing }}|{{ true }}|{{ 2 > 3 }}", "|true|false"),
        ("{{ 3.0 }} {{ price }} {{ n / 2 }} {{ 4 / 2 }}", "3 1.5 1.5 2"),
        ("{{ 0.1 + 0.2 }} {{ price * 1.1 }} {{ order.total + price }}", "0.3 1.65 1.6"),
        ("{{ names }}", "Ann, Bo"),
        ("{{ nothing ~ 'a' ~ 1.0 ~ names }}", "a1Ann, Bo"),
        ("{{ order.items }} {{ order['state'] }} {{ names[0] }} {{ names[0][:2] }}", "pen shipped Ann An"),
        ("{% for name in names %}{{ loop.index }}. {{ name }}{% if not loop.last %}; {% endif %}{% endfor %}",
         "1. Ann; 2. Bo"),
        ("{% for x in nothing %}{{ x }}{% else %}none{% endfor %}", "none"),
        ("a\n{% if n == 3 %}\nb\n{% endif %}\nc", "a\nb\nc"),
        ("a\n{% if n == 3 %}\nb\n{% endif %}", "a\nb"),
        ("one{% if n %}\ntwo{% endif %}", "one\ntwo"),
        ("one{% if n %}, two{% endif %}\nthree", "one, two\nthree"),
        ("{% if n %}a{% endif %}\n{% if nothing %}b{% endif %}\nc", "a\n\nc"),
        ("All:{% for name in names %}\n- {{ name }}{% endfor %}\nEnd", "All:\n- Ann\n- Bo\nEnd"),
        ("a{# note #}\n  {# note #}{% if n %}\n  b\n  {% endif %}  \nc", "a\n  b\nc"),
        ("{# a note #}{{ n if n > 2 else 'few' }}", "3"),
        ("{{ today + days(1) }} {{ (starts - hours(24)) | date }}", "2030-05-07 5 May 2030"),
        ("{{ photo.kind }} {{ photo }} {{ now.year }}", "image https://x.example/1 2030"),
        ("{{ order.nope is defined }} {{ nothing is none }} {{ nothing is null }}", "false true true"),
        ("{{ n is number }} {{ 0.5 is number }} {{ true is number }} {{ '3' is number }} {{ order.nope is number }}", "true true false false false"),
        ("{{ 'a' is text }} {{ n is text }} {{ nothing is not text }}", "true false true"),
        ("{% raw %}{{ n }}{% endraw %}", "{{ n }}"),
        ("{{ {'size': n, 'of': {'a': names}} }}", "size: 3, of: a: Ann, Bo"),
        ("{% for a, b in [(1, 2), (n, 4)] %}{{ a }}{{ b }} {% endfor %}", "12 34 "),
        ("{{ order.total == 0.1 }} {{ [order.total, 0.2] | sum }}", "true 0.3"),
    ],
)  # fmt: skip
def test_a_template_prints(source: str, text: str) -> None:
    assert template(source).render(SCOPE) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (Decimal("3.10"), "3.1"), (3.0, "3"), (Decimal("100"), "100"), (1e21, "1" + "0" * 21),
     (["a", 1.0, None], "a, 1, "), (time(9), "09:00"), (datetime(2030, 5, 6, 9), "2030-05-06 09:00"),
     (timedelta(hours=2, minutes=30), "2h 30m"), (Location(1.5, 2), "1.5, 2"), ({"a": 1.0}, "a: 1")],
)  # fmt: skip
def test_a_value_is_shown_at_its_shortest(value: Any, text: str) -> None:
    assert shown(value) == text


def test_exactly_one_pair_of_braces_keeps_the_type() -> None:
    assert template("{{ order }}").value(SCOPE) == SCOPE["order"]
    assert template("{{ names }}").value(SCOPE) == ["Ann", "Bo"]
    assert template("{{ nothing }}").value(SCOPE) is None
    assert template("{{ 3 }}").value(SCOPE) == 3
    assert template("{{ true }}").value(SCOPE) is True
    assert template("{{ n }} ").value(SCOPE) == "3 "
    assert template("{{ n }}{{ n }}").value(SCOPE) == "33"


def test_numbers_with_a_point_are_exact() -> None:
    assert expression("0.1 + 0.2 == 0.3").evaluate(SCOPE) is True
    assert expression("price * 2").evaluate(SCOPE) == Decimal("3.00")


def test_names_and_paths_are_known_without_rendering() -> None:
    found = template(
        "{{ contact.name }} {% for o in orders %}{{ o.x }}{{ loop.index }}{{ a.b['c'] }}{% endfor %}{{ days(k) }}"
    )
    assert found.names == {"contact", "orders", "a", "k"}
    assert {("contact", "name"), ("a", "b", "c")} <= found.paths
    assert not any(path[0] in ("o", "loop") for path in found.paths)


def test_a_text_without_braces_is_constant() -> None:
    assert template("Hello").constant
    assert not template("{{ n }}").constant
    assert Template.plain("{{ n }}", MARK).render(SCOPE) == "{{ n }}"


def test_what_a_contact_wrote_is_never_source() -> None:
    assert template("You wrote: {{ text }}").render(SCOPE) == "You wrote: " + SCOPE["text"]
    assert template("{{ text }}").value(SCOPE) == SCOPE["text"]


@given(st.text(max_size=60))
def test_any_text_of_a_contact_comes_out_as_it_is(text: str) -> None:
    assert template("{{ text }}|{{ text ~ '' }}").render({"text": text}) == f"{text}|{text}"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ nope }}", 'no variable "nope"'),
        ("{{ order.stat }}", 'no "stat" in a record: did you mean "state"?'),
        ("{{ nothing.name }}", 'no "name" in null'),
        ("{{ names[9] }}", "no such element in a list"),
        ("{{ n ~ nope }}", 'no variable "nope"'),
        ("{{ nothing > 3 }}", "null and a number cannot be used like this"),
        ("{{ now > today }}", "a date with a time and a date cannot be used like this"),
        ("{{ n / 0 }}", "a division by zero"),
        ("{{ n | date }}", "a number is no date"),
        ("{{ today | time }}", "a date has no time of day"),
        ("{{ 'a' | round }}", "a text cannot be rounded"),
        ("{{ true | round }}", "true or false cannot be rounded"),
        ("{{ n | round('a') }}", "round() takes how many places, not a text"),
        ("{{ n | join }}", "a number is no list"),
        ("{{ hours('x') }}", "hours() takes a number, not a text"),
        ("{{ hours(nope) }}", 'no variable "nope"'),
        ("{{ [n, nope] }}", 'no variable "nope"'),
        ("{{ {'a': nope} }}", 'no variable "nope"'),
        ("{{ names | append(nope) }}", 'no variable "nope"'),
        ("{% for x in nope %}{% endfor %}", 'no variable "nope"'),
        ("{{ now + n }}", '"+" does not go with a date with a time and a number'),
        ("{{ days(10 ** 20) }}", "a calculation without a result"),
        ("{% for x in n %}{% endfor %}", "a number is no list"),
    ],
)
def test_what_fails_fails_with_a_place_and_a_reason(source: str, reason: str) -> None:
    with pytest.raises(TemplateFailed) as failed:
        template(source).render(SCOPE)
    assert str(failed.value) == f"flows/f.yml:3:7: {reason}"


def test_an_expression_fails_like_a_template() -> None:
    with pytest.raises(TemplateFailed, match='no "nope" in a record'):
        expression("order.nope").evaluate(SCOPE)
    with pytest.raises(TemplateFailed, match="null and a number"):
        expression("nothing < n").evaluate(SCOPE)


SECRET = "my card is 4111"


@pytest.mark.parametrize(
    "source", ["{{ s | date }}", "{{ s / 2 }}", "{{ s > 2 }}", "{{ s.x }}", "{{ s + 1 }}", "{{ hours(s) }}", "{{ -s }}",
               "{{ s[0:1:0] }}", "{{ s | truncate('x') }}", "{{ 'a'[s] }}", "{{ s % 2 }}", "{{ r[s] }}"]
)  # fmt: skip
def test_no_reason_repeats_what_a_contact_wrote(source: str) -> None:
    with pytest.raises(TemplateFailed) as failed:
        template(source).render({"s": SECRET, "r": {"a": 1}})
    assert SECRET not in str(failed.value)


@pytest.mark.parametrize(
    "source",
    ["{{ ''.__class__.__mro__ }}", "{{ order.__init__.__globals__ }}", "{{ order._fields }}", "{{ n.real }}",
     "{{ order['__class__'] }}", "{{ names.__class__ }}", "{{ now.tzinfo }}", "{{ photo.__slots__ }}",
     "{{ nothing.__class__ }}", "{{ contact.keys }}", "{% for x in names %}{{ loop.__init__ }}{% endfor %}",
     "{{ ('a' ~ n).__class__ }}", "{{ self.__init__ }}", "{{ cycler }}", "{{ 'a' | default | upper | date }}"],
)  # fmt: skip
def test_nothing_but_values_can_be_reached(source: str) -> None:
    with pytest.raises(TemplateFailed):
        template(source).render(SCOPE)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("{{ ''.format(n) }}", "E203"),
        ("{{ open(3) }}", "E203"),
        ("{{ opens(3.5) }}", "E203"),
        ("{{ names.append(1) }}", "E203"),
        ("{{ order.state.upper() }}", "E203"),
        ("{{ (hours)(1) ~ contact.get('x') }}", "E203"),
        ("{{ hours }}", "E203"),
        ("{{ hours(*names) }}", "E203"),
        ("{% set x = 1 %}", "E203"),
        ("{% macro m() %}{% endmacro %}", "E203"),
        ("{% include 'x' %}", "E203"),
        ("{% import 'x' as y %}", "E203"),
        ("{% extends 'x' %}", "E203"),
        ("{% block b %}{% endblock %}", "E203"),
        ("{% with x = 1 %}{% endwith %}", "E203"),
        ("{% filter upper %}x{% endfilter %}", "E203"),
        ("{{ {n: 1} }}", "E203"),
        ("{{ {1: 1} }}", "E203"),
        ("{{ names | where }}", "E203"),
        ("{{ names | sort(1, 2) }}", "E203"),
        ("{{ names | join(*names) }}", "E203"),
        ("{{ names | join(sep='x') }}", "E203"),
        ("{{ hours() }}", "E203"),
        ("{% for x in names recursive %}{% endfor %}", "E203"),
        ("{{ '\\ud800' }}", "E203"),
        ("{{ text | format }}", "E204"),
        ("{{ names | attr('__class__') }}", "E204"),
        ("{{ n is odd }}", "E204"),
        ("{{ range(10) }}", "E204"),
        ("{{ lipsum() }}", "E204"),
        ("{% for a in names %}{% for b in names %}{% for c in names %}{% endfor %}{% endfor %}{% endfor %}", "E205"),
        ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "E205"),
        ("{{ " + "-" * 3000 + "1 }}", "E205"),
        ("{{ " + "+".join("1" * 300) + " }}", "E205"),
        ("{% if n %}" * 60 + "{% endif %}" * 60, "E205"),
        ("{{ n }}" + " " * MAX_TEXT, "E205"),
        ("{{ " + "9" * 5000 + " }}", "E201"),
        ("{{ n", "E201"),
        ("{{ }}", "E201"),
        ("{% if n %}", "E201"),
        ("{% nope %}", "E201"),
        ("{{ 'a }}", "E201"),
    ],
)
def test_what_templates_may_not_say_is_found_when_they_are_read(source: str, code: str) -> None:
    assert {problem.split()[1] for problem in problems_of(source)} == {code}


def test_an_unknown_filter_or_function_has_a_suggestion() -> None:
    assert problems_of("{{ n | lenght }}") == ['3:7: E204 no filter "lenght" (did you mean "length"?)']
    assert problems_of("{{ hour(2) }}") == ['3:7: E204 no function "hour" (did you mean "hours"?)']


def test_a_name_that_is_reserved_for_a_function_is_said_to_be_so() -> None:
    (problem,) = problems_of("{{ open + 1 }}")
    assert (
        'E203 "open" is reserved: it is a function (write open("office"), or give a variable another name: ' in problem
    )
    assert "reserved are and, came_from, contact, days," in problem


def test_all_faults_of_a_template_are_found_at_once() -> None:
    assert [problem.split()[1] for problem in problems_of("{{ a | nope }}{{ b() }}{{ hours }}")] == [
        "E203",
        "E204",
        "E204",
    ]


def test_a_fault_in_a_block_of_lines_is_in_its_own_line() -> None:
    problems = Problems()
    compile_template("one\n{{ n | upper }}\n{{ n", MARK, problems, literal=True)
    check_calls(compile_template("one\n{{ n | nope }}\n", MARK, problems, literal=True).calls, {}, problems)
    assert [(problem.code, problem.line) for problem in problems.sorted()] == [("E204", 5), ("E201", 6)]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("{{ n }}", "3:7: E202 an expression stands here without {{ }} (leave the braces out)"),
        ("n && n", '3:7: E202 this expression cannot be read: unexpected char \'&\' at 2 (write `and`, `or`, `not`)'),
        ("n = 3", '3:7: E202 this expression cannot be read: "=" is not expected here (write == to compare)'),
        ("n n", '3:7: E202 this expression cannot be read: "n" is not expected here '
                "(write one value or one comparison; a text in it needs quotes, as in name == 'Ann')"),
        ("n in f(1", "3:7: E202 this expression cannot be read: it ends too early "
                     "(close its bracket; if it has a comma, put all of it in quotes)"),
        ("n >", "3:7: E202 this expression cannot be read: it ends too early "
                "(write one value or one comparison; a text in it needs quotes, as in name == 'Ann')"),
        ("n }} x", '3:7: E202 this expression cannot be read: "}}" is not expected here '
                    "(write one value or one comparison; a text in it needs quotes, as in name == 'Ann')"),
    ],
)  # fmt: skip
def test_an_expression_stands_bare(source: str, problem: str) -> None:
    assert problems_of(source, bare=True) == [problem]


@pytest.mark.parametrize("source", ["", "n ==", "a.b.", "(n", "1 if", "'a"])
def test_a_broken_expression_is_a_problem(source: str) -> None:
    (problem,) = problems_of(source, bare=True)
    assert "E202 this expression cannot be read" in problem


def test_a_broken_source_leaves_something_harmless() -> None:
    assert compile_template("{{ n", MARK, Problems()).render({}) == ""
    assert compile_expression("n n", MARK, Problems()).evaluate({}) is None


@pytest.mark.parametrize(
    "source",
    ["{{ big ~ big }}", "{{ big + big }}", "{{ big }}{{ big }}", "{{ 'a' * 1000000000 }}", "{{ names * 1000000000 }}",
     "{{ '%1000000000d' % n }}", "{{ 10 ** 10 ** 10 }}", "{{ 99999 ** 250 }}", "{{ 10 ** 60 * 10 ** 60 }}",
     "{{ names | join(big) }}{{ many | join(big) }}", "{% for a in many %}{% for b in many %}{% endfor %}{% endfor %}",
     "{% for a in many %}{{ big }}{% endfor %}", "{{ 2.5 ** 10000000 }}"],
)  # fmt: skip
def test_work_and_size_are_bounded(source: str) -> None:
    with pytest.raises(TemplateFailed):
        template(source).render(SCOPE)


def test_a_value_that_is_nested_without_end_fails_in_words() -> None:
    nested: list[Any] = []
    nested.append(nested)
    with pytest.raises(TemplateFailed, match="nested too deeply"):
        template("{{ x }}").render({"x": nested})


def test_a_thing_in_the_scope_is_not_called_even_when_it_is_named_like_a_function() -> None:
    called: list[int] = []
    with pytest.raises(TemplateFailed):
        template("{{ hours(1) }}").render({"hours": called.append})
    assert called == []


@given(st.text("{}%#abn.|()[]'\"+-*/~ 0123", max_size=40))
def test_any_source_is_a_template_or_a_problem(source: str) -> None:
    problems = Problems()
    compiled = compile_template(source, MARK, problems), compile_expression(source, MARK, problems)
    for run in (lambda: compiled[0].render(SCOPE), lambda: compiled[1].evaluate(SCOPE)):
        try:
            run()
        except TemplateFailed:
            pass
