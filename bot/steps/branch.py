"""``branch``: the first condition that is true leads on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bot.expressions.templates import Expression
from bot.keys.fields import Fields
from bot.keys.key_schemas import EXPRESSION, NEVER, Schemas, list_of, record, takes, with_key
from bot.steps.declared import Falls, Given, Outcome, Used
from bot.steps.kind import Reading, StepContext, StepKind, StepResult, ending
from bot.steps.transition import Target, Transition, target_or_end
from bot.steps.transition_keys import TARGET

_ITEMS = "- {if: condition, then: step}, and - {else: step} at its end"
_KEYS: Schemas = {
    "if": takes(EXPRESSION, "The condition."),
    "then": takes(TARGET, "Where it leads that this is true."),
    "else": takes(TARGET, "Where it leads that none is true; the last of the list, alone."),
}
_ELSE = record({**_KEYS, "if": NEVER, "then": NEVER})
_CONDITION = with_key("else", _ELSE, record(_KEYS, "if", "then"))


@dataclass(frozen=True, slots=True)
class Branch(StepKind):
    """Conditions in order, each with its target; the last may be an ``else``."""

    conditions: tuple[tuple[Expression, Target], ...]
    otherwise: Target | None
    verb: ClassVar[str] = "branch"
    keys: ClassVar[Schemas] = {
        "branch": takes(list_of(_CONDITION), "Conditions in order: the first that is true leads on.")
    }

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """Read the list of ``{if, then}`` and ``{else}``."""
        conditions: list[tuple[Expression, Target]] = []
        otherwise: Target | None = None
        for index, node in enumerate(fields.items("branch", f"write a list: {_ITEMS}")):
            inner = Fields(node, reading.problems, f"{fields.what}: branch {index + 1}", _ITEMS)
            if otherwise is not None:
                reading.problems.add("E122", inner.mark, f"{inner.what} comes after `else`", "put `else` last")
            condition_too = inner.has("if"), inner.has("then")
            if inner.has("else"):
                otherwise = _target(inner, "else")
                if any(condition_too):
                    fix = "write {if: ..., then: step} or {else: step}"
                    reading.problems.add("E121", inner.mark, f"{inner.what}: a condition beside `else`", fix)
            elif inner.require("if") and inner.require("then"):
                condition, target = inner.expression("if"), _target(inner, "then")
                if condition is not None:
                    conditions.append((condition, target))
            inner.close()
        return cls(tuple(conditions), otherwise)

    def outcomes(self) -> dict[str, Outcome]:
        """One outcome a condition, named by it; ``else``, or where none is true the step's `then`."""
        found = {}
        for index, (condition, target) in enumerate(self.conditions):
            given = (*self._untrue(index), Given(condition))
            found[self._name(index)] = Outcome(Transition(target.mark, then=target), Falls.STAY, given=given)
        none = self._untrue(len(self.conditions))
        if self.otherwise is not None:
            found["else"] = Outcome(Transition(self.otherwise.mark, then=self.otherwise), Falls.STAY, given=none)
        else:
            found["then"] = Outcome(None, Falls.THEN, given=none)
        return found

    def _untrue(self, index: int) -> tuple[Given, ...]:
        """What has come about where it is this one's turn."""
        return tuple(Given(condition, holds=False) for condition, _ in self.conditions[:index])

    def _name(self, index: int) -> str:
        return f"if {index + 1}: {self.conditions[index][0].source}"

    def uses(self) -> Iterator[Used]:
        """The conditions."""
        for index, (condition, _) in enumerate(self.conditions):
            yield Used(condition, given=self._untrue(index))

    def enter(self, context: StepContext) -> StepResult:
        """Evaluate conditions until one is true."""
        seen: list[tuple[str, Any]] = []
        for index, (condition, _) in enumerate(self.conditions):
            value = condition.evaluate(context.scope)
            seen.append((condition.source, value))
            if value:
                return ending(self._name(index), conditions=tuple(seen))
        return ending("then" if self.otherwise is None else "else", conditions=tuple(seen))


def _target(fields: Fields, key: str) -> Target:
    node = fields.raw(key)
    assert node is not None
    return target_or_end(node, fields.problems, f"{fields.what}: {key}")
