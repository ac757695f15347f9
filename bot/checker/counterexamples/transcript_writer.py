"""A conversation as a test document: what happened and what the bot said, for `bot test` to hold it once more."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bot.checker.exploring.explorer import State
from bot.checker.exploring.message_view import parts_of
from bot.checker.exploring.moves import Keeps, Returns
from bot.lang.writing import block_style, flow_style

Line = Mapping[str, Any] | str

CONTACT = "15555550100"
"""Who talks in a test that does not say it."""


def document(head: Mapping[str, Any], talk: Iterable[Line]) -> str:
    """A test as YAML: each line of its talk on a line of its own."""
    lines = [line for key, value in head.items() for line in block_style(key, value)]
    return "\n".join([*lines, "talk:", *(f"  - {flow_style(line)}" for line in talk)]) + "\n"


def heading(state: State, name: str, *, drew: bool, zone: Any) -> dict[str, Any]:
    """What stands above the talk: when it begins, who talks, what handlers return, and what is drawn."""
    states = state.path()
    first = states[0].before if states else None
    assert first is not None, "nothing has happened"
    head: dict[str, Any] = {"test": name, "now": f"{first.now.astimezone(zone):%Y-%m-%dT%H:%M:%S}"}
    head |= {"contact": state.session.contact} if state.session.contact != CONTACT else {}
    head |= {"random": 0} if drew else {}
    returned = _returned(states)
    return head | ({"handlers": returned} if returned else {})


def _returned(states: Sequence[State]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for state in states:
        if isinstance(state.move, Returns):
            found.setdefault(state.move.name, []).append(state.move.result)
    return found


def talk(state: State) -> Iterator[Line]:
    """What happened and what the contact saw of it."""
    for each in state.path():
        yield from happened(each)
        yield from ({"bot": parts_of(sent.shown)} for sent in each.sent if sent.shown is not None)


def happened(state: State) -> Iterator[Line]:
    """The line of the move that led to a state; what handlers return and that files are kept has none."""
    if state.move is not None and not isinstance(state.move, Returns | Keeps):
        yield state.move.line
