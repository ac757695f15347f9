"""`prove` applies all rules to a bot and returns what would go wrong in it."""

from collections.abc import Iterable

from bot.checker.findings import Finding
from bot.checker.graph import Graph
from bot.checker.rules import RULES
from bot.checker.rules.yaml_comments import without_allowed
from bot.flow.documents import Source
from bot.flow.library import Library


def prove(library: Library, sources: Iterable[Source] = ()) -> list[Finding]:
    """What would go wrong in a bot that loads, by file, line and column.

    ``sources`` are the YAML files that it was loaded from; their comments allow findings.
    """
    graph = Graph(library, tuple(sources))
    found = {finding for find in RULES for finding in find(graph)}
    return sorted(without_allowed(found, graph.sources))
