"""How a condition shows that is always true, or never: a branch of which one way is never taken."""

from collections.abc import Iterator, Mapping

from bot.checker.exploring.phrases import short
from bot.checker.exploring.state import State
from bot.checker.stories.case import Case, Shown, messages, messages_before
from bot.checker.stories.unset import show_misfit
from bot.core.turn import StepTaken
from bot.expressions.templates import Expression
from bot.flow.definition import Step
from bot.steps.declared import SentText
from bot.steps.transition import END

_MOST = 10  # steps that are followed


def show_always(state: State, case: Case) -> Shown | None:
    """A branch that is left by a condition: where it would lead otherwise, nobody comes."""
    for taken, step in _passed(state, case):
        outcomes = list(step.outcomes)
        for text in _conditions(case):
            if any(source == text.source and bool(value) for source, value in taken.conditions):
                behind = (outcomes[outcomes.index(name) + 1] for name in outcomes[:-1] if _asks(step, name, text))
                return _shown(state, taken, case, next(behind, None), f"`{short(text.source)}` is true, as ever")
    return None


def show_never(state: State, case: Case) -> Shown | None:
    """A branch that is not left by a condition, or fails with it: where it would lead, nobody comes."""
    for taken, step in _passed(state, case):
        for text in _conditions(case):
            name = next((name for name in step.outcomes if _asks(step, name, text)), None)
            if name is not None and taken.outcome != name:
                return _shown(state, taken, case, name, f"`{short(text.source)}` does not lead on, as ever")
    return show_misfit(state, case)


def _passed(state: State, case: Case) -> Iterator[tuple[StepTaken, Step]]:
    """Each time that the last turns pass the step."""
    for turn in state.turns:
        for taken in turn.trace.steps:
            if (taken.flow, taken.step) == case.place and taken.outcome is not None:
                yield taken, case.library.flows[taken.flow].steps[taken.step]


def _conditions(case: Case) -> list[Expression]:
    return [text for text in case.texts if isinstance(text, Expression)]


def _asks(step: Step, outcome: str, condition: Expression) -> bool:
    """Whether an outcome is taken where a condition is true."""
    given = step.outcomes[outcome].given
    return bool(given) and given[-1].condition is condition and given[-1].holds


def _shown(state: State, taken: StepTaken, case: Case, outcome: str | None, sentence: str) -> Shown | None:
    """What would come if the step were left by another outcome: its first message, or the end of the conversation."""
    steps = case.library.flows[taken.flow].steps
    target = None if outcome is None else steps[taken.step].transitions[outcome].target
    said = None if target in (None, END, taken.target) else _first_said(steps, target)
    if said is not None:
        return Shown(sentence, (*messages_before(state, taken), {"bot": {"says": said}}))
    if target == END and state.frame is not None:
        return Shown(sentence, (*messages(state), {"expect": {"flow": None}}))
    return None


def _first_said(steps: Mapping[str, Step], name: str | None) -> str | None:
    """What is said first from a step on, where that is known beforehand."""
    for _ in range(_MOST):
        step = steps.get(name or "")
        if step is None:
            return None
        text = next((sent.text for sent in step.kind.sends() if isinstance(sent, SentText)), None)
        if text is not None:
            return text.source if text.constant else None
        name = step.transitions["then"].target if "then" in step.transitions and not step.kind.pauses else None
    return None
