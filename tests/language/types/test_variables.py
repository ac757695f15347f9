"""Variables: what their declarations say, which answers they take, and which values of programs."""

from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.values import Location, Media, Record
from bot.language.expressions.templates import TemplateFailed
from bot.language.source.languages import CONTACT_LANGUAGE
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import read
from bot.language.types.type_registry import TYPES, Answer, InvalidAnswer, TypeMismatch, Variable, read_variable
from bot.language.types.variable import UnsureAnswer

ZONE = ZoneInfo("Asia/Jakarta")
NOW = datetime(2030, 5, 6, 10, 0, tzinfo=ZONE)  # a Monday


def declared(text: str) -> tuple[Variable, list[str]]:
    problems = Problems()
    (node,) = read("f.yml", text, problems)
    variable = read_variable("v", node, problems)
    return variable, [str(problem).removeprefix("f.yml:") for problem in problems.sorted()]


def variable(text: str) -> Variable:
    found, problems = declared(text)
    assert problems == []
    return found


def answered(text: str, answer: str, language: str = "en") -> Any:
    """The value of a written answer; where it is none, the class of the error."""
    try:
        return variable(text).accept(Answer(answer), NOW, {CONTACT_LANGUAGE: language})
    except InvalidAnswer as invalid:
        return type(invalid)


@pytest.mark.parametrize(
    ("declaration", "answer", "value"),
    [
        ("text", "  Hello ", "Hello"),
        ("text", "   ", InvalidAnswer),
        ("{type: text, max: 3}", "abcd", InvalidAnswer),
        ("name", "Ann O'Neill", "Ann O'Neill"),
        ("name", "my name is Ann.", "Ann"),
        ("name", "how much does it cost?!", InvalidAnswer),
        ("name", "a" * 61, InvalidAnswer),
        ("{type: name, max: 3}", "Anna", InvalidAnswer),
        ("{type: text, pattern: '[A-Z]{2}\\d{6}'}", "AB123456", "AB123456"),
        ("{type: text, pattern: '[A-Z]{2}\\d{6}'}", "AB123456x", InvalidAnswer),
        ("integer", "12", 12),
        ("integer", "-3", -3),
        ("integer", "3.0", 3),
        ("integer", "1,000", 1000),
        ("integer", "1.000", 1000),
        ("integer", "1 000 000", 1_000_000),
        ("integer", "١٢", 12),
        ("integer", "3.5", InvalidAnswer),
        ("integer", "1e3", InvalidAnswer),
        ("integer", "9" * 40, InvalidAnswer),
        ("{type: integer, min: 1, max: 9}", "0", InvalidAnswer),
        ("{type: integer, min: 1, max: 9}", "10", InvalidAnswer),
        ("number", "3.5", Decimal("3.5")),
        ("number", "3,5", Decimal("3.5")),
        ("number", "0,125", Decimal("0.125")),
        ("number", "1,000", Decimal(1000)),
        ("number", "1.000", UnsureAnswer),
        ("{type: number, max: 10}", "1.000", Decimal(1)),
        ("number", "1,234.5", Decimal("1234.5")),
        ("number", "1.234,5", Decimal("1234.5")),
        ("number", "1,00,000", Decimal(100000)),
        ("number", "nan", InvalidAnswer),
        ("number", "five", Decimal(5)),
        ("number", "five apples or six", InvalidAnswer),
        ("integer", "3 people", 3),
        ("integer", "twenty-five", 25),
        ("{type: choice, of: [Check-up, cleaning]}", "check up!", "Check-up"),
        ("{type: choice, of: [Check-up, cleaning]}", "other", InvalidAnswer),
        ("boolean", "Yes!", True),
        ("boolean", "N", False),
        ("boolean", "0", False),
        ("boolean", "maybe", InvalidAnswer),
        ("date", "12 May", date(2030, 5, 12)),
        ("date", "sometime", InvalidAnswer),
        ("{type: date, after: today}", "today", InvalidAnswer),
        ("{type: date, after: today}", "tomorrow", date(2030, 5, 7)),
        ("{type: date, before: 2030-05-12}", "12 May", InvalidAnswer),
        ("{type: date, before: 2030-05-12}", "11 May", date(2030, 5, 11)),
        ("{type: date, within: 60d}", "5 July", date(2030, 7, 5)),
        ("{type: date, within: 60d}", "6 July", InvalidAnswer),
        ("{type: date, within: 60d}", "2030-05-05", InvalidAnswer),
        ("email", " Ann.Lee@Example.COM ", "Ann.Lee@example.com"),
        ("email", "ann@münchen.de", "ann@münchen.de"),
        ("email", "ann.lee at gmail dot com", "ann.lee@gmail.com"),
        ("email", "it is ann at shop dot co dot uk, please", "ann@shop.co.uk"),
        ("email", "meet me at noon dot com", InvalidAnswer),
        ("email", "ann@example", InvalidAnswer),
        ("email", "ann..lee@example.com", InvalidAnswer),
        ("email", "ann lee@example.com", InvalidAnswer),
        ("email", "a" * 65 + "@example.com", InvalidAnswer),
        ("phone", "+62 812-3456 789", "628123456789"),
        ("phone", "0062 812 3456 789", "628123456789"),
        ("phone", "+44 (0)20 7946 0958", "442079460958"),
        ("phone", "0812 3456 789", InvalidAnswer),
        ("phone", "+62", InvalidAnswer),
        ("phone", "1" * 16, InvalidAnswer),
        ("phone", "+٦٢ ٨١٢ ٣٤٥٦ ٧٨٩", "628123456789"),
        ("{type: phone, country: ID}", "0812-3456-7890", "6281234567890"),
        ("{type: phone, country: ID}", "62 812 3456 7890", "6281234567890"),
        ("{type: phone, country: ID}", "81234567890", "6281234567890"),
        ("{type: phone, country: ID}", "+44 20 7946 0958", "442079460958"),
        ("{type: phone, country: ID}", "442079460958", "442079460958"),
        ("{type: phone, country: ID}", "0812345", InvalidAnswer),
        ("{type: phone, country: ID}", "call me", InvalidAnswer),
        ("{type: phone, country: US}", "(202) 555-0123", "12025550123"),
        ("{type: phone, country: US}", "1 202 555 0123", "12025550123"),
        ("{type: phone, country: DE}", "0151 23456789", "4915123456789"),
        ("time", "3pm", time(15)),
        ("time", "tomorrow", InvalidAnswer),
        ("{type: time, min: '9:00', max: '18:00'}", "9:00", time(9)),
        ("{type: time, min: '9:00', max: '18:00'}", "18:00", time(18)),
        ("{type: time, min: '9:00', max: '18:00'}", "18:01", InvalidAnswer),
        ("{type: time, min: '9:00', max: '18:00'}", "8:59", InvalidAnswer),
        ("datetime", "12 May 15:00", datetime(2030, 5, 12, 15, tzinfo=ZONE)),
        ("datetime", "12 May", InvalidAnswer),
        ("{type: datetime, after: now}", "today 9:00", datetime(2030, 5, 6, 21, tzinfo=ZONE)),
        ("{type: datetime, after: now}", "today 9 am", InvalidAnswer),
        ("{type: datetime, before: now}", "9 am", datetime(2030, 5, 6, 9, tzinfo=ZONE)),
        ("{type: datetime, before: 2030-05-12T15:00}", "12 May 15:00", InvalidAnswer),
        ("{type: datetime, before: 2030-05-12T15:00}", "12 May 14:59", datetime(2030, 5, 12, 14, 59, tzinfo=ZONE)),
        ("{type: datetime, after: 2030-05-12T15:00Z}", "12 May 22:01", datetime(2030, 5, 12, 22, 1, tzinfo=ZONE)),
        ("{type: datetime, within: 2h}", "noon", datetime(2030, 5, 6, 12, tzinfo=ZONE)),
        ("{type: datetime, within: 2h}", "12:01", InvalidAnswer),
        ("{type: date, before: today}", "12 April", date(2030, 4, 12)),
        ("location", "Main Street 1", InvalidAnswer),
        ("{type: integer, check: it % 2 == 0}", "4", 4),
        ("{type: integer, check: it % 2 == 0}", "3", InvalidAnswer),
        ("{type: integer, check: [it > 1, {if: it < 9, error: No}]}", "9", InvalidAnswer),
        ("list", "a, b", InvalidAnswer),
        ("object", "a", InvalidAnswer),
        ("media", "a photo", InvalidAnswer),
    ],
)
def test_an_answer_is_taken_or_does_not_fit(declaration: str, answer: str, value: Any) -> None:
    found = answered(declaration, answer)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("declaration", "given", "value"),
    [
        ("text", 3, "3"),
        ("text", ["a"], TypeMismatch),
        ("text", True, TypeMismatch),
        ("{type: text, pattern: 'a+'}", "b", TypeMismatch),
        ("integer", Decimal("3.0"), 3),
        ("integer", "3", 3),
        ("integer", True, TypeMismatch),
        ("integer", 3.5, TypeMismatch),
        ("{type: integer, max: 2}", 3, TypeMismatch),
        ("number", 0.1, Decimal("0.1")),
        ("number", float("nan"), TypeMismatch),
        ("number", "x", TypeMismatch),
        ("number", 1e308, Decimal("1e308")),
        ("number", "1e999999999", TypeMismatch),
        ("number", "1e-999999999", TypeMismatch),
        ("integer", "1e999999999", TypeMismatch),
        ("{type: choice, of: [1, 2]}", 1, "1"),
        ("{type: choice, of: [a]}", "b", TypeMismatch),
        ("boolean", True, True),
        ("boolean", "false", False),
        ("boolean", "maybe", TypeMismatch),
        ("boolean", [], TypeMismatch),
        ("date", date(2030, 5, 12), date(2030, 5, 12)),
        ("date", datetime(2030, 5, 12, 20, 0, tzinfo=UTC), date(2030, 5, 13)),
        ("date", "2030-05-12", date(2030, 5, 12)),
        ("date", "12 May", TypeMismatch),
        ("{type: date, after: today}", date(2020, 1, 1), date(2020, 1, 1)),
        ("email", "A@B.DE", "A@b.de"),
        ("email", 3, TypeMismatch),
        ("phone", 628123456789, "628123456789"),
        ("phone", None, None),
        ("list", (1, 2), [1, 2]),
        ("{type: list, max: 1}", [1, 2], TypeMismatch),
        ("list", "ab", TypeMismatch),
        ("object", Record("Order", {"a": 1}), Record("Order", {"a": 1})),
        ("object", {"at": datetime(2030, 5, 6, 9)}, {"at": datetime(2030, 5, 6, 9, tzinfo=ZONE)}),
        ("list", [Record("S", {"at": datetime(2030, 5, 6, 9)})],
            [Record("S", {"at": datetime(2030, 5, 6, 9, tzinfo=ZONE)})]),
        ("object", [1], TypeMismatch),
        ("media", Media("image", "u"), Media("image", "u")),
        ("{type: media, kinds: [video]}", Media("image", "u"), TypeMismatch),
        ("media", "u", TypeMismatch),
        ("location", Location(1, 2), Location(1, 2)),
        ("location", "1, 2", TypeMismatch),
        ("location", {"latitude": 10**400, "longitude": 1}, TypeMismatch),
        ("{type: time, min: '9:00'}", time(10, tzinfo=UTC), TypeMismatch),
        ("{type: time, min: '9:00'}", "10:00+02:00", TypeMismatch),
        ("time", time(15, 30), time(15, 30)),
        ("time", "9:30", time(9, 30)),
        ("time", "3pm", TypeMismatch),
        ("{type: time, max: '18:00'}", "20:00", TypeMismatch),
        ("datetime", datetime(2030, 5, 12, 15), datetime(2030, 5, 12, 15, tzinfo=ZONE)),
        ("datetime", "2030-05-12T15:00", datetime(2030, 5, 12, 15, tzinfo=ZONE)),
        ("datetime", "2030-05-12 15:00:30Z", datetime(2030, 5, 12, 15, 0, 30, tzinfo=UTC)),
        ("{type: datetime, after: now}", "2020-05-12T15:00Z", datetime(2020, 5, 12, 15, tzinfo=UTC)),
        ("datetime", "2030-05-12T15:00+02:00", datetime(2030, 5, 12, 13, tzinfo=UTC)),
        ("datetime", date(2030, 5, 12), TypeMismatch),
        ("datetime", "tomorrow 15:00", TypeMismatch),
        ("{type: integer, check: it > 5}", 3, 3),
        ("{type: phone, country: ID}", "0812345678", TypeMismatch),
        ("{type: phone, country: ID}", "442079460958", "442079460958"),
        ("list", [[0] * 200] * 200, [[0] * 200] * 200),
        ("list", [[0] * 300] * 300, TypeMismatch),
        ("list", ["x" * 50_000] * 99, ["x" * 50_000] * 99),
        ("object", {"texts": ["x" * 50_000] * 100}, TypeMismatch),
    ],
)  # fmt: skip
def test_a_value_of_a_program_is_taken_or_does_not_fit(declaration: str, given: Any, value: Any) -> None:
    try:
        found = variable(declaration).coerce(given, NOW)
    except TypeMismatch:
        found = TypeMismatch
    assert (found, type(found)) == (value, type(value))


def test_a_value_that_is_nested_too_deeply_does_not_fit() -> None:
    value: Any = "x"
    for _ in range(60):
        value = {"in": value}
    with pytest.raises(TypeMismatch, match="more than 50 levels"):
        variable("object").coerce(value, NOW)


@pytest.mark.parametrize("type_name", TYPES)
def test_every_type_may_be_null(type_name: str) -> None:
    more = ", of: [a]" if type_name == "choice" else ""
    assert variable(f"{{type: {type_name}{more}}}").coerce(None, NOW) is None


def test_a_file_is_an_answer_where_files_are_asked_for() -> None:
    photo = Media("image", "https://x.example/1", "me")
    assert variable("{type: media, kinds: [image]}").accept(Answer(media=photo), NOW) == photo
    with pytest.raises(InvalidAnswer):
        variable("{type: media, kinds: [audio]}").accept(Answer(media=photo), NOW)
    for answer in (Answer(media=photo), Answer(location=Location(1, 2)), Answer()):
        with pytest.raises(InvalidAnswer):
            variable("text").accept(answer, NOW)


def test_a_place_is_an_answer_where_one_is_asked_for() -> None:
    assert variable("location").accept(Answer(location=Location(1, 2, "Home")), NOW) == Location(1, 2, "Home")
    with pytest.raises(InvalidAnswer):
        variable("location").accept(Answer(media=Media("image", "u")), NOW)


def objection(text: str, answer: str, **scope: Any) -> str | None:
    """What the contact is told to an answer that does not fit."""
    with pytest.raises(InvalidAnswer) as unfit:
        variable(text).accept(Answer(answer), NOW, scope)
    said = unfit.value.objection
    return None if said is None else said.render({**scope, "it": unfit.value.it})


@pytest.mark.parametrize(
    ("declaration", "answer", "told"),
    [
        ("integer", "x", None),
        ("{type: integer, error: 'A number, not {{ it }}.'}", "x", "A number, not x."),
        ("{type: integer, max: 5, error: 'Up to 5, not {{ it }}.'}", "six", "Up to 5, not six."),
        ("{type: integer, check: it < 5, error: 'Not {{ it }}.'}", "seven", "Not seven."),
        ("{type: integer, check: {if: it < most, error: '{{ it }} is too many.'}, error: No}", "seven", "7 is too many."),
        ("{type: integer, check: [{if: it < 9, error: a}, {if: it < most, error: b}]}", "7", "b"),
    ],
)  # fmt: skip
def test_an_answer_that_does_not_fit_is_told_why_by_the_variable(
    declaration: str, answer: str, told: str | None
) -> None:
    assert objection(declaration, answer, most=5) == told


def test_a_check_that_cannot_be_worked_out_is_a_failure_of_the_flow() -> None:
    with pytest.raises(TemplateFailed, match="a number and a text"):
        variable("{type: integer, check: it < most}").accept(Answer("3"), NOW, {"most": "many"})


def test_what_a_variable_says_and_asks_is_known_to_the_checks() -> None:
    declared = variable("{type: integer, check: [it < a, {if: it > b, error: '{{ c }}'}], error: '{{ d }}'}")
    assert set().union(*(text.names for text in declared.texts())) == {"it", "a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("declaration", "problem"),
    [
        ("{type: txt}", '1:8: E304 variable "v": no type "txt" (did you mean "text"?)'),
        ("{typ: text}", '1:2: E104 variable "v": unknown key "typ" (did you mean "type"?)'),
        ("{type: text, patern: a}", '1:14: E104 variable "v": unknown key "patern" (did you mean "pattern"?)'),
        ("{type: text, pattern: '['}", '1:23: E305 variable "v": pattern: it cannot be read: unterminated '
                                       "character set (write a regular expression, in single quotes)"),
        ("{type: text, pattern: '((a{99999}){99999})'}", '1:23: E305 variable "v": pattern: it cannot be read: '
                                       "it repeats too much (use smaller counts in { })"),
        ("{type: text, pattern: '\\d+', example: abc}", '1:39: E303 variable "v": the example "abc" does not fit: '
                                                        "it does not match the pattern (change the example, or what the variable takes)"),
        ("{type: integer, value: x}", '1:24: E303 variable "v": its value does not fit: it is no number '
                                      "(change the value, or what the variable takes)"),
        ("{type: choice}", '1:1: E105 variable "v": "of" is missing (add of:)'),
        ("{type: number, min: 5, max: 1}", '1:29: E307 variable "v": max is below min (swap them)'),
        ("{type: date, after: today, before: today}", '1:36: E307 variable "v": nothing is after today and before '
                                                      "today (leave more room between them)"),
        ("{type: date, after: soon}", '1:21: E106 variable "v": after: "soon" is no date '
                                      "(write today, tomorrow, yesterday, or one like 2030-12-31)"),
        ("{type: datetime, after: today}", '1:25: E106 variable "v": after: "today" is no datetime '
                                          "(write now, or one like 2030-12-31T15:00)"),
        ("{type: datetime, value: 2030-12-31T15:00}", '1:25: E303 variable "v": its value is in no time zone '
                                          "(write its offset, like 2030-12-31T15:00+02:00)"),
        ("{type: time, min: 9}", '1:19: E106 variable "v": min: "9" is no time of day (write one like 9:00)'),
        ("{type: time, min: '9:00Z', max: '18:00'}", '1:19: E106 variable "v": min: "9:00Z" is no time of day (write one like 9:00)'),
        ("{type: time, min: '9:00', max: '8:00'}", '1:32: E307 variable "v": max is before min (swap them)'),
        ("{type: phone, country: Id}", '1:24: E109 variable "v": country: "Id" is not known '
                                       "(did you mean \"ID\"?)"),
        ("{type: text, check: '{{ it }}'}", '1:21: E202 an expression stands here without {{ }} (leave the braces out)'),
        ("{type: text, check: {error: No}}", '1:21: E105 variable "v": check: "if" is missing (add if:)'),
        ("{type: list, check: it}", '1:21: E307 variable "v": check where contacts send no files (add of: media, or leave it out)'),
        ("{type: media, kinds: [imge]}", '1:23: E109 variable "v": kinds: "imge" is not known (did you mean "image"?)'),
    ],
)  # fmt: skip
def test_a_declaration_that_is_wrong_is_a_problem(declaration: str, problem: str) -> None:
    assert declared(declaration)[1] == [problem]


def test_a_date_may_lie_between_today_and_a_written_day() -> None:
    assert declared("{type: date, after: today, before: 2030-12-31}")[1] == []


@pytest.mark.parametrize("name", ["contact", "now", "hours", "loop", "not", "it"])
def test_a_name_that_means_something_else_is_refused(name: str) -> None:
    problems = Problems()
    (node,) = read("f.yml", "text", problems)
    read_variable(name, node, problems)
    assert [problem.code for problem in problems.sorted()] == ["E306"]


@pytest.mark.parametrize(
    ("declaration", "value"),
    [("text", None), ("{type: integer, value: 3}", 3), ("{type: time, value: '9:30'}", time(9, 30)),
     ("{type: datetime, value: 2030-12-31T15:00Z}", datetime(2030, 12, 31, 15, tzinfo=UTC)), ("{type: number, value: 0.1}", Decimal("0.1")),
     ("{type: date, value: 2030-05-12}", date(2030, 5, 12)), ("{type: list, value: [1, {a: b}]}", [1, {"a": "b"}]),
     ("{type: text, optional: true}", None)],
)  # fmt: skip
def test_a_variable_starts_at_its_value_or_at_null(declaration: str, value: Any) -> None:
    assert variable(declaration).value == value


def test_a_pattern_that_would_never_end_does_not_match() -> None:
    assert answered("{type: text, pattern: '(a|a)*b'}", "a" * 60) is InvalidAnswer
    assert answered("{type: text, pattern: '(.*)*x'}", "a" * 4000) is InvalidAnswer


@given(st.sampled_from([name for name in TYPES if name != "choice"]), st.text(max_size=60))
def test_no_answer_does_worse_than_not_to_fit(type_name: str, text: str) -> None:
    try:
        value = variable(type_name).accept(Answer(text), NOW)
    except InvalidAnswer as unfit:
        assert len(text) < 12 or text not in str(unfit)
    else:
        assert variable(type_name).coerce(value, NOW) == value


@given(st.decimals(-(10**12), 10**12, allow_nan=False, places=4))
def test_a_number_comes_back_as_it_was_written(number: Decimal) -> None:
    assert answered("number", f"{number:f}") == number
    assert answered("number", f"{number:,f}") == number


@given(st.dates(date(2030, 5, 6), date(2099, 12, 31)))
def test_a_day_comes_back_in_whatever_form_it_was_written(day: date) -> None:
    forms = (f"{day}", f"{day:%d.%m.%Y}", f"{day:%d %B %Y}", f"{day:%b %d, %Y}", f"{day:%A, %d %B %Y}")
    assert {answered("date", form) for form in forms} == {day}
    figures = f"{day.day}/{day.month}/{day.year}"
    assert answered("date", figures, "en-GB") == day
    assert answered("date", f"{day.month}/{day.day}/{day.year}", "en-US") == day
    assert answered("date", figures) == (day if day.day > 12 or day.day == day.month else UnsureAnswer)


@given(st.dates(NOW.date(), NOW.date() + timedelta(days=365)))
def test_without_its_year_a_day_is_the_next_such_day(day: date) -> None:
    assert answered("date", f"{day.day} {day:%B}") == (day if day != date(2031, 5, 6) else NOW.date())


SLOT = "{type: object, fields: {starts: datetime, day: date, price: {type: number, value: 3}, by: {type: object, fields: {born: date}}}}"


def test_the_fields_of_an_object_are_values_of_their_types() -> None:
    given = {"starts": "2030-05-06T10:00Z", "day": "2030-05-12", "by": {"born": "1990-12-24"}, "more": "2030-05-12"}
    assert variable(SLOT).coerce(given, NOW) == {
        "starts": datetime(2030, 5, 6, 17, 0, tzinfo=ZONE),
        "day": date(2030, 5, 12),
        "price": 3,
        "by": {"born": date(1990, 12, 24)},
        "more": "2030-05-12",
    }
    assert variable(SLOT).coerce({}, NOW) == {"starts": None, "day": None, "price": 3, "by": None}
    record = Record("Slot", {"day": "2030-05-12"})
    assert variable(SLOT).coerce(record, NOW) == Record(
        "Slot", {**variable(SLOT).coerce({}, NOW), "day": date(2030, 5, 12)}
    )


@pytest.mark.parametrize(
    ("declaration", "value", "why"),
    [
        (SLOT, {"day": "soon"}, 'field "day": '),
        (SLOT, {"by": {"born": "soon"}}, 'field "by": field "born": '),
        (SLOT, {"by": 3}, 'field "by": a number is not an object'),
        ("{type: list, fields: {day: date}}", [{"day": "2030-05-12"}, {"day": "x"}], 'element 2: field "day": '),
        ("{type: list, fields: {day: date}}", [3], "element 1: a number is not an object"),
    ],
)
def test_a_field_that_does_not_fit_is_named(declaration: str, value: Any, why: str) -> None:
    with pytest.raises(TypeMismatch) as raised:
        variable(declaration).coerce(value, NOW)
    assert str(raised.value).startswith(why)


@pytest.mark.parametrize(
    ("declaration", "problem"),
    [
        ("{type: object, fields: {starts: datetim}}", "E304"),
        ("{type: object, fields: {starts: {type: date, keep: true}}}", "E104"),
        ("{type: text, fields: {starts: date}}", "E104"),
        ("{type: object, fields: {now: date, Starts At: {type: text, max: 3}}}", ""),
    ],
)
def test_a_field_is_declared_as_a_variable_is(declaration: str, problem: str) -> None:
    assert [each.split()[1] for each in declared(declaration)[1]] == ([problem] if problem else [])


@pytest.mark.parametrize(
    "type_name", ["text", "name", "integer", "date", "time", "email", "phone", "boolean", "datetime"]
)
def test_the_longest_texts_are_read_at_once(type_name: str) -> None:
    for text in (
        "a" * 60_000,
        "x at " * 12_000,
        f"a{' ' * 60_000}x",
        f"my name is {'!' * 60_000} x",
        "Ann " + "\u2600" * 60_000 + " x",
    ):
        with suppress(InvalidAnswer):
            variable(type_name).accept(Answer(text), NOW)
