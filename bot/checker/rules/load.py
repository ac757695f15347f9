"""W601: how many messages one turn can send, held against what the gateway takes in a minute (spec: rate limits)."""

from collections.abc import Iterator
from functools import cached_property

from bot.checker.findings import Finding
from bot.checker.graph import Cause, Edge, Graph, Place
from bot.checker.paths.circles import components
from bot.steps.declared import FlowRun

PER_MINUTE = 60


def find_heavy_turns(graph: Graph) -> Iterator[Finding]:
    """Steps that send more in a turn than a minute allows; of those that lead to each other, the ones that make it so."""
    load = Load(graph)
    for place, step in graph.steps.items():
        most = load.turn[place]
        if most > PER_MINUTE and load.within(place) > PER_MINUTE:
            what = (
                f'step "{step.name}" can send {most} messages in one turn, and the gateway takes {PER_MINUTE} a minute'
            )
            fix = "go over fewer elements, put what is said into one message, or wait for the contact in between"
            yield Finding.at("W601", step.mark, what, fix)


class Load:
    """The most messages of a turn. ``turn`` counts from a step on, until the conversation rests or is over."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.turn: dict[Place, int] = {}
        self._through: dict[Place, int | None] = {}  # ... to the end of the frame, where it comes there in one turn
        self._circle: dict[Place, int] = {}  # what a circle that is bounded by visits sends, by its steps
        for component in components({place: self._onward(place) for place in graph.steps}):
            self._weigh(component)

    @cached_property
    def most(self) -> int:
        """The most messages that any turn sends, with what is said on the way to its first step."""
        return max(map(self.turn_from, self._graph.steps), default=0)

    def turn_from(self, place: Place) -> int:
        """The most messages of a turn in which a step is come to, or left."""
        edges = self._graph.edges[place]
        turns = (said(edge) + (self.turn[edge.target] if edge.target and edge.puts else 0) for edge in edges)
        return max(self.turn[place], *turns) if edges else self.turn[place]

    def within(self, place: Place) -> int:
        """The most messages that a step itself brings about, by all its visits and the flows that it runs."""
        return self._circle.get(place, 0) + sum(self._each(run) for run in self._runs(place))

    def _runs(self, place: Place) -> Iterator[FlowRun]:
        return self._graph.steps[place].kind.flows_run()

    def _each(self, run: FlowRun) -> int:
        """What a flow sends when it is run as often as may be in one turn."""
        opened = self._graph.opened_by(run.flow)
        through = self._through.get(opened)
        return self.turn.get(opened, 0) if through is None else through * (run.most - 1) + self.turn[opened]

    def _onward(self, place: Place) -> list[Place]:
        """Where a turn can go on to, and the flows that are run on the way."""
        opened = [self._graph.opened_by(run.flow) for run in self._runs(place)]
        return [*opened, *(edge.target for edge in self._at_once(place) if edge.target is not None and edge.puts)]

    def _at_once(self, place: Place) -> Iterator[Edge]:
        """The edges that a turn can take through a step: past a run too, where its flow passes in one turn."""
        for edge in self._graph.edges[place]:
            if edge.cause in (Cause.TURN, Cause.FLOW) and not edge.fails:
                yield edge

    def _weigh(self, component: list[Place]) -> None:
        """A circle is gone round as often as its bounds on visits allow."""
        among = set(component)
        if len(component) > 1 or component[0] in self._onward(component[0]):
            visits = (self._graph.steps[place].riders.visits for place in component)
            rounds = min((bound.most for bound in visits if bound is not None), default=1)
            around = rounds * sum(self._own(place) for place in component)
            self._circle.update(dict.fromkeys(component, around))
        for place in component:
            before = self._circle.get(place) or self._own(place)
            onward = [self._after(edge, among) for other in component for edge in self._passing(other)]
            self.turn[place] = before + max((turn for turn, _ in onward), default=0)
            ends = [through for _, through in onward if through is not None]
            self._through[place] = before + max(ends) if ends else None

    def _passing(self, place: Place) -> Iterator[Edge]:
        through = all(self._through.get(self._graph.opened_by(run.flow)) is not None for run in self._runs(place))
        return (edge for edge in self._at_once(place) if through or edge.cause is not Cause.FLOW)

    def _own(self, place: Place) -> int:
        return self._graph.steps[place].kind.most_messages + sum(self._each(run) for run in self._runs(place))

    def _after(self, edge: Edge, among: set[Place]) -> tuple[int, int | None]:
        """What is sent past an edge: until the conversation rests, and to the end of the frame."""
        sent = said(edge)
        if edge.target is None or not edge.puts:
            return sent, sent if edge.target is None else None
        if edge.target in among:
            return sent, None
        through = self._through[edge.target]
        return sent + self.turn[edge.target], None if through is None else sent + through


def said(edge: Edge) -> int:
    """How many messages are sent on the way through a door."""
    return 0 if edge.door is None else (edge.door.say is not None) + (edge.door.ask is not None)
