"""Persons take conversations over, answer, and give them back, by requests of an operator, on a store."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.effects import Send
from bot.core.engine_answers import ConversationHeld, EngineAnswer
from bot.core.engine_requests import RequestMalformed, read_request
from bot.core.events import ConversationAssigned, HandoffClosed
from bot.core.messages import MediaMessage, TemplateMessage, TextMessage
from bot.engine.advance import advance
from bot.runtime.batch import RequestRefused
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxWriter
from bot.store.session_rows import HandedOver
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.runtime.engine_kit import START, Hands, World, loop_on
from tests.talk import BOT, library_of

FLOWS = """
flow: main
start: {otherwise: true}
steps: {ask: {ask: How many?, then: done}, done: {say: Thanks., then: end}}
---
flow: person
start: {words: [help]}
steps: {desk: {handoff: {team: bar, note: They want milk., say: One moment.}, closed: bye}, bye: {say: Bye., then: end}}
"""
LIBRARY = library_of(FLOWS, BOT + "opt_out: {words: [stop], say: Bye., back: [start]}\n")
ANN, BOB = "6281234567890", "6281234567891"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    path, clock = tmp_path / "bot.db", MovableClock(START)
    migrate(path)
    store, engine, alarms, inbox = (
        EngineStore(path),
        partial(advance, LIBRARY),
        Alarms(clock),
        InboxWriter(path, clock, patience=PATIENCE),
    )
    turns = loop_on(store, clock, engine, alarms)
    world = World(path, clock, inbox, Hands(), Hands(), turns, store, StoreReader(path), alarms)
    turns.start(world.delivery, world.performers)
    yield world
    world.close()


def ask(world: World, do: str, contact: str = ANN, by: str = "anna", **more: Any) -> EngineAnswer:
    answer = world.turns.operate(read_request({"do": do, "contact": contact, "by": by, **more}))
    world.settle()
    return answer


def refused(world: World, do: str, contact: str = ANN, by: str = "anna", **more: Any) -> str:
    with pytest.raises((RequestRefused, RequestMalformed)) as error:
        ask(world, do, contact, by, **more)
    return str(error.value)


def where(world: World, contact: str) -> tuple[str | None, datetime | None, str | None]:
    session = world.reader.sessions.get(contact)
    assert session is not None
    return session.agent, session.taken_at, None if session.frame is None else session.frame.step


def texts(world: World) -> list[str]:
    sent = [row.effect.message for row in world.delivery.rows if isinstance(row.effect, Send)]
    return [message.body for message in sent if isinstance(message, TextMessage)]


def test_the_bot_is_silent_from_the_take_over_until_the_conversation_is_given_back(world: World) -> None:
    world.say(ANN, "hi")
    assert ask(world, "take") == ConversationHeld(ANN, "anna")
    world.say(ANN, "two")
    assert texts(world) == ["How many?"]
    assert ask(world, "give_back") == ConversationHeld(ANN, None)
    world.say(ANN, "two")
    assert texts(world) == ["How many?", "How many?"], "the question is far above by now: it is put again"
    assert world.rules(ANN)[1:4] == ["assigned", "an agent has the conversation: not heard", "closed"]


def test_a_hand_over_goes_on_where_its_step_says_once_it_is_given_back(world: World) -> None:
    world.say(ANN, "help")
    ask(world, "take")
    ask(world, "give_back")
    assert texts(world) == ["One moment.", "Bye."]
    assert world.reader.sessions.handed_over() == []


def test_the_trace_names_who_took_it_who_answered_and_who_gave_it_back(world: World) -> None:
    world.say(ANN, "help")
    ask(world, "take")
    ask(world, "answer", text="Here I am.")
    ask(world, "give_back")
    taken, answered, closed = world.trace(ANN)[1:]
    assert isinstance(taken.event, ConversationAssigned) and taken.event.agent == "anna"
    assert answered.event == {"do": "send", "by": "anna"}
    assert answered.effects == [Send(TextMessage("Here I am."))]
    assert isinstance(closed.event, HandoffClosed) and closed.event.by == "anna"


def test_the_gateways_own_events_lead_to_the_same_sessions(world: World) -> None:
    for contact in (ANN, BOB):
        world.say(contact, "help")
    ask(world, "take", ANN, "Bea")
    body: dict[str, Any] = {"conversation_id": "c1", "contact": {"phone": BOB}}
    world.tell("conversation.assigned", **body, agent={"name": "Bea"})
    assert where(world, ANN) == where(world, BOB) == ("Bea", START, "desk")
    ask(world, "give_back", ANN, "Bea")
    world.tell("conversation.resolved", **body)
    assert where(world, ANN) == where(world, BOB) == (None, None, None)


def test_of_two_persons_the_second_is_told_of_the_first_and_can_take_it_from_them_by_name(world: World) -> None:
    world.say(ANN, "help")
    ask(world, "take")
    world.clock.move(timedelta(minutes=5))
    why = refused(world, "take", by="ben")
    assert why == f"anna has had the conversation with {ANN} for 5m: it can be taken over from them"
    assert refused(world, "take", by="ben", taken_from="carl") == why
    assert ask(world, "take", by="ben", taken_from="anna") == ConversationHeld(ANN, "ben")
    for do in ("take", "give_back"):
        assert refused(world, do).startswith("ben has had the conversation")
    assert refused(world, "answer", text="Hello").startswith("ben has had the conversation")
    assert texts(world) == ["One moment."]


def test_a_request_that_comes_twice_changes_nothing_the_second_time(world: World) -> None:
    world.say(ANN, "help")
    first = [ask(world, "take"), ask(world, "give_back")]
    rules = world.rules(ANN)
    assert ask(world, "give_back") == first[1]
    assert world.rules(ANN) == rules
    world.say(ANN, "help")
    assert ask(world, "take") == ask(world, "take") == first[0]
    assert world.rules(ANN)[len(rules) :] == ["start of person", "assigned"]


def test_what_the_gateways_agent_does_counts_like_what_a_person_does_here(world: World) -> None:
    world.say(ANN, "help")
    ask(world, "take")
    body: dict[str, Any] = {"conversation_id": "c1", "contact": {"phone": ANN}}
    world.tell("conversation.assigned", **body, agent={"name": "Bea"})
    assert refused(world, "answer", text="Hello").startswith("Bea has had the conversation")
    ask(world, "take", taken_from="Bea")
    world.tell("conversation.resolved", **body)
    assert "take it over before you answer" in refused(world, "answer", text="Hello")
    assert texts(world) == ["One moment.", "Bye."]


def test_nobody_takes_over_a_stranger_or_a_contact_to_whom_they_could_not_write(world: World) -> None:
    assert "nothing is known" in refused(world, "take")
    world.say(ANN, "stop")
    assert "has opted out" in refused(world, "take")
    assert refused(world, "take", by="").startswith('the engine knows no request "take" of this form')


def test_outside_of_the_window_a_person_sends_a_template(world: World) -> None:
    world.say(ANN, "help")
    ask(world, "take")
    world.clock.move(timedelta(hours=24))
    assert "only a template can be sent" in refused(world, "answer", text="Still there?")
    ask(world, "answer", template={"name": "hello_again", "language": "en"})
    assert world.delivery.rows[-1].effect == Send(TemplateMessage("hello_again", "en"))


def test_what_is_handed_over_is_listed_the_longest_first_with_the_note_and_who_has_it(world: World) -> None:
    world.say(BOB, "help")
    world.clock.move(timedelta(minutes=1))
    world.say(ANN, "hi")
    world.clock.move(timedelta(minutes=1))
    ask(world, "take")
    later = START + timedelta(minutes=2)
    assert world.reader.sessions.handed_over() == [
        HandedOver(BOB, None, "person", "desk", "bar", "They want milk.", START, None, None, START, False),
        HandedOver(ANN, None, "main", "ask", None, None, later, "anna", later, START + timedelta(minutes=1), False),
    ]
    assert world.reader.sessions.count_handed_over() == 2
    ask(world, "take", BOB)
    assert [(each.since, each.taken_at) for each in world.reader.sessions.handed_over(limit=1)] == [(START, later)]


# -- what the people who answer send and write down


def test_a_note_stands_in_the_trace_and_nothing_is_sent(world: World) -> None:
    world.say(ANN, "hi")
    ask(world, "note", text=" She has a dog. ")
    assert world.trace(ANN)[-1].event == {"do": "note", "by": "anna", "text": "She has a dog."}
    assert texts(world) == ["How many?"]
    assert refused(world, "note", text=" ") == "a note has 1 to 4096 characters"
    assert refused(world, "note", BOB, text="Who?").startswith("nothing is known of 6281234567891")


def test_a_file_is_sent_with_its_caption_by_its_address(world: World) -> None:
    world.say(ANN, "help")
    ask(world, "take")
    ask(world, "answer", file="https://cafe.example/cup.JPEG?size=2", text="Our cup")
    ask(world, "answer", file="https://cafe.example/song.mp3")
    sent = [row.effect.message for row in world.delivery.rows if isinstance(row.effect, Send)]
    assert sent[1:] == [
        MediaMessage("image", "https://cafe.example/cup.JPEG?size=2", "Our cup"),
        MediaMessage("audio", "https://cafe.example/song.mp3"),
    ]
    assert "has to end with its type: jpg" in refused(world, "answer", file="https://cafe.example/cup")
    assert "a caption goes with" in refused(world, "answer", file="https://cafe.example/song.mp3", text="Our song")
    world.clock.move(timedelta(hours=25))
    assert "only a template can be sent" in refused(world, "answer", file="https://cafe.example/cup.png")


# -- who has sent a message


def sent_elsewhere(world: World, message_id: str = "elsewhere", **data: Any) -> str:
    """The gateway reports a message that this bot may or may not have sent. Returns who has the conversation then."""
    at = {"timestamp": int(world.clock.now().timestamp())}
    world.tell("message.sent", **{"message_id": message_id, "to": ANN, **at, **data})
    session = world.reader.sessions.get(ANN)
    return "the bot" if session is None or session.agent is None else session.agent


def asked(world: World, *message_ids: str) -> None:
    """The bot has asked; its message has these ids at the gateway, if that has answered yet."""
    world.say(ANN, "hi")
    if message_ids:
        world.report(world.delivery.rows[-1], message_ids=message_ids)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "text", "body": "I will look."},
        {"to": None, "contact": {"phone": ANN}, "message": {"id": "elsewhere"}, "message_id": None},
        {"text": {"body": "I will look."}},
    ],
)
def test_a_message_that_the_bot_has_not_sent_silences_it_in_whatever_shape_it_is_reported(
    world: World, data: dict[str, Any]
) -> None:
    asked(world, "m1", "c1")
    assert sent_elsewhere(world, "c1") == "the bot"
    assert sent_elsewhere(world, **data) == "an agent"
    world.say(ANN, "two")
    world.clock.move(timedelta(minutes=30))
    world.settle()
    assert texts(world) == ["How many?", "How many?"]
    assert world.rules(ANN)[1:] == [
        "an agent has answered: the bot is silent for 30m",
        "an agent has answered: kept until the bot goes on",
        "put again: it had not been seen",
    ]
    (note,) = world.trace(ANN)[-1].notes
    assert note == "no agent has answered since the contact wrote: that is taken now"


def test_a_report_may_name_the_conversation_alone(world: World) -> None:
    world.tell("conversation.opened", conversation_id="c1", contact={"phone": ANN})
    assert sent_elsewhere(world, to=None, conversation_id="c1", agent={"name": "Bea"}) == "Bea"


def test_the_bots_own_message_may_be_reported_before_the_answer_to_its_request(world: World) -> None:
    asked(world)
    assert sent_elsewhere(world, "m1") == "the bot"
    assert sent_elsewhere(world, "m1", body="How many?") == "the bot"
    world.report(world.delivery.rows[-1], message_ids=("m1",))
    assert sent_elsewhere(world, "m1") == "the bot"
    assert sent_elsewhere(world) == "an agent", "now each of its messages has its report"


@pytest.mark.parametrize("ids", [(), ("m1",)])
def test_an_agents_text_is_told_from_the_bots_while_that_waits_for_its_answer(
    world: World, ids: tuple[str, ...]
) -> None:
    asked(world, *ids)
    assert sent_elsewhere(world, "m2", body="I will look.") == "an agent"


def test_a_message_of_the_same_commit_may_be_the_one_that_is_reported(world: World) -> None:
    with world.turns._changed:  # nothing is taken until both are there, as in an older copy of a store
        world.say(ANN, "hi", settle=False)
        world.tell("message.sent", settle=False, message_id="m1", to=ANN)
    world.settle()
    assert where(world, ANN)[0] is None


def test_a_message_that_the_gateway_calls_otherwise_is_the_bots_own_if_it_is_reported_soon(world: World) -> None:
    asked(world, "m1")
    assert sent_elsewhere(world, "another name") == "the bot"
    world.clock.move(timedelta(minutes=3))
    assert sent_elsewhere(world) == "an agent"


def test_nobody_knows_whether_the_bot_sent_a_message_of_which_it_got_no_answer(world: World) -> None:
    asked(world)
    world.report(world.delivery.rows[-1], "unknown", "the gateway has not answered")
    assert sent_elsewhere(world) == "the bot"
    assert sent_elsewhere(world, "m2", body="I will look.") == "an agent"


@pytest.mark.parametrize("data", [{"type": "template"}, {"template": {"name": "sale"}}, {"message_id": None}])
def test_a_campaign_from_elsewhere_and_a_message_without_a_name_silence_nobody(
    world: World, data: dict[str, Any]
) -> None:
    asked(world, "m1")
    world.clock.move(timedelta(minutes=3))
    assert sent_elsewhere(world, **data) == "the bot"


def test_what_a_person_sends_from_here_is_no_answer_from_elsewhere(world: World) -> None:
    world.say(ANN, "help")
    ask(world, "take")
    ask(world, "answer", text="Here I am.")
    world.report(world.delivery.rows[-1], message_ids=("m9",))
    assert sent_elsewhere(world, "m9") == "anna"
    assert "an agent has answered" not in " ".join(world.rules(ANN))


def test_a_report_that_comes_again_is_one_answer(world: World) -> None:
    asked(world, "m1")
    for _ in range(2):
        sent_elsewhere(world, body="I will look.")
    assert sum("an agent has answered" in rule for rule in world.rules(ANN)) == 1


def test_here_anybody_may_take_a_conversation_in_which_an_agent_has_only_answered(world: World) -> None:
    asked(world, "m1")
    assert sent_elsewhere(world, body="I will look.", agent={"name": "anna"}) == "anna"
    assert refused(world, "answer", text="Here I am.").startswith("nobody has the conversation")
    assert ask(world, "take") == ConversationHeld(ANN, "anna")
    world.clock.move(timedelta(hours=1))
    world.settle()
    assert where(world, ANN)[0] == "anna", "she has it for good now"


def test_here_anybody_may_let_the_bot_go_on_where_an_agent_has_only_answered(world: World) -> None:
    asked(world, "m1")
    sent_elsewhere(world, body="I will look.", agent={"name": "Bea"})
    world.say(ANN, "And now?")
    assert ask(world, "give_back") == ConversationHeld(ANN, None)
    assert texts(world) == ["How many?", "How many?"]
