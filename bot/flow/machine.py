"""Each flow as a finite state machine of the `transitions` library: steps are states, outcomes are triggers."""

from functools import cached_property
from typing import cast

from transitions import EventData, Machine, State, Transition

from bot.flow.definition import Flow


class _Cursor:
    """What a machine moves: thrown away after one outcome, so that machines hold nothing of any contact."""

    __slots__ = ("state",)

    def __init__(self, state: str) -> None:
        self.state = state


class _Move(Transition):
    """An outcome's way. It has no conditions and calls nothing back, so nothing is asked for any on every turn."""

    def execute(self, event_data: EventData) -> bool:
        """Move the cursor."""
        cursor = cast(_Cursor, event_data.model)
        cursor.state = cast(str, self.dest)
        return True


class _Table(Machine):
    transition_cls = _Move


class FlowMachine:
    """The table of one flow: which outcome of which step leads where. It is built when it is first used or prepared.

    Targets outside the flow (``/flow``, ``end``, ``again``, ...) are states as well, with nothing behind them.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    @cached_property
    def _table(self) -> _Table:
        flow = self._flow
        written = [(step.name, resolved) for step in flow.steps.values() for resolved in step.transitions.values()]
        targets = [resolved.target for _, resolved in written if resolved.target is not None]
        states = [State(name) for name in dict.fromkeys([*flow.steps, *targets])]
        table = _Table(model=None, states=states, initial=flow.first, auto_transitions=False, send_event=True)
        for source, resolved in written:
            if resolved.target is not None:
                table.add_transition(resolved.outcome, source, resolved.target)
        return table

    def prepare(self) -> None:
        """Build it now, so that the first contact does not wait for it."""
        self._table  # noqa: B018 - which builds it

    def follow(self, step: str, outcome: str) -> str:
        """The target of an outcome. Raises `transitions.MachineError` for one that the step does not have."""
        cursor = _Cursor(step)
        self._table.events[outcome].trigger(cursor)
        return cursor.state
