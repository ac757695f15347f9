"""What a kind of step is: how it is read, how it can end, what it does, and what a reply means to it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Self

from bot.core.messages import Message, TextMessage, in_plain_text
from bot.expressions.opening_hours import Hours
from bot.expressions.templates import Template
from bot.extensions.decorators import HandlerSpec
from bot.keys.declared_keys import KeySet
from bot.keys.fields import Fields
from bot.lang.problems import Mark, Problems
from bot.steps.ai_settings import AiSettings
from bot.steps.http_services import HttpService
from bot.steps.step_facts import (
    AnswerText,
    Falls,
    FlowRun,
    Need,
    Offered,
    Outcome,
    Rest,
    RestFor,
    Saved,
    SentFile,
    SentText,
    Spends,
    Used,
)
from bot.steps.step_results import Awaited, Reply, StepContext, StepResult, WaitHere
from bot.steps.template_message import SentTemplate
from bot.steps.transition import Transition
from bot.types.type_registry import Variable

Sent = SentFile | SentTemplate | SentText | Offered


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What a kind may look at while it is read: its step's name, its flow's variables, the bot's handlers and files."""

    step: str
    problems: Problems
    variables: Mapping[str, Variable]
    handlers: Mapping[str, HandlerSpec]
    save: str | None  # the variable that the step saves to
    errors: Mapping[str, Transition]  # where failures lead: the step's own, the flow's and the bot's
    documents: Mapping[str, str]  # the bot's text files, by path
    ai: AiSettings = field(default_factory=AiSettings)  # what the bot says of all its AI turns
    services: Mapping[str, HttpService] = field(default_factory=dict)  # that the bot sends requests to
    hours: Mapping[str, Hours] = field(default_factory=dict)  # the bot's opening hours
    kinds: Mapping[str, type["StepKind"]] = field(default_factory=dict)  # by their verbs, the bot's own included


class StepKind:
    """The base of all kinds. A kind is a frozen dataclass of what the step has in the flow file.

    Where nothing else is said, a method or property has the answer for a step that sends nothing and goes on at once.
    """

    verb: ClassVar[str]
    saves: ClassVar[bool] = False  # takes `save` with the name of a variable
    takes_pending_input: ClassVar[bool] = False  # answers what the contact wrote last, where no step has taken it
    asks_models: ClassVar[bool] = False
    deaf: ClassVar[bool] = False  # hears nothing that the contact writes, not even the bot's words
    needs_window: ClassVar[bool] = True  # its messages go only while the 24-hour window is open
    keys: ClassVar[KeySet] = KeySet()  # its verb and what else belongs to it
    options: ClassVar[frozenset[str]] = frozenset({"then"})  # those that it has of `bot.steps.step_options.SOME_HAVE`
    gives_any: ClassVar[bool] = False  # it may give a value to any variable, which nobody knows beforehand
    tells: ClassVar[frozenset[str]] = frozenset()  # what templates of its `errors` may use beside the rest

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read the step's own keys; every mistake becomes a problem."""
        raise NotImplementedError

    @property
    def waits(self) -> bool:
        """Whether it waits for the contact: then `retry`, `remind` and `timeout` apply."""
        return False

    @property
    def rest(self) -> Rest | None:
        """What the conversation waits for here; None: it goes on in the same turn."""
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
        """Whether it may fail although each of its texts can be evaluated."""
        return any(outcome.falls is Falls.ERRORS for outcome in self.outcomes().values())

    @property
    def refusable(self) -> bool:
        """Whether a message that the gateway refuses is a failure of the step, so that its `errors` take over."""
        return self.asks

    @property
    def asks(self) -> bool:
        """Whether it is a question that waits for an answer: `back` returns to it if it was left without one."""
        return self.waits and not self.takes_pending_input

    @property
    def pauses(self) -> bool:
        """Whether it waits for the contact, for a person, or for time to pass."""
        return self.rest is not None and self.rest.what in (RestFor.CONTACT, RestFor.PERSON, RestFor.TIME)

    @property
    def hears(self) -> bool:
        """Whether words and triggers take effect while the conversation waits here."""
        return self.pauses and not self.deaf

    @property
    def gives(self) -> frozenset[str]:
        """The variables that it sets itself, without `save` or `set`."""
        return frozenset()

    @property
    def form(self) -> str:
        """How the step waits. After an edit that changes this, the step is entered again."""
        return f"{self.verb}, waiting" if self.waits else self.verb

    def outcomes(self) -> dict[str, Outcome]:
        """All outcomes of the step, except those of its step options."""
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
        """The values that it may save, as far as they are written in the flow."""
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

    def answer(self, context: StepContext, reply: Reply) -> StepResult | None:
        """Take a reply that no word took. None: it is no answer."""
        return None

    def objection(self, context: StepContext, reply: Reply) -> str | None:
        """What is said to a reply that is no answer, in place of the step's `retry`."""
        return None

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """Go on after the event that the step waited for. None: the event changes nothing here."""
        return None

    def after_failure(self, step_state: Mapping[str, Any]) -> Mapping[str, Any]:
        """The step state that remains after a failure which does not leave the step."""
        return step_state

    def wakes_at(self, step_state: Mapping[str, Any]) -> datetime | None:
        """When a step that waits for time to pass is entered again; None: it waits for something else."""
        return None
