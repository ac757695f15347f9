"""Edges of the graph: how a conversation gets from one step to another, and what makes it do so."""

from enum import Enum

from bot.core.immutable import immutable
from bot.lang.problems import Mark
from bot.steps.transition import BACK, Transition

Place = tuple[str, str]
"""A flow and one of its steps."""


class Cause(Enum):
    """What makes a conversation take an edge."""

    TURN = "turn"  # nothing: the conversation continues in the same turn
    REPLY = "reply"  # the contact wrote or tapped
    REMINDER = "reminder"  # silence; it keeps waiting
    TIMEOUT = "timeout"  # silence
    TIME = "time"  # a wait is over
    RESULT = "result"  # a call ended
    PERSON = "person"  # a hand-over was closed
    SIGNAL = "signal"  # something has happened outside
    FLOW = "flow"  # a flow that was run has ended
    EXPIRED = "expired"  # ... because nobody answered
    FAILED = "failed"  # ... because a step of it failed


AFTER_RUN = (Cause.FLOW, Cause.EXPIRED, Cause.FAILED)
"""How a frame can end, for the step that ran its flow."""


@immutable(eq=False)
class Edge:
    """One edge from a step. Without a ``target`` the frame ends; with ``ends_all`` all frames end.

    ``puts``: the target's question or message is sent; otherwise only the transition says something, and the step
    keeps waiting. ``word`` is the word that leads there, if one does. ``fails``: a text or a value fails when the
    step is entered or left; ``idle``: none of them can fail. ``returns``: it leads to a step at which the
    conversation has been before. ``again``: the question is repeated, which is no new visit. ``alone``: it leads to a
    flow below which no other goes on.
    """

    source: Place
    target: Place | None
    outcome: str
    cause: Cause
    mark: Mark
    transition: Transition | None = None
    success: bool = False
    puts: bool = True
    ends_all: bool = False
    word: str | None = None
    fails: bool = False
    idle: bool = False
    returns: bool = False
    again: bool = False
    alone: bool = False

    @property
    def goes_back(self) -> bool:
        """Whether the flows below the step to which it returns are those that were below it before."""
        return self.returns and self.transition is not None

    @property
    def expires(self) -> bool:
        """Whether the frame ends here because nobody answered."""
        return self.outcome == "timeout" and self._ends_here

    @property
    def breaks(self) -> bool:
        """Whether the frame ends here because its step failed."""
        return self.outcome.startswith("errors.") and self._ends_here

    @property
    def _ends_here(self) -> bool:
        return self.target is None and (
            self.transition is None or self.transition.then is None or self.transition.then.text != BACK
        )
