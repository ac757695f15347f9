"""A fault test for each rule: it tells whether the fault shows in a state of a conversation.

A code without a fault test has no counterexample.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial

from bot.checker.counterexamples.finding_case import (
    REFUSED,
    SOMETHING,
    FaultTest,
    FindingCase,
    VisibleFault,
    messages,
    messages_before,
)
from bot.checker.exploring.conversation_yaml import YamlLine
from bot.checker.exploring.explorer import ExploredSend, ExploredState
from bot.checker.exploring.message_view import approximate_duration, message_parts, quoted, short
from bot.checker.graph import StepId
from bot.checker.rules.gateway_limits import PER_MINUTE
from bot.core.effects import Send
from bot.core.errors import BotError
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import with_texts
from bot.core.turn import StepTaken
from bot.language.expressions.abstract_texts import AbstractText
from bot.language.expressions.abstract_values import LOST, just
from bot.language.expressions.templates import Expression, Template
from bot.language.flow.definition import Step
from bot.language.steps.transition import END

_MISMATCH = ": mismatch: "
_UnsetTest = Callable[[ExploredState, FindingCase, Template | Expression, str], VisibleFault | None]


def show_unset(state: ExploredState, case: FindingCase) -> VisibleFault | None:
    """W301, W308: a text that cannot be evaluated, or one with a gap in it."""
    found = (
        test(state, case, text, name)
        for text in case.texts
        for name in sorted(text.names)
        if f'"{name}" may be null' in case.finding.what
        for test in _UNSET_TESTS
    )
    return next((shown for shown in found if shown is not None), None)


def show_misfit(state: ExploredState, case: FindingCase) -> VisibleFault | None:
    """W305: a value that is rejected, or a text that cannot be evaluated."""
    refused = (note.partition(_MISMATCH)[2] for note in state.notes if case.is_of_step(note) and _MISMATCH in note)
    note = _note_of(state, case) or next(refused, None)
    if note is None:
        return None
    what = "".join(f"`{short(text.source)}` " for text in case.texts[:1])
    return VisibleFault(f"{what or 'this value '}never fits: {note}", (*messages(state), {"bot": MARK}))


def _note_of(state: ExploredState, case: FindingCase) -> str | None:
    """The engine's note about the text of the finding, or about one that uses the definition of the finding."""
    marks = (case.finding.mark, *(text.mark for text in case.texts))
    places = dict.fromkeys(f"{mark}: " for mark in marks)
    found = (note.partition(place)[2] for note in state.notes for place in places if place in note)
    return next(found, None)


def _failed(state: ExploredState, case: FindingCase, text: Template | Expression, name: str) -> VisibleFault | None:
    """The text cannot be evaluated, or is empty where the gateway needs a text."""
    note = _note_of(state, case)
    if note is not None:
        sentence = f"`{short(text.source)}` cannot be evaluated: {note}"
        return VisibleFault(sentence, (*messages(state), _has_value(name)))
    refused = any(case.is_of_step(note) and REFUSED in note for note in state.notes)
    if refused and isinstance(text, Template) and _is_empty(text, name):
        sentence = f"nothing stands in `{short(text.source)}`, and the gateway would refuse the message"
        known = _is_null(state, case, name)
        return VisibleFault(sentence, (*messages(state), _has_value(name) if known else {"bot": MARK}))
    return None


def _is_empty(text: Template, name: str) -> bool:
    """True if a text is nothing but its variables."""
    try:
        return not text.render({**dict.fromkeys(text.names), name: None}).strip()
    except BotError:
        return False


def _holed_message(
    state: ExploredState, case: FindingCase, text: Template | Expression, name: str
) -> VisibleFault | None:
    """A message with nothing in place of the variable."""
    lines = list(messages(state)) if isinstance(text, Template) and case.is_passed(state) else []
    for number, sent in enumerate(state.sent if lines else ()):
        parts = message_parts(sent.message)
        says = parts if isinstance(parts, str) else str(parts.get("says", ""))
        whole = _whole(text, says, name)
        if whole is not None:
            lines[number] = {"bot": whole if isinstance(parts, str) else {**parts, "says": whole}}
            return VisibleFault(f'nothing stands there for "{name}"', tuple(lines))
    return None


def _holed_tag(state: ExploredState, case: FindingCase, text: Template | Expression, name: str) -> VisibleFault | None:
    """A tag with nothing in place of the variable."""
    if not isinstance(text, Template) or not case.is_tag(text) or not case.is_passed(state):
        return None
    tags = state.session.tags
    whole = [_whole(text, tag, name) or tag for tag in tags]
    if _is_empty(text, name) and not any(each.strip() for each in case.rendered(text, state)):
        whole = [*tags, MARK]  # a tag without a text is no tag
    if whole == [*tags]:
        return None
    return VisibleFault(f'nothing stands in a tag for "{name}"', (*messages(state), {"expect": {"tags": whole}}))


def _whole(text: Template | Expression, said: str, name: str) -> str | None:
    wordings = text.wordings if isinstance(text, Template) else ()
    return next((found for each in wordings if (found := filled(each, said, name)) is not None), None)


def _null_after(state: ExploredState, case: FindingCase, text: Template | Expression, name: str) -> VisibleFault | None:
    """The variable is null after the turn, where nobody reads the text."""
    if not case.is_passed(state) or not _is_null(state, case, name) or not _matters(state, case, text, name):
        return None
    return VisibleFault(_null_in(text, name), (*messages(state), _has_value(name)))


def _null_before(
    state: ExploredState, case: FindingCase, text: Template | Expression, name: str
) -> VisibleFault | None:
    """The variable is null just before the turn, where it is out of scope after it."""
    if state.before is None or not case.is_passed(state) or not _is_null(state.before, case, name):
        return None
    if case.is_given(state, name):  # so the text had a value, or nobody knows which
        return None
    if not _matters(state.before, case, text, name):
        return None
    return VisibleFault(_null_in(text, name), (_has_value(name),), early=True)


def _null_in(text: Template | Expression, name: str) -> str:
    return f'"{name}" is null in `{short(text.source)}`'


def _is_null(state: ExploredState, case: FindingCase, name: str) -> bool:
    """True if a conversation is in the flow, and the variable is null."""
    frame = state.frame
    here = frame is not None and (case.place is None or frame.flow == case.place[0])
    return frame is not None and here and case.library.values_of(frame, state.session).get(name, SOMETHING) is None


def _matters(state: ExploredState, case: FindingCase, text: Template | Expression, name: str) -> bool:
    """True unless a condition in a text shuts out the variable that is null, with the values of the conversation."""
    if state.frame is None or (isinstance(text, Template) and "{%" not in text.source):
        return True
    values = case.library.values_of(state.frame, state.session)
    known = {each: frozenset({just(value)}) for each, value in values.items() if each in text.names}
    found = AbstractText(text).evaluate({**known, name: frozenset({LOST})}, shown=isinstance(text, Template))
    return found.hole or found.fails


def _has_value(name: str) -> YamlLine:
    return {"expect": {"vars": {name: SOMETHING}}}


_UNSET_TESTS: tuple[_UnsetTest, ...] = (_failed, _holed_message, _holed_tag, _null_after, _null_before)


_VALUE = lazy_pattern(r"\{\{(.*?)\}\}", re.DOTALL)
MARK = "…"


def filled(text: Template, said: str, name: str) -> str | None:
    """A message with `MARK` in place of a null variable; None if that is not the message that was sent. A text with
    conditions or loops is not examined.
    """
    if "{%" in text.source or "{#" in text.source:
        return None
    constants = _VALUE.split(text.source)[::2]
    stands_for = {each.name: each.expression.source for each in text.definitions}
    values = [_is_of(stands_for.get(value.strip(), value), name) for value in _VALUE.findall(text.source)]
    pattern = re.escape(constants[0]) + "".join(
        ("()" if hole else "(.*?)") + re.escape(constant) for hole, constant in zip(values, constants[1:], strict=True)
    )
    found = re.fullmatch(pattern, said, re.DOTALL)
    if found is None or not any(values):
        return None
    parts = [MARK if hole else value for hole, value in zip(values, found.groups(), strict=True)]
    return constants[0] + "".join(part + constant for part, constant in zip(parts, constants[1:], strict=True))


def _is_of(value: str, name: str) -> bool:
    """True if a value is read from a variable."""
    return re.match(rf"\s*{re.escape(name)}\b", value) is not None


_MOST = 10  # steps that are followed


def show_always(state: ExploredState, case: FindingCase) -> VisibleFault | None:
    """W302: a branch that is left by a condition that is always true. The next outcome is never taken."""
    for taken, step in _passed(state, case):
        outcomes = list(step.outcomes)
        for text in _conditions(case):
            if any(source == text.explained and bool(value) for source, value in taken.conditions):
                behind = (outcomes[outcomes.index(name) + 1] for name in outcomes[:-1] if _asks(step, name, text))
                return _shown(state, taken, case, next(behind, None), f"`{short(text.source)}` is always true")
    return None


def show_never(state: ExploredState, case: FindingCase) -> VisibleFault | None:
    """W303: a condition that is never true, or fails. Its own outcome is never taken."""
    for taken, step in _passed(state, case):
        for text in _conditions(case):
            name = next((name for name in step.outcomes if _asks(step, name, text)), None)
            if name is not None and taken.outcome != name:
                return _shown(state, taken, case, name, f"`{short(text.source)}` is never true")
    return show_misfit(state, case)


def _passed(state: ExploredState, case: FindingCase) -> Iterator[tuple[StepTaken, Step]]:
    """Each time that the last turns passed the step."""
    for taken in state.steps:
        if (taken.flow, taken.step) == case.place and taken.outcome is not None:
            yield taken, case.library.flows[taken.flow].steps[taken.step]


def _conditions(case: FindingCase) -> list[Expression]:
    return [text for text in case.texts if isinstance(text, Expression)]


def _asks(step: Step, outcome: str, condition: Expression) -> bool:
    """True if the outcome is taken when the condition is true."""
    given = step.outcomes[outcome].given
    return bool(given) and given[-1].condition is condition and given[-1].holds


def _shown(
    state: ExploredState, taken: StepTaken, case: FindingCase, outcome: str | None, sentence: str
) -> VisibleFault | None:
    """The fault of an outcome that was not taken: its first message or the conversation's end is missing."""
    steps = case.library.flows[taken.flow].steps
    target = None if outcome is None else steps[taken.step].transitions[outcome].target
    said = None if target in (None, END, taken.target) else _first_said(steps, target)
    if said is not None:
        return VisibleFault(sentence, (*messages_before(state, taken), {"bot": {"says": said}}))
    if target == END and state.frame is not None:
        return VisibleFault(sentence, (*messages(state), {"expect": {"flow": None}}))
    return None


def _first_said(steps: Mapping[str, Step], name: str | None) -> str | None:
    """The first message from a step on, where it is known beforehand."""
    for _ in range(_MOST):
        step = steps.get(name or "")
        if step is None:
            return None
        text = next((sent.text for sent in step.facts.texts), None)
        if text is not None:
            return text.source if text.constant else None
        name = step.transitions["then"].target if "then" in step.transitions and not step.facts.pauses else None
    return None


_ELLIPSIS, _SECOND = "…", " (2)"


def show_cut(state: ExploredState, case: FindingCase) -> VisibleFault | None:
    """W401: a text of which the contact gets only the beginning."""
    lines = list(messages(state))
    for text in case.texts:
        for whole in case.rendered(text, state) if isinstance(text, Template) else ():
            for number, line in enumerate(lines):
                mended = with_texts(line["bot"], partial(_uncut, whole))
                if mended != line["bot"]:
                    lines[number] = {"bot": mended}
                    return VisibleFault(f"{quoted(whole)} has {len(whole)} characters, and is cut", tuple(lines))
    return None


def _uncut(whole: str, part: str) -> str:
    """The whole text in place of its beginning; any other text as it is."""
    return whole if part.endswith(_ELLIPSIS) and whole.startswith(part.removesuffix(_ELLIPSIS)) else part


def show_alike(state: ExploredState, case: FindingCase) -> VisibleFault | None:
    """W403: two titles that are the same, so that one of them gets a number."""
    if not case.is_passed(state):
        return None
    lines = list(messages(state))
    for number, line in enumerate(lines):
        mended = with_texts(line["bot"], lambda part: part.removesuffix(_SECOND))
        if mended != line["bot"]:
            lines[number] = {"bot": mended}
            return VisibleFault(
                "two choices read the same: one is sent with a number, and nobody knows why", tuple(lines)
            )
    return None


def show_empty(state: ExploredState, case: FindingCase) -> VisibleFault | None:
    """W404: a message without a text, which is not sent."""
    if case.place is None or not any(REFUSED in note and case.is_of_step(note) for note in state.notes):
        return None
    flow, step = case.place
    if state.frame is not None and (state.frame.flow, state.frame.step) == case.place:
        return None
    expected = (*messages(state), {"expect": {"flow": flow, "step": step}})
    return VisibleFault("the text is empty, and the gateway would refuse the message", expected)


def show_few(state: ExploredState, case: FindingCase) -> VisibleFault | None:
    """W402: a question that asks for more answers than it has choices."""
    if case.place is None or not case.is_passed(state):
        return None
    facts = case.library.flows[case.place[0]].steps[case.place[1]].facts
    least = max((offered.least for offered in facts.offers), default=0)
    titles = {sent.text.source for sent in facts.titles}
    for number, line in enumerate(lines := list(messages(state))):
        parts = line["bot"] if isinstance(line["bot"], Mapping) else {}
        key = next((key for key in ("buttons", "rows") if titles & {*parts.get(key, ())}), None)
        count = 0 if key is None else len(titles & {*parts[key]})
        if key is not None and count < least:
            lines[number] = {"bot": {**parts, key: [*parts[key], *[MARK] * (least - count)]}}
            return VisibleFault(f"{least} answers are asked for, and there are {count} to choose from", tuple(lines))
    return None


def _late(state: ExploredState, case: FindingCase) -> VisibleFault | None:
    """W501: a message of the step that came after the window had closed."""
    here = None if state.frame is None else (state.frame.flow, state.frame.step)  # to which a conversation returns
    late = next((sent for by, sent in _sent_by(state) if sent.missed_window and case.place in (None, by, here)), None)
    if late is None:
        return None
    return VisibleFault(f"the bot may not {_would(late)}: {_why(late.silence)}", tuple(messages(state)))


def _sent_by(state: ExploredState) -> Iterator[tuple[StepId | None, ExploredSend]]:
    """The messages of the last turns, each with the step that sent it, or the step that was left when it was sent."""
    sent = iter(state.sent)
    for turn in state.turns:
        for ordinal, effect in enumerate(turn.effects):
            if isinstance(effect, Send):
                before = [step for step in turn.trace.steps if step.effects <= ordinal]
                yield (before[-1].flow, before[-1].step) if before else None, next(sent)


def _would(sent: ExploredSend) -> str:
    parts = message_parts(sent.message)
    text = parts if isinstance(parts, str) else parts.get("says")
    return f"write {quoted(text)} any more" if text else "send this message any more"


def _why(silence: timedelta | None) -> str:
    if silence is None:
        return "you have never written to it"
    return f"the last message from you is {approximate_duration(silence)} old"


def _endless(state: ExploredState, case: FindingCase) -> VisibleFault | None:
    """W102: a conversation that has gone round in a cycle, and is where it was before."""
    if state.frame is None or not case.is_passed(state):
        return None
    sentence = f"the conversation is at {state.frame.flow}/{state.frame.step} again, and nothing ends it"
    return VisibleFault(sentence, (*messages(state), {"expect": {"flow": None}}))


def _heavy(state: ExploredState, case: FindingCase) -> VisibleFault | None:
    """W601: more messages at once than the gateway takes in a minute."""
    if len(state.sent) <= PER_MINUTE or not case.is_passed(state):
        return None
    before = sum(sent.shown is not None for each in state.path()[:-1] for sent in each.sent)
    sentence = f"these are {len(state.sent)} messages at once, and the gateway takes {PER_MINUTE} a minute"
    return VisibleFault(sentence, ({"expect": {"sent": before + PER_MINUTE}},))


FAULT_TESTS: Mapping[str, FaultTest] = {
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
"""The fault tests by code."""

ONLY_AFTER_ROUTE = ("W102",)
"""The codes of faults that show only on the path of their finding."""
