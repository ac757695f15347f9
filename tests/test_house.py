"""The layers of the code: which folder may import which (docs/architecture.md)."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.house import LARGE, MANY, circles, classes, imports, modules, nodes_of
from bot.cli import COMMANDS

ROOT = Path(__file__).parent.parent
LAYERS = (
    "core",
    "language/source",
    "language/python",
    "language/expressions",
    "language/answers",
    "language/keys",
    "language/types",
    "language/steps",
    "language/flow",
    "engine",
    "checker",
    "loading",
    "services",
    "store",
    "settings",
    "runtime",
    "server",
    "testing",
    "pages",
    "cli",
)
"""The folders of `bot`: each imports only from those before it (docs/architecture.md)."""
ONLY_IN = {
    "yaml": ("language/source", "language/answers/words.py", "cli/importing/export_files.py"),
    "jinja2": ("language/expressions",),
    "regex": ("core/lazy_patterns.py", "language"),
    "croniter": ("language/source/wall_clock.py",),
    "rapidfuzz": ("language/source", "language/keys"),
    "transitions": ("language/flow/definition.py",),
    "flask": ("server/web", "testing/emulator", "pages"),
    "werkzeug": ("server/web", "testing/emulator", "pages"),
    "argon2": ("pages/console/passwords.py",),
    "httptools": ("server/web",),
    "requests": ("services/operators_network.py",),
    "pycurl": ("services/http_client.py", "services/operators_network.py"),
    "prometheus_client": ("runtime/metrics.py",),
    "Stemmer": ("language/answers/stems.py",),
    "pypdf": ("loading/document_text.py",),
    "docx": ("loading/document_text.py",),
    "sqlite3": ("store",),
    "sqlite_utils": ("store",),
    "click": ("cli", "testing/emulator/__main__.py"),
    "mcp": ("cli/assistant/tool_server.py",),
    "uvicorn": ("cli/assistant/tool_server.py",),
    "pytest": ("testing/conversations/pytest_plugin.py",),
}
IMPURE = {"os", "io", "time", "threading", "socket", "logging", "random", "secrets", "uuid", "subprocess", "pathlib",
          "asyncio", "concurrent", "queue", "sqlite3", "requests", "flask", "multiprocessing"}  # fmt: skip
CLOCKS_AND_FILES = ("open", "print", "input", "datetime.now", "date.today")
PURE = ("core", "language", "engine", "checker")
CLOCK_AND_LOG = ("core/alarms.py", "core/clock.py", "core/defects.py", "core/telemetry.py")

PACKAGE_DATA = ("language/answers/words.py", "language/types/contact_zones.py")
"""Below the line, what reads files: tables of the packages themselves, each when it is first needed."""

FILES = sorted((ROOT / "bot").rglob("*.py"))


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    return tuple(_imports_in(path))


def _imports_in(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def called_in(path: Path) -> Iterator[str]:
    calls = (node.func for node in nodes_of(path) if isinstance(node, ast.Call))
    yield from (ast.unparse(call) for call in calls if isinstance(call, ast.Name | ast.Attribute))


def inside(path: Path) -> str:
    return path.relative_to(ROOT / "bot").as_posix()


def rank(file: str) -> int:
    """The place of a file's folder among the layers."""
    return next(number for number, folder in enumerate(LAYERS) if f"{file}/".startswith(f"{folder}/"))


def test_every_folder_is_a_layer() -> None:
    assert {path.name for path in (ROOT / "bot").iterdir() if path.is_dir()} - {"__pycache__"} == {
        folder.split("/")[0] for folder in LAYERS
    }


def test_imports_point_down() -> None:
    below = [path for path in FILES if path.parent.name != "bot"]
    ours = [(inside(path), module) for path in below for module in imports_of(path) if module.startswith("bot.")]
    up = [(file, module) for file, module in ours if rank(module[4:].replace(".", "/")) > rank(file)]
    assert len(ours) > len(FILES) and up == []


def test_files_import_in_no_circle() -> None:
    """Wherever an import stands: in a function, or for types alone, too."""
    files = modules(ROOT / "bot")
    assert circles({name: frozenset(imports(path, files)) for name, path in files.items()}) == []


def test_each_library_stands_only_where_it_belongs() -> None:
    imported = [(inside(path), module) for path in FILES for module in imports_of(path)]
    known = [(file, module, ONLY_IN[name]) for file, module in imported if (name := module.split(".")[0]) in ONLY_IN]
    assert [found for found in known if not found[0].startswith(found[2])] == []


def test_below_the_line_nothing_does_io_or_reads_a_clock() -> None:
    pure = [path for path in FILES if inside(path).startswith(PURE) and inside(path) not in CLOCK_AND_LOG]
    imported = [(inside(path), module) for path in pure for module in imports_of(path)]
    assert [found for found in imported if found[1].split(".")[0] in IMPURE] == []
    calls = [(inside(path), call) for path in pure for call in called_in(path)]
    assert [found for found in calls if found[1] in CLOCKS_AND_FILES] == []
    data = {file for file, call in calls if call in ("get_data", "pkgutil.get_data")}
    data |= {file for file, module in imported if module.split(".")[:2] == ["importlib", "resources"]}
    assert data == {*PACKAGE_DATA}


def test_patterns_of_modules_are_lazy() -> None:
    """`bot.core.lazy_patterns` says why. The emulators import nothing of `bot`."""
    files = [path for path in FILES if not inside(path).startswith("testing/emulator")]
    calls = [(inside(path), node) for path in files for node in nodes_at_import(path) if isinstance(node, ast.Call)]
    assert len(calls) > 200
    assert [found for found in calls if ast.unparse(found[1].func) in ("re.compile", "regex.compile")] == []


def nodes_at_import(path: Path) -> Iterator[ast.AST]:
    """The nodes that Python runs when it imports a file: all but the bodies of functions."""
    waiting: list[ast.AST] = [nodes_of(path)[0]]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [] if isinstance(node, ast.FunctionDef | ast.Lambda) else ast.iter_child_nodes(node)


ON_THREADS = {
    "ThreadPoolExecutor": (
        "server/shard_requests.py",  # who asks waits for the results
        "store/kept_files.py",  # the engine's thread asks for the results
        "server/web/web_server.py",  # `_answer_of` takes whatever a view raises
    ),
    "ThreadingHTTPServer": ("testing/emulator/emulator_server.py",),  # of tests; the application logs what it raises
    "ThreadedWSGIServer": ("pages/shared/page_server.py",),  # `handle_error`
    "asyncio": ("server/web/web_endpoints.py", "server/web/web_server.py"),  # the loop's exception handler
}
"""Other code that runs on threads or in callbacks, and the place that handles a defect there."""


def test_each_thread_is_guarded() -> None:
    calls = [
        (inside(path), node)
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and _last_name(node.func) in ("Thread", "Timer", "start_new_thread")
    ]
    assert len(calls) > 20
    assert [(file, ast.unparse(call)) for file, call in calls if not _is_guarded(call)] == []


def _last_name(node: ast.expr) -> str | None:
    """The name of `Thread`, also in `threading.Thread`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _is_guarded(thread: ast.Call) -> bool:
    target = next((each.value for each in thread.keywords if each.arg == "target"), None)
    return isinstance(target, ast.Call) and ast.unparse(target.func) == "guard"


def test_what_else_runs_on_threads_is_known() -> None:
    found: dict[str, set[str]] = {name: set() for name in ON_THREADS}
    for path in FILES:
        names = {node.id for node in nodes_of(path) if isinstance(node, ast.Name)}
        for name in ON_THREADS:
            if name in names:
                found[name].add(inside(path))
        bases = {_last_name(base) for node in nodes_of(path) if isinstance(node, ast.ClassDef) for base in node.bases}
        assert not bases & {"Thread", "ThreadingMixIn"}, path
    assert found == {name: {*files} for name, files in ON_THREADS.items()}


def test_no_file_speaks_of_a_kind_of_step_by_name() -> None:
    for path in FILES:
        if not inside(path).startswith("language/steps/"):
            assert "verb ==" not in path.read_text().replace('verb != "run"', ""), path


def test_a_name_of_a_file_or_a_class_stands_for_one_thing() -> None:
    """A command's file is called as the command is."""
    named = [path.stem for path in FILES if not path.stem.startswith("__") and not inside(path).startswith("cli/")]
    classes = [
        node.name
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert len(named) > 100 and len(classes) > 100
    assert [name for names in (named, classes) for name, count in Counter(names).items() if count > 1] == []


def test_each_file_of_the_command_line_is_a_command() -> None:
    """The rest is in `cli/shared`."""
    files = {path.stem for path in (ROOT / "bot" / "cli").glob("*.py")} - {"__init__"}
    assert files == {*COMMANDS}


WIDE = {
    "AiSettings": "the settings of AI turns, a field for each key",
    "AskStep": "the fields of a question, and the methods of every step",
    "Behaviour": "the switches of the emulated gateway",
    "Emulator": "the public face of the emulated gateway, on one page",
    "Exchange": "the fields of one round with a model",
    "Flow": "the fields of a flow, and what the loader knows of them",
    "Kind": "the kinds of words of a language, of which each is a key of its file",
    "Library": "the parts of a loaded bot, and what commands and the engine ask of all of them together",
    "Session": "the stored fields of a contact",
    "StepFacts": "the fields of all that is known of a step",
    "TurnContext": "what the functions of a turn share",
    "Variable": "the questions to a type of variables, each with a default",
}
"""The classes of more than `LARGE` lines or `MANY` public members, and why they are."""


def test_a_class_has_few_members_and_lines() -> None:
    found = {name for path in FILES for lines, members, name, _ in classes(path) if lines > LARGE or members > MANY}
    assert found == WIDE.keys()
