"""The drawing of one flow: its steps, and what leads from each to which."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from bot.checker.drawing.drawing_model import Drawing, Look, Sketch, Stroke, listed, of_outcome, short
from bot.checker.drawing.finding_index import Flags
from bot.checker.graph import Edge, Graph, Opening, Place, Root
from bot.flow.definition import FIRST, Flow, Step, Trigger
from bot.steps.step_facts import RestFor
from bot.steps.transition import END

SAID = 68  # characters of what a step says
OTHERWISE = "otherwise"
_BY_REST = {
    RestFor.CONTACT: Look.ASKS,
    RestFor.TIME: Look.WAITS,
    RestFor.PERSON: Look.WAITS,
    RestFor.RESULT: Look.CALLS,
    RestFor.FLOW: Look.CALLS,
}
OPENS = {Opening.RUN: "runs", Opening.PLAN: "schedules"}


def draw_flow(graph: Graph, name: str, flags: Flags, *, everything: bool = False) -> Drawing:
    """Draw a flow. What its steps inherit is left out unless ``everything`` is wanted. Raises `KeyError`."""
    return _FlowDrawing(graph, graph.library.flows[name], flags, everything).drawn()


def look_of(step: Step) -> Look:
    """What a conversation does at a step."""
    kind = step.kind
    if kind.rest is not None and kind.rest.what is not RestFor.RESULT:
        return _BY_REST[kind.rest.what]
    if kind.most_messages:
        return Look.SAYS
    return Look.WORKS if kind.rest is None else Look.CALLS


@dataclass
class _FlowDrawing:
    """A flow's drawing in the making."""

    graph: Graph
    flow: Flow
    flags: Flags
    everything: bool
    sketch: Sketch = field(default_factory=Sketch)
    steps: dict[Place, str] = field(default_factory=dict)  # the boxes of its steps
    leaving: dict[tuple[Place, str], str] = field(default_factory=dict)  # those of where a step leads out of it

    def drawn(self) -> Drawing:
        """All of it."""
        for place, step in self._places():
            self._step(place, step)
        for place, step in self._places():
            self._ways(place, step)
            self._opens(place)
        return self.sketch.drawing(self.flow.name, self.flow.about)

    def _places(self) -> Iterator[tuple[Place, Step]]:
        return (((self.flow.name, step.name), step) for step in self.flow.steps.values())

    def _step(self, place: Place, step: Step) -> None:
        """A box for a step, behind one for what comes in there."""
        flags = self.flags.at_step(*place)
        of_flow = self.flags.at_flow(self.flow.name) if step.name == self.flow.first else ()
        begun = self._begun.get(place)
        start = None if begun is None else self.sketch.box(Look.START, begun[0], begun[1:], of_flow)
        said = short(step.written, SAID)
        lines = (step.kind.verb, said) if said else (step.kind.verb,)
        self.steps[place] = self.sketch.box(look_of(step), step.name, lines, flags if start else of_flow + flags)
        if start is not None:
            self.sketch.line(start, self.steps[place])

    @cached_property
    def _begun(self) -> dict[Place, tuple[str, ...]]:
        return beginnings(self.graph, self.flow.name, everything=self.everything)

    def _ways(self, place: Place, step: Step) -> None:
        edges = [edge for edge in self.graph.edges[place] if self.everything or telling(self.graph, edge)]
        for edge in edges:
            aside = not edge.success or edge.word is not None
            label = of_outcome(edge.outcome) or (OTHERWISE if _others(edge, edges) else "")
            self.sketch.line(
                self.steps[place], self._end_of(edge, step), label, Stroke.DASHED if aside else Stroke.SOLID
            )

    def _end_of(self, edge: Edge, step: Step) -> str:
        """The box that an edge leads to: the way out of a flow is drawn where it is taken."""
        if edge.target is not None and edge.target in self.steps:
            return self.steps[edge.target]
        if edge.target is not None:
            return self._out(edge.source, Look.FLOW, name_of(self.graph, edge.target))
        return self._out(edge.source, Look.END, _written(edge, step))

    def _opens(self, place: Place) -> None:
        for root in self.graph.roots_by.get(place, ()):
            target = self._out(place, Look.FLOW, name_of(self.graph, root.place))
            self.sketch.line(self.steps[place], target, OPENS[root.opening], Stroke.DOTTED)

    def _out(self, source: Place, look: Look, title: str) -> str:
        if (source, title) not in self.leaving:
            self.leaving[source, title] = self.sketch.box(look, title)
        return self.leaving[source, title]


def name_of(graph: Graph, place: Place) -> str:
    """What a step of another flow is called: by its flow alone where that begins with it."""
    flow, step = place
    return flow if step == graph.library.flows[flow].first else f"{flow}/{step}"


def _written(edge: Edge, step: Step) -> str:
    """By which word a flow is left: `end`, `back` or `route`."""
    if edge.word is not None:
        return END if edge.transition is None or edge.transition.then is None else edge.transition.then.text
    return step.transitions[edge.outcome].target or END


def _others(edge: Edge, edges: Iterable[Edge]) -> bool:
    """Whether there are other ways out beside the one without a name, by an answer or a condition."""
    return any(other.success and other.outcome != edge.outcome for other in edges)


WORDS_SHOWN = 3
PLACES_SHOWN = 3


def said(start: Trigger | None) -> Iterator[str]:
    """What contacts do to start a flow."""
    if start is None:
        return
    if start.words:
        yield listed([word for word, _ in start.words], WORDS_SHOWN)
    if start.pattern is not None:
        yield f"like {start.pattern.pattern}"
    if start.otherwise:
        yield "any other message"
    if start.events:
        yield listed(start.events)
    if start.contact is not None:
        yield "for the first time" if start.contact == FIRST else "not for the first time"


def beginnings(graph: Graph, name: str, *, everything: bool = False) -> dict[Place, tuple[str, ...]]:
    """The steps of a flow at which conversations come in, and how: from elsewhere, or from any step.

    With ``everything``, what comes from any step is drawn from each of them.
    """
    found: dict[Place, list[str]] = {}
    for root in graph.roots:
        if root.place[0] == name and root.opening is not Opening.TAP:
            found.setdefault(root.place, []).extend(_opened(graph, root))
    for place in ((name, step) for step in graph.library.flows[name].steps):
        sources = [edge.source for edge in graph.edges_to[place] if crossing(graph, edge)]
        if sources:
            named = ["/".join(source) for source in dict.fromkeys(sources)]
            found.setdefault(place, []).append(f"from {listed(named, PLACES_SHOWN)}")
        if inherited := [] if everything else list(dict.fromkeys(_inherited(graph, place))):
            found.setdefault(place, []).append(f"{listed(inherited, WORDS_SHOWN)} at any step")
    return {place: tuple(dict.fromkeys(lines)) for place, lines in found.items()}


def _inherited(graph: Graph, place: Place) -> Iterator[str]:
    """The ways from steps of the same flow to another, which they do not say themselves."""
    for edge in graph.edges_to[place]:
        if edge.source == place or edge.source[0] != place[0] or edge.transition is None or edge.returns:
            continue
        of_bot = edge.word is not None and any(word.mark == edge.mark for word in graph.library.bot.words.values())
        if not of_bot and not telling(graph, edge):
            yield of_outcome(edge.outcome)


def _opened(graph: Graph, root: Root) -> Iterator[str]:
    by = "" if root.by is None else "/".join(root.by)
    match root.opening:
        case Opening.WORDS | Opening.EVENT:
            yield from said(graph.flow(root.place).trigger)
        case Opening.WORD:
            yield from (f"word {word.text}" for word in graph.library.bot.words.values() if word.mark == root.mark)
        case Opening.RUN:
            yield f"run by {by}"
        case Opening.PLAN:
            yield f"scheduled by {by}"
        case Opening.PROGRAM:
            yield "bot start"


_INHERITED = ("retry", "remind", "timeout", "errors")


def telling(graph: Graph, edge: Edge) -> bool:
    """Whether an edge says something of its own step: it is neither inherited, nor a way to stay, nor a way back."""
    step = graph.steps[edge.source]
    if edge.word is not None:
        return _own_word(step, edge)
    stays = edge.target == edge.source and not edge.success
    follows_then = edge.transition is None and not edge.success
    if stays or follows_then or edge.returns:
        return False
    return edge.outcome.partition(".")[0] not in _INHERITED or _own_transition(step, edge)


def crossing(graph: Graph, edge: Edge) -> bool:
    """Whether an edge that tells something leads from its flow into another, the flow's words included."""
    if edge.target is None or edge.target[0] == edge.source[0] or edge.returns:
        return False
    if edge.word is None:
        return telling(graph, edge)
    return all(word.mark != edge.mark for word in graph.library.bot.words.values())


def _own_word(step: Step, edge: Edge) -> bool:
    word = step.options.words.get(edge.word or "")
    return word is not None and word.mark == edge.mark and edge.target != edge.source


def _own_transition(step: Step, edge: Edge) -> bool:
    """Whether the step itself says where an inheritable outcome leads; what it leaves out has the inherited mark."""
    return any(transition.mark == edge.mark for _, transition in step.options.defaults.transitions())
