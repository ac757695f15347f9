"""What silences are reckoned for: the steps of a bot, before and after their visits are counted, and frames' ends."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bot.checker.graph import Edge, Graph, Place


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """The silence from a stage of a step until its frame ends; where ``heard``, since the contact spoke on the way."""

    stage: "Stage"
    heard: bool


Ends = tuple[End, End]
"""In silence, and where the contact is heard on the way."""


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """The silence with which a stage of a step is come to: what ``puts`` it sends its message. A first visit comes before
    that where others count, and what leads past the step when its visits are used up.

    ``ends`` are those of its frame: where it neither expires nor fails, and where it does.
    """

    place: Place
    puts: bool
    ends: tuple[Ends, Ends] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ends", _ends_of(self))


def _ends_of(stage: Stage) -> tuple[Ends, Ends]:
    return (End(stage, heard=False), End(stage, heard=True)), (End(stage, heard=False), End(stage, heard=True))


class Stages:
    """The stages of all steps. ``bounds`` are how often those are entered that have a bound."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        bounds = {
            place: step.options.visits.most for place, step in graph.steps.items() if step.options.visits is not None
        }
        returned = (edge.target for edges in graph.edges.values() for edge in edges if edge.returns and edge.target)
        self._entered = {place: Stage(place, puts=False) for place in (*bounds, *returned)}
        self._used_up = {place: Stage(place, puts=False) for place in bounds}
        self.bounds = {self._entered[place]: most for place, most in bounds.items()}
        self._put = {place: Stage(place, puts=True) for place in graph.steps}
        self._every: dict[Place, tuple[Ends, Ends]] = {}

    def put(self, place: Place) -> Stage:
        """The stage at which a step sends its message."""
        return self._put[place]

    def first(self, place: Place) -> Stage:
        """The stage at which a frame begins that is opened at a step."""
        return self._entered.get(place) or self._put[place]

    def run_at(self, place: Place) -> list[tuple[Stage, int]]:
        """The stages at which the flows begin that a step runs, each with the most times in a row."""
        runs = self._graph.steps[place].kind.flows_run()
        return [(self.first(self._graph.opened_by(run.flow)), run.most) for run in runs]

    def entered(self) -> Iterator[tuple[Stage, Stage]]:
        """What is entered before a step sends its message, where that is told apart, and the step that sends it then."""
        return ((stage, self._put[place]) for place, stage in self._entered.items())

    def every(self, place: Place) -> tuple[Ends, Ends]:
        """The ends of all the frames that are opened at a step in a row, each for an element of a list."""
        if place not in self._every:
            self._every[place] = _ends_of(self.first(place))
        return self._every[place]

    def of(self, edge: Edge) -> Stage:
        """The stage at which an edge leads on."""
        return (self._used_up if edge.outcome == "visits.else" else self._put)[edge.source]

    def after(self, edge: Edge) -> tuple[Stage, ...]:
        """The stages that an edge leads to. None at the end of the frame."""
        place = edge.target
        if place is None:
            return ()
        if edge.again or edge.returns or not edge.puts:
            return (self._put[place],)
        first = self.first(place)
        return (first, self._used_up[place]) if place in self._used_up else (first,)
