"""Verbs of a bot's own: steps whose keys, outcomes and work a Python class declares (`bot.language.python.verbs`)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar, Literal, Self, get_args, get_origin

from bot.core import values
from bot.core.effects import Call
from bot.core.events import CallEnded
from bot.core.immutable import immutable
from bot.core.messages import Message, TextMessage
from bot.language.expressions.filters import FILTERS, FUNCTIONS
from bot.language.expressions.sandbox import call_own, kept
from bot.language.expressions.templates import Expression, Template, TemplateFailed
from bot.language.keys.declared_keys import (
    BOOLEAN,
    DURATION,
    EXPRESSION,
    TEMPLATE,
    Form,
    KeySet,
    KeySpec,
    integer,
    number,
    one_of,
)
from bot.language.keys.fields import Fields, refuse_altered
from bot.language.keys.key_schemas import ANY, EMPTY, either
from bot.language.keys.text_shapes import MAY
from bot.language.python.decorators import FUNCTION, NOW_PARAMETER, BadDeclaration, named_in, summary
from bot.language.python.gathered import Extensions
from bot.language.python.verbs import Expression as Bare
from bot.language.python.verbs import Leave, VerbKey, VerbSpec, left_by, messages_of
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Node
from bot.language.steps import KINDS
from bot.language.steps.attempts import TRIES_KEY, WITHIN_KEY
from bot.language.steps.call_step import check_errors
from bot.language.steps.step_facts import (
    GOES_ON,
    MAY_FAIL,
    DefaultTarget,
    Null,
    Outcome,
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
    Reply,
    StepContext,
    StepKind,
    StepResult,
    WaitForEffect,
    WaitHere,
)
from bot.language.steps.step_options import SOME_HAVE, STEP_OPTIONS
from bot.language.steps.transition import RESERVED, TRANSITION, Transition, evaluate, templates_in, value_of


@immutable
class CustomStep(StepKind):
    """A step of the bot's own: the value of each key, where outcomes lead. Subclasses have their verb's ``spec``."""

    written: Mapping[str, Any]
    transitions: Mapping[str, Transition | None]
    within: float
    tries: int
    spec: ClassVar[VerbSpec]

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read the keys that the class annotates, and a transition for each outcome."""
        transitions = {key.name: key.read(fields) for key in cls.keys if key.name in cls.spec.outcomes}
        written = {
            key.name: key.read(fields)
            for key in cls.keys
            if key.name in cls.spec.keys and fields.has(key.name) and (key.required or not fields.null(key.name))
        }
        if cls.spec.outside is None:
            return cls(written, transitions, 0.0, 1)
        check_errors(fields, cls.spec.outside)
        within = WITHIN_KEY.read(fields)
        tries = TRIES_KEY.read(fields)
        return cls(written, transitions, within, tries or 1)

    def facts(self) -> StepFacts:
        """Return the facts.

        Nobody knows what its Python does: it may fail, set any variable, and say one thing as a rule.

        The outcomes that are declared must be written.
        """
        written = {name: Outcome(transition, DefaultTarget.WRITTEN) for name, transition in self.transitions.items()}
        return StepFacts(
            waits_for=self._waits_for(),
            most_messages=1,
            refusable=self.spec.answer is not None,
            outcomes={**GOES_ON, **written, **(MAY_FAIL if self.spec.outside is not None else {})},
            values_may_fail=True,
            uses=tuple(self._uses()),
            gives_any=True,
        )

    def _uses(self) -> Iterator[Used]:
        """Every template and expression under a key."""
        for name, value in self.written.items():
            null = Null.SHOWN if self.spec.keys[name].annotation is str else Null.TAKEN
            for text in [value] if isinstance(value, Expression) else templates_in(value):
                yield Used(text, null=null)

    def _waits_for(self) -> Wait | None:
        """The answer that the class takes, or the work that is done outside."""
        if self.spec.outside is not None:
            return Wait(WaitsFor.RESULT, timedelta(seconds=self.within * self.tries))
        return Wait(WaitsFor.CONTACT) if self.spec.answer is not None else None

    def enter(self, context: StepContext) -> StepResult:
        """Do the work, or ask for it to be done outside."""
        if self.spec.outside is not None:
            call = Call(self.spec.outside.name, self._values(context.scope), self.within, self.tries)
            return WaitForEffect(effect=call)
        given = {NOW_PARAMETER: context.now} if self.spec.takes_now else {}
        result = call_own(self._what, self.spec.run, [self._made(context)], given)
        if self.spec.answer is not None and not isinstance(result, Leave):
            return WaitHere(self._messages(result))
        return self._leave(context, left_by(result))

    def answer(self, context: StepContext, reply: Reply) -> StepResult | None:
        """Let the class take the reply; None where it is no answer."""
        if self.spec.answer is None:
            return None
        result = call_own(self._what, self.spec.answer, [self._made(context), reply])
        return None if result is None else self._leave(context, left_by(result))

    def takes_audio(self, context: StepContext, reply: Reply) -> bool:
        """True if the class takes it. One that fails at a reply without a text does not."""
        try:
            return self.answer(context, reply) is not None
        except (StepFailed, TemplateFailed):
            return False

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """The call has ended: it says how the step is left, or its error is the outcome."""
        if not isinstance(event, CallEnded):
            return None
        if event.outcome != "done":
            raise StepFailed(event.outcome, event.detail or f"{self._what}: {event.outcome}")
        left = event.value
        return self._leave(context, Leave(left["outcome"], left["value"], values.loads(left["say"]), left["set"]))

    @property
    def _what(self) -> str:
        return f'step kind "{self.verb}"'

    def _values(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the keys."""
        return {name: _value(written, self.spec.keys[name], scope) for name, written in self.written.items()}

    def _made(self, context: StepContext) -> Any:
        return self.spec.made(**self._values(context.scope))

    def _leave(self, context: StepContext, left: Leave) -> StepResult:
        """The result that leaves the step so. Raises `StepFailed` for an outcome that the class does not declare."""
        if left.outcome != "then" and left.outcome not in self.spec.outcomes:
            raise StepFailed("failed", f'{self._what} does not declare the outcome "{left.outcome}"')
        for name in left.set:
            if name not in context.variables:
                raise StepFailed("failed", f'{self._what} sets "{name}", which is no variable of the flow')
        sets = {name: kept(self._what, value) for name, value in left.set.items()}
        saved = kept(self._what, left.value)
        return LeaveStep(left.outcome, messages=self._messages(left.say), saved=saved, sets=sets)

    def _messages(self, say: Any) -> tuple[Message, ...]:
        found = [TextMessage(each) if isinstance(each, str) else each for each in messages_of(say) if each is not None]
        for each in found:
            if not isinstance(each, Message):
                raise StepFailed("failed", f"{self._what} says a {type(each).__name__}, which is no message")
        return tuple(found)


def _value_of(node: Node, problems: Problems, what: str) -> Any:
    refuse_altered(node, problems)
    return value_of(node, problems)


_TAKEN: Mapping[Any, Form[Any]] = {
    str: replace(TEMPLATE, texts=MAY), bool: BOOLEAN, int: integer(), float: number(), timedelta: DURATION,
    Bare: EXPRESSION, Any: Form(ANY, _value_of),
}  # fmt: skip
_OWN = "A value for the bot's own Python."  # where the class says nothing


def all_kinds(verbs: Mapping[str, VerbSpec]) -> dict[str, type[StepKind]]:
    """The step kinds by verb: the built-in kinds, and a kind for each verb of the bot's own."""
    return {**{verb: _kind_of(spec) for verb, spec in verbs.items()}, **KINDS}


def _kind_of(spec: VerbSpec) -> type[CustomStep]:
    options = SOME_HAVE - {"gather"} if spec.answer is not None else frozenset({"then", "save"})
    members = {"verb": spec.verb, "spec": spec, "keys": _keys(spec), "options": options, "__slots__": ()}
    return type(spec.verb, (CustomStep,), members)


def _keys(spec: VerbSpec) -> KeySet:
    """The verb's keys: values by their annotations, descriptions from the class's docstring.

    Nobody knows which of its texts are for people: all of them may differ in another language.
    """
    doc = "" if (spec.made.__doc__ or "").startswith(f"{spec.made.__name__}(") else spec.made.__doc__ or ""
    about = {spec.verb: summary(doc) or _OWN, **named_in(doc)}
    return KeySet(
        *(
            KeySpec(key.name, _taken(key), about.get(key.name, _OWN), required=key.required or key.name == spec.verb)
            for key in spec.keys.values()
        ),
        *(KeySpec(name, TRANSITION, f"Where the outcome {name} leads.", required=True) for name in spec.outcomes),
        *(() if spec.outside is None else (WITHIN_KEY, TRIES_KEY)),
    )


def _taken(key: VerbKey) -> Form[Any]:
    """The form of a key by its annotation: a template, an expression or a plain value."""
    literal = get_origin(key.annotation) is Literal
    found = one_of(*get_args(key.annotation)) if literal else _TAKEN[key.annotation]
    if key.required or found.schema is ANY:
        return found
    return replace(found, schema=either(found.schema, EMPTY))


def _value(written: Any, key: VerbKey, scope: Mapping[str, Any]) -> Any:
    if isinstance(written, Expression):
        return written.evaluate(scope)
    if isinstance(written, Template) and key.annotation is str:
        return written.render(scope)
    return evaluate(written, scope)


_TAKEN_WORDS = frozenset(STEP_OPTIONS.names) | frozenset({"within", "tries", "other", "skip", "else", "if"})
"""The step options, and keys and outcomes that have the same meaning on every step."""


def refuse_taken(extensions: Extensions) -> None:
    """Raise `BadDeclaration` for the first function, verb, key or outcome whose name is taken."""
    for spec in extensions.own.values():
        if spec.name in (FUNCTIONS if spec.kind == FUNCTION else FILTERS):
            raise BadDeclaration(f'{spec.kind} "{spec.name}" is built in: choose another name', spec.function)
    for verb in extensions.verbs.values():
        if verb.verb in KINDS or verb.verb in _TAKEN_WORDS:
            raise BadDeclaration(f'step kind "{verb.verb}": the word is one of the language\'s own', verb.run)
        names = (*verb.keys, *verb.outcomes)
        for name in names:
            if name in _TAKEN_WORDS | RESERVED | KINDS.keys() or names.count(name) > 1 or not name.isidentifier():
                raise BadDeclaration(f'step kind "{verb.verb}": "{name}" is taken: choose another name', verb.run)
