"""AI turns of a bot that really runs, whose engine is killed at every moment that matters.

At most the model's call is repeated, never a text that was sent; a tool is called at least once, with one key.
"""

import json
import os
import random
import signal
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.engine_requests import Reload
from bot.server import local_socket
from bot.store.store_reader import StoreReader
from bot.testing.emulator.completion import CompletionService, ModelAnswer
from bot.testing.emulator.completion.completion_requests import asked as question_in
from bot.testing.emulator.emulator import Emulator
from tests.patience import PATIENCE
from tests.server.process.serving import CONTACT, SECRET, Serve, Serving, until, wait_for_quarantine

BOT = "name: Test Bot\nwords: {stop: {say: Bye!, then: end}}\ndefaults: {timeout: {after: 1h, then: end}}\n"
FLOW = """\
flow: main
start: {otherwise: true}
steps:
  talk:
    ai: You help the contacts of a shop.
    facts: facts.md
    tools: [orders.find, {call: orders.cancel, confirm: Shall I cancel it?}]
    exits: {done: {when: all is said, then: bye}}
    errors: {else: sorry}
  bye: {say: Bye., then: end}
  sorry: {say: Not now., then: end}
"""
HANDLERS = """
from pathlib import Path
from threading import Event
from bot import handler

NOTES = Path(__file__).parent / "notes"


def note(what: str, key: str) -> int:
    with NOTES.open("a") as notes:
        notes.write(f"{what} {key}\\n")
    return len(NOTES.read_text().splitlines())


@handler("orders.find")
def find(contact: str, idempotency_key: str) -> str:
    \"\"\"Find the order. The first time, it does not come back.\"\"\"
    if note("find", idempotency_key) == 1:
        Event().wait()
    return "found"


@handler("orders.cancel")
def cancel(contact: str, idempotency_key: str) -> str:
    \"\"\"Cancel the order.\"\"\"
    note("cancel", idempotency_key)
    return "cancelled"
"""
FACTS = "Open daily from 9 to 18."
UNLIMITED = {"BOT_GATEWAY_PER_MINUTE": "100000", "BOT_GATEWAY_PER_DAY": "100000"}

TURNS, KILLS = 2, 2  # how often each contact writes, and how often the engine is killed after that

Begin = Callable[..., Serving]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"bot.yml": BOT, "main.yml": FLOW, "handlers.py": HANDLERS, "facts.md": FACTS}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def gateway() -> Iterator[Emulator]:
    with Emulator(per_minute=100_000, per_day=100_000, schedule_scale=0.01) as gateway:
        yield gateway


@pytest.fixture
def models() -> Iterator[CompletionService]:
    with CompletionService(models=["acme/swift"], threads=32) as models:
        yield models


@pytest.fixture
def begin(serve: Serve, gateway: Emulator, models: CompletionService) -> Begin:
    """A bot that runs between the two services."""

    def begin() -> Serving:
        serving = serve(
            BOT_GATEWAY_URL=gateway.url,
            BOT_GATEWAY_KEY=gateway.api_key,
            BOT_AI_URL=models.url,
            BOT_AI_KEY=models.key,
            BOT_AI_MODEL="acme/swift",
            **UNLIMITED,
        ).up()
        gateway.subscribe(f"http://127.0.0.1:{serving.port}/webhook", secret=SECRET)
        return serving

    return begin


def kill_engine(serving: Serving) -> None:
    """Kill it, and wait until another one stands in its place."""
    killed = serving.child("engine")
    os.kill(killed, signal.SIGKILL)
    serving.line_with("the engine process")
    until(lambda: engine_answers(serving))


def engine_answers(serving: Serving) -> bool:
    try:
        return "cursor" in serving.status()
    except (OSError, local_socket.NotRunning):
        return False


def texts(gateway: Emulator, contact: str = CONTACT) -> list[str]:
    """What a contact was sent, in order."""
    return [body_of(sent.body) for sent in list(gateway.sent) if sent.to == contact]


def body_of(message: dict[str, Any]) -> str:
    return str(message["text"]["body"]) if "text" in message else "[buttons]"


def asked(models: CompletionService) -> int:
    return models.counts.get("requests", 0)


def stalled(*pieces: str) -> ModelAnswer:
    """An answer that stops in the middle of a piece, behind these."""
    return ModelAnswer(chunks=(*pieces, "x" * 3_000), stall_after=1_500)


def wait_for(gateway: Emulator, *expected: str, contact: str = CONTACT) -> None:
    """Wait until just this was sent, and see that nothing more was."""
    assert gateway.wait_until(lambda: len(texts(gateway, contact)) >= len(expected), PATIENCE), texts(gateway, contact)
    assert texts(gateway, contact) == list(expected)


def test_an_answer_comes_paragraph_by_paragraph_and_what_was_used_up_is_kept(
    begin: Begin, gateway: Emulator, models: CompletionService
) -> None:
    serving = begin()
    models.say("One.\n\nTwo.\n\nThree.\n\nFour.", chunks=3, usage=True)
    gateway.receive(CONTACT, "hi")
    wait_for(gateway, "One.", "Two.", "Three.\n\nFour.")
    models.say("", calls=[("leave_done", {})], usage=True)
    gateway.receive(CONTACT, "thanks")
    wait_for(gateway, "One.", "Two.", "Three.\n\nFour.", "Bye.")
    reader = StoreReader(serving.store)
    for by, name in {"contact": CONTACT, "flow": "main", "model": "acme/swift"}.items():
        (row,) = reader.usage.sums(datetime.now(UTC) - timedelta(hours=1), by)
        assert (row.name, row.answers, row.estimated) == (name, 2, 0)
        assert row.prompt_tokens > 0
    reader.close()


def test_a_moderator_that_ends_the_process_costs_its_answer_and_no_other(
    begin: Begin, folder: Path, gateway: Emulator, models: CompletionService
) -> None:
    deadly = "import os\nfrom bot import handler\n\n@handler('judge')\ndef judge(text: str) -> bool:\n    "
    (folder / "handlers.py").write_text(f"{deadly}return 'die' not in text or os._exit(1)\n")
    (folder / "main.yml").write_text("""\
flow: main
start: {otherwise: true}
steps:
  talk: {ai: You help., moderate: judge, exits: {done: {when: all is said, then: end}}, errors: {else: sorry}}
  sorry: {say: Not now., then: end}
""")
    models.answer_with(lambda request: "You die." if "deadly" in str(request) else "Hello.")
    serving = begin()
    gateway.receive("6281234567891", "deadly")
    serving.line_with("a model is not done again: the engine crashed twice while it was")
    gateway.receive(CONTACT, "hi")
    wait_for(gateway, "Not now.", contact="6281234567891")
    wait_for(gateway, "Hello.")


def test_killed_before_the_model_has_answered_it_asks_again(
    begin: Begin, gateway: Emulator, models: CompletionService
) -> None:
    serving = begin()
    models.hang()
    gateway.receive(CONTACT, "hi")
    assert models.wait_until(lambda: asked(models) == 1, PATIENCE)
    gateway.receive(CONTACT, "hello?")
    serving.settle(2)
    models.say("I am here.")
    models.say("Still here.")
    kill_engine(serving)
    wait_for(gateway, "I am here.", "Still here.")
    assert asked(models) == 3


def test_killed_between_two_paragraphs_it_neither_repeats_the_first_nor_invents_a_second(
    begin: Begin, gateway: Emulator, models: CompletionService
) -> None:
    serving = begin()
    models.answer_with(lambda request: stalled("One.\n\n", "Two") if question_in(request) == "hi" else "Three.")
    gateway.receive(CONTACT, "hi")
    wait_for(gateway, "One.")
    kill_engine(serving)
    gateway.receive(CONTACT, "and?")
    wait_for(gateway, "One.", "Three.")
    assert asked(models) == 2


def test_killed_with_an_answer_that_is_not_sent_yet_it_sends_it_and_asks_nobody(
    begin: Begin, gateway: Emulator, models: CompletionService
) -> None:
    serving = begin()
    gateway.faults.add("unauthorized")
    models.say("One.\n\nTwo.")
    gateway.receive(CONTACT, "hi")
    until(lambda: serving.status()["outbox"] == 2)
    until(lambda: serving.status()["calls"] == 0)
    gateway.faults.clear()
    kill_engine(serving)
    wait_for(gateway, "One.", "Two.")
    assert asked(models) == 1


def test_killed_while_the_gateway_has_it_the_text_is_not_sent_twice(
    begin: Begin, gateway: Emulator, models: CompletionService
) -> None:
    serving = begin()
    accepted = threading.Event()
    go_on = threading.Event()

    def hold(sent: Any) -> None:
        accepted.set()
        go_on.wait(PATIENCE)

    gateway.on_sent(hold)
    models.say("One.")
    gateway.receive(CONTACT, "hi")
    assert accepted.wait(PATIENCE)
    os.kill(serving.child("engine"), signal.SIGKILL)
    go_on.set()
    serving.line_with("the engine process")
    models.say("Two.")
    gateway.receive(CONTACT, "and?")
    wait_for(gateway, "One.", "Two.")
    assert asked(models) == 2
    assert not gateway.reused_keys


def test_killed_in_a_tools_handler_it_calls_it_again_with_the_same_key(
    begin: Begin, gateway: Emulator, models: CompletionService, folder: Path
) -> None:
    serving = begin()
    models.say("Let me see.", calls=[("orders_find", {})])
    models.say("It is found.")
    gateway.receive(CONTACT, "where is it?")
    until(lambda: (folder / "notes").exists() and (folder / "notes").read_text().endswith("\n"))
    kill_engine(serving)
    wait_for(gateway, "Let me see.", "It is found.")
    first, second = (folder / "notes").read_text().splitlines()
    assert first == second
    assert asked(models) == 2


def test_killed_while_the_contact_is_asked_first_it_still_knows_what_they_agree_to(
    begin: Begin, gateway: Emulator, models: CompletionService, folder: Path
) -> None:
    serving = begin()
    models.say("", calls=[("orders_cancel", {})])
    gateway.receive(CONTACT, "cancel it")
    assert gateway.wait_until(lambda: len(gateway.sent) == 1, PATIENCE)
    serving.settle(1)
    kill_engine(serving)
    assert not (folder / "notes").exists()
    models.say("Cancelled.")
    gateway.tap(CONTACT, title="Yes")
    assert gateway.wait_until(lambda: len(gateway.sent) == 2, PATIENCE)
    assert texts(gateway)[1:] == ["Cancelled."]
    assert len((folder / "notes").read_text().splitlines()) == 1
    assert asked(models) == 2


def test_killed_at_any_moment_nobody_is_told_the_same_twice_and_everybody_gets_an_answer(
    begin: Begin, gateway: Emulator, models: CompletionService
) -> None:
    def speak(request: dict[str, Any]) -> ModelAnswer:
        number = question_in(request)
        return ModelAnswer(f"A {number}.\n\nB {number}.\n\nC {number}.", delay=0.01)

    models.answer_with(speak)
    serving = begin()
    contacts = [str(6281234500000 + number) for number in range(12)]
    dice = random.Random(7)
    pause = threading.Event()
    for turn in range(TURNS):
        for contact in contacts:
            gateway.receive(contact, str(turn))
        for _ in range(KILLS):
            pause.wait(dice.uniform(0.02, 0.2))
            wait_for_quarantine(serving.store)
            kill_engine(serving)
    until(lambda: rests(serving, TURNS * len(contacts)))
    assert gateway.wait_until(gateway.idle, PATIENCE)
    for contact in contacts:
        sent = texts(gateway, contact)
        assert len(sent) == len(set(sent)), sent
        assert sent == sorted(sent, key=lambda text: (text.split()[1], text)), sent
        said = defaultdict(list)
        for text in sent:
            letter, number = text.removesuffix(".").split()
            said[number].append(letter)
        assert len(said) == TURNS, sent
        assert all("ABC".startswith("".join(letters)) for letters in said.values()), sent
    assert asked(models) <= (TURNS + TURNS * KILLS) * len(contacts)
    assert not gateway.reused_keys


def rests(serving: Serving, cursor: int) -> bool:
    status = serving.status()
    return bool(status["cursor"] >= cursor and not any(status[name] for name in ("outbox", "calls", "parked")))


def test_a_stop_waits_for_the_model_and_the_next_start_sends_what_it_said(
    begin: Begin, gateway: Emulator, models: CompletionService
) -> None:
    free = threading.Event()

    def speak(request: dict[str, Any]) -> str:
        assert free.wait(PATIENCE)
        return "One.\n\nTwo."

    models.answer_with(speak)
    serving = begin()
    gateway.receive(CONTACT, "hi")
    until(lambda: serving.status()["calls"] == 1)
    stopping = threading.Thread(target=serving.end)
    stopping.start()
    free.set()
    stopping.join()
    assert serving.process.returncode == 0
    begin()
    wait_for(gateway, "One.", "Two.")
    assert asked(models) == 1


def test_without_a_service_the_operator_is_told_and_the_contact_led_where_the_flow_says(
    serve: Serve, gateway: Emulator, folder: Path
) -> None:
    serving = serve(BOT_GATEWAY_URL=gateway.url, BOT_GATEWAY_KEY=gateway.api_key)
    serving.line_with("set BOT_AI_URL, BOT_AI_KEY and BOT_AI_MODEL")
    serving.up()
    gateway.subscribe(f"http://127.0.0.1:{serving.port}/webhook", secret=SECRET)
    gateway.receive(CONTACT, "hi")
    wait_for(gateway, "Not now.")


def test_flows_and_facts_may_be_reloaded_while_the_model_works(
    begin: Begin, gateway: Emulator, models: CompletionService, folder: Path
) -> None:
    free = threading.Event()

    def speak(request: dict[str, Any]) -> str:
        assert free.wait(PATIENCE)
        return "Closed today." if "Mondays" in json.dumps(request["messages"][0]) else "Open."

    models.answer_with(speak)
    serving = begin()
    gateway.receive(CONTACT, "open?")
    until(lambda: serving.status()["calls"] == 1)
    (folder / "facts.md").write_text("Closed on Mondays.")
    (folder / "main.yml").write_text(FLOW.replace("of a shop", "of a bakery"))
    assert local_socket.ask(serving.store, Reload()).reloaded
    free.set()
    wait_for(gateway, "Open.")
    gateway.receive(CONTACT, "really?")
    wait_for(gateway, "Open.", "Closed today.")
    assert "of a bakery" in models.requests()[-1].body["messages"][0]["content"]


def test_an_agent_who_takes_over_while_the_model_works_is_not_talked_over_by_a_new_engine_either(
    begin: Begin, gateway: Emulator, models: CompletionService
) -> None:
    serving = begin()
    models.hang()
    gateway.receive(CONTACT, "hi")
    assert models.wait_until(lambda: asked(models) == 1, PATIENCE)
    gateway.assign(CONTACT)
    serving.settle(2)
    models.say("Too late.")
    kill_engine(serving)
    assert models.wait_until(lambda: asked(models) == 2, PATIENCE)
    until(lambda: serving.status()["calls"] == 0)
    gateway.resolve(CONTACT)
    models.say("Yes?")
    gateway.receive(CONTACT, "you again")
    wait_for(gateway, "Yes?")


WITHSTANDS = {
    "bot.yml": BOT + "ai: {sorry: No answer to that., never: [INSIDER20]}\n",
    "main.yml": """\
flow: main
start: {otherwise: true}
steps:
  talk:
    ai: You help the contacts of a shop.
    tools: [orders.pay, {call: orders.cancel, confirm: true}]
    exits: {cancelled: {when: it is cancelled, needs: [orders.cancel], then: bye}}
    errors: {else: end}
  bye: {say: Bye., then: end}
""",
    "handlers.py": """
from bot import handler


@handler("orders.pay")
def pay() -> str:
    raise RuntimeError("cannot reach postgres://admin:s3cret@db.example/orders")


@handler("orders.cancel")
def cancel(number: str, amount: int) -> None:
    \"\"\"Cancel the order?\"\"\"
""",
}
HOSTILE = {
    "pay": ModelAnswer(calls=[("orders_pay", {})]),
    "cancel": ModelAnswer(calls=[("orders_cancel", {"number": "AB1\namount: 1", "amount": 1_000_000})]),
    "leave": ModelAnswer(calls=[("leave_cancelled", {})]),
    "the code": ModelAnswer("It is I N S I D E R - 2 0."),
    "an address": ModelAnswer("Log in at https://evil.example."),
    "nothing": ModelAnswer("\u200b<think>They want nothing.</think>"),
}


def obedient(request: dict[str, Any]) -> ModelAnswer:
    """A model that does what it is told, and repeats all that it hears of its tools."""
    last = request["messages"][-1]
    return (
        ModelAnswer(f"I hear: {last['content']}")
        if last["role"] == "tool"
        else HOSTILE.get(last["content"], ModelAnswer("Fine."))
    )


def test_a_model_that_obeys_everybody_is_withstood(
    begin: Begin, folder: Path, gateway: Emulator, models: CompletionService
) -> None:
    for name, text in WITHSTANDS.items():
        (folder / name).write_text(text)
    models.answer_with(obedient)
    begin()
    expected: list[str] = []
    for said, answers in (
        ("pay", ["I hear: Failed: error"]),
        ("cancel", ["[buttons]"]),
        ("no", ["I hear: Not done: the contact did not agree."]),
        ("leave", ["I hear: Not yet: orders_cancel must have succeeded first."]),
        ("the code", ["No answer to that."]),
        ("an address", ["No answer to that."]),
        ("nothing", ["No answer to that."]),
        ("hi", ["Fine."]),
    ):
        gateway.receive(CONTACT, said)
        expected += answers
        wait_for(gateway, *expected)
    (question,) = [sent.body["interactive"]["body"]["text"] for sent in gateway.sent if "interactive" in sent.body]
    assert question.splitlines() == ["Cancel the order?", "number: AB1 ⏎ amount: 1", "amount: 1,000,000"]
