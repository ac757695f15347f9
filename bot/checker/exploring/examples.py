"""Example inputs: texts that contacts write, and results of handlers, services and models.

`Examples` come from the tests of a bot, `FlowReads` from its flows: constants in conditions, and fields that texts
read.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from bot.checker.exploring.moves import HandlerResult, HttpResult, ModelResult, StartMove
from bot.checker.exploring.sample_values import words_for
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.expressions.templates import Expression, Template
from bot.language.flow.definition import Flow, Step, uses_of_flow
from bot.language.flow.library import Library
from bot.language.python.gathered import Extensions
from bot.language.types.number_types import NumberVariable

_CONSTANT = lazy_pattern(r"\"([^\"]*)\"|'([^']*)'|(?<![\w.])(\d+(?:\.\d+)?)(?![\w.])")
_PATH = lazy_pattern(r"[a-z_][\w.]*")
_MOST_CONSTANTS = 12


@immutable
class Examples:
    """Inputs from the bot's tests: ``texts`` that contacts write, and results by handler, request and model."""

    texts: tuple[str, ...] = ()
    returns: Mapping[str, tuple[HandlerResult, ...]] = field(default_factory=dict)
    responds: Callable[[str], Sequence[HttpResult]] = lambda request: ()
    speaks: tuple[ModelResult, ...] = ()
    starts: tuple[StartMove, ...] = ()
    extensions: Extensions = field(default_factory=Extensions)


NO_EXAMPLES = Examples()


class FlowReads:
    """The values that a flow reads: constants in its conditions, and fields of its lists and maps."""

    def __init__(self, flow: Flow, library: Library) -> None:
        self._flow = flow
        self._library = library

    @cached_property
    def _texts(self) -> list[Template | Expression]:
        texts = _texts_of(self._flow)
        return [*texts, *dict.fromkeys(each.expression for text in texts for each in text.definitions)]

    def constants(self, name: str | None = None) -> tuple[Any, ...]:
        """The texts and numbers in conditions: in those that name a variable, or in all."""
        conditions = [
            text for text in self._texts if isinstance(text, Expression) and (name is None or name in text.names)
        ]
        found = dict.fromkeys(constant for text in conditions for constant in _constants(text.source))
        return tuple(found)[:_MOST_CONSTANTS]

    def compared(self, name: str) -> list[Any]:
        """The texts and numbers with which a variable, or a field of this name, is compared."""
        found = (constant for text in self._texts for constant in _compared(text.source, name))
        return list(dict.fromkeys(found))

    def shape(self, name: str) -> Mapping[str, Any]:
        """The fields that texts read from a variable, or from the elements of a list."""
        return _nested(_fields(name, self._texts) | self._elements.get(name, set()), self._leaf)

    @cached_property
    def _elements(self) -> dict[str, set[tuple[str, ...]]]:
        """The fields that steps over a list read from ``it``, by the list's name and by its last part."""
        found: dict[str, set[tuple[str, ...]]] = {}
        for step in self._flow.steps.values():
            texts = [used.text for used in step.uses]
            paths = _fields("it", texts) | set(self._of_runs(step))
            lists = [text.source.strip() for text in texts if isinstance(text, Expression)] if paths else []
            for source in filter(_PATH.fullmatch, lists):
                found.setdefault(source.rpartition(".")[2], set()).update(paths)
        return found

    def _of_runs(self, step: Step) -> Iterator[tuple[str, ...]]:
        """The fields that flows read from an element for which they are run."""
        for run in step.facts.flows_run:
            for item in run.inputs:
                if isinstance(item.value, Template) and item.value.source.strip() in ("{{ it }}", "{{it}}"):
                    yield from _fields(item.name, _texts_of(self._library.flows[run.flow]))

    def _leaf(self, name: str) -> Any:
        """A value for a field, by how it is used."""
        if name in self._elements:
            return [_nested(self._elements[name], self._leaf)]
        sources = [text.source for text in self._texts if re.search(rf"\.{re.escape(name)}\b", text.source)]
        read = " ".join(sources)
        if compared := self.compared(name):
            return compared[0]
        variable = self._flow.variables.get(name)  # the field's value usually goes to one of the same name
        if isinstance(variable, NumberVariable):
            return int(variable.least or 7)
        if re.search(rf"\bnot [\w.]*\.{re.escape(name)}\b", read):
            return False
        if re.search(rf"\.{re.escape(name)}\s*\|\s*(as_date|date|as_datetime)", read):
            return "2030-05-12"
        if re.search(rf"\.{re.escape(name)}\s*(\|\s*(round|currency|number)|[-+*/<>])", read):
            return 7
        return words_for(name)[0]


def _texts_of(flow: Flow) -> list[Template | Expression]:
    return [used.text for used in uses_of_flow(flow)]


def _fields(name: str, texts: Iterable[Template | Expression]) -> set[tuple[str, ...]]:
    """The fields that texts read from a variable."""
    return {path[1:] for text in texts for path in text.paths if path[0] == name and len(path) > 1}


def _constants(source: str) -> Iterator[Any]:
    for found in _CONSTANT.finditer(source):
        if found[3] is None:
            yield found[1] if found[2] is None else found[2]
        else:
            number = float(found[3]) if "." in found[3] else int(found[3])
            yield from (number, number + 1, number - 1)


def _compared(source: str, name: str) -> Iterator[Any]:
    """The constants with which a name is compared."""
    for found in re.finditer(rf"\b{re.escape(name)}\s*[=!<>]=?\s*(\"[^\"]*\"|'[^']*'|[\d.]+)", source) if name else ():
        yield from _constants(found[1])


def _nested(paths: Iterable[tuple[str, ...]], leaf: Callable[[str], Any]) -> dict[str, Any]:
    """A map that has a value at each of these paths."""
    found: dict[str, Any] = {}
    for path in sorted(paths):
        here = found
        for name in path[:-1]:
            inner = here.get(name)
            here[name] = inner if isinstance(inner, dict) else {}
            here = here[name]
        here.setdefault(path[-1], leaf(path[-1]))
    return found
