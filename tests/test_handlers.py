from pathlib import Path

import pytest

from bot.folder import read_folder
from bot.handlers import load_handlers
from bot.lang.problems import Problem

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
    assert handlers == {}
    return found


def test_a_module_of_handlers_is_loaded(tmp_path: Path) -> None:
    handlers, problems = load_handlers(read_folder(write(tmp_path, {"handlers.py": GREET})))
    assert not problems
    assert handlers["greet"].function(name="Ann") == "Hello Ann"


def test_no_handlers_are_no_problem(tmp_path: Path) -> None:
    assert load_handlers(read_folder(write(tmp_path, {}))) == ({}, [])


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
    assert handlers["greet"].function(name="Ann") == "Hi Ann"


def test_two_bots_and_two_versions_of_one_do_not_meet(tmp_path: Path) -> None:
    first = load_handlers(read_folder(write(tmp_path / "a", {"handlers.py": GREET})))[0]
    second = load_handlers(read_folder(write(tmp_path / "a", {"handlers.py": GREET.replace("Hello", "Hallo")})))[0]
    other = load_handlers(read_folder(write(tmp_path / "b", {"handlers.py": GREET.replace("Hello", "Hi")})))[0]
    said = [handlers["greet"].function(name="Ann") for handlers in (first, second, other)]
    assert said == ["Hello Ann", "Hallo Ann", "Hi Ann"]


def test_what_was_read_is_what_runs(tmp_path: Path) -> None:
    folder = read_folder(write(tmp_path, {"handlers.py": GREET}))
    (tmp_path / "handlers.py").write_text("raise SystemExit")
    assert "greet" in load_handlers(folder)[0]


def test_a_handler_knows_where_its_file_lies(tmp_path: Path) -> None:
    text = GREET.replace('f"Hello {name}"', "__file__")
    handlers, _ = load_handlers(read_folder(write(tmp_path, {"handlers.py": text})))
    assert handlers["greet"].function(name="") == str(tmp_path / "handlers.py")


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
