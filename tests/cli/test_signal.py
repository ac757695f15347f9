"""``bot signal``."""

import json
from pathlib import Path

import pytest

from tests.cli.keeping import CONTACT, kept
from tests.cli.terminal import call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A contact who is asked how many."""
    with kept(tmp_path) as bot:
        bot.user("hi")
    return tmp_path


def test_a_signal_is_heard_by_the_step_that_waits_for_it(folder: Path) -> None:
    with (folder / "bot.yml").open("a") as file:
        file.write("signals: {sold_out: {since: text}}\n")
    flow = next(path for path in folder.rglob("*.yml") if "flow: main" in path.read_text())
    flow.write_text(
        flow.read_text().replace("flow: main\n", "flow: main\ndefaults: {signals: {sold_out: {then: end}}}\n")
    )
    unheard = call("signal", "sold_out", "6281234567899", "--bot", folder)
    assert (unheard.code, unheard.err) == (1, "6281234567899 waits for no sold_out: nothing has happened.\n")
    wrong = call("signal", "sold_aut", CONTACT, "--bot", folder)
    assert (wrong.code, wrong.err) == (1, 'there is no signal "sold_aut": did you mean "sold_out"?\n')
    heard = call("signal", "sold_out", CONTACT, "--data", "since=noon", "--json", "--bot", folder)
    assert json.loads(heard.out) == {"contact": CONTACT, "signal": "sold_out", "outcome": "heard", "detail": ""}
    assert "signal sold_out by bot signal" in call("trace", CONTACT, "--bot", folder, "-n", "1").out
