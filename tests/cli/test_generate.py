"""`bot generate`."""

import shutil
from pathlib import Path

import pytest

from tests.cli.terminal import call, make_bot

FLOWS = """
flow: order
start: {words: [order], otherwise: true}
vars: {cups: {type: integer, min: 1, max: 12}, price: {type: number}}
steps:
  drink: {ask: What would you like?, buttons: {Tea: cups, Nothing: {say: "Bye!", then: end}}}
  cups: {ask: How many?, save: cups}
  price: {call: shop.price, with: {cups: "{{ cups }}"}, save: price, errors: {SoldOut: sold_out}}
  done: {say: "{{ price }} euros.", then: end}
  sold_out: {say: We have no tea today., then: end}
"""
HANDLERS = """
from bot import handler

class SoldOut(Exception):
    pass

@handler("shop.price", errors=[SoldOut])
def price(cups: int) -> float:
    raise AssertionError("a test that was generated calls nothing")
"""


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return make_bot(tmp_path / "bot", FLOWS, HANDLERS)


@pytest.fixture(scope="module")
def made_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tests that are generated for the bot."""
    bot = make_bot(tmp_path_factory.mktemp("generated") / "bot", FLOWS, HANDLERS)
    assert call("generate", bot).code == 0
    return bot / "tests"


@pytest.fixture
def generated(bot: Path, made_tests: Path) -> Path:
    """The bot with its generated tests."""
    shutil.copytree(made_tests, bot / "tests")
    return bot


def files(bot: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (bot / "tests" / "generated").iterdir()}


def test_generated_tests_take_everything_and_pass(bot: Path) -> None:
    made = call("generate", "bot", "--walks", "1")
    assert made.code == 0, made.out
    assert "bot/tests/generated/test_order.yml" in made.lines
    assert made.lines[-1].endswith("tests written. They reach 100 % of the steps and outcomes.")
    tested = call("test", "bot", "--min-coverage", "100")
    assert tested.code == 0, tested.out
    assert "ok    generated: walk 1 of seed 1" in tested.lines


def test_what_no_test_reaches_is_named_from_here(bot: Path) -> None:
    make_bot(bot, FLOWS + "  lost: {say: Lost, then: end}\n", HANDLERS)
    assert "  never reached: bot/flows/main.yml:11 order/lost" in call("generate", "bot").lines


def test_what_is_there_is_replaced_by_force_alone_and_comes_out_the_same(generated: Path) -> None:
    first = files(generated)
    again = call("generate", "bot")
    assert again.code == 1
    assert again.err.startswith("bot/tests/generated contains generated tests already: add --force")
    (generated / "tests" / "generated" / "own.yml").write_text("test: mine\ntalk: [user: hi]\n")
    assert call("generate", "bot", "--force").code == 0
    assert files(generated) == {**first, "own.yml": "test: mine\ntalk: [user: hi]\n"}


def test_a_file_that_somebody_has_made_their_own_is_not_written_over(generated: Path) -> None:
    own = generated / "tests" / "generated" / "test_order.yml"
    own.write_text("# mine now\n" + own.read_text())
    again = call("generate", "bot", "--force")
    assert (again.code, own.read_text().startswith("# mine now")) == (1, True)
    assert "bot/tests/generated/test_order.yml is no generated test any more: move it" in again.err


def test_after_an_edit_of_a_text_they_fail_at_its_line_until_they_are_made_anew(generated: Path) -> None:
    flows = generated / "flows" / "main.yml"
    flows.write_text(flows.read_text().replace("How many?", "How many cups?"))
    tested = call("test", "bot")
    assert tested.code == 1
    line = next(
        number for number, text in enumerate(files(generated)["test_order.yml"].splitlines(), 1) if "How many?" in text
    )
    assert f"      bot/tests/generated/test_order.yml:{line}: the bot says something else" in tested.lines
    assert call("generate", "bot", "--force").code == 0
    assert call("test", "bot").code == 0


def test_generated_tests_of_what_is_gone_are_no_hindrance(generated: Path) -> None:
    for file, text in (("flows/main.yml", FLOWS), ("handlers.py", HANDLERS)):
        (generated / file).write_text(text.replace("shop.price", "shop.cost"))
    assert "E501" in call("test", "bot").out
    assert call("generate", "bot", "--force").code == 0


def test_a_bot_with_problems_gets_no_tests(bot: Path) -> None:
    (bot / "flows" / "main.yml").write_text(FLOWS.replace("Tea: cups", "Tea: cpus"))
    made = call("generate", "bot")
    assert made.code == 1
    assert "E102" in made.out
    assert not (bot / "tests").exists()
