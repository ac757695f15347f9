"""The data of signals in the texts of their transitions: which values ``event`` has there, and which may be null."""

from collections.abc import Iterable, Iterator, Mapping

from bot.checker.graph import Graph
from bot.core.immutable import immutable
from bot.language.expressions.abstract_texts import AbstractText
from bot.language.expressions.abstract_values import LOST, NULL, AbstractValue, AbstractValues, ValueKind
from bot.language.expressions.templates import Expression, Template
from bot.language.flow.definition import certain_data
from bot.language.steps.step_facts import Given, only_if
from bot.language.steps.step_options import EVENT
from bot.language.steps.transition import Word


@immutable
class _Known:
    """A signal as a text knows it: the values of its data, and those of them that may be null."""

    signal: str
    fields: Mapping[str, AbstractValues]
    perhaps: tuple[str, ...]

    def event(self, **fields: AbstractValues) -> Mapping[str, AbstractValues]:
        """The values of the name ``event``, with these in place of some fields' own."""
        null = {name: self.fields[name] | {NULL} for name in self.perhaps}
        holds = tuple({**self.fields, **null, **fields}.items())
        return dict.fromkeys(EVENT, frozenset({AbstractValue(ValueKind.RECORD, full=True, holds=holds)}))

    def after(self, given: Iterable[Given]) -> "_Known":
        """The same where these conditions hold: they prove that some data are there."""
        conditions = [(AbstractText(each.condition), each.holds) for each in given]
        left = (
            name
            for name in self.perhaps
            if all(holds in text.evaluate(self.event(**{name: frozenset({LOST})})).truths for text, holds in conditions)
        )
        return _Known(self.signal, self.fields, tuple(left))


class SignalData:
    """Finds what is known of ``event`` by the text that reads it."""

    def __init__(self, graph: Graph) -> None:
        self._known: dict[int, _Known] = {}
        bot, seen = graph.library.bot, set[int]()
        for step in graph.steps.values():
            for name, several in step.signals.items():
                if id(several) not in seen:  # inherited ones once
                    seen.add(id(several))
                    fields = {field: variable.abstract_values for field, variable in bot.signals[name].items()}
                    certain = certain_data(bot, name)
                    perhaps = tuple(field for field in fields if field not in certain)
                    self._note(several, _Known(name, fields, perhaps))

    def _note(self, several: Iterable[Word], known: _Known) -> None:
        for heard in several:
            if heard.condition is not None:
                self._known[id(heard.condition)] = known
            taken = known.after(only_if(heard.condition))
            self._known.update((id(text), taken) for text in heard.transition.uses())
            if heard.condition is not None:
                known = known.after([Given(heard.condition, holds=False)])

    def known_in(self, text: Template | Expression) -> Mapping[str, AbstractValues]:
        """The values of ``event`` in a text; empty in one that does not know it."""
        known = self._known.get(id(text))
        return {} if known is None else known.event()

    def lost_in(self, text: Template | Expression) -> Iterator[tuple[str, str, Mapping[str, AbstractValues]]]:
        """Each of the data that may be null in a text: signal and field, and the values of ``event`` if it is."""
        known = self._known.get(id(text))
        if known is None:
            return
        for field in known.perhaps:
            yield known.signal, field, known.event(**{field: frozenset({LOST})})
