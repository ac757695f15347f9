"""`run_rules` applies all rules to a bot and returns the findings."""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from bot.checker.findings import OF_WHOLE_BOTS, Finding
from bot.checker.graph import Graph
from bot.checker.rules import RULES
from bot.checker.rules.yaml_comments import NEEDLESS, without_allowed
from bot.language.flow.documents import Source
from bot.language.flow.library import Library


def run_rules(library: Library, sources: Iterable[Source] = ()) -> list[Finding]:
    """The findings of all rules for a bot that loads, by file, line and column.

    ``sources`` are the YAML files that it was loaded from; their comments allow findings.
    """
    graph = Graph(library, tuple(sources))
    with uncollected():
        found = {finding for find in RULES for finding in find(graph)}
        return sorted(without_allowed(found, graph.sources))


def run_rules_on_sound_steps(library: Library, sources: Iterable[Source]) -> list[Finding]:
    """The findings for a bot in which some steps have problems: those that stay when the problems are corrected.

    Steps with problems lead nowhere in ``library``. ``sources`` are the YAML files that can be read to their end; there
    are no findings for other files.
    """
    graph = Graph(library, tuple(sources))
    with uncollected():
        found = {finding for find in RULES if find not in OF_WHOLE_BOTS for finding in find(graph)}
    read = {source.path for source in graph.sources}
    left = without_allowed((finding for finding in found if finding.path in read), graph.sources)
    return sorted(finding for finding in left if finding.code != NEEDLESS)


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch off the garbage collector.

    Everything that is read and proved stays, and collecting took two fifths of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
