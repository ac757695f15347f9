"""W301 and W308: variables that are read where they may be null, so that a text has a hole, or something fails."""

from collections.abc import Iterator
from dataclasses import dataclass

from bot.checker.data.assigned import Assigned
from bot.checker.data.giving import Seen, bits_of
from bot.checker.data.nulls import Names, Read, Text
from bot.checker.data.origins import Origin, Origins
from bot.checker.data.ways import Way, notice_uses
from bot.checker.findings import Finding
from bot.checker.graph import Graph, Place
from bot.lang.nodes import Mark
from bot.lang.templates import Expression

_BY_NULL = {"failed", "mismatch"}  # the failures that null may lead to


@dataclass(frozen=True, slots=True)
class _Fault:
    """A variable that may be null where a text is worked out: at a step, or on a way on from it."""

    place: Place
    way: Way | None
    text: Text
    name: Names
    fails: bool


def find_unset(graph: Graph) -> Iterator[Finding]:
    """Each text and variable once, wherever it is inherited."""
    assigned, origins = graph.fact(Assigned), Origins(graph)
    told: dict[tuple[Mark, Names], _Fault] = {}
    for fault in _faults(graph, assigned):
        told.setdefault((fault.text.used.text.mark, fault.name), fault)
    for fault in told.values():
        (name,) = assigned.nulls.names_in(fault.name)
        yield _Telling(graph, fault, name, origins.of(fault.place, fault.name, fault.way)).finding()


def _faults(graph: Graph, assigned: Assigned) -> Iterator[_Fault]:
    for place in (place for place in graph.steps if place in assigned.at):
        found: list[_Fault] = []
        step = graph.steps[place]
        named = (step.options.defaults.errors or {}).keys() & _BY_NULL
        seen = _into(found, place, None, expected=bool(named))
        rested = assigned.rested(place, seen)
        for used in notice_uses(step):
            text = assigned.nulls.text(used, graph.flow(place))
            seen(text, text.read(rested.null))
        for way in (way for way in assigned.ways(place) if not way.is_idle):
            seen = _into(found, place, way, expected=bool(named))
            way.past(assigned.left(way, rested, seen), seen)
        yield from found


def _into(found: list[_Fault], place: Place, way: Way | None, *, expected: bool) -> Seen:
    """Notes faults. ``expected``: the step says itself where such failures lead, so that they are none."""

    def note(text: Text, read: Read) -> None:
        names = read.holes if expected else read.holes | read.fails
        found.extend(_Fault(place, way, text, name, bool(name & read.fails)) for name in bits_of(names))

    return note


@dataclass(frozen=True, slots=True)
class _Telling:
    """A fault in words."""

    graph: Graph
    fault: _Fault
    name: str
    origin: Origin

    def finding(self) -> Finding:
        """The fault as a finding: where a flow that has such a variable opened this one without it, by its own rule."""
        opened, place = self.origin.opened, self.fault.place
        by = None if opened is None else opened.by
        shared = by is not None and self.name in self.graph.flow(by).variables
        harm = "this fails then" if self.fault.fails else "the text has a hole then"
        what = f'step "{place[1]}": "{self.name}" may be null, and {harm}: {self._not_given(by) if shared else self.origin.why(place)}'
        fix = f'pass it on, with: {{{self.name}: "{{{{ {self.name} }}}}"}}' if shared else self._fix
        mark = self.fault.text.used.text.mark
        return Finding.at("W308" if shared else "W301", mark, what, fix, self.origin.story)

    def _not_given(self, by: Place | None) -> str:
        """Why a flow does not see what the one below it has."""
        assert by is not None and self.origin.opened is not None
        return (
            f'flow {self.origin.opened.place[0]} has variables of its own, and step "{by[1]}" does not pass this one on'
        )

    @property
    def _fix(self) -> str:
        if isinstance(self.fault.text.used.text, Expression):
            return f'give it a value before, or ask for it first, as in "{self.name} and ..."'
        if self.fault.fails:
            return f"give it a value before, or go another way where there is none: if: not {self.name}"
        return f"give it a value before, or write {{{{ {self.name} | default('...') }}}}"
