"""A finding beside a conversation: what a fault looks at, and what it says when it has shown."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.checker.findings import Finding
from bot.checker.graph import Place
from bot.checker.state import State
from bot.checker.told import parts_of
from bot.checker.written import Line
from bot.flow.definition import Step
from bot.flow.library import Library
from bot.flow.uses import uses_of_step
from bot.lang.templates import Expression, Template

SOMETHING = "something"
"""What a test expects where any value would be right."""


@dataclass(frozen=True, slots=True)
class Case:
    """A finding of a bot, and the step at which it is, if that is known."""

    library: Library
    finding: Finding
    place: Place | None
    step: Step | None

    @property
    def texts(self) -> list[Template | Expression]:
        """The texts of the step that stand where the finding is."""
        here = (self.finding.path, self.finding.line, self.finding.column)
        used = () if self.step is None else uses_of_step(self.step)
        return [each.text for each in used if (each.text.mark.path, each.text.mark.line, each.text.mark.column) == here]

    def is_passed(self, state: State) -> bool:
        """Whether the last turns pass the step."""
        steps = (step for turn in state.turns for step in turn.trace.steps)
        return self.place is None or any((step.flow, step.step) == self.place for step in steps)


@dataclass(frozen=True, slots=True)
class Shown:
    """A fault that has shown: as a sentence for people, and as what a test expects and does not get."""

    sentence: str
    expected: tuple[Line, ...]


Fault = Callable[[State, Case], Shown | None]
"""What shows of a fault in the last turns of a conversation."""


def messages(state: State) -> Iterator[Mapping[str, Any]]:
    """All messages of the last turns, as if they had all been sent."""
    for sent in state.sent:
        yield {"bot": parts_of(sent.shown or sent.message)}
