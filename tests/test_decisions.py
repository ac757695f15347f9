"""Our decisions where the specifications are silent or disagree (docs/decisions.md), as far as no room below shows it.

`tests/specification.md` lists the tests of each decision.
"""

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.core.effects import AskModel
from bot.core.engine_requests import EraseContact
from bot.core.messages import Buttons, Choice, TemplateMessage, TextMessage
from bot.core.session import Session
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.server.app import Bot, Engine, GatewayAccount
from bot.services.ai.ai_client import Completions
from bot.services.gateway.gateway_answers import (
    EndpointRefused,
    GatewayRateLimited,
    GatewayRefused,
    KeyState,
    read_sent,
)
from bot.services.gateway.gateway_client import Gateway
from bot.services.http_client import Response
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from bot.testing.emulator import API_KEY, Emulator, MessageTemplate
from bot.testing.simulation.approved_templates import approved_templates
from tests.talk import BOT, Talk

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
ANN = "491510000001"
FIRST, SECOND = "15550000001", "15550000002"
CHANNELS = {"channel-1": FIRST, "channel-2": SECOND}
MORE = "flow: main\nstart: {otherwise: true}\nsteps:\n  more: {ask: More?, options: {Yes: more, No: end}}\n"


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(START)


@pytest.fixture
def emulator(clock: MovableClock) -> Iterator[Emulator]:
    with Emulator(clock, per_minute=1000, channels=CHANNELS) as running:
        running.open_window(ANN)
        running.templates.add(MessageTemplate("hi", body="Hello"))
        yield running


@pytest.fixture
def gateway(emulator: Emulator) -> Iterator[Gateway]:
    numbers = {number: channel for channel, number in CHANNELS.items()}
    with closing(Gateway(emulator.url, API_KEY, channels=numbers)) as made:
        yield made


@dataclass(frozen=True)
class Running:
    """A bot behind the emulated gateway, of two channels."""

    engine: Engine
    emulator: Emulator
    reader: StoreReader

    def settle(self) -> None:
        assert self.emulator.wait_until(self.emulator.idle, 30)
        assert self.engine.wait_settled(30)

    @property
    def session(self) -> Session:
        found = self.reader.sessions.get(ANN)
        assert found is not None
        return found


@contextmanager
def running(
    folder: Path, emulator: Emulator, flow: str, tolerance: int = 5, repeat_unknown: bool = False, **options: Any
) -> Iterator[Running]:
    channels = f"channels: {{'{FIRST}': channel-1, '{SECOND}': channel-2}}\n"
    (folder / "bot.yml").write_text(BOT + channels)
    (folder / "main.yml").write_text(flow)
    store, program = folder / "bot.db", load_program(read_folder(folder))
    emulator.templates.add(*approved_templates(program.library))
    migrate(store)
    with ExitStack() as parts:
        account = GatewayAccount(emulator.url, emulator.api_key, repeat_unknown=repeat_unknown)
        engine = Engine(program, store, emulator.clock, account, **options)
        bot = Bot(engine, store, emulator.clock, emulator.secret, tolerance=timedelta(minutes=tolerance))
        bot.start()
        parts.callback(bot.stop)
        emulator.subscribe(bot.url)
        yield Running(engine, emulator, parts.enter_context(closing(StoreReader(store))))
        emulator.stop()  # first: the bot's web server waits a while for connections that are kept open


# -- sending


@pytest.mark.parametrize("status", [200, 201, 202])
@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("first", ["sent", "queued"])
def test_a_send_is_understood_at_any_status_and_without_an_id(
    emulator: Emulator, gateway: Gateway, status: int, ids: bool, first: Any
) -> None:
    emulator.behaviour.success_status, emulator.behaviour.ids_in_results = status, ids
    emulator.behaviour.template_status = first
    emulator.behaviour.send_message_refuses = emulator.behaviour.chat_messages_refuses = frozenset({"template"})
    for _ in range(2):
        with pytest.raises(EndpointRefused):
            gateway.send(ANN, TemplateMessage("hi", "en"), "k1", FIRST)
    sent = [
        gateway.send(ANN, TextMessage("a"), "k2", FIRST),
        gateway.send(ANN, TemplateMessage("hi", "en"), "k3", FIRST),
    ]
    assert [result.status for result in sent] == ["sent", first]
    assert all(bool(result.message_ids) is ids for result in sent)
    assert len(emulator.sent) == 2


@pytest.mark.parametrize("status", [None, 200, 400, 418, 500])
def test_a_refusal_is_understood_at_any_status(emulator: Emulator, gateway: Gateway, status: int | None) -> None:
    emulator.behaviour.error_status = status
    with pytest.raises(GatewayRefused) as refused:
        gateway.send(ANN, TemplateMessage("unknown", "en"), "k1", FIRST)
    assert refused.value.code == "132012"
    emulator.faults.add("rate_limited", count=1, seconds=9)
    with pytest.raises(GatewayRateLimited) as limited:
        gateway.send(ANN, TextMessage("a"), "k2", FIRST)
    assert limited.value.rate.retry_after == timedelta(seconds=9)
    assert emulator.sent == []


@pytest.mark.parametrize("status", [200, 400, 409, 422, 502])
def test_an_interactive_refusal_is_understood_at_any_status(status: int) -> None:
    body = b'{"success":false,"error":{"code":"INTERACTIVE_BODY_EMPTY","message":"no"}}'
    with pytest.raises(GatewayRefused) as refused:
        read_sent(Response(status, {}, body), KeyState.FIRST, ANN)
    assert refused.value.code == "INTERACTIVE_BODY_EMPTY"


@pytest.mark.parametrize(("set_so", "tries"), [(False, 1), (True, 2)])
def test_a_reply_of_unknown_fate_is_repeated_where_the_setting_says_so(
    tmp_path: Path, emulator: Emulator, clock: MovableClock, set_so: bool, tries: int
) -> None:
    emulator.behaviour.send_message_refuses = emulator.behaviour.chat_messages_refuses = frozenset({"interactive"})
    fault = emulator.faults.add("reset_after", when=lambda request: request.endpoint == "interactive")
    with running(tmp_path, emulator, MORE, repeat_unknown=set_so) as bot:
        emulator.receive(ANN, "Hello")
        bot.settle()
        clock.move(timedelta(seconds=5))
        bot.settle()
        assert [letter.what for letter in bot.reader.dead_letters.newest()] == ["send"]
    assert fault.hits == tries


# -- identity


def test_a_contact_is_answered_by_the_channel_that_it_last_wrote_to_after_a_tap_too(
    tmp_path: Path, emulator: Emulator
) -> None:
    with running(tmp_path, emulator, MORE) as bot:
        for channel in ("channel-2", "channel-1"):
            emulator.receive(ANN, "Hello", channel_id=channel)
            bot.settle()
            emulator.tap(ANN, title="Yes")
            bot.settle()
        assert [sent.channel_id for sent in emulator.sent] == ["channel-2"] * 2 + ["channel-1"] * 2
        assert bot.session.channel == FIRST


@pytest.mark.parametrize("refusals", [0, 1, 2])
@pytest.mark.parametrize("message", [Buttons("More?", (Choice("y", "Yes"),)), TemplateMessage("hi", "en")])
def test_every_endpoint_is_told_the_channel(emulator: Emulator, gateway: Gateway, refusals: int, message: Any) -> None:
    types = frozenset({"interactive", "template"})
    emulator.behaviour.send_message_refuses = types if refusals else frozenset()
    emulator.behaviour.chat_messages_refuses = types if refusals == 2 else frozenset()
    for _ in range(refusals):
        with pytest.raises(EndpointRefused):
            gateway.send(ANN, message, "k", SECOND)
    gateway.send(ANN, message, "k", SECOND)
    assert [sent.channel_id for sent in emulator.sent] == ["channel-2"]


# -- webhook


@pytest.mark.parametrize(("restamp", "tolerance", "answered"), [(True, 5, True), (False, 5, False), (False, 180, True)])
def test_a_retry_with_its_old_stamp_is_lost_unless_the_tolerance_is_raised(
    tmp_path: Path, emulator: Emulator, restamp: bool, tolerance: int, answered: bool
) -> None:
    emulator.behaviour.restamp = restamp
    with running(tmp_path, emulator, MORE, tolerance) as bot:
        emulator.receive(ANN, "Hello", at=START - timedelta(hours=2, minutes=36))
        bot.settle()
        assert bool(emulator.sent) is answered


# -- replies


ASKED = """
flow: main
start: {otherwise: true}
steps:
  nudge:
    template: {name: nudge, language: en}
    replies: {Continue: on, Stop: end}
  on: {say: Going on., then: end}
"""


@pytest.mark.parametrize("way", ["interactive_reply", "title", "payload"])
def test_a_templates_quick_reply_is_understood_however_it_comes(tmp_path: Path, emulator: Emulator, way: Any) -> None:
    emulator.behaviour.template_tap = way
    with running(tmp_path, emulator, ASKED) as bot:
        emulator.receive(ANN, "Hello")
        bot.settle()
        emulator.tap(ANN, title="Continue")
        bot.settle()
        assert [sent.type for sent in emulator.sent] == ["template", "text"]
        assert bot.session.frame is None


# -- templates


@pytest.mark.parametrize("needed", [True, False])
@pytest.mark.parametrize("said", [True, False])
def test_a_header_that_nothing_fills_can_be_sent_where_the_gateway_wants_it(
    tmp_path: Path, emulator: Emulator, needed: bool, said: bool
) -> None:
    emulator.behaviour.static_header_needed = needed
    header = "header: []" if said else "body: []"
    flow = (
        f"flow: main\nstart: {{otherwise: true}}\nsteps:\n  t: {{template: {{name: fixed, language: en, {header}}}}}\n"
    )
    with running(tmp_path, emulator, flow) as bot:
        emulator.templates.add(MessageTemplate("fixed", header="Our shop", body="Hello"))
        emulator.receive(ANN, "Hello")
        bot.settle()
        reasons = [letter.reason for letter in bot.reader.dead_letters.newest()]
        assert (len(emulator.sent), len(reasons)) == ((0, 1) if needed and not said else (1, 0))
        assert all("132001" in reason for reason in reasons)


# -- hand-over


HANDED = """
flow: main
start: {otherwise: true}
steps:
  person: {handoff: sales, closed: thanks, timeout: {after: 2h, then: late}}
  thanks: {say: Thanks., then: end}
  late: {say: Nobody was there., then: end}
"""


def test_a_hand_over_ends_by_an_operator_or_by_its_own_time_out() -> None:
    talk = Talk(HANDED)
    assert talk.user("Hello") == []
    assert list(talk.session.tags) == ["handoff:sales"]
    assert talk.wait("1h") == []
    assert talk.wait("2h") == ["Nobody was there."]
    assert (list(talk.session.tags), talk.at) == ([], None)
    talk.user("Hello")
    assert talk.reset() == []
    assert (list(talk.session.tags), talk.at) == ([], None)


# -- contacts


def test_the_gateways_custom_fields_touch_none_of_ours(tmp_path: Path, emulator: Emulator) -> None:
    flow = (
        "flow: main\nstart: {otherwise: true}\nvars: {plan: {type: text, value: basic}}\n"
        "steps:\n  more: {ask: 'More than {{ plan }}?', options: {Yes: end}}\n"
    )
    with running(tmp_path, emulator, flow) as bot:
        emulator.receive(ANN, "Hello")
        bot.settle()
        fields = {"plan": "gold", "tags": ["x"]}
        emulator.emit("contact.updated", {"phone": ANN, "name": "Ann", "custom_fields": fields})
        bot.settle()
        assert (bot.session.name, bot.session.tags) == ("Ann", ())
        assert bot.session.frame is not None
        assert bot.session.frame.vars == {"plan": "basic"}


# -- chat completion


def test_an_answer_has_a_minute() -> None:
    assert inspect.signature(Completions).parameters["seconds"].default >= 60
    within: Any = {field.name: field.default for field in fields(AskModel)}["within"]
    assert within >= 60


# -- senders who are no numbers

US = "US.1a2b3c"


def written_by(emulator: Emulator, sender: Any, number: int) -> None:
    data = {"message_id": f"m{number}", "from": sender, "to": FIRST, "type": "text", "body": "hi"}
    emulator.emit("message.inbound", data)


def test_messages_from_senders_who_are_no_numbers_are_one_alarm_with_a_count(
    tmp_path: Path, emulator: Emulator, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path, emulator, MORE) as bot:
        for number, sender in enumerate([US, "ann.smith", "@ann", None, {"id": 1}]):
            written_by(emulator, sender, number)
            bot.settle()
        (alarm,) = bot.engine.alarms.current()
        assert alarm.name == "unknown-senders"
        assert alarm.what.startswith("5 messages came from senders who are no phone numbers")
        assert "BOT_ANSWER_IDS=yes" in alarm.advice
        assert [record.levelname for record in caplog.records if "sender" in record.message] == ["ERROR"]
        assert not any("could not be read" in record.message for record in caplog.records)
        assert [letter.what for letter in bot.reader.dead_letters.newest()] == ["event"] * 5
        clock.move(timedelta(days=1, minutes=1))
        emulator.receive(ANN, "hi")
        bot.settle()
        assert bot.engine.wait_settled(30)
        assert bot.engine.alarms.current() == []


def test_a_sender_who_is_no_number_is_answered_where_that_is_wanted(tmp_path: Path, emulator: Emulator) -> None:
    emulator.behaviour.recipients, emulator.behaviour.window = "any", "open"
    with running(tmp_path, emulator, MORE, answer_ids=True) as bot:
        written_by(emulator, US, 1)
        bot.settle()
        tap = {"message_id": "m2", "from": US, "timestamp": int(START.timestamp())}
        shown = emulator.sent[0].body["interactive"]["action"]["buttons"][0]["reply"]
        emulator.emit("message.interactive_reply", {**tap, "interactive": {"type": "button", "button": shown}})
        bot.settle()
        assert [sent.to for sent in emulator.sent] == [US, US]
        assert bot.engine.alarms.current() == []
        emulator.behaviour.recipients = "numbers"
        written_by(emulator, "ann smith\n", 3)
        written_by(emulator, "ben", 4)
        bot.settle()
        (refused, unknown) = sorted(bot.reader.dead_letters.newest(), key=lambda letter: letter.what, reverse=True)
        assert "VALIDATION_INVALID_PHONE" in refused.reason and unknown.what == "event"
        bot.engine.operate(EraseContact(US))
        bot.settle()
        assert bot.reader.sessions.get(US) is None
