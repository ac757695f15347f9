"""A search for moves that make the engine take given edges.

Each move is tried with the real engine, the likely ones first.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from heapq import heappop, heappush
from itertools import count

from bot.checker.exploring.explorer import ExploredState, Explorer
from bot.checker.exploring.moves import (
    EventMove,
    HandlerResult,
    HttpResult,
    ModelResult,
    Move,
    SignalMove,
    TapMove,
    WaitMove,
    WriteMove,
)
from bot.checker.exploring.proposals import LONG, Proposals
from bot.checker.graph import Cause, Edge
from bot.core.immutable import immutable
from bot.core.session import Frame
from bot.core.turn import StepTaken, Turn
from bot.core.waits import ForEffect, ForPerson, ForTime, FrameWait
from bot.language.source.word_matching import normalise
from bot.language.steps.step_options import SIGNAL

_UNLIKELY = 3  # moves; a move that is unlike all of the next edges costs so many more
_ASTRAY = 10  # moves; a conversation at a step of no next edge costs so many more
_AHEAD = 4  # edges that are considered: another path may lead to the third one as well
_SHORTENING = 1500  # turns that are spent on leaving out moves that are not needed
_SILENT = (Cause.TIMEOUT, Cause.TIME, Cause.REMINDER)


@immutable(order=True)
class _Try:
    """A move that is to be tried in a state, after ``taken`` edges of the route."""

    rank: int
    number: int
    state: ExploredState = field(compare=False)
    move: Move = field(compare=False)
    moves: int = field(compare=False)
    taken: int = field(compare=False)


class MoveSearch:
    """Searches for a conversation that takes edges in order. Other things may happen between them."""

    def __init__(self, explorer: Explorer, proposals: Proposals) -> None:
        self._explorer = explorer
        self._proposals = proposals

    def find(
        self,
        begins: Sequence[ExploredState],
        route: Sequence[Edge],
        shown: Callable[[ExploredState], bool],
        turns: int,
        *,
        short: bool = True,
        whole: bool = True,
        known: Sequence[Move] = (),
    ) -> ExploredState | None:
        """A state for which ``shown`` is true; None if none is found within ``turns``. Edges of the route may be
        skipped, because it is only one of several.

        ``whole``: the last edge may not be skipped, and states before it do not count. ``short``: moves that are not
        needed are left out. ``known`` are moves that led there before an edit of the bot, and are tried first.
        """
        self._aim(begins, route, shown, whole=whole)
        if known and (again := self._explorer.take_all(begins[0], known)) is not None and self._tells(again):
            return again
        end = self._explorer.taken + turns
        while self._explorer.taken < end and (tried := self._next()) is not None:
            state = self._explorer.take(tried.state, tried.move)
            taken = progress(self._route, tried.taken, state.turns)
            if (taken == len(self._route) or not whole) and shown(state):
                return self._shortened(state, self._explorer.taken + _SHORTENING) if short else state
            self._open(state, taken, tried.moves + 1)
        return None

    def _aim(
        self,
        begins: Iterable[ExploredState],
        route: Sequence[Edge],
        shown: Callable[[ExploredState], bool],
        *,
        whole: bool,
    ) -> None:
        """Begin a new search."""
        last = len(route) - 1
        self._route = [edge for number, edge in enumerate(route) if number == last or not edge.ends_all]
        self._shown, self._whole = shown, whole
        self._numbers, self._turns = count(), count()
        self._tries = defaultdict[int, list[_Try]](list)  # heaps, by the number of edges that have been taken
        self._met: set[int] = set()
        for state in begins:
            self._open(state, 0, 0)

    def _next(self) -> _Try | None:
        """The next move to try: by turns in a conversation that has taken the most edges, and in any conversation.

        When the conversations that have taken the most edges get no further, another value a few moves earlier may be
        needed.
        """
        left = sorted((taken for taken, tries in self._tries.items() if tries), reverse=True)
        if not left:
            return None
        turn = next(self._turns)
        return heappop(self._tries[left[0 if turn % 2 else turn // 2 % len(left)]])

    def _open(self, state: ExploredState, taken: int, moves: int) -> None:
        """Note the moves of a state, unless a similar state was met before."""
        key = hash((taken, digest(state)))
        if key in self._met:
            return
        self._met.add(key)
        ahead = self._route[taken : taken + _AHEAD]
        rank = moves + (_ASTRAY if self._is_astray(state, taken) else 0)
        for move in self._proposals.moves(state):
            likely = not ahead or any(suits(edge, move) for edge in ahead)
            rated = rank + (0 if likely else _UNLIKELY)
            heappush(self._tries[taken], _Try(rated, next(self._numbers), state, move, moves, taken))

    def _is_astray(self, state: ExploredState, taken: int) -> bool:
        """True if no next edge leads from the conversation's steps, or if it has ended too early."""
        route, drafts = self._route, state.session.drafts
        frames = (*state.session.frames, *(frame for draft in drafts for frame in draft.frames))
        if taken == len(route):
            return False
        if not frames:
            return taken > 0 and route[taken - 1].target is not None
        here = [(frame.flow, frame.step) for frame in frames]
        return all(edge.source not in here for edge in route[taken : taken + _AHEAD])

    def _shortened(self, state: ExploredState, end: int) -> ExploredState:
        """The same conversation without moves that are not needed.

        The longest possible sequences are left out first.
        """
        moves, begun = [each.move for each in state.path() if each.move is not None], state.path()[0].before
        assert begun is not None
        for length in range(len(moves) - 1, 0, -1):
            for start in range(len(moves) - length):
                if self._explorer.taken > end:
                    return state
                again = self._explorer.take_all(begun, [*moves[:start], *moves[start + length :]])
                if again is not None and self._tells(again):
                    return self._shortened(again, end)
        return state

    def _tells(self, state: ExploredState) -> bool:
        """True if a state is searched for: ``shown``, and at the end of the route if that is required."""
        turns = (turn for each in state.path() for turn in each.turns)
        behind = not self._whole or progress(self._route, 0, turns) == len(self._route)
        return behind and self._shown(state)


def progress(route: Sequence[Edge], taken: int, turns: Iterable[Turn]) -> int:
    """The number of edges of a route that are taken after these turns; ``taken`` of them were taken before."""
    for turn in turns:
        for step in turn.trace.steps:
            ahead = enumerate(route[taken : taken + _AHEAD], taken + 1)
            taken = next((number for number, edge in ahead if is_taken(edge, step)), taken)
    return taken


def is_taken(edge: Edge, step: StepTaken) -> bool:
    """True if a turn's step is this edge."""
    if (step.flow, step.step) != edge.source or step.outcome is None:
        return False
    if edge.word is None:
        return step.outcome == edge.outcome
    return normalise(step.outcome.removeprefix("word ").strip('"')) == normalise(edge.outcome.removeprefix("word "))


def suits(edge: Edge, move: Move) -> bool:
    """True if a move is likely to make a conversation take an edge."""
    if edge.cause in _SILENT:
        return isinstance(move, WaitMove) and move.duration != LONG
    if edge.cause is Cause.PERSON:
        return isinstance(move, EventMove)
    if edge.cause is Cause.SIGNAL:
        return isinstance(move, SignalMove) and edge.outcome.partition(" ")[0] == f"{SIGNAL}{move.name}"
    failing = edge.outcome.startswith("errors.")
    match move:
        case WaitMove():
            return edge.cause in (Cause.FLOW, Cause.EXPIRED, Cause.FAILED)
        case WriteMove(text) if edge.word is not None:
            return normalise(text) == edge.word
        case TapMove(title=title):
            return edge.word is None and edge.outcome in (f"[{title}]", "then", "[picked]", "picked")
        case WriteMove():
            return not edge.outcome.startswith("[")
        case HttpResult(status=status, fails=fails):
            return failing is (fails is not None or status >= 300)
        case HandlerResult(fails=fails) | ModelResult(fails=fails):
            return failing is (fails is not None)
    return edge.cause in (Cause.FLOW, Cause.TURN)


def digest(state: ExploredState) -> str:
    """Everything in a state that can change how the conversation continues.

    Time counts in steps of ten minutes since the last message.
    """
    session = state.session
    frames = [_of(frame) for frame in session.frames]
    plans = [(plan.name, plan.signal or plan.flow) for plan in session.plans]
    contact = (
        session.kept_variables,
        session.tags,
        session.agent,
        session.language,
        session.visit > 0,
        plans,
        session.refusals,
        session.late_messages,
        [(draft.title, *map(_of, draft.frames)) for draft in session.drafts],
    )
    newest = session.last_inbound
    silent = None if newest is None else min((state.now - newest).total_seconds() // 600, 144)
    return repr((frames, contact, state.next_send_refused, silent))


def _of(frame: Frame) -> tuple[object, ...]:
    """Everything in a frame that can change how the conversation continues."""
    unanswered = frame.unanswered
    return (
        frame.flow,
        frame.step,
        frame.vars,
        frame.step_state,
        replace(frame.question, entered_at=None),
        *_of_wait(frame.waits),
        frame.parked_messages,
        frame.visit_counts,
        None if unanswered is None else (unanswered.where, unanswered.step_state),
        *(() if unanswered is None else map(_of, unanswered.below)),
    )


def _of_wait(waits: FrameWait | None) -> tuple[object, ...]:
    """The kind of a wait, and its fields that do not only distinguish visits of a step."""
    match waits:
        case ForEffect(about=about):
            return ForEffect.__name__, about
        case ForTime(lasts=lasts):
            return ForTime.__name__, lasts
        case ForPerson(team=team, note=note):
            return ForPerson.__name__, team, note
    return (type(waits).__name__,)
