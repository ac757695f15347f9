"""Steps that reach another contact's conversation: ``start`` starts a flow there, ``signal`` reports a signal."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

from bot.core.events import SignalReceived, StartRequested
from bot.core.immutable import immutable
from bot.core.session import BUSY
from bot.core.text import digits, is_phone
from bot.language.expressions.templates import Expression, Template
from bot.language.keys.declared_keys import EXPRESSION, SIGNAL_NAME, TEMPLATE, Form, KeySet, KeySpec, mapped, one_of
from bot.language.keys.fields import Fields
from bot.language.source.problems import Mark
from bot.language.steps.control_steps import ELEMENT, FLOW_INPUTS, SET_LATER, elements_of, within
from bot.language.steps.step_facts import FlowStart, Null, SentSignal, StepFacts, StepFailed, Used, texts_used
from bot.language.steps.step_kind import LeaveStep, ReadContext, StepContext, StepKind, StepResult
from bot.language.steps.transition import ASSIGNMENTS, TARGET, Assignment, Target, target_of

_CONTACT = KeySpec("contact", TEMPLATE, "The other contact's number, with its country code.", required=True)
_EACH = KeySpec("each", EXPRESSION, "A list: this happens once for each of its elements, which is called it.")
_START = KeySpec(
    "start",
    mapped(Form(TARGET, target_of), lambda found: replace(found, text=f"/{found.text.removeprefix('/')}")),
    "The flow that starts for another contact: /flow or /flow/step.",
    required=True,
)
_BUSY = KeySpec(
    "busy",
    one_of(*BUSY),
    "The rule while the other contact is in a flow; by default that flow's rule, else after.",
)
_SIGNAL = KeySpec("signal", SIGNAL_NAME, "The signal that another contact's conversation is to hear.", required=True)
_DATA = KeySpec("with", ASSIGNMENTS, "The signal's data.")


@immutable
class _OtherContactStep(StepKind):
    """Something happens to another contact; with ``each``, to several."""

    contact: Template
    inputs: tuple[Assignment, ...]
    each: Expression | None

    def facts(self) -> StepFacts:
        """Return the facts. It may fail: a value may be no list, or no number."""
        may_fail = self.each is not None or not self.contact.constant
        return StepFacts(values_may_fail=may_fail, uses=tuple(self._uses()))

    def _uses(self) -> Iterator[Used]:
        """The list, the number, and what goes in."""
        yield from texts_used(self.each)
        extra = frozenset() if self.each is None else ELEMENT
        yield Used(self.contact, extra, Null.REFUSED, sure=self.each is None)  # perhaps there is no element
        for item in self.inputs:
            yield from texts_used(*item.uses(), extra=extra, null=Null.TAKEN, sure=self.each is None)

    def enter(self, context: StepContext) -> StepResult:
        """Let it happen, and go on."""
        if self.each is None:
            return LeaveStep("then", happens=(self._event(context, context.scope),))
        elements = elements_of(self.each, context.scope)
        scopes = (within(context.scope, elements, number) for number in range(len(elements)))
        return LeaveStep("then", happens=tuple(self._event(context, scope) for scope in scopes))

    def _event(self, context: StepContext, scope: Mapping[str, Any]) -> StartRequested | SignalReceived:
        value = self.contact.value(scope)
        contact = digits(str(value)) if value is not None else None
        if contact is None or not is_phone(contact):
            raise StepFailed("mismatch", f"{self.contact.mark}: this is no number with its country code")
        data = {item.name: item.evaluate(scope) for item in self.inputs}
        return self._happening(contact, data, f"{context.flow}/{context.step}")

    def _happening(self, contact: str, data: dict[str, Any], by: str) -> StartRequested | SignalReceived:
        raise NotImplementedError


@immutable
class StartStep(_OtherContactStep):
    """A flow starts for another contact."""

    target: Target
    busy: str | None
    verb = "start"
    keys = KeySet(_START, _CONTACT, FLOW_INPUTS, _EACH, _BUSY)

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``start: /flow`` with `contact`, `with`, `each` and `busy`."""
        target = _START.read(fields) or Target("/", fields.mark)
        contact = _CONTACT.read(fields) or Template.plain("", fields.mark)
        return cls(contact, FLOW_INPUTS.read(fields), _EACH.read(fields), target, _BUSY.read(fields))

    def facts(self) -> StepFacts:
        """Return the facts, with the flow that starts."""
        return replace(super().facts(), flows_started=(FlowStart(self.target, self.inputs, self.busy),))

    def _happening(self, contact: str, data: dict[str, Any], by: str) -> StartRequested:
        return StartRequested("", contact, SET_LATER, self.target.text.removeprefix("/"), data, self.busy, by)


@immutable
class SignalStep(_OtherContactStep):
    """Another contact's conversation gets a signal."""

    name: str
    mark: Mark
    verb = "signal"
    keys = KeySet(_SIGNAL, _CONTACT, _DATA, _EACH)

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``signal: name`` with `contact`, `with` and `each`."""
        contact = _CONTACT.read(fields) or Template.plain("", fields.mark)
        name = _SIGNAL.read(fields) or ""
        return cls(contact, _DATA.read(fields), _EACH.read(fields), name, _SIGNAL.mark(fields))

    def facts(self) -> StepFacts:
        """Return the facts, with the signal that is reported."""
        return replace(super().facts(), signals_sent=(SentSignal(self.name, self.mark, self.inputs),))

    def _happening(self, contact: str, data: dict[str, Any], by: str) -> SignalReceived:
        return SignalReceived("", contact, SET_LATER, self.name, data, by)
