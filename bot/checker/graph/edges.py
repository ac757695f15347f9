"""Edges of the graph: how a conversation gets from one step to another, and what makes it do so."""

from dataclasses import dataclass
from enum import Enum

from bot.lang.problems import Mark
from bot.steps.transition import BACK, Transition

Place = tuple[str, str]
"""A flow and one of its steps."""


class Cause(Enum):
    """What makes a conversation take an edge."""

    TURN = "turn"  # nothing: it goes on at once
    REPLY = "reply"  # the contact wrote or tapped
    REMINDER = "reminder"  # silence, and it goes on waiting
    TIMEOUT = "timeout"  # silence
    TIME = "time"  # a wait is over
    RESULT = "result"  # a call ended
    PERSON = "person"  # a hand-over was closed
    FLOW = "flow"  # a flow that was run has ended
    EXPIRED = "expired"  # ... because nobody answered
    FAILED = "failed"  # ... because a step of it failed


AFTER_RUN = (Cause.FLOW, Cause.EXPIRED, Cause.FAILED)
"""How a frame can end, as what ran it sees it."""


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """One edge from a step. ``target`` None: the frame ends there, all frames where ``ends_all``.

    ``puts``: the target's question or message is put, which is not so where a transition only says something and the step
    goes on waiting. ``word`` is the word that leads there, where one does.
    ``fails``: a text or a value fails, at entering or on another edge; ``idle``: none of them can. ``returns``: it leads back to a step at which
    the conversation has been. ``again``: it puts the step once more, which is no new visit.
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
