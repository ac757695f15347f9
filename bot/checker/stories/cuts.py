"""How limits show: texts that are cut, titles that are given a number, messages that the gateway would refuse."""

from collections.abc import Mapping
from typing import Any

from bot.checker.exploring.phrases import quoted
from bot.checker.exploring.state import State
from bot.checker.stories.case import REFUSED, Case, Shown, messages
from bot.checker.stories.holes import MARK
from bot.expressions.templates import Template
from bot.steps.declared import Offered, SentText

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
