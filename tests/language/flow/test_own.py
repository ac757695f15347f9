"""A bot's own functions and filters: checked when its flows are read, called in its texts and conditions."""

from asyncio import CancelledError
from datetime import datetime, timedelta
from typing import Any

import pytest

from bot import function, template_filter
from bot.language.python.decorators import BadDeclaration
from bot.language.python.gathered import extensions_in
from tests.talk import Talk, problems_of


@function("is_free")
def is_free(slot: str, now: datetime, taken: list[str] | None = None) -> bool:
    return slot not in (taken or ["10:00"]) and now.year == 2030


@template_filter("spoken")
def spoken(text: str, times: int = 1) -> str:
    return " ".join([text.upper()] * times)


PYTHON: dict[str, Any] = {"is_free": is_free, "spoken": spoken}
FLOW = """
flow: main
start: {otherwise: true}
vars: {slot: {type: text, value: "%s"}}
steps:
  check: {branch: [{if: "%s", then: free}], errors: {failed: broken}}
  taken: {say: "{{ slot | spoken }} is taken.", then: end}
  free: {say: "{{ slot | spoken(2) }} is free.", then: end}
  broken: {say: Something broke., then: end}
"""


def said(condition: str, slot: str = "9 am", **python: Any) -> list[Any]:
    return Talk(FLOW % (slot, condition), handlers=PYTHON | python).user("hi")


def test_a_condition_calls_a_function_and_a_text_a_filter() -> None:
    assert said("is_free(slot)") == ["9 AM 9 AM is free."]
    assert said("is_free(slot)", slot="10:00") == ["10:00 is taken."]


def test_arguments_may_be_given_by_name() -> None:
    assert said("is_free(slot, taken=['9 am'])") == ["9 AM is taken."]


def test_a_function_is_given_the_time_of_the_turn_in_the_bots_zone() -> None:
    @function("hour")
    def hour(now: datetime) -> int:
        return now.hour

    talk = Talk(
        "flow: f\nstart: {otherwise: true}\nsteps: {a: {say: '{{ hour() }}', then: end}}",
        bot="name: T\ntimezone: Asia/Jakarta\n",
        handlers={"hour": hour},
    )
    assert talk.user("hi") == ["17"]
    talk.pass_time(timedelta(hours=2))
    assert talk.user("hi") == ["19"]


@pytest.mark.parametrize(
    "error", [ValueError("Ann said no"), SystemExit(3), RecursionError(), KeyError("Ann"), CancelledError("Ann")]
)
def test_what_a_function_raises_is_the_failure_of_the_expression_with_its_place_and_without_its_text(
    error: BaseException,
) -> None:
    @function("breaks")
    def breaks(value: str) -> bool:
        raise error

    talk = Talk(FLOW % ("Ann", "breaks(slot)"), handlers=PYTHON | {"breaks": breaks})
    assert talk.user("hi") == ["Something broke."]
    assert talk.turn is not None
    (note,) = talk.turn.trace.notes
    assert f'function "breaks" raised {type(error).__name__} at test_own.py:' in note
    assert "Ann" not in note


def test_what_a_function_does_to_its_arguments_stays_with_it() -> None:
    @function("spoil")
    def spoil(values: list[str]) -> int:
        values.append("spoilt")
        return len(values)

    flow = """
flow: f
start: {otherwise: true}
vars: {tags: {type: list, value: [a]}}
steps: {a: {say: "{{ spoil(tags) }} {{ spoil(tags) }} {{ tags | length }}", then: end}}
"""
    assert Talk(flow, handlers={"spoil": spoil}).user("hi") == ["2 2 1"]


def test_what_no_conversation_can_keep_is_a_failure() -> None:
    for result in (object(), float("inf"), "\ud800", [{1, object()}]):

        @function("handle")
        def handle(result: Any = result) -> Any:
            return result

        assert said("handle()", handle=handle) == ["Something broke."]


def test_a_value_that_is_not_there_reaches_no_function() -> None:
    assert said("is_free(slot[99])") == ["Something broke."]


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("is_fre(slot)", 'E204 no function "is_fre" (did you mean "is_free"?)'),
        ("slot | spokn", 'E204 no filter "spokn" (did you mean "spoken"?)'),
        ("spoken(slot)", 'E204 "spoken" is a filter (write value | spoken)'),
        ("slot | is_free", 'E204 "is_free" is a function (write is_free(...))'),
        ("is_free()", "E203 function \"is_free\": missing a required argument: 'slot' (it is declared as is_free(slot: str, taken: list[str] | None = None) -> bool)"),
        ("slot | spoken(1, 2)", 'E203 filter "spoken": too many positional arguments (it is declared as spoken(text: str, times: int = 1) -> str)'),
        ("is_free(slot, now=now)", "E203 function \"is_free\": got an unexpected keyword argument 'now' (it is declared as is_free(slot: str, taken: list[str] | None = None) -> bool)"),
        ("is_free(*slot)", "E203 * before an argument is not available here (write the arguments out)"),
    ],
)  # fmt: skip
def test_a_call_that_cannot_be_is_found_when_the_flows_are_read(condition: str, problem: str) -> None:
    (found,) = problems_of(FLOW % ("x", condition), handlers=PYTHON)
    assert found.partition(" ")[2] == problem


def test_a_variable_is_not_called_as_a_function_is() -> None:
    flow = FLOW.replace("vars: {", "vars: {is_free: text, ")
    (found,) = problems_of(flow % ("x", "true"), handlers=PYTHON)
    assert found.partition(" ")[2].startswith('E306 variable "is_free": the bot\'s Python has a function of this name')


def test_names_are_refused_that_no_template_can_write() -> None:
    with pytest.raises(BadDeclaration, match=r'function "slots.free" cannot be written in a template'):
        function("slots.free")
    with pytest.raises(BadDeclaration, match=r'a function has a name: write @function\("name"\)'):
        function(is_free)  # type: ignore[arg-type]


def test_two_of_one_name_are_refused_and_one_that_is_imported_twice_is_one() -> None:
    @template_filter("is_free")
    def other(value: str) -> str:
        return value

    with pytest.raises(BadDeclaration, match='two functions are declared as function or filter "is_free"'):
        extensions_in([PYTHON, {"other": other}])
    assert list(extensions_in([PYTHON, PYTHON]).own) == ["is_free", "spoken"]
