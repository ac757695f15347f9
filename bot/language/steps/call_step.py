"""``call``: a Python handler, called outside the turn; its result comes back as an event."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Self

from bot.core.effects import Call
from bot.core.events import CallEnded
from bot.core.immutable import immutable
from bot.language.expressions.abstract_values import ValueKind, kinds_of_type
from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import STRING, KeySet, KeySpec
from bot.language.keys.fields import Fields, refuse_altered
from bot.language.python.decorators import HandlerSpec
from bot.language.source.problems import did_you_mean, nearest
from bot.language.source.yaml_tree import Map
from bot.language.steps.attempts import TRIES_KEY, WITHIN_KEY
from bot.language.steps.message_parts import check_error_names
from bot.language.steps.step_facts import (
    MAY_FAIL,
    DefaultTarget,
    Null,
    Outcome,
    SavedResult,
    StepFacts,
    StepFailed,
    Used,
    Wait,
    WaitsFor,
)
from bot.language.steps.step_kind import (
    Awaited,
    LeaveStep,
    ReadContext,
    StepContext,
    StepKind,
    StepResult,
    WaitForEffect,
)
from bot.language.steps.transition import ASSIGNMENTS, Assignment

OWN_ERRORS = ("timeout", "mismatch")
UNDECLARED = (*OWN_ERRORS, "error")
"""How every call may end; ``error`` is an exception that the handler does not declare."""
_CALL = KeySpec("call", STRING, "The handler's name.", required=True)
_WITH = KeySpec("with", ASSIGNMENTS, "The handler's arguments.")


@immutable
class CallStep(StepKind):
    """Which handler, with which arguments, for how long and how often."""

    handler: str
    arguments: tuple[Assignment, ...]
    within: float
    tries: int
    spec: HandlerSpec | None = None
    verb = "call"
    keys = KeySet(_CALL, _WITH, WITHIN_KEY, TRIES_KEY)
    options = frozenset({"then", "save"})

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``call`` and check it against the handler's signature."""
        name, arguments = _CALL.read(fields) or "", _WITH.read(fields)
        within, tries = WITHIN_KEY.read(fields), TRIES_KEY.read(fields)
        spec = reading.handlers.get(name)
        if spec is None:
            fix = did_you_mean(name, reading.handlers, "declare it in handlers.py")
            _CALL.report(fields, "E501", f'no handler "{name}"', fix)
        else:
            check_known(fields, spec, arguments)
            if not _WITH.written(fields) or isinstance(fields.raw(_WITH.name), Map):
                _check_needed(fields, spec, arguments)
            check_errors(fields, spec)
        return cls(name, arguments, within, tries or 1, spec)

    def facts(self) -> StepFacts:
        """Return the facts: it waits until the handler has returned, or all its tries are over."""
        perhaps = self.spec is not None and self.spec.gives_null
        saves = SavedResult.PERHAPS if perhaps else SavedResult.VALUE
        annotation = Any if self.spec is None else self.spec.returns
        return StepFacts(
            waits_for=Wait(WaitsFor.RESULT, timedelta(seconds=self.within * self.tries)),
            outcomes={"then": Outcome(None, DefaultTarget.THEN, saves=saves, annotation=annotation), **MAY_FAIL},
            uses=tuple(used for argument in self.arguments for used in argument_uses(argument, self.spec)),
        )

    def enter(self, context: StepContext) -> StepResult:
        """Ask for the call and wait for its end."""
        arguments = {argument.name: argument.evaluate(context.scope) for argument in self.arguments}
        return WaitForEffect(effect=Call(self.handler, arguments, self.within, self.tries))

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """The call has ended: its result is saved, or its error is the outcome."""
        if not isinstance(event, CallEnded):
            return None
        if event.outcome == "done":
            return LeaveStep("then", saved=event.value)
        raise StepFailed(event.outcome, event.detail or f'handler "{self.handler}": {event.outcome}')


def argument_uses(argument: Assignment, spec: HandlerSpec | None, *, sure: bool = True) -> Iterator[Used]:
    """The templates of a handler's argument, which may be annotated as one that null is no value of."""
    parameter = None if spec is None else spec.parameters.get(argument.name)
    alone = parameter is not None and isinstance(argument.value, Template)
    refused = parameter is not None and alone and not parameter.takes_null
    annotation = parameter.annotation if parameter is not None and alone else Any
    for text in argument.uses():
        yield Used(text, null=Null.REFUSED if refused else Null.TAKEN, sure=sure, annotation=annotation)


def check_known(fields: Fields, spec: HandlerSpec, arguments: tuple[Assignment, ...]) -> None:
    """The handler has these arguments, and a number is meant where YAML reads one that is written otherwise."""
    for argument in arguments:
        if argument.name in spec.parameters:
            kinds = kinds_of_type(spec.parameters[argument.name].annotation)
            if argument.altered is not None and (ValueKind.NUMBER not in kinds or ValueKind.TEXT in kinds):
                refuse_altered(argument.altered, fields.problems, number=kinds != {ValueKind.TEXT})
        else:
            fix = did_you_mean(argument.name, spec.parameters, "leave it out")
            fields.report("E502", argument.mark, f'handler "{spec.name}" has no argument "{argument.name}"', fix)


def _check_needed(fields: Fields, spec: HandlerSpec, arguments: tuple[Assignment, ...]) -> None:
    given = {argument.name for argument in arguments}
    given |= {nearest(name, spec.parameters) or name for name in given - spec.parameters.keys()}  # misspelt
    for parameter in spec.parameters.values():
        if parameter.required and parameter.name not in given:
            fix = f"add it under `with`: {parameter.name}"
            _CALL.report(fields, "E503", f'handler "{spec.name}" needs the argument "{parameter.name}"', fix)


def check_errors(fields: Fields, spec: HandlerSpec) -> None:
    """The step's own `errors` are those that the handler can end with."""
    whose, known = f'handler "{spec.name}" declares no error', (*spec.errors, *OWN_ERRORS)
    check_error_names(fields, known, whose, "add it to the handler's errors=[...]")
