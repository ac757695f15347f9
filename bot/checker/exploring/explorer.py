"""Walking through a bot with the real engine, without I/O: what was done, what was sent, and what is waited for.

What is not the engine's is done here as those do it who do it in earnest: a message behind a shut window does not go,
its template goes in its place, and whoever waits for the end of a send is told.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.checker.exploring.answers import Answer, Keeps, Responds, Returns, Speaks
from bot.checker.exploring.incoming import Asked, end_of, event_of
from bot.checker.exploring.moves import Move, Spoils, Taps, Waits
from bot.checker.exploring.state import WINDOW, Sent, State
from bot.checker.exploring.told import options_of
from bot.core.effects import Call, Complete, Fetch, HttpRequest, Send, effect_ref
from bot.core.events import CallEnded, Event, SendEnded, TimeReached
from bot.core.messages import TemplateMessage
from bot.core.session import Session
from bot.engine.advance import advance
from bot.extensions.annotations import Results
from bot.extensions.gathered import Extensions
from bot.flow.library import Library

_MOST_TURNS = 500  # that one move makes, until all rests
_MOST_OPTIONS = 100  # that are remembered: as many as a contact can tap at the gateway


class Explorer:
    """Takes moves. ``taken`` is how many turns that has made, ``drew`` whether any of them drew a random number.

    ``extensions`` say what handlers return.
    """

    def __init__(self, library: Library, extensions: Extensions | None = None) -> None:
        self.library = library.with_draw(self._draw)
        self.taken = 0
        self.drew = False
        self._results = Results(extensions or Extensions())

    def begin(self, contact: str, now: datetime) -> State:
        """A contact who has never written. ``now`` is aware."""
        return State(Session(contact), now.astimezone(UTC))

    def possible(self, state: State, move: Move) -> Move | None:
        """A move of another conversation, as it can be made in this one; None where it cannot be made."""
        asked = None if state.awaited is None else state.awaited[1]
        match move:
            case Returns(name):
                return move if isinstance(asked, Call) and asked.handler == name else None
            case Responds(request):
                fits = isinstance(asked, HttpRequest) and f"{asked.method} {asked.address}" == request
                return move if fits else None
            case Speaks():
                return move if isinstance(asked, Complete) else None
            case Keeps():
                return move if isinstance(asked, Fetch) else None
            case Taps(title=title):
                newest = next((each for each in reversed(state.options) if each.title == title), None)
                return None if newest is None or asked else Taps(newest.reply, title, newest.picked)
        return None if asked else move

    def take_all(self, state: State, moves: Iterable[Move]) -> State | None:
        """What comes of moves of another conversation, one after another; None where one cannot be made."""
        for move in moves:
            possible = self.possible(state, move)
            if possible is None:
                return None
            state = self.take(state, possible)
        return state

    def take(self, state: State, move: Move) -> State:
        """What comes of a move, when all rests again or waits for the world.

        A wait ends when something is due: the state's ``move`` is as long as it was.
        """
        if isinstance(move, Waits) and state.wake_at is not None:
            move = Waits(min(move.duration, _whole(state.wake_at - state.now)))
        after = replace(state, turns=(), sent=(), move=move, before=state)
        match move:
            case Spoils():
                return replace(after, spoiled=True)
            case Waits(duration):
                return self._settle(replace(after, now=state.now + duration), ())
        event = self._event(after, move)
        return self._settle(_cached(after, event), (event,))

    def _event(self, state: State, move: Move) -> Event:
        contact, now = state.session.contact, state.now
        if not isinstance(move, Answer):
            return event_of(move, _id(state), contact, now)
        assert state.awaited is not None, "nothing is asked of the world"
        return end_of(move, state.awaited, contact, now, self._results)

    def _draw(self, key: str) -> float:
        self.drew = True
        return 0.0

    def _settle(self, state: State, events: tuple[Event, ...]) -> State:
        """Take events, and what follows from them by itself."""
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

    def _turn(self, state: State, event: Event) -> tuple[State, list[Event]]:
        """One turn, and the ends of its sends that somebody is told of."""
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
                    refused = effect.message if outcome == "refused" else None
                    ended.append(
                        SendEnded(f"sent:{ref}", state.session.contact, state.now, ref, outcome, message=refused)
                    )
            elif isinstance(effect, Asked):
                state = replace(state, asked={**state.asked, ref: effect})
                ended += _known(state, ref, effect)
        return state, ended

    def _send(self, state: State, effect: Send) -> tuple[State, str]:
        """Try to send a message, as `bot.runtime.sending` does."""
        newest, now = state.session.last_inbound, state.now
        silence = None if newest is None else now - newest
        shut = not isinstance(effect.message, TemplateMessage) and (silence is None or silence >= WINDOW)
        covered = state.replaced is not None and (newest is None or state.replaced > newest)
        outcome, shown = "sent", effect.message
        if shut and covered:
            return _noted(state, Sent(effect.message, "covered", None, silence)), "covered"
        if shut and effect.instead is None:
            return _noted(state, Sent(effect.message, "failed", None, silence)), "failed"
        if state.spoiled:
            outcome, state = ("failed" if shut else "refused"), (state if shut else replace(state, spoiled=False))
            return _noted(state, Sent(effect.message, outcome, None, silence)), outcome
        if shut and effect.instead is not None:
            state, outcome, shown = replace(state, replaced=now), "replaced", effect.instead
        options = tuple(options_of(shown, self.library))
        again = {option.reply for option in options}  # a phone shows each where it came last
        before = [option for option in state.options if option.reply not in again]
        state = replace(state, options=(*before, *options)[-_MOST_OPTIONS:])
        return _noted(state, Sent(effect.message, outcome, shown, silence)), outcome


def _noted(state: State, sent: Sent) -> State:
    return replace(state, sent=(*state.sent, sent))


def _cached(state: State, event: Event) -> State:
    """Keep a service's answer for as long as its step says."""
    request = None if state.awaited is None else state.awaited[1]
    if not isinstance(event, CallEnded) or not isinstance(request, HttpRequest) or event.outcome != "done":
        return state
    until = state.now + timedelta(seconds=request.cache)
    return replace(state, cached={**state.cached, request.address: (until, event.value)}) if request.cache else state


def _known(state: State, ref: str, effect: Asked) -> list[Event]:
    """The end of a request whose answer is kept."""
    if not isinstance(effect, HttpRequest) or not effect.cache:
        return []
    until, value = state.cached.get(effect.address, (state.now, None))
    return [CallEnded(f"call:{ref}", state.session.contact, state.now, ref, "done", value)] if until > state.now else []


def _whole(duration: timedelta) -> timedelta:
    """A duration in whole seconds, none too few."""
    return -(-duration // timedelta(seconds=1)) * timedelta(seconds=1)


def _id(state: State) -> str:
    return f"e{state.number}"
