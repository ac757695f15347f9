"""The page on security names tests that there are."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def tables_with_tests() -> list[list[str]]:
    """The rows of each table that has a column of tests."""
    tables = [table.splitlines() for table in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE)]
    return [rows for heading, _, *rows in tables if heading.endswith("| Test |")]


def functions_of(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_each_row_names_tests_that_there_are() -> None:
    rows = [row for rows in tables_with_tests() for row in rows]
    assert len(rows) > 50
    assert [row for row in rows if not TEST.search(row.rsplit(" | ", 1)[1])] == []
    named = [name for row in rows for name in TEST.findall(row)]
    assert [f"{path}::{name}" for path, name in named if name not in functions_of(ROOT / path)] == []
