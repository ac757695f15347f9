"""Where frames begin."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from bot.checker.graph.edges import Edge, Place
from bot.checker.graph.leading import opened_by
from bot.checker.graph.reopening import Reopening
from bot.flow.definition import Step
from bot.flow.library import Library
from bot.lang.nodes import Mark
from bot.steps.transition import Assignment


class Opening(Enum):
    """What opens a frame."""

    WORDS = "words"  # a message that starts the flow
    INTERRUPTION = "interruption"  # a message that starts it while another flow waits
    WORD = "word"  # a word of the bot's, where the contact is in no flow
    EVENT = "event"  # an event of the gateway
    RUN = "run"  # a step that runs it
    PLAN = "plan"  # a step's schedule
    TAP = "tap"  # a button of a question that was put long ago
    PROGRAM = "program"  # nothing that the bot says: somebody starts it by the command line or the interface


@dataclass(frozen=True, slots=True)
class Root:
    """A step at which a frame begins. ``by`` is the step that runs or schedules it; ``after`` how long after it was
    left, None where nobody can tell, and ``busy`` what becomes of it while the contact is in a flow. ``inputs`` are
    given.
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
    """Where frames begin. A flow that nothing in the bot leads to is one that a program starts."""
    found = [*_started(library), *_opened_by_words(library), *_opened_by_steps(library, steps)]
    led_to = {root.place[0] for root in found}
    led_to |= {edge.target[0] for edge in edges if edge.target and edge.target[0] != edge.source[0]}
    for flow in library.flows.values():
        if flow.name not in led_to and flow.steps:
            found.append(Root((flow.name, flow.first), Opening.PROGRAM, flow.mark))
    found += (Root(place, Opening.TAP, steps[place].mark) for place in Reopening(library, steps).questions)
    return tuple(found)


def _started(library: Library) -> Iterator[Root]:
    for flow in library.flows.values():
        start, place = flow.start, (flow.name, flow.first)
        if start is None:
            continue
        if start.words or start.pattern is not None or start.otherwise:
            yield Root(place, Opening.WORDS, start.mark)
        if (start.words or start.pattern is not None) and any(
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
        for plan in step.options.schedule:
            opened, mark = opened_by(library, plan.target.text), plan.target.mark
            yield Root(opened, Opening.PLAN, mark, place, plan.after, plan.busy, plan.inputs)
