"""Choices that are made at run time, of a list."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.expressions.formats import shown
from bot.expressions.templates import Expression, Template
from bot.steps.declared import Null, Result, Saved, Used, only_if
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

    @property
    def saves(self) -> Result | Saved:
        """What choosing one of them saves."""
        return Result.VALUE if self.value is None else Saved(self.value, self.value.mark)

    def uses(self, null: Null) -> Iterator[Used]:
        """The list, which null is none of, and the texts of its elements."""
        yield Used(self.source, null=null)
        given = only_if(self.condition)
        if self.condition is not None:
            yield Used(self.condition, IT, sure=False)
        for text in (self.title, self.about):
            if text is not None:
                yield Used(text, IT, given=given, sure=False)
        for text in (self.value, *self.words):
            if text is not None:
                yield Used(text, IT, Null.TAKEN, given, sure=False)
