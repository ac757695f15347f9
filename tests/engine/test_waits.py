"""The tables of waits.md: each cell is what the engine does.

``python -m tests.engine.test_waits`` prints the tables as the engine has them.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot import handler
from bot.core.events import CallEnded, ConversationAssigned, HandoffClosed, SendEnded, TimeReached
from bot.core.session import Session
from bot.core.waits import ForContact, ForEffect, ForEnd, ForFlow, ForPerson, ForSend, ForTime, FrameWait
from tests.talk import CONTACT, Talk

TABLES = Path(__file__).with_name("waits.md")
BOT = """\
name: Test
signals: {paid: {}}
words: {menu: {then: /other}}
transcribe: {call: look}
defaults: {timeout: {after: 2h, then: end}, errors: {else: end}}
"""
FLOW = """\
flow: main
start: {words: [hi]}
vars: {size: {type: text}}
steps:
  first: {ask: First?, buttons: {Go: size}}
  size: STEP
  after: {ask: And then?}
---
flow: child
steps: {one: {ask: One?, timeout: {after: 2h, then: two}}, two: {ask: Two?}}
---
flow: other
steps: {above: {ask: Above?}}
"""
QUESTION = "{ask: Which size?, buttons: {Small: after}, accepts: text, save: size, signals: {paid: after}, then: after}"
GATHERING = QUESTION.replace("{ask", "{gather: 5s, ask")
CALL = "{call: look, then: after}"


@handler("look")
def look(voice: object = None) -> str:
    return ""


def at(step: str) -> Talk:
    talk = Talk(FLOW.replace("STEP", step), BOT, {"look": look})
    talk.user("hi")
    talk.tap("Go")
    return talk


def gathering() -> Talk:
    talk = at(GATHERING)
    talk.user("as large as")
    return talk


def undelivered() -> Talk:
    talk = at(QUESTION)
    talk.send_ended("replaced")
    return talk


def transcribing() -> Talk:
    talk = at(QUESTION)
    talk.voice()
    return talk


WAITS: dict[str, tuple[type[FrameWait], Callable[[], Talk]]] = {
    "`ForContact`": (ForContact, lambda: at(QUESTION)),
    "`ForContact`, question undelivered": (ForContact, undelivered),
    "`ForContact`, gathering": (ForContact, gathering),
    "any, and a voice note is transcribed": (ForContact, transcribing),
    "`ForEffect`, listening": (ForEffect, lambda: at("{ai: Help., exits: {done: {when: done, then: after}}}")),
    "`ForEffect`": (ForEffect, lambda: at(CALL)),
    "`ForSend`": (ForSend, lambda: at("{say: One size., errors: {refused: after}, then: after}")),
    "`ForFlow`": (ForFlow, lambda: at("{run: child, signals: {paid: after}, then: after}")),
    "`ForPerson`": (
        ForPerson,
        lambda: at("{handoff: {team: sales, say: Wait.}, closed: after, signals: {paid: after}}"),
    ),
    "`ForTime`": (ForTime, lambda: at("{wait: 30m, signals: {paid: after}, then: after}")),
}
"""A conversation at each kind of wait, in the tables' order."""


def newest_call(talk: Talk) -> str:
    """The call that is awaited, or one that nobody waits for."""
    waits, note = talk.session.frames[-1].waits, talk.session.voice_note
    awaited = waits.effect if isinstance(waits, ForEffect) else None
    return awaited or ("e0#0" if note is None else note.effect)


def message(talk: Talk) -> None:
    talk.user("Large")


def word(talk: Talk) -> None:
    talk.user("menu")


def tap(talk: Talk) -> None:
    talk.tap("Small" if "Small" in {choice.title for choice in talk.shown} else "Go")


def call_ended(talk: Talk) -> None:
    value = {"text": "It depends.", "calls": [], "finish": "stop", "said": 0, "model": "m"} if talk.asked else "Large"
    talk.take(CallEnded(talk.next_id(), CONTACT, talk.now, newest_call(talk), "done", value))


def sent(talk: Talk) -> None:
    talk.send_ended("sent")


def refused(talk: Talk) -> None:
    talk.take(SendEnded(talk.next_id(), CONTACT, talk.now, talk.last_ref, "refused", message=talk.sent[-1]))


def time(talk: Talk) -> None:
    """The time for which the session asks; three hours later, if it asks for none."""
    assert talk.turn is not None
    talk.now = talk.turn.wake_at or talk.now + timedelta(hours=3)
    talk.take(TimeReached(talk.next_id(), CONTACT, talk.now))


def signal(talk: Talk) -> None:
    talk.signal("paid")


def start(talk: Talk) -> None:
    talk.start("other", "interrupt")


def assigned(talk: Talk) -> None:
    talk.take(ConversationAssigned(talk.next_id(), CONTACT, talk.now, "c", None, "Budi"))


def closed(talk: Talk) -> None:
    talk.take(HandoffClosed(talk.next_id(), CONTACT, talk.now))


EVENTS: dict[str, Callable[[Talk], None]] = {
    "a message": message,
    "a word": word,
    "a tap": tap,
    "a call's end": call_ended,
    "a message was sent": sent,
    "a message was refused": refused,
    "a time": time,
    "a signal": signal,
    "a start": start,
    "an agent": assigned,
    "a close": closed,
}
"""The events, in the tables' order."""


def happened(talk: Talk, event: Callable[[Talk], None], depth: int) -> str:
    """What an event does to the frame at this depth, in the tables' words."""
    before = talk.session
    if event in (message, word, tap) and before.busy:
        return "parked"
    event(talk)
    after, turn = talk.session, talk.turn
    assert turn is not None
    if turn.parks_message is not None:
        return "parked"
    if len(after.plans) > len(before.plans):
        return "later"
    if len(after.frames) > len(before.frames) and after.frames[-1].interrupts:
        return "interrupts"
    was, now = before.frames[depth], after.frames[depth] if len(after.frames) > depth else None
    if now is None or now.visit != was.visit:
        return "leads on"
    return _at_the_step(before, after, bool(turn.effects), depth)


def _at_the_step(before: Session, after: Session, acts: bool, depth: int) -> str:
    was, now = before.frames[depth], after.frames[depth]
    if now.waits is not None and was.waits is not None and now.waits.ended is not was.waits.ended:
        return "later"
    if type(now.waits) is not type(was.waits) or now.gathers_since != was.gathers_since:
        assert isinstance(now.waits, ForContact) and now.gathers_since is None
        return "`ForContact`"
    if len(before.frames) > depth + 1 and (acts or before.frames[-1] != after.frames[-1]):
        return "above"
    if acts or now.question != was.question:
        return "reacts"
    return "nothing"


def cell(wait: str, event: str, *, agent: bool) -> str:
    kind, begin = WAITS[wait]
    talk = begin()
    depth = 0 if kind is ForFlow else len(talk.session.frames) - 1
    assert isinstance(talk.session.frames[depth].waits, kind)
    if agent:
        assigned(talk)
    return happened(talk, EVENTS[event], depth)


def table(*, agent: bool) -> Iterator[str]:
    yield "| what waits | " + " | ".join(EVENTS) + " |"
    yield "|---" * (len(EVENTS) + 1) + "|"
    for wait in WAITS:
        yield f"| {wait} | " + " | ".join(cell(wait, event, agent=agent) for event in EVENTS) + " |"


def written(*, agent: bool) -> list[str]:
    """The lines of a table of the file."""
    of_bot, of_agent = (part for part in TABLES.read_text().split("\n\n") if part.startswith("| what waits |"))
    return (of_agent if agent else of_bot).splitlines()


def cells(*, agent: bool) -> dict[tuple[str, str], str]:
    head, _, *rows = (line.strip("| ").split(" | ") for line in written(agent=agent))
    return {(row[0], event): word for row in rows for event, word in zip(head[1:], row[1:], strict=True)}


def test_the_tables_have_every_kind_of_wait_and_every_event() -> None:
    kinds = {kind.__name__ for base in (FrameWait, ForEnd) for kind in base.__subclasses__()} - {ForEnd.__name__}
    assert {kind.__name__ for kind, _ in WAITS.values()} == kinds
    for agent in (False, True):
        assert [*cells(agent=agent)] == [(wait, event) for wait in WAITS for event in EVENTS]


@pytest.mark.parametrize("agent", [False, True], ids=["bot", "agent"])
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("wait", WAITS)
def test_each_cell_is_what_the_engine_does(wait: str, event: str, agent: bool) -> None:
    assert cell(wait, event, agent=agent) == cells(agent=agent)[wait, event]


def test_a_flow_that_ends_leads_the_step_on_that_ran_it() -> None:
    talk = WAITS["`ForFlow`"][1]()
    talk.user("1")
    assert isinstance(talk.session.frames[0].waits, ForFlow)
    talk.user("2")
    assert talk.at == "main/after"


if __name__ == "__main__":
    print("\n".join([*table(agent=False), "", *table(agent=True)]))
