"""The explorer: takes moves with the real engine and without I/O, and returns the state after each.

It imitates what delivery does: while the window is closed it sends a message's template instead or nothing, and it
reports the end of a send to the step that waits for it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from json import dumps
from typing import Any

from bot.checker.exploring.message_view import TapOption, options_of
from bot.checker.exploring.moves import (
    PLACE,
    EffectResult,
    EventMove,
    FileResult,
    HandlerResult,
    HttpResult,
    InputMove,
    ModelResult,
    Move,
    RefusalMove,
    SendMove,
    SignalMove,
    StartMove,
    TapMove,
    WaitMove,
    WriteMove,
)
from bot.core.effects import AskModel, Call, EmitEvent, Fetch, HttpRequest, Send
from bot.core.events import (
    CallEnded,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    SendEnded,
    SharedRunRequested,
    SignalReceived,
    StartRequested,
    StatusReported,
    Tapped,
    TimeReached,
)
from bot.core.immutable import immutable
from bot.core.messages import MEDIA_KINDS, Message, TemplateMessage
from bot.core.session import SENDING_WINDOW, Frame, Session, effect_ref
from bot.core.turn import StepTaken, Turn
from bot.core.values import Location, Media
from bot.engine.advance import advance
from bot.engine.replies import merged
from bot.language.flow.library import Library
from bot.language.python.annotations import Results
from bot.language.python.gathered import Extensions

ExternalEffect = Call | AskModel | Fetch | HttpRequest
"""Effects with a result that a step waits for."""
_MOST_TURNS = 500  # of one move, until nothing is due any more
_MOST_OPTIONS = 100  # that are remembered: as many as a contact can tap at the gateway


@immutable
class ExploredSend:
    """A message, and its outcome: ``sent``, ``replaced`` (``shown`` is the template), ``superseded``, ``failed``.

    ``silence`` is the time since the contact's last message; None: they have never written.
    """

    message: Message
    outcome: str
    shown: Message | None
    silence: timedelta | None

    @property
    def missed_window(self) -> bool:
        """True if the window was closed, and no template replaced it."""
        closed = self.silence is None or self.silence >= SENDING_WINDOW
        return self.outcome == "failed" and closed and not isinstance(self.message, TemplateMessage)


@immutable
class ExploredState:
    """The state of a conversation after a move. ``move`` led here from ``before``, by ``turns``."""

    session: Session
    now: datetime
    wake_at: datetime | None = None
    asked: Mapping[str, ExternalEffect] = field(default_factory=dict)  # effects without a result yet
    options: tuple[TapOption, ...] = ()  # that can be tapped, the newest last
    next_send_refused: bool = False  # the gateway refuses the next message
    replaced: datetime | None = None  # when a template went in place of a message
    cached: Mapping[str, tuple[datetime, Any]] = field(default_factory=dict)  # answers, by address, and until when
    parked: tuple[MessageReceived | Tapped, ...] = ()  # messages that wait, to be taken as one
    number: int = 0  # of the events until now
    turns: tuple[Turn, ...] = ()
    sent: tuple[ExploredSend, ...] = ()
    move: Move | None = None
    before: "ExploredState | None" = None

    @property
    def awaited(self) -> tuple[str, ExternalEffect] | None:
        """The effect whose result the conversation waits for, with its name."""
        frame = self.session.frame
        asked = None if frame is None or frame.awaited_effect is None else self.asked.get(frame.awaited_effect)
        return None if frame is None or frame.awaited_effect is None or asked is None else (frame.awaited_effect, asked)

    @property
    def frame(self) -> Frame | None:
        """The active frame: the flow and the step at which the conversation is."""
        return self.session.frame

    @property
    def steps(self) -> list[StepTaken]:
        """The steps of the last turns."""
        return [step for turn in self.turns for step in turn.trace.steps]

    @property
    def notes(self) -> list[str]:
        """The engine's notes about the last turns."""
        return [note for turn in self.turns for note in turn.trace.notes]

    @property
    def window_is_open(self) -> bool:
        """True if a message that is no template can be sent."""
        return self.session.window_is_open(self.now)

    def local(self, zone: tzinfo) -> datetime:
        """The time in a zone."""
        return self.now.astimezone(zone)

    def path(self) -> list["ExploredState"]:
        """The states from the first move on; this one is the last."""
        found: list[ExploredState] = []
        state: ExploredState | None = self
        while state is not None and state.move is not None:
            found.append(state)
            state = state.before
        return found[::-1]


class Explorer:
    """Takes moves with the real engine.

    ``taken`` counts the turns, ``drew`` says whether a turn has drawn a random number.

    No handler or service transcribes a voice note: a move says whether it is transcribed (`WriteMove`).

    ``extensions`` say what handlers return.
    """

    def __init__(self, library: Library, extensions: Extensions | None = None) -> None:
        self.library = library.without_transcription().with_draw(self._draw)
        self.taken = 0
        self.drew = False
        self._results = Results(extensions or Extensions())

    def begin(self, contact: str, now: datetime) -> ExploredState:
        """A contact who has never written. ``now`` is aware."""
        return ExploredState(Session(contact), now.astimezone(UTC))

    def possible(self, state: ExploredState, move: Move) -> Move | None:
        """A move of another conversation, as it can be made in this one; None: it is not possible."""
        asked = None if state.awaited is None else state.awaited[1]
        match move:
            case HandlerResult(name):
                return move if isinstance(asked, Call) and asked.handler == name else None
            case HttpResult(request):
                fits = isinstance(asked, HttpRequest) and f"{asked.method} {asked.address}" == request
                return move if fits else None
            case ModelResult():
                return move if isinstance(asked, AskModel) else None
            case FileResult():
                return move if isinstance(asked, Fetch) else None
            case TapMove(title=title):
                newest = next((each for each in reversed(state.options) if each.title == title), None)
                return None if newest is None or asked else TapMove(newest.reply, title, newest.picked)
        return None if asked else move

    def take_all(self, state: ExploredState, moves: Iterable[Move]) -> ExploredState | None:
        """The state after moves of another conversation; None if a move is not possible here."""
        for move in moves:
            possible = self.possible(state, move)
            if possible is None:
                return None
            state = self.take(state, possible)
        return state

    def take(self, state: ExploredState, move: Move) -> ExploredState:
        """The state after a move, when the conversation rests or waits for a result.

        A wait ends when something is due: the state's ``move`` is as long as it was.
        """
        if isinstance(move, WaitMove) and state.wake_at is not None:
            move = WaitMove(min(move.duration, _whole(state.wake_at - state.now)))
        after = replace(state, turns=(), sent=(), move=move, before=state)
        match move:
            case RefusalMove():
                return replace(after, next_send_refused=True)
            case WaitMove(duration):
                return self._settle(replace(after, now=state.now + duration), ())
        event = self._event(after, move)
        return self._settle(_cached(after, event), (event,))

    def _event(self, state: ExploredState, move: Move) -> Event:
        contact, now = state.session.contact, state.now
        if not isinstance(move, EffectResult):
            return event_of(move, _id(state), contact, now)
        assert state.awaited is not None, "no effect waits for a result"
        return end_of(move, state.awaited, contact, now, self._results)

    def _draw(self, key: str) -> float:
        self.drew = True
        return 0.0

    def _settle(self, state: ExploredState, events: tuple[Event, ...]) -> ExploredState:
        """Take events, and all that is due after them without another move."""
        waiting = deque(events)
        for _ in range(_MOST_TURNS):
            if waiting:
                event = waiting.popleft()
            elif state.wake_at is not None and state.wake_at <= state.now:
                event = TimeReached(_id(state), state.session.contact, state.now)
            else:
                break
            state, ended = self._turn(state, event)
            waiting += ended
        return state

    def _turn(self, state: ExploredState, event: Event) -> tuple[ExploredState, list[Event]]:
        """Take one turn; return the state, and the ends of sends that a step waits for."""
        turn = advance(self.library, state.session, event)
        self.taken += 1
        asked = {ref: effect for ref, effect in state.asked.items() if ref != getattr(event, "effect", None)}
        state = replace(
            state,
            session=turn.session,
            wake_at=turn.wake_at,
            number=state.number + 1,
            turns=(*state.turns, turn),
            asked=asked,
        )
        ended: list[Event] = []
        for ordinal, effect in enumerate(turn.effects):
            ref = effect_ref(event.id, ordinal)
            if isinstance(effect, Send):
                state, outcome = self._send(state, effect)
                if effect.report or outcome != "sent":
                    refused = effect.message if outcome == "refused" else effect.late_message(outcome)
                    ended.append(
                        SendEnded(f"sent:{ref}", state.session.contact, state.now, ref, outcome, message=refused)
                    )
            elif isinstance(effect, EmitEvent) and isinstance(effect.event, SharedRunRequested):
                ended += self._at_record(effect.event)
            elif isinstance(effect, ExternalEffect):
                state = replace(state, asked={**state.asked, ref: effect})
                ended += _known(state, ref, effect)
        return _unparked(state, ended)

    def _at_record(self, event: SharedRunRequested) -> list[Event]:
        """The end of a run at a shared record that nobody else has used."""
        turn = advance(self.library, Session(event.contact), event)
        return [
            each.event for each in turn.effects if isinstance(each, EmitEvent) and isinstance(each.event, CallEnded)
        ]

    def _send(self, state: ExploredState, effect: Send) -> tuple[ExploredState, str]:
        """Try to send a message, as `bot.runtime.sending` does."""
        newest, now = state.session.last_inbound, state.now
        silence = None if newest is None else now - newest
        closed = not (state.window_is_open or isinstance(effect.message, TemplateMessage))
        covered = state.replaced is not None and (newest is None or state.replaced > newest)
        outcome, shown = "sent", effect.message
        if closed and (covered or effect.instead is None or state.next_send_refused):
            outcome = "superseded" if covered else "failed"
            return _noted(state, ExploredSend(effect.message, outcome, None, silence)), outcome
        if state.next_send_refused:
            state = replace(state, next_send_refused=False)
            return _noted(state, ExploredSend(effect.message, "refused", None, silence)), "refused"
        if closed and effect.instead is not None:
            state, outcome, shown = replace(state, replaced=now), "replaced", effect.instead
        options = tuple(options_of(shown, self.library))
        again = {option.reply for option in options}  # a phone shows each where it came last
        before = [option for option in state.options if option.reply not in again]
        state = replace(state, options=(*before, *options)[-_MOST_OPTIONS:])
        return _noted(state, ExploredSend(effect.message, outcome, shown, silence)), outcome


def _unparked(state: ExploredState, ended: list[Event]) -> tuple[ExploredState, list[Event]]:
    """Park the message of a turn if the step keeps it; take the parked ones when the step keeps them no longer."""
    turn, parked = state.turns[-1], state.parked
    if turn.parks_message is not None:
        parked = (*parked, turn.parks_message)
    if turn.drops_parked:
        parked = ()
    if state.session.keeps_parked or not parked:
        return replace(state, parked=parked), ended
    taken = [merged(parked)] if state.session.has_parked_messages else parked
    return replace(state, parked=()), [*taken, *ended]


def _noted(state: ExploredState, sent: ExploredSend) -> ExploredState:
    return replace(state, sent=(*state.sent, sent))


def _cached(state: ExploredState, event: Event) -> ExploredState:
    """Keep a service's answer for as long as its step says."""
    request = None if state.awaited is None else state.awaited[1]
    if not isinstance(event, CallEnded) or not isinstance(request, HttpRequest) or event.outcome != "done":
        return state
    until = state.now + timedelta(seconds=request.cache)
    return replace(state, cached={**state.cached, request.address: (until, event.value)}) if request.cache else state


def _known(state: ExploredState, ref: str, effect: ExternalEffect) -> list[Event]:
    """The end of a request whose answer is still kept; empty if no answer is kept."""
    if not isinstance(effect, HttpRequest) or not effect.cache:
        return []
    until, value = state.cached.get(effect.address, (state.now, None))
    return [CallEnded(f"call:{ref}", state.session.contact, state.now, ref, "done", value)] if until > state.now else []


def _whole(duration: timedelta) -> timedelta:
    """A duration, rounded up to whole seconds."""
    return -(-duration // timedelta(seconds=1)) * timedelta(seconds=1)


def _id(state: ExploredState) -> str:
    return f"e{state.number}"


def event_of(act: InputMove, event_id: str, contact: str, now: datetime) -> Event:
    """The event of a contact's or a program's move.

    Raises `TypeError` for a move that is no event: a wait, or a fault.
    """
    match act:
        case WriteMove(text, voice=True):
            media = Media("audio", "https://files.example/audio")
            return MessageReceived(event_id, contact, now, now, "audio", text, media=media, transcribed=True)
        case WriteMove(text):
            return MessageReceived(event_id, contact, now, now, "text", text)
        case TapMove(reply, title):
            return Tapped(event_id, contact, now, now, reply, title)
        case SendMove(kind):
            sent = Media(kind, f"https://files.example/{kind}") if kind in MEDIA_KINDS else None
            place = Location(PLACE["latitude"], PLACE["longitude"]) if kind == "location" else None
            return MessageReceived(event_id, contact, now, now, kind, media=sent, location=place)
        case EventMove(event):
            return _EVENTS[event](event_id, contact, now)
        case StartMove(flow, data):
            return StartRequested(event_id, contact, now, flow, dict(data))
        case SignalMove(name, data):
            return SignalReceived(event_id, contact, now, name, dict(data))
    raise TypeError(f"{act} is no event")


_EVENTS: Mapping[str, Callable[[str, str, datetime], Event]] = {
    "contact.created": partial(ContactChanged, event="contact.created"),
    "contact.updated": partial(ContactChanged, event="contact.updated"),
    "conversation.opened": ConversationOpened,
    "conversation.assigned": partial(ConversationAssigned, agent="Agent"),
    "conversation.resolved": HandoffClosed,
    "message.sent": partial(StatusReported, status="sent", messages=("m",)),
    "message.delivered": partial(StatusReported, status="delivered", messages=("m",)),
    "message.read": partial(StatusReported, status="read", messages=("m",)),
    "message.failed": partial(StatusReported, status="failed", messages=("m",)),
}


def end_of(
    answer: EffectResult, awaited: tuple[str, ExternalEffect], contact: str, now: datetime, results: Results
) -> CallEnded:
    """The event that ends the effect which a step waits for."""
    ref, asked = awaited
    outcome, value = _ended(answer, asked, results)
    return CallEnded(f"call:{ref}", contact, now, ref, outcome, value)


_MADE = Media("document", "", file="made.pdf", type="application/pdf")


def _ended(answer: EffectResult, asked: ExternalEffect, results: Results) -> tuple[str, Any]:
    match answer:
        case HandlerResult(name, value, None):
            found = results.of(name, value)
            return "done", _MADE if isinstance(found, bytes) else found
        case HttpResult(status=status, fails=None):
            value = {"status": status, "answer": answer.json if answer.text is None else answer.text}
            return ("done" if 200 <= status < 300 else str(status)), value
        case ModelResult(fails=None):
            return "done", _said(answer)
        case FileResult():
            assert isinstance(asked, Fetch)
            return "done", replace(asked.media, file=asked.media.kind, type=asked.media.kind)
        case ModelResult(fails=str(failure)):
            return MODEL_OUTCOMES[failure], None
        case HandlerResult(fails=str(failure)) | HttpResult(fails=str(failure)):
            return failure, None
    raise TypeError(f"{answer} is no answer")


def _said(speaks: ModelResult) -> Mapping[str, Any]:
    """A model's answer as a step gets it (`bot.runtime.model_answer.answer_value`)."""
    calls = [
        {"id": f"c{number}", "name": name.replace(".", "_"), "arguments": dumps(arguments)}
        for number, (name, arguments) in enumerate(speaks.calls)
    ]
    finish = "tool_calls" if calls else "stop"
    return {"text": speaks.text, "said": 0, "calls": calls, "finish": finish, "model": "m", "tokens": 0}


MODEL_OUTCOMES: dict[str, str] = {
    "server_error": "down",
    "quota_exceeded": "quota",
    "model_no_tool_support": "no_tools",
    "content_filter": "unsafe",
    "timeout": "timeout",
    "empty": "empty",
    **dict.fromkeys(("invalid_request_error", "context_length_exceeded", "unauthorized"), "refused"),
    **dict.fromkeys(("model_requires_package", "model_not_in_package"), "refused"),
}
"""The outcomes of a model's failures. After any other failure the model is asked again."""
