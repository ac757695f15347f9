"""What a hook is: Python that is told when something happens to the bot or to a conversation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from bot.lang.declarations import BadDeclaration, declare
from bot.lang.handlers import HandlerSpec, spec_of
from bot.lang.problems import did_you_mean

F = TypeVar("F", bound=Callable[..., Any])

START, STOP, ERROR, HANDOFF, END, DEAD_LETTER = "start", "stop", "error", "handoff", "end", "dead_letter"
TOLD: dict[str, tuple[str, ...]] = {
    START: (),
    STOP: (),
    ERROR: ("contact", "at", "flow", "step", "reason"),
    HANDOFF: ("contact", "at", "flow", "step", "team", "note"),
    END: ("contact", "at", "flow", "expired", "vars"),
    DEAD_LETTER: ("contact", "at", "what", "reason"),
}
"""What can be heard of, each with what is told of it."""


@dataclass(frozen=True, slots=True)
class HookSpec:
    """A function that is told of an event; with a ``flow``, of those in this flow only."""

    event: str
    flow: str | None
    call: HandlerSpec

    @property
    def name(self) -> str:
        """Its name, which stays the same when the file is edited."""
        return self.call.name


def on(event: str, *, flow: str | None = None) -> Callable[[F], F]:
    """Declare a function that is told of an event: one of `TOLD`, with the parameters that it names.

    What comes from a conversation is told at least once, with a stable ``idempotency_key`` for a parameter of that
    name. What the function raises is a line in the log. Raises `BadDeclaration`.
    """
    if event not in TOLD:
        raise BadDeclaration(f'no event "{event}": {did_you_mean(str(event), TOLD, ", ".join(TOLD))}', event)
    if flow is not None and "flow" not in TOLD[event]:
        raise BadDeclaration(f'"{event}" belongs to no flow: leave the flow out')

    def of(function: F) -> F:
        name = f"{event}/{function.__name__}"
        return declare(function, HookSpec(event, flow, spec_of(name, function, f'hook "{name}"')))

    return of
