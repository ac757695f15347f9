"""How each fault shows in what a conversation has come to. A code that does not stand here has no counterexample."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from bot.checker.exploring.phrases import quoted, spelt_out
from bot.checker.exploring.state import Sent, State
from bot.checker.exploring.told import parts_of
from bot.checker.graph import Place
from bot.checker.rules.gateway_limits import PER_MINUTE
from bot.checker.stories.case import Case, Fault, Shown, messages
from bot.checker.stories.cuts import show_alike, show_cut, show_empty, show_few
from bot.checker.stories.never import show_always, show_never
from bot.checker.stories.unset import show_misfit, show_unset
from bot.core.effects import Send


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
