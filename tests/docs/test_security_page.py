"""The security page names tests that there are."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()


def functions_of(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_each_control_names_a_test_that_there_is() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 40
    missing = [f"{path}::{name}" for path, name in named if name not in functions_of(ROOT / path)]
    assert missing == []


def test_no_row_is_without_a_test() -> None:
    rows = [
        line for line in PAGE.splitlines() if line.startswith("| ") and not re.match(r"\| (What|Mistake|---)", line)
    ]
    assert len(rows) > 35
    assert [row for row in rows if "`tests/" not in row.rsplit(" | ", 1)[1]] == []
