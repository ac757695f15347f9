"""``branch``: the first condition that is true leads on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bot.lang.fields import Fields
from bot.lang.nodes import Node
from bot.lang.templates import Expression
from bot.steps.declared import Falls, Outcome, Used
from bot.steps.doors import Door, Target, target_of
from bot.steps.kind import At, Decision, Reading, StepKind, ending


@dataclass(frozen=True, slots=True)
class Branch(StepKind):
    """Conditions in order, each with its target; the last may be an ``else``."""

    conditions: tuple[tuple[Expression, Target], ...]
    otherwise: Target | None
    verb: ClassVar[str] = "branch"

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """Read the list of ``{if, then}`` and ``{else}``."""
        conditions: list[tuple[Expression, Target]] = []
        otherwise: Target | None = None
        for index, node in enumerate(fields.items("branch")):
            inner = Fields(node, reading.problems, f"{fields.what}: branch {index + 1}")
            if otherwise is not None:
                reading.problems.add("E122", inner.mark, f"{inner.what} comes after `else`", "put `else` last")
            if inner.has("else"):
                otherwise = _target(inner.raw("else"), inner)
            elif inner.require("if") and inner.require("then"):
                condition, target = inner.expression("if"), _target(inner.raw("then"), inner)
                if condition is not None and target is not None:
                    conditions.append((condition, target))
            inner.close()
        return cls(tuple(conditions), otherwise)

    def outcomes(self) -> dict[str, Outcome]:
        """One outcome a condition, named by it; ``else``, or where none is true the step's `then`."""
        found = {
            self._name(index): Outcome(Door(target.mark, then=target), Falls.STAY)
            for index, (_, target) in enumerate(self.conditions)
        }
        if self.otherwise is not None:
            found["else"] = Outcome(Door(self.otherwise.mark, then=self.otherwise), Falls.STAY)
        else:
            found["then"] = Outcome(None, Falls.THEN)
        return found

    def _name(self, index: int) -> str:
        return f"if {index + 1}: {self.conditions[index][0].source}"

    def uses(self) -> Iterator[Used]:
        """The conditions."""
        for condition, _ in self.conditions:
            yield Used(condition)

    def enter(self, at: At) -> Decision:
        """Evaluate conditions until one is true."""
        seen: list[tuple[str, Any]] = []
        for index, (condition, _) in enumerate(self.conditions):
            value = condition.evaluate(at.scope)
            seen.append((condition.source, value))
            if value:
                return ending(self._name(index), conditions=tuple(seen))
        return ending("then" if self.otherwise is None else "else", conditions=tuple(seen))


def _target(node: Node | None, fields: Fields) -> Target | None:
    return None if node is None else target_of(node, fields.problems, fields.what)
