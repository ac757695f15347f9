"""A conversation that an assistant holds, a few lines at a time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli.assistant.held_talk import CannotTalk, HeldTalk
from bot.loading.program import FaultyBot
from tests.cli.terminal import make_bot

FLOW = """\
flow: main
start: {otherwise: true}
vars: {name: {type: name}}
steps:
  name: {ask: Your name?, save: name, remind: {after: 1h, say: Still there?}}
  size: {ask: "Hello {{ name }}. Which size?", buttons: [Small, Large]}
  price: {http: GET https://shop.example/price, then: end}
"""
WITHOUT_REQUEST = FLOW.replace("http: GET https://shop.example/price", "say: Thanks.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_bot(tmp_path, WITHOUT_REQUEST)


@pytest.fixture
def talk(folder: Path) -> Iterator[HeldTalk]:
    talk = HeldTalk(folder)
    yield talk
    talk.close()


def said(answer: str) -> list[str]:
    return [line for line in answer.splitlines() if not line.startswith("#")]


def test_it_goes_on_from_call_to_call(talk: HeldTalk) -> None:
    assert said(talk.say("[{user: hi}]")) == ["- user: hi", "- bot: Your name?"]
    assert said(talk.say("user: Ann")) == [
        "- user: Ann",
        "- bot: {says: Hello Ann. Which size?, buttons: [Small, Large]}",
    ]


def test_the_clock_moves_only_by_a_wait(talk: HeldTalk) -> None:
    answer = talk.say("- user: hi\n- wait: 90m")
    assert said(answer)[2:] == ["- wait: 90m", "- bot: Still there?"]
    assert "# it is Monday 2030-05-06 11:30" in answer


def test_it_says_where_the_contact_is_and_what_is_known(talk: HeldTalk) -> None:
    state = [line for line in talk.say("- user: hi\n- user: Ann").splitlines() if line.startswith("#")]
    assert state[1].startswith("# in main/size since") and state[2].split() == ["#", "name", "Ann"]


def test_a_test_begins_a_new_conversation_at_its_time(talk: HeldTalk) -> None:
    talk.say("[{user: hi}]")
    answer = talk.say('{now: "2031-01-02T08:00", contact: "6281234567890", talk: [{user: hi}]}')
    assert said(answer) == ["- user: hi", "- bot: Your name?"] and "# it is Thursday 2031-01-02 08:00" in answer


def test_a_line_that_fails_leaves_the_lines_before_it(talk: HeldTalk) -> None:
    talk.say("- user: hi\n- user: Ann")
    with pytest.raises(CannotTalk, match='tap: Huge: there is no button "Huge", but there is Small, Large'):
        talk.say("[{tap: Huge}]")
    assert said(talk.say("[{tap: Small}]")) == ["- tap: Small", "- bot: Thanks."]


def test_an_edit_plays_the_lines_again_and_shows_what_has_changed(talk: HeldTalk, folder: Path) -> None:
    talk.say("- user: hi")
    (folder / "flows" / "main.yml").write_text(WITHOUT_REQUEST.replace("Your name?", "Who is it?"))
    assert said(talk.say("user: Ann"))[:3] == ["- user: hi", "- bot: Who is it?", "- user: Ann"]


def test_an_edit_that_changes_nothing_said_shows_the_new_lines_alone(talk: HeldTalk, folder: Path) -> None:
    talk.say("- user: hi")
    (folder / "flows" / "main.yml").write_text(f"{WITHOUT_REQUEST}# a comment\n")
    assert said(talk.say("user: Ann"))[0] == "- user: Ann"


def test_a_bot_with_problems_is_not_talked_to(talk: HeldTalk, folder: Path) -> None:
    (folder / "flows" / "main.yml").write_text(WITHOUT_REQUEST.replace("then: end", "then: nowhere"))
    with pytest.raises(FaultyBot, match=r"flows/main.yml:\d+:\d+: E102"):
        talk.say("[{user: hi}]")


def test_a_service_answers_as_the_lines_say(folder: Path, talk: HeldTalk) -> None:
    make_bot(folder, FLOW)
    lines = "[{user: hi}, {user: Ann}, {tap: Small}, {http: {GET https://shop.example/price: {json: {price: 3}}}}]"
    assert said(talk.say(lines))[-1].startswith("- http:")


def test_a_service_without_an_answer_is_not_asked(folder: Path, talk: HeldTalk) -> None:
    make_bot(folder, FLOW)
    with pytest.raises(CannotTalk, match=r"tap: Small: .*GET https://shop.example/price"):
        talk.say("[{user: hi}, {user: Ann}, {tap: Small}]")


def test_a_number_stays_as_it_was_written(talk: HeldTalk) -> None:
    assert said(talk.say("[{user: 007}]"))[0] == '- user: "007"'


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("[{usr: hi}]", 'a line cannot begin with "usr"'),
        ("[{user: hi", "E002"),
        ("[{http: {GET https://shop.example/price: {}}}]", "write it behind the line that it answers"),
        ("[{start: {flow: main, data: {nobody: Ann}}}]", "the bot refuses this: main was not started"),
        ("[{user: hi}, {http: {GET https://shop.example/price: {}}}]", "the bot did not send the request"),
        ("[{bot: Hello}]", "leave out what the bot says"),
        ("", "write a list like"),
    ],
)
def test_lines_that_cannot_be_read_are_explained(talk: HeldTalk, lines: str, why: str) -> None:
    with pytest.raises(CannotTalk, match=why):
        talk.say(lines)


def test_it_becomes_a_test_with_what_was_said(talk: HeldTalk) -> None:
    talk.say("[{user: hi}]")
    assert talk.as_test("greets") == (
        "test: greets\ntalk:\n  - user: hi\n  - bot: Your name?\n  - expect: {flow: main, step: name}\n"
    )


def test_the_trace_says_why(talk: HeldTalk) -> None:
    with pytest.raises(CannotTalk, match="talk to the bot first"):
        talk.trace(1)
    talk.say("- user: hi\n- user: Ann")
    assert "main/name  then -> size" in talk.trace(1)
