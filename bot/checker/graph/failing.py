"""Which texts and values can fail while they are worked out, whatever a conversation knows."""

from collections.abc import Iterable, Mapping

from bot.flow.library import Library
from bot.lang.cases import LOST, Cases
from bot.lang.domains import values_of
from bot.lang.reads import Reads
from bot.lang.templates import Expression, Template


class Failing:
    """What can fail in a bot's flows, by the declarations of their variables, each of which may be null."""

    def __init__(self, library: Library) -> None:
        self._known: Mapping[str, Mapping[str, Cases]] = {
            flow.name: {name: values_of(variable) | {LOST} for name, variable in flow.variables.items()}
            for flow in library.flows.values()
        }

    def any_of(self, flow: str, texts: Iterable[Template | Expression]) -> bool:
        """Whether any of a flow's texts and expressions can fail. A text with values can: they may all be null."""
        return any(self._can_fail(text, self._known[flow]) for text in texts)

    def _can_fail(self, text: Template | Expression, known: Mapping[str, Cases]) -> bool:
        if isinstance(text, Template):
            return not text.constant
        reads = Reads(text)
        return not reads.never_fails(known) or reads.reading(known).fails
