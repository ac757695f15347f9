import ast
from pathlib import Path

import bot.testing.emulator

MODULES = sorted(Path(bot.testing.emulator.__path__[0]).rglob("*.py"))
ALLOWED = {"bot.core.clock", "bot.core.defects"}


def imports(source: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a name comes from"
            found.add(node.module or "")
    return found


def test_it_shares_nothing_with_the_client_but_the_clock_and_the_guard_of_threads() -> None:
    assert MODULES
    for module in MODULES:
        own = {name for name in imports(module.read_text()) if name == "bot" or name.startswith("bot.")}
        assert {name for name in own if not name.startswith("bot.testing.emulator")} <= ALLOWED, module.name
