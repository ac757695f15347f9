"""The checker finds every fault that a random conversation with a random bot then meets."""

from datetime import timedelta
from random import Random
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

from bot.checker.analysis.silent_time import SilentTimes
from bot.checker.findings import Finding
from bot.checker.graph import Graph, StepId
from bot.checker.rules.gateway_limits import PER_MINUTE, late_messages
from bot.checker.run_rules import run_rules
from bot.core.effects import Send
from bot.core.events import Event
from bot.core.messages import TemplateMessage
from bot.language.flow.library import Library
from tests.checker.random_faults import Slow, written_by
from tests.engine.test_random import ANSWERS, Contact
from tests.searches import tries

OPEN_FOR = timedelta(hours=23, minutes=55)
DRIFT = timedelta(minutes=2)  # the time that the events of a conversation take
TALKS, MOVES = 4, 60  # with each bot, in each conversation
PATIENCE = 0.7
"""Mostly a contact does nothing until something happens by itself: that is what takes long."""


class Slower(Slow):
    """Writes flows that count, run for each element of a list and wait for what may be over, and bots in which old
    questions can be opened again.
    """

    def set(self) -> Any:
        return self.one(super().set(), {"n": "{{ n + 1 }}"})

    def branch(self) -> Any:
        counted = {"branch": [{"if": "n > 4", "then": "end"}, {"else": self.target()}]}
        return counted if self.one(0, 1) else super().branch()

    def wait(self) -> dict[str, Any]:
        worked_out = {
            "wait": self.one("{{ today }}", "{{ now - hours(1) }}", "{{ now + hours(9) }}", "{{ hours(n or 7) }}")
        }
        return worked_out if self.one(True, False) else super().wait()

    def run(self) -> dict[str, Any]:
        run = super().run()
        each = {"run": run["run"], "each": "l", "with": {"t": "{{ it.k }}"}}
        return each if self.one(0, 0, 1) else run

    def bot(self) -> dict[str, Any]:
        bot = super().bot()
        return {**bot, "defaults": {**bot["defaults"], **self.one({}, {}, {"old_taps": "reopen"})}}


class Watched(Contact):
    """A contact of whom it is noted what comes too late, and what is too much."""

    checks = False

    def __init__(self, library: Library) -> None:
        super().__init__(library, library)
        self.late: list[set[StepId]] = []  # the steps that late messages may be of
        self.most = 0

    def meet(self, kind: str, detail: Any) -> None:
        self.now -= timedelta(minutes=7) - timedelta(seconds=1)
        super().meet(kind, detail)

    def take(self, event: Event) -> list[Any]:
        before = self._place()
        said = super().take(event)
        assert self.turn is not None
        sends = [effect for effect in self.effects if isinstance(effect, Send)]
        free = [each for each in sends if not isinstance(each.message, TemplateMessage) and each.instead is None]
        self.most = max(self.most, len(sends))
        inbound = self.session.last_inbound
        if free and (inbound is None or self.now - inbound >= OPEN_FOR + DRIFT):
            self.late += [self._of(number, before) for number, each in enumerate(self.effects) if each in free]
        return said

    def _of(self, number: int, before: list[StepId]) -> set[StepId]:
        """The step that has decided on an effect. Whether to go on is asked where the contact is then."""
        assert self.turn is not None
        taken = [(step.flow, step.step) for step in self.turn.trace.steps if step.effects <= number]
        asks_to_go_on = self.session.frame is not None and self.session.frame.question.to_continue
        return {*(taken[-1:] or before), *(self._place() if asks_to_go_on else [])}

    def _place(self) -> list[StepId]:
        frame = self.session.frame
        return [] if frame is None else [(frame.flow, frame.step)]


def talked(library: Library, dice: Random) -> Watched:
    """A contact after a conversation, without events that are not the bot's doing: edits, agents, an engine that stands still, taps on
    buttons that were never sent.
    """
    contact = Watched(library)
    contact.user("hi")
    for _ in range(MOVES):
        contact.meet(*_waits(contact, dice) if dice.random() < PATIENCE else _moves(dice))
    return contact


def _waits(contact: Watched, dice: Random) -> tuple[str, Any]:
    """The next event for a contact who does nothing."""
    if not contact.session.waits_for_effect:
        return "time", "due"
    frame = contact.session.frame
    model = frame is not None and contact.asked and contact.asked[-1][0] == frame.awaited_effect
    return ("model", dice.randrange(1 << 16)) if model else ("call", dice.choice(["done", "done", "timeout", "404"]))


def _moves(dice: Random) -> tuple[str, Any]:
    return dice.choice([
        ("text", dice.choice(ANSWERS[:-1])),
        ("tap", dice.randrange(3)),
        ("strange tap", "////"),
        ("send", dice.choice(["sent", "failed", "replaced"])),
        (dice.choice(["photo", "place", "closed", "contact", "opened", "read"]), None),
    ])  # fmt: skip


def codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings}


@settings(max_examples=tries(6, 90))
@given(st.integers(0, 1 << 32))
def test_what_comes_too_late_or_is_too_much_has_been_found_before(seed: int) -> None:
    written = written_by(Slower(seed))
    library, found = written.library, run_rules(written.library)
    note("\n".join([str(written), *map(str, found)]))
    graph = Graph(library)
    late = (message.sent_by for message in late_messages(graph, SilentTimes(graph)))
    foreseen = {sender if isinstance(sender, tuple) else sender.source for sender in late}
    for talk in range(TALKS):
        contact = talked(library, Random(f"{seed} {talk}"))
        assert contact.most <= PER_MINUTE or "W601" in codes(found)
        assert not contact.late or "W501" in codes(found)
        for places in contact.late:
            assert places & foreseen, f"{places} too late, foreseen: {sorted(foreseen)}"
