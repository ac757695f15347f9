"""W601: how many messages one turn can send, held against what the gateway takes in a minute (spec: rate limits)."""

from collections.abc import Iterator

from bot.checker.analysis.loads import TurnLoads
from bot.checker.analysis.longest_paths import UNBOUNDED
from bot.checker.findings import Finding
from bot.checker.graph import Graph
from bot.checker.graph.traversal import strongly_connected_components
from bot.flow.definition import Step

PER_MINUTE = 60


def find_heavy_turns(graph: Graph) -> Iterator[Finding]:
    """Steps by which a turn comes to send more than a minute allows; of a circle the first."""
    turns = TurnLoads(graph)
    most = {place: turns.most(place) for place in graph.steps}
    heavy = {place: found for place, found in most.items() if found > PER_MINUTE}
    order = {place: number for number, place in enumerate(heavy)}
    onward = {place: [after for after in turns.onward(place) if after in heavy] for place in heavy}
    for component in strongly_connected_components(onward):
        circle = set(component)
        beyond = max((heavy[after] for each in circle for after in onward[each] if after not in circle), default=0)
        first = min(circle, key=order.__getitem__)
        if heavy[first] > beyond + (PER_MINUTE if beyond else 0):
            yield _finding(graph.steps[first], heavy[first])


def _finding(step: Step, most: float) -> Finding:
    number = f"{most:.0f} messages" if most < UNBOUNDED else "messages without end"
    what = f'step "{step.name}" can send {number} in one turn, and the gateway takes {PER_MINUTE} a minute'
    fix = "go over fewer elements, put what is said into one message, or wait for the contact in between"
    return Finding.at("W601", step.mark, what, fix)
