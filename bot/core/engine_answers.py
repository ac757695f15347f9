"""All answers to requests to a running engine; `bot.core.engine_requests` says to which each belongs."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from bot.core.errors import BotError, OutcomeLost
from bot.core.immutable import immutable


class EngineRefused(BotError):
    """The engine has answered that a request is not done, and why."""


class MayBeDone(EngineRefused, OutcomeLost):
    """An engine got the request, and nobody knows whether it is done."""


class NoPermit(EngineRefused):
    """The gateway left no room for a command's request. ``wait`` are the seconds until it does, as far as is known."""

    def __init__(self, text: str, wait: float | None) -> None:
        super().__init__(text)
        self.wait = wait


@immutable
class EngineAnswer:
    """An answer to a request that was done."""


@immutable
class Done(EngineAnswer):
    """It is done; there is no more to say."""


# -- Questions


@immutable
class Status(EngineAnswer):
    """The state of delivery, and the ``alarms``.

    ``cursor`` is the place in the log up to which events were taken, None for several engines. ``left`` is what the
    gateway's limits leave, by window. ``waits`` says by id ``why`` a message waits, and ``until`` when. ``silent`` are
    the numbers of the shards whose engines do not answer.
    """

    cursor: int | None = None
    waiting: int = 0
    in_flight: int = 0
    left: dict[str, int] = field(default_factory=dict)
    alarms: Sequence[dict[str, str]] = ()
    waits: dict[str, dict[str, str | None]] = field(default_factory=dict)
    silent: Sequence[int] = ()


@immutable
class Metrics(EngineAnswer):
    """The metrics as ``text``, without those of ``silent`` shards."""

    text: str
    silent: Sequence[int] = ()


@immutable
class ServedFlows(EngineAnswer):
    """The names under which steps are counted (``flows``), how flows fill ``templates``, and the texts that agents
    send often, by title (``replies``).
    """

    flows: Mapping[str, Mapping[str, str]]
    templates: Sequence[dict[str, Any]]
    replies: Mapping[str, str] = field(default_factory=dict)


@immutable
class Mistakes(EngineAnswer):
    """The mistakes in a start or a signal, in words, ``by_field``. ``fields`` are the names that a signal declares."""

    by_field: Mapping[str, str] = field(default_factory=dict)
    fields: Sequence[str] | None = None


@immutable
class FormPage(EngineAnswer):
    """The page of a form, in the contact's ``language``. Its own ``words`` are ``send``, ``sent`` and ``closed``.

    ``open`` is false once the question waits no longer. Each of ``fields`` has a ``name``, a ``label``, its ``input``
    (a type of HTML), ``options`` if it is a choice, the ``text`` that was sent, and the ``error`` in it. ``values`` is
    the JSON of all values (`bot.core.values.json_text`), None if something was not sent, or is no answer.
    """

    open: bool
    language: str
    title: str
    words: Mapping[str, str]
    fields: Sequence[dict[str, Any]] = ()
    values: str | None = None


# -- One contact


@immutable
class ConversationChanged(EngineAnswer):
    """The contact's conversation has changed."""

    contact: str


@immutable
class FlowStarted(EngineAnswer):
    """How a start has ended.

    ``outcome`` is ``started``, ``waits`` until the contact is free, ``skipped``, ``opted_out`` or ``failed``.
    ``detail`` says why it failed; or that what it says cannot be sent, since the contact's window is closed.
    """

    contact: str
    flow: str
    detail: str
    outcome: str


@immutable
class SignalReported(EngineAnswer):
    """How a signal has ended.

    ``outcome`` is ``heard``, ``waits`` until the step can hear it, ``unheard`` or ``failed``; ``detail`` says why.
    """

    contact: str
    signal: str
    detail: str
    outcome: str


@immutable
class MessageAccepted(EngineAnswer):
    """The message waits to be sent."""

    id: int
    contact: str


@immutable
class ConversationHeld(EngineAnswer):
    """The person who has the conversation now; None: the bot."""

    contact: str
    agent: str | None


# -- Dead letters


@immutable
class DeadLettersEnded(EngineAnswer):
    """The dead letters that were retried or dropped (``done``), and the others by the reason why they were not.

    Those that are ``missing`` are no dead letters of messages or events out, or not any more. The contacts of others
    have ``opted_out``. The rest may have been sent: the gateway may recognise them by the ``same_key``, or they
    ``may_double``. ``held`` are the broadcasts that are stopped or paused: their messages wait until they are resumed.
    """

    done: Sequence[int] = ()
    missing: Sequence[int] = ()
    opted_out: Sequence[int] = ()
    same_key: Sequence[int] = ()
    may_double: Sequence[int] = ()
    held: Sequence[str] = ()

    @property
    def unclear(self) -> list[int]:
        """The messages that stay since they may have been sent."""
        return [*self.same_key, *self.may_double]


# -- Broadcasts


@immutable
class RecipientsAdded(EngineAnswer):
    """How many recipients were added, how many it had already (``differ``: so many of those have not got it, and have
    other parameters), and how many have opted out.
    """

    added: int = 0
    known: int = 0
    differ: int = 0
    opted_out: int = 0


@immutable
class BroadcastStopped(EngineAnswer):
    """How many contacts do not get it, and how many may still."""

    stopped: int
    in_flight: int


@immutable
class BroadcastResumed(EngineAnswer):
    """How many contacts wait for it again, and how many wait for their time."""

    resumed: int
    to_come: int


@immutable
class CorrectionBegun(EngineAnswer):
    """The correction's number; in a divided store a list, with the number that it has in each shard.

    The messages ``in_flight`` are not corrected, but where one is refused the corrected one follows.
    """

    edit: int | Sequence[int]
    in_flight: int


@immutable
class RecipientsCorrected(EngineAnswer):
    """How many recipients were corrected or added; how many had it, or may have had it (``unknown``): those stay as
    they are; how many have opted out.
    """

    corrected: int = 0
    added: int = 0
    had_it: int = 0
    unknown: int = 0
    opted_out: int = 0


@immutable
class CorrectionEnded(EngineAnswer):
    """How many contacts do not get it, because the correction did not name them."""

    left_out: int


# -- The bot's files


@immutable
class FilesLoaded(EngineAnswer):
    """The files were ``reloaded``; False if they have problems: then the files from before stay in use."""

    reloaded: bool


@immutable
class VersionPublished(EngineAnswer):
    """The number of the version that was published."""

    version: int


# -- Requests to the gateway


@immutable
class GatewayItems(EngineAnswer):
    """A page of one of the gateway's lists."""

    items: Sequence[dict[str, Any]]
    has_more: bool


@immutable
class ContactUpserted(EngineAnswer):
    """The contact's ``id`` at the gateway, or why it was ``refused``, if the contact is at fault."""

    id: str | None = None
    refused: str | None = None


@immutable
class WebhookRegistration(EngineAnswer):
    """A webhook that was registered. No later answer shows its ``secret`` again."""

    id: str
    name: str
    url: str
    events: Sequence[str]
    secret: str | None = field(repr=False)
    is_active: bool
    created_at: str | None
