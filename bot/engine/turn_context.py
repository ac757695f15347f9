"""A turn while it is being worked out: a copy of the session, the effects so far, and the trace."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from bot.core.effects import Effect, Send, effect_ref
from bot.core.events import Event, MessageReceived, Tapped
from bot.core.messages import Message, TemplateMessage, clipped, violations
from bot.core.session import HAS_OPTED_OUT, Frame, Plan, Session
from bot.core.turn import Trace
from bot.engine.scope import Scope
from bot.flow.definition import LANGUAGE, Flow, Step
from bot.flow.library import Library
from bot.lang.templates import TemplateFailed
from bot.lang.variables import Mismatch
from bot.steps.kind import Reply, StepContext, StepFailed
from bot.steps.step_options import Defaults
from bot.steps.transition import Assignment

Given = tuple[dict[str, Any], dict[str, Any], tuple[str, ...], tuple[Plan, ...], str | None]


class TurnContext:
    """What a turn reads and writes; where it goes is `Executor`'s affair."""

    def __init__(self, library: Library, session: Session, event: Event) -> None:
        self.session = session.copy()
        self._all = library
        self.library = library.in_language(session.language)
        self.event = event
        self.now = event.at.astimezone(library.bot.timezone)
        self._scope = Scope(library, event, self.now)
        self.effects: list[Effect] = []
        self.trace = Trace()
        self.ended: Frame | None = None  # the last one that was taken away
        self.expired = False  # ... because nobody answered
        self.failure: str | None = None  # what the operator is told of, although the conversation goes on
        self.failed: list[Any] = []  # the states in which steps have failed
        self.in_plain_text = False  # the message that was refused goes as a plain text
        self.parks_message = False  # the message waits, with others, until the active step is done
        self.drops_parked = False  # what waits so is not taken: the contact has gone elsewhere
        self.withheld = False  # a message was not sent, since the contact has opted out
        self.pending_input: Reply | None = None  # what the contact wrote, until a step takes it

    @property
    def frame(self) -> Frame:
        """The active frame; only where there is one."""
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
        """What holds where the contact is: at the step; where an edit removed that, in its flow; else in the bot."""
        frame = self.session.frame
        flow = None if frame is None else self.library.flows.get(frame.flow)
        return (self.known_step or flow or self.library.bot).defaults

    @property
    def where(self) -> str:
        """The active step, for people."""
        return f"{self.frame.flow}/{self.frame.step}"

    def note_contact(self, event: MessageReceived | Tapped) -> None:
        """A sign of life: it opens the window, and may tell the channel and the conversation."""
        session = self.session
        session.due_count = session.refusals = 0
        sent_at = min(event.sent_at, event.at)  # by the sender's clock: nobody writes after it has come
        if session.last_inbound is None or sent_at > session.last_inbound:
            session.last_inbound = sent_at
        if isinstance(event, MessageReceived):
            session.channel = event.channel or session.channel
            session.conversation = event.conversation or session.conversation

    def scope(self) -> Mapping[str, Any]:
        """What templates and expressions see: the built-in names and the active flow's variables."""
        return self._scope.of(self.session, self.library)

    def step_context(self) -> StepContext:
        """The active step's view of the session."""
        frame, variables = self.frame, self.flow.variables
        if self.library.bot.common:
            variables = {**variables, **self.library.bot.common}
        is_open, scope = self.session.window_is_open(self.event.at), self.scope()
        seen = frame.step_state, self.pending_input, is_open, frame.parked_messages > 0
        return StepContext(frame.flow, frame.step, frame.visit, self.now, scope, variables, *seen)

    def declare(self) -> None:
        """A declared variable of the active flow starts at its value, unless the conversation brought one that fits."""
        frame, variables = self.frame, self.flow.variables
        values = {name: variable.value for name, variable in variables.items()}
        brought = {
            name: value
            for name, value in self.session.kept_variables.items()
            if name in values and variables[name].keep
        }
        for name, value in {**brought, **frame.vars}.items():
            if name in values:
                with suppress(Mismatch):
                    values[name] = variables[name].coerce(value, self.now)
        frame.vars = {**frame.vars, **values}

    def assign(self, name: str, value: Any) -> None:
        """Give a variable its value. Raises `Mismatch`."""
        if name == LANGUAGE and self.library.bot.languages:
            self._speak(value)
            return
        flow = self.library.flows.get(self.frame.flow)  # an edit may have removed it, while its variables go on
        variable = None if flow is None else flow.variables.get(name)
        value = value if variable is None else variable.coerce(value, self.now)
        self.frame.vars = {**self.frame.vars, name: value}
        if variable is not None and variable.keep:
            self.session.kept_variables = {**self.session.kept_variables, name: value}

    def give(self, values: Mapping[str, Any]) -> None:
        """Give variables their values. Raises `Mismatch`."""
        for name, value in values.items():
            self.assign(name, value)

    def given(self) -> Given:
        """What leaving a step may give: for `take_back`."""
        session = self.session
        return self.frame.vars, session.kept_variables, session.tags, session.plans, session.language

    def take_back(self, before: Given) -> None:
        """Leave nothing given since then: the step was not left after all."""
        session = self.session
        self.frame.vars, session.kept_variables, session.tags, session.plans, session.language = before
        self.library = self._all.in_language(session.language)

    def _speak(self, language: Any) -> None:
        """The contact's language from now on."""
        if language not in self.library.bot.languages:
            raise Mismatch(f"it is none of {', '.join(self.library.bot.languages)}")
        self.session.language = language
        self.library = self._all.in_language(language)

    def assign_all(self, assignments: Iterable[Assignment], scope: Mapping[str, Any] | None = None) -> None:
        """Do a `set`: every value is worked out before any is given."""
        assignments = tuple(assignments)
        if not assignments:
            return
        scope = self.scope() if scope is None else scope
        values = [(item.name, item.evaluate(scope)) for item in assignments]
        for name, value in values:
            self.assign(name, value)

    def tag(self, tag: str) -> None:
        """Tag the contact."""
        if tag and tag not in self.session.tags:
            self.session.tags = (*self.session.tags, tag)

    def untag(self, tag: str) -> None:
        """Take a tag of the contact's away."""
        self.session.tags = tuple(other for other in self.session.tags if other != tag)

    def leave(self, frames: Iterable[Frame]) -> None:
        """Take away the tags that stood for being at these frames' steps."""
        gone = {frame.step_state.get("tag") for frame in frames}
        self.session.tags = tuple(tag for tag in self.session.tags if tag not in gone)

    def end_all(self) -> None:
        """End everything that the contact is in."""
        self.leave(self.session.frames)
        self.ended = self.session.frame or self.ended
        self.session.frames = ()

    @property
    def keeps_quiet(self) -> bool:
        """True for a contact who has opted out, and did not ask for what would be sent now."""
        return self.session.opted_out and self.session.unsolicited

    def send(self, message: Message, *, report: bool = False) -> str | None:
        """Send a message, shortened to the gateway's limits; the effect's name. Raises `StepFailed`.

        None: it is not sent, since the contact has opted out and did not ask for it.
        """
        if self.keeps_quiet:
            self.withheld = True
            self.trace.notes.append(f"not sent: {HAS_OPTED_OUT}")
            return None
        message = clipped(message)
        broken = violations(message)
        if broken:
            raise StepFailed("failed", f"a message that the gateway does not take: {'; '.join(broken)}")
        instead = None if isinstance(message, TemplateMessage) else self._instead()
        return self.do(Send(message, instead, report))

    def do(self, effect: Effect) -> str:
        """Decide on an effect; its name."""
        self.effects.append(effect)
        return effect_ref(self.event.id, len(self.effects) - 1)

    def _instead(self) -> TemplateMessage | None:
        """The template that goes when the window is shut: the step's, the flow's or the bot's."""
        notice = self.defaults.window_closed
        if notice is None:
            return None
        try:
            return notice.message(self.scope())
        except TemplateFailed as failed:
            self.trace.notes.append(f"window_closed: {failed}")
            return None
