"""Choices that are made at run time, of a list."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.lang.shown import shown
from bot.lang.templates import Expression, Template
from bot.steps.declared import Used
from bot.steps.kind import StepFailed

IT = frozenset({"it"})


@dataclass(frozen=True, slots=True)
class MadeChoices:
    """Choices made at run time, one for each element of a list, which is ``it`` in their texts.

    Each of the ``words`` is a text or a list of texts.
    """

    source: Expression
    title: Template
    value: Template | None
    about: Template | None
    condition: Expression | None = None
    words: tuple[Template, ...] = ()

    def make(self, scope: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Render the elements' titles and values, one by one: a service's list may be much longer than what is shown.

        Raises `StepFailed` where the source is no list.
        """
        source = self.source.evaluate(scope)
        if source is None:
            source = []
        if not isinstance(source, list | tuple):
            raise StepFailed("mismatch", f"{self.source.source} is no list to choose from")
        for element in source:
            inner = {**scope, "it": element}
            if self.condition is not None and not self.condition.evaluate(inner):
                continue
            yield {
                "title": self.title.render(inner),
                "value": element if self.value is None else self.value.value(inner),
                "about": None if self.about is None else self.about.render(inner),
                "words": self._words_of(inner),
            }

    def _words_of(self, scope: Mapping[str, Any]) -> list[str]:
        values = (words.value(scope) for words in self.words)
        words = (word for value in values for word in (value if isinstance(value, list | tuple) else (value,)))
        return [shown(word) for word in words if word is not None]

    def uses(self) -> Iterator[Used]:
        """The list, and the texts of its elements."""
        yield Used(self.source)
        for text in (self.title, self.value, self.about, self.condition, *self.words):
            if text is not None:
                yield Used(text, IT)
