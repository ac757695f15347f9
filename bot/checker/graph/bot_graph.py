"""A bot as a graph: its steps, the edges between them, and the roots at which frames begin."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from bot.checker.graph.edge_builder import EdgeBuilder, OldTaps, opened_by
from bot.checker.graph.edges import Edge, Place
from bot.core.immutable import immutable
from bot.flow.definition import Flow, Step
from bot.flow.documents import Source
from bot.flow.library import Library
from bot.lang.problems import Mark
from bot.steps.transition import Assignment


class Opening(Enum):
    """What opens a frame."""

    WORDS = "words"  # a message that starts the flow
    INTERRUPTION = "interruption"  # a message that starts the flow while another flow waits
    WORD = "word"  # a word of the bot's, while the contact is in no flow
    EVENT = "event"  # an event of the gateway
    RUN = "run"  # a step that runs the flow
    PLAN = "plan"  # the schedule of a step
    TAP = "tap"  # a button of an old question
    PROGRAM = "program"  # nothing in the bot: the command line or an interface starts the flow


@immutable
class Root:
    """A step at which a frame begins.

    ``by`` is the step that runs or schedules it. ``after`` is the time after that step was left, None if it is not
    known. ``busy`` is what happens while the contact is in a flow, ``inputs`` are the values that it is given.
    """

    place: Place
    opening: Opening
    mark: Mark
    by: Place | None = None
    after: timedelta | None = None
    busy: str | None = None
    inputs: tuple[Assignment, ...] = ()
    event: str | None = None


def roots_of(library: Library, steps: Mapping[Place, Step], edges: Iterable[Edge]) -> tuple[Root, ...]:
    """The steps at which frames begin. A flow to which nothing in the bot leads is one that a program starts."""
    found = [*_started(library), *_opened_by_words(library), *_opened_by_steps(library, steps)]
    led_to = {root.place[0] for root in found}
    led_to |= {edge.target[0] for edge in edges if edge.target and edge.target[0] != edge.source[0]}
    if any(step.unread for step in steps.values()):  # which may lead to any flow
        led_to |= library.flows.keys()
    for flow in library.flows.values():
        if flow.name not in led_to and flow.steps:
            found.append(Root((flow.name, flow.first), Opening.PROGRAM, flow.mark))
    found += (Root(place, Opening.TAP, steps[place].mark) for place in OldTaps(library, steps).questions)
    return tuple(found)


def _started(library: Library) -> Iterator[Root]:
    for flow in library.flows.values():
        start, place = flow.trigger, (flow.name, flow.first)
        if start is None:
            continue
        by_text = start.words or start.pattern is not None or start.intent is not None
        if by_text or start.otherwise:
            yield Root(place, Opening.WORDS, start.mark)
        if by_text and any(
            other.interrupted is not None and other.name != flow.name for other in library.flows.values()
        ):
            yield Root(place, Opening.INTERRUPTION, start.mark)
        for event in start.events:
            yield Root(place, Opening.EVENT, start.mark, event=event)


def _opened_by_words(library: Library) -> Iterator[Root]:
    for word in library.bot.words.values():
        target = None if word.transition.then is None else word.transition.then.text
        if target is not None and target.startswith("/"):
            yield Root(opened_by(library, target), Opening.WORD, word.mark, inputs=word.transition.set)


def _opened_by_steps(library: Library, steps: Mapping[Place, Step]) -> Iterator[Root]:
    for place, step in steps.items():
        for run in step.kind.flows_run():
            yield Root(opened_by(library, run.flow), Opening.RUN, run.mark, place, timedelta(0), inputs=run.inputs)
        for start in step.kind.flows_started():
            opened = opened_by(library, start.target.text)
            yield Root(
                opened,
                Opening.PROGRAM,
                start.target.mark,
                place,
                timedelta(0),
                library.busy_of(start.target.text, start.busy),
                start.inputs,
            )
        for plan in step.options.schedule:
            opened, mark = opened_by(library, plan.target.text), plan.target.mark
            yield Root(
                opened, Opening.PLAN, mark, place, plan.after, library.busy_of(plan.target.text, plan.busy), plan.inputs
            )


Analysis = TypeVar("Analysis")


@dataclass(frozen=True)
class Graph:
    """All steps, edges and roots of a bot. ``sources`` are the files that it was loaded from, for rules about what is written."""

    library: Library
    sources: tuple[Source, ...] = ()
    steps: Mapping[Place, Step] = field(init=False)
    _analyses: dict[Any, Any] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        found = {(flow.name, step.name): step for flow in self.library.flows.values() for step in flow.steps.values()}
        object.__setattr__(self, "steps", found)

    @cached_property
    def edges(self) -> Mapping[Place, tuple[Edge, ...]]:
        """The edges that lead from each step."""
        return EdgeBuilder(self.library, self.steps).edges()

    @cached_property
    def edges_to(self) -> Mapping[Place, tuple[Edge, ...]]:
        """The edges that lead to each step, from other steps and from itself."""
        found: dict[Place, list[Edge]] = {place: [] for place in self.steps}
        for edges in self.edges.values():
            for edge in edges:
                if edge.target is not None:
                    found[edge.target].append(edge)
        return {place: tuple(edges) for place, edges in found.items()}

    @cached_property
    def roots(self) -> tuple[Root, ...]:
        """The steps at which frames begin."""
        return roots_of(self.library, self.steps, (edge for edges in self.edges.values() for edge in edges))

    @cached_property
    def interrupters(self) -> tuple[Place, ...]:
        """The steps at which a conversation goes on that a message of the contact puts on top of another."""
        started = [root.place for root in self.roots if root.opening is Opening.INTERRUPTION]
        return (*started, *(place for place, step in self.steps.items() if step.kind.stays_valid))

    @cached_property
    def roots_by(self) -> Mapping[Place, tuple[Root, ...]]:
        """The roots that a step opens, by the step."""
        found: dict[Place, list[Root]] = {}
        for root in self.roots:
            if root.by is not None:
                found.setdefault(root.by, []).append(root)
        return {place: tuple(roots) for place, roots in found.items()}

    @cached_property
    def crossed(self) -> Mapping[str, frozenset[str]]:
        """The flows to which the transitions of each flow lead."""
        found: dict[str, set[str]] = {name: set() for name in self.library.flows}
        for (flow, _), edges in self.edges.items():
            found[flow].update(edge.target[0] for edge in edges if edge.target is not None and edge.target[0] != flow)
        return {name: frozenset(others) for name, others in found.items()}

    @cached_property
    def below(self) -> Mapping[str, frozenset[str]]:
        """The flows that are open below each flow on every path to it: the flows that run it, if nothing else leads to it."""
        runners: dict[str, set[str] | None] = {name: set() for name in self.library.flows}
        for root in self.roots:
            found = runners[root.place[0]]
            if root.opening is not Opening.RUN or root.by is None:
                runners[root.place[0]] = None
            elif found is not None:
                found.add(root.by[0])
        runners.update((name, None) for others in self.crossed.values() for name in others)
        below: dict[str, frozenset[str]] = {name: frozenset() for name in runners}
        while True:  # as often as flows run flows
            known = {name: below[name] | {name} for name in runners}
            deeper = {
                n: frozenset.intersection(*(known[r] for r in by)) if by else below[n] for n, by in runners.items()
            }
            if deeper == below:
                return below
            below = deeper

    def analysis(self, make: Callable[["Graph"], Analysis]) -> Analysis:
        """An analysis of the graph, made once for all rules that use it: `graph.analysis(Reachability)`."""
        if make not in self._analyses:
            self._analyses[make] = make(self)
        found: Analysis = self._analyses[make]
        return found

    def flow(self, place: Place) -> Flow:
        """The flow of a step."""
        return self.library.flows[place[0]]

    def opened_by(self, target: str) -> Place:
        """The step at which ``flow``, ``/flow`` or ``/flow/step`` begins."""
        return opened_by(self.library, target)

    def takes_words(self, place: Place) -> bool:
        """Whether words and starts take effect while a conversation waits there."""
        return self.steps[place].kind.takes_words
