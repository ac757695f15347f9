"""The state that all parts of a translation share: the bot, its variables, and the fate of each block."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from bot.cli.importing.imported import Fate, ImportedBot
from bot.cli.importing.typebot.expressions import LIST, NUMBER, OurExpression
from bot.cli.importing.typebot.reading import INPUTS, TypebotBlock, TypebotExport
from bot.cli.importing.typebot.variables import TypebotTexts, TypebotVariables

Step = dict[str, Any]
LONGEST = 4096
"""So many characters of a text are sent."""


@dataclass
class BlockMark:
    """The fate of a block: the worst one, and all that differs."""

    fate: Fate
    step: tuple[str, str]
    notes: list[str] = field(default_factory=list)


class TargetOf(Protocol):
    """Names the step to which a block leads; ``pending`` is a text that is said there."""

    def __call__(self, block: TypebotBlock | None, pending: TypebotBlock | None = None) -> str:
        """Return the name."""
        ...


@dataclass
class TypebotContext:
    """The state of a translation."""

    bot: ImportedBot
    variables: TypebotVariables
    texts: TypebotTexts
    export: TypebotExport
    target: TargetOf
    step: Callable[[TypebotBlock, str, Callable[[str], Step]], str]
    """The name of the step for a block in its situation, which is written later."""
    flow: str = ""
    handlers: dict[str, str] = field(default_factory=dict)
    """The functions that stand for code and integrations, by the blocks' places."""
    marks: dict[str, BlockMark] = field(default_factory=dict)

    def mark(self, block: TypebotBlock, step: str, *notes: str, fate: Fate = Fate.NEARLY) -> None:
        """Note what became of a block: ``notes`` are differences."""
        mark = self.marks.setdefault(block.id, BlockMark(Fate.SAME, (self.flow, step)))
        mark.step = mark.step if mark.step[1] else (self.flow, step)
        mark.notes += notes
        if notes and mark.fate is not Fate.LOST:
            mark.fate = fate

    def title(self, options: Mapping[str, Any], key: str = "variableId") -> str | None:
        """The title of the variable that an option means."""
        return self.export.variables.get(options.get(key) or "")

    def kept(self, title: str, value: OurExpression, name: str, block: TypebotBlock) -> Step:
        """A value in its variable: an answer stands behind what a list has already, a result replaces it."""
        variable = self.variables.name(title)
        kind = self.variables.kinds[title]
        if kind == LIST:
            self.mark(block, name, "a single value is a list of one here")
            listed = f"{variable} | append({value.as_text})" if block.type in INPUTS else f"[{value.as_text}]"
            return {variable: f"{{{{ {listed} }}}}"}
        return {variable: f"{{{{ {value.text if kind in (NUMBER, value.kind) else value.as_text} }}}}"}

    def cut(self, block: TypebotBlock, name: str, text: str, most: int) -> str:
        """A text that is not too long for the platform."""
        if len(text) > most and "{{" not in text[most - 100 :]:
            self.mark(block, name, f"a text of more than {most} characters is cut")
            return text[:most]
        return text
