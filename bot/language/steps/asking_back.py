"""Asking back about an answer that may mean several values: "did you mean ...?", with a button for each."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from bot.language.answers.readers import read_time
from bot.language.answers.titles import place_in
from bot.language.expressions.formats import as_asked, as_title
from bot.language.source.languages import wording
from bot.language.source.problems import Mark
from bot.language.steps.answer_matching import ShownChoices, meaning
from bot.language.steps.choices import Choices
from bot.language.steps.step_kind import LeaveStep, Reply, StepContext, WaitHere, value_hash
from bot.language.steps.yes_no_question import agreed, question
from bot.language.types.type_registry import InvalidAnswer

_READINGS, _SAID = "readings", "said"  # what a step remembers: the values, as choices, and the words of the answer
_NOTES = ("the answer may mean several values",)


def ask_which(context: StepContext, mark: Mark, values: Sequence[Any], said: str) -> WaitHere:
    """Ask which of these values an answer means, or whether it means the only value."""
    made = [{"title": as_title(value, context.scope), "value": value, "about": None} for value in sorted(values)]
    known = {**without_readings(context), _READINGS: made, _SAID: said}
    if len(values) == 1:
        body = wording(context.scope, "did_you_mean_this", value=as_asked(values[0], context.scope))
        return WaitHere((question(context, body, _about(values)),), known, notes=_NOTES)
    messages = _choices(context, mark, made).messages(wording(context.scope, "did_you_mean"), None, None)
    return WaitHere(messages, known, notes=_NOTES)


def asks_back(step_state: Mapping[str, Any]) -> bool:
    """True while a question asks which value is meant."""
    return _READINGS in step_state


def asked_about(context: StepContext) -> list[Any]:
    """The values that the contact is asked about, in order."""
    return [item["value"] for item in context.step_state.get(_READINGS, ())]


def without_readings(context: StepContext) -> dict[str, Any]:
    """The step state of a question about which nothing is asked back."""
    return {name: value for name, value in context.step_state.items() if name not in (_READINGS, _SAID)}


def confirmed(context: StepContext, mark: Mark, reply: Reply) -> LeaveStep | None:
    """The value that a reply chooses, or says yes to."""
    values = asked_about(context)
    if len(values) == 1:
        return _left(values[0]) if agreed(context, reply, _about(values)) else None
    if not values or (not reply.is_tap and reply.text == context.step_state[_SAID]):  # "1.500" is not 1,500
        return None
    chosen = meaning(_choices(context, mark, context.step_state[_READINGS]), reply, lambda: lambda _: False)
    return _left(chosen.saved) if isinstance(chosen, LeaveStep) else None


def refused(context: StepContext, reply: Reply) -> bool:
    """True for a no to all values that the contact is asked about."""
    return asks_back(context.step_state) and agreed(context, reply, _about(asked_about(context))) is False


def picked(context: StepContext, reply: Reply, read: Callable[[Reply], Any]) -> LeaveStep | None:
    """The value that a reply picks out of several: "in the evening", after "at 7". ``read`` gives the value of an
    answer, or raises `InvalidAnswer`.
    """
    values = asked_about(context)
    if reply.text is not None and len(values) > 1:
        with suppress(InvalidAnswer):
            value = read(Reply(f"{context.step_state[_SAID]} {reply.text}"))
            return _left(value) if value in values else None
    return None


def is_part(context: StepContext, reply: Reply, values: Sequence[Any]) -> bool:
    """True for other values than those asked about, if a reply may be about these: "the second", "4 pm"."""
    asked, language = asked_about(context), context.contact_language
    if len(asked) < 2 or reply.text is None or any(value in asked for value in values):
        return False
    has_no_day = isinstance(asked[0], datetime) and read_time(reply.text, language) is not None
    return has_no_day or place_in(reply.text, language) is not None


def _choices(context: StepContext, mark: Mark, made: Sequence[Mapping[str, Any]]) -> ShownChoices:
    return ShownChoices(Choices("options", mark), context, {"made": made})


def _about(values: Sequence[Any]) -> str:
    """A key that tells "did you mean ...?" about one value from that about another, in the ids of its buttons."""
    return value_hash(_READINGS, values[0] if len(values) == 1 else None)


def _left(value: Any) -> LeaveStep:
    return LeaveStep("then", saved=value, notes=("the contact confirms the value",))
