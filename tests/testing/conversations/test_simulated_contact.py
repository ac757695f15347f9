"""Contacts who are played by a model: what it is asked, what it does, and how the conversation ends."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.language.source.problems import Mark
from bot.loading.folder import read_folder
from bot.services.ai.ai_client import Completions
from bot.testing.conversations.evaluation import EvaluationResult, evaluate, replay
from bot.testing.conversations.model_sources import BUDGET, LiveModel, RunBudget
from bot.testing.conversations.simulated_contact import SimulatedMove, act_of, asking_for_move, read_move
from bot.testing.conversations.spoken_lines import SpokenLine
from bot.testing.conversations.transcript import PersonaLine, PickLine, TapLine, UserLine
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.emulator.completion import CompletionService, ErrorAnswer, ModelAnswer, failure
from bot.testing.simulation.phone import ListRow, ShownMessage
from tests.cli.terminal import make_bot

SWIFT, WISE = "acme/swift", "acme/wise"
FLOWS = """
flow: main
start: {otherwise: true}
vars: {people: {type: integer}}
steps:
  day: {ask: Which day?, buttons: {Friday: talk, Sunday: talk}}
  talk:
    ai: You book tables.
    greet: For how many?
    fill: {people: how many people come}
    exits: {booked: {when: it is booked, needs: [people], then: booked}}
    errors: {else: end}
  booked: {say: Booked., then: end}
"""
TALK = """
  - user: {goal: book a table for two, persona: impatient, knows: {name: Ann, people: 2}, turns: 4}
  - expect: {exit: booked, filled: {people: 2}, sent: 3, flow: null}
"""
CONTACT = PersonaLine(Mark("", 1, 1), "book a table", "impatient", {"name": "Ann"}, 4)


def guest(*moves: str | ErrorAnswer) -> Callable[[dict[str, Any]], ModelAnswer | ErrorAnswer | str]:
    """A model that plays a contact by these moves, books for two, and judges that the goal is reached."""
    left = iter(moves)

    def speak(body: dict[str, Any]) -> ModelAnswer | ErrorAnswer | str:
        rules = body["messages"][0]["content"]
        if body["model"] == SWIFT:
            return ModelAnswer(calls=[("remember", {"people": "2"}), ("leave_booked", {})])
        return "Yes." if rules.startswith("You judge") else next(left)

    return speak


@pytest.fixture
def service() -> Iterator[CompletionService]:
    with CompletionService(models=(SWIFT, WISE), threads=2) as emulated:
        yield emulated


class Table:
    """A bot that books tables, and an evaluation with a simulated contact."""

    def __init__(self, folder: Path, service: CompletionService, conversation: str = TALK) -> None:
        self.bot = read_folder(make_bot(folder, FLOWS, "", f"evaluate: a table\ntimes: 1\ntalk:{conversation}"))
        loaded = load_with_tests(self.bot)
        assert loaded.program is not None and not loaded.problems, loaded.problems
        self.program, self.evaluation = loaded.program, loaded.transcripts[0]
        self._client = Completions(service.url, service.key)

    def held(self) -> EvaluationResult:
        source = LiveModel(self._client, SWIFT, WISE, RunBudget(BUDGET), alone=False)
        return evaluate(self.evaluation, self.program, self.bot, source, SWIFT)


def why(held: EvaluationResult) -> str:
    (one,) = held.tries
    assert one.failure is not None
    return one.failure.what


def test_a_simulated_contact_taps_writes_and_is_done(tmp_path: Path, service: CompletionService) -> None:
    service.answer_with(guest("hello", "friday", "2 of us\n\nDONE"))
    held = Table(tmp_path, service).held()
    assert [each.failure for each in held.tries] == [None]


def test_the_conversation_is_shown_with_taps_and_messages(tmp_path: Path, service: CompletionService) -> None:
    service.answer_with(guest("hello", "Friday", "GIVE UP: too slow"))
    held = Table(tmp_path, service).held()
    (one,) = held.tries
    assert one.failure is not None and one.failure.what == "the contact gives up: too slow"
    assert [(each.who, each.text) for each in one.failure.conversation] == [
        ("user", "hello"), ("bot", "Which day?"), ("tap", "Friday"), ("bot", "For how many?"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("moves", "reason"),
    [
        (("a", "b", "c", "d\n\ne"), "the goal is not reached with 4 messages of the contact"),
        (("hello", "*Give up*\nGIVE UP"), "the contact gives up: without a reason"),
        (("hello", failure("content_filter", 400)), "the model that plays the contact has no answer"),
    ],
)
def test_a_contact_who_does_not_reach_the_goal_fails(
    tmp_path: Path, service: CompletionService, moves: tuple[str | ErrorAnswer, ...], reason: str
) -> None:
    service.answer_with(guest(*moves))
    assert why(Table(tmp_path, service).held()) == reason


def test_the_judge_has_the_last_word_on_the_goal(tmp_path: Path, service: CompletionService) -> None:
    played = guest("hello\n\nDONE")
    service.answer_with(
        lambda body: (
            "No, nothing is booked." if body["messages"][0]["content"].startswith("You judge") else played(body)
        )
    )
    held = Table(tmp_path, service).held()
    assert why(held) == "the goal is not reached"
    assert held.failures()[0][0].differences[0].found == "no: nothing is booked."
    assert service.requests()[-1].body["messages"][1]["content"].endswith("reached this goal? book a table for two")


def test_the_checks_of_the_flow_count_beside_the_goal(tmp_path: Path, service: CompletionService) -> None:
    service.answer_with(guest("hello\n\nDONE"))
    assert why(Table(tmp_path, service).held()) == "the conversation is not as expected"


def test_its_turns_are_recorded_and_replayed(tmp_path: Path, service: CompletionService) -> None:
    service.answer_with(guest("hello", "Friday", "2 of us\n\nDONE"))
    table = Table(tmp_path, service)
    held, asked = table.held(), len(service.requests())
    again = replay(table.evaluation, table.program, table.bot, SWIFT, [each.answers for each in held.tries])
    assert (held.ok, again.ok, again.stale, len(service.requests())) == (True, True, "", asked)


def test_the_model_answers_the_bot_from_the_contacts_side() -> None:
    shown = ShownMessage("Which day?", buttons=("Friday", "Sunday"))
    conversation = [SpokenLine("user", "hi"), SpokenLine("bot", "Which day?", shown)]
    rules, *chat = asking_for_move(CONTACT, conversation)
    assert "Their goal: book a table\nHow they are: impatient\nThey know: name: Ann\n" in rules["content"]
    assert chat == [
        {"role": "user", "content": "(The chat begins.)"},
        {"role": "assistant", "content": "hi"},
        {"role": "user", "content": "Which day?\n[Friday] [Sunday]"},
    ]
    assert asking_for_move(CONTACT, [])[1:] == [{"role": "user", "content": "(The chat begins.)"}]
    assert asking_for_move(CONTACT, [SpokenLine("user", "hi")])[-1]["content"] == "(The chatbot says nothing.)"


@pytest.mark.parametrize(
    ("answer", "move"),
    [
        ("hi", SimulatedMove(("hi",))),
        ("hi\nthere\n\nfriend", SimulatedMove(("hi\nthere", "friend"))),
        ("Thanks!\n**DONE**", SimulatedMove(("Thanks!",), done=True)),
        ("I am done with this", SimulatedMove(("I am done with this",))),
        ("GIVE UP: no tables", SimulatedMove(gives_up="no tables")),
        ("", SimulatedMove()),
    ],
)
def test_an_answer_is_messages_and_perhaps_an_end(answer: str, move: SimulatedMove) -> None:
    assert read_move(answer) == move


def test_only_a_title_in_the_newest_messages_is_tapped_or_picked() -> None:
    old = SpokenLine("bot", "", ShownMessage("Old?", buttons=("Yes",)))
    new = SpokenLine("bot", "", ShownMessage("Which?", rows=(ListRow("Tea"), ListRow("Coffee"))))
    conversation = [old, SpokenLine("user", "hm"), new, SpokenLine("bot", "", ShownMessage("Well?", buttons=("No",)))]
    acts = [act_of(CONTACT, text, conversation) for text in ("Yes", "tea", "NO")]
    assert acts == [UserLine(CONTACT.mark, "Yes"), PickLine(CONTACT.mark, "Tea"), TapLine(CONTACT.mark, "No")]
