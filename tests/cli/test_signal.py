"""``bot signal``."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.store.store_reader import StoreReader
from tests.cli.keeping import CONTACT, FLOWS, HANDLERS, kept
from tests.cli.terminal import BOT, call, make_bot

HEARS = FLOWS.replace("flow: main\n", "flow: main\ndefaults: {signals: {sold_out: {then: end}}}\n")
SIGNALS = "signals: {sold_out: {since: text}}\n"
STRANGER = "6281234567899"


@pytest.fixture(params=["with a server", "without a server"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A contact who is asked how many."""
    with kept(make_bot(tmp_path, HEARS, HANDLERS, bot=BOT + SIGNALS), server=True) as bot:
        bot.user("hi")
        if request.param == "with a server":
            yield tmp_path
    if request.param == "without a server":
        yield tmp_path


def letters(folder: Path) -> int:
    with closing(StoreReader(folder / "bot.db")) as reader:
        return reader.counts()["dead_letters"]


def test_a_signal_is_heard_by_the_step_that_waits_for_it(folder: Path) -> None:
    heard = call("signal", "sold_out", CONTACT, "--data", "since=noon", "--json", "--bot", folder)
    assert json.loads(heard.out) == {"contact": CONTACT, "signal": "sold_out", "outcome": "heard", "detail": ""}
    assert "signal sold_out by bot signal" in call("trace", CONTACT, "--bot", folder, "-n", "1").out
    unheard = call("signal", "sold_out", CONTACT, "--bot", folder)
    assert (unheard.code, unheard.err) == (1, f"No step of {CONTACT} waits for sold_out: nothing has happened.\n")


@pytest.mark.parametrize(
    ("name", "contact", "data", "why"),
    [
        ("sold_aut", CONTACT, "since=noon", 'there is no signal "sold_aut": did you mean "sold_out"?'),
        ("sold_out", CONTACT, "sinze=noon", 'signal "sold_out" has no "sinze": did you mean "since"?'),
        ("sold_out", STRANGER, "since=noon", f"{STRANGER} is not known to this bot (`bot sessions` lists who is)"),
    ],
)
def test_a_mistake_is_refused_before_anything_is_kept_of_it(
    folder: Path, name: str, contact: str, data: str, why: str
) -> None:
    before = call("trace", contact, "--bot", folder, "--json").out
    refused = call("signal", name, contact, "--data", data, "--bot", folder)
    assert (refused.code, refused.out, refused.err) == (1, "", f"{why}\n")
    assert letters(folder) == 0 and call("trace", contact, "--bot", folder, "--json").out == before
