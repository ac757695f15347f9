"""The steps that a node becomes, in order, and the names that they get."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from bot.cli.importing.imported import name_of
from bot.cli.importing.rapidpro.flow_texts import FlowTexts
from bot.cli.importing.rapidpro.reading import RapidProNode
from bot.core.immutable import mutable

Step = dict[str, Any]
NEXT = "<next>"
"""The target that stands for the next step, until its name is known."""

_MOST_ROUNDS = 100  # steps that RapidPro takes without a wait


@mutable
class NodeStep:
    """A step of a node. ``label`` names it, and ``name`` where it must be called so; ``texts`` are its translations."""

    step: Step
    label: str = "step"
    name: str = ""
    texts: dict[str, Step] = field(default_factory=dict)


class NodeSteps:
    """The steps of a node, in order."""

    def __init__(self, texts: FlowTexts, node: RapidProNode) -> None:
        self.texts = texts
        self.node = node
        self.listed: list[NodeStep] = []

    def add(self, step: Step, label: str = "step", name: str = "", texts: dict[str, Step] | None = None) -> None:
        """Add a step. If the step can fail, the operator is told, and the flow goes on with the next step."""
        if self.texts.can_fail and "errors" not in step:
            step["errors"] = {"else": NEXT}
        self.texts.can_fail = False
        self.listed.append(NodeStep(step, label, name, texts or {}))

    def finished(self, target: str, rounds: bool) -> dict[str, Step]:
        """Return the steps by their names; the last leads to the target. ``rounds``: they may lead in a circle."""
        if not self.listed:
            self.listed.append(NodeStep({"branch": [{"else": target}]}))
        for place, each in enumerate(self.listed):
            first = place == 0 and not each.name
            each.name = each.name or (
                self.texts.entries[self.node.uuid] if first else name_of(each.label, self.texts.taken)
            )
            self.texts.taken.add(each.name)
        made: dict[str, Step] = {}
        for place, each in enumerate(self.listed):
            last = place + 1 == len(self.listed)
            step = _with_next(each.step, target if last else self.listed[place + 1].name)
            if last and not {"branch", "handoff", "then"} & step.keys():
                step["then"] = target
            if rounds and place == 0:
                step["visits"] = {"max": _MOST_ROUNDS, "else": "end"}
                note = f"a circle without a wait: at most {_MOST_ROUNDS} rounds here, {_MOST_ROUNDS} steps there"
                self.texts.nearly(self.node, note)
            made[each.name] = step
            main = self.texts.names.languages[0]
            for language, texts in each.texts.items():
                if language != main:
                    self.texts.locale.setdefault(language, {})[each.name] = texts
                    continue
                why = f"the bot is written in {main}, this flow is not: write {main} here, and its own language in a locale"
                self.texts.lost(self.node, why)
        return made


def _with_next(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_next(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_next(each, name) for each in value]
    return name if value == NEXT else value
