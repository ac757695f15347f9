"""Each row of the page on security has tests, which tests/security.md names."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE, TESTS = (ROOT / folder / "security.md" for folder in ("docs", "tests"))
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows(page: Path) -> dict[str, str]:
    """The second cell of each row by the section and the first cell."""
    sections = re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", page.read_text(), re.MULTILINE)
    return {
        f"{section}: {first}": second
        for section, text in sections
        for first, second in re.findall(r"^\| (.*?) \| (.*) \|\n(?!\|---)", text, re.MULTILINE)
    }


@cache
def functions_of(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_each_row_has_tests_that_there_are() -> None:
    tests = rows(TESTS)
    assert len(tests) > 50
    assert [*tests] == [*rows(PAGE)]
    named = [TEST.findall(cell) for cell in tests.values()]
    assert all(named)
    assert [f"{path}::{name}" for each in named for path, name in each if name not in functions_of(ROOT / path)] == []
