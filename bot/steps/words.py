"""Words that are understood before any answer: the bot's, a flow's or a step's."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bot.expressions.templates import Expression, Template
from bot.keys.fields import Fields
from bot.lang.nodes import Map, Mark, Node, Scalar
from bot.lang.problems import Problems
from bot.lang.word_matching import normalise
from bot.steps.transition import Transition, transition_from, transition_of


@dataclass(frozen=True, slots=True)
class Word:
    """One word, as it is written: where it leads, and the condition without which it is not heard."""

    text: str
    mark: Mark
    transition: Transition
    condition: Expression | None = None

    def uses(self) -> Iterator[Template | Expression]:
        """Every template of its transition, and its condition."""
        yield from self.transition.uses()
        if self.condition is not None:
            yield self.condition


Words = Mapping[str, Word]
"""Words by how they are matched: normalised."""


def read_words(fields: Fields) -> Words:
    """Read `words`: a transition for each, which may have an `if`. What means the same in other languages leads there too."""
    inner = fields.fields("words")
    words: dict[str, Word] = {}
    for key, node in () if inner is None else inner.entries():
        _add(_word_of(key, node, fields.problems), (key.text, *key.also), words, fields.problems)
    return words


def _add(word: Word, texts: Iterable[str], words: dict[str, Word], problems: Problems) -> None:
    for text in texts:
        first = words.setdefault(normalise(text), word)
        if first is not word:
            what = f'"{text}" is taken: the word "{first.text}" means the same'
            problems.add("E312", word.mark, what, "keep one of them")


def _word_of(key: Scalar, node: Node, problems: Problems) -> Word:
    what = f'word "{key.text}"'
    if not isinstance(node, Map):
        return Word(key.text, key.mark, transition_of(node, problems, what))
    fields = Fields(node, problems, what)
    word = Word(key.text, key.mark, transition_from(fields), fields.expression("if"))
    fields.close()
    return word
