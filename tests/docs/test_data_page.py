"""The values and answers in the tables of docs/language/data.md and docs/language/questions.md: each row is tried."""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.core.events import TimeReached
from bot.core.session import Frame, Session
from bot.engine.turn_context import TurnContext
from bot.language.expressions.filters import FILTERS, FUNCTIONS
from bot.language.expressions.formats import shown
from bot.language.expressions.grammar import RESERVED_NAMES
from bot.language.expressions.templates import Definition, compile_expression
from bot.language.flow.documents import Source
from bot.language.flow.library import Library, load
from bot.language.python.gathered import Extensions
from bot.language.source.languages import CONTACT_LANGUAGE
from bot.language.source.problems import Mark, Problems
from bot.language.source.yaml_tree import read
from bot.language.types.type_registry import TYPES, Answer, InvalidAnswer, read_variable
from bot.language.types.variable import UnsureAnswer
from tests.talk import Talk

PAGES = Path(__file__).parents[2] / "docs" / "language"
PAGE = (PAGES / "data.md").read_text()
QUESTIONS = (PAGES / "questions.md").read_text()
MONDAY = datetime(2030, 5, 6, 10, tzinfo=ZoneInfo("Europe/London"))
MARK = Mark("data.md", 1, 1)


def rows(*columns: str, page: str = PAGE) -> list[tuple[str, ...]]:
    """The rows of all tables with these columns; ``\\|`` is a bar within a cell."""
    found, heading = [], ""
    for line in page.splitlines():
        if not line.startswith("|"):
            heading = ""
            continue
        cells = tuple(cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        heading = heading or "|".join(cells)
        if heading == "|".join(columns) and cells != columns and not cells[0].startswith("---"):
            found.append(cells)
    return found


CALLED = {
    cells[0].strip("`"): cells[1:] for kind in ("filter", "function") for cells in rows(kind, "an example", "its value")
}
EXPRESSIONS = [*rows("an expression", "its value"), *CALLED.values()]
ANSWERS = [
    row for page in (PAGE, QUESTIONS) for row in rows("variable", "language", "an answer", "its value", page=page)
]
CHOICES = rows("choices", "the question's", "an answer", "its choice", page=QUESTIONS)


CHOOSING = """
flow: main
start: {otherwise: true}
vars: {got: text}
steps:
  q: {ask: Which?, KEYS, save: got, retry: {say: –}}
  done: {say: "{{ got }}", then: end}
"""


@pytest.fixture(scope="module")
def library() -> Library:
    blocks = re.findall(r"^```yaml( bot)?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names = ("bot.yml" if bot else f"{n}.yml" for n, (bot, _) in enumerate(blocks))
    loaded = load([Source(name, text.encode()) for name, (_, text) in zip(names, blocks, strict=True)], Extensions())
    assert loaded.library is not None, loaded.problems
    return loaded.library


@pytest.fixture
def scope(library: Library) -> Mapping[str, Any]:
    """What an expression sees in the page's flow `values`."""
    session = Session("6281234567890", "Ann", frames=(Frame("values", "shown", 1, MONDAY, MONDAY),))
    return TurnContext(library, session, TimeReached("1", session.contact, MONDAY)).scope()


@pytest.mark.parametrize(("source", "value"), EXPRESSIONS)
def test_an_expression_is_worth_what_the_page_says(source: str, value: str, scope: Mapping[str, Any]) -> None:
    problems = Problems()
    expression = compile_expression(source.strip("`"), MARK, problems)
    assert problems.sorted() == []
    assert shown(expression.evaluate(scope)) == value


@pytest.mark.parametrize("source", [source.strip("`") for source, _ in EXPRESSIONS])
def test_a_name_for_an_expression_is_the_same_as_the_expression(source: str) -> None:
    problems = Problems()
    expression = compile_expression(source, MARK, problems)
    named = compile_expression("named", MARK, problems.defining({"named": Definition("named", expression)}))
    assert problems.sorted() == []
    assert (repr(named.tree), named.names, named.paths) == (repr(expression.tree), expression.names, expression.paths)


@pytest.mark.parametrize(("name", "value"), rows("a definition", "its value"))
def test_a_definition_is_worth_what_the_page_says(name: str, value: str, library: Library) -> None:
    session = Session("6281234567890", frames=(Frame("invoice", "sure", 1, MONDAY, MONDAY),))
    scope = TurnContext(library, session, TimeReached("1", session.contact, MONDAY)).scope()
    definition = {**library.bot.definitions, **library.flows["invoice"].definitions}[name.strip("`")]
    assert shown(definition.expression.evaluate(scope)) == value


def test_every_filter_and_function_has_an_example_which_uses_it() -> None:
    assert sorted(CALLED) == sorted({**FILTERS, **FUNCTIONS})
    for name, (source, _) in CALLED.items():
        assert re.search(rf"\| {name}\b" if name in FILTERS else rf"\b{name}\(", source)


@pytest.mark.parametrize(("declaration", "language", "answer", "value"), ANSWERS)
def test_an_answer_means_what_the_page_says(declaration: str, language: str, answer: str, value: str) -> None:
    problems = Problems()
    (node,) = read("f.yml", declaration.strip("`"), problems)
    variable = read_variable("v", node, problems)
    assert problems.sorted() == []
    try:
        found = shown(variable.accept(Answer(answer.strip("`")), MONDAY, {CONTACT_LANGUAGE: language}))
    except UnsureAnswer as unsure:
        found = " or ".join(map(shown, unsure.values))
    except InvalidAnswer:
        found = "–"
    assert found == value


@pytest.mark.parametrize(("choices", "keys", "answer", "choice"), CHOICES)
def test_an_answer_chooses_what_the_page_says(choices: str, keys: str, answer: str, choice: str) -> None:
    keys = f"{keys.strip('`')}, " if keys else ""
    talk = Talk(CHOOSING.replace("KEYS", f"{keys}options: [{choices}]"))
    talk.user("hi")
    assert talk.user(answer.strip("`")) == [choice]


def test_every_type_is_in_the_table_of_types() -> None:
    listed = rows("type", "its settings", "its values")
    assert sorted(cells[0].strip("`") for cells in listed) == sorted(TYPES)


def test_all_reserved_names_are_listed() -> None:
    (listed,) = re.findall(r"^No variable can have (.*?)`event`", PAGE, re.MULTILINE | re.DOTALL)
    assert {*re.findall(r"`([a-z_]+)`", listed)} == {*RESERVED_NAMES}
