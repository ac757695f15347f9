"""W311: variables that are always null, where another flow keeps one of this name with the contact."""

import pytest

from bot.checker.graph import Graph
from bot.checker.rules.misfits import find_unkept
from tests.checker.proved import library

BOOK = """flow: book
start: {words: [book]}
vars: {day: {type: date, keep: true}}
steps:
  day: {ask: Day?, save: day}
  sure: {ask: Sure?, buttons: {"Yes": end}}
"""
MENU = """flow: menu
start: {words: [hi]}
vars: {size: text}
steps: {menu: {ask: What?, buttons: {Book: /book, Mine: /mine}}}
"""
MINE = "flow: mine\nvars: {day: %s}\nsteps:\n%s"
TELL = "  which: {branch: [{if: day, then: tell}, {else: end}]}\n  tell: {say: '{{ day | date }}', then: end}\n"


def found(variable: str = "date", steps: str = TELL, menu: str = MENU) -> list[str]:
    """The findings in a bot whose flow `mine` declares such a variable."""
    findings = find_unkept(Graph(library(BOOK, menu, MINE % (variable, steps))))
    return [f"{each.what} ({each.fix})" for each in findings]


def test_a_variable_without_keep_that_nothing_gives_a_value_is_found() -> None:
    assert found() == [
        'variable "day" of flow mine is always null: nothing gives it a value, and only with `keep: true` it is the one '
        "that flow book keeps (add keep: true, as in flow book, or give it a value)"
    ]


@pytest.mark.parametrize("variable", ["{type: date, keep: true}", "{type: date, value: 2030-05-06}"])
def test_one_that_has_a_value_is_not(variable: str) -> None:
    assert found(variable) == []


@pytest.mark.parametrize(
    "steps",
    ["  day: {ask: Which?, save: day}\n", "  day: {set: {day: 2030-05-06}}\n", "  a: {say: Hello., then: end}\n"],
)
def test_one_that_a_step_gives_a_value_or_that_nobody_reads_is_not(steps: str) -> None:
    tell = TELL if "save" in steps or "set" in steps else ""
    assert found(steps=steps + tell) == []


@pytest.mark.parametrize(
    "menu",
    [
        MENU.replace("{size: text}", "{day: date}"),
        MENU.replace("Mine: /mine", "Mine: mine").replace(
            "steps: {", "steps: {mine: {run: /mine, with: {day: 2030-05-06}}, "
        ),
        MENU.replace("Mine: /mine", "Mine: end"),
    ],
    ids=["a flow that leads there", "a flow that runs it", "a program that starts it"],
)
def test_one_that_comes_from_elsewhere_is_not(menu: str) -> None:
    assert found(menu=menu) == []
