"""Each flow as a finite state machine of the `transitions` library: steps are states, outcomes are triggers."""

from transitions import Machine, State

from bot.flow.definition import Flow


class _Cursor:
    """What a machine moves: thrown away after one outcome, so that machines hold nothing of any contact."""

    __slots__ = ("state",)

    def __init__(self, state: str) -> None:
        self.state = state


class FlowMachine:
    """The table of one flow: which outcome of which step leads where.

    Targets outside the flow (``/flow``, ``end``, ``again``, ...) are states as well, with nothing behind them.
    """

    def __init__(self, flow: Flow) -> None:
        ways = [(step.name, way) for step in flow.steps.values() for way in step.ways.values()]
        targets = [way.target for _, way in ways if way.target is not None]
        states = [State(name) for name in dict.fromkeys([*flow.steps, *targets])]
        self._machine = Machine(model=None, states=states, initial=flow.first, auto_transitions=False, send_event=True)
        for source, way in ways:
            if way.target is not None:
                self._machine.add_transition(way.outcome, source, way.target)

    def follow(self, step: str, outcome: str) -> str:
        """The target of an outcome. Raises `transitions.MachineError` for one that the step does not have."""
        cursor = _Cursor(step)
        self._machine.events[outcome].trigger(cursor)
        return cursor.state
