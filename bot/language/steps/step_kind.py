"""The base class of all kinds of step, with the context that a step sees and the results that it returns."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar, Self

from bot.core.effects import AskModel, Call, EmitEvent, Fetch, HttpRequest, JudgeAnswer
from bot.core.events import (
    CallEnded,
    CallProgressed,
    ColleagueDecided,
    ConversationAssigned,
    HandoffClosed,
    MessageReceived,
    SendEnded,
    SignalReceived,
    StartRequested,
    Tapped,
)
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import Message, TextMessage, in_plain_text
from bot.core.session import LeftExchange, TeamQuestion
from bot.core.values import Location, Media, dumps
from bot.core.waits import AskedMessage, ForEffect, FrameWait
from bot.language.expressions.opening_hours import Hours
from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import KeySet
from bot.language.keys.fields import Fields
from bot.language.python.decorators import HandlerSpec
from bot.language.source.languages import CONTACT_LANGUAGE
from bot.language.source.problems import Problems
from bot.language.source.word_matching import normalise
from bot.language.steps.ai_settings import AiSettings
from bot.language.steps.http_services import HttpService
from bot.language.steps.mcp_servers import McpServer
from bot.language.steps.step_facts import Spends, StepFacts
from bot.language.steps.template_message import TemplateToSend
from bot.language.steps.transition import Transition
from bot.language.types.type_registry import Variable

_REPLY_ID = lazy_pattern("([^/]*)/([^/]*)/([0-9]{1,3})/([0-9]{1,18})/([^/]{8})(?:/(.+))?", re.DOTALL)


@immutable
class ReplyId:
    """The id of a choice's button: it names the question and the choice, so that an old tap never chooses something
    else.

    Written ``flow/step/choice/visit/hash``, well under the gateway's 256 characters: names have 64 at most. The flow's
    own ``payload`` follows, if the button has one: ``flow/step/choice/visit/hash/PAY:17``.
    """

    flow: str
    step: str
    choice: int
    visit: int
    hash: str
    payload: str | None = None

    def __str__(self) -> str:
        return _reply_id(self.flow, self.step, self.choice, self.visit, self.hash, self.payload)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read an id of ours; None when it is somebody else's."""
        found = _REPLY_ID.fullmatch(text)
        if found is None:
            return None
        flow, step, choice, visit, hashed, payload = found.groups()
        return cls(flow, step, int(choice), int(visit), hashed, payload)


def _reply_id(flow: str, step: str, choice: int, visit: int, hashed: str, payload: str | None) -> str:
    id = f"{flow}/{step}/{choice}/{visit}/{hashed}"
    return f"{id}/{payload}" if payload else id


def payload_of(id: str) -> str:
    """The payload in a button's id; the id itself if there is none."""
    reply = ReplyId.parse(id)
    return id if reply is None or reply.payload is None else reply.payload


def value_hash(title: str, value: Any) -> str:
    """Eight hex digits that tell what a choice stood for when it was shown."""
    return _remembered_hash(title, value) if value is None or isinstance(value, str) else _hash(title, value)


def _hash(title: str, value: Any) -> str:
    return hashlib.sha256(dumps([title, value]).encode(errors="surrogatepass")).hexdigest()[:8]


_remembered_hash = lru_cache(maxsize=4096)(_hash)  # most choices are shown again and again


def _letters(text: str) -> str:
    """The text without case, accents, punctuation and spaces; a text of nothing else stays itself."""
    return normalise(text.replace("_", " ")).replace(" ", "")


@immutable
class Reply:
    """A contact's message, as steps see it. ``tap`` is set when it was a tap on one of our own ids.

    ``payload`` is that of a tap on a button that is not ours, and ``text`` its title. If the gateway reports only the
    title, the payload is empty, or the title in other spelling.
    """

    text: str | None = None
    tap: ReplyId | None = None
    media: Media | None = None
    location: Location | None = None
    payload: str | None = None
    files: tuple[Media, ...] = ()  # of the messages that it is made of, if there are several
    kind: str = ""  # of a message that is no text, as the gateway calls it

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that may be compared with words: what was written, or a button's title and payload."""
        if not self.payload:
            return (self.text,) if self.text else ()
        return (self.text, self.payload) if self.text else (self.payload,)

    @property
    def named(self) -> str | None:
        """The payload of the tapped button, else the text: some gateways report a tap as a text (docs/decisions.md)."""
        return (self.payload or self.text) if self.tap is None else self.tap.payload

    @property
    def is_foreign(self) -> bool:
        """True for a tap on a button that no step has shown: its title says nothing to the waiting question.

        A payload that a gateway has made of the title (``see_menu`` of "See menu") says no more than the title.
        """
        if not self.payload:
            return False
        return self.text is None or _letters(self.payload) != _letters(self.text)

    @property
    def is_tap(self) -> bool:
        """True for a tap, also if only its title is known. Then it may be on a button of the waiting question."""
        return self.tap is not None or self.payload is not None


def reply_of(event: MessageReceived | Tapped) -> Reply:
    """The reply for steps. A quick reply may come as a tap or as text (docs/decisions.md)."""
    if isinstance(event, Tapped):
        tap = ReplyId.parse(event.reply)
        return Reply(text=event.title or event.reply, payload=event.reply) if tap is None else Reply(tap=tap)
    if event.kind == "text":
        tap = ReplyId.parse(event.text or "")
        return Reply(text=event.text, files=event.files) if tap is None else Reply(tap=tap)
    if event.kind == "location" and event.location is None:
        return Reply(text=event.text)
    if event.transcribed and event.text is not None:
        return Reply(text=event.text)
    return Reply(media=event.media, location=event.location, kind=event.kind)


@immutable
class FlowEnded:
    """The flow that a `run` step opened has ended; ``failed``: because a step of it failed."""

    expired: bool
    vars: Mapping[str, Any]
    failed: bool = False


Awaited = CallEnded | CallProgressed | SendEnded | ConversationAssigned | HandoffClosed | FlowEnded | ColleagueDecided
"""The events that end, or cut short, a wait for something other than the contact."""


@immutable
class StepContext:
    """A step's view of the session while it is entered or takes a reply. The step changes nothing of it."""

    flow: str
    step: str
    visit: int
    now: datetime  # in the bot's time zone
    names: Callable[[], Mapping[str, Any]]
    window_is_open: Callable[[datetime], bool]
    variables: Mapping[str, Variable]
    step_state: Mapping[str, Any]  # what the step remembered when it began to wait
    waits: FrameWait | None = None  # what it has waited for; None: it is entered
    pending_input: Reply | None = None  # what the contact wrote, where no step has taken it yet
    only_starts: bool = False  # what the contact wrote is only a word that starts the flow, or a greeting
    more: bool = False  # more messages are parked until the step has what it waits for
    above: str = ""  # a text to put above the question
    written_at: datetime | None = None  # when the contact wrote the message of this turn, by the gateway's clock
    event: str = ""  # the id of the turn's event
    left_exchange: LeftExchange | None = None  # what the contact and a model said here before the step was last left
    chosen_language: str | None = None  # the contact's, if one was chosen
    team_question: TeamQuestion | None = None  # the step's, which is open or was decided just now

    @property
    def scope(self) -> Mapping[str, Any]:
        """The names that templates and expressions see."""
        return self.names()

    @property
    def contact_language(self) -> str | None:
        """The contact's language, as a code such as ``pt-BR``; None if it is not known."""
        return self.scope.get(CONTACT_LANGUAGE)

    def text(self, template: Template) -> str:
        """The rendered text. The names are asked for only if it has templates. Raises `TemplateFailed`."""
        return template.source if template.constant else template.render(self.names())

    def reply_id(self, choice: int, hashed: str, payload: str | None = None) -> str:
        """The `ReplyId` of a choice of this visit, as it is written."""
        return _reply_id(self.flow, self.step, choice, self.visit, hashed, payload)

    @property
    def window_open(self) -> bool:
        """True if a message that is no template can be sent now."""
        return self.window_is_open(self.now)


def asked_message(context: StepContext) -> AskedMessage:
    """The message that a model is asked about, at a step that waits for its answer."""
    assert isinstance(context.waits, ForEffect) and context.waits.about is not None
    return context.waits.about


NOTHING = object()


@immutable
class LeaveStep:
    """Leave by an outcome: `save`, `set` and the transition follow.

    ``sets`` are values for the flow's variables, by name. ``pending_input`` is what the contact wrote, for the next
    step to take. ``as_set``: ``sets`` are the values of the step's own `set`, which is not evaluated again. ``happens``
    are events for other contacts, still without ids and times. ``known`` is what templates of the transition see beside
    the rest. ``conditions`` and ``notes`` are for the trace. ``judged`` asks for verdicts on the model's answer.
    ``valid`` is how long a tap on its buttons still leads on from here. ``step_state`` is the state at the end, if it
    has changed.
    """

    outcome: str
    messages: tuple[Message, ...] = ()
    saved: Any = NOTHING
    sets: Mapping[str, Any] = field(default_factory=dict)
    as_set: bool = False
    pending_input: Reply | None = None
    known: Mapping[str, Any] = field(default_factory=dict)
    conditions: tuple[tuple[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    judged: tuple[JudgeAnswer, ...] = ()
    happens: tuple[StartRequested | SignalReceived, ...] = ()
    valid: timedelta | None = None
    step_state: Mapping[str, Any] | None = None


@immutable
class _Waiting:
    """The base of all results that stay at the step, which continues with its ``step_state``."""

    messages: tuple[Message, ...] = ()
    step_state: Mapping[str, Any] = field(default_factory=dict)
    sets: Mapping[str, Any] = field(default_factory=dict)  # values for the flow's variables, by name
    notes: tuple[str, ...] = ()  # for the trace
    judged: tuple[JudgeAnswer, ...] = ()  # the verdicts that are asked for on the model's answer
    # how long a tap leads on from here, also when the conversation no longer waits here
    valid: timedelta | None = None
    to_team: TeamQuestion | None = None  # a question to the team, while the step goes on


@immutable
class WaitHere(_Waiting):
    """Wait for the contact.

    ``undelivered``: the contact has not got the step's message. Their next one is no answer: it brings the question.
    """

    undelivered: bool = False


@immutable(kw_only=True)
class WaitForEffect(_Waiting):
    """Wait for the end of a call, a request, a model's answer or a run at a shared record.

    ``listens``: words and taps are heard meanwhile, and `StepKind.answer` gets what the contact writes. ``about``: the
    message about which a model is asked.
    """

    effect: Call | Fetch | AskModel | HttpRequest | EmitEvent
    listens: bool = False
    about: AskedMessage | None = None


@immutable
class WaitForSend(_Waiting):
    """Wait until the gateway has taken the last of the messages, or refused it."""


@immutable
class KeepWaiting(_Waiting):
    """Go on waiting for the same effect, after a part of a model's answer."""


@immutable(kw_only=True)
class RunFlow(_Waiting):
    """Open a flow in a frame of its own, with these inputs, and wait until it has ended."""

    flow: str
    inputs: Mapping[str, Any]


@immutable(kw_only=True)
class WaitUntil(_Waiting):
    """Wait until a point in time; ``lasts`` is the duration from which it was computed, if it was."""

    until: datetime
    lasts: timedelta | None = None


@immutable(kw_only=True)
class SetAside(_Waiting):
    """Set the conversation aside under a title, until a point in time: it is kept for the duration ``lasts``."""

    title: str
    until: datetime
    lasts: timedelta


@immutable(kw_only=True)
class HandOver(_Waiting):
    """Wait for a person of the ``team``, with a ``note`` for them.

    The contact has the team's tag until the step is left. The hooks for hand-overs are called.
    """

    team: str
    note: str | None = None


@immutable
class PostponeMessage:
    """Change nothing: the message is parked until the step has what it waits for. ``rule`` is for the trace."""

    rule: str = "kept until the model has answered"


@immutable
class Redirect:
    """End the flow, and offer a ``message`` to the conversation without it: as a start of ``flow``; else, ``anew``, as
    one that has just come; else with the answers to slots that were ``found`` in it, by step; else to the handlers
    after all starts. ``draft``: instead of that, continue this draft of the contact; 0: begin the flow below anew.
    ``outcome``, ``notes`` and ``problem`` are for the trace.
    """

    outcome: str
    message: Reply | None
    flow: str | None = None
    anew: bool = False
    found: Mapping[str, str] | None = None
    draft: int | None = None
    notes: tuple[str, ...] = ()
    problem: str = ""


Waits = WaitHere | WaitForEffect | WaitForSend | KeepWaiting | RunFlow | WaitUntil | SetAside | HandOver
StepResult = LeaveStep | Waits | PostponeMessage | Redirect


@immutable
class ReadContext:
    """The context of a step that is read: its name, its flow's name and variables, the bot's handlers and files."""

    flow: str
    step: str
    problems: Problems
    variables: Mapping[str, Variable]
    handlers: Mapping[str, HandlerSpec]
    save: str | None  # the variable that the step saves to
    errors: Mapping[str, Transition]  # where failures lead: the step's own, the flow's and the bot's
    documents: Mapping[str, str]  # the bot's text files, by path
    ai: AiSettings = field(default_factory=AiSettings)  # what the bot says of all its AI turns
    services: Mapping[str, HttpService] = field(default_factory=dict)  # that the bot sends requests to
    servers: Mapping[str, McpServer] = field(default_factory=dict)  # whose tools models may call
    hours: Mapping[str, Hours] = field(default_factory=dict)  # the bot's opening hours
    kinds: Mapping[str, type["StepKind"]] = field(default_factory=dict)  # by their verbs, the bot's own included
    instead: TemplateToSend | None = None  # an answer to this template brings the message that could not be sent


class StepKind:
    """The base of all kinds. A kind is a frozen dataclass of what the step has in the flow file.

    It says how a step is read, which facts are known then, and how it runs: it decides, and changes nothing. By
    default a step sends nothing and goes on at once. If a method raises `StepFailed`, a template cannot be evaluated,
    or a value does not fit its variable, the step's `errors` take over.
    """

    verb: ClassVar[str]
    keys: ClassVar[KeySet] = KeySet()  # its verb and what else belongs to it
    takes_below: ClassVar[frozenset[str]] = frozenset()  # verbs of other kinds that are keys in the map under its own
    # the step options that only some kinds have (`bot.language.steps.step_options.SOME_HAVE`) and this one has
    options: ClassVar[frozenset[str]] = frozenset({"then"})

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read the step's own keys; every mistake becomes a problem."""
        raise NotImplementedError

    def facts(self) -> StepFacts:
        """Return all that is known of the step without a session. It is asked once, when the flow is read."""
        return StepFacts()

    def spends(self, variables: Mapping[str, Variable]) -> Spends | None:
        """Return what the step may ask a model in a flow with these variables; None if it asks no model."""
        return None

    def enter(self, context: StepContext) -> StepResult:
        """Decide what happens when the contact arrives at the step, or when its question is put again."""
        raise NotImplementedError

    def ask_again(self, context: StepContext, body: str) -> WaitHere | None:
        """Put the step's question in other words, with its own answers to choose from. None: it has no question."""
        return None

    def in_plain_text(self, context: StepContext, message: Message) -> StepResult:
        """Send a plain text in place of buttons, a list or a link that the gateway refused, and keep waiting."""
        return WaitHere((TextMessage(in_plain_text(message)),), context.step_state)

    def answer_before_words(self, context: StepContext, reply: Reply) -> StepResult | None:
        """Take a reply before the bot's words do: a tap on the step's own buttons. None: it is no such reply."""
        return None

    def gathers(self, context: StepContext, reply: Reply) -> bool:
        """True if a text or a file may be a part of one answer in several messages. A text that is a choice is not."""
        return False

    def answer(self, context: StepContext, reply: Reply) -> StepResult | None:
        """Take a reply that no word took. None: it is no answer."""
        return None

    def lacks_answer(self, context: StepContext, reply: Reply) -> bool:
        """True if a reply says that there is no answer to give, so that asking again is in vain."""
        return False

    def takes_audio(self, context: StepContext, reply: Reply) -> bool:
        """True if a voice note itself is the answer, so that it need not be transcribed."""
        return False

    def title_of(self, value: Any, scope: Mapping[str, Any]) -> str | None:
        """Return the title of its choice that saves this value. None: it has no such choice, or its title fails."""
        return None

    def objection(self, context: StepContext, reply: Reply) -> str | None:
        """Return the words for a reply that is no answer, in place of the step's `retry`; None: it has none."""
        return None

    def hint(self, context: StepContext, reply: Reply) -> str | None:
        """Return what the step takes, in words, for a contact whose replies were no answer; None: it has no words."""
        return None

    def which_one(self, context: StepContext, reply: Reply) -> str | None:
        """Return the words that ask which of several choices is meant, if a reply names two or more of them."""
        return None

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """Go on after the event that the step waited for. None: the event changes nothing here."""
        return None

    def speaks_at(self, step_state: Mapping[str, Any]) -> datetime | None:
        """Return when it speaks although it waits for the end of an effect; None: not before that."""
        return None

    def speak(self, context: StepContext) -> StepResult:
        """Say something while it waits, at the time of `speaks_at`."""
        raise NotImplementedError

    def exchange(self, step_state: Mapping[str, Any]) -> tuple[datetime, tuple[dict[str, Any], ...]] | None:
        """Return what the contact and a model have said, and when the contact last did; None: nothing."""
        return None

    def after_failure(self, step_state: Mapping[str, Any]) -> Mapping[str, Any]:
        """The step state that remains after a failure which does not leave the step."""
        return step_state
