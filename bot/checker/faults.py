"""How each fault shows in what a conversation has come to. A code that does not stand here has no counterexample."""

from collections.abc import Mapping
from datetime import timedelta

from bot.checker.case import SOMETHING, Case, Fault, Shown, messages
from bot.checker.cuts import show_alike, show_cut, show_empty
from bot.checker.holes import filled
from bot.checker.load import PER_MINUTE
from bot.checker.phrases import quoted, short, spelt_out
from bot.checker.state import Sent, State
from bot.checker.told import parts_of
from bot.checker.written import Line
from bot.lang.templates import Template


def _late(state: State, case: Case) -> Shown | None:
    """A message that came after the 24 hours."""
    late = next((sent for sent in state.sent if sent.is_late), None)
    if late is None or not case.is_passed(state):
        return None
    return Shown(f"the bot may not {_would(late)}: {_why(late.silence)}", tuple(messages(state)))


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


def _unset(state: State, case: Case) -> Shown | None:
    """A text that could not be worked out, or one with a hole in it."""
    place = f"{case.finding.path}:{case.finding.line}:{case.finding.column}: "
    failed = next((note for turn in state.turns for note in turn.trace.notes if place in note), None)
    for text in case.texts:
        names = [name for name in sorted(text.names) if f'"{name}" may be null' in case.finding.what]
        if names and failed is not None:
            sentence = f"`{short(text.source)}` cannot be worked out: {failed.partition(place)[2]}"
            return Shown(sentence, (*messages(state), _has_value(names[0])))
        if names and isinstance(text, Template) and case.is_passed(state):
            return _with_hole(state, text, names[0])
    return None


def _with_hole(state: State, text: Template, name: str) -> Shown | None:
    """The message in which nothing stands for a variable, or that it is null where the text is for nobody to read."""
    lines = list(messages(state))
    for number, sent in enumerate(state.sent):
        parts = parts_of(sent.message)
        says = parts if isinstance(parts, str) else str(parts.get("says", ""))
        whole = next((found for each in text.wordings if (found := filled(each, says, name)) is not None), None)
        if whole is not None:
            lines[number] = {"bot": whole if isinstance(parts, str) else {**parts, "says": whole}}
            return Shown(f'nothing stands there for "{name}"', tuple(lines))
    frame = state.frame
    if frame is None or frame.vars.get(name, SOMETHING) is not None:
        return None
    return Shown(f'"{name}" is null in `{short(text.source)}`', (*lines, _has_value(name)))


def _has_value(name: str) -> Line:
    return {"expect": {"vars": {name: SOMETHING}}}


FAULTS: Mapping[str, Fault] = {
    "W102": _endless,
    "W301": _unset,
    "W308": _unset,
    "W401": show_cut,
    "W403": show_alike,
    "W404": show_empty,
    "W501": _late,
    "W601": _heavy,
}
"""By the code of the rule."""
