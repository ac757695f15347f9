"""Which edges a drawing can do without: those that every step has anyway."""

from bot.checker.graph import Edge, Graph
from bot.flow.definition import Step

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
