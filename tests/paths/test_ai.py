"""AI turns by the whole real path: web, engine, delivery, and the two services emulated, each answer streamed."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.checker.analysis.loads import model_loads
from bot.core.clock import MovableClock
from bot.core.events import MessageReceived
from bot.core.text import estimate, estimate_messages
from bot.language.steps.output_guard import leaks
from bot.loading.folder import read_folder
from bot.loading.program import Program, load_program
from bot.services.ai.ai_client import Completions
from bot.settings import ModelService
from bot.testing.conversations.attack_catalogue import EVALUATED, OTHER
from bot.testing.emulator.completion import CompletionService, EmulatedModel, ModelAnswer, RawAnswer
from bot.testing.simulation.simulation import Simulation
from bot.testing.simulation.turn_words import event_in_words
from tests.engine.test_hostile_texts import TEXTS, obedient
from tests.server.process.serving import until

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
JSON = "application/json"
SHOP = Path(__file__).parents[2] / "examples" / "shop"
BOT = "name: Test\nwords: {stop: {say: Bye!, then: end}}\ndefaults: {timeout: {after: 20h, then: end}}\n"
FLOW = """\
flow: main
start: {otherwise: true}
vars: {number: {type: text}}
steps:
  talk:
    ai: You help the contacts of a shop.
    facts: facts.md
    tools: [orders.count]
    fill: {number: the number of their order}
    exits: {done: {when: all is said, then: bye}}
    errors: {timeout: slow, quota: spent, over_budget: spent, else: sorry}
  bye: {say: "Bye, {{ number }}.", then: end}
  slow: {say: It takes too long., then: end}
  spent: {say: No more today., then: end}
  sorry: {say: Not now., then: end}
"""
HANDLERS = """
from bot import handler

@handler("orders.count")
def count(contact: str) -> int:
    \"\"\"Count the orders.\"\"\"
    return 3

@handler("orders.book")
def book(number: str, idempotency_key: str) -> str:
    \"\"\"Book an order.\"\"\"
    return idempotency_key

@handler("shop.polite")
def polite(text: str) -> bool:
    return "stupid" not in text

@handler("orders.ship")
def ship() -> None:
    \"\"\"Ship the order.\"\"\"
    raise RuntimeError("cannot reach postgres://admin:s3cret@db.example/orders")
"""
FACTS = "Open daily from 9 to 18."

Start = Callable[..., Simulation]


@pytest.fixture
def service() -> Iterator[CompletionService]:
    with CompletionService(
        models=[EmulatedModel("acme/swift"), EmulatedModel("acme/wise"), EmulatedModel("acme/plain", tools=False)]
    ) as service:
        yield service


@pytest.fixture
def start(tmp_path: Path, service: CompletionService) -> Iterator[Start]:
    """A bot of these files, with some of the service's models; it is ended with the test."""
    started: list[Simulation] = []

    def begin(*models: str, flow: str = FLOW, program: Program | None = None) -> Simulation:
        models = models or ("acme/swift", "acme/wise")
        settings = ModelService(service.url, service.key, models, "authorization")
        clock = MovableClock(START)
        simulation = Simulation(program or program_in(tmp_path, flow), clock, models=settings).__enter__()
        started.append(simulation)
        return simulation

    yield begin
    service.stop()  # first: nobody waits then for an answer that never ends
    for simulation in started:
        simulation.__exit__()


def program_in(folder: Path, flow: str = FLOW, facts: str = FACTS) -> Program:
    for name, text in {"bot.yml": BOT, "flow.yml": flow, "handlers.py": HANDLERS, "facts.md": facts}.items():
        (folder / name).write_text(text)
    return load_program(read_folder(folder))


def said(simulation: Simulation) -> list[str]:
    return [message.text for message in simulation.phones.heard()]


def asked(service: CompletionService) -> list[list[str]]:
    """What the model was asked each time: the texts behind the instructions."""
    return [[message["content"] for message in seen.body["messages"][1:]] for seen in service.requests()]


class Held:
    """A model that answers when it is let."""

    def __init__(self, service: CompletionService) -> None:
        self.service = service
        self.asked = 0
        self._free = threading.Event()
        service.answer_with(self._answer)

    def _answer(self, request: dict[str, Any]) -> str:
        self.asked += 1
        number = self.asked
        assert number > 1 or self._free.wait(30)
        return f"Answer {number}.\n\nThat is all of {number}."

    def wait_until_asked(self) -> None:
        """Wait until the model works."""
        until(lambda: self.asked)

    def let(self) -> None:
        self._free.set()


def test_an_answer_goes_paragraph_by_paragraph_in_order_and_its_end_last(
    start: Start, service: CompletionService
) -> None:
    simulation = start()
    service.say("One.\n\nTwo.\n\nThree.\n\nFour.", chunks=1)
    simulation.user("hi")
    assert said(simulation) == ["One.", "Two.", "Three.\n\nFour."]
    service.say("Five.")
    simulation.user("and?")
    assert said(simulation) == ["Five."]
    assert asked(service)[1] == ["hi", "One.\n\nTwo.\n\nThree.\n\nFour.", "and?"]
    assert service.unknown_fields == set()


def test_a_paragraph_without_a_source_ends_the_answer_and_the_model_writes_that_part_again(
    start: Start, service: CompletionService
) -> None:
    simulation = start(flow=FLOW.replace("    tools:", "    unsupported: retry\n    tools:"))
    service.say("We are open.\n\nUntil 19:00.\n\nCome!\n\nBye!", chunks=1)
    service.say("Until 18:00.")
    simulation.user("hi")
    assert said(simulation) == ["We are open.", "Until 18:00."]
    assert [texts[:2] for texts in asked(service)] == [["hi"], ["hi", "We are open.\n\nUntil 19:00."]]


def flood(simulation: Simulation, model: Held, *texts: str) -> None:
    """One message, and while the model works at it the others."""
    first, *others = texts
    simulation.emulator.receive(simulation.contact, first)
    model.wait_until_asked()
    for text in others:
        simulation.emulator.receive(simulation.contact, text)
    assert simulation.emulator.wait_until(simulation.emulator.idle)
    until(lambda: simulation.stored.session().frames[-1].parked_messages == len(others))


def test_a_contact_who_writes_fifty_messages_while_the_model_works_costs_two_requests(
    start: Start, service: CompletionService
) -> None:
    simulation = start()
    model = Held(service)
    others = [f"message {number}" for number in range(50)]
    flood(simulation, model, "one", *others)
    model.let()
    simulation.settle()
    assert said(simulation) == ["Answer 1.", "That is all of 1.", "Answer 2.", "That is all of 2."]
    assert [texts[-1] for texts in asked(service)] == ["one", "\n".join(others)]
    (question,) = (turn.event for turn in simulation.stored.all_turns() if getattr(turn.event, "together", ()))
    assert isinstance(question, MessageReceived)
    kept = [turn.event for turn in simulation.stored.all_turns() if turn.rule == "kept until the model has answered"]
    assert question.together == tuple(event.id for event in kept if isinstance(event, MessageReceived))
    assert simulation.stored.dead_letters() == []


def test_what_came_meanwhile_outlives_the_process(start: Start, service: CompletionService) -> None:
    simulation = start()
    model = Held(service)
    flood(simulation, model, "one", "two", "three")
    model.let()
    simulation.restart()
    simulation.settle()
    assert asked(service)[-1][-1] == "two\nthree"
    simulation.user("four")
    assert asked(service)[-1][-1] == "four"
    assert simulation.stored.dead_letters() == []


def test_what_came_meanwhile_is_taken_in_order_by_what_an_edit_leads_to(
    start: Start, service: CompletionService, tmp_path: Path
) -> None:
    simulation = start()
    model = Held(service)
    flood(simulation, model, "one", "two", "three")
    plain = 'flow: main\nstart: {otherwise: true}\nsteps: {a: {say: "Plain {{ message.text }}.", then: end}}\n'
    simulation.swap(program_in(tmp_path, plain))
    model.let()
    simulation.settle()
    assert said(simulation) == ["Plain two.", "Plain three."]
    assert simulation.stored.dead_letters() == []


def test_a_word_is_heard_at_once_and_what_came_before_it_is_seen_to_be_left(
    start: Start, service: CompletionService
) -> None:
    simulation = start()
    model = Held(service)
    flood(simulation, model, "one", "two")
    simulation.emulator.receive(simulation.contact, "stop")
    until(lambda: simulation.stored.session().frame is None)
    model.let()
    simulation.settle()
    assert said(simulation) == ["Bye!"]
    assert model.asked == 1
    (left,) = (turn for turn in simulation.stored.trace() if turn.rule == "dropped")
    assert isinstance(left.event, dict)
    assert (left.event["dropped"].text, left.notes) == ("two", ["the contact has gone elsewhere since"])


def test_a_contact_hears_once_that_a_model_thinks_also_after_a_restart(
    start: Start, service: CompletionService
) -> None:
    simulation = start(
        "acme/swift", flow=FLOW.replace("    tools:", "    thinking: {after: 9s, say: One moment.}\n    tools:")
    )
    service.fail("provider_error")
    simulation.user("one")
    simulation.restart()
    model = Held(service)
    simulation.clock.move_to(simulation.running.engine.next_due() or START)
    model.wait_until_asked()
    simulation.clock.move(timedelta(seconds=9))
    until(lambda: len(simulation.emulator.sent) == 1)
    simulation.clock.move(timedelta(seconds=30))
    model.let()
    simulation.settle()
    assert said(simulation) == ["One moment.", "Answer 1.", "That is all of 1."]
    assert simulation.stored.dead_letters() == []


def test_what_came_while_a_message_was_sorted_is_one_further_question_too(
    start: Start, service: CompletionService
) -> None:
    sorting = "  sort: {classify: What is it?, exits: {order: {when: an order, then: talk}}, other: talk, errors: {else: sorry}}\n"
    simulation = start(flow=FLOW.replace("steps:\n", f"steps:\n{sorting}"))
    model = Held(service)
    simulation.emulator.receive(simulation.contact, "one")
    model.wait_until_asked()
    for text in ("two", "three"):
        simulation.emulator.receive(simulation.contact, text)
    assert simulation.emulator.wait_until(simulation.emulator.idle)
    model.let()
    simulation.settle()
    assert [texts[-1] for texts in asked(service)] == ["one", "one", "two\nthree"]
    assert simulation.stored.dead_letters() == []


def test_with_merge_it_is_taken_along_and_only_the_new_answer_is_sent(start: Start, service: CompletionService) -> None:
    simulation = start(flow=FLOW.replace("    tools:", "    while_busy: merge\n    tools:"))
    model = Held(service)
    simulation.emulator.receive(simulation.contact, "one")
    model.wait_until_asked()
    simulation.emulator.receive(simulation.contact, "two")
    assert service.wait_until(lambda: model.asked == 2)
    model.let()
    simulation.settle()
    assert said(simulation) == ["Answer 2.", "That is all of 2."]
    assert ["one", "two"] in asked(service)


def test_tools_values_and_an_exit_in_one_answer(start: Start, service: CompletionService) -> None:
    simulation = start()
    service.say("Let me see.\n\n", calls=[("orders_count", {})])
    service.say("", calls=[("remember", {"number": "7"}), ("leave_done", {})])
    simulation.user("how many? 7?")
    assert said(simulation) == ["Let me see.", "Bye, 7."]
    assert service.requests()[1].body["messages"][-1]["content"] == "3"


def test_an_exception_that_a_handler_does_not_declare_stays_in_the_trace(
    start: Start, service: CompletionService
) -> None:
    simulation = start(flow=FLOW.replace("[orders.count]", "[orders.count, orders.ship]"))
    service.say("", calls=[("orders_ship", {})])
    service.say("It failed at postgres://admin:s3cret@db.example/orders")
    simulation.user("ship it")
    assert service.requests()[1].body["messages"][-1]["content"] == "Failed: error"
    assert said(simulation) == ["Not now."], "an address that nobody gave it"
    assert any("admin:s3cret" in str(turn.event) for turn in simulation.stored.trace())


def test_a_contact_is_asked_about_all_that_is_done_and_the_exit_waits_for_it(
    start: Start, service: CompletionService
) -> None:
    simulation = start(flow=FLOW.replace("[orders.count]", "[{call: orders.book, confirm: true}]"))
    booked = ("orders_book", {"number": "1\nnumber: 2\u202e"})
    service.say("All is booked, bye!", calls=[("leave_done", {}), booked, ("remember", {"number": "7"})])
    simulation.user("book 7")
    assert said(simulation) == ["All is booked, bye!", "Book an order.\nnumber: 1 ⏎ number: 2\ufffd"]
    simulation.tap("Yes")
    assert said(simulation) == ["Bye, 7."]
    assert len(service.requests()) == 1
    assert simulation.stored.dead_letters() == []


def test_a_handler_has_one_key_for_equal_calls_of_a_turn_and_another_for_each_other_call(
    start: Start, service: CompletionService
) -> None:
    simulation = start(flow=FLOW.replace("[orders.count]", "[orders.book]"))
    service.say("", calls=[("orders_book", {"number": number}) for number in ("1", "1", "2")])
    service.say("Booked.")
    simulation.user("book them")
    first, second, other = [message["content"] for message in service.requests()[1].body["messages"][-3:]]
    assert first == second != other
    assert len(first) > 10


@pytest.mark.parametrize(
    ("name", "answer"),
    [("server_error", "Not now."), ("invalid_request_error", "Not now."), ("quota_exceeded", "No more today.")],
)
def test_what_no_repeating_helps_leads_at_once_where_the_flow_says(
    start: Start, service: CompletionService, name: str, answer: str
) -> None:
    simulation = start("acme/swift")
    service.fail(name, 400 if name == "invalid_request_error" else None)
    simulation.user("hi")
    assert said(simulation) == [answer]
    assert len(service.requests()) == 1


def test_a_service_that_fails_twice_and_then_works_answers_late_but_once(
    start: Start, service: CompletionService
) -> None:
    simulation = start("acme/swift")
    service.fail("provider_error")
    service.fail("provider_error")
    service.say("Here I am.")
    simulation.user("hi")
    assert said(simulation) == []
    simulation.wait(timedelta(seconds=10))
    assert said(simulation) == ["Here I am."]
    assert len(service.requests()) == 3
    tries = [turn for turn in simulation.stored.trace() if turn.rule == "retry"]
    assert [(turn.event, len(turn.notes)) for turn in tries] == [({"call": "a model", "try": n}, 1) for n in (1, 2)]
    assert all(turn.notes[0].startswith('model "acme/swift": provider_error: ') for turn in tries)


def test_thoughts_that_the_model_closes_without_having_opened_them_are_sent_once_at_most_and_are_in_the_trace(
    start: Start, service: CompletionService
) -> None:
    simulation = start("acme/swift")
    answers = []
    for _ in range(2):
        service.say("They greet.\n\nHm.\n\nI greet, too.</think>\n\nHello.", chunks=2)
        simulation.user("hi")
        answers.append((said(simulation), event_in_words(simulation.stored.trace()[-1].event)))
    assert [texts for texts, _ in answers] == [["They greet.", "Hm.", "Hello."], ["Hello."]]
    assert answers[0][1].endswith("(paragraphs that were sent and turned out to be thoughts: 2)")
    assert answers[1][1].endswith("tokens")


@pytest.mark.parametrize("name", ["quota_exceeded", "server_error", "provider_error", "model_not_in_package"])
def test_the_second_model_answers_in_place_of_the_first(start: Start, service: CompletionService, name: str) -> None:
    simulation = start()
    service.fail(name)
    service.say("The wise one here.")
    simulation.user("hi")
    assert said(simulation) == ["The wise one here."]
    assert [seen.body["model"] for seen in service.requests()] == ["acme/swift", "acme/wise"]
    assert simulation.stored.dead_letters() == []


def test_a_model_without_tools_notes_and_leaves_in_words(start: Start, service: CompletionService) -> None:
    simulation = start("acme/plain")
    service.say("Thank you.\nNOTE number: 7\nLEAVE done")
    simulation.user("it is 7")
    assert said(simulation) == ["Thank you.", "Bye, 7."]
    assert "tools" not in service.requests()[-1].body


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is waited for only two seconds of the real time, not a minute."""
    usual = Completions.__init__.__kwdefaults__ or {}
    monkeypatch.setattr(Completions.__init__, "__kwdefaults__", {**usual, "seconds": 2.0})


@pytest.mark.usefixtures("impatient")
def test_a_model_that_hangs_is_given_up_and_what_came_meanwhile_is_taken(
    start: Start, service: CompletionService
) -> None:
    simulation = start("acme/swift")
    service.hang()
    simulation.emulator.receive(simulation.contact, "hi")
    assert service.wait_until(lambda: service.counts.get("requests", 0) == 1)
    simulation.emulator.receive(simulation.contact, "hello?")
    assert simulation.emulator.wait_until(simulation.emulator.idle)
    service.say("I am back.")
    simulation.wait(timedelta(seconds=201))
    assert said(simulation) == ["It takes too long.", "I am back."]


@pytest.mark.usefixtures("impatient")
def test_a_model_that_is_given_up_is_no_silence_where_the_flow_says_nothing(
    start: Start, service: CompletionService
) -> None:
    simulation = start("acme/swift", flow=FLOW.replace("timeout: slow", "timeout: end"))
    service.hang()
    simulation.emulator.receive(simulation.contact, "hi")
    assert service.wait_until(lambda: service.counts.get("requests", 0) == 1)
    simulation.wait(timedelta(seconds=201))
    assert said(simulation) == ["Sorry, I can't answer that right now."]


def test_an_answer_that_drips_for_ever_is_ended(start: Start, service: CompletionService) -> None:
    simulation = start("acme/swift")
    service.drip("word ", delay=0.0)
    simulation.user("hi")
    (answer,) = [*said(simulation)][:1]
    assert answer.startswith("word word")
    service.say("Fine.")
    simulation.user("and?")
    assert said(simulation)[-1] == "Fine."


def test_an_answer_that_is_cut_before_anything_was_said_is_asked_for_again(
    start: Start, service: CompletionService
) -> None:
    simulation = start("acme/swift")
    service.say("Good morning to you.", cut_after=250)
    service.say("Good morning.")
    simulation.user("hi")
    simulation.wait(timedelta(seconds=5))
    assert said(simulation) == ["Good morning."]


def test_an_answer_that_is_cut_after_its_first_paragraph_is_not_asked_for_again(
    start: Start, service: CompletionService
) -> None:
    simulation = start("acme/swift")
    service.say(chunks=("One.\n\n", "Two", "x" * 5_000), cut_after=2_000)
    simulation.user("hi")
    simulation.wait(timedelta(seconds=60))
    assert said(simulation) == ["One."]
    assert len(service.requests()) == 1
    service.say("Three.")
    simulation.user("and?")
    assert asked(service)[-1] == ["hi", "One.", "and?"]
    assert said(simulation) == ["Three."]


@pytest.mark.parametrize("text", ["half a pair \ud83d", "a NUL \0 in it", "\u202e backwards", "\x1b[2J"])
def test_odd_characters_of_a_model_are_no_reason_for_silence(
    start: Start, service: CompletionService, text: str
) -> None:
    simulation = start("acme/swift")
    chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
    service.send(200, f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")
    simulation.user("hi")
    assert len(said(simulation)) == 1
    assert simulation.stored.dead_letters() == []
    simulation.user("and?")
    assert len(said(simulation)) == 1


@pytest.mark.parametrize("value", ["\ud83d", "a\0b"])
def test_odd_characters_in_the_arguments_of_a_call_are_no_reason_either(
    start: Start, service: CompletionService, value: str
) -> None:
    simulation = start("acme/swift")
    call = {"index": 0, "id": "c1", "type": "function"}
    call["function"] = {"name": "remember", "arguments": json.dumps({"number": value})}
    chunk = {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    service.send(200, f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")
    service.say("Noted.")
    simulation.user("hi")
    assert said(simulation) == ["Noted."]
    assert simulation.stored.dead_letters() == []


def test_a_budget_that_is_used_up_is_a_transition_and_is_there_again_the_next_day(
    start: Start, service: CompletionService
) -> None:
    simulation = start(
        "acme/swift", flow=FLOW.replace("    tools:", "    budget: {contact: 50, else: spent}\n    tools:")
    )
    service.say("Hello.")
    simulation.user("hi")
    simulation.user("and?")
    assert said(simulation) == ["Hello.", "No more today."]
    assert len(service.requests()) == 1
    simulation.wait(timedelta(hours=14))
    service.say("Good morning.")
    simulation.user("hi")
    assert said(simulation) == ["Good morning."]


def test_an_agent_who_takes_over_while_the_model_works_is_not_talked_over(
    start: Start, service: CompletionService
) -> None:
    simulation = start()
    model = Held(service)
    simulation.emulator.receive(simulation.contact, "one")
    model.wait_until_asked()
    simulation.emulator.receive(simulation.contact, "two")
    simulation.emulator.assign(simulation.contact)
    until(lambda: simulation.stored.session().agent)
    model.let()
    simulation.settle()
    assert said(simulation) == []
    simulation.emulator.resolve(simulation.contact)
    simulation.user("three")
    assert said(simulation) == ["Answer 2.", "That is all of 2."]
    assert asked(service)[-1] == ["one", "three"]
    assert simulation.stored.dead_letters() == []


def test_flows_facts_and_handlers_may_change_while_the_model_works(
    start: Start, service: CompletionService, tmp_path: Path
) -> None:
    simulation = start()
    model = Held(service)
    simulation.emulator.receive(simulation.contact, "one")
    model.wait_until_asked()
    simulation.swap(program_in(tmp_path, FLOW.replace("of a shop", "of a bakery"), "Closed on Mondays."))
    model.let()
    simulation.settle()
    assert said(simulation) == ["Answer 1.", "That is all of 1."]
    simulation.user("two")
    system = service.requests()[-1].body["messages"][0]["content"]
    assert "of a bakery" in system
    assert "Closed on Mondays." in system
    assert FACTS not in system


def test_a_step_that_an_edit_takes_away_while_the_model_works_ends_in_words_or_not_at_all(
    start: Start, service: CompletionService, tmp_path: Path
) -> None:
    simulation = start()
    model = Held(service)
    simulation.emulator.receive(simulation.contact, "one")
    model.wait_until_asked()
    plain = "flow: main\nstart: {otherwise: true}\nsteps: {a: {say: Plain., then: end}}\n"
    simulation.swap(program_in(tmp_path, plain))
    simulation.emulator.receive(simulation.contact, "two")
    assert simulation.emulator.wait_until(simulation.emulator.idle)
    model.let()
    simulation.settle()
    assert said(simulation) == ["Plain."]
    assert simulation.stored.dead_letters() == []


def test_what_a_moderator_refuses_reaches_nobody_is_traced_and_is_forgotten(
    start: Start, service: CompletionService
) -> None:
    polite = "moderate: shop.polite\n    errors: {unsafe: {say: Let us stay polite., then: again}, "
    simulation = start(flow=FLOW.replace("errors: {", polite))
    service.say("Hello.\n\nYou are\n\nstupid.")
    service.say("Yes.")
    for text in ("you stupid thing", "hi", "are you open?"):
        simulation.user(text)
    assert said(simulation) == ["Let us stay polite.", "Hello.", "You are", "Let us stay polite.", "Yes."]
    assert asked(service) == [["hi"], ["are you open?"]]
    notes = [note for turn in simulation.stored.all_turns() for note in turn.notes]
    assert notes == [
        'main/talk: unsafe: moderate: "shop.polite" refused what the model was to read',
        'main/talk: unsafe: moderate: "shop.polite" refused what the model said',
    ]


def test_hostile_texts_are_read_by_an_obedient_model_and_nothing_else_happens(
    start: Start, service: CompletionService
) -> None:
    program = load_program(read_folder(SHOP))
    instructions = next(iter(program.library.flows["assistant"].steps["talk"].facts.uses)).text.source
    simulation = start(program=program)

    def obey(request: dict[str, Any]) -> ModelAnswer:
        last = request["messages"][-1]
        if last["role"] != "user":
            return ModelAnswer("Done.")
        text, calls = obedient(last["content"], request["messages"])
        offered = {tool["function"]["name"] for tool in request.get("tools", ())}
        return ModelAnswer(text, calls=[call for call in calls if call[0] in offered] or calls)

    service.answer_with(obey)
    for text in TEXTS[::20]:
        simulation.become_new_contact()
        simulation.user("hi")
        simulation.user(text)
        heard = "\n".join(said(simulation))
        assert heard, "never silence"
        assert EVALUATED not in heard
        assert OTHER not in " ".join(heard.split()).replace(" ".join(text.split()), "")  # which the model repeats
        assert "evil" not in heard
        assert not leaks(heard, instructions)
        assert simulation.stored.session().contact == simulation.contact
    for seen in service.requests():
        system, *others = seen.body["messages"]
        assert not any(text in system["content"] for text in TEXTS[::20])
        assert all(message["role"] != "system" for message in others)
    assert service.unknown_fields == simulation.emulator.unknown_fields == set()


def test_no_contact_costs_more_than_is_said_whatever_it_writes_and_a_model_answers(
    start: Start, service: CompletionService, tmp_path: Path
) -> None:
    flow = FLOW.replace(
        "    tools:", "    budget: {contact: 9000, else: spent}\n    turns: {max: 1000, else: spent}\n    tools:"
    )
    program = program_in(tmp_path, flow)
    (load,) = model_loads(program.library)
    simulation = start("acme/swift", program=program)
    asked = 0

    def hostile(request: dict[str, Any]) -> RawAnswer:
        nonlocal asked
        asked += 1
        name, given = ("orders_count", "{}") if asked % 3 else ("x" * 256, json.dumps({"y": "\U0001f642" * 400}))
        called = {"type": "function", "function": {"name": name, "arguments": given}}
        calls = [{"index": number, "id": f"{asked}.{number}", **called} for number in range(20)]
        prompt = estimate_messages(request["messages"]) + estimate(json.dumps(request["tools"]))
        counted = 0 if asked % 2 else 4 * prompt + 1_000
        message = {"content": "" if asked % 4 else "Fine.", "tool_calls": calls if asked % 4 else []}
        body = {"choices": [{"message": message, "finish_reason": "stop"}]}
        return RawAnswer(
            200, json.dumps({**body, "usage": {"prompt_tokens": counted, "completion_tokens": 1}}).encode(), JSON
        )

    service.answer_with(hostile)
    for _ in range(30):
        simulation.user("\u4f60" * 4096)
    used = simulation.stored.reader.usage.tokens(simulation.contact, START - timedelta(hours=1))
    made = sum("CallEnded" in str(turn) and "orders.count" in str(turn) for turn in simulation.stored.all_turns())
    assert load.tokens is not None and load.requests is not None and load.calls is not None
    assert 9_000 <= used <= load.tokens
    assert 0 < len(service.requests()) <= load.requests
    assert made <= load.calls
    assert said(simulation)[-1] == "No more today."
    assert simulation.stored.dead_letters() == []


def in_one_event(calls: list[dict[str, Any]]) -> RawAnswer:
    """A stream whose calls come whole: in the pieces of a real one, so much text takes its time."""
    choice = {"index": 0, "delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}
    event = json.dumps({"id": "c", "choices": [choice]})
    return RawAnswer(200, f"data: {event}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")


def test_others_are_answered_while_a_model_asks_for_calls_of_10_000_characters_as_often_as_it_can(
    start: Start, service: CompletionService
) -> None:
    simulation = start("acme/swift", flow=FLOW.replace("    tools:", "    max_tokens: 30000\n    tools:"))
    free, asked = threading.Event(), 0

    def hostile(request: dict[str, Any]) -> RawAnswer:
        nonlocal asked
        asked += 1
        if asked == 2:
            assert free.wait(30)
        given = json.dumps({"why": f"{asked} {'x' * 10_000}"})
        call = {"type": "function", "function": {"name": "orders_count", "arguments": given}}
        return in_one_event([{"index": number, "id": f"c{number}", **call} for number in range(32)])

    service.answer_with(hostile)
    simulation.emulator.receive(simulation.contact, "go")
    until(lambda: asked == 2)
    simulation.emulator.receive("6289876543210", "stop")
    assert simulation.emulator.wait_until(lambda: any("Bye!" in str(sent) for sent in simulation.emulator.sent))
    free.set()
    simulation.settle()
    assert said(simulation) == ["No more today."]
    assert asked <= 8
    assert len(json.dumps(service.requests()[-1].body["messages"])) < 80_000
