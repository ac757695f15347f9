"""How limits show: texts that are cut, titles that are given a number, messages that the gateway would refuse."""

from collections.abc import Iterator, Mapping
from typing import Any

from bot.checker.case import Case, Shown, messages
from bot.checker.phrases import quoted
from bot.checker.state import State
from bot.core.errors import BotError
from bot.core.events import TimeReached
from bot.core.session import Session
from bot.engine.work import Work
from bot.flow.library import Library
from bot.lang.templates import Template

_ELLIPSIS, _SECOND = "…", " (2)"
_REFUSED = "a message that the gateway does not take"


def show_cut(state: State, case: Case) -> Shown | None:
    """A text of which the contact sees the beginning alone."""
    lines = list(messages(state))
    for text in case.texts:
        for whole in _whole(text, state, case.library) if isinstance(text, Template) else ():
            for number, line in enumerate(lines):
                mended = _replaced(line["bot"], lambda part, whole=whole: whole if _is_cut(part, whole) else part)
                if mended != line["bot"]:
                    lines[number] = {"bot": mended}
                    return Shown(f"{quoted(whole)} has {len(whole)} characters, and is cut", tuple(lines))
    return None


def _whole(text: Template, state: State, library: Library) -> Iterator[str]:
    """What a text comes to with what is known after the last turns, or was before them."""
    sessions = [state.session, *([] if state.before is None else [state.before.session])]
    for session in sessions:
        try:
            yield text.render(_scope(session, state, library))
        except BotError:
            continue


def _scope(session: Session, state: State, library: Library) -> Mapping[str, Any]:
    return Work(library, session, TimeReached("", session.contact, state.now)).scope()


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
    notes = [note for turn in state.turns for note in turn.trace.notes if _REFUSED in note]
    if case.place is None or not any(note.startswith("/".join(case.place)) for note in notes):
        return None
    flow, step = case.place
    if state.frame is not None and (state.frame.flow, state.frame.step) == case.place:
        return None
    expected = (*messages(state), {"expect": {"flow": flow, "step": step}})
    return Shown("the text is empty, and the gateway would refuse the message", expected)


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
