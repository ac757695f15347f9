"""All rules held against a bot."""

from collections.abc import Callable, Iterable

from bot.checker.allowances import without_allowed
from bot.checker.findings import Finding
from bot.checker.graph import Graph
from bot.checker.rules.alike import find_alike
from bot.checker.rules.constants import find_constants
from bot.checker.rules.cut_texts import find_cut_texts
from bot.checker.rules.ends import find_ends
from bot.checker.rules.lengths import find_unfit_texts
from bot.checker.rules.load import find_heavy_turns
from bot.checker.rules.misfits import find_misfits
from bot.checker.rules.models import find_silent_failures, find_unasked_tools
from bot.checker.rules.offered import find_unfit_choices
from bot.checker.rules.shut_exits import find_shut_exits
from bot.checker.rules.translated import find_untranslated
from bot.checker.rules.unoffered import find_unoffered
from bot.checker.rules.unset import find_unset
from bot.checker.rules.unused import find_unused
from bot.checker.rules.window import find_late_messages
from bot.flow.documents import Source
from bot.flow.library import Library

RULES: tuple[Callable[[Graph], Iterable[Finding]], ...] = (
    find_ends, find_unset, find_constants, find_unoffered, find_misfits, find_shut_exits, find_unused,
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
