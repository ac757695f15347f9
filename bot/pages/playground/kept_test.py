"""A conversation of the playground, kept as a test."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import timedelta

from bot.checker.exploring.conversation_yaml import document
from bot.core.effects import Effect, Transcribe
from bot.core.events import CallEnded, CallProgressed, SendEnded, StatusReported, TimeReached
from bot.core.session import Session
from bot.pages.playground.playground import Playground
from bot.pages.playground.refused import Refused
from bot.pages.shared.contact_view import Bubble
from bot.store.trace_rows import TurnTraced
from bot.testing.conversations.comparison import asked_in
from bot.testing.conversations.recorded_chat import (
    Line,
    Moment,
    answers_in,
    colleague_line,
    parts_of,
    server_stubs,
    with_waits,
)
from bot.testing.simulation.store_view import EVERY_TURN


def kept_test(playground: Playground, contact: str) -> str:
    """A test, as YAML, with a contact's conversation as it was. Raises `Refused` if there was no conversation."""
    bubbles = playground.chats.bubbles(contact)
    if not any(bubble.message is None for bubble in bubbles):
        raise Refused("nothing has happened that a test could do again")
    reader, zone = playground.simulation.stored.reader, playground.simulation.running.program.library.bot.timezone
    began = bubbles[0].at.astimezone(zone)
    head = {"test": f"kept on {began:%Y-%m-%d at %H.%M}", "now": f"{began:%Y-%m-%dT%H:%M:%S}", "contact": contact}
    frame = (reader.sessions.get(contact) or Session(contact)).frame
    place = {"flow": None} if frame is None else {"flow": frame.flow, "step": frame.step}
    turns = reader.trace.turns(contact, EVERY_TURN)
    head |= server_stubs(turns, asked_in(turns), playground.simulation.running.program)
    refs = reader.messages.refs(contact)
    said: defaultdict[str, list[Bubble]] = defaultdict(list)  # by the events of their turns
    for bubble in bubbles:
        if bubble.message is not None:
            said[refs.get(bubble.id, "").rpartition("#")[0]].append(bubble)
    # what models answered is in the turns
    acts = [bubble for bubble in bubbles if bubble.message is None and bubble.kind != "model"]
    lines = _lines(acts, turns, playground.chats.acts, said)
    return document(head, (*with_waits(began, lines), {"expect": place}))


def _lines(
    acts: list[Bubble], turns: list[TurnTraced], events: Mapping[str, int], said: Mapping[str, list[Bubble]]
) -> Iterator[Line | Moment]:
    """The lines of the test: each act with its time, then the answers of services and models, then the bot's messages.

    The turns tell which messages belong to which act, because a person may write faster than the bot answers.
    """
    effects = {name: asked.by if isinstance(asked, Transcribe) else asked for name, asked in asked_in(turns).items()}
    followed = _followed(acts, turns, events)
    for act in acts:
        yield from _lines_of(act)
        by_itself = [turn for turn in followed[act.number] if isinstance(turn.event, TimeReached)]
        waits_from = None if act.kind == "wait" or not by_itself else by_itself[0].at
        at_once = [turn for turn in followed[act.number] if waits_from is None or turn.at < waits_from]
        yield from _outcome(at_once, effects, said)
        if waits_from is not None:
            yield Moment(by_itself[-1].at + timedelta(seconds=1), due=True)
            yield from _outcome(followed[act.number][len(at_once) :], effects, said)


def _followed(acts: list[Bubble], turns: list[TurnTraced], events: Mapping[str, int]) -> Mapping[int, list[TurnTraced]]:
    """The turns that followed from each act, by its number."""
    found: defaultdict[int, list[TurnTraced]] = defaultdict(list)
    besides = [act for act in acts if act.besides]
    last = acts[0].number
    for turn in turns:
        if (number := events.get(turn.event_id.removeprefix("kept:"))) is not None:
            last = max(last, number)
        elif not isinstance(turn.event, OF_THE_BOT):
            last = max([last, *(act.number for act in besides if act.at <= turn.at)])
        found[last].append(turn)
    return found


def _outcome(
    turns: list[TurnTraced], effects: Mapping[str, Effect], said: Mapping[str, list[Bubble]]
) -> Iterator[Line]:
    yield from answers_in(turns, effects)
    for turn in turns:
        yield from (
            {"bot": parts_of(bubble.message)} for bubble in said.get(turn.event_id, ()) if bubble.message is not None
        )


OF_THE_BOT = (CallEnded, CallProgressed, SendEnded, StatusReported)
"""Events that only follow from what was there before."""


def _lines_of(act: Bubble) -> Iterator[Line | Moment]:
    """An act with its time; a skip of time is the moment to which it leads."""
    if act.kind == "wait":
        yield Moment(act.until, due=True)
    else:
        yield Moment(act.at)
        yield _line_of(act)


def _line_of(act: Bubble) -> Line:
    """An act of a contact or a program, as a line of a test."""
    match act.kind:
        case "text":
            return {"user": act.text}
        case "choice":
            return {act.data["how"]: act.text}
        case "audio" if act.data.get("words"):
            return {"user": {"voice": act.data["words"]}}
        case "location":
            return {"send": {"location": dict(act.data)}}
        case "start":
            return {"start": dict(act.data) if act.data["data"] else act.data["flow"]}
        case "signal":
            return {"signal": dict(act.data) if act.data["data"] else act.data["name"]}
        case "event":
            return {"event": act.text}
        case "colleague":
            return colleague_line(act.data["agreed"], act.data["note"])
        case "set":
            return {"set": dict(act.data["values"]), "flow": act.data["flow"]}
    caption = "" if act.data else act.text
    return {"send": {act.kind: None, "caption": caption} if caption else act.kind}
