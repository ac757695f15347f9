"""``bot publish`` where no server runs; `tests/process/test_publish.py` has those that do."""

import io
from pathlib import Path

import pytest

from tests.cli.keeping import FLOWS, HANDLERS, kept
from tests.cli.terminal import call, make_bot

GONE = FLOWS.replace("  sure: {ask", "  agreed: {ask").replace("else: sure", "else: agreed")
NEW = "flow: new\nstart: {words: [new]}\nsteps:\n  s: {say: New., then: end}\n"


class Terminal(io.StringIO):
    """An input that is a terminal's."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bot: one contact waits at the step `sure`."""
    with kept(tmp_path) as bot:
        bot.user("hi", "2")
    return tmp_path


def edited(folder: Path, flows: str) -> Path:
    (folder / "flows" / "main.yml").write_text(flows)
    return folder


def test_the_version_is_stored_and_commands_take_the_flows_that_are_served(folder: Path) -> None:
    edited(folder, FLOWS + "---\n" + NEW)
    assert call("publish", folder).lines[-1] == "Version 1 is published: the next `bot serve` serves it."
    edited(folder, FLOWS)
    assert call("start", "new", "6281234567891", "--bot", folder).out == "new was started for 6281234567891.\n"


def test_what_is_served_already_is_not_published_again(folder: Path) -> None:
    assert call("publish", folder, "--follow-files").out == (
        "Nothing is published: the files in the folder are followed already.\n"
    )
    call("publish", folder)
    again = call("publish", folder)
    assert (again.code, again.out) == (
        0,
        "Nothing is published: version 1 has the same files, and is served already.\n",
    )


def test_without_a_store_there_is_nothing_to_publish_to(tmp_path: Path) -> None:
    refused = call("publish", make_bot(tmp_path, FLOWS, HANDLERS))
    assert (refused.code, refused.out) == (1, "") and "`bot serve` makes one" in refused.err


def test_it_asks_before_a_conversation_ends_and_refuses_without_a_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = call("publish", edited(folder, GONE))
    assert refused.code == 1 and "there is no terminal to ask at; --yes publishes it" in refused.err
    assert "1 would be dropped" in refused.out
    with monkeypatch.context() as at_terminal:
        at_terminal.setattr(io, "StringIO", Terminal)
        assert call("publish", folder, stdin="n\n").code == 1
        assert call("versions", "--bot", folder, "--json").out == "[]\n"
        assert call("publish", folder, stdin="y\n").code == 0
    assert call("publish", edited(folder, FLOWS), "--yes").lines[-1].startswith("Version 2 is published")


@pytest.mark.parametrize(
    ("flows", "why"),
    [
        (FLOWS.replace("then: offer", "then: nowhere"), "E102 no step"),
        (FLOWS + "---\ntest: greets\ntalk:\n- user: hi\n- bot: Goodbye\n", "FAIL  greets"),
    ],
)
def test_a_bot_with_problems_or_a_failing_test_is_not_published(folder: Path, flows: str, why: str) -> None:
    refused = call("publish", edited(folder, flows))
    assert (refused.code, refused.err) == (1, "Nothing is published.\n")
    assert why in refused.out
    assert call("publish", folder, "--no-tests").code == int("test:" not in flows)
