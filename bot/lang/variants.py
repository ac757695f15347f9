"""One text of several, by chance: `{any: [Hi!, Hello!]}`."""

from collections.abc import Mapping
from typing import Any

from bot.lang.hidden import DRAW
from bot.lang.nodes import Mark
from bot.lang.templates import Template


class AnyOf(Template):
    """A text in several wordings: each time it is said, chance takes one (`bot.lang.draws`)."""

    __slots__ = ("_wordings",)

    def __init__(self, wordings: tuple[Template, ...], mark: Mark) -> None:
        super().__init__(wordings[0].source, mark)
        self.constant = False
        self.names = frozenset().union(*(wording.names for wording in wordings))
        self.paths = frozenset().union(*(wording.paths for wording in wordings))
        self.calls = tuple(call for wording in wordings for call in wording.calls)
        self._wordings = wordings

    @property
    def wordings(self) -> tuple[Template, ...]:
        """The texts that it may be."""
        return self._wordings

    def prepare(self) -> None:
        """Compile them all."""
        for wording in self._wordings:
            wording.prepare()

    def render(self, scope: Mapping[str, Any]) -> str:
        """One of them. Raises `TemplateFailed`."""
        return self._wordings[int(scope[DRAW]() * len(self._wordings))].render(scope)
