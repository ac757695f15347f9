"""Carries out what a step has decided, except where that leads (`bot.engine.executor`).

When a step waits or is left: its notes, its messages, and what it waits for. When it is left, also its options (`save`,
`set`, `tag`), then the transition's `say`, `set` and `ask`.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from bot.core.effects import EmitEvent
from bot.core.messages import TextMessage
from bot.core.session import Frame
from bot.core.turn import StepTaken
from bot.core.waits import ForContact, ForEffect, ForFlow, ForPerson, ForSend, ForTime
from bot.engine.contact_values import add_tag, assign, assign_all, assign_values, note_cleared, remove_tag
from bot.engine.scheduled_flows import arrange, cancel
from bot.engine.turn_context import TurnContext, add_effect, call_hooks, let_happen, send
from bot.engine.valid_replies import keep_replies
from bot.language.flow.definition import LANGUAGE, Step
from bot.language.python.decorators import HANDOFF, TEAM_QUESTION
from bot.language.steps.step_kind import (
    NOTHING,
    HandOver,
    KeepWaiting,
    LeaveStep,
    RunFlow,
    SetAside,
    WaitForEffect,
    WaitForSend,
    WaitHere,
    Waits,
    WaitUntil,
)
from bot.language.steps.step_options import StepOptions
from bot.language.steps.transition import Transition
from bot.language.types.contact_zones import TIMEZONE


def note_result(turn: TurnContext, result: LeaveStep | Waits) -> StepTaken:
    """Note in the trace what the active step decided, and keep the message that it passes on to the next step."""
    taken = turn.note_step()
    if result.notes:
        turn.trace.notes += [f"{turn.where}: {note}" for note in result.notes]
    if isinstance(result, LeaveStep):
        taken.conditions = list(result.conditions)
        turn.pending_input = result.pending_input or turn.pending_input
    return taken


def send_messages(turn: TurnContext, result: LeaveStep | Waits) -> list[str]:
    """Send the messages of a result. Returns the names of their effects."""
    # a question is asked again instead, and what is said at a hand-over is void when it is over
    refs, keep = [], isinstance(result, LeaveStep) or not (turn.step.facts.asks or isinstance(result, HandOver))
    for message in result.messages:
        ref = send(turn, message, report=isinstance(result, WaitForSend), keep=keep)
        if ref is not None:
            refs.append(ref)
        turn.frame.silent_since = turn.event.at
    for event in result.happens if isinstance(result, LeaveStep) else ():
        let_happen(turn, event)
    for judged in result.judged:
        add_effect(turn, judged)
    return refs


def wait(turn: TurnContext, result: Waits, sent: list[str]) -> None:
    """Wait at the active step: for the contact, for the end of an effect, or for a flow that `Executor.run` opens.

    ``sent`` are the step's messages: if one of them is refused, the step is resumed.
    """
    frame = turn.frame
    if turn.step.facts.waits and not isinstance(result, WaitForSend):
        for each in turn.session.frames:
            each.notice = False  # the contact is asked something: the question below is far above then
    frame.step_state = dict(result.step_state)
    if (asked := result.to_team) is not None:
        turn.session.team_questions = (*turn.session.team_questions, asked)
        told = {"team": asked.team, "question": asked.text, "until": asked.until}
        call_hooks(turn, TEAM_QUESTION, frame.flow, step=frame.step, **told)
    undelivered = isinstance(result, WaitHere) and result.undelivered
    early = isinstance(result, WaitForEffect) and turn.put_since is not None and turn.step.facts.asks
    question = frame.question
    if question.undelivered is not undelivered or question.early is not early or question.to_continue:
        frame.question = replace(question, undelivered=undelivered, early=early, to_continue=False)
    effects = tuple(sent)
    match result:
        case WaitHere():
            frame.waits = ForContact(effects, gathers_since=frame.gathers_since)
        case WaitForEffect(effect=EmitEvent(event=event)):
            frame.waits = ForEffect((let_happen(turn, event),))
        case WaitForEffect(effect=effect, listens=listens, about=about):
            frame.waits = ForEffect((add_effect(turn, effect),), listens=listens, about=about)
        case WaitForSend():
            frame.waits = ForSend(effects)
        case RunFlow():
            frame.waits = ForFlow(effects)
        case WaitUntil(until=until, lasts=lasts):
            frame.waits = ForTime(effects, until=until, lasts=lasts)
        case HandOver(team=team, note=note):
            frame.waits = person = ForPerson(effects, team=team, note=note)
            add_tag(turn, person.tag)
            call_hooks(turn, HANDOFF, frame.flow, step=frame.step, team=team, note=note)
        case KeepWaiting() | SetAside():
            pass
    if result.valid is not None:
        keep_replies(turn, result.valid)


def note_message(frame: Frame, effect: str | None) -> None:
    """Note that the contact was asked by this message in place of the step's own; None: it was not sent."""
    if frame.waits is None:
        frame.waits = ForContact()
    frame.waits = replace(frame.waits, effects=() if effect is None else (effect,))


def stop_gathering(frame: Frame) -> None:
    """Wait for no further message: those that were parked come next, as one."""
    if isinstance(frame.waits, ForContact) and frame.waits.gathers_since is not None:
        frame.waits = replace(frame.waits, gathers_since=None)


def visited(frame: Frame, step: str) -> str:
    """The name under which a frame counts the visits of a step of its flow."""
    return f"{frame.flow}/{step}"


def apply_options(turn: TurnContext, step: Step, result: LeaveStep) -> None:
    """Carry out a step's `save`, `set`, `tag` and `schedule`. `set` sees the values from before. Raises a `Failure`."""
    options = step.options
    if result.saved is not NOTHING and options.save is not None:
        assign(turn, options.save, result.saved)
    if result.sets:
        assign_values(turn, result.sets)
    if options.clear or options.set:
        _assign(turn, options, turn.scope(), result.sets if result.as_set else ())
    if options.tag or options.untag:
        _tag(turn, options, turn.scope())
    if options.cancel or options.schedule:
        arrange(turn, options)
    if options.reset:
        reset = {visited(turn.frame, each.text) for each in options.reset}
        counts = turn.frame.visit_counts.items()
        turn.frame.visit_counts = {key: count for key, count in counts if key not in reset}


def carry_out(
    turn: TurnContext, transition: Transition, known: Mapping[str, Any] | None = None, *, keep: bool = True
) -> None:
    """Carry out a transition's `say`, `set`, `tag`, `cancel` and `ask`, before its target. Raises a `Failure`.

    ``known`` are further names for its templates. ``keep``: its text waits for the contact if the window is closed.
    """
    if not transition.acts:
        return
    scope = {**turn.scope(), **known} if known else turn.scope()
    if transition.say is not None:
        send(turn, TextMessage(transition.say.render(scope)), keep=keep)
    if transition.clear or transition.set:
        _assign(turn, transition, scope)
    _tag(turn, transition, scope)
    if transition.cancel:
        cancel(turn, transition.cancel, scope)
    if transition.ask is not None:
        _ask_in_other_words(turn, transition.ask.render(scope))


def _assign(
    turn: TurnContext, given: StepOptions | Transition, scope: Mapping[str, Any], done: Collection[str] = ()
) -> None:
    """Carry out a `clear` and a `set`: every value is evaluated before any is assigned. Raises a `Failure`.

    The variables ``done`` have their values.
    """
    frame = turn.session.frame
    if frame is None:  # then there are no variables except the contact's language and time zone
        assign_all(turn, (item for item in given.set if item.name in (LANGUAGE, TIMEZONE)), scope)
        return
    flow = turn.library.flows.get(frame.flow)  # an edit may have removed it
    variables = {} if flow is None else flow.variables
    if given.clear:
        names = {each.name for item in given.clear for each in item.among(variables)}
        note_cleared(turn, (scope.get(name) for name in names))
    assign_all(turn, (item for item in given.assigned(variables) if item.name not in done), scope)
    if flow is not None and frame.ahead and given.clear:
        cleared = {each.name for item in given.clear for each in item.among(variables)}
        left = {name for name, step in flow.steps.items() if step.options.save not in cleared}
        frame.ahead = {step: text for step, text in frame.ahead.items() if step in left}


def _tag(turn: TurnContext, given: StepOptions | Transition, scope: Mapping[str, Any]) -> None:
    for tag in given.untag:
        remove_tag(turn, tag.render(scope))
    for tag in given.tag:
        add_tag(turn, tag.render(scope))


def _ask_in_other_words(turn: TurnContext, body: str) -> None:
    """Ask the active step's question in these words. If it has no question, they are only said."""
    step = turn.known_step
    question = None if step is None else step.kind.ask_again(turn.step_context(), body)
    if question is None:
        send(turn, TextMessage(body))
    else:
        wait(turn, question, send_messages(turn, question))
