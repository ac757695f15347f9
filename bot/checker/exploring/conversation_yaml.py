"""An explored conversation as YAML: the lines of a test file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bot.checker.exploring.explorer import ExploredState
from bot.checker.exploring.message_view import message_parts
from bot.checker.exploring.moves import HandlerResult, move_line
from bot.core.session import Session
from bot.language.source.writing import block_style, flow_style

YamlLine = Mapping[str, Any] | str

CONTACT = "15555550100"
"""The contact of a test that names no contact."""


def document(head: Mapping[str, Any], conversation: Iterable[YamlLine]) -> str:
    """A test as YAML, one line for each line of the conversation."""
    lines = [line for key, value in head.items() for line in block_style(key, value)]
    return "\n".join([*lines, "talk:", *(f"  - {flow_style(line)}" for line in conversation)]) + "\n"


def heading(state: ExploredState, name: str, *, drew: bool, zone: Any) -> dict[str, Any]:
    """The keys above the conversation: its name, its time, its contact, the results of handlers, and random numbers."""
    states = state.path()
    first = states[0].before if states else None
    assert first is not None, "nothing has happened"
    head: dict[str, Any] = {"test": name, "now": f"{first.now.astimezone(zone):%Y-%m-%dT%H:%M:%S}"}
    head |= {"contact": state.session.contact} if state.session.contact != CONTACT else {}
    head |= {"random": 0} if drew else {}
    returned = _returned(states)
    return head | ({"handlers": returned} if returned else {})


def _returned(states: Sequence[ExploredState]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for state in states:
        if isinstance(state.move, HandlerResult):
            found.setdefault(state.move.name, []).append(state.move.result)
    return found


def conversation_lines(state: ExploredState) -> Iterator[YamlLine]:
    """The lines of a conversation: each move, and the messages that the contact saw after it."""
    for each in state.path():
        yield from move_lines(each)
        yield from ({"bot": message_parts(sent.shown)} for sent in each.sent if sent.shown is not None)


def place_line(session: Session) -> YamlLine:
    """The line that expects the contact to be where they are."""
    frame = session.frame
    return {"expect": {"flow": None} if frame is None else {"flow": frame.flow, "step": frame.step}}


def move_lines(state: ExploredState) -> Iterator[YamlLine]:
    """The line of the move that led to a state. Results of handlers and kept files have no line."""
    if state.move is not None and (line := move_line(state.move)):
        yield line
