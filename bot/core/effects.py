"""Effects: everything that a turn decides to do. They are rows of the outbox until they are done."""

from dataclasses import field
from datetime import datetime, timedelta
from typing import Any, ClassVar

from bot.core.events import CallEnded, SharedRunRequested, SignalReceived, StartRequested
from bot.core.immutable import immutable
from bot.core.messages import Message, TemplateMessage, says
from bot.core.values import Media, stored

REPLY_TRIED_FOR = timedelta(minutes=15)
"""How long the bot tries to send a reply. A step that waits until the gateway has taken its message waits as long."""


@stored
@immutable
class Send:
    """Send a message to the contact.

    ``instead`` is the template that goes when the window is closed at the time of sending. ``report`` asks
    for a `SendEnded` event in any case; without it one comes only when the message did not go as planned. ``keep``: if
    the window is closed, the message waits until the contact writes.
    """

    message: Message
    instead: TemplateMessage | None = None
    report: bool = False
    keep: bool = False

    def late_message(self, outcome: str) -> Message | None:
        """The message, if it waits after this outcome. A template that has its whole text has stood for it."""
        if not self.keep or outcome not in ("replaced", "superseded"):
            return None
        said = outcome == "replaced" and self.instead is not None and says(self.instead, self.message)
        return None if said else self.message


@stored
@immutable
class Call:
    """Call a Python handler. ``within`` is in seconds; ``tries`` is how often an undeclared error is retried.

    A result that is longer than ``most`` characters as a text is cut there; None: it is kept whole.
    """

    handler: str
    arguments: dict[str, Any]
    within: float = 10.0
    tries: int = 1
    most: int | None = None


@stored
@immutable
class PutContact:
    """Change the contact at the gateway. ``tags`` replace all tags there; None leaves a name or email unchanged."""

    name: str | None
    email: str | None
    tags: tuple[str, ...]


@stored
@immutable
class ReadContact:
    """Look the contact up in the gateway's list: a `ContactChanged` says what is there and fills in what is unknown."""


@stored
@immutable
class ListContacts:
    """Read a page of the gateway's list of contacts, for all who wait for that (`bot.runtime.contact_list`).

    ``step`` counts the pages that were read, ``last`` is the number of the last one, if the gateway says how many there
    are. ``began_by`` is the event that first needed the list, ``first`` the gateway's id of the first contact of the
    page before.
    """

    began_by: str
    step: int = 0
    last: int | None = None
    first: str = ""

    @property
    def page(self) -> int:
        """The page to read: the first, the last, then from the second on. A new contact is on the first or the last."""
        if self.skips:
            assert self.last is not None
            return self.last
        return self.step if self.last is not None and self.step else self.step + 1

    @property
    def skips(self) -> bool:
        """True if this is the last page, read before those between."""
        return self.step == 1 and self.last is not None


KEEPING_ERRORS = TOO_LARGE, WRONG_TYPE, NOT_FETCHED = "TooLarge", "WrongType", "NotFetched"
"""The outcomes of a `Fetch` that keeps nothing."""
_FETCH_SECONDS, _FETCH_TRIES = 60.0, 3
KEPT_WITHIN = timedelta(seconds=_FETCH_SECONDS * _FETCH_TRIES)
"""How long a step waits at most until a file is kept, without the pauses between the tries."""


@stored
@immutable
class Fetch:
    """Keep a file that the contact sent: its address at the gateway dies after 24 hours. ``most`` is in bytes,
    ``types`` are the suffixes of its possible types; no types are all.

    It ends as ``done`` with the kept `Media`, or as ``ValueTooLarge``, ``WrongType`` or ``NotFetched``.
    """

    media: Media
    most: int
    types: tuple[str, ...] = ()
    within: float = _FETCH_SECONDS
    tries: int = _FETCH_TRIES


@stored
@immutable
class DeleteFile:
    """Delete a kept file of the contact that no variable has any more. No step waits for it."""

    file: str
    within: float = 60.0
    tries: int = 100


@stored
@immutable
class TokenBudget:
    """The most tokens of the ``turn`` that began at ``since``, and of a day (UTC) of the ``contact`` and of ``all``."""

    contact: int | None = None
    all: int | None = None
    turn: int | None = None
    since: datetime | None = None


SPARE_SECONDS = 5.0
"""By which a request, or a question to a model, ends before it would be given up."""


@stored
@immutable
class AskModel:
    """Ask a model to go on with a conversation (spec: Chat request).

    ``messages`` and ``tools`` are in the wire form; ``history`` of the messages, behind the first, are of earlier
    turns, and are left out where the whole is too long for the model. ``paragraphs`` is how many are reported as each
    is complete, before the end.
    ``heard`` names the handler that judges the messages ``fresh`` before the model gets any of them, ``said`` the
    one that judges each text of the model's and what it gives to tools. ``seconds`` is the time for one try; ``within``
    is how long it is waited for.
    """

    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...] = ()
    history: int = 0
    models: tuple[str, ...] = ()  # the one to ask, and those to fall back to; empty: the bot's
    max_tokens: int = 1024
    temperature: float | None = None
    reasoning_split: bool | None = None
    paragraphs: int = 0
    budget: TokenBudget = field(default_factory=TokenBudget)
    heard: str | None = None
    said: str | None = None
    fresh: tuple[int, ...] = ()  # which messages have come from outside, and no model has answered yet
    flow: str = ""  # whose usage it is
    seconds: float = 200.0
    within: float = 205.0
    tries: int = 3


@stored
@immutable
class JudgeAnswer:
    """Have a model judge what another has said at a step (``flow``, ``step``). No step waits for it: the verdict is
    counted.

    ``by`` asks the ``question``. If it names no models, one that is not ``answered_by`` is asked first.
    """

    by: AskModel
    flow: str
    step: str
    question: str
    answered_by: str = ""
    within: float = 205.0
    tries: int = 3


PASSING = (408, 425, 429)
"""The HTTP statuses of refusals after which the same request may succeed a little later."""


@stored
@immutable
class HttpRequest:
    """Send an HTTP request. ``address`` is ``https://...``, or ``crm:/orders/17``: a path of a service of `bot.yml`.

    Only the sender knows what the service adds: its base address and its secrets. ``seconds`` is the time for one try;
    ``within`` is how long it is waited for. An answer may be ``cache`` seconds old. With ``files``, by their names in
    the form that is the body, it is sent as ``multipart/form-data``.
    It ends as ``done``, as a status (``404``) or as
    ``timeout``, ``unreachable``, ``too_large`` or ``mismatch``; where there is an answer, the value is ``{"status":
    200, "answer": ...}``.
    """

    method: str
    address: str
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    seconds: float = 10.0
    within: float = 15.0
    tries: int = 1
    cache: float = 0.0
    files: dict[str, Media] = field(default_factory=dict)


@stored
@immutable
class Transcribe:
    """Have a voice note written down: it is fetched, and ``by`` gets the file where it has a `Media` whose ``file`` is
    empty.

    The file is deleted afterwards. It ends as ``by`` does, or as ``TooLarge``, ``WrongType`` or ``NotFetched``.
    ``seconds`` is the time for all of one try; ``within`` is how long it is waited for.
    """

    media: Media
    by: Call | HttpRequest
    seconds: float = 30.0
    within: float = 35.0
    tries: int = 1


@stored
@immutable
class EmitEvent:
    """Let something happen elsewhere, in the same commit.

    A flow starts for another contact, a signal is reported, a flow runs at a shared record, or the end of such a run is
    reported to the contact who waits for it.
    """

    event: StartRequested | SignalReceived | SharedRunRequested | CallEnded


@stored
@immutable
class RunHook:
    """Tell a hook of the bot's own Python what has happened. No step waits for it. ``within`` is in seconds."""

    hook: str
    told: dict[str, Any]
    within: float = 10.0
    tries: int = 1


@stored
@immutable
class Publish:
    """Deliver an event that happened ``at`` a time to the address under ``events_to``. No step waits for it."""

    within: ClassVar[float] = 20.0
    tries: ClassVar[int] = 1  # a failed delivery is a row that is due later

    name: str
    at: datetime
    data: dict[str, Any]


Performed = Call | Fetch | DeleteFile | AskModel | JudgeAnswer | HttpRequest | Transcribe | RunHook | Publish
"""The effects that performers carry out, outside of turns."""

ToSend = Send | PutContact | ListContacts
"""The effects that go to the gateway: those of the outbox's rows."""

Effect = Send | PutContact | ReadContact | Performed | EmitEvent
