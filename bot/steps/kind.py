"""What a kind of step is: how it is read, how it can end, what it does, and what a reply means to it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Self

from bot.core.effects import Call, Complete, Fetch, HttpRequest
from bot.core.errors import BotError
from bot.core.events import CallEnded, CallProgressed, ConversationAssigned, HandoffClosed, SendEnded
from bot.core.messages import Message, TextMessage, in_plain_text
from bot.core.values import Location, Media
from bot.expressions.opening_hours import Hours
from bot.expressions.templates import Template
from bot.extensions.decorators import HandlerSpec
from bot.keys.fields import Fields
from bot.keys.key_schemas import Schemas
from bot.keys.text_shapes import Shape
from bot.lang.nodes import Mark
from bot.lang.problems import Problems
from bot.steps.ai_settings import AiSettings
from bot.steps.declared import AnswerText, Falls, FlowRun, Need, Outcome, Rest, RestFor, Saved, Sent, Spends, Used
from bot.steps.replies import ReplyId
from bot.steps.services import Service
from bot.steps.transition import Transition
from bot.types.type_registry import Variable


class StepFailed(BotError):
    """A step could not do its work: its ``outcome`` (``mismatch``, ``failed``) takes over.

    ``known`` is what templates of the transition that it leads through see beside the rest.
    """

    def __init__(self, outcome: str, reason: str, known: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.known = known or {}


@dataclass(frozen=True, slots=True)
class Reading:
    """What a kind may look at while it is read: its step's name, its flow's variables, the bot's handlers and files."""

    step: str
    problems: Problems
    variables: Mapping[str, Variable]
    handlers: Mapping[str, HandlerSpec]
    save: str | None  # the variable that the step saves to
    errors: Mapping[str, Transition]  # where failures lead: the step's own, the flow's and the bot's
    documents: Mapping[str, str]  # the bot's text files, by path
    ai: AiSettings = field(default_factory=AiSettings)  # what the bot says of all its AI turns
    services: Mapping[str, Service] = field(default_factory=dict)  # that the bot sends requests to
    hours: Mapping[str, Hours] = field(default_factory=dict)  # the bot's opening hours
    kinds: Mapping[str, type["StepKind"]] = field(default_factory=dict)  # by their verbs, the bot's own included


@dataclass(frozen=True, slots=True)
class Reply:
    """What a contact sent, as steps see it. ``tap`` is set when it was a tap on one of our own ids.

    ``payload`` is what a tap on somebody else's button carries, of which ``text`` is the title.
    """

    text: str | None = None
    tap: ReplyId | None = None
    media: Media | None = None
    location: Location | None = None
    payload: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that it may be understood by: what was written, or a button's title and payload."""
        return tuple(text for text in (self.text, self.payload) if text)


@dataclass(frozen=True, slots=True)
class FlowEnded:
    """The flow that a `run` step opened has come to its end; ``failed``: because a step of it failed."""

    expired: bool
    vars: Mapping[str, Any]
    failed: bool = False


Awaited = CallEnded | CallProgressed | SendEnded | ConversationAssigned | HandoffClosed | FlowEnded
"""What a step that does not wait for the contact waits for, or what cuts that short."""


@dataclass(frozen=True, slots=True)
class StepContext:
    """A step's view of the session while it is entered or takes a reply. It decides; it changes nothing."""

    flow: str
    step: str
    visit: int
    now: datetime  # in the bot's time zone
    scope: Mapping[str, Any]  # what templates and expressions see
    variables: Mapping[str, Variable]
    step_state: Mapping[str, Any]  # what the step remembered when it began to wait
    pending_input: Reply | None = None  # what the contact wrote, where no step has taken it yet
    open: bool = True  # what is said now can be sent: the contact's 24 hours are not over
    more: bool = False  # the contact has written more, which the step takes when it has what it awaits


NOTHING = object()


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step decides. Without an ``outcome`` it waits."""

    outcome: str | None = None
    messages: tuple[Message, ...] = ()
    saved: Any = NOTHING
    step_state: Mapping[str, Any] = field(default_factory=dict)
    call: Call | Fetch | Complete | HttpRequest | None = None
    awaits: bool = False  # for the end of the call, or of the last message
    goes_on: bool = False  # what is awaited is awaited still
    hears: bool = (
        False  # words and taps are heard in the meantime, and what the contact writes comes to `StepKind.answer`
    )
    parks: bool = False  # nothing changes: the message waits until the step has what it awaits
    sets: Mapping[str, Any] = field(default_factory=dict)  # variables, by our names
    unread: Reply | None = None  # what the contact wrote is left to the next step
    opens: tuple[str, Mapping[str, Any]] | None = None  # a flow to run in a frame of its own, and its inputs
    tag: str | None = None  # to set on the contact at once, until the step is left
    tells: tuple[str, Mapping[str, Any]] | None = None  # an event that the bot's own Python may hear of, and what of it
    conditions: tuple[tuple[str, Any], ...] = ()
    known: Mapping[str, Any] = field(default_factory=dict)  # what templates of the transition see beside the rest
    notes: tuple[str, ...] = ()  # for the trace


class StepKind:
    """The base of all kinds. A kind is a frozen dataclass of what its step says; these are its verbs."""

    verb: ClassVar[str]
    saves: ClassVar[bool] = False  # takes `save` with the name of a variable
    takes_unread: ClassVar[bool] = False  # answers what the contact wrote last, where no step has taken it
    asks_models: ClassVar[bool] = False
    deaf: ClassVar[bool] = False  # hears nothing that the contact writes, not even the bot's words
    needs_window: ClassVar[bool] = True  # its messages go only while the 24-hour window is open
    keys: ClassVar[Schemas] = {}  # what its keys take, for editors
    needed: ClassVar[tuple[str, ...]] = ()  # those of them, beside its verb, that must be written
    options: ClassVar[frozenset[str]] = frozenset(
        {"then"}
    )  # those that it has of `bot.steps.step_option_keys.SOME_HAVE`
    texts: ClassVar[Mapping[str, Shape]] = {}  # its keys with something that contacts read or write
    gives_any: ClassVar[bool] = False  # it may give a value to any variable, which nobody knows beforehand
    tells: ClassVar[frozenset[str]] = frozenset()  # what templates of its `errors` may use beside the rest

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """Read the step's own keys; every mistake becomes a problem."""
        raise NotImplementedError

    @property
    def waits(self) -> bool:
        """True where the contact is waited for: there `retry`, `remind` and `timeout` apply."""
        return False

    @property
    def rest(self) -> Rest | None:
        """What the conversation rests here for; None: it goes on in the same turn."""
        return Rest(RestFor.CONTACT) if self.waits else None

    def spends(self, variables: Mapping[str, Variable]) -> Spends | None:
        """What it may ask of a model, in a flow with these variables."""
        return None

    @property
    def most_messages(self) -> int:
        """The most messages that entering it sends."""
        return 1 if self.waits else 0

    @property
    def fails(self) -> bool:
        """True where it may fail although each of its texts can be worked out."""
        return any(outcome.falls is Falls.ERRORS for outcome in self.outcomes().values())

    @property
    def refusable(self) -> bool:
        """True where it hears that the gateway refused a message of its, so that `errors` take over."""
        return self.asks

    @property
    def asks(self) -> bool:
        """True where a question waits for its answer: `back` returns to it when it was left without one."""
        return self.waits and not self.takes_unread

    @property
    def pauses(self) -> bool:
        """True where the conversation rests at the step: for the contact, a person or time to pass."""
        return self.rest is not None and self.rest.what in (RestFor.CONTACT, RestFor.PERSON, RestFor.TIME)

    @property
    def hears(self) -> bool:
        """True where words and starts are heard while the conversation rests at the step."""
        return self.pauses and not self.deaf

    @property
    def gives(self) -> frozenset[str]:
        """The variables that it gives values to itself, without `save` or `set`."""
        return frozenset()

    @property
    def form(self) -> str:
        """How the step waits: an edit that changes it leaves nothing to wait for, so the step is entered anew."""
        return f"{self.verb}, waiting" if self.waits else self.verb

    def outcomes(self) -> dict[str, Outcome]:
        """All the ways in which this step can end, options aside."""
        return {"then": Outcome(None, Falls.THEN)}

    def uses(self) -> Iterator[Used]:
        """Every template and expression of the step, to be checked and prepared."""
        return iter(())

    def flows_run(self) -> Iterator[FlowRun]:
        """The flows that this step opens."""
        return iter(())

    def answers(self) -> Iterator[AnswerText]:
        """The texts that it understands as answers of its own, as far as they are written out."""
        return iter(())

    def saved_values(self) -> Iterator[Saved]:
        """What it may save, as far as that is written in the flow."""
        return iter(())

    def moments(self) -> Iterator[Template]:
        """The points in time that it waits for."""
        return iter(())

    def sends(self) -> Iterator[Sent]:
        """What it sends: the texts of its messages, files that lie elsewhere, the gateway's templates."""
        return iter(())

    def unasked(self) -> Iterator[tuple[str, Mark]]:
        """The handlers that change something outside and that a model calls without the contact's yes."""
        return iter(())

    def needs(self) -> Iterator[Need]:
        """The variables that a model must know to leave it."""
        return iter(())

    def enter(self, context: StepContext) -> StepResult:
        """The contact arrives at the step, or its question is put again."""
        raise NotImplementedError

    def ask_again(self, context: StepContext, body: str) -> StepResult | None:
        """Put the step's question in other words, with its own answers to choose from. None: it has no question."""
        return None

    def in_plain_text(self, context: StepContext, message: Message) -> StepResult:
        """What goes in place of its buttons, list or link that the gateway refused; it waits on."""
        return StepResult(messages=(TextMessage(in_plain_text(message)),), step_state=context.step_state)

    def claim(self, context: StepContext, reply: Reply) -> StepResult | None:
        """A reply that is the step's before the bot's words are heard: its own buttons."""
        return None

    def answer(self, context: StepContext, reply: Reply) -> StepResult | None:
        """A reply that no word took. None: it is no answer."""
        return None

    def objection(self, context: StepContext, reply: Reply) -> str | None:
        """What is said to a reply that is no answer, in place of the step's `retry`."""
        return None

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """What the step waited for has happened. None: it means nothing here."""
        return None

    def after_failure(self, step_state: Mapping[str, Any]) -> Mapping[str, Any]:
        """What of its hold a step that has failed keeps, where it is not left for that."""
        return step_state

    def wakes_at(self, step_state: Mapping[str, Any]) -> datetime | None:
        """When a step that only waits for time is entered once more, to see whether the time has come."""
        return None


def ending(outcome: str, **more: Any) -> StepResult:
    """The decision to leave by an outcome."""
    return StepResult(outcome=outcome, **more)
