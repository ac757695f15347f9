"""The session: where a contact is, and what the conversation knows."""

from collections.abc import Sequence
from dataclasses import field, fields
from datetime import date, datetime, timedelta
from operator import attrgetter
from typing import Any

from bot.core.errors import BotError
from bot.core.events import ColleagueDecided, MessageReceived, Tapped
from bot.core.immutable import immutable, mutable
from bot.core.messages import Message
from bot.core.values import loads, stored
from bot.core.waits import ForContact, ForPerson, FrameWait


@stored
@immutable
class Question:
    """The state of the active step's question in this visit.

    ``retries`` counts wrong answers, ``in_a_row`` those since a word was heard, and ``reminders`` those that were sent.
    ``undelivered``: it did not reach the contact (the window was closed), so their next message brings it. ``early``:
    the answer that is being checked was written before the question was put. ``to_continue``: after an interruption,
    the contact was asked whether to go on. ``entered_at``: when the step was first entered, before a digression or an
    interruption: a fixed time-out counts from it.
    """

    retries: int = 0
    in_a_row: int = 0
    reminders: int = 0
    undelivered: bool = False
    early: bool = False
    to_continue: bool = False
    entered_at: datetime | None = None


NEW_QUESTION = Question()


@stored
@immutable
class UnansweredQuestion:
    """A question, or another step that waited, that was left without an answer: `back` leads to it.

    ``where`` is ``flow/step``. ``below`` are the flows that were open below, if they were left as well. ``retries``:
    how often it had been asked again, if it was left for a digression. ``entered_at``: when it was first entered. A
    step that is no question goes on with its ``waits`` and ``step_state``.
    """

    where: str
    below: tuple["Frame", ...] = ()
    retries: int = 0
    entered_at: datetime | None = None
    waits: FrameWait | None = None
    step_state: dict[str, Any] = field(default_factory=dict)


@stored
@immutable
class Correction:
    """The correction of an earlier answer: ``step`` is answered anew, then ``back`` follows."""

    step: str
    back: str


QUESTION_TAG = "question:"


@stored
@immutable
class TeamQuestion:
    """A question of a step to the ``team``, whether a call may be made; meanwhile the contact goes on.

    ``visit`` is the step's visit: when it ends, the question is withdrawn. ``text`` is what the team reads. ``call`` is
    what the step needs to make the call. It is open for so long as it ``lasts``. ``decision`` is kept until the step
    can take it.
    """

    id: str
    visit: int
    team: str
    text: str
    call: dict[str, Any]
    asked_at: datetime
    lasts: timedelta
    decision: ColleagueDecided | None = None

    @property
    def tag(self) -> str:
        """The tag that the contact has until somebody has decided."""
        return QUESTION_TAG + self.team

    @property
    def until(self) -> datetime:
        """The time by which somebody is to decide."""
        return self.asked_at + self.lasts


@stored
@mutable
class Frame:
    """One flow that a contact is in. The top frame of the stack is the active one; below it lie its callers."""

    flow: str
    step: str
    visit: int  # unique for the contact: it tells this visit of the step from every other
    entered_at: datetime
    silent_since: datetime  # when something was last sent or received here: reminders and time-outs count from it
    fingerprint: str = ""  # of the step's source, to notice an edit
    form: str = ""  # how the step waits, to notice an edit that makes another kind of it
    vars: dict[str, Any] = field(default_factory=dict)
    step_state: dict[str, Any] = field(default_factory=dict)  # the step's own notes: only its kind reads them
    waits: FrameWait | None = None  # None: the step has not begun to wait
    question: Question = NEW_QUESTION
    parked_messages: int = 0  # how many messages the step takes as one when it has what it waits for
    visit_counts: dict[str, int] = field(default_factory=dict)
    first_visit: int = 0  # the one with which this run of the flow began
    came_from: str | None = None
    interrupts: bool = False  # it interrupts the one below, if there is one, which did not run it
    notice: bool = False  # ... and has asked nothing: the question below is not asked again
    ahead: dict[str, str] = field(default_factory=dict)  # answers to questions that have not come yet, by step
    unread: str | None = None  # a message in which a model looks for more of them, as soon as a question comes
    unanswered: UnansweredQuestion | None = None
    former_step_names: dict[str, str] = field(default_factory=dict)  # before an edit, by "flow/step"
    correction: Correction | None = None

    @property
    def awaited_effect(self) -> str | None:
        """The effect whose end the step waits for; None if it waits for something else."""
        return None if self.waits is None else self.waits.effect

    @property
    def gathers_since(self) -> datetime | None:
        """The time at which the step began to gather messages; None if it gathers none."""
        return self.waits.gathers_since if isinstance(self.waits, ForContact) else None

    @property
    def is_occupied(self) -> bool:
        """True if it waits for the end of something, or for more of the contact's messages: nothing interrupts that."""
        return self.waits is not None and self.waits.is_occupied


SENDING_WINDOW = timedelta(hours=24) - timedelta(minutes=5)
"""The time after a contact's newest message in which the bot sends messages that are no templates.

It is the gateway's 24 hours, less five minutes in which a message may still wait to be sent (decisions: "Window")."""


def window_until(last_inbound: datetime | None) -> datetime | None:
    """When the window closes that the contact's newest message has opened; None without a message."""
    return None if last_inbound is None else last_inbound + SENDING_WINDOW


OPTED_OUT = "opted_out"
"""The tag of a contact who has opted out, here and at the gateway. Such a contact only gets answers."""
HAS_OPTED_OUT = "the contact has opted out"

BUSY = ("skip", "after", "interrupt", "notice", "replace")
"""The policies for a start while the contact is in a flow.

The start is skipped, it waits, it interrupts, it interrupts and the question is not asked again, or it ends all flows
that the contact is in."""
CUTS_IN = ("interrupt", "notice")
"""The policies after which the interrupted conversation continues."""


@stored
@immutable
class Plan:
    """A flow that is to start for the contact. ``name`` is unique for the contact: a second one replaces the first.

    Or a signal that waits until its step can hear it; then ``flow`` is empty, and ``inputs`` are its data. With
    ``after`` it is kept that long, until ``at``, for a step that has it.
    ``flow`` is the flow, or ``flow/step``. ``after`` is how long it waits, where no day and hour were named. ``every``
    repeats it (five fields of cron, in the bot's time zone), as long as that comes before ``until``.
    """

    name: str
    flow: str
    at: datetime
    inputs: dict[str, Any] = field(default_factory=dict)
    busy: str = "after"
    every: str | None = None
    until: datetime | None = None
    after: timedelta | None = None
    signal: str | None = None
    first_visit: int | None = None  # of the only run that is to hear the signal
    broadcast: str | None = None  # the broadcast that starts the flow


@stored
@immutable
class MadeFile:
    """A file that a handler has made for the contact. It is deleted at ``until``; None: a variable still has it."""

    file: str
    until: datetime | None = None


MOST_LATE = 10
"""How many messages of a contact wait until the contact writes, because the window was closed for them."""

LONGEST_REST = timedelta(minutes=1)
"""How long at most the messages of a contact are parked because the last ones took long."""

MOST_HISTORY, MOST_HISTORY_TEXT = 20, 500
"""How many messages of a conversation `history` has, and how many characters of each."""
CONTACT, BOT = "contact", "bot"


def record_id(kind: str, key: str) -> str:
    """The id of a shared record: ``record_id("queue", "north")`` is ``@queue:north``.

    It stands where a contact's id stands, and no contact has such an id.
    """
    return f"@{kind}:{key}"


def is_record(contact: str) -> bool:
    """Return whether this is the id of a shared record, and of no contact."""
    return contact.startswith("@")


@stored
@immutable
class Said:
    """One message of the conversation: ``role`` is `CONTACT` or `BOT`."""

    role: str
    text: str
    at: datetime


@stored
@immutable
class ValidReplies:
    """A conversation as it was when it sent buttons: a tap leads on from there ``until`` a time; only ``once``."""

    until: datetime
    frames: tuple[Frame, ...]
    once: bool = False


@stored
@immutable
class LeftExchange:
    """The messages of a contact and a model at a step that was left: ``where`` is ``flow/step``.

    ``at`` is the time of the contact's last message in it; the messages are in the wire form.
    """

    where: str
    at: datetime
    messages: tuple[dict[str, Any], ...]


@stored
@immutable
class Draft:
    """A conversation that is set aside ``until`` a time, with its title. The contact may continue it.

    ``lasts`` is how long it is kept at most: the clock may have been set back.
    """

    title: str
    until: datetime
    lasts: timedelta
    frames: tuple[Frame, ...]

    @property
    def flow(self) -> str:
        """The flow with which the conversation began: its start finds the draft."""
        first, *above = self.frames
        if above or first.unanswered is None:
            return first.flow
        below = () if first.interrupts else first.unanswered.below
        return below[first_of_conversation(below)].flow if below else self.where.partition("/")[0]

    @property
    def visit(self) -> int:
        """The visit of its top frame: no other draft of the contact has it."""
        return self.frames[-1].visit

    @property
    def where(self) -> str:
        """The step at which the contact continues it, as ``flow/step``."""
        top = self.frames[-1]
        return f"{top.flow}/{top.step}" if top.unanswered is None else top.unanswered.where


@stored
@immutable
class VoiceNote:
    """A voice note that is being transcribed, and the effect whose end is awaited."""

    effect: str
    message: MessageReceived


@stored
@mutable
class Session:
    """A contact's state. It is a value: `bot.engine.advance.advance` returns a new one and leaves the old alone."""

    contact: str
    name: str | None = None
    channel: str | None = None
    conversation: str | None = None
    email: str | None = None
    tags: tuple[str, ...] = ()
    gateway_tags: tuple[str, ...] = ()  # those that the gateway had when it last spoke of the contact
    described: bool = False  # the gateway has said which name and tags the contact has there
    agent: str | None = None  # the person who has taken the conversation over; the bot is silent
    taken_at: datetime | None = None  # when that person has done so
    silent_until: datetime | None = None  # that person has only answered: the bot has the conversation again then
    unanswered: tuple[MessageReceived | Tapped, ...] = ()  # what the contact has written since that answer
    agent_reported_at: datetime | None = None  # the gateway's time of the newest event that said who has it
    last_inbound: datetime | None = None  # newest message or tap, by its own timestamp: opens the window
    language: str | None = None  # the contact's, where one was chosen; else the bot's first
    timezone: str | None = None  # the contact's, where a flow has set one
    kept_variables: dict[str, Any] = field(default_factory=dict)  # those with `keep`: they outlive the conversation
    plans: tuple[Plan, ...] = ()  # the flows that are to start
    late_messages: tuple[Message, ...] = ()  # the window was closed for them: they come when the contact writes
    due_count: int = 0  # how many of them have come due since then, without a word from the contact
    due_since: datetime | None = None
    refusals: int = 0  # how often a refused message has led on by errors since then
    apology_due: bool = False  # a model has failed, and nothing has been said to the contact since
    unsolicited: bool = False  # of a contact who has opted out: the contact has not asked for what happens now
    broadcast: str | None = None  # it has started a flow, and the contact has not written since
    visit: int = 0  # the last visit number given out
    woken: int = 0  # how many times have come: no two of them are one event, also if they are the same
    # where `share()` decided in this conversation ("flow/step"), and which way
    splits: dict[str, str] = field(default_factory=dict)
    valid_replies: tuple[ValidReplies, ...] = ()  # of messages with buttons that were sent, the newest last
    frames: tuple[Frame, ...] = ()
    team_questions: tuple[TeamQuestion, ...] = ()  # one for each frame at most
    drafts: tuple[Draft, ...] = ()  # conversations that are set aside, the newest last
    history: tuple[Said, ...] = ()  # the newest messages of this conversation, where a text of the bot's asks for them
    left_exchange: LeftExchange | None = None  # the newest one: the model is given it if the contact comes back
    rests_until: datetime | None = None  # the contact's messages took long: until then the next ones are parked
    voice_note: VoiceNote | None = None  # it is taken when it is known what it says; what comes meanwhile waits
    transcribed: int = 0  # how many voice notes were to be transcribed on the day ``transcribed_on`` (UTC)
    transcribed_on: date | None = None
    made_files: tuple[MadeFile, ...] = ()

    def copy(self) -> "Session":
        """A copy of the session and its frames that can be changed without changing this one."""
        copied = Session(*_fields_of_session(self))
        copied.frames = tuple([Frame(*_fields_of_frame(frame)) for frame in self.frames])
        return copied

    @property
    def frame(self) -> Frame | None:
        """The active frame, or None when the contact is in no flow."""
        return self.frames[-1] if self.frames else None

    @property
    def opted_out(self) -> bool:
        """True if the contact has opted out and only wants answers."""
        return OPTED_OUT in self.tags

    @property
    def handed_over_at(self) -> datetime | None:
        """The time since which a person has the conversation, or is to take it or decide; None: the bot has it."""
        if self.hand_over is not None:
            return self.frames[-1].entered_at
        question = self.team_question
        return self.taken_at if question is None else question.asked_at

    @property
    def team_question(self) -> TeamQuestion | None:
        """The newest question to the team that nobody has decided yet."""
        if not self.team_questions:  # nearly always
            return None
        return next((each for each in reversed(self.team_questions) if each.decision is None), None)

    @property
    def question_of_step(self) -> TeamQuestion | None:
        """The question to the team of the active step, also one that was decided."""
        if not self.team_questions:  # nearly always
            return None
        visit = self.frames[-1].visit if self.frames else None
        return next((each for each in self.team_questions if each.visit == visit), None)

    @property
    def hand_over(self) -> ForPerson | None:
        """The team that is to take the conversation over, and the note for it; None if nobody is to."""
        waits = self.frames[-1].waits if self.frames else None
        return waits if isinstance(waits, ForPerson) else None

    def window_is_open(self, now: datetime) -> bool:
        """True if a message that is no template can be sent."""
        until = window_until(self.last_inbound)
        return until is not None and now < until

    @property
    def busy(self) -> bool:
        """True while messages are parked unread.

        A voice note is being transcribed, or the active step waits for a call and takes no messages.
        Messages to an agent are not parked: they are not for the bot, now or later.
        """
        return (self.voice_note is not None and self.agent is None) or self.step_is_busy

    @property
    def step_is_busy(self) -> bool:
        """True while the active step waits for a call and takes no messages."""
        waits = self.frames[-1].waits if self.frames else None
        return waits is not None and waits.parks_messages and self.agent is None

    def awaits(self, effect: str) -> bool:
        """True if nothing goes on before the end of this effect."""
        if self.voice_note is not None and self.voice_note.effect == effect:
            return True
        return bool(self.frames) and self.frames[-1].awaited_effect == effect

    @property
    def waits_for_effect(self) -> bool:
        """True while the active step waits for the end of something, and no agent answers in its place."""
        return bool(self.frames) and self.frames[-1].awaited_effect is not None and self.agent is None

    @property
    def gathers(self) -> bool:
        """True while the active step waits for more messages, to take all of them as one."""
        return bool(self.frames) and self.frames[-1].gathers_since is not None

    @property
    def keeps_parked(self) -> bool:
        """True while the active step does not take the messages yet that it has parked."""
        return self.waits_for_effect or self.gathers

    @property
    def has_parked_messages(self) -> bool:
        """True where the active step has parked messages, to take them as one."""
        return bool(self.frames) and self.frames[-1].parked_messages > 0


# a turn begins with a copy: `dataclasses.replace` would take five times as long
_fields_of_frame = attrgetter(*(field.name for field in fields(Frame)))
_fields_of_session = attrgetter(*(field.name for field in fields(Session)))


_REMEMBERED = timedelta(days=7)


def forget_left_exchange(session: Session, now: datetime) -> None:
    """Forget an exchange with a model that was left a week ago or earlier."""
    left = session.left_exchange
    if left is not None and now - left.at >= _REMEMBERED:
        session.left_exchange = None


def left_exchange(session: Session, where: str) -> LeftExchange | None:
    """The exchange with a model at this step, before it was left last."""
    left = session.left_exchange
    return left if left is not None and left.where == where else None


def first_of_conversation(frames: Sequence[Frame]) -> int:
    """The depth on the stack at which the contact's conversation begins: the flows below it were interrupted."""
    if len(frames) < 2:
        return 0
    return max((depth for depth, frame in enumerate(frames) if frame.interrupts), default=0)


def effect_ref(event_id: str, ordinal: int) -> str:
    """The name of a turn's n-th effect: stable over a repeat of the turn, known to the session."""
    return f"{event_id}#{ordinal}"


class UnreadableSession(BotError):
    """A session in the store that this version cannot read. ``state`` is its text."""

    def __init__(self, state: str) -> None:
        super().__init__("the session cannot be read by this version; the conversation starts anew")
        self.state = state


def read_session(state: str) -> Session:
    """A session from its text. Raises `UnreadableSession`."""
    try:
        session = loads(state)
    except (ValueError, TypeError, LookupError, ArithmeticError):
        raise UnreadableSession(state) from None
    if not isinstance(session, Session):
        raise UnreadableSession(state)
    return session
