"""docs/contributing.md names all files that an extension touches; what was forgotten of one is found here, by name."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.checker.exploring.sample_values import sample_texts
from bot.checker.rules import TITLES
from bot.cli import COMMANDS
from bot.cli.importing.export_files import SYSTEMS
from bot.language.expressions.abstract_values import ValueKind
from bot.language.source.problems import Mark
from bot.language.steps import KINDS
from bot.language.types.type_registry import TYPES, Answer
from bot.testing.emulator.endpoints import ENDPOINTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contributing.md").read_text()
NOON = datetime(2030, 5, 6, 12, tzinfo=UTC)
NOT_WRITTEN = {ValueKind.LIST, ValueKind.RECORD, ValueKind.FILE, ValueKind.PLACE}


def holds(pattern: str, *places: str) -> bool:
    """Whether a file of these places has something that matches."""
    paths = (path for place in places for path in ROOT.glob(place))
    return any(re.search(pattern, path.read_text(), re.MULTILINE) for path in paths)


def forgotten_of_step(verb: str) -> Iterator[str]:
    if not holds(rf"\b{verb}: ", "docs/language/*.md"):
        yield "docs/language/<page>.md"
    if not holds(rf"^\| \[?`{verb}`", "docs/language/README.md"):
        yield "docs/language/README.md"
    if not holds(rf"\b{verb}: ", f"tests/language/steps/test_{verb}.py"):
        yield f"tests/language/steps/test_{verb}.py"


def forgotten_of_type(name: str) -> Iterator[str]:
    if name in TYPES and TYPES[name].kind not in NOT_WRITTEN:
        settings: Any = dict.fromkeys(TYPES[name].keys.required, ("a",))
        variable = TYPES[name]("a", Mark("a.yml", 1, 1), **settings)
        if not [variable.accept(Answer(text), NOON) for text in sample_texts(variable, NOON)]:
            yield "bot/language/types/<subject>_types.py: example_answers"
    if not holds(rf"^\| `{name}` \|", "docs/language/data.md"):
        yield "docs/language/data.md"
    if not holds(rf'type: {name}\b|"{name}"', "tests/language/types/test_variables.py"):
        yield "tests/language/types/test_variables.py"


def forgotten_of_check(code: str) -> Iterator[str]:
    if not holds(rf"^# {code}: ", f"docs/checks/{code}.md"):
        yield f"docs/checks/{code}.md"
    if not holds(rf"^\* \[{code}\]\({code}.md\)", "docs/checks/README.md"):
        yield "docs/checks/README.md"
    if not holds(rf"^\S+ {code} ", "tests/docs/reported.txt"):
        yield "tests/docs/reported.txt"
    if not holds(rf"\b{code}\b", "tests/checker/rules/test_*.py", "tests/checker/test_allowances.py"):
        yield "tests/checker/rules/test_<subject>.py"


def forgotten_of_command(name: str) -> Iterator[str]:
    if not holds(rf"^\| `bot {name}\b", "docs/commands.md"):
        yield "docs/commands.md"
    if not holds(rf'\bcall\(\s*"{name}"|\["{name}"|"{name}", str\(', "tests/cli/test_*.py"):
        yield f"tests/cli/test_{name}.py"


def forgotten_of_importer(system: str) -> Iterator[str]:
    if not [*ROOT.glob(f"docs/moving-over/{system}*.md")]:
        yield "docs/moving-over/<system>.md"
    if not [*ROOT.glob(f"tests/cli/importing/{system}/test_*.py")]:
        yield "tests/cli/importing/<system>/"


def forgotten_of_endpoint(endpoint: tuple[str, str]) -> Iterator[str]:
    method, path = endpoint
    if not holds(rf"^\| `{method} /external-api{path}`", "tests/specification.md"):
        yield "tests/specification.md"
    if not holds(rf'"{path}[/"?]', "tests/testing/emulator/test_*.py"):
        yield "tests/testing/emulator/test_<subject>.py"


@pytest.mark.parametrize("verb", KINDS)
def test_nothing_of_a_kind_of_step_was_forgotten(verb: str) -> None:
    assert list(forgotten_of_step(verb)) == []


@pytest.mark.parametrize("name", TYPES)
def test_nothing_of_a_type_of_variable_was_forgotten(name: str) -> None:
    assert list(forgotten_of_type(name)) == []


@pytest.mark.parametrize("code", TITLES)
def test_nothing_of_a_check_was_forgotten(code: str) -> None:
    assert list(forgotten_of_check(code)) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_of_a_command_was_forgotten(name: str) -> None:
    assert list(forgotten_of_command(name)) == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_nothing_of_an_importer_was_forgotten(system: str) -> None:
    assert list(forgotten_of_importer(system)) == []


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=" ".join)
def test_nothing_of_an_endpoint_was_forgotten(endpoint: tuple[str, str]) -> None:
    assert list(forgotten_of_endpoint(endpoint)) == []


def test_what_is_forgotten_is_found_and_stands_on_the_page() -> None:
    found = {
        "<verb>": forgotten_of_step("<verb>"),
        "<type>": forgotten_of_type("<type>"),
        "<code>": forgotten_of_check("<code>"),
        "<command>": forgotten_of_command("<command>"),
        "<system>": forgotten_of_importer("<system>"),
        "<path>": forgotten_of_endpoint(("GET", "<path>")),
    }
    missing = {file for files in found.values() for file in files}
    assert missing == {
        file for file in re.findall(r"^\* `([^`]+)`: ", PAGE, re.MULTILINE) if not file.startswith("bot/")
    } - {"tests/docs/test_specification.py"}


@pytest.mark.parametrize("file", re.findall(r"^\* `([^`]+)`: ", PAGE, re.MULTILINE))
def test_the_page_names_files_that_there_are(file: str) -> None:
    assert list(ROOT.glob(re.sub("<[a-z]+>", "*", file)))
