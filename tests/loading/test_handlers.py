import os
from pathlib import Path

import pytest

from bot.language.python.gathered import Extensions
from bot.language.source.problems import Problem
from bot.loading.folder import read_folder
from bot.loading.program import load_handlers, load_program
from tests.talk import Talk

GREET = """
from bot import handler

@handler("greet")
def greet(name: str) -> str:
    return f"Hello {name}"
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in {"bot.yml": "name: A", **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def problem(folder: Path) -> Problem:
    handlers, (found,) = load_handlers(read_folder(folder))
    assert handlers == Extensions()
    return found


def test_a_module_of_handlers_is_loaded(tmp_path: Path) -> None:
    handlers, problems = load_handlers(read_folder(write(tmp_path, {"handlers.py": GREET})))
    assert not problems
    assert handlers.handlers["greet"].function(name="Ann") == "Hello Ann"


def test_no_handlers_are_no_problem(tmp_path: Path) -> None:
    assert load_handlers(read_folder(write(tmp_path, {}))) == (Extensions(), [])


@pytest.mark.parametrize(("call", "name"), [("os._exit(1)", "os._exit"), ("os.abort()", "os.abort")])
def test_python_that_ends_the_process_when_it_is_imported_is_a_problem_of_its_line(
    tmp_path: Path, call: str, name: str
) -> None:
    found = problem(write(tmp_path, {"handlers.py": f"import os\n\n{call}\n"}))
    assert str(found) == f"handlers.py:3:1: E505 importing it ends the process ({name}) (take that out)"
    assert getattr(os, name.removeprefix("os.")).__module__ == "posix"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # some versions warn of any fork beside threads
def test_a_process_that_the_python_forks_when_it_is_imported_ends_as_it_asks_to(tmp_path: Path) -> None:
    lines = (
        "import os",
        "child = os.fork()",
        "if child == 0: os._exit(7)",
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7",
    )
    _, problems = load_handlers(read_folder(write(tmp_path, {"handlers.py": "\n".join(lines)})))
    assert not problems


@pytest.mark.parametrize("init", [{"handlers/__init__.py": ""}, {}])
def test_a_folder_of_handlers_is_loaded_whole_and_its_modules_see_each_other(
    tmp_path: Path, init: dict[str, str]
) -> None:
    greeting = GREET.replace("Hello", "{WORD}").replace("from bot", "from .words import WORD\nfrom bot")
    files = {
        **init,
        "handlers/words.py": "WORD = 'Hi'",
        "handlers/deep/greetings.py": greeting.replace(".words", "..words"),
    }
    files["handlers/deep/__init__.py"] = ""
    handlers, problems = load_handlers(read_folder(write(tmp_path, files)))
    assert not problems
    assert handlers.handlers["greet"].function(name="Ann") == "Hi Ann"


def test_two_bots_and_two_versions_of_one_do_not_meet(tmp_path: Path) -> None:
    first = load_handlers(read_folder(write(tmp_path / "a", {"handlers.py": GREET})))[0]
    second = load_handlers(read_folder(write(tmp_path / "a", {"handlers.py": GREET.replace("Hello", "Hallo")})))[0]
    other = load_handlers(read_folder(write(tmp_path / "b", {"handlers.py": GREET.replace("Hello", "Hi")})))[0]
    said = [handlers.handlers["greet"].function(name="Ann") for handlers in (first, second, other)]
    assert said == ["Hello Ann", "Hallo Ann", "Hi Ann"]


def test_what_was_read_is_what_runs(tmp_path: Path) -> None:
    folder = read_folder(write(tmp_path, {"handlers.py": GREET}))
    (tmp_path / "handlers.py").write_text("raise SystemExit")
    assert "greet" in load_handlers(folder)[0].handlers


def test_a_handler_knows_where_its_file_lies(tmp_path: Path) -> None:
    text = GREET.replace('f"Hello {name}"', "__file__")
    handlers, _ = load_handlers(read_folder(write(tmp_path, {"handlers.py": text})))
    assert handlers.handlers["greet"].function(name="") == str(tmp_path / "handlers.py")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("def broken(:\n", 1, "this is no Python"),
        ("\nimport nothing_of_this_name\n", 2, "importing it raises ModuleNotFoundError: No module named"),
        ("raise ValueError('\\n\\n no such shop \\nat all')", 1, "importing it raises ValueError: no such shop"),
        ("\n\n1 / 0\n", 3, "importing it raises ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)\n", 2, "importing it raises SystemExit: 3"),
        (GREET.replace("def greet", "async def greet"), 4, 'handler "greet" is async'),
        (GREET + GREET.replace("def greet", "def other"), 10, 'two functions are declared as handler "greet"'),
        (GREET.replace('@handler("greet")', "@handler"), 4, 'a handler has a name: write @handler("name")'),
        ("\x00", 1, "this is no Python"),
    ],
)
def test_what_is_wrong_with_a_module_is_a_problem_at_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    found = problem(write(tmp_path, {"handlers.py": text}))
    assert (found.path, found.line) == ("handlers.py", line)
    assert words in found.what


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("if True\n", "look at this line and the one above"),
        ("import nothing_of_this_name", "correct the name, or install what it belongs to"),
        ("1 / 0", "correct this line"),
    ],
)
def test_what_can_be_done_about_it_is_said(tmp_path: Path, text: str, fix: str) -> None:
    assert problem(write(tmp_path, {"handlers.py": text})).fix == fix


def test_an_unreadable_encoding_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, {})
    (tmp_path / "handlers.py").write_bytes(b"x = '\xff'")
    assert problem(tmp_path).path == "handlers.py"


def test_a_module_and_a_folder_of_the_same_name_are_refused(tmp_path: Path) -> None:
    found = problem(write(tmp_path, {"handlers.py": GREET, "handlers/a.py": GREET}))
    assert "both handlers.py and handlers/" in found.what


def test_a_module_that_never_comes_to_its_end_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.loading.program.IMPORT_SECONDS", 0.05)
    found = problem(write(tmp_path, {"handlers.py": "while True:\n    pass"}))
    assert found.what == "importing it was not done within 0.05 s"


def test_everything_that_a_module_declares_is_found(tmp_path: Path) -> None:
    text = """
from bot import Leave, function, handler, on, provider, step_kind, template_filter

@provider("db")
def db():
    yield {}

@handler("find")
@on("stop")
def find(db): ...

@on("end", flow="order")
def note(contact, db): ...

@function("is_free")
def is_free(slot): ...

@template_filter("spoken")
def spoken(value): ...

@step_kind("geocode", outside=True)
class Geocode:
    geocode: str
    def run(self, db): ...
"""
    found, problems = load_handlers(read_folder(write(tmp_path, {"handlers.py": text})))
    assert not problems
    assert [*found.handlers, *found.own, *found.verbs, *found.providers] == [
        "find",
        "is_free",
        "spoken",
        "geocode",
        "db",
    ]
    assert {(hook.name, hook.flow) for hook in found.hooks.values()} == {("stop/find", None), ("end/note", "order")}
    assert {name: (call.providers, [*call.parameters]) for name, call in found.calls.items()} == {
        "find": (("db",), []),
        "stop/find": (("db",), []),
        "end/note": (("db",), ["contact"]),
        "geocode step": (("db",), ["geocode"]),
    }


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("@function('upper')\ndef f(): ...\n@template_filter('upper')\ndef g(value): ...", 5, "two functions|built in"),
        ("@template_filter('upper')\ndef g(value): ...", 3, 'filter "upper" is built in: choose another name'),
        ("@on('begin')\ndef f(): ...", 3, 'no event "begin"'),
        ("@on('end')\ndef f(contct): ...", 3, 'hook "end/f" wants "contct", which no event and no provider gives it: did you mean "contact"?'),
        ("@on('stop', flow='a')\ndef f(): ...", 3, '"stop" belongs to no flow'),
        ("@provider('db')\ndef db(url): ...", 3, 'provider "db" has a parameter, and nothing gives it a value'),
        ("@provider\ndef db(): ...", 3, 'a provider has a name: write @provider("name")'),
        ("@step_kind\nclass A:\n    a: str\n    def run(self): ...", 3, 'write @step_kind("name")'),
        ("@step_kind('a')\nclass A:\n    b: str\n    def run(self): ...", 3, 'annotate "a"'),
        ("@step_kind('say')\nclass A:\n    say: str\n    def run(self): ...", 6, "one of the language's own"),
    ],
)  # fmt: skip
def test_a_declaration_that_cannot_be_is_a_problem_at_its_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    imports = "from bot import *\n\n"
    found = problem(write(tmp_path, {"handlers.py": imports + text}))
    assert any(each in found.what for each in words.split("|"))
    assert (found.path, found.line) == ("handlers.py", line)


def test_a_function_that_takes_too_long_makes_its_expression_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.loading.watchdog.SECONDS", 0.05)
    flow = """
flow: main
start: {otherwise: true}
steps:
  a: {say: "{{ endless() }}", errors: {failed: broken}}
  broken: {say: Sorry., then: end}
"""
    code = "from bot import function\n\n@function('endless')\ndef endless():\n    while True: pass\n"
    library = load_program(read_folder(write(tmp_path, {"handlers.py": code, "flows/main.yml": flow}))).library
    talk = Talk(library)
    talk.checks = False
    assert talk.user("hi") == ["Sorry."]
    assert talk.turn is not None
    assert 'function "endless" was not done within' in talk.turn.trace.notes[0]
