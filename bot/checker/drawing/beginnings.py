"""What begins a flow, and what leads into it, in a few words each."""

from collections.abc import Iterator

from bot.checker.drawing.noise import crossing, telling
from bot.checker.drawing.wording import listed, of_outcome
from bot.checker.graph import Graph, Opening, Place, Root
from bot.flow.triggers import FIRST, Trigger

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
            yield from said(graph.flow(root.place).start)
        case Opening.WORD:
            yield from (f"word {word.text}" for word in graph.library.bot.words.values() if word.mark == root.mark)
        case Opening.RUN:
            yield f"run by {by}"
        case Opening.PLAN:
            yield f"scheduled by {by}"
        case Opening.PROGRAM:
            yield "bot start"
