"""Random small flows meet random events: no flow, however odd, makes the engine raise, get stuck or break a limit.

`Talk.take` itself holds every turn against a replay of it, and against the session that it was given.
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

from bot.core.effects import AskModel, Call, EmitEvent, Fetch, HttpRequest, Send, Transcribe
from bot.core.events import (
    CallEnded,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    SendEnded,
    SignalReceived,
    StartRequested,
    StatusReported,
    Tapped,
    TimeReached,
)
from bot.core.messages import violations
from bot.core.session import BUSY, Frame, Session, effect_ref
from bot.core.text import estimate_messages
from bot.core.turn import ENTERED, Turn
from bot.core.values import Location
from bot.language.flow.definition import Step
from bot.language.flow.library import Library
from bot.services.gateway.gateway_client import content
from tests.random_bots import FLOWS, LEAK, Author, library_of, written
from tests.searches import tries
from tests.talk import CONTACT, START, Talk

MOST_MERGED = 5
MOST_ROUNDS = 8
SAYINGS = (
    "Hello.", "One.\n\nTwo.\n\nThree.\n\nFour.", "", " \n", "x" * 9000, "See https://evil.example/x", LEAK, "{{ n }}",
    "Bye.\nLEAVE a", "NOTE n: 7\nNOTE t: x\nLEAVE b", "LEAVE nowhere", "a", "none", "A or b.", "See https://shop.example.", "two 90",
    "two 40\nthree 50", "three", "two 60\nnone 20", "5", "2030-05-09", '{"slot_n": 5}', '{"slot_d": "2030-05-09", "a": 3, "b": "x"}',
)  # fmt: skip
ARGUMENTS = (
    "{}", '{"number": "AB"}', '{"number": "AB", "most": 2}', '{"contact": "6289999999999"}', "[1]", "nonsense", "",
    '{"number": NaN}', '{"number": "A", "most": -Infinity}', '{"n": 5}', '{"n": "x", "t": "y"}', '{"t": null, "o": 1}',
    '{"n": NaN}', '{"t": "\\ud800", "n": 1e999}', "[" * 5000, '{"number": {"$tuple": 5}}', '{"t": {"a": 1}}',
    '{"n": ' + "9" * 5000 + "}", '{"number": "A/../b", "day": "2030-05-09"}', '{"number": "A", "day": "soon"}',
)  # fmt: skip
FAILURES = ("timeout", "down", "quota", "refused", "no_tools", "unsafe", "empty", "over_budget")
MOST_TURNS = 300  # in which all comes to rest that is due at one time
ANSWERS = (
    "x", "1", "2", "1, 2 and 3", "done", "A", "b", "yes", "skip", "go", "stop", "menu", "two", "why", "help", "more", "so three", "I want it", "2 on friday",
    "make it five, tomorrow", "quit", "begin", "Go", "no", " ", "", "{{ 7 }}",
    "9" * 65_536,
)  # fmt: skip
TAPS = ("a/b/99999999999/1/x", "main/a/٣/٣/12345678", "main/a/0/1/12345678", "////", "", "two/d/0/999/abcdefgh")


@st.composite
def bots(draw: st.DrawFn) -> tuple[Library, Library]:
    """A bot, and the same after an edit."""
    author = Author(draw(st.integers(0, 1 << 32)))
    bot = author.bot()
    flows = [author.flow(name) for name in ("main", *(name for name in FLOWS[1:] if author.one(0, 1, 1, 1)))]
    edited = [author.edited(flow) for flow in flows if flow["flow"] == "main" or author.one(1, 1, 1, 0)]
    before, after = library_of(bot, flows), library_of(bot, edited)
    note(f"{json.dumps(bot)}\n{written(flows)[0]}\n--- edited:\n{written(edited)[0]}")
    return before, after


HAPPENINGS: tuple[tuple[str, Sequence[Any]], ...] = (
    ("text", ANSWERS),
    ("text", ANSWERS),
    ("tap", range(3)),
    ("tap", range(21)),
    ("strange tap", TAPS),
    ("time", ("due", "early", "late")),
    ("time", ("due",)),
    ("clock", (-90_000, -3600, -2, 2, 3600)),
    ("call", ("done", "timeout", "mismatch", "NotFound", "error", "404", "503", "TooLarge")),
    ("send", ("sent", "refused", "failed", "unknown", "replaced", "superseded")),
    ("model", range(1 << 16)),
    ("model", range(1 << 16)),
    ("paragraph", range(len(SAYINGS))),
    *((kind, (None,)) for kind in ("assigned", "closed", "contact", "opened", "read")),
    *((kind, (None,)) for kind in ("photo", "place", "voice", "closed", "reset", "set", "happens", "edit")),
    ("start", [(flow, busy) for flow in (*FLOWS, "none") for busy in BUSY]),
    ("signal", range(1 << 16)),
    ("signal", range(1 << 16)),
)
"""What can happen, and its details."""
EVENTS = st.one_of(*(st.tuples(st.just(kind), st.sampled_from(details)) for kind, details in HAPPENINGS))


def open_visits(frames: tuple[Frame, ...]) -> set[int]:
    """The visits that go on, also below what `back` returns from."""
    return {
        visit
        for frame in frames
        for visit in (frame.visit, *open_visits(frame.unanswered.below if frame.unanswered else ()))
    }


def turn_step(library: Library, frame: Frame) -> Step | None:
    """The step at which a frame waits; None where an edit has removed it, or made it another kind."""
    flow = library.flows.get(frame.flow)
    step = None if flow is None else flow.steps.get(frame.step)
    return step if step is not None and step.form == frame.form else None


class Contact(Talk):
    """Somebody who does anything at any time, with the same rules as the real store: one turn after another."""

    def __init__(self, library: Library, other: Library) -> None:
        self.library, self.other = library, other
        self.session = Session(CONTACT)
        self.now = START
        self.turn = None
        self.sent, self.shown, self.calls, self.asked, self.effects, self.parked = [], [], [], [], [], []
        self.last_ref = ""
        self._events = 0
        self._open: set[str] = set()  # effects whose end is still to come
        self._happens: list[SignalReceived | StartRequested] = []  # what steps caused at this contact
        self._visits = 0  # of steps that are counted as entered, and not yet as ended

    def meet(self, kind: str, detail: Any) -> None:
        self.now += timedelta(minutes=7)
        match kind:
            case "edit":
                self.library, self.other = self.other, self.library
            case "reset":
                self.reset()
            case "set":
                names = [name for frame in self.session.frames for name in frame.vars] or ["n"]
                given: list[Any] = [3, "x", None, ["a"], {"b": 1}]
                flow = [None, *FLOWS, "none"][self._events % (len(FLOWS) + 2)]
                self.set(flow, **{names[self._events % len(names)]: given[self._events % 5]})
            case "closed":
                self.closed()
            case "assigned":
                self.take(ConversationAssigned(self.next_id(), CONTACT, self.now, "c", None, "Budi"))
            case "opened":
                self.take(ConversationOpened(self.next_id(), CONTACT, self.now, "c", "Ann"))
            case "contact":
                self.take(ContactChanged(self.next_id(), CONTACT, self.now, "contact.updated", "Ann", None, ("vip",)))
            case "start":
                flow, busy = detail
                data: list[dict[str, Any]] = [{}, {"n": 3}, {"n": "x"}, {"q": 1}]
                self.start(flow, busy, **data[self._events % 4])
            case "signal":
                self._signal(Random(detail))
            case "happens" if self._happens:
                self.take(self._happens.pop(0))
            case "read":
                self.take(StatusReported(self.next_id(), CONTACT, self.now, "read", ("m",)))
            case "model" if self.asked:
                self._answer(Random(detail))
            case "paragraph" if self.asked:
                self.paragraph(SAYINGS[detail])
            case "time":
                self._pass_time(detail)
            case "clock":
                self.now += timedelta(seconds=detail) - timedelta(minutes=7)
                self.take(TimeReached(self.next_id(), CONTACT, self.now))
            case "call" if self.calls:
                value: Any = [{"a": {"b": 1}}, "x", None, 5][len(self.calls) % 4] if detail == "done" else None
                ref, asked = self.calls[-2 if self._events % 4 == 3 and len(self.calls) > 1 else -1]
                if isinstance(asked.by if isinstance(asked, Transcribe) else asked, HttpRequest):
                    value = {"status": 200 if detail == "done" else detail, "answer": value}
                self.take(CallEnded(self.next_id(), CONTACT, self.now, ref, detail, value))
            case "send" if self.last_ref:
                message = self.sent[-1] if detail == "refused" else None
                self.take(SendEnded(self.next_id(), CONTACT, self.now, self.last_ref, detail, message=message))
            case _ if not self.session.busy:  # else the message is parked
                self._write(kind, detail)

    def _answer(self, dice: Random) -> None:
        """The end of the model's newest answer, or of an older one: any text, any calls, any failure."""
        nth = dice.choice([-1, -1, -1, -min(2, len(self.asked))])
        if dice.random() < 0.2:
            self.model_ends(dice.choice(FAILURES), nth=nth)
            return
        tools = [tool["function"]["name"] for tool in self.asked[nth][1].tools]
        called = [dice.choice([*tools, *tools, "delete_all", ""]) for _ in range(dice.choice([0, 0, 1, 2]))]
        calls = [{"id": f"c{n}", "name": name, "arguments": dice.choice(ARGUMENTS)} for n, name in enumerate(called)]
        finish = dice.choice(["stop", "length", "cut"])
        answer = {"text": dice.choice(SAYINGS), "calls": calls, "finish": finish, "said": 0, "model": "m"}
        self.model_ends("done", answer, nth)

    def _signal(self, dice: Random) -> None:
        """A program reports a signal; or somebody who has an address of this run, or of an earlier one."""
        visit = dice.choice([None, None, *(frame.first_visit for frame in self.session.frames), 1])
        data: list[dict[str, Any]] = [
            {"amount": 3, "who": "x"}, {"amount": "12.50"}, {}, {"amount": "much"}, {"who": "x" * 9000}, {"q": 1}
        ]  # fmt: skip
        self.signal(dice.choice(["paid", "paid", "paid", "seen", "gone"]), visit, **dice.choice(data))

    def _write(self, kind: str, detail: Any) -> None:
        match kind:
            case "text":
                self.user(detail)
            case "photo":
                self.photo()
            case "voice":
                self.voice()
            case "place":
                place = Location(1.0, 2.0)
                self.take(
                    MessageReceived(self.next_id(), CONTACT, self.now, self.now, "location", "Here", location=place)
                )
            case "strange tap":
                self.tap_id(detail, "A")
            case "tap" if self.shown:
                choice = self.shown[-1 - detail % len(self.shown)]
                self.take(Tapped(self.next_id(), CONTACT, self.now, self.now, choice.id, choice.title))

    def _pass_time(self, when: str) -> None:
        wake = None if self.turn is None else self.turn.wake_at
        if wake is None:
            return
        shift = {"due": timedelta(), "early": timedelta(seconds=-1), "late": timedelta(days=2)}[when]
        self.now = max(self.now, wake + shift)
        for _ in range(MOST_TURNS):
            self.take(TimeReached(self.next_id(), CONTACT, self.now))
            assert self.turn is not None
            if self.turn.wake_at is None or self.turn.wake_at > self.now:
                return
        raise AssertionError("a wake-up asks for itself again and again")

    def _checked(self, event: Event) -> Turn:
        turn = super()._checked(event)
        self._visits += sum(1 if way == ENTERED else -1 for _, _, split, way, _ in turn.results if not split)
        drafts = (frame for draft in turn.session.drafts for frame in draft.frames)
        assert self._visits == len(open_visits((*turn.session.frames, *drafts)) - {0}), (
            "a visit is not counted, or twice"
        )
        return turn

    def take(self, event: Event) -> list[Any]:
        silent = self.session.agent is not None and not isinstance(event, HandoffClosed)
        said = super().take(event)
        assert self.turn is not None
        opts_out = self.turn.trace.rule.startswith("opt-out")  # that is heard before everything else
        assert not said or not silent or opts_out, "an agent has the conversation"
        if isinstance(event, CallEnded | SendEnded):
            self._open.discard(event.effect)
        for ordinal, effect in enumerate(self.effects):
            if isinstance(effect, Call | Fetch | AskModel | HttpRequest | Transcribe) or (
                isinstance(effect, Send) and effect.report
            ):
                self._open.add(effect_ref(event.id, ordinal))
            if isinstance(effect, EmitEvent) and effect.event.contact == CONTACT:
                assert isinstance(effect.event, StartRequested | SignalReceived)
                self._happens.append(effect.event)
            if isinstance(effect, Send):
                assert violations(effect.message) == []
                assert "evil.example" not in json.dumps(content(effect.message))
                assert LEAK not in json.dumps(content(effect.message))
            if isinstance(effect, AskModel):
                assert_asks_well(effect)
        self._check()
        return said

    def _check(self) -> None:
        turn, frame = self.turn, self.session.frame
        assert turn is not None
        heard = {
            plan.at for plan in self.session.plans if plan.signal and self.session.agent is None
        }  # or never will be
        left_out = {plan.at for plan in self.session.plans if plan.busy == "skip" and not plan.signal} | heard
        if f"ended: {turn.failure}" in turn.trace.notes:
            assert frame is None
            assert self.session.tags == tuple(tag for tag in self.session.tags if not tag.startswith("handoff:"))
        if self.session.voice_note is not None:
            assert self.session.voice_note.effect in self._open, "it waits for what has come already"
            assert turn.wake_at is None or turn.wake_at in left_out
            return
        if frame is None:
            planned = left_out if self.session.agent is not None else {plan.at for plan in self.session.plans}
            planned |= {draft.until for draft in self.session.drafts if self.session.agent is None}
            assert turn.wake_at == min(planned, default=None)
            return
        assert frame.waits is not None or frame.question.undelivered, "it rests before it has begun to wait"
        if frame.waits is not None and frame.waits.ended is not None:
            assert self.session.agent is not None
            assert frame.waits.ended.effect in frame.waits.effects
        elif frame.awaited_effect is not None:
            assert frame.awaited_effect in self._open, "it waits for what has come already"
        if self.session.agent is not None or frame.awaited_effect is not None:
            replacing = {
                plan.at for plan in self.session.plans if plan.busy == "replace" and self.session.agent is None
            }
            speaks = None if (step := turn_step(self.library, frame)) is None else step.kind.speaks_at(frame.step_state)
            assert turn.wake_at is None or turn.wake_at in left_out | replacing | {speaks}
            return
        step = turn_step(self.library, frame)
        if step is None:  # an edit leads on as soon as time is told
            assert turn.wake_at is not None
            return
        assert step.facts.pauses or step.facts.ignores_messages, "it rests where nothing leads on"
        if step.timeout is not None or (not step.facts.ignores_messages and not step.facts.waits):
            assert turn.wake_at is not None


def assert_asks_well(complete: AskModel) -> None:
    """A request in the wire form: each call answered once, the instructions apart, and no bound broken."""
    first, *others = complete.messages
    assert first["role"] == "system"
    assert LEAK not in json.dumps(others), "what was sent or said never holds the instructions"
    assert all(message["content"] or message.get("tool_calls") for message in others)
    called = [call["id"] for message in others for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in others if message["role"] == "tool"]
    assert sorted(called) == sorted(answered)
    asked = [message for message in others if message["role"] == "assistant"]
    assert len(asked) <= MOST_ROUNDS + MOST_MERGED + 100
    assert estimate_messages([message for message in others if message["role"] == "system"]) < 10_000


# to load a bot takes as long as fifty events: few bots, and long talks
@settings(max_examples=tries(8, 80))
@given(bots(), st.lists(EVENTS, min_size=20, max_size=60))
def test_no_flow_and_no_event_makes_the_engine_raise_or_leaves_a_contact_stuck(
    bots: tuple[Library, Library], events: list[tuple[str, Any]]
) -> None:
    contact = Contact(*bots)
    contact.user("hi")
    for kind, detail in events:
        contact.meet(kind, detail)
