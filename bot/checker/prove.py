"""All rules held against a bot."""

from collections.abc import Callable, Iterable

from bot.checker.findings import Finding
from bot.checker.graph import Graph
from bot.checker.rules.constant_conditions import find_constants, find_unoffered
from bot.checker.rules.ends import find_ends
from bot.checker.rules.gateway_limits import find_heavy_turns, find_late_messages
from bot.checker.rules.misfits import find_misfits, find_unused
from bot.checker.rules.model_steps import find_silent_failures, find_unasked_tools
from bot.checker.rules.offered_choices import find_alike, find_unfit_choices
from bot.checker.rules.text_lengths import find_unfit_texts
from bot.checker.rules.uninitialised import find_shut_exits, find_uninitialised
from bot.checker.rules.untranslated import find_untranslated
from bot.checker.rules.yaml_comments import find_cut_texts, without_allowed
from bot.flow.documents import Source
from bot.flow.library import Library

RULES: tuple[Callable[[Graph], Iterable[Finding]], ...] = (
    find_ends, find_uninitialised, find_constants, find_unoffered, find_misfits, find_shut_exits, find_unused,
    find_unfit_texts, find_unfit_choices, find_late_messages, find_heavy_turns, find_alike,
    find_silent_failures, find_unasked_tools,
)  # fmt: skip


def prove(library: Library, sources: Iterable[Source] = ()) -> list[Finding]:
    """What would go wrong in a bot, by file, line and column.

    ``sources`` are the YAML files that it was loaded from, whose comments allow findings.
    """
    graph, sources = Graph(library), tuple(sources)
    found = {finding for find in RULES for finding in find(graph)}
    found |= {*find_cut_texts(library, sources), *find_untranslated(library, sources)}
    left = without_allowed(found, sources)
    return sorted(left, key=lambda finding: (finding.path, finding.line, finding.column, finding.code, finding.what))
