"""`tests/README.md` names every helper of the tests, and nothing that is not there."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS / "README.md").read_text()
ROWS = [
    line.split(" | ")
    for line in PAGE.splitlines()
    if line.startswith("| ") and line.split(" | ")[1].startswith("`tests/")
]
ENTRY_POINTS = ("__main__.py", "conftest.py", "__init__.py")


def _names_in(path: Path) -> set[str]:
    """The names that a file defines or gives to its fixtures."""
    tree = ast.parse(path.read_text())
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assigned = {name.id for node in tree.body for name in ast.walk(node) if isinstance(name, ast.Name)}
    keywords = [node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "name"]
    return (
        defined | assigned | {ast.literal_eval(node.value) for node in keywords if isinstance(node.value, ast.Constant)}
    )


def test_every_helper_is_on_the_page() -> None:
    helpers = [path for path in TESTS.rglob("*.py") if not path.name.startswith("test_")]
    files = [path.relative_to(TESTS.parent).as_posix() for path in helpers if path.name not in ENTRY_POINTS]
    assert len(files) > 40
    assert sorted(file for file in files if f"`{file}`" not in PAGE) == []


def test_the_page_names_only_what_there_is() -> None:
    assert len(ROWS) > 40
    missing = []
    for names, files, *_ in ROWS:
        paths = [TESTS.parent / file for file in re.findall(r"`(\S+)`", files)]
        missing += [path.as_posix() for path in paths if not path.is_file()]
        there = {name for path in paths if path.is_file() for name in _names_in(path)}
        missing += [name for name in re.findall(r"`@?(\w+)`", names) if name not in there]
    assert missing == []
