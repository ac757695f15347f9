"""The state of one turn: a copy of the session, the trace, the result so far, and the names for templates.

The functions that change it are modules of their own: `bot.engine.frame_stack` for the open flows,
`bot.engine.contact_values` for variables and tags, `bot.engine.turn_effects` for messages, `bot.engine.valid_replies`
for earlier templates.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from bot.core.errors import BotError
from bot.core.events import Event, MessageReceived, Tapped
from bot.core.immutable import mutable
from bot.core.session import Frame, Session, first_of_conversation, left_exchange
from bot.core.turn import StepTaken, Trace, TurnBuilder
from bot.core.values import Media
from bot.engine.name_scope import NameScope
from bot.language.expressions.templates import TemplateFailed
from bot.language.flow.definition import Flow, Step
from bot.language.flow.library import Library
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
        self._scope = NameScope(library, event, self.now)
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
            min(event.sent_at, event.at) if isinstance(event := self.event, MessageReceived | Tapped) else None,
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
        self._scope.move_to(self.now)
