"""All requests to a running engine: their fields, what they do, and which shards they concern.

A request is a value, and so is its answer (`bot.core.engine_answers`). `as_json` and `read_request`, `answer_as_json`
and `read_answer` write and read them for the local socket (`bot.server.local_socket`) and the table of requests
(`bot.store.postgres_requests`)::

    as_json(StopBroadcast("spring"))         ->  {"do": "stop", "by": "operator", "name": "spring"}
    answer_as_json(BroadcastStopped(12, 1))  ->  {"stopped": 12, "in_flight": 1}

To add a request: a class here with the class of its answer, a case in `bot.runtime.operator_requests.operate` or
`bot.server.app.Engine.operate`, and if it concerns `Shards.ALL`, how the answers are joined in
`bot.server.shard_requests`.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum, auto
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from bot.core.engine_answers import (
    BroadcastResumed,
    BroadcastStopped,
    ContactUpserted,
    ConversationChanged,
    ConversationHeld,
    CorrectionBegun,
    CorrectionEnded,
    DeadLettersEnded,
    Done,
    EngineAnswer,
    EngineRefused,
    FilesLoaded,
    FlowStarted,
    FormPage,
    GatewayItems,
    MayBeDone,
    MessageAccepted,
    Metrics,
    Mistakes,
    NoPermit,
    RecipientsAdded,
    RecipientsCorrected,
    ServedFlows,
    SignalReported,
    Status,
    VersionPublished,
    WebhookRegistration,
)
from bot.core.errors import BotError, OutcomeLost
from bot.core.immutable import immutable
from bot.core.text import is_contact

UNNAMED = "operator"
"""The name of a person or program that gives none."""

A = TypeVar("A", bound=EngineAnswer, covariant=True)

Contact = Annotated[str, is_contact]
"""The number of a contact, or an id that stands for it."""

Name = Annotated[str, bool]
"""A text that is not empty."""


class Shards(Enum):
    """The shards of a divided store whose engines get a request."""

    FIRST = auto()
    ANY = auto()
    """The first one whose engine answers."""
    OF_CONTACT = auto()
    OF_RECIPIENTS = auto()
    """Each gets its own recipients."""
    ALL = auto()


class RequestMalformed(BotError):
    """The request is unknown, or a field is missing or of a wrong type."""


@immutable(kw_only=True)
class EngineRequest(Generic[A]):
    """A request to an engine, which answers it with an ``A``.

    ``asked_as`` is its name in the table of requests, and ``again`` is true if an engine that has ended had begun it:
    only that table sets them, and they are not part of its JSON.
    """

    do: ClassVar[str]
    concerns: ClassVar[Shards]
    only_tells: ClassVar[bool] = False
    """True if it changes nothing and is answered also while nothing can be written."""
    harmless_twice: ClassVar[bool] = True

    asked_as: str | None = None
    again: bool = False


AnyRequest = EngineRequest[EngineAnswer]


@immutable(kw_only=True)
class Act(EngineRequest[A]):
    """A request that is done in somebody's name, which stands in the trace."""

    by: str = UNNAMED


@immutable
class ContactAct(Act[A]):
    """An act on one contact, which the engine of the contact's shard does."""

    concerns = Shards.OF_CONTACT

    contact: Contact


@immutable
class PersonAct(ContactAct[A]):
    """An act of a person who answers contacts, by that person's name."""

    by: Name = field(kw_only=True)


# -- Questions


@immutable
class AskStatus(EngineRequest[Status]):
    """The state of delivery, and the alarms; with ``ids``, also why these messages wait."""

    do = "status"
    concerns = Shards.ALL
    only_tells = True

    ids: Sequence[int] | None = None


@immutable
class AskMetrics(EngineRequest[Metrics]):
    """The engine's metrics, in Prometheus' format."""

    do = "metrics"
    concerns = Shards.ALL
    only_tells = True


@immutable
class AskFlows(EngineRequest[ServedFlows]):
    """The names under which steps are counted, how flows fill templates, and the texts that agents send often."""

    do = "flows"
    concerns = Shards.ANY


@immutable
class CheckStart(EngineRequest[Mistakes]):
    """The mistakes in a start that a program asks for; also that the contact has opted out."""

    do = "check_start"
    concerns = Shards.OF_CONTACT

    contact: str
    flow: str
    data: dict[str, Any]


@immutable
class CheckSignal(EngineRequest[Mistakes]):
    """The mistakes in a signal that a program reports, and the names that a declared signal has."""

    do = "check_signal"
    concerns = Shards.OF_CONTACT

    contact: str
    name: str
    data: dict[str, Any]
    by_address: bool = False


@immutable
class OpenForm(EngineRequest[FormPage]):
    """Show the page of a question's form ``name``, for a ``visit`` of it; with ``data``, also its mistakes."""

    do = "form"
    concerns = Shards.OF_CONTACT

    contact: str
    name: str
    first_visit: int
    visit: int
    data: dict[str, Any] | None = None


# -- One contact


@immutable
class ResetContact(ContactAct[ConversationChanged]):
    """End everything that a contact is in."""

    do = "reset"

    contact: str


@immutable
class StartFlow(ContactAct[FlowStarted]):
    """Start a flow for a contact. ``busy`` is as in a flow's `start`."""

    do = "start"
    harmless_twice = False

    flow: str
    data: dict[str, Any] = field(default_factory=dict)
    busy: str | None = None


@immutable
class ReportSignal(ContactAct[SignalReported]):
    """Report a signal to the step that waits for it."""

    do = "signal"
    harmless_twice = False

    name: str
    data: dict[str, Any] = field(default_factory=dict)


@immutable
class SetValues(ContactAct[ConversationChanged]):
    """Set variables of an open flow: of the active one, unless ``flow`` names another."""

    do = "set"

    values: dict[str, Any]
    flow: str | None = None


@immutable
class EraseContact(ContactAct[Done]):
    """Delete everything that is kept of a contact."""

    do = "erase"
    concerns = Shards.ALL


@immutable
class SendMessage(ContactAct[MessageAccepted]):
    """Send a text or a template (``name``, ``language``, ``header``, ``body``)."""

    do = "send"
    harmless_twice = False

    text: str | None = None
    template: dict[str, Any] | None = None


@immutable
class TakeOver(PersonAct[ConversationHeld]):
    """A person takes a conversation; from another person only if ``taken_from`` is that person's name."""

    do = "take"

    taken_from: str | None = None


@immutable
class AnswerContact(PersonAct[MessageAccepted]):
    """A person answers in the conversation that they have: a text, a template, or a ``file`` at an address."""

    do = "answer"

    text: str | None = None
    template: dict[str, Any] | None = None
    file: str | None = None


@immutable
class NoteContact(PersonAct[Done]):
    """A person writes down something about a conversation for the others who answer, and not for the contact."""

    do = "note"

    text: str


@immutable
class GiveBack(PersonAct[ConversationHeld]):
    """A person gives a conversation back to the bot."""

    do = "give_back"


@immutable
class AgreeToCall(PersonAct[Done]):
    """A person of the team agrees to the call that a step has asked about: see `bot.core.session.TeamQuestion`."""

    do = "agree"

    question: Name
    note: str = ""


@immutable
class RefuseCall(PersonAct[Done]):
    """A person of the team refuses such a call."""

    do = "refuse"

    question: Name
    note: str = ""


# -- Dead letters


@immutable
class RetryDeadLetters(Act[DeadLettersEnded]):
    """Send or deliver dead letters again; if ``sure``, also messages that may have been sent."""

    do = "retry"
    concerns = Shards.ALL

    ids: Sequence[int]
    sure: bool = False


@immutable
class DropDeadLetters(Act[DeadLettersEnded]):
    """Forget dead letters for good."""

    do = "drop"
    concerns = Shards.ALL

    ids: Sequence[int]


# -- Broadcasts


@immutable
class AddRecipients(Act[RecipientsAdded]):
    """Add recipients to the broadcast of this name; the first ones begin it. It sends a template, or starts a flow.

    ``at`` is when it begins, in words (empty for now), and ``late`` how many seconds later a recipient may get it.
    """

    do = "broadcast"
    concerns = Shards.OF_RECIPIENTS

    name: str
    recipients: Sequence[Any]
    template: dict[str, Any] | None = None
    flow: str | None = None
    at: str = ""
    late: float | None = None


@immutable
class StopBroadcast(Act[BroadcastStopped]):
    """Take back the messages of a broadcast that are not being sent yet."""

    do = "stop"
    concerns = Shards.ALL

    name: str


@immutable
class ResumeBroadcast(Act[BroadcastResumed]):
    """Go on with a broadcast that was stopped or paused."""

    do = "resume"
    concerns = Shards.ALL

    name: str


@immutable
class BeginCorrection(Act[CorrectionBegun]):
    """Stop a broadcast to correct it."""

    do = "edit"
    concerns = Shards.ALL

    name: str
    template: dict[str, Any] | None = None
    flow: str | None = None
    at: str = ""
    late: float | None = None


@immutable
class CorrectRecipients(Act[RecipientsCorrected]):
    """Set the parameters of recipients, and their times if the broadcast was ``moved``."""

    do = "correct"
    concerns = Shards.OF_RECIPIENTS

    name: str
    edit: int | Sequence[int]
    recipients: Sequence[Any]
    moved: bool = False


@immutable
class EndCorrection(Act[CorrectionEnded]):
    """End a correction: recipients that it did not name do not get the broadcast."""

    do = "end_edit"
    concerns = Shards.ALL

    name: str
    edit: int | Sequence[int]


# -- The bot's files


@immutable
class Reload(EngineRequest[FilesLoaded]):
    """Load the bot's files again."""

    do = "reload"
    concerns = Shards.ALL


@immutable
class PublishVersion(Act[VersionPublished]):
    """Publish files (``content``, packed and in base64) as the version after ``after``; or without it, follow each
    server's own files.

    ``name`` is what the console's log calls them.
    """

    do = "publish"
    concerns = Shards.FIRST

    after: int
    content: str | None = None
    note: str = ""
    name: str = ""


# -- Requests to the gateway


@immutable(kw_only=True)
class GatewayCommand(EngineRequest[A]):
    """A request of a command to the gateway, within the limits that all requests share.

    It may be refused with `bot.core.engine_answers.NoPermit`.
    """

    concerns = Shards.ANY


@immutable
class ListTemplates(GatewayCommand[GatewayItems]):
    """All message templates."""

    do = "templates"


@immutable
class ListChatTemplates(GatewayCommand[GatewayItems]):
    """A page of the templates that people use in the gateway's inbox."""

    do = "chat_templates"

    page: int


@immutable
class ListGatewayContacts(GatewayCommand[GatewayItems]):
    """A page of the gateway's contacts."""

    do = "contacts"

    page: int


@immutable
class UpsertContact(GatewayCommand[ContactUpserted]):
    """Create or change a contact at the gateway."""

    do = "put_contact"

    phone: str
    name: str | None
    email: str | None
    tags: Sequence[str]


@immutable
class RegisterWebhook(GatewayCommand[WebhookRegistration]):
    """Register a webhook at the gateway."""

    do = "register_webhook"
    harmless_twice = False

    name: str
    url: str
    events: Sequence[str]
    secret: str | None = None


@immutable
class NoteCommand(EngineRequest[Done]):
    """Count a command's request to the gateway, which is about to go, against the limits, also after a restart."""

    do = "note_command"
    concerns = Shards.FIRST

    command: str


# -- As JSON


def _concrete(above: type[AnyRequest]) -> Iterator[type[AnyRequest]]:
    for below in above.__subclasses__():
        if "do" in vars(below):
            yield below
        yield from _concrete(below)


REQUESTS: Mapping[str, type[AnyRequest]] = {each.do: each for each in _concrete(EngineRequest)}
"""All requests, by their ``do`` in JSON."""

_OF_THE_TABLE = frozenset(("asked_as", "again"))


def as_json(request: AnyRequest) -> dict[str, Any]:
    """The request as JSON: ``do`` and those of its fields that are not None."""
    return {"do": request.do, **_given(request)}


def answer_as_json(answer: EngineAnswer | BotError) -> dict[str, Any]:
    """The answer as JSON; an error with ``may_be_done`` if its outcome is unknown, or the seconds to ``wait``."""
    if isinstance(answer, EngineAnswer):
        return _given(answer)
    doubt = {"may_be_done": True} if isinstance(answer, OutcomeLost) else {}
    wait = {"wait": answer.wait} if isinstance(answer, NoPermit) and answer.wait is not None else {}
    return {"error": str(answer), **doubt, **wait}


def _given(value: AnyRequest | EngineAnswer) -> dict[str, Any]:
    values = {each.name: (getattr(value, each.name), each.default) for each in dataclasses.fields(value)}
    return {
        name: field
        for name, (field, default) in values.items()
        if name not in _OF_THE_TABLE and (field is not None or default is not None)
    }


def read_request(json: object, asked_as: str | None = None, again: bool = False) -> AnyRequest:
    """The request that `as_json` has written. Raises `RequestMalformed`."""
    if not isinstance(json, dict):
        raise RequestMalformed("a request is an object of JSON")
    do = json.get("do")
    kind = REQUESTS.get(do) if isinstance(do, str) else None
    if kind is None:
        raise RequestMalformed(f'the engine knows no request "{do}"')
    if wrong := _misfits(kind, json):
        raise RequestMalformed(f'the engine knows no request "{do}" of this form: "{wrong[0]}" is wrong, or missing')
    return kind(**_read(kind, json), asked_as=asked_as, again=again)


def read_answer(request: EngineRequest[A], json: object) -> A:
    """The answer to a request that `answer_as_json` has written. Raises the `EngineRefused` that it is."""
    kind = _answer_of(type(request))
    match json:
        case {"error": str(why), "may_be_done": True}:
            raise MayBeDone(why)
        case {"error": str(why), "wait": float(wait) | int(wait)}:
            raise NoPermit(why, wait)
        case {"error": str(why)}:
            raise EngineRefused(why)
        case dict() if not _misfits(kind, json):
            return answer_to(request, kind(**_read(kind, json)))
    raise MayBeDone("the engine has answered in a form that is not known here: is it of another version?")


def answer_to(request: EngineRequest[A], answer: EngineAnswer) -> A:
    """The answer, which must be of the class that the request has."""
    assert isinstance(answer, _answer_of(type(request))), f"{request.do} was answered with {answer}"
    return cast(A, answer)


def _answer_of(kind: type[AnyRequest]) -> type[EngineAnswer]:
    ((answer,),) = map(get_args, vars(kind)["__orig_bases__"])
    found: type[EngineAnswer] = answer
    return found


def _read(kind: type, json: Mapping[str, Any]) -> dict[str, Any]:
    return {name: json[name] for name in _fields(kind) if name in json}


def _misfits(kind: type, json: Mapping[str, Any]) -> list[str]:
    """The names of the fields that are missing, or of a wrong type."""
    return [
        name
        for name, (annotation, required) in _fields(kind).items()
        if (required or name in json) and not _fits(json.get(name), annotation)
    ]


@cache
def _fields(kind: Any) -> Mapping[str, tuple[Any, bool]]:
    """The annotations of the fields that a request or an answer has in JSON, and whether it must have them."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        each.name: (hints[each.name], each.default is each.default_factory is dataclasses.MISSING)
        for each in dataclasses.fields(kind)
        if each.name not in _OF_THE_TABLE
    }


def _fits(value: object, annotation: Any) -> bool:
    """True if a value from JSON has the type of a field. Items of lists and objects are checked where they are used."""
    origin = get_origin(annotation)
    if origin is Annotated:
        kind, check = get_args(annotation)
        test: Callable[[object], object] = check
        return _fits(value, kind) and bool(test(value))
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(annotation))
    return isinstance(value, _JSON_TYPES[origin or annotation]) and (annotation is bool or not isinstance(value, bool))


_JSON_TYPES: Mapping[Any, type | tuple[type, ...]] = {
    NoneType: NoneType,
    str: str,
    bool: bool,
    int: int,
    float: (int, float),
    Sequence: list,
    dict: dict,
    Mapping: dict,
}
