"""What one turn reads and writes: a copy of the session, the effects so far, the trace, and the names for templates."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.core.effects import Effect, EmitEvent, Publish, RunHook, Send
from bot.core.errors import BotError
from bot.core.events import MESSAGE_KINDS, Event, MessageReceived, SignalReceived, StartRequested, Tapped
from bot.core.messages import Message, TemplateMessage, clip, clipped, fits, in_words, violations
from bot.core.session import (
    BOT,
    CONTACT,
    HAS_OPTED_OUT,
    MOST_HISTORY,
    MOST_HISTORY_TEXT,
    Frame,
    Plan,
    Said,
    Session,
    ValidReplies,
    effect_ref,
    first_of_conversation,
)
from bot.core.turn import StepTaken, Trace
from bot.core.values import Record
from bot.engine.migration import edited_step
from bot.language.expressions.filters import DRAW, SIGNAL_ADDRESS, SIGNALS
from bot.language.expressions.grammar import HISTORY, WINDOW_OPEN
from bot.language.expressions.opening_hours import HOURS
from bot.language.expressions.sandbox import OWN_FUNCTIONS
from bot.language.expressions.template_failures import EFFORT, Effort
from bot.language.expressions.templates import TemplateFailed
from bot.language.flow.definition import LANGUAGE, Flow, Step
from bot.language.flow.library import Library
from bot.language.python.decorators import ERROR
from bot.language.source.languages import CONTACT_LANGUAGE, OWN_WORDINGS
from bot.language.source.wall_clock import in_zone, next_after, zone_of
from bot.language.steps.step_facts import StepFailed
from bot.language.steps.step_kind import Reply, ReplyId, StepContext
from bot.language.steps.step_options import Defaults
from bot.language.steps.transition import AGAIN, BACK, Assignment, Cleared
from bot.language.types.contact_zones import TIMEZONE
from bot.language.types.type_registry import TypeMismatch

Failure = StepFailed | TemplateFailed | TypeMismatch
FAILURES = (StepFailed, TemplateFailed, TypeMismatch)
"""The errors of flows while they run. If the step has an outcome for one, that is taken; else the conversation ends."""


MOST_FRAMES = 10
MOST_VALID = 20  # templates of one contact whose replies lead on from where they were sent
_NO_VALUES: Mapping[str, Any] = {}


class FlowBroken(BotError):
    """A flow asks for something impossible. The conversation ends, and the operator gets a dead letter."""


Locale = tuple[str | None, str | None]
OfFrame = tuple[dict[str, Any], dict[str, str], dict[str, int]]
Checkpoint = tuple[OfFrame, dict[str, Any], tuple[str, ...], tuple[Plan, ...], Locale]


class TurnContext:
    """The state of one turn. `Executor` decides where the contact goes."""

    def __init__(self, library: Library, session: Session, event: Event) -> None:
        self.session = session.copy()
        self._written_library = library  # in the language that the flows are written in
        self.keeps_history = library.keeps_history
        self.library = library.in_language(session.language)
        self.event = event
        self.now = event.at.astimezone(library.zone_of(session))
        self._scope = NameScope(library, event, self.now)
        self.effects: list[Effect] = []
        self.trace = Trace()
        self.ended: Frame | None = None  # the last frame that was removed
        self.expired = False  # ... because nobody answered
        self.start = ""  # what became of a flow that was to start
        self.failure: str | None = None  # reported to the operator, although the conversation continues
        self.failed: list[Any] = []  # the states in which steps have failed
        self.in_plain_text = False  # the refused message is sent as a plain text
        self.readings = 0  # of pieces of the message, as answers to slots
        self.parks_message = False  # the message waits, with others, until the active step is done
        self.drops_parked = False  # waiting messages are dropped, because the contact has gone elsewhere
        self.withheld = False  # a message was not sent, because the contact has opted out
        self.pending_input: Reply | None = None  # what the contact wrote, until a step takes it

    # -- where the contact is ---------------------------------------------------------------------

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
    def defaults(self) -> Defaults:
        """The defaults for the active step: its own; if an edit has removed the step, those of its flow; else the bot's."""
        frame = self.session.frame
        flow = None if frame is None else self.library.flows.get(frame.flow)
        return (self.known_step or flow or self.library.bot).defaults

    @property
    def where(self) -> str:
        """The active step, for people: ``flow/step``."""
        return f"{self.frame.flow}/{self.frame.step}"

    def note_contact(self, event: MessageReceived | Tapped) -> None:
        """Note that the contact has written: this opens the window, and may name the channel and the conversation."""
        session = self.session
        session.due_count = session.refusals = 0
        sent_at = min(event.sent_at, event.at)  # by the sender's clock: no message is written after it has come
        if session.last_inbound is None or sent_at > session.last_inbound:
            session.last_inbound = sent_at
        if isinstance(event, MessageReceived):
            session.channel = event.channel or session.channel
            session.conversation = event.conversation or session.conversation

    def remember_reply(self, text: str) -> None:
        """Add what the contact has sent to `history`, unless it is for an agent."""
        if self.session.agent is None:
            self._remember(CONTACT, text)

    def _remember(self, role: str, text: str) -> None:
        said = Said(role, clip(text, MOST_HISTORY_TEXT), self.event.at)
        self.session.history = (*self.session.history, said)[-MOST_HISTORY:]

    def note_unanswered(self, target: str | None, *, digression: bool = False) -> None:
        """Note a question that is left for this target without an answer: `back` returns to it.

        Leaving and returning does not change how often the question was repeated.
        """
        frame = self.session.frame
        if frame is not None and target not in (None, AGAIN, BACK) and self.step.facts.asks:
            frame.unanswered_question, frame.unanswered_retries = self.where, frame.retries if digression else 0
            frame.unanswered_below = ()

    def note_step(self, outcome: str | None = None, target: str | None = None) -> StepTaken:
        """Add the active step to the trace."""
        session = self.session
        frame = session.frames[-1]
        effects, splits = len(self.effects), session.splits
        taken = StepTaken(frame.flow, frame.step, outcome, target, effects=effects, visit=frame.visit, splits=splits)
        self.trace.steps.append(taken)
        return taken

    # -- the stack of frames: the contact's open flows, each opened by the one below it, or interrupting it --------------

    def push_flow(self, target: str, inputs: Mapping[str, Any], came_from: str | None, *, interrupts: bool) -> str:
        """Put a flow on top, with its inputs. Returns its first step. Raises `TypeMismatch`, and changes nothing then."""
        below, now = self.session.frames, self.event.at
        if not below:
            self.session.splits = {}
        if len(below) >= MOST_FRAMES:
            raise FlowBroken(f"more than {MOST_FRAMES} flows are open on top of each other")
        name, step = self._place(target)
        first = self.session.visit + 1
        frame = Frame(name, step, 0, now, now, first_visit=first, came_from=came_from, interrupts=interrupts)
        self.session.frames = (*below, frame)
        self.declare_variables()
        try:
            self.assign_values(inputs)
        except TypeMismatch:
            self.session.frames = below
            raise
        return step

    def switch_flow(self, target: str, *, alone: bool) -> str:
        """Let the active frame continue in another flow, with the conversation's variables. Returns the step to enter
        there.

        If that flow is open below, the conversation returns to it, with its own variables, and the flows above it
        end. Otherwise a word like "menu" would pile up flows to which nobody returns. ``alone``: the flows below it
        end, too, unless the conversation goes back to the question that it has left.
        """
        session, left = self.session, self.frame.flow
        name, step = self._place(target)
        depth = next((n for n in range(len(session.frames), 0, -1) if session.frames[n - 1].flow == name), None)
        session.frames = session.frames[:depth]
        if alone and len(session.frames) > 1:
            *below, top = session.frames
            session.frames = (top,)
            top.unanswered_below = tuple(below) if top.unanswered_question is not None else ()
        if name != left:
            self.frame.came_from = left
        if name != self.frame.flow:
            self.change_flow(name)
        return step

    def take_unanswered(self) -> str | None:
        """The question that was left without an answer, to return to it; what was open below it is open again."""
        frame, session = self.frame, self.session
        question, frame.unanswered_question = frame.unanswered_question, None
        below, frame.unanswered_below = frame.unanswered_below, ()
        session.frames = (*(replace(each) for each in below), *session.frames)
        return question

    def change_flow(self, name: str) -> None:
        """Let the active frame be one of another flow, with the conversation's variables."""
        frame, left = self.frame, self.library.flows.get(self.frame.flow)
        kept = {} if left is None else left.kept_values(frame.vars, self.session.kept_variables, self.now)
        frame.flow = name
        self.declare_variables(kept)

    def arrive(self, step: Step) -> None:
        """Begin a new visit of a step, in the active frame."""
        frame, session = self.frame, self.session
        session.visit += 1
        frame.step, frame.visit = step.name, session.visit
        frame.entered_at = frame.silent_since = self.event.at
        frame.fingerprint, frame.form = step.fingerprint, step.form
        frame.step_state, frame.awaited_effect, frame.deferred_result = {}, None, None
        frame.accepts_messages, frame.parked_messages, frame.gathers_since = False, 0, None
        frame.retries = frame.reminders = 0
        frame.question_undelivered = frame.asks_to_continue = False
        self.note_former_name(step)

    def note_former_name(self, step: Step) -> None:
        """Note the name of the active step before an edit. It is needed if the edit is taken back."""
        former = step.options.renamed_from
        if former is not None and former not in self.flow.steps:
            frame = self.frame
            frame.former_step_names = {**frame.former_step_names, f"{frame.flow}/{frame.step}": former}

    def pop_frame(self) -> Frame:
        """Remove the active frame."""
        ended = self.ended = self.frame
        self.session.frames = self.session.frames[:-1]
        return ended

    def drop_flow(self) -> None:
        """Remove the active flow and the flows that ran it: no conversation returns to them. A flow that they interrupted stays."""
        while self.session.frame is not None and not self.pop_frame().interrupts:
            continue

    def drop_copy(self, flow: str) -> None:
        """Remove an open copy of a flow that interrupts again, with the flows that it runs."""
        kept: list[Frame] = []
        dropping = False
        for n, frame in enumerate(self.session.frames):
            dropping = frame.flow == flow if n and frame.interrupts else dropping
            if not dropping:
                kept.append(frame)
        self.session.frames = tuple(kept)

    def go_back_to(self, flow: str) -> bool:
        """Return to a flow that is open below and interrupted nobody; the flows above it end. Returns False if there is none."""
        frames = self.session.frames
        depth = next((n for n, frame in enumerate(frames) if frame.flow == flow and not (n and frame.interrupts)), None)
        self.session.frames = frames if depth is None else frames[: depth + 1]
        return depth is not None

    def keep_replies(self, valid: timedelta) -> None:
        """Keep the active conversation as it is, so that the replies of the template that it has sent lead on from here."""
        session, now = self.session, self.event.at
        begun, visit = first_of_conversation(session.frames), self.frame.visit
        conversation = tuple(replace(frame) for frame in session.frames[begun:])
        others = (each for each in session.valid_replies if each.until > now and each.frames[-1].visit != visit)
        session.valid_replies = (*others, ValidReplies(now + valid, conversation))[-MOST_VALID:]

    def replies_to(self, flow: str, visit: int) -> ValidReplies | None:
        """The conversation that sent a template at this visit, while its replies are valid and the step still is what it was."""
        sent = ((kept, kept.frames[-1]) for kept in self._still_valid())
        return next((kept for kept, top in sent if (top.flow, top.visit) == (flow, visit)), None)

    def replies_with(self, title: str) -> ValidReplies | None:
        """The conversation that sent a template with a reply of this title; None where several did."""
        found = [kept for kept in self._still_valid() if title in self._titles_of(kept.frames[-1])]
        return found[0] if len(found) == 1 else None

    def _still_valid(self) -> Iterator[ValidReplies]:
        for kept in self.session.valid_replies:
            moved = any(edited_step(self.library, each).change.moves for each in kept.frames)
            if self.event.at < kept.until and not moved:
                yield kept

    def _titles_of(self, frame: Frame) -> set[str]:
        step = self.library.flows[frame.flow].steps[edited_step(self.library, frame).step]
        return {answer.owner for answer in step.facts.answers}

    def return_to_conversation(self, kept: ValidReplies) -> bool:
        """Put a conversation on top as it was. A copy of its flow that is open ends, with the flows above it, else the active flow
        is interrupted. Returns False if it lets nothing interrupt it, or too many flows are open.
        """
        frames, flow = tuple(replace(frame) for frame in self.session.frames), kept.frames[0].flow
        copy = next((n for n, frame in enumerate(frames) if frame.flow == flow and (frame.interrupts or not n)), None)
        own = bool(frames) and frames[first_of_conversation(frames)].flow == flow
        if frames and not own and self.flow.interrupted is None:
            return False
        if copy is not None:
            self.remove_step_tags(frames[copy:])
            self.session.frames = frames[:copy]
        elif frames and self.flow.interrupted == "drop":
            self.remove_step_tags(frames[-1:])
            self.drop_flow()
        self.make_room()
        below = self.session.frames
        if len(below) + len(kept.frames) > MOST_FRAMES:
            return False
        first, *above = (replace(frame) for frame in kept.frames)
        first.interrupts = bool(below)
        self.session.frames = (*below, first, *above)
        top, step = self.frame, edited_step(self.library, self.frame).step
        top.step, top.entered_at, top.silent_since = step, self.event.at, self.event.at
        top.fingerprint = self.step.fingerprint
        return True

    def make_room(self) -> None:
        """If the stack is full, drop the flow that was interrupted first, with the flows that ran it."""
        frames = self.session.frames
        oldest = next((n for n, frame in enumerate(frames) if n and frame.interrupts), None)
        if len(frames) >= MOST_FRAMES and oldest is not None:
            frames[oldest].interrupts = False
            self.session.frames = frames[oldest:]

    def remove_step_tags(self, frames: Iterable[Frame]) -> None:
        """Remove the tags that these frames' steps have set while they wait."""
        if not self.session.tags:
            return
        gone = {frame.step_state.get("tag") for frame in frames}
        self.session.tags = tuple(tag for tag in self.session.tags if tag not in gone)

    def end_all(self) -> None:
        """End all flows of the contact."""
        self.remove_step_tags(self.session.frames)
        self.ended = self.session.frame or self.ended
        self.session.frames = ()

    def _place(self, target: str) -> tuple[str, str]:
        name, _, step = target.removeprefix("/").partition("/")
        return name, step or self.library.flows[name].first

    # -- what texts and steps see -----------------------------------------------------------------

    def scope(self) -> Mapping[str, Any]:
        """The names for templates and expressions: the built-in ones and the active flow's variables."""
        return self._scope.of(self.session, self.library)

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
            self.pending_input,
            frame.parked_messages > 0,
        )

    # -- variables and tags -----------------------------------------------------------------------

    def declare_variables(self, kept: Mapping[str, Any] = _NO_VALUES) -> None:
        """Give each declared variable of the active flow its first value, unless the conversation brought a value that fits.

        ``kept`` are the kept variables of the flow that was left, which the frame does not have.
        """
        frame, flow = self.frame, self.flow
        values = {name: variable.value for name, variable in flow.variables.items() if not variable.keep}
        for name, value in {**kept, **frame.vars}.items() if kept else frame.vars.items():
            if name in values:
                with suppress(TypeMismatch):
                    values[name] = flow.variables[name].coerce(value, self.now)
        brought, frame.vars = frame.vars, {**frame.vars, **values}
        for name in flow.kept.keys() & brought.keys():
            del frame.vars[name]
            if brought[name] is not None:
                with suppress(TypeMismatch):
                    self.assign(name, brought[name])

    def values_of(self, frame: Frame) -> dict[str, Any]:
        """All values that a frame has, with those that its flow keeps with the contact."""
        return self.library.values_of(frame, self.session, self.now)

    def assign(self, name: str, value: Any) -> None:
        """Give a variable its value. Raises `TypeMismatch`."""
        if name == LANGUAGE and self.library.bot.languages:
            self._set_language(value)
            return
        if name == TIMEZONE and self.library.bot.contact_timezones:
            self._set_timezone(value)
            return
        frame = self.frame
        flow = self.library.flows.get(frame.flow)  # an edit may have removed it, while its variables stay
        variable = None if flow is None else flow.variables.get(name)
        value = value if variable is None else variable.coerce(value, self.now)
        if variable is not None and variable.keep:
            self.session.kept_variables = {**self.session.kept_variables, name: value}
        else:
            frame.vars = {**frame.vars, name: value}

    def assign_values(self, values: Mapping[str, Any]) -> None:
        """Give variables their values. Raises `TypeMismatch`."""
        for name, value in values.items():
            self.assign(name, value)

    def assign_all(self, assignments: Iterable[Assignment], scope: Mapping[str, Any]) -> None:
        """Assign values, each of which is evaluated before any is assigned. Raises a `Failure`."""
        values = [(item.name, item.evaluate(scope)) for item in assignments]
        for name, value in values:
            self.assign(name, value)

    def forget(self, cleared: Iterable[Cleared], target: str) -> None:
        """Take kept variables back to their first value, before the flow of a target is opened that declares them."""
        kept = self.library.flows[self._place(target)[0]].kept
        gone = {variable.name for item in cleared for variable in item.among(kept)}
        self.session.kept_variables = {
            name: value for name, value in self.session.kept_variables.items() if name not in gone
        }

    def _set_language(self, language: Any) -> None:
        """Set the contact's language."""
        if language not in self.library.bot.languages:
            raise TypeMismatch(f"it is none of {', '.join(self.library.bot.languages)}")
        self.session.language = language
        self.library = self._written_library.in_language(language)

    def _set_timezone(self, zone: Any) -> None:
        """Set the contact's time zone. Schedules that repeat by the clock keep their hour in it. Raises `TypeMismatch`."""
        session = self.session
        session.timezone = None if zone is None else self.library.bot.common[TIMEZONE].coerce(zone, self.now)
        self.now = self.event.at.astimezone(self.library.zone_of(session))
        self._scope.move_to(self.now)
        session.plans = tuple(
            plan if plan.every is None else replace(plan, at=next_after(plan.every, self.now)) for plan in session.plans
        )

    def tag(self, tag: str) -> None:
        """Tag the contact."""
        if tag and tag not in self.session.tags:
            self.session.tags = (*self.session.tags, tag)

    def untag(self, tag: str) -> None:
        """Remove a tag of the contact's."""
        self.session.tags = tuple(other for other in self.session.tags if other != tag)

    def checkpoint(self) -> Checkpoint:
        """Everything that leaving a step may change: for `roll_back`."""
        session, frame = self.session, self.frame
        place = session.language, session.timezone
        return (frame.vars, frame.ahead, frame.visit_counts), session.kept_variables, session.tags, session.plans, place

    def roll_back(self, before: Checkpoint) -> None:
        """Undo these changes: the step was not left after all."""
        session, frame = self.session, self.frame
        of_frame, session.kept_variables, session.tags, plans, (session.language, zone) = before
        frame.vars, frame.ahead, frame.visit_counts = of_frame
        self.library = self._written_library.in_language(session.language)
        if session.timezone != zone:
            self._set_timezone(zone)
        session.plans = plans

    # -- effects ----------------------------------------------------------------------------------

    @property
    def keeps_quiet(self) -> bool:
        """True if the contact has opted out and did not ask for the message that would be sent now."""
        return self.session.unsolicited and self.session.opted_out

    def send(self, message: Message, *, report: bool = False) -> str | None:
        """Send a message, shortened to the gateway's limits. Returns the effect's name. Raises `StepFailed`.

        None: it is not sent, because the contact has opted out and did not ask for it.
        """
        if self.keeps_quiet:
            self.withheld = True
            self.trace.notes.append(f"not sent: {HAS_OPTED_OUT}")
            return None
        if not fits(message) and (broken := violations(message := clipped(message))):
            raise StepFailed("failed", f"a message that the gateway does not take: {'; '.join(broken)}")
        if self.keeps_history:
            self._remember(BOT, in_words(message))
        instead = None if isinstance(message, TemplateMessage) else self._template_instead()
        return self.add_effect(Send(message, instead, report))

    def add_effect(self, effect: Effect) -> str:
        """Add an effect. Returns its name."""
        self.effects.append(effect)
        return effect_ref(self.event.id, len(self.effects) - 1)

    def let_happen(self, event: StartRequested | SignalReceived) -> None:
        """Add that something happens to another contact; its name and time follow from this turn's."""
        self.add_effect(EmitEvent(replace(event, id=effect_ref(self.event.id, len(self.effects)), at=self.event.at)))

    def _template_instead(self) -> TemplateMessage | None:
        """The template that replaces the message when the window is closed: the step's, the flow's or the bot's."""
        notice = self.defaults.window_closed
        if notice is None:
            return None
        try:
            return notice.message(self.scope())
        except TemplateFailed as failed:
            self.trace.problem(f"window_closed: {failed}")
            return None

    def call_hooks(self, event: str, flow: str | None, **told: Any) -> None:
        """Call the hooks for an event, those of this flow and those of all, and deliver it if `bot.yml` asks for that.
        Both are done by effects, so that a crash loses none.
        """
        self.publish(event, flow=flow, **told)
        for hook in self.library.hooks:
            if hook.event == event and hook.flow in (None, flow):
                self.add_effect(
                    RunHook(hook.name, {"contact": self.session.contact, "at": self.now, "flow": flow, **told})
                )

    def publish(self, event: str, **data: Any) -> None:
        """Deliver an event to the address under `events_to`, if it is one of those that go there."""
        receiver = self.library.bot.events_to
        if receiver is not None and event in receiver.on:
            self.add_effect(Publish(event, self.event.at, data))

    def refuse(self, failed: Failure) -> None:
        """Report to the operator why something that was asked for does not happen."""
        self.failure = str(failed)
        self.trace.problem(self.failure)

    def call_error_hooks(self, reason: str) -> None:
        """Call the error hooks: something failed at the active step, and it has no transition for this error by its name."""
        frame = self.session.frame
        flow, step = (None, None) if frame is None else (frame.flow, frame.step)
        self.call_hooks(ERROR, flow, step=step, reason=reason)


class NameScope:
    """The names for a turn's templates and expressions. They are made again when one of them has changed.

    ``now`` is the event's time in the bot's time zone, or the contact's. Values are replaced and never changed in place, so comparing
    identities is enough.
    """

    def __init__(self, library: Library, event: Event, now: datetime) -> None:
        self._library = library  # with its own Python and random numbers, whatever the language
        self._event = event
        self._now = now
        self._draws = 0
        self._effort = Effort()
        self._about: tuple[Any, ...] = (None,) * 6
        self._within: tuple[Any, ...] = (None,) * 4
        self._kept: tuple[Any, Any, Mapping[str, Any]] = None, None, _NO_VALUES
        self._built_in: dict[str, Any] = {}
        self._names: dict[str, Any] = {}

    def move_to(self, now: datetime) -> None:
        """The contact's time zone has changed: the same moment is ``now`` in another one."""
        self._now = now
        self._about = (None,) * 6
        self._kept = None, None, _NO_VALUES

    def of(self, session: Session, library: Library) -> Mapping[str, Any]:
        """The names as a session sees them, in the language of a library."""
        self._session = session
        name, email, tags, language, history, spoken = self._about
        if not (
            library is spoken
            and session.tags is tags
            and session.language is language
            and session.name is name
            and session.email is email
            and session.history is history
        ):
            self._about = session.name, session.email, session.tags, session.language, session.history, library
            self._within = (None,) * 4
            self._built_in = self._built_in_names(session, library)
        frame = session.frames[-1] if session.frames else None
        if frame is None:
            return self._built_in
        values, flow, came_from, kept = self._within
        if not (
            frame.vars is values
            and session.kept_variables is kept
            and frame.flow is flow
            and frame.came_from is came_from
        ):
            self._within = frame.vars, frame.flow, frame.came_from, session.kept_variables
            self._names = self._names_in(frame, session.kept_variables, library)
        return self._names

    def _built_in_names(self, session: Session, library: Library) -> dict[str, Any]:
        names: dict[str, Any] = {
            "contact": _contact(session),
            "now": self._now,
            "today": self._now.date(),
            "came_from": None,
            "message": self._message(),
            WINDOW_OPEN: session.window_is_open(self._event.at),
            DRAW: self._draw,
            EFFORT: self._effort,
            OWN_FUNCTIONS: self._library.own,
            HOURS: library.bot.hours,
            SIGNALS: library.bot.signals,
            SIGNAL_ADDRESS: self._address,
            OWN_WORDINGS: library.bot.wordings,
        }
        if self._library.keeps_history:
            names[HISTORY] = [_said(said, self._now) for said in session.history]
        if library.bot.languages:
            names[LANGUAGE] = names[CONTACT_LANGUAGE] = _language(session, library.bot.languages)
        if library.bot.contact_timezones:
            names[TIMEZONE] = str(self._now.tzinfo)
        return names

    def _names_in(self, frame: Frame, kept: Mapping[str, Any], library: Library) -> dict[str, Any]:
        flow = library.flows.get(frame.flow)
        if flow is None:  # an edit has removed it
            return {**self._built_in, "came_from": frame.came_from}
        given = {**kept, **frame.vars} if kept else frame.vars  # an edit may have made a kept variable the frame's
        values = given
        if flow.kept or given.keys() != flow.variables.keys():
            values = {name: given.get(name, variable.value) for name, variable in flow.variables.items()}
        if flow.kept:
            values.update(self._kept_values(flow, frame, kept))
        if library.bot.contact_timezones:  # the contact may have moved since the value was saved
            zone = zone_of(self._now)
            values = {
                name: in_zone(value, zone) if type(value) is datetime else value for name, value in values.items()
            }
        return {**self._built_in, "came_from": frame.came_from, **values}

    def _kept_values(self, flow: Flow, frame: Frame, kept: Mapping[str, Any]) -> Mapping[str, Any]:
        if not (self._kept[0] is flow and self._kept[1] is kept):
            self._kept = flow, kept, flow.kept_values(frame.vars, kept, self._now)
        return self._kept[2]

    def _message(self) -> Record:
        """What the contact sent or tapped in this turn; its values are null for other events."""
        event = self._event
        text: str | None = None
        kind: str | None = None
        tapped = isinstance(event, Tapped)
        match event:
            case MessageReceived(kind="text"):
                tapped = ReplyId.parse(event.text or "") is not None  # a tap may come as its id (docs/decisions.md)
                text, kind = None if tapped else event.text, event.kind
            case MessageReceived():
                text = event.text if event.transcribed else None
                kind = event.kind if event.kind in MESSAGE_KINDS else "other"
            case Tapped():
                text, kind = event.title, "text"
        return Record("message", {"text": text, "kind": kind, "tapped": tapped})

    def _address(self, signal: str) -> str | None:
        """The address by which a signal reaches the active run; None where there is none."""
        session = self._session
        if not session.frames:
            return None
        return self._library.addresses.address(signal, session.contact, session.frames[-1].first_visit, session.visit)

    def _draw(self) -> float:
        """The turn's next random number."""
        self._draws += 1
        return self._library.draw(f"{self._event.id}/{self._draws}")


def _contact(session: Session) -> Record:
    fields = {"id": session.contact, "name": session.name, "email": session.email, "tags": list(session.tags)}
    return Record("contact", fields)


def _said(said: Said, now: datetime) -> Record:
    fields = {"role": said.role, "text": said.text, "at": said.at.astimezone(now.tzinfo)}
    return Record("message", fields)


def _language(session: Session, languages: tuple[str, ...]) -> str:
    """The contact's language, if the bot still speaks it; else the language of the flows."""
    return session.language if session.language in languages else languages[0]
