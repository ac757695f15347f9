"""The fixture `chat`, in a run of pytest of its own: it takes seconds to start, so all tests have one between them."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.terminal import make_bot

FLOWS = """
flow: main
start: {otherwise: true}
vars: {cups: {type: integer}, price: {type: number}, taste: {type: object, fields: {sugar: integer}}}
words: {my taste: taste}
steps:
  drink: {ask: Which drink?, buttons: {Tea: cups, Surprise: luck}}
  cups: {ask: How many?, save: cups}
  price: {call: price, with: {cups: "{{ cups }}"}, save: price, errors: {else: {say: No price., then: end}}}
  total: {say: "{{ price }} in all.", then: end}
  luck: {branch: [{if: random() < 0.5, then: cups}, {else: end}]}
  taste: {write: What do they like?, text: two sugars, save: taste, errors: {else: end}}
  noted: {say: "{{ taste.sugar + 1 }}", then: end}
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

def test_a_handlers_last_result_is_that_of_all_further_calls(chat):
    chat.handler("price", 7, 8, ...)
    for price in (7, 8, 8, 8):
        order(chat)
        chat.says(f"{price} in all.")

def test_a_handler_fails(chat):
    chat.handler("price", fails="timeout")
    order(chat)
    chat.says("No price.")

def test_a_model_writes_a_value_as_json(chat):
    chat.user("hi")
    chat.says(contains="Which")
    chat.model(json={"sugar": 2})
    chat.user("my taste")
    chat.says("3")

@pytest.mark.bot(contact="6281234567890", now="2031-02-03T10:00")
def test_somebody_talks(chat):
    chat.user("hi")
    assert str(chat.session.last_inbound)[:10] == "2031-02-03"
    chat.says("Which drink?", buttons=["Tea", "Surprise"])
    chat.expect(exit=None, not_called=["price"], says={"contains": "which", "without": ["sorry"]})
    assert chat.session.contact == "6281234567890"

@pytest.mark.bot(random=[0.1, 0.9, ...])
def test_chance_ends_like_a_list_of_results(chat):
    chat.user("hi")
    chat.says("Which drink?", buttons=["Tea", "Surprise"])
    chat.tap("Surprise")
    chat.says("How many?")
    chat.user("2")
    chat.says("5 in all.")
    for _ in range(2):
        chat.user("hi")
        chat.says("Which drink?", buttons=["Tea", "Surprise"])
        chat.tap("Surprise")
        chat.silence()

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

def test_a_time_is_a_duration_of_python_too_and_a_wrong_file_says_what_to_write(chat):
    from datetime import timedelta
    chat.user("hi")
    chat.says(contains="Which")
    chat.wait(timedelta(minutes=5))
    with pytest.raises(ValueError, match="is no duration: write one like 90s"):
        chat.wait(timedelta(minutes=-5))
    with pytest.raises(ValueError, match='"xyz" is no type of a sample of kind image .write one of jpg, '):
        chat.send("image", type="xyz")
    with pytest.raises(ValueError, match='"jpg" is no type of a sample of kind location .leave out the type'):
        chat.send("location", type="jpg")
    with pytest.raises(ValueError, match='no kind "imag" .did you mean "image"'):
        chat.send("imag")

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


WRONG = {
    "chat.says('Which one?')": ["Which one?", "≠ Which drink?", "the bot says something else"],
    "pass": ["the bot says something after this that the test does not list", "Which drink?"],
    "chat.says(contains='Which'); chat.expect(step='cups')": ["step: cups", "≠ step: drink"],
    "chat.says(contains='Which'); chat.expect(says={'judge': 'Is it polite?'})": ["a `judge` question needs a model"],
    "chat.says(contains='Which'); chat.tap('Milk')": ['there is no button "Milk"'],
    "chat.says(contains='W'); chat.http('GET crm:/a'); chat.user('Tea'); chat.says('How many?')":
        ["did not send the request GET crm:/a"],
}  # fmt: skip
UNFIT = """
@pytest.mark.bot("shopp")
def test_no_folder(chat): ...

@pytest.mark.bot("faulty")
def test_faulty(chat): ...
"""

Said = dict[str, str]
"""What pytest says of each test of a run: nothing of one that has passed."""


def run(folder: Path, tests: str, ini: str = "") -> Said:
    make_bot(folder / "shop", FLOWS, HANDLERS)
    make_bot(folder / "faulty", FLOWS.replace("Tea: cups", "Tea: cup"), HANDLERS)
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    (folder / "test_shop.py").write_text(tests)
    report = folder / "report.xml"
    options = ["-q", "-p", "bot.testing.conversations.pytest_plugin", "--strict-markers", f"--junitxml={report}"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "COLUMNS": "100"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode in (0, 1), ended.stdout + ended.stderr
    cases = ElementTree.parse(report).iter("testcase")
    return {case.attrib["name"]: "".join(text for part in case for text in part.itertext()) for case in cases}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    wrong = [f"def test_wrong_{number}(chat):\n    chat.user('hi'); {lines}\n" for number, lines in enumerate(WRONG)]
    return run(tmp_path_factory.mktemp("run"), "\n".join((PASSING, UNFIT, *wrong)), "bot_folder = shop")


@pytest.mark.parametrize("name", re.findall(r"def (test_\w+)", PASSING))
def test_a_talk_in_python_says_what_one_in_yaml_says(said: Said, name: str) -> None:
    assert said[name] == ""


@pytest.mark.parametrize("number", range(len(WRONG)), ids=[*WRONG])
def test_a_talk_that_goes_another_way_fails_with_both_sides(said: Said, number: int) -> None:
    text = said[f"test_wrong_{number}"]
    assert all(words in text for words in [*WRONG.values()][number]), text
    assert "player.py" not in text


def test_a_folder_that_is_not_there_is_said(said: Said) -> None:
    assert "there is no folder" in said["test_no_folder"] and "Traceback" not in said["test_no_folder"]


def test_a_faulty_bot_is_listed(said: Said) -> None:
    assert 'E102 no step "cup"' in said["test_faulty"]


def test_the_bot_is_named_by_a_marker_where_no_setting_names_it(tmp_path: Path) -> None:
    test = (
        "import pytest\n@pytest.mark.bot('shop')\ndef test_it(chat):\n    chat.user('hi'); chat.says(contains='Which')"
    )
    assert run(tmp_path, test) == {"test_it": ""}


def test_pytest_alone_imports_nothing_of_the_bot() -> None:
    code = (
        "import bot.testing.conversations.pytest_plugin, sys; print([m for m in sys.modules if m.startswith('bot.')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert "bot.language.flow" not in found and "bot.testing.simulation" not in found
