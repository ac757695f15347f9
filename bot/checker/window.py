"""W501: messages that may come when the 24 hours since the contact's last message are over (spec: the window)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.checker.findings import Finding
from bot.checker.graph import Cause, Edge, Graph, Place
from bot.checker.passages import DAY, UNBOUNDED, Silent
from bot.checker.silence import Silences
from bot.checker.trails import edges_of
from bot.flow.definition import Step
from bot.lang.nodes import Mark

_FIX = "declare `window_closed` with a template here or under `defaults`, or let it come sooner"


Sender = Place | Edge


@dataclass(frozen=True, slots=True)
class _Late:
    """A message that can come too late: of a step, or on an edge."""

    sent_by: Sender
    mark: Mark
    step: str
    what: str
    silent: Silent


def find_late_messages(graph: Graph) -> Iterator[Finding]:
    """Messages that the gateway would refuse, and for which no template stands in; of several in one silence the first.

    What is inherited by several steps is one finding.
    """
    late = {message.sent_by: message for message in _late_messages(graph)}
    before = {sender: _before(message, late) for sender, message in late.items()}
    told: dict[tuple[Mark, str], list[_Late]] = {}
    for sender in dict.fromkeys(_first(sender, before) for sender in late):
        told.setdefault((late[sender].mark, late[sender].what), []).append(late[sender])
    for (mark, what), messages in told.items():
        yield _finding(mark, what, messages)


def senders_too_late(graph: Graph) -> set[Sender]:
    """Every step and edge with a message that may come too late, and for which no template stands in."""
    return {message.sent_by for message in _late_messages(graph)}


def _late_messages(graph: Graph) -> Iterator[_Late]:
    silences = Silences(graph)
    for place, silent in silences.at.items():
        step = graph.steps[place]
        if step.defaults.window_closed is not None:
            continue
        if silent.seconds >= DAY and step.kind.needs_window and step.kind.most_messages:
            yield _Late(place, step.mark, step.name, "its message", silent)
        for lead in silences.leads(place):
            edge = lead.edge
            later, what = silences.on(lead, silent), _said_on(edge, step)
            if later is not None and later.seconds >= DAY and what:
                mark = step.mark if edge.door is None else edge.door.mark
                yield _Late(edge, mark, step.name, what, later)


def _said_on(edge: Edge, step: Step) -> str:
    """What is sent on the way through a door, or put again by a reminder; empty where nothing is."""
    door = edge.door
    if door is not None and (door.say is not None or door.ask is not None):
        return f"what `{edge.outcome}` says"
    again = edge.cause is Cause.REMINDER and edge.puts and edge.target == edge.source
    return "its reminder" if again and step.kind.needs_window else ""


def _before(message: _Late, late: Mapping[Sender, _Late]) -> Sender | None:
    """The late message that comes before one in the same silence, on its way."""
    for edge in reversed(edges_of(message.silent.trail)):
        if edge.cause is Cause.REPLY:
            return None
        senders: tuple[Sender, ...] = (edge, edge.source)
        found = next((sender for sender in senders if sender in late and sender != message.sent_by), None)
        if found is not None:
            return found
    return None


def _first(sender: Sender, before: Mapping[Sender, Sender | None]) -> Sender:
    """The first late message on the way to one; of a circle of them, whichever is come to."""
    passed = {sender}
    while (earlier := before[sender]) is not None and earlier not in passed:
        passed.add(earlier)
        sender = earlier
    return sender


def _finding(mark: Mark, what: str, messages: list[_Late]) -> Finding:
    latest = max(messages, key=lambda message: message.silent.seconds)
    others = len({message.step for message in messages}) - 1
    where = f'step "{latest.step}"' + (f" and {others} more" if others else "")
    text = f"{where}: {what} can come {_long(latest.silent)}, when only templates may"
    return Finding.at("W501", mark, text, _FIX, edges_of(latest.silent.trail))


def _long(silent: Silent) -> str:
    """How long after the contact's last message, for people."""
    if silent.seconds == UNBOUNDED:
        return "any time after the contact's last message"
    hours = f"{silent.seconds / 3600:.1f}".removesuffix(".0")
    return f"{hours} hours after the contact's last message"
