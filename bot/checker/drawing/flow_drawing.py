"""The drawings of one flow (its steps and transitions) and of the whole bot (its flows), with findings."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from bot.checker.drawing.drawing_model import (
    BoxFinding,
    BoxKind,
    Drawing,
    DrawingBuilder,
    Stroke,
    listed,
    outcome_label,
    short,
)
from bot.checker.findings import Finding
from bot.checker.graph import Edge, Graph, Opening, Root, StepId
from bot.checker.rules import TITLES
from bot.language.flow.definition import FIRST, Flow, Step, Trigger
from bot.language.flow.documents import BOT_FILE
from bot.language.flow.library import Library
from bot.language.source.problems import Mark
from bot.language.steps.step_facts import WaitsFor
from bot.language.steps.transition import END

Owner = tuple[str, str]
"""A flow and its step. Without a step it is the flow itself; without a flow the second part is a file."""


@dataclass
class FindingIndex:
    """The findings of a bot by step, flow and file."""

    _found: dict[Owner, list[BoxFinding]] = field(default_factory=dict)

    @classmethod
    def of(cls, library: Library, findings: Iterable[Finding]) -> "FindingIndex":
        """Assign each finding to the step or flow that contains its line, else to its file."""
        flags, owners = cls(), _owners(library)
        for finding in findings:
            owner = _owner(owners.get(finding.path, []), finding)
            text = f"{finding.what} ({finding.fix})" if finding.fix else finding.what
            flags._found.setdefault(owner, []).append(BoxFinding(finding.code, TITLES[finding.code], text))
        return flags

    def at_step(self, flow: str, step: str) -> tuple[BoxFinding, ...]:
        """The findings of a step."""
        return tuple(self._found.get((flow, step), ()))

    def at_flow(self, flow: str) -> tuple[BoxFinding, ...]:
        """The findings of a flow outside its steps."""
        return self.at_step(flow, "")

    def in_flow(self, flow: str) -> tuple[BoxFinding, ...]:
        """The findings of a flow and of its steps."""
        return tuple(flag for owner, flags in self._found.items() if owner[0] == flow for flag in flags)

    def elsewhere(self) -> Mapping[str, tuple[BoxFinding, ...]]:
        """The findings outside all flows, by file."""
        return {path: tuple(flags) for (flow, path), flags in self._found.items() if not flow}


Begins = tuple[Mark, Owner]


def _owners(library: Library) -> dict[str, list[Begins]]:
    """The marks at which flows and steps begin in each file, in order."""
    found: dict[str, list[Begins]] = {}
    for flow in library.flows.values():
        found.setdefault(flow.mark.path, []).append((flow.mark, (flow.name, "")))
        for step in flow.steps.values():
            found.setdefault(step.mark.path, []).append((step.mark, (flow.name, step.name)))
    return {path: sorted(begins, key=lambda each: _place(each[0])) for path, begins in found.items()}


def _owner(begins: list[Begins], finding: Finding) -> Owner:
    """The last flow or step that begins before the finding; the flow if the finding is further left than its step."""
    at = bisect_right(begins, (finding.line, finding.column), key=lambda each: _place(each[0]))
    if at == 0:
        return "", finding.path
    mark, (flow, step) = begins[at - 1]
    outside = finding.line > mark.line and finding.column < mark.column
    return flow, "" if outside else step


def _place(mark: Mark) -> tuple[int, int]:
    return mark.line, mark.column


SAID = 68  # characters of a step's text
OTHERWISE = "otherwise"
_BY_WAIT = {
    WaitsFor.CONTACT: BoxKind.ASKS,
    WaitsFor.TIME: BoxKind.WAITS,
    WaitsFor.PERSON: BoxKind.WAITS,
    WaitsFor.RESULT: BoxKind.CALLS,
    WaitsFor.FLOW: BoxKind.CALLS,
}
OPENS = {Opening.RUN: "runs", Opening.PLAN: "schedules", Opening.PROGRAM: "starts for another contact"}


def draw_flow(graph: Graph, name: str, flags: FindingIndex, *, everything: bool = False) -> Drawing:
    """Draw a flow: all edges, or without ``everything`` the significant ones.

    Raises `KeyError` if there is no such flow.
    """
    return _FlowDrawing(graph, graph.library.flows[name], flags, everything).drawn()


def box_kind(step: Step) -> BoxKind:
    """The kind of box for a step, by what a conversation does there."""
    waits_for = step.facts.waits_for
    if waits_for is not None and waits_for.what is not WaitsFor.RESULT:
        return _BY_WAIT[waits_for.what]
    if step.facts.most_messages:
        return BoxKind.SAYS
    return BoxKind.WORKS if waits_for is None else BoxKind.CALLS


@dataclass
class _FlowDrawing:
    """Builds the drawing of one flow."""

    graph: Graph
    flow: Flow
    flags: FindingIndex
    everything: bool
    builder: DrawingBuilder = field(default_factory=DrawingBuilder)
    steps: dict[StepId, str] = field(default_factory=dict)  # the boxes of the steps
    leaving: dict[tuple[StepId, str], str] = field(default_factory=dict)  # the boxes of the targets outside the flow

    def drawn(self) -> Drawing:
        """Return the finished drawing."""
        for place, step in self._places():
            self._step(place, step)
        for place, step in self._places():
            edges = [edge for edge in self.graph.edges[place] if self.everything or is_significant(self.graph, edge)]
            for edge in edges:
                aside = not edge.success or edge.word is not None
                label = outcome_label(edge.outcome) or (OTHERWISE if _others(edge, edges) else "")
                stroke = Stroke.DASHED if aside else Stroke.SOLID
                target = self._end_of(edge, step)
                self.builder.line(self.steps[place], target, label, stroke, trace=trace_of_edge(edge))
            self._opens(place)
        return self.builder.drawing(self.flow.name, self.flow.about)

    def _places(self) -> Iterator[tuple[StepId, Step]]:
        return (((self.flow.name, step.name), step) for step in self.flow.steps.values())

    def _step(self, place: StepId, step: Step) -> None:
        """Add a box for a step, and before it a box that lists the entries from other flows."""
        flags = self.flags.at_step(*place)
        of_flow = self.flags.at_flow(self.flow.name) if step.name == self.flow.first else ()
        begun = self._begun.get(place)
        start = None if begun is None else self.builder.box(BoxKind.START, begun[0], begun[1:], of_flow)
        said = short(step.written, SAID)
        lines = (step.kind.verb, said) if said else (step.kind.verb,)
        flags = flags if start else of_flow + flags
        self.steps[place] = self.builder.box(box_kind(step), step.name, lines, flags, stands_for="/".join(place))
        if start is not None:
            self.builder.line(start, self.steps[place])

    @cached_property
    def _begun(self) -> dict[StepId, tuple[str, ...]]:
        return entry_points(self.graph, self.flow.name, everything=self.everything)

    def _end_of(self, edge: Edge, step: Step) -> str:
        """The box that an edge leads to. A target outside the flow gets a box of its own beside the step."""
        if edge.target is not None and edge.target in self.steps:
            return self.steps[edge.target]
        if edge.target is not None:
            return self._out(edge.source, BoxKind.FLOW, target_name(self.graph, edge.target), edge.target)
        return self._out(edge.source, BoxKind.END, _written(edge, step))

    def _opens(self, place: StepId) -> None:
        for root in self.graph.roots_by.get(place, ()):
            target = self._out(place, BoxKind.FLOW, target_name(self.graph, root.place), root.place)
            trace = trace_of_opening(place, root)
            self.builder.line(self.steps[place], target, OPENS[root.opening], Stroke.DOTTED, trace=trace)

    def _out(self, source: StepId, kind: BoxKind, title: str, place: StepId | None = None) -> str:
        if (source, title) not in self.leaving:
            self.leaving[source, title] = self.builder.box(kind, title, stands_for="/".join(place or ()))
        return self.leaving[source, title]


def trace_of_edge(edge: Edge) -> str:
    """The entry of a trace for an edge: ``main/size [Small]``, ``main/size word "help"``."""
    outcome = edge.outcome if edge.word is None else f'word "{edge.outcome.removeprefix("word ")}"'
    return f"{'/'.join(edge.source)} {outcome}"


def trace_of_opening(place: StepId, root: Root) -> str:
    """The entry of a trace for a flow that a step has opened: ``main/size → offer/price``."""
    return f"{'/'.join(place)} → {'/'.join(root.place)}"


def target_name(graph: Graph, place: StepId) -> str:
    """The name of a step of another flow: the flow's name alone if the flow begins with this step."""
    flow, step = place
    return flow if step == graph.library.flows[flow].first else f"{flow}/{step}"


def _written(edge: Edge, step: Step) -> str:
    """The word that is written for the end of a flow: `end`, `back` or `route`."""
    if edge.word is not None:
        return edge.target_text or END
    return step.transitions[edge.outcome].target or END


def _others(edge: Edge, edges: Iterable[Edge]) -> bool:
    """True if the step has another successful outcome: then the outcome without a name needs a label."""
    return any(other.success and other.outcome != edge.outcome for other in edges)


WORDS_SHOWN = 3
PLACES_SHOWN = 3


def start_conditions(start: Trigger | None) -> Iterator[str]:
    """The lines about what starts a flow: words, topics, a pattern, a payload, events, signals."""
    if start is None:
        return
    if start.words:
        yield listed([word for word, _ in start.words], WORDS_SHOWN)
    if start.topics:
        yield f"topics: {listed(start.topics)}"
    if start.pattern is not None:
        yield f"like {start.pattern.pattern}"
    if start.payload is not None:
        yield f"a tap: {start.payload.written}"
    if start.intent is not None:
        yield f"about: {short(start.intent.about, ABOUT)}"
    if start.otherwise:
        yield "any other message"
    if start.events:
        yield listed(start.events)
    if start.signals:
        yield listed([f"signal {name}" for name in start.signals])
    if start.contact is not None:
        yield "for the first time" if start.contact == FIRST else "not for the first time"


def entry_points(graph: Graph, name: str, *, everything: bool) -> dict[StepId, tuple[str, ...]]:
    """The steps of a flow that conversations enter, each with the sources: other flows, or any step.

    With ``everything``, inherited outcomes are left out here, because they are drawn as lines.
    """
    found: dict[StepId, list[str]] = {}
    for root in graph.roots:
        if root.place[0] == name and root.opening is not Opening.TAP:
            found.setdefault(root.place, []).extend(_opened(graph, root))
    for place in ((name, step) for step in graph.library.flows[name].steps):
        sources = [edge.source for edge in graph.edges_to[place] if leads_elsewhere(graph, edge)]
        if sources:
            named = ["/".join(source) for source in dict.fromkeys(sources)]
            found.setdefault(place, []).append(f"from {listed(named, PLACES_SHOWN)}")
        if inherited := [] if everything else list(dict.fromkeys(_inherited(graph, place))):
            found.setdefault(place, []).append(f"{listed(inherited, WORDS_SHOWN)} at any step")
    return {place: tuple(dict.fromkeys(lines)) for place, lines in found.items()}


def _inherited(graph: Graph, place: StepId) -> Iterator[str]:
    """The inherited outcomes by which other steps of the flow lead to a step."""
    for edge in graph.edges_to[place]:
        if edge.source == place or edge.source[0] != place[0] or edge.transition is None or edge.returns:
            continue
        of_bot = edge.word is not None and any(word.mark == edge.mark for word in graph.library.bot.words.values())
        if not of_bot and not is_significant(graph, edge):
            yield outcome_label(edge.outcome)


def _opened(graph: Graph, root: Root) -> Iterator[str]:
    by = "" if root.by is None else "/".join(root.by)
    match root.opening:
        case Opening.WORDS | Opening.EVENT:
            yield from start_conditions(graph.flow(root.place).trigger)
        case Opening.WORD:
            yield from (f"word {word.text}" for word in graph.library.bot.words.values() if word.mark == root.mark)
        case Opening.RUN:
            yield f"run by {by}"
        case Opening.PLAN:
            yield f"scheduled by {by}"
        case Opening.PROGRAM if root.by is None and root.busy is not None:
            yield from start_conditions(graph.flow(root.place).trigger)
        case Opening.PROGRAM:
            yield f"started by {by}" if by else "bot start"


_INHERITED = ("retry", "remind", "timeout", "errors", "signals")


def is_significant(graph: Graph, edge: Edge) -> bool:
    """True if an edge leads on and is the step's own: not inherited, not to the step itself or an earlier one."""
    step = graph.steps[edge.source]
    if edge.word is not None:
        word = step.options.words.get(edge.word or "")
        return word is not None and word.mark == edge.mark and edge.target != edge.source
    stays = edge.target == edge.source and not edge.success
    follows_then = edge.transition is None and not edge.success
    if stays or follows_then or edge.returns:
        return False
    return edge.outcome.partition(".")[0] not in _INHERITED or _own_transition(step, edge)


def leads_elsewhere(graph: Graph, edge: Edge) -> bool:
    """True if an edge that is the step's own leads into another flow. The flow's own words count, the bot's do not."""
    if edge.target is None or edge.target[0] == edge.source[0] or edge.returns:
        return False
    if edge.word is None:
        return is_significant(graph, edge)
    return all(word.mark != edge.mark for word in graph.library.bot.words.values())


def _own_transition(step: Step, edge: Edge) -> bool:
    """True if the step itself says where an inheritable outcome leads. If it does not, the outcome has the mark of
    what is inherited.
    """
    return any(transition.mark == edge.mark for _, transition in step.options.defaults.transitions())


ABOUT = 68  # characters
STARTED = "▶ "  # before the starts of a flow


def draw_bot(graph: Graph, flags: FindingIndex, *, everything: bool = False) -> Drawing:
    """Draw how the flows of a bot lead to, run, schedule and interrupt each other.

    Without ``everything``, transitions that every step has are left out, and so is which flow may interrupt which.
    """
    return _Overview(graph, flags, everything).drawn()


@dataclass
class _Overview:
    """Builds the drawing of the whole bot."""

    graph: Graph
    flags: FindingIndex
    everything: bool
    builder: DrawingBuilder = field(default_factory=DrawingBuilder)
    flows: dict[str, str] = field(default_factory=dict)  # the boxes of the flows

    def drawn(self) -> Drawing:
        """Return the finished drawing."""
        elsewhere = dict(self.flags.elsewhere())
        heard = list(self._heard_everywhere())
        if heard:
            words = self.builder.box(BoxKind.START, "at any time", (), elsewhere.pop(BOT_FILE, ()))
        for path, flags in elsewhere.items():
            self.builder.box(BoxKind.START, path, (), flags)
        for flow in self.graph.library.flows.values():
            self.flows[flow.name] = self._flow(flow)
        for word, target in heard:
            self.builder.line(words, self.flows[target], word, Stroke.DASHED)
        for name in self.flows:
            self._lead_over(name)
        if self.everything:
            self._interrupt()
        return self.builder.drawing(self.graph.library.bot.name, "")

    def _flow(self, flow: Flow) -> str:
        lines = [short(flow.about, ABOUT)] if flow.about else []
        started = ", ".join(start_conditions(flow.trigger))
        lines += [STARTED + started] if started else []
        lines += [f"interrupted: {flow.interrupted}"] if flow.interrupted else []
        return self.builder.box(
            BoxKind.FLOW, flow.name, tuple(lines), self.flags.in_flow(flow.name), stands_for=flow.name
        )

    def _heard_everywhere(self) -> Iterator[tuple[str, str]]:
        """The bot's words that lead to a flow, each with this flow.

        A word and its equals in other languages are one word.
        """
        for word in dict.fromkeys(self.graph.library.bot.words.values()):
            target = word.transition.target_text
            if target is not None and target.startswith("/"):
                yield word.text, self.graph.opened_by(target)[0]

    def _lead_over(self, name: str) -> None:
        for step in self.graph.library.flows[name].steps.values():
            for edge in self.graph.edges[name, step.name]:
                over = edge.target is not None and edge.target[0] != name
                if edge.target is not None and (over if self.everything else leads_elsewhere(self.graph, edge)):
                    stroke = Stroke.SOLID if edge.success and edge.word is None else Stroke.DASHED
                    label, target = outcome_label(edge.outcome), self.flows[edge.target[0]]
                    self.builder.line(self.flows[name], target, label, stroke, trace=trace_of_edge(edge))
            for root in self.graph.roots_by.get((name, step.name), ()):
                label, target = OPENS[root.opening], self.flows[root.place[0]]
                trace = trace_of_opening((name, step.name), root)
                self.builder.line(self.flows[name], target, label, Stroke.DOTTED, trace=trace)

    def _interrupt(self) -> None:
        opened = dict.fromkeys(r.place[0] for r in self.graph.roots if r.opening is Opening.INTERRUPTION)
        for flow in self.graph.library.flows.values():
            for other in opened if flow.interrupted is not None else ():
                if other != flow.name:
                    self.builder.line(self.flows[flow.name], self.flows[other], "interrupted by", Stroke.DOTTED)
