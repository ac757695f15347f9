"""A conversation of the playground, kept as a test."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from bot.checker.counterexamples.transcript_writer import document
from bot.core.effects import Transcribe
from bot.core.events import TimeReached
from bot.core.session import Session
from bot.lang.wall_clock import UNITS, duration_words
from bot.playground.playground import Bubble, Playground, Refused
from bot.store.trace_rows import TurnTraced
from bot.testing.comparison import asked_in
from bot.testing.recorded_chat import answers_in, parts_of

EVERY_TURN = 1_000_000

Line = Mapping[str, Any]


def kept_test(playground: Playground, contact: str) -> str:
    """A test, as YAML, in which a contact's conversation is held as it was. Raises `Refused` where there is none."""
    bubbles = playground.bubbles(contact)
    if not any(bubble.message is None for bubble in bubbles):
        raise Refused("nothing has happened that a test could do again")
    reader, zone = playground.simulation.reader, playground.simulation.bot.timezone
    began = bubbles[0].at.astimezone(zone)
    head = {"test": f"kept on {began:%Y-%m-%d at %H.%M}", "now": f"{began:%Y-%m-%dT%H:%M:%S}", "contact": contact}
    frame = (reader.session(contact) or Session(contact)).frame
    place = {"flow": None} if frame is None else {"flow": frame.flow, "step": frame.step}
    lines = _lines(bubbles, reader.trace(contact, EVERY_TURN))
    return document(head, (*lines, {"expect": place}))


def _lines(bubbles: list[Bubble], turns: list[TurnTraced]) -> Iterator[Line]:
    """What happened, each act followed by the answers of services and models, and by what the bot said."""
    effects = {name: asked.by if isinstance(asked, Transcribe) else asked for name, asked in asked_in(turns).items()}
    acts = [number for number, bubble in enumerate(bubbles) if bubble.message is None]
    for number, following in zip(acts, [*acts[1:], len(bubbles)], strict=True):
        act = bubbles[number]
        until = bubbles[following].at if following < len(bubbles) else None
        yield _line_of(act)
        came = [turn for turn in turns if act.at <= turn.at and (until is None or turn.at < until)]
        if act.kind != "wait" and (woken := [turn for turn in came if isinstance(turn.event, TimeReached)]):
            passed = max(turn.at for turn in woken) - act.at + timedelta(seconds=1)
            early = [turn for turn in came if turn.at < woken[0].at]
            yield from answers_in(early, effects)
            heard = [bubble for bubble in bubbles[number + 1 : following] if bubble.at < woken[0].at]
            yield from _said(heard)
            yield {"wait": duration_words(passed, len(UNITS))}
            yield from answers_in([turn for turn in came if turn.at >= woken[0].at], effects)
            yield from _said([bubble for bubble in bubbles[number + 1 : following] if bubble not in heard])
        else:
            yield from answers_in(came, effects)
            yield from _said(bubbles[number + 1 : following])


def _said(bubbles: list[Bubble]) -> Iterator[Line]:
    return ({"bot": parts_of(bubble.message)} for bubble in bubbles if bubble.message is not None)


def _line_of(act: Bubble) -> Line:
    """What a contact, a program or the clock has done, as a line of a test."""
    match act.kind:
        case "text":
            return {"user": act.text}
        case "choice":
            return {act.data["how"]: act.text}
        case "audio" if act.data.get("words"):
            return {"user": {"voice": act.data["words"]}}
        case "wait":
            return {"wait": act.text}
        case "location":
            return {"send": {"location": dict(act.data)}}
        case "start":
            return {"start": dict(act.data) if act.data["data"] else act.data["flow"]}
        case "signal":
            return {"signal": dict(act.data) if act.data["data"] else act.data["name"]}
        case "event":
            return {"event": act.text}
    caption = "" if act.data else act.text
    return {"send": {act.kind: None, "caption": caption} if caption else act.kind}
