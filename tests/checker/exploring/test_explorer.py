"""The explorer takes the turns of the real engine, and does with messages what those do who send them."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.checker.exploring.conversation_yaml import CONTACT
from bot.checker.exploring.examples import Examples
from bot.checker.exploring.explorer import ExploredState, Explorer
from bot.checker.exploring.message_view import message_parts
from bot.checker.exploring.moves import (
    EventMove,
    HandlerResult,
    HttpResult,
    ModelResult,
    RefusalMove,
    SendMove,
    StartMove,
    TapMove,
    WaitMove,
    WriteMove,
)
from bot.checker.exploring.proposals import Proposals
from bot.checker.graph import Graph
from bot.core.session import Session
from bot.loading.folder import read_folder
from bot.testing.conversations.examples_from_tests import examples_from
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.simulation.simulation import FIRST_CONTACT
from tests.checker.proved import library
from tests.searches import search, tries

EXAMPLES = Path(__file__).parents[3] / "examples"
TEA = """
flow: tea
start: {words: [tea]}
vars: {cups: {type: integer, min: 1, max: 4}}
steps:
  kind: {ask: Which tea?, buttons: [Green, Black], remind: {after: 2h, say: Still there?}, timeout: {after: 20h, then: end}}
  cups: {ask: How many?, save: cups, timeout: {after: 20h, then: end}}
  done: {say: "{{ cups }} cups."}"""
LATE = "flow: late\nstart: {words: [late]}\nsteps:\n  w: {wait: 25h}\n  b: {say: B}\n  c: {say: C}"
NOTICE = "name: Test\ndefaults: {window_closed: {template: {name: hello, language: en}}}"


def explorer(
    *flows: str, bot: str = "name: Test\ndefaults: {timeout: {after: 20h, then: end}, errors: {else: end}}"
) -> Explorer:
    return Explorer(library(*flows, bot=bot))


def begun(explorer: Explorer) -> ExploredState:
    zone = explorer.library.bot.timezone
    return explorer.begin(CONTACT, datetime(2030, 5, 6, 10, tzinfo=zone))


def said(state: ExploredState) -> list[object]:
    return [message_parts(sent.message) for sent in state.sent]


def test_who_talks_in_a_counterexample_is_who_talks_in_a_test() -> None:
    assert CONTACT == FIRST_CONTACT


def test_moves_lead_from_state_to_state_and_leave_the_earlier_ones_as_they_were() -> None:
    walk = explorer(TEA)
    first = begun(walk)
    asked = walk.take(first, WriteMove("tea"))
    assert said(asked) == [{"says": "Which tea?", "buttons": ["Green", "Black"]}]
    green = next(option for option in asked.options if option.title == "Green")
    tapped = walk.take(asked, TapMove(green.reply, green.title))
    done = walk.take(tapped, WriteMove("3"))
    assert (said(tapped), said(done)) == (["How many?"], ["3 cups."])
    assert done.frame is None
    assert [each.move for each in done.path()] == [asked.move, tapped.move, done.move]
    assert said(walk.take(asked, WriteMove("black"))) == ["How many?"]
    assert first.session == Session(CONTACT)


def test_a_wait_ends_when_something_is_due() -> None:
    walk = explorer(TEA)
    state = walk.take(walk.take(begun(walk), WriteMove("tea")), WaitMove(timedelta(days=9)))
    assert state.move == WaitMove(timedelta(hours=2))
    assert said(state) == ["Still there?"]


def test_what_comes_late_does_not_go_or_its_template_goes_once() -> None:
    for bot, outcomes in (("name: Test", ["failed", "failed"]), (NOTICE, ["replaced", "superseded"])):
        walk = explorer(LATE, bot=bot)
        state = walk.take(walk.take(begun(walk), WriteMove("late")), WaitMove(timedelta(hours=25)))
        assert [sent.outcome for sent in state.sent] == outcomes
        assert [sent.missed_window for sent in state.sent] == [bot == "name: Test"] * 2


def test_who_has_never_written_can_be_sent_nothing_but_templates() -> None:
    walk = explorer("flow: a\nsteps:\n  b: {say: B}")
    state = walk.take(begun(walk), StartMove("a"))
    assert [(sent.silence, sent.missed_window) for sent in state.sent] == [(None, True)]


def test_the_world_is_waited_for_and_answered() -> None:
    flow = """
flow: ask
start: {words: [ask]}
vars: {found: {type: object}}
steps:
  get: {http: "GET https://api.example/x", save: found, errors: {404: {say: Nothing., then: end}, else: end}}
  said: {say: "{{ found.name }}"}
  talk: {ai: Talk about tea., exits: {done: {when: All is said., then: end}}, errors: {else: end}}"""
    walk = explorer(flow)
    asked = walk.take(begun(walk), WriteMove("ask"))
    assert asked.awaited is not None
    request = "GET https://api.example/x"
    assert said(walk.take(asked, HttpResult(request, 404))) == ["Nothing."]
    answered = walk.take(asked, HttpResult(request, json={"name": "Ann"}))
    assert said(answered) == ["Ann"]
    talking = walk.take(answered, ModelResult("With pleasure."))
    assert (said(talking), talking.awaited) == (["With pleasure."], None)
    left = walk.take(walk.take(talking, WriteMove("thanks")), ModelResult("Bye.", (("leave_done", {}),)))
    assert (said(left), left.frame) == (["Bye."], None)


def test_an_answer_that_is_kept_is_not_asked_for_again() -> None:
    walk = explorer('flow: a\nstart: {words: [a]}\nsteps:\n  get: {http: "GET https://api.example/x", cache: 10m}')
    known = walk.take(walk.take(begun(walk), WriteMove("a")), HttpResult("GET https://api.example/x"))
    assert walk.take(known, WriteMove("a")).awaited is None
    assert walk.take(walk.take(known, WaitMove(timedelta(minutes=10))), WriteMove("a")).awaited is not None


def test_a_template_that_the_gateway_refuses_is_told_to_its_step() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  t: {template: {name: x, language: en}, errors: {refused: {say: Oh., then: end}}}"
    walk = explorer(flow)
    assert said(walk.take(walk.take(begun(walk), RefusalMove()), WriteMove("a")))[1:] == ["Oh."]
    assert said(walk.take(begun(walk), WriteMove("a")))[1:] == []


def test_a_person_is_waited_for_and_events_start_flows() -> None:
    walk = explorer(
        "flow: a\nstart: {event: contact.created}\nsteps:\n  h: {handoff: team, closed: b}\n  b: {say: Back.}"
    )
    handed = walk.take(begun(walk), EventMove("contact.created"))
    assert handed.frame is not None
    assert said(walk.take(handed, WriteMove("hello?"))) == []
    assert said(walk.take(handed, EventMove("conversation.resolved"))) == ["Back."]


def test_a_handlers_result_is_what_its_annotation_says() -> None:
    folder = read_folder(EXAMPLES / "clinic")
    program = load_with_tests(folder).program
    assert program is not None
    walk = Explorer(program.library, program.extensions)
    state = begun(walk)
    for move in (WriteMove("book"), WriteMove("cleaning"), WriteMove("tomorrow")):
        state = walk.take(state, move)
    slot = {"id": "1", "time": "09:00", "doctor": "Dr Lee", "starts": "2030-05-07T09:00"}
    state = walk.take(state, HandlerResult("clinic.free", [slot]))
    assert state.frame is not None
    assert state.frame.vars["slots"][0]["starts"].hour == 9


@pytest.mark.parametrize("annotation", ["list[dict]", "list[dict[str, Any]]", "list"])
def test_elements_of_which_an_annotation_says_nothing_have_the_fields_that_the_flow_reads(
    tmp_path: Path, annotation: str
) -> None:
    (tmp_path / "bot.yml").write_text(
        "name: Tools\ndefaults: {timeout: {after: 20h, then: end}, errors: {else: end}}\n"
    )
    (tmp_path / "handlers.py").write_text(
        f'from typing import Any\nfrom bot import handler\n\n@handler("tools.free")\ndef free() -> {annotation}: return []\n'
    )
    (tmp_path / "tools.yml").write_text(
        """
flow: tools
start: {words: [tools]}
vars: {tools: {type: list}, tool: {type: text}}
steps:
  find: {call: tools.free, save: tools}
  tool: {ask: Which?, options: {from: tools, title: "{{ it.name }}", value: "{{ it.id }}"}, save: tool}
  done: {say: "{{ tool }}", then: end}"""
    )
    program = load_with_tests(read_folder(tmp_path)).program
    assert program is not None
    walk = Explorer(program.library, program.extensions)
    state = walk.take(begun(walk), WriteMove("tools"))
    proposals = Proposals(Graph(program.library), Examples(extensions=program.extensions))
    returned = next(move for move in proposals.moves(state) if isinstance(move, HandlerResult))
    assert returned.value[0].keys() == {"id", "name"}


@search
@pytest.mark.parametrize("name", ["survey", "basket", "shop", "helpline"][: tries(2, 4)])
def test_whatever_is_proposed_can_be_taken(name: str) -> None:
    loaded = load_with_tests(read_folder(EXAMPLES / name))
    assert loaded.program is not None
    walk = Explorer(loaded.program.library, loaded.program.extensions)
    proposals = Proposals(Graph(loaded.program.library), examples_from(loaded.program.extensions, loaded.transcripts))

    @settings(max_examples=tries(3, 10))
    @given(st.lists(st.integers(0, 1 << 16), min_size=10, max_size=25))
    def goes_on(choices: list[int]) -> None:
        state = begun(walk)
        for choice in choices:
            moves = proposals.moves(state)
            assert moves, "nothing can happen any more"
            state = walk.take(state, moves[choice % len(moves)])

    goes_on()


def test_a_photo_is_kept_before_its_question_is_left() -> None:
    flow = "flow: a\nstart: {words: [a]}\nvars: {p: {type: media, keep: true}}\nsteps:\n  q: {ask: A photo?, save: p}\n  b: {say: Thanks.}"
    walk = explorer(flow)
    sent = walk.take(walk.take(begun(walk), WriteMove("a")), SendMove("image"))
    (move,) = Proposals(Graph(walk.library)).moves(sent)
    assert said(walk.take(sent, move)) == ["Thanks."]
