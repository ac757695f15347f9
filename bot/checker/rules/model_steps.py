"""W901, W902: a model's failure after which the bot says nothing, or a tool that acts without consent."""

from collections.abc import Iterator

from bot.checker.findings import Finding, and_more, rule
from bot.checker.graph import Cause, Edge, Graph, StepId
from bot.language.source.languages import ENGLISH, SORRY
from bot.language.steps.step_facts import WaitsFor
from bot.language.steps.transition import BACK, ROUTE

_AT_ONCE = (Cause.TURN, Cause.RESULT)
_SILENT = (WaitsFor.CONTACT, WaitsFor.TIME, WaitsFor.PERSON)


@rule(W901="a model's failure that says nothing")
def find_silent_failures(graph: Graph) -> Iterator[Finding]:
    """Find the first step whose model may fail while the bot says nothing, in a bot without `ai: {sorry: ...}`: one
    line helps all steps.
    """
    if "sorry" in graph.library.bot.wordings:
        return
    failing = ((place, _silent_failure(graph, place)) for place in graph.steps)
    found = [(place, edge) for place, edge in failing if edge is not None]
    if found:
        place, edge = found[0]
        where = f'step "{place[1]}"{and_more(len(found) - 1)}'
        what = f'{where}: `{edge.outcome}` says nothing, so the contact gets "{SORRY[ENGLISH]}"'
        fix = "say something there, or write `ai: {sorry: ...}` in bot.yml"
        yield Finding.at("W901", graph.steps[place].mark, what, fix)


@rule(W902="a tool that changes something and asks nobody")
def find_unasked_tools(graph: Graph) -> Iterator[Finding]:
    """Find tools by which a model changes something without asking the contact."""
    for place, step in graph.steps.items():
        for tool in step.facts.unasked:
            what = (
                f'step "{place[1]}": a model calls "{tool.name}", which changes something, and the contact is not asked'
            )
            yield Finding.at("W902", tool.mark, what, tool.fix)


def _silent_failure(graph: Graph, place: StepId) -> Edge | None:
    """An edge on which a model fails and nothing is sent."""
    ways = (edge for edge in graph.edges[place] if graph.steps[place].is_model_failure(edge.outcome) and not edge.fails)
    return next((edge for edge in ways if _is_silent(graph, edge, {place})), None)


def _is_silent(graph: Graph, edge: Edge, seen: set[StepId]) -> bool:
    """True if a path may wait or end without any message. A repeated question, or a message that another step takes,
    counts as a message.
    """
    if edge.messages or edge.returns or edge.target_text in (BACK, ROUTE):
        return False
    if edge.target is None or not edge.enters:
        return True
    facts = graph.steps[edge.target].facts
    if facts.most_messages or edge.target in seen:
        return False
    if facts.waits_for is not None and facts.waits_for.what in _SILENT:
        return True
    onward = (each for each in graph.edges[edge.target] if each.cause in _AT_ONCE and not each.fails)
    return any(_is_silent(graph, each, {*seen, edge.target}) for each in onward)
