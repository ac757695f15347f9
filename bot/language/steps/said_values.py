"""Values that a model notes at an AI step: each must stand in the conversation."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.denials import affirmed, denies
from bot.language.answers.segments import says_nothing
from bot.language.source.word_matching import normalise, singular
from bot.language.steps.output_guard import UNSPACED, secret_in
from bot.language.steps.step_kind import StepContext
from bot.language.types.text_types import ChoiceVariable
from bot.language.types.type_registry import Answer, Variable
from bot.language.types.variable import UnsureAnswer
from bot.language.types.yes_no_type import BooleanVariable

JUDGED = (BooleanVariable, ChoiceVariable)
"""Types whose values a model may conclude: the flow names all of them."""

MOST_WORDS = 6  # of a value as somebody writes it: "half past nine in the evening"
MOST_READINGS = 2000  # of pieces of the conversation for one value: a tenth of a second or so
_SIGNS = lazy_pattern(r"""[\s"{}\[\]()]+""")
_FIGURES = lazy_pattern(rf"(?<=[{UNSPACED}])(?=\d)|(?<=\d)(?=[{UNSPACED}])")  # 我们4个人
_EDGES = ",.;:!?¿¡。，"


@immutable
class SaidValues:
    """The texts of a conversation, the newest first, in which a value that a model notes must stand."""

    texts: Sequence[str]
    context: StepContext

    def has(self, variable: Variable, value: Any) -> bool:
        """True if a text says the value: in these words, in any order, or by words that the variable reads so.

        A text may have words beside them that change nothing ("a", "please"). "No onions" does not say "onions". Yes
        or no, and a choice of those that the flow names, may be concluded.
        """
        if isinstance(variable, JUDGED) or value == self.context.scope.get(variable.name):
            return True
        if isinstance(value, str) and denies(value, self.context.contact_language):
            return self.has_words(value)
        said = replace(self, texts=[affirmed(text, self.context.contact_language) for text in self.texts])
        return (isinstance(value, str) and said.has_words(value)) or said._reads(variable, value)

    def has_words(self, value: str) -> bool:
        """True if the texts have the words of a value, in any order, beside words that change nothing."""
        if any(secret_in(text, [value]) is not None for text in self.texts):
            return True
        said = {word for text in self.texts for line in text.splitlines() for word in _words(line)}
        others = [word for word in normalise(value).split() if said.isdisjoint((word, singular(word)))]
        return says_nothing(" ".join(others), self.context.contact_language) and bool(said.intersection(_words(value)))

    def _reads(self, variable: Variable, value: Any) -> bool:
        """True if the variable reads the value, or another one that people mean by the same words, in some words."""
        for piece, _ in zip(_pieces(self.texts), range(MOST_READINGS), strict=False):
            try:
                if variable.accept(Answer(piece), self.context.now, self.context.scope) == value:
                    return True
            except UnsureAnswer as unsure:
                if value in unsure.values and not unsure.open:
                    return True
            except BotError:
                continue
        return False


def _words(text: str) -> Iterator[str]:
    for word in normalise(text).split():
        yield word
        yield singular(word)


def _pieces(texts: Iterable[str]) -> Iterator[str]:
    """The pieces of texts that may be a value, the longest first."""
    for written_text in (each for text in texts for each in dict.fromkeys((text, _FIGURES.sub(" ", text)))):
        words = [word for written in _SIGNS.split(written_text) if (word := written.strip(_EDGES))]
        for length in range(min(MOST_WORDS, len(words)), 0, -1):
            for first in range(len(words) - length + 1):
                yield " ".join(words[first : first + length])
