"""W401, W404 and W405: texts that a customer gets changed or not at all: too long for the gateway, empty, or
with several lines in a template's parameter.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from bot.checker.analysis.definite_assignment import definite_assignment
from bot.checker.analysis.path_states import PathStates
from bot.checker.findings import Finding, rule
from bot.checker.graph import Graph, StepId
from bot.checker.rules.sent_texts import SentMessage, TextScope, messages
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import parameter_line
from bot.language.expressions.abstract_texts import AbstractText, iterated
from bot.language.expressions.abstract_values import LOST, AbstractValues, ValueKind, just
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.expressions.templates import Template, is_plain, values_shown
from bot.language.flow.library import Library
from bot.language.keys.text_shapes import JINJA
from bot.language.source.problems import Mark
from bot.language.steps.step_facts import SentText
from bot.language.types.sample_scopes import Values, in_words

_LANGUAGE = lazy_pattern(r"\|\s*(?:date|time|number|currency)\b|\blanguage\b")

_WRITTEN_OUT = 100  # characters: no day, time or number of any language has more


@immutable
class Note:
    """A text whose length is not known beforehand. If it is too long, it is cut when it is sent."""

    mark: Mark
    what: str


@immutable
class _Text:
    """One wording of a text that is sent."""

    message: SentMessage
    sent: SentText
    text: Template

    @property
    def seen(self) -> TextScope:
        """The variables that it can use."""
        return self.message.seen

    @property
    def name(self) -> str:
        """Its name in a finding."""
        return f"{self.seen.spoken}{self.message.where}: {self.sent.what}"

    @property
    def open(self) -> bool:
        """True if it shows a value that has no known maximum length."""
        bounded = {name for name, variable in self.seen.variables.items() if variable.bounded}
        return not values_shown(self.text, whole=True) <= bounded | {"now", "today"}

    def is_far_below(self, most: int) -> bool:
        """True if it need not be tried: there is room for each value, also if a filter writes it out."""
        longest = max(_WRITTEN_OUT, self.seen.sample_scopes.longest(self.text.names))
        return not self.text.constant and len(self.text.source) + self.text.source.count("{{") * longest <= most

    def rendered(self) -> Iterator[tuple[Values, str]]:
        """The texts that it may evaluate to, each with the values for it."""
        yield from self._rendered_with(self.seen.sample_scopes.of(self._names))

    def emptied(self) -> Iterator[tuple[Values, str]]:
        """The texts with null for some of its values, or with nothing in a list of a record that it goes through."""
        yield from self._rendered_with(self.seen.sample_scopes.emptied(self._names))
        lists: dict[str, Any] = {}
        for name, *fields in iterated(self.text):
            if name in self.seen.variables and self.seen.variables[name].kind is ValueKind.RECORD:
                inner: Any = []
                for field in reversed(fields):
                    inner = {field: inner}
                lists[name] = inner
        for values in self.seen.sample_scopes.of(self._names) if lists else ():
            yield from self._rendered_with([{**values, **lists}])

    @property
    def _names(self) -> set[str]:
        return set(self.text.names).union(*(given.condition.names for given in self.sent.given))

    def _rendered_with(self, several: Iterable[Values]) -> Iterator[tuple[Values, str]]:
        for values in several:
            scope = self.seen.sample_scopes.scope(values)
            try:
                if all(bool(each.condition.evaluate(scope)) == each.holds for each in self.sent.given):
                    yield values, self.text.render(scope)
            except TemplateFailed:
                continue


@rule(
    W401="a text that may be longer than the gateway takes",
    W404="a text that may be empty where one is needed",
    W405="a template's parameter with several lines",
)
def find_unfit_texts(graph: Graph) -> Iterator[Finding]:
    """Find texts that do not fit, each once, in the first language in which it does not."""
    found, guards = dict[tuple[Mark, str], Finding](), _Guards(graph)
    for text in _texts(graph.library):
        for finding in (_too_long(text), _empty(text, guards), _has_lines(text)):
            if finding is not None:
                found.setdefault((text.text.mark, finding.code), finding)
    yield from found.values()


def notes(library: Library) -> list[Note]:
    """Texts that may be cut when they are sent, because their length is not known beforehand."""
    found: dict[Mark, Note] = {}
    for text in _texts(library):
        if text.sent.most is not None and text.sent.cut and text.open:
            found.setdefault(
                text.text.mark, Note(text.text.mark, f"{text.name}: at most {text.sent.most} characters are sent")
            )
    return sorted(found.values(), key=lambda note: note.mark.position)


def _texts(library: Library) -> Iterator[_Text]:
    """Every wording, once for each language in which it may evaluate to another text."""
    known: set[tuple[Mark, str | None, int | None, str]] = set()
    for message in messages(library):
        for sent in message.texts:
            for text in sent.text.wordings:
                if text.constant and len(text.source) <= (sent.most or len(text.source)) and not sent.parameter:
                    continue  # most are
                language = message.seen.language if _LANGUAGE.search(text.explained) else None
                key = (text.mark, language, sent.most, text.source)
                if key not in known:
                    known.add(key)
                    yield _Text(message, sent, text)


def _too_long(text: _Text) -> Finding | None:
    most = text.sent.most
    if most is None or text.is_far_below(most):
        return None
    longest = max(text.rendered(), key=lambda found: len(found[1]), default=None)
    if longest is None or len(longest[1]) <= most:
        return None
    values, written = longest
    then = "it is cut" if text.sent.cut else "it is refused"
    what = f"{text.name} may have {len(written)} characters{in_words(values)}, {most} are allowed: {then}"
    return Finding.at("W401", text.text.mark, what, _shorter(text.text, most))


def _shorter(text: Template, most: int) -> str:
    return "shorten it" if text.constant else f"shorten it, bound its variables, or write | truncate({most})"


class _Guards:
    """Which variables may be empty where a text is sent, by the conditions on the way to its step."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._places: dict[Mark, list[StepId]] = {}
        for place, step in graph.steps.items():
            for text in (text for sent in step.facts.texts for text in sent.text.wordings):
                self._places.setdefault(text.mark, []).append(place)

    def allow(self, text: Template, values: Values) -> bool:
        """True if the values that are null or empty may be so at a step that sends the text."""
        places = self._places.get(text.mark, [])
        empty = [name for name, value in values.items() if not value]
        return not places or any(all(self._may_be_empty(place, name) for name in empty) for place in places)

    def _may_be_empty(self, place: StepId, name: str) -> bool:
        variable, assigned = self._graph.flow(place).variables.get(name), self._graph.analysis(definite_assignment)
        if variable is None or variable.keep or variable.kind is not ValueKind.LIST or place not in assigned.at:
            return True
        states = PathStates(self._graph, assigned, place[0], [name])
        return not states.complete or states.may_be_false(place, name)


def _empty(text: _Text, guards: _Guards) -> Finding | None:
    if not text.sent.needed or text.text.constant or _always_there(text.text):
        return None
    reads = AbstractText(text.text)
    for values, written in (*text.rendered(), *text.emptied()):
        if not written.strip() and not _has_hole(reads, values) and guards.allow(text.text, values):
            what = f"{text.name} is empty{in_words(values, nulls=True)}, and the gateway refuses the message"
            return Finding.at("W404", text.text.mark, what, "write what stands there otherwise, as in default('...')")
    return None


def _has_lines(text: _Text) -> Finding | None:
    if not text.sent.parameter:
        return None
    for values, written in text.rendered():
        if parameter_line(written) != written.strip():
            what = f"{text.name} has line breaks, tabs or more than four spaces in a row{in_words(values)}"
            what += ", which the platform refuses: each becomes one space"
            return Finding.at("W405", text.text.mark, what, "write it on one line")
    return None


def _always_there(text: Template) -> bool:
    """True if it has words beside its values; or it is a single value, whose null another rule reports."""
    return is_plain(text) or ("{%" not in text.source and bool(JINJA.sub("", text.source).strip()))


def _has_hole(reads: AbstractText, values: Values) -> bool:
    """True if null leaves a hole in it, which `bot.checker.rules.uninitialised` reports."""
    known: dict[str, AbstractValues] = {
        name: frozenset({LOST if value is None else just(value)}) for name, value in values.items()
    }
    reading = reads.evaluate(known, shown=True)
    return reading.hole or reading.fails
