"""All requests to a running engine: their fields, what they do, and which shards they concern.

A request is a value. `as_json` and `read_request` write and read it for the local socket (`bot.server.local_socket`)
and the table of requests (`bot.store.postgres_requests`)::

    as_json(StopBroadcast("spring"))  ->  {"do": "stop", "by": "operator", "name": "spring"}

To add a request: a class here, a case in `bot.runtime.operator_requests.operate` or `bot.server.app.Engine.operate`,
and if it concerns `Shards.ALL`, how the answers are joined in `bot.server.shard_requests`.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum, auto
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.text import is_contact

UNNAMED = "operator"
"""The name of a person or program that gives none."""

Answer = dict[str, Any]
"""The answer to a request, as JSON. It has ``error`` if the request was refused or nobody could do it."""

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
class EngineRequest:
    """A request to an engine. ``asked_as`` is its name in the table of requests, and ``again`` is true if an engine
    that has ended had begun it: only that table sets them, and they are not part of its JSON.
    """

    do: ClassVar[str]
    concerns: ClassVar[Shards]
    only_tells: ClassVar[bool] = False
    """True if it changes nothing and is answered also while nothing can be written."""
    harmless_twice: ClassVar[bool] = True

    asked_as: str | None = None
    again: bool = False


@immutable(kw_only=True)
class Act(EngineRequest):
    """A request that is done in somebody's name, which stands in the trace."""

    by: str = UNNAMED


@immutable
class ContactAct(Act):
    """An act on one contact, which the engine of the contact's shard does."""

    concerns = Shards.OF_CONTACT

    contact: Contact


# -- Questions


@immutable
class AskStatus(EngineRequest):
    """The state of delivery, and the alarms; with ``ids``, also why these messages wait.

    Answers ``waiting``, ``in_flight``, ``left``, ``alarms``, and ``waits``: by id, with ``why``, and ``until`` when.
    """

    do = "status"
    concerns = Shards.ALL
    only_tells = True

    ids: Sequence[int] | None = None


@immutable
class AskMetrics(EngineRequest):
    """The engine's metrics, as ``text`` in Prometheus' format."""

    do = "metrics"
    concerns = Shards.ALL
    only_tells = True


@immutable
class AskFlows(EngineRequest):
    """The names under which steps are counted (``flows``), and how flows fill templates (``templates``)."""

    do = "flows"
    concerns = Shards.ANY


@immutable
class CheckStart(EngineRequest):
    """The mistakes in a start that a program asks for, by field; also that the contact has opted out."""

    do = "check_start"
    concerns = Shards.OF_CONTACT

    contact: str
    flow: str
    data: dict[str, Any]


@immutable
class CheckSignal(EngineRequest):
    """The mistakes in a signal that a program reports, by field; and ``fields``, the names that a declared
    signal has.
    """

    do = "check_signal"
    concerns = Shards.OF_CONTACT

    contact: str
    name: str
    data: dict[str, Any]
    by_address: bool = False


# -- One contact


@immutable
class ResetContact(ContactAct):
    """End everything that a contact is in."""

    do = "reset"

    contact: str


@immutable
class StartFlow(ContactAct):
    """Start a flow for a contact. ``busy`` is as in a flow's `start`. Answers ``outcome`` and ``detail``."""

    do = "start"
    harmless_twice = False

    flow: str
    data: dict[str, Any] = field(default_factory=dict)
    busy: str | None = None


@immutable
class ReportSignal(ContactAct):
    """Report a signal to the step that waits for it. Answers ``outcome`` and ``detail``."""

    do = "signal"
    harmless_twice = False

    name: str
    data: dict[str, Any] = field(default_factory=dict)


@immutable
class SetValues(ContactAct):
    """Set variables of an open flow: of the active one, unless ``flow`` names another."""

    do = "set"

    values: dict[str, Any]
    flow: str | None = None


@immutable
class EraseContact(ContactAct):
    """Delete everything that is kept of a contact."""

    do = "erase"
    concerns = Shards.ALL


@immutable
class SendMessage(ContactAct):
    """Send a text or a template (``name``, ``language``, ``header``, ``body``). Answers the message's ``id``."""

    do = "send"
    harmless_twice = False

    text: str | None = None
    template: dict[str, Any] | None = None


@immutable
class TakeOver(ContactAct):
    """A person takes a conversation; from another person only if ``taken_from`` is that person's name."""

    do = "take"

    by: Name = field(kw_only=True)
    taken_from: str | None = None


@immutable
class AnswerContact(ContactAct):
    """A person answers in the conversation that they have taken: as `SendMessage`."""

    do = "answer"

    by: Name = field(kw_only=True)
    text: str | None = None
    template: dict[str, Any] | None = None


@immutable
class GiveBack(ContactAct):
    """A person gives a conversation back to the bot."""

    do = "give_back"

    by: Name = field(kw_only=True)


# -- Dead letters


@immutable
class RetryDeadLetters(Act):
    """Send the messages of dead letters again, and deliver their events again; if ``sure``, also messages that may have
    been sent.
    """

    do = "retry"
    concerns = Shards.ALL

    ids: Sequence[int]
    sure: bool = False


@immutable
class DropDeadLetters(Act):
    """Forget dead letters for good. Answers which are ``done``, and which are ``missing``."""

    do = "drop"
    concerns = Shards.ALL

    ids: Sequence[int]


# -- Broadcasts


@immutable
class AddRecipients(Act):
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
class StopBroadcast(Act):
    """Take back the messages of a broadcast that are not being sent yet. Answers ``stopped`` and ``in_flight``."""

    do = "stop"
    concerns = Shards.ALL

    name: str


@immutable
class ResumeBroadcast(Act):
    """Go on with a broadcast that was stopped or paused. Answers ``resumed`` and ``to_come``."""

    do = "resume"
    concerns = Shards.ALL

    name: str


@immutable
class BeginCorrection(Act):
    """Stop a broadcast to correct it. Answers the correction's number (``edit``), and ``in_flight``.

    In a divided store each shard has a number of its own: ``edit`` is then a list of them.
    """

    do = "edit"
    concerns = Shards.ALL

    name: str
    template: dict[str, Any] | None = None
    flow: str | None = None
    at: str = ""
    late: float | None = None


@immutable
class CorrectRecipients(Act):
    """Set the parameters of recipients, and their times if the broadcast was ``moved``. Answers counts by outcome."""

    do = "correct"
    concerns = Shards.OF_RECIPIENTS

    name: str
    edit: int | Sequence[int]
    recipients: Sequence[Any]
    moved: bool = False


@immutable
class EndCorrection(Act):
    """End a correction: recipients that it did not name do not get the broadcast. Answers ``left_out``."""

    do = "end_edit"
    concerns = Shards.ALL

    name: str
    edit: int | Sequence[int]


# -- The bot's files


@immutable
class Reload(EngineRequest):
    """Load the bot's files again. Answers ``reloaded``: false if they have problems, so that those from
    before go on.
    """

    do = "reload"
    concerns = Shards.ALL


@immutable
class PublishVersion(Act):
    """Publish files (``content``, packed and in base64) as the version after ``after``; or without it, follow each
    server's own files.

    ``name`` is what the console's log calls them. Answers ``version``, its number.
    """

    do = "publish"
    concerns = Shards.FIRST

    after: int
    content: str | None = None
    note: str = ""
    name: str = ""


# -- Requests to the gateway


@immutable(kw_only=True)
class GatewayCommand(EngineRequest):
    """A request of a command to the gateway, within the limits that all requests share.

    If it ``can_wait``, the answer may be ``wait``: the limits leave no room for so many seconds, and nothing was done.
    """

    concerns = Shards.ANY

    can_wait: bool = False


@immutable
class ListTemplates(GatewayCommand):
    """All message templates. Answers ``items`` and ``has_more``."""

    do = "templates"


@immutable
class ListChatTemplates(GatewayCommand):
    """A page of the templates that people use in the gateway's inbox. Answers ``items`` and ``has_more``."""

    do = "chat_templates"

    page: int


@immutable
class ListGatewayContacts(GatewayCommand):
    """A page of the gateway's contacts. Answers ``items`` and ``has_more``."""

    do = "contacts"

    page: int


@immutable
class UpsertContact(GatewayCommand):
    """Create or change a contact at the gateway. Answers ``id``, or ``refused`` with the reason if the contact is at
    fault.
    """

    do = "put_contact"

    phone: str
    name: str | None
    email: str | None
    tags: Sequence[str]


@immutable
class RegisterWebhook(GatewayCommand):
    """Register a webhook at the gateway. Answers the whole registration."""

    do = "register_webhook"
    harmless_twice = False

    name: str
    url: str
    events: Sequence[str]
    secret: str | None = None


@immutable
class NoteCommand(EngineRequest):
    """Note that a request of a command is about to go to the gateway: it counts against the limits, also after a
    restart.
    """

    do = "note_command"
    concerns = Shards.FIRST

    command: str


# -- As JSON


def _concrete(above: type[EngineRequest]) -> Iterator[type[EngineRequest]]:
    for below in above.__subclasses__():
        if "do" in vars(below):
            yield below
        yield from _concrete(below)


REQUESTS: Mapping[str, type[EngineRequest]] = {each.do: each for each in _concrete(EngineRequest)}
"""All requests, by their ``do`` in JSON."""

_OF_THE_TABLE = frozenset(("asked_as", "again"))


def as_json(request: EngineRequest) -> dict[str, Any]:
    """The request as JSON: ``do`` and its fields. A field that is None, as it is by default, is left out."""
    values = {each.name: (getattr(request, each.name), each.default) for each in dataclasses.fields(request)}
    given = {
        name: value
        for name, (value, default) in values.items()
        if name not in _OF_THE_TABLE and (value is not None or default is not None)
    }
    return {"do": request.do, **given}


def read_request(json: object, asked_as: str | None = None, again: bool = False) -> EngineRequest:
    """The request that `as_json` has written. Raises `RequestMalformed`."""
    if not isinstance(json, dict):
        raise RequestMalformed("a request is an object of JSON")
    do = json.get("do")
    kind = REQUESTS.get(do) if isinstance(do, str) else None
    if kind is None:
        raise RequestMalformed(f'the engine knows no request "{do}"')
    fields = _fields(kind.do)
    for name, (annotation, required) in fields.items():
        if (required or name in json) and not _fits(json.get(name), annotation):
            raise RequestMalformed(f'the engine knows no request "{do}" of this form: "{name}" is wrong, or missing')
    values: dict[str, Any] = {name: json[name] for name in fields if name in json}
    return kind(**values, asked_as=asked_as, again=again)


@cache
def _fields(do: str) -> Mapping[str, tuple[Any, bool]]:
    """The annotations of the fields that a request has in JSON, and whether it must have them."""
    kind = REQUESTS[do]
    hints = get_type_hints(kind, include_extras=True)
    return {
        each.name: (hints[each.name], each.default is each.default_factory is dataclasses.MISSING)
        for each in dataclasses.fields(kind)
        if each.name not in _OF_THE_TABLE
    }


def _fits(value: object, annotation: Any) -> bool:
    """True if a value read from JSON has the type of a field. The items of lists and objects are checked where they are
    used.
    """
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
}
