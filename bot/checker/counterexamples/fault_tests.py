"""How each fault shows in what a conversation has come to. A code that does not stand here has no counterexample."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from bot.checker.counterexamples.finding_case import REFUSED, Case, Fault, Shown, messages, messages_before
from bot.checker.counterexamples.unset_faults import MARK, show_misfit, show_unset
from bot.checker.exploring.explorer import Sent, State
from bot.checker.exploring.message_view import parts_of, quoted, short, spelt_out
from bot.checker.graph import Place
from bot.checker.rules.gateway_limits import PER_MINUTE
from bot.core.effects import Send
from bot.core.turn import StepTaken
from bot.expressions.templates import Expression, Template
from bot.flow.definition import Step
from bot.steps.step_facts import Offered, SentText
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


_ELLIPSIS, _SECOND = "…", " (2)"


def show_cut(state: State, case: Case) -> Shown | None:
    """A text of which the contact sees the beginning alone."""
    lines = list(messages(state))
    for text in case.texts:
        for whole in case.rendered(text, state) if isinstance(text, Template) else ():
            for number, line in enumerate(lines):
                mended = _replaced(line["bot"], lambda part, whole=whole: whole if _is_cut(part, whole) else part)
                if mended != line["bot"]:
                    lines[number] = {"bot": mended}
                    return Shown(f"{quoted(whole)} has {len(whole)} characters, and is cut", tuple(lines))
    return None


def _is_cut(part: str, whole: str) -> bool:
    return part.endswith(_ELLIPSIS) and part != whole and whole.startswith(part.removesuffix(_ELLIPSIS))


def show_alike(state: State, case: Case) -> Shown | None:
    """Two titles that are the same, so that one of them gets a number."""
    if not case.is_passed(state):
        return None
    lines = list(messages(state))
    for number, line in enumerate(lines):
        mended = _replaced(line["bot"], lambda part: part.removesuffix(_SECOND))
        if mended != line["bot"]:
            lines[number] = {"bot": mended}
            return Shown("two choices read the same: one is sent with a number, and nobody knows why", tuple(lines))
    return None


def show_empty(state: State, case: Case) -> Shown | None:
    """A message without a text, which is not sent."""
    notes = [note for turn in state.turns for note in turn.trace.notes if REFUSED in note]
    if case.place is None or not any(map(case.is_of_step, notes)):
        return None
    flow, step = case.place
    if state.frame is not None and (state.frame.flow, state.frame.step) == case.place:
        return None
    expected = (*messages(state), {"expect": {"flow": flow, "step": step}})
    return Shown("the text is empty, and the gateway would refuse the message", expected)


def show_few(state: State, case: Case) -> Shown | None:
    """A question that asks for more answers than there are to choose from."""
    if case.place is None or not case.is_passed(state):
        return None
    sends = list(case.library.flows[case.place[0]].steps[case.place[1]].kind.sends())
    least = max((sent.least for sent in sends if isinstance(sent, Offered)), default=0)
    titles = {sent.text.source for sent in sends if isinstance(sent, SentText) and sent.title}
    for number, line in enumerate(lines := list(messages(state))):
        parts = line["bot"] if isinstance(line["bot"], Mapping) else {}
        key = next((key for key in ("buttons", "rows") if titles & {*parts.get(key, ())}), None)
        count = 0 if key is None else len(titles & {*parts[key]})
        if key is not None and count < least:
            lines[number] = {"bot": {**parts, key: [*parts[key], *[MARK] * (least - count)]}}
            return Shown(f"{least} answers are asked for, and there are {count} to choose from", tuple(lines))
    return None


def _replaced(parts: Any, replace: Any) -> Any:
    """A message's parts with every text replaced."""
    match parts:
        case str():
            return replace(parts)
        case Mapping():
            return {key: _replaced(part, replace) for key, part in parts.items()}
        case list():
            return [_replaced(part, replace) for part in parts]
    return parts


def _late(state: State, case: Case) -> Shown | None:
    """A message of the step that came after the 24 hours."""
    late = next((sent for place, sent in _sent_by(state) if sent.is_late and case.place in (None, place)), None)
    if late is None:
        return None
    return Shown(f"the bot may not {_would(late)}: {_why(late.silence)}", tuple(messages(state)))


def _sent_by(state: State) -> Iterator[tuple[Place | None, Sent]]:
    """The messages of the last turns, each with the step that sent it, or at which it was sent on the way on."""
    sent = iter(state.sent)
    for turn in state.turns:
        for ordinal, effect in enumerate(turn.effects):
            if isinstance(effect, Send):
                before = [step for step in turn.trace.steps if step.effects <= ordinal]
                yield (before[-1].flow, before[-1].step) if before else None, next(sent)


def _would(sent: Sent) -> str:
    parts = parts_of(sent.message)
    text = parts if isinstance(parts, str) else parts.get("says")
    return f"write {quoted(text)} any more" if text else "send this message any more"


def _why(silence: timedelta | None) -> str:
    if silence is None:
        return "you have never written to it"
    return f"the last message from you is {spelt_out(silence)} old"


def _endless(state: State, case: Case) -> Shown | None:
    """A conversation that has gone round, and is where it was."""
    if state.frame is None or not case.is_passed(state):
        return None
    sentence = f"the conversation is at {state.frame.flow}/{state.frame.step} again, and nothing ends it"
    return Shown(sentence, (*messages(state), {"expect": {"flow": None}}))


def _heavy(state: State, case: Case) -> Shown | None:
    """More messages at once than the gateway takes in a minute."""
    if len(state.sent) <= PER_MINUTE or not case.is_passed(state):
        return None
    before = sum(sent.shown is not None for each in state.path()[:-1] for sent in each.sent)
    sentence = f"these are {len(state.sent)} messages at once, and the gateway takes {PER_MINUTE} a minute"
    return Shown(sentence, ({"expect": {"sent": before + PER_MINUTE}},))


FAULTS: Mapping[str, Fault] = {
    "W102": _endless,
    "W301": show_unset,
    "W302": show_always,
    "W303": show_never,
    "W305": show_misfit,
    "W308": show_unset,
    "W401": show_cut,
    "W402": show_few,
    "W403": show_alike,
    "W404": show_empty,
    "W501": _late,
    "W601": _heavy,
}
"""By the code of the rule."""

BEHIND_ITS_STORY = ("W102",)
"""The codes that show on the way of the finding alone."""
