"""The fixture `chat`, in a run of pytest of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import make_bot

FLOWS = """
flow: main
start: {otherwise: true}
vars: {cups: {type: integer}, price: {type: number}}
steps:
  drink: {ask: Which drink?, buttons: {Tea: cups, Surprise: luck}}
  cups: {ask: How many?, save: cups}
  price: {call: price, with: {cups: "{{ cups }}"}, save: price, errors: {else: {say: No price., then: end}}}
  total: {say: "{{ price }} in all.", then: end}
  luck: {branch: [{if: random() < 0.5, then: cups}, {else: end}]}
"""
HANDLERS = """
from bot import handler

@handler("price")
def price(cups: int) -> float:
    return cups * 2.5
"""
PASSING = """
import pytest

def order(chat):
    chat.user("hi")
    chat.says("Which drink?", buttons=["Tea", "Surprise"])
    chat.tap("Tea")
    chat.says(contains=["How", "many"])
    chat.user("2")

def test_a_handler_is_really_called(chat):
    order(chat)
    chat.says("5 in all.")
    chat.expect(flow=None, calls=[{"price": {"cups": 2}}], sent=3)

def test_a_handler_has_a_stand_in(chat):
    chat.handler("price", 7, 8)
    order(chat)
    chat.says("7 in all.")
    order(chat)
    chat.says("8 in all.")

def test_a_handler_fails(chat):
    chat.handler("price", fails="timeout")
    order(chat)
    chat.says("No price.")

@pytest.mark.bot(contact="6281234567890")
def test_somebody_talks(chat):
    chat.user("hi")
    chat.says("Which drink?", buttons=["Tea", "Surprise"])
    assert chat.session.contact == "6281234567890"

@pytest.mark.bot(random=0.9)
def test_chance_is_fixed(chat):
    chat.user("hi")
    chat.says("Which drink?", buttons=["Tea", "Surprise"])
    chat.tap("Surprise")
    chat.silence()
    assert chat.session.frames == ()

def test_what_happens_besides(chat):
    chat.user("hi")
    chat.says(contains="Which")
    chat.restart()
    chat.again()
    chat.event("conversation.assigned", agent="Ann")
    chat.send("location", latitude=1, longitude=2)
    chat.silence()
    chat.event("conversation.resolved")
    chat.wait("19h")
    chat.expect(flow="main", step="drink", vars={"cups": None})

def test_a_stand_in_comes_before_the_talk_and_has_a_name(chat):
    with pytest.raises(LookupError, match="did you mean"):
        chat.handler("prise", 1)
    with pytest.raises(TypeError, match="a message has no button"):
        chat.says(button="Tea")
    chat.user("hi")
    chat.says(contains="Which")
    with pytest.raises(Exception, match="before anything happens"):
        chat.handler("price", 1)
"""


def run(folder: Path, test: str, *arguments: str, ini: str = "bot_folder = shop") -> tuple[int, str]:
    make_bot(folder / "shop", FLOWS, HANDLERS)
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    (folder / "test_shop.py").write_text(test)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "bot.testing.pytest_plugin", "--strict-markers", *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "COLUMNS": "100"},
        capture_output=True,
        text=True,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_a_talk_in_python_says_what_one_in_yaml_says(tmp_path: Path) -> None:
    code, out = run(tmp_path, PASSING)
    assert code == 0, out
    assert re.search(r"\b7 passed", out)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("chat.says('Which one?')", ["Which one?", "≠ Which drink?", "the bot says something else"]),
        ("pass", ["the bot says something after this that the test does not list", "Which drink?"]),
        ("chat.says(contains='Which'); chat.expect(step='cups')", ["step: cups", "≠ step: drink"]),
        ("chat.says(contains='Which'); chat.tap('Milk')", ['there is no button "Milk"']),
        ("chat.says(contains='W'); chat.http('GET crm:/a'); chat.user('Tea'); chat.says('How many?')",
         ["does not ask GET crm:/a"]),
    ],
)  # fmt: skip
def test_a_talk_that_goes_another_way_fails_with_both_sides(tmp_path: Path, lines: str, words: list[str]) -> None:
    code, out = run(tmp_path, f"def test_it(chat):\n    chat.user('hi'); {lines}\n")
    assert code == 1
    assert all(word in out for word in words), out
    assert "player.py" not in out


def test_the_bot_is_named_by_a_marker_or_is_that_of_the_folder(tmp_path: Path) -> None:
    test = (
        "import pytest\n@pytest.mark.bot('shop')\ndef test_it(chat):\n    chat.user('hi'); chat.says(contains='Which')"
    )
    assert run(tmp_path, test, ini="")[0] == 0
    code, out = run(tmp_path, "def test_it(chat): ...", ini="bot_folder = shopp")
    assert code == 1 and "there is no folder" in out and "Traceback" not in out


def test_a_faulty_bot_is_listed(tmp_path: Path) -> None:
    make_bot(tmp_path / "faulty", FLOWS.replace("Tea: cups", "Tea: cup"), HANDLERS)
    code, out = run(tmp_path, "def test_it(chat): ...", ini="bot_folder = faulty")
    assert code == 1 and 'E102 no step "cup"' in out


def test_pytest_alone_imports_nothing_of_the_bot() -> None:
    code = "import bot.testing.pytest_plugin, sys; print([m for m in sys.modules if m.startswith('bot.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert "bot.flow" not in found and "bot.simulation" not in found
