"""How a variable that is null shows: a text that fails, a hole in a message or a tag, and what the conversation knows."""

import re
from collections.abc import Callable, Iterator

from bot.checker.counterexamples.finding_case import REFUSED, SOMETHING, Case, Shown, messages
from bot.checker.counterexamples.transcript_writer import Line
from bot.checker.exploring.explorer import State
from bot.checker.exploring.message_view import parts_of, short
from bot.core.errors import BotError
from bot.expressions.templates import Expression, Template

_MISMATCH = ": mismatch: "
_Way = Callable[[State, Case, Template | Expression, str], Shown | None]


def show_unset(state: State, case: Case) -> Shown | None:
    """A text that could not be worked out, or one with a hole in it."""
    for text in case.texts:
        names = (name for name in sorted(text.names) if f'"{name}" may be null' in case.finding.what)
        for name in names:
            if (shown := _first_shown(state, case, text, name)) is not None:
                return shown
    return None


def _first_shown(state: State, case: Case, text: Template | Expression, name: str) -> Shown | None:
    found = (way(state, case, text, name) for way in _WAYS)
    return next((shown for shown in found if shown is not None), None)


def show_misfit(state: State, case: Case) -> Shown | None:
    """A value that is not taken, or a text that cannot be worked out."""
    refused = (note.partition(_MISMATCH)[2] for note in _notes(state) if case.is_of_step(note) and _MISMATCH in note)
    note = _note_of(state, case) or next(refused, None)
    if note is None:
        return None
    what = "".join(f"`{short(text.source)}` " for text in case.texts[:1])
    return Shown(f"{what or 'this value '}never fits: {note}", (*messages(state), {"bot": MARK}))


def _note_of(state: State, case: Case) -> str | None:
    """What the engine notes of the text that stands where the finding is."""
    place = f"{case.finding.path}:{case.finding.line}:{case.finding.column}: "
    return next((note.partition(place)[2] for note in _notes(state) if place in note), None)


def _failed(state: State, case: Case, text: Template | Expression, name: str) -> Shown | None:
    """The text cannot be worked out, or is empty where one is needed."""
    note = _note_of(state, case)
    if note is not None:
        sentence = f"`{short(text.source)}` cannot be worked out: {note}"
        return Shown(sentence, (*messages(state), _has_value(name)))
    refused = any(case.is_of_step(note) and REFUSED in note for note in _notes(state))
    if refused and isinstance(text, Template) and _is_empty(text, name):
        sentence = f"nothing stands in `{short(text.source)}`, and the gateway would refuse the message"
        known = _is_null(state, case, name)
        return Shown(sentence, (*messages(state), _has_value(name) if known else {"bot": MARK}))
    return None


def _is_empty(text: Template, name: str) -> bool:
    """Whether a text is nothing but its variables."""
    try:
        return not text.render({**dict.fromkeys(text.names), name: None}).strip()
    except BotError:
        return False


def _notes(state: State) -> Iterator[str]:
    return (note for turn in state.turns for note in turn.trace.notes)


def _holed_message(state: State, case: Case, text: Template | Expression, name: str) -> Shown | None:
    """A message in which nothing stands for the variable."""
    lines = list(messages(state)) if isinstance(text, Template) and case.is_passed(state) else []
    for number, sent in enumerate(state.sent if lines else ()):
        parts = parts_of(sent.message)
        says = parts if isinstance(parts, str) else str(parts.get("says", ""))
        whole = _whole(text, says, name)
        if whole is not None:
            lines[number] = {"bot": whole if isinstance(parts, str) else {**parts, "says": whole}}
            return Shown(f'nothing stands there for "{name}"', tuple(lines))
    return None


def _holed_tag(state: State, case: Case, text: Template | Expression, name: str) -> Shown | None:
    """A tag in which nothing stands for the variable."""
    if not isinstance(text, Template) or not case.is_tag(text) or not case.is_passed(state):
        return None
    tags = state.session.tags
    whole = [_whole(text, tag, name) or tag for tag in tags]
    if _is_empty(text, name) and not any(each.strip() for each in case.rendered(text, state)):
        whole = [*tags, MARK]  # one without a text is none
    if whole == [*tags]:
        return None
    return Shown(f'nothing stands in a tag for "{name}"', (*messages(state), {"expect": {"tags": whole}}))


def _whole(text: Template | Expression, said: str, name: str) -> str | None:
    wordings = text.wordings if isinstance(text, Template) else ()
    return next((found for each in wordings if (found := filled(each, said, name)) is not None), None)


def _null_after(state: State, case: Case, text: Template | Expression, name: str) -> Shown | None:
    """It is null when all is done, where the text is for nobody to read."""
    if not case.is_passed(state) or not _is_null(state, case, name):
        return None
    return Shown(_null_in(text, name), (*messages(state), _has_value(name)))


def _null_before(state: State, case: Case, text: Template | Expression, name: str) -> Shown | None:
    """It is null just before, where nobody knows of it any more when all is done."""
    if state.before is None or not case.is_passed(state) or not _is_null(state.before, case, name):
        return None
    return Shown(_null_in(text, name), (_has_value(name),), early=True)


def _null_in(text: Template | Expression, name: str) -> str:
    return f'"{name}" is null in `{short(text.source)}`'


def _is_null(state: State, case: Case, name: str) -> bool:
    """Whether a conversation is in the flow, and the variable is null."""
    frame = state.frame
    here = frame is not None and (case.place is None or frame.flow == case.place[0])
    return frame is not None and here and frame.vars.get(name, SOMETHING) is None


def _has_value(name: str) -> Line:
    return {"expect": {"vars": {name: SOMETHING}}}


_WAYS: tuple[_Way, ...] = (_failed, _holed_message, _holed_tag, _null_after, _null_before)


_VALUE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
MARK = "…"


def filled(text: Template, said: str, name: str) -> str | None:
    """What was said with `MARK` where nothing stands for a variable; None where this is not what was said.

    A text with conditions or loops in it is not looked through.
    """
    if "{%" in text.source or "{#" in text.source:
        return None
    constants = _VALUE.split(text.source)[::2]
    values = [_is_of(value, name) for value in _VALUE.findall(text.source)]
    pattern = re.escape(constants[0]) + "".join(
        ("()" if hole else "(.*?)") + re.escape(constant) for hole, constant in zip(values, constants[1:], strict=True)
    )
    found = re.fullmatch(pattern, said, re.DOTALL)
    if found is None or not any(values):
        return None
    parts = [MARK if hole else value for hole, value in zip(values, found.groups(), strict=True)]
    return constants[0] + "".join(part + constant for part, constant in zip(parts, constants[1:], strict=True))


def _is_of(value: str, name: str) -> bool:
    """Whether a value is a variable, or something of it."""
    return re.match(rf"\s*{re.escape(name)}\b", value) is not None
