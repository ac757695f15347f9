"""Each flow as a finite state machine of the `transitions` library: steps are states, outcomes are triggers."""

from collections.abc import Iterable
from functools import cached_property
from typing import cast

import transitions

from bot.lang.problems import Mark
from bot.steps.transition import Transition


class ResolvedTransition(transitions.Transition):
    """Where one outcome of a step leads, with all defaults applied: a transition of its flow's machine.

    ``target`` None: the step goes on waiting. ``written`` is the transition in the flow file, if there is one.
    """

    def __init__(
        self,
        step: str,
        outcome: str,
        target: str | None,
        mark: Mark,
        written: Transition | None = None,
        *,
        success: bool = True,
    ) -> None:
        super().__init__(step, cast(str, target))  # None is an internal transition: the stub does not know it
        self.outcome = outcome
        self.mark = mark
        self.written = written
        self.success = success

    @property
    def target(self) -> str | None:
        """A step of the flow, or one of the targets outside of it: ``/flow``, ``end``, ``again``, ..."""
        return self.dest

    def execute(self, event_data: transitions.EventData) -> bool:
        """Note that it was followed. It has no conditions and no callbacks, so none are looked for on every turn."""
        cast(_Cursor, event_data.model).followed = self
        return True


class _Cursor:
    """The model that a machine moves. It is thrown away after one outcome, so that a machine knows nothing of any contact."""

    __slots__ = ("followed", "state")

    def __init__(self, state: str) -> None:
        self.state = state
        self.followed: ResolvedTransition | None = None


class FlowMachine:
    """The table of one flow: which outcome of which step leads where. The machine is built when it is first used or prepared."""

    def __init__(self, steps: Iterable[str], resolved: Iterable[ResolvedTransition]) -> None:
        self._steps = steps
        self._resolved = resolved

    @cached_property
    def _table(self) -> transitions.Machine:
        states = [transitions.State(name) for name in self._steps]
        table = transitions.Machine(model=None, states=states, initial=None, auto_transitions=False, send_event=True)
        for resolved in self._resolved:
            event = table.events.get(resolved.outcome)
            if event is None:
                event = table.events[resolved.outcome] = transitions.Event(resolved.outcome, table)
            event.add_transition(resolved)
        return table

    def prepare(self) -> None:
        """Build it now, so that the first contact does not wait for it."""
        self._table  # noqa: B018 - which builds it

    def follow(self, step: str, outcome: str) -> ResolvedTransition:
        """The transition of an outcome. Raises `transitions.MachineError` for one that the step does not have."""
        cursor = _Cursor(step)
        self._table.events[outcome].trigger(cursor)
        assert cursor.followed is not None
        return cursor.followed
