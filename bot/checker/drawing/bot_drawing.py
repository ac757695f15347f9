"""The drawing of a bot: a box a flow, and how the flows hang together."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bot.checker.drawing.drawing_model import Drawing, Look, Sketch, Stroke, of_outcome, short
from bot.checker.drawing.finding_index import Flags
from bot.checker.drawing.flow_drawing import OPENS, crossing, said
from bot.checker.graph import Graph, Opening
from bot.flow.definition import Flow
from bot.flow.documents import BOT_FILE

ABOUT = 68  # characters
STARTED = "▶ "  # before what starts a flow


def draw_bot(graph: Graph, flags: Flags, *, everything: bool = False) -> Drawing:
    """Draw how the flows of a bot lead to, run, schedule and interrupt each other.

    Ways that every step has are left out, and which flow may cut in on which, unless ``everything`` is wanted.
    """
    return _Overview(graph, flags, everything).drawn()


@dataclass
class _Overview:
    """The drawing in the making."""

    graph: Graph
    flags: Flags
    everything: bool
    sketch: Sketch = field(default_factory=Sketch)
    flows: dict[str, str] = field(default_factory=dict)  # the boxes of the flows

    def drawn(self) -> Drawing:
        """All of it."""
        elsewhere = dict(self.flags.elsewhere())
        heard = list(self._heard_everywhere())
        if heard:
            words = self.sketch.box(Look.START, "at any time", (), elsewhere.pop(BOT_FILE, ()))
        for path, flags in elsewhere.items():
            self.sketch.box(Look.START, path, (), flags)
        for flow in self.graph.library.flows.values():
            self.flows[flow.name] = self._flow(flow)
        for word, target in heard:
            self.sketch.line(words, self.flows[target], word, Stroke.DASHED)
        for name in self.flows:
            self._lead_over(name)
        if self.everything:
            self._interrupt()
        return self.sketch.drawing(self.graph.library.bot.name, "")

    def _flow(self, flow: Flow) -> str:
        lines = [short(flow.about, ABOUT)] if flow.about else []
        started = ", ".join(said(flow.trigger))
        lines += [STARTED + started] if started else []
        lines += [f"interrupted: {flow.interrupted}"] if flow.interrupted else []
        return self.sketch.box(Look.FLOW, flow.name, tuple(lines), self.flags.in_flow(flow.name))

    def _heard_everywhere(self) -> Iterator[tuple[str, str]]:
        """The bot's words that lead to a flow, each with it; what means the same in other languages is one word."""
        for word in dict.fromkeys(self.graph.library.bot.words.values()):
            target = "" if word.transition.then is None else word.transition.then.text
            if target.startswith("/"):
                yield word.text, self.graph.opened_by(target)[0]

    def _lead_over(self, name: str) -> None:
        for step in self.graph.library.flows[name].steps.values():
            for edge in self.graph.edges[name, step.name]:
                over = edge.target is not None and edge.target[0] != name
                if edge.target is not None and (over if self.everything else crossing(self.graph, edge)):
                    stroke = Stroke.SOLID if edge.success and edge.word is None else Stroke.DASHED
                    self.sketch.line(self.flows[name], self.flows[edge.target[0]], of_outcome(edge.outcome), stroke)
            for root in self.graph.roots_by.get((name, step.name), ()):
                self.sketch.line(self.flows[name], self.flows[root.place[0]], OPENS[root.opening], Stroke.DOTTED)

    def _interrupt(self) -> None:
        opened = dict.fromkeys(r.place[0] for r in self.graph.roots if r.opening is Opening.INTERRUPTION)
        for flow in self.graph.library.flows.values():
            for other in opened if flow.interrupted is not None else ():
                if other != flow.name:
                    self.sketch.line(self.flows[flow.name], self.flows[other], "interrupted by", Stroke.DOTTED)
