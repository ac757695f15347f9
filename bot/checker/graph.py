"""A bot as a graph: every step of every flow, and every way in which a conversation gets from one to another.

It says more than can happen, never less: what depends on values may be the case. An edge leads within a frame; what
opens frames (starts, plans, `run`, interruptions) are roots.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import cached_property

from bot.flow.definition import Flow, Step, Way
from bot.flow.library import Library
from bot.flow.uses import uses_on_leaving
from bot.lang.nodes import Mark
from bot.lang.templates import Expression, Template
from bot.steps.declared import RestFor
from bot.steps.doors import AGAIN, BACK, END, NEXT, ROUTE, Assignment, Door

Place = tuple[str, str]
"""A flow and one of its steps."""


class Cause(Enum):
    """What makes a conversation take an edge."""

    TURN = "turn"  # nothing: it goes on at once
    REPLY = "reply"  # the contact wrote or tapped
    REMINDER = "reminder"  # silence, and it goes on waiting
    TIMEOUT = "timeout"  # silence
    TIME = "time"  # a wait is over
    RESULT = "result"  # a call ended
    PERSON = "person"  # a hand-over was closed
    FLOW = "flow"  # a flow that was run has ended
    EXPIRED = "expired"  # ... because nobody answered


_BY_REST = {
    RestFor.CONTACT: Cause.REPLY,
    RestFor.RESULT: Cause.RESULT,
    RestFor.TIME: Cause.TIME,
    RestFor.PERSON: Cause.PERSON,
    RestFor.FLOW: Cause.FLOW,
}
_BY_OUTCOME = {"remind": Cause.REMINDER, "timeout": Cause.TIMEOUT, "expired": Cause.EXPIRED, "visits.else": Cause.TURN}


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """One way on from a step. ``target`` None: the frame ends there, all frames where ``ends_all``.

    ``puts``: the target's question or message is put, which is not so where a door only says something and the step
    goes on waiting. ``word`` is the word that leads there, where one does.
    ``fails``: a text or a value fails, at entering or on another way out. ``returns``: it leads back to a step at which
    the conversation has been.
    """

    source: Place
    target: Place | None
    outcome: str
    cause: Cause
    mark: Mark
    door: Door | None = None
    success: bool = False
    puts: bool = True
    ends_all: bool = False
    word: str | None = None
    fails: bool = False
    returns: bool = False

    @property
    def expires(self) -> bool:
        """Whether the frame ends here because nobody answered."""
        return self.target is None and self.outcome == "timeout"


class Opening(Enum):
    """What opens a frame."""

    WORDS = "words"  # a message that starts the flow
    INTERRUPTION = "interruption"  # a message that starts it while another flow waits
    WORD = "word"  # a word of the bot's, where the contact is in no flow
    EVENT = "event"  # an event of the gateway
    RUN = "run"  # a step that runs it
    PLAN = "plan"  # a step's schedule
    PROGRAM = "program"  # nothing that the bot says: somebody starts it by the command line or the interface


@dataclass(frozen=True, slots=True)
class Root:
    """A step at which a frame begins. ``by`` is the step that runs or schedules it; ``after`` how long after it was
    left, None where nobody can tell. ``inputs`` are given.
    """

    place: Place
    opening: Opening
    mark: Mark
    by: Place | None = None
    after: timedelta | None = None
    inputs: tuple[Assignment, ...] = ()
    event: str | None = None


@dataclass(frozen=True)
class Graph:
    """All steps, edges and roots of a bot."""

    library: Library
    steps: Mapping[Place, Step] = field(init=False)

    def __post_init__(self) -> None:
        found = {(flow.name, step.name): step for flow in self.library.flows.values() for step in flow.steps.values()}
        object.__setattr__(self, "steps", found)

    @cached_property
    def edges(self) -> Mapping[Place, tuple[Edge, ...]]:
        """What leads on from each step."""
        found = {
            place: [*self._by_ways(place, step), *self._by_words(place, step)] for place, step in self.steps.items()
        }
        self._lead_back(found)
        return {place: tuple(edges) for place, edges in found.items()}

    @cached_property
    def edges_to(self) -> Mapping[Place, tuple[Edge, ...]]:
        """What leads to each step, from others and from itself."""
        found: dict[Place, list[Edge]] = {place: [] for place in self.steps}
        for edges in self.edges.values():
            for edge in edges:
                if edge.target is not None:
                    found[edge.target].append(edge)
        return {place: tuple(edges) for place, edges in found.items()}

    @cached_property
    def roots(self) -> tuple[Root, ...]:
        """Where frames begin. A flow that nothing in the bot leads to is one that a program starts."""
        found = [*self._started(), *self._opened_by_words(), *self._opened_by_steps()]
        led_to = {root.place[0] for root in found}
        led_to |= {
            e.target[0] for edges in self.edges.values() for e in edges if e.target and e.target[0] != e.source[0]
        }
        for flow in self.library.flows.values():
            if flow.name not in led_to and flow.steps:
                found.append(Root((flow.name, flow.first), Opening.PROGRAM, flow.mark))
        return tuple(found)

    @cached_property
    def roots_by(self) -> Mapping[Place, tuple[Root, ...]]:
        """The roots that a step opens, by the step."""
        found: dict[Place, list[Root]] = {}
        for root in self.roots:
            if root.by is not None:
                found.setdefault(root.by, []).append(root)
        return {place: tuple(roots) for place, roots in found.items()}

    @cached_property
    def below(self) -> Mapping[str, frozenset[str]]:
        """The flows that are open below each flow, wherever it is: whoever runs it, where nothing else leads to it."""
        runners: dict[str, set[str] | None] = {name: set() for name in self.library.flows}
        for root in self.roots:
            found = runners[root.place[0]]
            if root.opening is not Opening.RUN or root.by is None:
                runners[root.place[0]] = None
            elif found is not None:
                found.add(root.by[0])
        for edges in self.edges.values():
            for edge in edges:
                if edge.target is not None and edge.target[0] != edge.source[0]:
                    runners[edge.target[0]] = None
        below: dict[str, frozenset[str]] = {name: frozenset() for name in runners}
        for _ in runners:  # as deep as they run each other
            known = {name: below[name] | {name} for name in runners}
            below = {
                n: frozenset.intersection(*(known[r] for r in by)) if by else below[n] for n, by in runners.items()
            }
        return below

    def flow(self, place: Place) -> Flow:
        """The flow of a step."""
        return self.library.flows[place[0]]

    def opened_by(self, target: str) -> Place:
        """The step at which ``flow``, ``/flow`` or ``/flow/step`` begins."""
        name, _, step = target.removeprefix("/").partition("/")
        return name, step or self.library.flows[name].first

    def hears(self, place: Place) -> bool:
        """Whether words and starts are heard while a conversation rests there."""
        kind = self.steps[place].kind
        return kind.pauses and not kind.deaf

    # -- edges -----------------------------------------------------------------------------------------------------

    def _by_ways(self, place: Place, step: Step) -> Iterator[Edge]:
        rest = step.kind.rest
        cause = Cause.TURN if rest is None else _BY_REST[rest.what]
        failing = {Cause.TURN} if _can_fail(used.text for used in step.kind.uses()) else set()
        for way in step.ways.values():
            if way.outcome.startswith("errors."):
                continue
            causes = [_BY_OUTCOME.get(way.outcome, cause)]
            causes += [Cause.TURN] * (step.kind.takes_unread and causes[0] is Cause.REPLY)
            for each in causes:
                yield self._edge(place, way, each)
            if _can_fail(_texts_on(step, way)):
                failing.update(causes)
        own = {cause} if "errors.else" in step.kind.outcomes() else set()
        for way in step.ways.values():
            if way.outcome.startswith("errors."):
                yield from (self._edge(place, way, each) for each in own)
                yield from (self._edge(place, way, each, fails=True) for each in Cause if each in failing - own)

    def _edge(self, place: Place, way: Way, cause: Cause, *, fails: bool = False) -> Edge:
        target, puts, ends_all = self._lead(place, way.target)
        return Edge(place, target, way.outcome, cause, way.mark, way.door, way.success, puts, ends_all, fails=fails)

    def _by_words(self, place: Place, step: Step) -> Iterator[Edge]:
        """A word leads on from each step at which it is heard; one text may be heard at several levels."""
        if not self.hears(place):
            return
        flow, bot = self.flow(place), self.library.bot
        for words in (bot.words, flow.words, step.riders.words):
            for said, word in words.items():
                door = word.door
                written = None if door.then is None else door.then.text
                written = flow.following(step.name) if written == NEXT else written
                target, puts, ends_all = self._lead(place, written)
                ends_all = ends_all or (words is bot.words and written == END)
                name, mark = f"word {word.text}", word.mark
                yield Edge(place, target, name, Cause.REPLY, mark, door, False, puts, ends_all, said)

    def _lead(self, place: Place, target: str | None) -> tuple[Place | None, bool, bool]:
        """The step that a target leads to, whether it is put there, and whether everything ends."""
        if target is None:
            return place, False, False
        if target == AGAIN:
            return place, True, False
        if target in (END, BACK, ROUTE):
            return None, False, target == ROUTE
        if target.startswith("/"):
            return self.opened_by(target), True, False
        return (place[0], target), True, False

    def _lead_back(self, edges: dict[Place, list[Edge]]) -> None:
        """Add where `back` leads beside the end of its frame, and a corrected answer: to questions left before."""
        returning = [edge for found in edges.values() for edge in found if _written(edge) == BACK]
        if returning:
            left = [e for found in edges.values() for e in found if self._leaves_question(e)]
            before = _reverse(edges)
            for edge in returning:
                reached = _all_before(edge.source, before)
                for question in dict.fromkeys(e.source for e in left if e.target in reached):
                    edges[edge.source].append(_to(edge, question))
        correcting = [
            edge for found in edges.values() for edge in found if edge.door is not None and edge.door.corrects
        ]
        for edge in correcting:
            assert edge.target is not None  # the checks of loading see to it
            answers = [e for e in edges[edge.target] if e.cause is Cause.REPLY and e.success]
            edges[edge.target] += [_to(answer, edge.source) for answer in answers]

    def _leaves_question(self, edge: Edge) -> bool:
        """Whether it leaves a question without an answer, which `back` returns to."""
        silent = edge.word is not None or edge.cause is Cause.TIMEOUT
        return silent and edge.target not in (None, edge.source) and self.steps[edge.source].kind.asks

    # -- roots -----------------------------------------------------------------------------------------------------

    def _started(self) -> Iterator[Root]:
        for flow in self.library.flows.values():
            start, place = flow.start, (flow.name, flow.first)
            if start is None:
                continue
            if start.words or start.pattern is not None or start.otherwise:
                yield Root(place, Opening.WORDS, start.mark)
            if (start.words or start.pattern is not None) and any(
                other.interrupted is not None and other.name != flow.name for other in self.library.flows.values()
            ):
                yield Root(place, Opening.INTERRUPTION, start.mark)
            for event in start.events:
                yield Root(place, Opening.EVENT, start.mark, event=event)

    def _opened_by_words(self) -> Iterator[Root]:
        for word in self.library.bot.words.values():
            target = None if word.door.then is None else word.door.then.text
            if target is not None and target.startswith("/"):
                yield Root(self.opened_by(target), Opening.WORD, word.mark, inputs=word.door.set)

    def _opened_by_steps(self) -> Iterator[Root]:
        for place, step in self.steps.items():
            for run in step.kind.flows_run():
                yield Root(self.opened_by(run.flow), Opening.RUN, run.mark, place, timedelta(0), run.inputs)
            for plan in step.riders.schedule:
                opened, mark = self.opened_by(plan.target.text), plan.target.mark
                yield Root(opened, Opening.PLAN, mark, place, plan.after, plan.inputs)


def _texts_on(step: Step, way: Way) -> Iterator[Template | Expression]:
    """What is worked out when a step is left by a way."""
    if way.door is not None:
        yield from way.door.uses()
    if way.success:
        yield from uses_on_leaving(step)


def _can_fail(texts: Iterable[Template | Expression]) -> bool:
    """Whether any of them is more than a text."""
    return any(isinstance(text, Expression) or not text.constant for text in texts)


def _written(edge: Edge) -> str | None:
    return None if edge.door is None or edge.door.then is None else edge.door.then.text


def _to(edge: Edge, target: Place) -> Edge:
    """The same way on, to another step, where the conversation comes from."""
    door, success, word = edge.door, edge.success, edge.word
    return Edge(edge.source, target, edge.outcome, edge.cause, edge.mark, door, success, word=word, returns=True)


def _reverse(edges: Mapping[Place, list[Edge]]) -> dict[Place, list[Place]]:
    before: dict[Place, list[Place]] = {}
    for place, found in edges.items():
        for edge in found:
            if edge.target is not None:
                before.setdefault(edge.target, []).append(place)
    return before


def _all_before(place: Place, before: Mapping[Place, list[Place]]) -> set[Place]:
    """A step, and all from which it can be reached."""
    reached, open_ = {place}, [place]
    while open_:
        found = [other for other in before.get(open_.pop(), ()) if other not in reached]
        reached.update(found)
        open_ += found
    return reached
