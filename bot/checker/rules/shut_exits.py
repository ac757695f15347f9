"""W306: exits of models that some conversations never come to: they need what is null there, and nobody can say."""

from collections.abc import Iterator

from bot.checker.data.assigned import Assigned
from bot.checker.data.origins import Origins
from bot.checker.findings import Finding
from bot.checker.graph import Graph, Place
from bot.steps.declared import Need
from bot.steps.notes import STRUCTURES


def find_shut_exits(graph: Graph) -> Iterator[Finding]:
    """Exits that need a list, a record, a file or a place, which no model can note, and which may be null."""
    needed = list(_structures(graph))
    if not needed:
        return
    assigned, origins = graph.fact(Assigned), Origins(graph)
    for place, need in needed:
        name = assigned.nulls.of(need.variable)
        if place in assigned.at and assigned.at[place].null & name:
            origin = origins.of(place, name)
            type_ = graph.flow(place).variables[need.variable].type
            what = f'step "{place[1]}": exit "{need.way}" needs "{need.variable}", which may be null, and no model can note'
            what += f" a value of type {type_}: {origin.why(place)}"
            yield Finding.at("W306", need.mark, what, "give it a value before, or take it out of `needs`", origin.story)


def _structures(graph: Graph) -> Iterator[tuple[Place, Need]]:
    for place, step in graph.steps.items():
        for need in step.kind.needs():
            if isinstance(graph.flow(place).variables[need.variable], STRUCTURES):
                yield place, need
