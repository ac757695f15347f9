"""The state of one turn: a copy of the session, the trace, the result so far, and the names for templates. Functions
add effects to it: messages, calls of hooks, events for others.

The functions that change the rest are modules of their own: `bot.engine.frame_stack` for the open flows,
`bot.engine.contact_values` for variables and tags, `bot.engine.valid_replies` for earlier templates.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from bot.core.effects import Effect, EmitEvent, Publish, RunHook, Send
from bot.core.errors import BotError
from bot.core.events import (
    FROM_CONTACT,
    CallEnded,
    Event,
    SharedRunRequested,
    SignalReceived,
    StartRequested,
)
from bot.core.immutable import mutable
from bot.core.messages import MediaMessage, Message, TemplateMessage, clip, clipped, fits, in_words, is_link, violations
from bot.core.session import (
    BOT,
    HAS_OPTED_OUT,
    MOST_HISTORY,
    MOST_HISTORY_TEXT,
    MOST_LATE,
    Frame,
    Said,
    Session,
    effect_ref,
    first_of_conversation,
    left_exchange,
    record_id,
)
from bot.core.turn import StepTaken, Trace, TurnBuilder
from bot.core.values import Media
from bot.engine.name_scope import NameScope
from bot.language.expressions.templates import TemplateFailed
from bot.language.flow.definition import Flow, Step
from bot.language.flow.library import Library
from bot.language.python.decorators import ERROR
from bot.language.source.languages import CONTACT_LANGUAGE
from bot.language.steps.step_facts import StepFailed
from bot.language.steps.step_kind import Redirect, Reply, StepContext
from bot.language.steps.step_options import Defaults
from bot.language.types.type_registry import TypeMismatch

Failure = StepFailed | TemplateFailed | TypeMismatch
FAILURES = (StepFailed, TemplateFailed, TypeMismatch)
"""The errors of flows while they run. If the step has an outcome for one, that is taken; else the conversation ends."""


class FlowBroken(BotError):
    """A flow asks for something impossible. The conversation ends, and the operator gets a dead letter."""


@mutable
class CountedInTurn:
    """The things that are counted in a turn, so that no flow keeps it going without end."""

    entered: int = 0  # steps
    readings: int = 0  # of pieces of the message, as answers to slots
    routed: bool = False  # a message is routed again at most once
    failed: list[Any] = field(default_factory=list)  # the states in which steps have failed


@mutable
class OpeningText:
    """A text that has started a flow: the questions that follow at once look in it for their answers."""

    words: tuple[str, ...]
    used: set[int] = field(default_factory=set)  # the words that have answered a question
    led: set[str] = field(default_factory=set)  # the questions that it has answered by where they lead: each once
    answers: bool = False  # it has answered a question that does not only lead to another flow
    astray: bool = False  # no flow starts by it but the one with `otherwise`
    asked_flow: str | None = None  # ... and it is a question: the flow for those


class TurnContext:
    """The library, the session and the event of one turn, and what has been decided so far.

    `bot.engine.executor` decides where the contact goes.
    """

    def __init__(self, library: Library, session: Session, event: Event) -> None:
        self.session = session.copy()
        self._written_library = library  # in the language that the flows are written in
        self.keeps_history = library.keeps_history
        self.library = library.in_language(session.language)
        self.event = event
        self.now = event.at.astimezone(library.zone_of(session))
        self._scope: NameScope | None = None  # many turns have only texts without names
        self.trace = Trace()
        self.result = TurnBuilder()
        self.counted = CountedInTurn()
        self.ended: Frame | None = None  # the last frame that was removed
        self.expired = False  # ... because nobody answered
        self.withheld = False  # a message was not sent, because the contact has opted out
        self.pending_input: Reply | None = None  # what the contact wrote, until a step takes it
        self.only_starts = False  # what the contact wrote is only a word that starts the flow, or a greeting
        self.opening: OpeningText | None = None  # the text that has started a flow, until a question is asked
        self.left_states: dict[int, Mapping[str, Any]] = {}  # of steps that were left by an outcome, by their visit
        self.put_since: datetime | None = None  # when the waiting question was put, if the message was written before
        self.cleared: list[Media] = []  # the kept files that `clear` has taken back, or that are no answer after all
        self.above_question = ""  # a text that goes above a question that is asked again
        self.offered: Redirect | None = None  # what a step has left for `bot.engine.advance` to offer

    @property
    def frame(self) -> Frame:
        """The active frame. There must be one."""
        return self.session.frames[-1]

    @property
    def flow(self) -> Flow:
        """The active frame's flow."""
        return self.library.flows[self.session.frames[-1].flow]

    @property
    def step(self) -> Step:
        """The active frame's step."""
        frame = self.session.frames[-1]
        return self.library.flows[frame.flow].steps[frame.step]

    @property
    def known_step(self) -> Step | None:
        """The active frame's step, if there is a frame and no edit has removed the step."""
        frame = self.session.frame
        flow = None if frame is None else self.library.flows.get(frame.flow)
        return None if frame is None or flow is None else flow.steps.get(frame.step)

    @property
    def running_steps(self) -> Iterator[Step]:
        """The steps that run the active flow, from the nearest one down, as far as no edit has removed them."""
        frames = self.session.frames
        for frame in reversed(frames[first_of_conversation(frames) : -1]):
            flow = self.library.flows.get(frame.flow)
            if flow is not None and frame.step in flow.steps:
                yield flow.steps[frame.step]

    @property
    def defaults(self) -> Defaults:
        """The defaults of the active step. If an edit has removed the step: those of its flow, else the bot's."""
        frame = self.session.frame
        flow = None if frame is None else self.library.flows.get(frame.flow)
        step = None if frame is None or flow is None else flow.steps.get(frame.step)
        return (step or flow or self.library.bot).defaults

    @property
    def where(self) -> str:
        """The active step, for people: ``flow/step``."""
        return f"{self.frame.flow}/{self.frame.step}"

    def note_step(self, outcome: str | None = None, target: str | None = None) -> StepTaken:
        """Add the active step to the trace."""
        session = self.session
        frame = session.frames[-1]
        effects, splits = len(self.result.effects), session.splits
        taken = StepTaken(frame.flow, frame.step, outcome, target, effects=effects, visit=frame.visit, splits=splits)
        self.trace.steps.append(taken)
        return taken

    def scope(self) -> Mapping[str, Any]:
        """The names for templates and expressions: the built-in ones and the active flow's variables."""
        if self._scope is None:
            self._scope = NameScope(self._written_library, self.event, self.now)
        return self._scope.of(self.session, self.library)

    @property
    def contact_language(self) -> str | None:
        """The contact's language; None if the bot speaks only one."""
        return self.scope().get(CONTACT_LANGUAGE) if self.library.bot.languages else None

    def step_context(self) -> StepContext:
        """The active step's view of the session."""
        session, library = self.session, self.library
        frame = session.frames[-1]
        variables = library.flows[frame.flow].variables
        if library.bot.common:
            variables = {**variables, **library.bot.common}
        return StepContext(
            frame.flow,
            frame.step,
            frame.visit,
            self.now,
            self.scope,
            session.window_is_open,
            variables,
            frame.step_state,
            frame.waits,
            self.pending_input,
            self.only_starts,
            frame.parked_messages > 0,
            self.above_question,
            min(event.sent_at, event.at) if isinstance(event := self.event, FROM_CONTACT) else None,
            self.event.id,
            None if session.left_exchange is None else left_exchange(session, self.where),
            session.language,
            session.question_of_step,
        )

    def use_language(self) -> None:
        """Read the flows in the session's language from now on."""
        self.library = self._written_library.in_language(self.session.language)

    def use_timezone(self) -> None:
        """Read the event's time in the session's time zone from now on."""
        self.now = self.event.at.astimezone(self.library.zone_of(self.session))
        if self._scope is not None:
            self._scope.move_to(self.now)


# -- effects -----------------------------------------------------------------------------------------


def keeps_quiet(turn: TurnContext) -> bool:
    """True if the contact has opted out and did not ask for the message that would be sent now."""
    return turn.session.unsolicited and turn.session.opted_out


def send(turn: TurnContext, message: Message, *, report: bool = False, keep: bool = False) -> str | None:
    """Send a message, shortened to the gateway's limits. Returns the effect's name. Raises `StepFailed`.

    None: it is not sent, because the contact has opted out and did not ask for it. ``keep``: it waits until the contact
    writes, if the window is closed.
    """
    if keeps_quiet(turn):
        turn.withheld = True
        turn.trace.notes.append(f"not sent: {HAS_OPTED_OUT}")
        return None
    if not fits(message) and (broken := violations(message := clipped(message))):
        what = f"a message that the gateway does not take: {'; '.join(broken)}"
        if isinstance(message, MediaMessage) and not is_link(message.link):
            what += f"; a file of the folder files is written {message.kind}: {{file: ...}}"
        raise StepFailed("failed", what)
    if turn.keeps_history:
        remember(turn, BOT, in_words(message))
    instead = None if isinstance(message, TemplateMessage) else _template_instead(turn)
    return add_effect(turn, Send(message, instead, report, keep))


def keep_late(turn: TurnContext, message: Message) -> None:
    """Keep a message whose window is closed until the contact writes, unless `MOST_LATE` wait already."""
    session = turn.session
    if session.opted_out:
        turn.trace.notes.append(f"not sent: {HAS_OPTED_OUT}")
    elif len(session.late_messages) >= MOST_LATE:
        already = f"{MOST_LATE} messages wait already for the contact to write"
        turn.result.given_up = f"the 24-hour window is closed, and {already}"
        turn.trace.problem(f"given up: {already}")
    else:
        session.late_messages = (*session.late_messages, message)
        turn.trace.notes.append(f"waits for the contact: {_messages(len(session.late_messages))}")


def bring_late(turn: TurnContext) -> None:
    """Send the messages that have waited until the contact writes."""
    session = turn.session
    late, session.late_messages = session.late_messages, ()
    for message in late:
        add_effect(turn, Send(message, _template_instead(turn), keep=True))
    turn.trace.notes.append(f"{_messages(len(late))} that waited: sent now")


def drop_late(turn: TurnContext) -> None:
    """Drop the messages that wait until the contact writes, who has opted out."""
    session = turn.session
    if session.late_messages:
        waited = _messages(len(session.late_messages))
        turn.trace.notes.append(
            f"{waited} that waited {'is' if waited == '1 message' else 'are'} not sent: {HAS_OPTED_OUT}"
        )
        session.late_messages = ()


def _messages(number: int) -> str:
    return "1 message" if number == 1 else f"{number} messages"


def remember(turn: TurnContext, role: str, text: str) -> None:
    """Add a message to `history`: ``role`` is `CONTACT` or `BOT`."""
    said = Said(role, clip(text, MOST_HISTORY_TEXT), turn.event.at)
    turn.session.history = (*turn.session.history, said)[-MOST_HISTORY:]


def add_effect(turn: TurnContext, effect: Effect) -> str:
    """Add an effect. Returns its name."""
    turn.result.effects.append(effect)
    return effect_ref(turn.event.id, len(turn.result.effects) - 1)


def let_happen(turn: TurnContext, event: StartRequested | SignalReceived | SharedRunRequested | CallEnded) -> str:
    """Emit an event for another contact or a shared record; its name and time follow from this turn's. Returns the
    effect's name.
    """
    ref = effect_ref(turn.event.id, len(turn.result.effects))
    if isinstance(event, SharedRunRequested):
        kind = turn.library.flows[event.flow].shared or event.flow
        event = replace(event, contact=record_id(kind, event.contact), asker=turn.session.contact, effect=ref)
    return add_effect(turn, EmitEvent(replace(event, id=ref, at=turn.event.at)))


def _template_instead(turn: TurnContext) -> TemplateMessage | None:
    """The template that replaces the message when the window is closed: the step's, the flow's or the bot's."""
    notice = turn.defaults.window_closed
    if notice is None:
        return None
    try:
        return notice.message(turn.scope())
    except TemplateFailed as failed:
        turn.trace.problem(f"window_closed: {failed}")
        return None


def call_hooks(turn: TurnContext, event: str, flow: str | None, **told: Any) -> None:
    """Call this flow's and the bot's hooks for an event, and deliver the event if `bot.yml` asks for it.

    Both are effects, so that a crash loses nothing.
    """
    publish(turn, event, flow=flow, **told)
    for hook in turn.library.hooks:
        if hook.event == event and hook.flow in (None, flow):
            add_effect(
                turn, RunHook(hook.name, {"contact": turn.session.contact, "at": turn.now, "flow": flow, **told})
            )


def publish(turn: TurnContext, event: str, **data: Any) -> None:
    """Deliver an event to the address under `events_to`, if `bot.yml` lists it there."""
    receiver = turn.library.bot.events_to
    if receiver is not None and event in receiver.on:
        add_effect(turn, Publish(event, turn.event.at, data))


def call_error_hooks(turn: TurnContext, reason: str) -> None:
    """Call the error hooks, because the active step failed and has no transition of its own for this error."""
    frame = turn.session.frame
    flow, step = (None, None) if frame is None else (frame.flow, frame.step)
    call_hooks(turn, ERROR, flow, step=step, reason=reason)
