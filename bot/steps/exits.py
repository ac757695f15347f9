"""Exits: the doors by which alone a model may leave a step."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bot.lang.fields import Fields
from bot.lang.nodes import Mark, Scalar
from bot.lang.problems import did_you_mean
from bot.lang.variables import Variable
from bot.steps.doors import Door, door_from, target_of
from bot.steps.kind import Falls, Outcome

_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")  # what models take as part of a tool's name


@dataclass(frozen=True, slots=True)
class Exit:
    """One exit: when it is the one to take, and which variables must be known by then."""

    name: str
    mark: Mark
    when: str
    needs: tuple[str, ...]
    door: Door | None

    @property
    def outcome(self) -> str:
        """The outcome's name."""
        return f"exits.{self.name}"


def read_exits(fields: Fields, variables: Mapping[str, Variable]) -> tuple[Exit, ...]:
    """Read `exits`: for each name a target, or ``{when, needs}`` with the keys of a door. There is one at least."""
    fields.require("exits")
    inner = fields.fields("exits")
    found = []
    if inner is not None and not inner.entries():
        fix = "add one, like done: {when: they have what they need, then: end}"
        fields.problems.add("E105", inner.mark, f"{inner.what}: there is no exit", fix)
    for name, node in () if inner is None else inner.entries():
        if not _NAME.fullmatch(name.text):
            fix = "use small letters, digits and _, a letter first, 50 at most"
            fields.problems.add("E108", name.mark, f'{fields.what}: exits: "{name.text}" is no name', fix)
        if isinstance(node, Scalar):
            target = target_of(node, fields.problems, f"{fields.what}: exits")
            door = None if target is None else Door(node.mark, then=target)
            found.append(Exit(name.text, name.mark, f"it is about: {name.text}", (), door))
            continue
        each = Fields(node, fields.problems, f'{fields.what}: exit "{name.text}"')
        when, needs, door = each.string("when"), each.strings("needs"), door_from(each)
        for variable in needs:
            if variable not in variables:
                fix = did_you_mean(variable, variables, f"declare it under vars: {variable}: {{type: text}}")
                fields.problems.add("E301", each.mark_of("needs"), f'{each.what}: no variable "{variable}"', fix)
        each.close()
        known = tuple(variable for variable in needs if variable in variables)
        found.append(Exit(name.text, name.mark, when or f"it is about: {name.text}", known, door))
    return tuple(found)


def exit_outcomes(exits: tuple[Exit, ...]) -> dict[str, Outcome]:
    """Each exit's outcome: where it leads must be written."""
    return {way.outcome: Outcome(way.door, Falls.WRITTEN) for way in exits}
