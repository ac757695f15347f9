"""The values and the notes about the contact that a model notes, if the conversation says them."""

from collections.abc import Mapping
from typing import Any

from bot.core.session import CONTACT
from bot.language.expressions.grammar import HISTORY
from bot.language.steps.ai_exchange import Exchange
from bot.language.steps.brief import Brief
from bot.language.steps.contact_notes import most_notes, no_note, with_note
from bot.language.steps.said_values import SaidValues
from bot.language.steps.step_kind import StepContext
from bot.language.steps.tools import noted

UNSAID = "the conversation does not say it"


class Noting:
    """Notes what a model gives. ``sets`` are the values so far, ``refusals`` say for the trace what was refused."""

    def __init__(self, brief: Brief, context: StepContext, exchange: Exchange) -> None:
        self._brief = brief
        self._context = context
        self._exchange = exchange
        self.sets: dict[str, Any] = {}
        self.refusals: list[str] = []

    def note(self, arguments: Mapping[str, Any]) -> str:
        """Note values; what is wrong with the others, in words for the model."""
        remember = self._brief.remember
        others = {name: value for name, value in arguments.items() if name not in remember}
        values, wrong = noted(others, self._brief.notable, self._context)
        scope = self._context.scope
        earlier = [said["text"] for said in reversed(scope.get(HISTORY, ())) if said["role"] == CONTACT]
        theirs = map(str, scope["contact"].values())
        said = SaidValues([*self._exchange.sources, *earlier, *theirs], self._context)
        for name, value in values.items():
            reason = self._brief.objection(self._context, self._exchange, value) if isinstance(value, str) else None
            if reason is not None:  # what is noted may be said later, where no guard stands
                self.refusals.append(f"{name} is not noted: {reason}")
                wrong = f"{wrong} {name} may not hold that: {reason.partition(':')[0]}.".strip()
            elif not said.has(self._context.variables[name], value):
                self.refusals.append(f"{name} is not noted: {UNSAID}")
                wrong = f"{wrong} {name} is not noted: {UNSAID}. Ask for it, or take the contact's own words.".strip()
            else:
                self.sets[name] = value
        for name in (name for name in remember if arguments.get(name)):
            if (refused := self._remember(name, arguments[name], earlier)) is not None:
                self.refusals.append(f"{name} is not noted: {refused}")
                wrong = f"{wrong} {name} is not noted: {refused}.".strip()
        return wrong

    def _remember(self, name: str, text: Any, earlier: list[str]) -> str | None:
        """Add a note about the contact, or say why not. ``earlier`` are their messages from before the step."""
        context, exchange = self._context, self._exchange
        refused = no_note(text, [*exchange.texts_of_contact, *earlier], context)
        refused = refused or self._brief.objection(context, exchange, text)
        if refused is None:
            most = most_notes(context.variables[name])
            self.sets[name] = with_note(
                self.sets.get(name, self._context.scope.get(name)), text, context.now.date(), most
            )
        return refused
