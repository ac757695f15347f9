"""The house: who may import whom (docs/architecture.md)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = (
    ("core",),
    ("lang",),
    ("steps",),
    ("flow",),
    ("engine",),
    ("checker",),
    (
        "clock",
        "connections",
        "http",
        "guard",
        "download",
        "requester",
        "outgoing",
        "gateway",
        "ai",
        "store",
        "settings",
        "telemetry",
        "folder",
        "local",
        "handlers",
        "watchdog",
        "program",
    ),
    ("runtime",),
    ("web", "emulator", "app", "simulation", "testing", "process", "doctor"),
    ("cli",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
ONLY_IN = {
    "yaml": ("lang",),
    "jinja2": ("lang",),
    "regex": ("lang",),
    "croniter": ("lang/cron.py",),
    "rapidfuzz": ("lang",),
    "transitions": ("flow/machine.py",),
    "flask": ("web", "emulator"),
    "werkzeug": ("web", "emulator"),
    "waitress": ("web", "emulator"),
    "requests": ("http.py",),
    "urllib3": ("http.py", "connections.py"),
    "sqlite3": ("store",),
    "sqlite_utils": ("store",),
    "click": ("cli", "emulator/__main__.py"),
    "pytest": ("testing/pytest_plugin.py",),
}
IMPURE = {"os", "io", "time", "threading", "socket", "logging", "random", "secrets", "uuid", "subprocess", "pathlib",
          "asyncio", "concurrent", "queue", "sqlite3", "requests", "flask", "multiprocessing"}  # fmt: skip
PURE = ("core", "lang", "steps", "flow", "engine", "checker")

FILES = sorted((ROOT / "bot").rglob("*.py"))


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def room_of(path: Path) -> str:
    inside = path.relative_to(ROOT / "bot")
    return inside.parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    for module in imports_of(path):
        if module.startswith("bot."):
            other = module.split(".")[1]
            assert RANK[other] <= RANK[room], f"{room} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_library_stands_only_where_it_belongs(path: Path) -> None:
    inside = str(path.relative_to(ROOT / "bot"))
    for module in imports_of(path):
        rooms = ONLY_IN.get(module.split(".")[0])
        assert rooms is None or inside.startswith(rooms), f"{inside} imports {module}"


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) in PURE], ids=lambda path: str(path.relative_to(ROOT)))
def test_below_the_line_nothing_does_io_or_reads_a_clock(path: Path) -> None:
    assert not {module.split(".")[0] for module in imports_of(path)} & IMPURE
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in ("open", "print", "input", "datetime.now", "date.today")


def test_the_emulator_knows_nothing_of_our_client() -> None:
    for path in (ROOT / "bot" / "emulator").rglob("*.py"):
        for module in imports_of(path):
            assert not module.startswith("bot.") or module.startswith(("bot.emulator", "bot.clock")), (
                f"{path}: {module}"
            )


def test_no_file_speaks_of_a_kind_of_step_by_name() -> None:
    for path in FILES:
        if room_of(path) != "steps":
            assert "verb ==" not in path.read_text().replace('verb != "run"', ""), path
