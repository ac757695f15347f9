"""The effect of null in the texts of a bot: a hole, a failure, or a value that is null."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from bot.checker.analysis.signal_data import SignalData
from bot.checker.graph import Graph
from bot.core.immutable import immutable
from bot.language.expressions.abstract_texts import AbstractText, Evaluation
from bot.language.expressions.abstract_values import ANYTHING, LOST, AbstractValues, ValueKind, some
from bot.language.expressions.templates import Expression, Template
from bot.language.flow.definition import Flow
from bot.language.steps.step_facts import Given, Null, Used

VariableSet = int
"""A set of variables, by their names: one bit for each name in the bot."""
Together = Mapping[VariableSet, VariableSet]
"""For a variable, those that are null wherever it is."""

_MAY_BE_FALSE = frozenset({ValueKind.BOOLEAN, ValueKind.NUMBER, ValueKind.LIST})
_NULL: AbstractValues = frozenset({LOST})
_SHOWN = frozenset({Null.SHOWN, Null.NEEDED})


@immutable
class NullEffect:
    """The effect of null in one text.

    ``holes`` and ``fails`` are the variables for which there may be a hole, or a failure; ``stops`` are those of
    ``fails`` for which it fails for certain. ``nothing``: its value may be null itself.
    """

    holes: VariableSet = 0
    fails: VariableSet = 0
    stops: VariableSet = 0
    nothing: bool = False


class NullAnalysis:
    """The texts of a bot, and sets of its variables. ``signals`` are the data of signals in them."""

    def __init__(self, graph: Graph, together: Together | None = None) -> None:
        library = graph.library
        self.signals = graph.analysis(SignalData)
        self._together = together or {}
        self._names = list(dict.fromkeys(name for flow in library.flows.values() for name in flow.variables))
        self._bits = {name: 1 << number for number, name in enumerate(self._names)}
        self._kinds = {flow.name: _kinds_of(flow) for flow in library.flows.values()}
        self._reads: dict[tuple[type, tuple[object, ...]], AbstractText] = {}
        self._texts: dict[tuple[object, ...], AnalysedText] = {}

    @property
    def everything(self) -> VariableSet:
        """The set of all names."""
        return (1 << len(self._names)) - 1

    def of(self, *names: str) -> VariableSet:
        """The set of these names. A name that no flow declares is left out."""
        found = 0
        for name in names:
            found |= self._bits.get(name, 0)
        return found

    def names_in(self, found: VariableSet) -> Iterator[str]:
        """The names of a set."""
        while found:
            yield self._names[(found & -found).bit_length() - 1]
            found &= found - 1

    def each_null(
        self, null: VariableSet, kinds: Mapping[str, AbstractValues]
    ) -> Iterator[tuple[VariableSet, Mapping[str, AbstractValues]]]:
        """For each variable of a set, the abstract values of all variables where this one is null, with those that are
        null wherever it is, and the others of the set are unknown.
        """
        names = list(self.names_in(null))
        usual = {**kinds, **dict.fromkeys(names, ANYTHING)}
        for name in names:
            bit = self._bits[name]
            also = self._together.get(bit, 0)
            yield bit, {**usual, name: _NULL, **(dict.fromkeys(self.names_in(also), _NULL) if also else {})}

    def proved_by(self, names: VariableSet) -> VariableSet:
        """These variables, and the variables that have a value whenever one of them has."""
        return names | sum(bit for bit, also in self._together.items() if also & names and not bit & names)

    def kinds_of(self, names: Iterable[str], flow: Flow) -> Mapping[str, AbstractValues]:
        """The abstract values of the variables with these names, null aside."""
        kinds = self._kinds[flow.name]
        return {name: kinds[name] for name in names if name in kinds}

    def text(self, used: Used, flow: Flow) -> "AnalysedText":
        """The analysis of a text in a flow. A text that many steps inherit is analysed once."""
        key = (
            id(used.text),
            flow.name,
            used.extra,
            used.null,
            used.sure,
            *((id(each.condition), each.holds) for each in used.given),
        )
        if key not in self._texts:
            self._texts[key] = AnalysedText(used, flow, self)
        return self._texts[key]

    def texts(self, uses: Iterable[Used], flow: Flow) -> list["AnalysedText"]:
        """The analyses of several texts, without constant ones."""
        return [self.text(used, flow) for used in uses if not _is_constant(used.text)]

    def reads(self, text: Template | Expression) -> AbstractText:
        """The abstract evaluation of a text. Equal sources are parsed once."""
        key = type(text), _sources(text)
        if key not in self._reads:
            self._reads[key] = AbstractText(text)
        return self._reads[key]


class AnalysedText:
    """One text or expression of a flow, evaluated for any set of variables that may be null."""

    def __init__(self, used: Used, flow: Flow, nulls: NullAnalysis) -> None:
        self.used = used
        self.constant = _is_constant(used.text)
        self._nulls = nulls
        self._known_kinds = {**nulls.kinds_of(used.text.names, flow), **nulls.signals.known_in(used.text)}
        self.names = nulls.of(*(used.text.names - used.extra))
        self._given = [ProvingCondition(given, flow, nulls, used.extra) for given in used.given]
        self._known: dict[VariableSet, NullEffect] = {}

    def read(self, null: VariableSet) -> NullEffect:
        """The effect of null in it, where these variables may be null."""
        for given in self._given:
            null &= ~given.proves(null)
        null &= self.names
        if null not in self._known:
            self._known[null] = self._read(null)
        return self._known[null]

    @cached_property
    def abstract(self) -> AbstractText:
        """Its abstract evaluation, which texts of the same source share."""
        return self._nulls.reads(self.used.text)

    @cached_property
    def never_fails(self) -> bool:
        """True if it can be evaluated with all values of its variables, null aside."""
        return self.constant or self.abstract.never_fails(self._known_kinds)

    @cached_property
    def values(self) -> AbstractValues:
        """The values that it may have if no variable is null; empty if it always fails."""
        return self.abstract.evaluate(self._known_kinds).values

    @property
    def kinds(self) -> frozenset[ValueKind]:
        """The kinds of these values."""
        return frozenset(found.kind for found in self.values)

    def _read(self, null: VariableSet) -> NullEffect:
        used = self.used
        if self.constant:
            return NullEffect()
        if not null:
            return NullEffect(nothing=used.null is Null.TAKEN and self.abstract.evaluate(self._known_kinds).nothing)
        holes = fails = stops = 0
        nothing = False
        for bit, known in self._nulls.each_null(null, self._known_kinds):
            found = self.evaluated(known)
            missing = used.null is Null.NEEDED and found.blank
            refused = used.null is Null.REFUSED and found.nothing
            holes |= bit if found.hole else 0
            fails |= bit if found.fails or refused or missing else 0
            stops |= bit if not found.values or missing or (refused and found.only_nothing) else 0
            nothing = nothing or found.nothing
        return NullEffect(holes, fails, stops if used.sure and not used.given else 0, nothing)

    def shows_null(self, known: Mapping[str, AbstractValues], *, fails: bool) -> bool:
        """True if there is a hole with these values of its names; ``fails``: also if it fails because one is lost."""
        found, null = self.evaluated(known), self.used.null
        missing = null is Null.NEEDED and found.blank
        refused = null is Null.REFUSED and found.nothing
        return found.hole or (fails and (found.fails or missing or refused))

    def nulls_of_signals(self, *, fails: bool) -> Iterator[tuple[str, str, bool]]:
        """The data of a signal, each with the signal, that leave a hole if they are null, or let it fail (``fails``:
        also this counts): then the last value is true.
        """
        for signal, field, event in self._nulls.signals.lost_in(self.used.text):
            known = {**self._known_kinds, **event}
            if self.shows_null(known, fails=fails):
                yield signal, field, not self.shows_null(known, fails=False)

    def evaluated(self, known: Mapping[str, AbstractValues]) -> Evaluation:
        """Its evaluation with these values of its names."""
        used = self.used
        return self.abstract.evaluate(known, shown=used.null in _SHOWN and isinstance(used.text, Template))


class ProvingCondition:
    """A condition that is known to hold, and proves that variables are not null."""

    def __init__(self, given: Given, flow: Flow, nulls: NullAnalysis, extra: frozenset[str] = frozenset()) -> None:
        self._given = given
        condition = given.condition
        self._kinds = {**nulls.kinds_of(condition.names, flow), **nulls.signals.known_in(condition)}
        self._nulls = nulls
        self._names = nulls.proved_by(nulls.of(*(given.condition.names - extra)))
        self._known: dict[VariableSet, VariableSet] = {}

    def proves(self, null: VariableSet) -> VariableSet:
        """The variables that are not null, because the condition would not hold with null."""
        null &= self._names
        if null not in self._known:
            reads = self._nulls.reads(self._given.condition)
            self._known[null] = sum(
                bit
                for bit, known in self._nulls.each_null(null, self._kinds)
                if self._given.holds not in reads.evaluate(known).truths
            )
        return self._known[null]


def _kinds_of(flow: Flow) -> Mapping[str, AbstractValues]:
    """The abstract values of a flow's variables, null aside. A text is never empty, because it is an answer."""
    return {
        name: some(variable.kind, full=variable.kind not in _MAY_BE_FALSE, whole=variable.whole)
        for name, variable in flow.variables.items()
    }


def _is_constant(text: Template | Expression) -> bool:
    return isinstance(text, Template) and text.constant


def _sources(text: Template | Expression) -> tuple[object, ...]:
    """The sources of a text and its definitions. Two flows may have different definitions of the same name."""
    wordings = text.wordings if isinstance(text, Template) else (text,)
    return tuple((each.source, each.definitions) for each in wordings)
