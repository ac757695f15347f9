"""``call``: a Python handler, called outside the turn; its result comes back as an event."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from bot.core.effects import Call
from bot.core.events import CallEnded
from bot.lang.fields import Fields
from bot.lang.handlers import HandlerSpec
from bot.lang.problems import did_you_mean
from bot.steps.doors import Assignment, assignments
from bot.steps.kind import At, Awaited, Decision, Falls, Outcome, Reading, StepFailed, StepKind, Used, ending

WITHIN = 10.0  # seconds, where the step says nothing
MOST_TRIES = 10
OWN_ERRORS = ("timeout", "mismatch")


@dataclass(frozen=True, slots=True)
class CallStep(StepKind):
    """Which handler, with which arguments, for how long and how often."""

    handler: str
    arguments: tuple[Assignment, ...]
    within: float
    tries: int
    verb: ClassVar[str] = "call"
    saves: ClassVar[bool] = True

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """Read ``call`` and hold it against the handler's signature."""
        name = fields.string("call") or ""
        arguments = assignments(fields, "with")
        within = fields.duration("within")
        tries = fields.integer("tries", 1, MOST_TRIES)
        spec = reading.handlers.get(name)
        if spec is None:
            reading.problems.add(
                "E501",
                fields.mark_of("call"),
                f'{fields.what}: no handler "{name}"',
                did_you_mean(name, reading.handlers, "declare it in handlers.py"),
            )
        else:
            _check_arguments(fields, spec, arguments)
            _check_errors(fields, spec)
        return cls(name, arguments, WITHIN if within is None else within.total_seconds(), tries or 1)

    def outcomes(self) -> dict[str, Outcome]:
        """``then``, and ``errors.else`` for each error that is not named."""
        return {"then": Outcome(None, Falls.THEN), "errors.else": Outcome(None, Falls.ERRORS, success=False)}

    def uses(self) -> Iterator[Used]:
        """The templates among the arguments."""
        for argument in self.arguments:
            for text in argument.uses():
                yield Used(text)

    def enter(self, at: At) -> Decision:
        """Ask for the call and wait for its end."""
        arguments = {argument.name: argument.evaluate(at.scope) for argument in self.arguments}
        return Decision(call=Call(self.handler, arguments, self.within, self.tries), awaits=True)

    def resume(self, at: At, event: Awaited) -> Decision | None:
        """The call has ended: its result is saved, or its error is the outcome."""
        if not isinstance(event, CallEnded):
            return None
        if event.outcome == "done":
            return ending("then", saved=event.value)
        raise StepFailed(event.outcome, event.detail or f'handler "{self.handler}": {event.outcome}')


def _check_arguments(fields: Fields, spec: HandlerSpec, arguments: tuple[Assignment, ...]) -> None:
    given = {argument.name for argument in arguments}
    for argument in arguments:
        if argument.name not in spec.parameters:
            fields.problems.add(
                "E502",
                argument.mark,
                f'{fields.what}: handler "{spec.name}" has no argument "{argument.name}"',
                did_you_mean(argument.name, spec.parameters, "leave it out"),
            )
    for parameter in spec.parameters.values():
        if parameter.required and parameter.name not in given:
            fields.problems.add(
                "E503",
                fields.mark_of("call"),
                f'{fields.what}: handler "{spec.name}" needs the argument "{parameter.name}"',
                f"add it under `with`: {parameter.name}",
            )


def _check_errors(fields: Fields, spec: HandlerSpec) -> None:
    """Only the step's own names are held against the handler: inherited ones are for all handlers."""
    known = (*spec.errors, *OWN_ERRORS, "else")
    own = fields.fields("errors")
    for name, _ in () if own is None else own.entries():
        if name.text not in known:
            fields.problems.add(
                "E504",
                name.mark,
                f'{fields.what}: handler "{spec.name}" declares no error "{name.text}"',
                did_you_mean(name.text, known, "add it to the handler's errors=[...]"),
            )
