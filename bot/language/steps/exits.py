"""Exits: the transitions by which alone a model may leave a step."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.expressions.templates import Expression
from bot.language.keys.declared_keys import LITERAL, STRINGS, KeySet, KeySpec, as_fields, either, map_of
from bot.language.keys.fields import Fields, entries_of
from bot.language.source.problems import Mark, Problems, did_you_mean
from bot.language.source.yaml_tree import Map, Node, Scalar
from bot.language.steps.step_facts import DefaultTarget, Outcome, Used, only_if, texts_used
from bot.language.steps.transition import (
    CONDITION,
    TO_TARGET,
    TRANSITION_KEYS,
    Transition,
    transition_from,
    transition_to,
)
from bot.language.types.type_registry import Variable

_TOOL_NAME = lazy_pattern(r"[a-z][a-z0-9_]{0,49}")

_WHEN = KeySpec("when", LITERAL, "When to take it, in words for the model.")
_NEEDS = KeySpec(
    "needs",
    STRINGS,
    "The variables that must be known by then (the model may note them, too), and the step's tools that must have "
    "succeeded.",
)
_KEYS = KeySet(_WHEN, _NEEDS, CONDITION, *TRANSITION_KEYS)


def _some_of(node: Node, problems: Problems, what: str) -> tuple[tuple[Scalar, Node], ...]:
    if isinstance(node, Map) and not node.entries:
        fix = "add one, like done: {when: they have what they need, then: end}"
        problems.add("E105", node.mark, f"{what}: there is no exit", fix)
    return entries_of(node, problems, what)


EXITS: KeySpec[tuple[tuple[Scalar, Node], ...]] = KeySpec(
    "exits",
    map_of(either(TO_TARGET, as_fields(_KEYS)), _some_of, absent=()),
    "The only transitions by which the model can leave: at least one.",
    required=True,
)


@immutable
class Exit:
    """When to take an exit, where its ``condition`` holds: which variables are known, which handlers succeeded."""

    name: str
    mark: Mark
    when: str
    needs: tuple[str, ...]
    transition: Transition | None
    condition: Expression | None = None
    needed_tools: tuple[str, ...] = ()  # handlers that the step has as tools

    @property
    def outcome(self) -> str:
        """The outcome's name."""
        return f"exits.{self.name}"


def read_exits(
    fields: Fields, variables: Mapping[str, Variable], tools: Collection[str] = (), handlers: Collection[str] = ()
) -> tuple[Exit, ...]:
    """Read `exits`: for each name a target, or ``{when, needs, if}`` with the keys of a transition.

    There is one at least. ``tools`` are the handlers that the step has as tools, of all ``handlers``.
    """
    return tuple(_read_exit(fields, name, node, variables, tools, handlers) for name, node in EXITS.read(fields))


def _read_exit(
    fields: Fields,
    name: Scalar,
    node: Node,
    variables: Mapping[str, Variable],
    tools: Collection[str],
    handlers: Collection[str],
) -> Exit:
    when = f"it is about: {name.text}"
    check_tool_name(fields, EXITS, name)
    if not isinstance(node, Map):
        return Exit(name.text, name.mark, when, (), transition_to(node, fields.problems, f"{fields.what}: exits"))
    each = _KEYS.open(node, fields.problems, f'{fields.what}: exit "{name.text}"')
    when, needs, condition = _WHEN.read(each) or when, _NEEDS.read(each), CONDITION.read(each)
    for need in needs:
        _check_need(each, need, variables, tools, handlers)
    transition = transition_from(each)
    known = tuple(need for need in needs if need in variables)
    return Exit(
        name.text, name.mark, when, known, transition, condition, tuple(need for need in needs if need in tools)
    )


def check_tool_name(fields: Fields, key: KeySpec[Any], name: Scalar) -> None:
    """Check that a name under a key is what models take as part of a tool's name."""
    if not _TOOL_NAME.fullmatch(name.text):
        fix = "use small letters from a to z, digits and _, a letter first, 50 at most"
        fields.report("E108", name.mark, f'{key.name}: "{name.text}" is no name', fix)


def _check_need(
    fields: Fields, name: str, variables: Mapping[str, Variable], tools: Collection[str], handlers: Collection[str]
) -> None:
    """A need is a variable's name or a tool's, and not the name of both."""
    if name in variables and name in tools:
        what = f'"{name}" is a variable and a tool: nobody can tell which one it needs'
        _NEEDS.report(fields, "E306", what, "give the variable another name")
    elif name in variables or name in tools:
        return
    elif name in handlers:
        what = f'"{name}" is no tool of this step, so it can never have succeeded here'
        _NEEDS.report(fields, "E301", what, f"add it to the step's tools: {name}")
    else:
        kinds = "variable or tool" if tools else "variable"
        fix = did_you_mean(name, [*variables, *tools], f"declare it under vars: {name}: {{type: text}}")
        _NEEDS.report(fields, "E301", f'no {kinds} "{name}"', fix)


def exit_outcomes(exits: tuple[Exit, ...]) -> dict[str, Outcome]:
    """The outcomes of exits, whose targets must be written."""
    return {
        exit_.outcome: Outcome(
            exit_.transition, DefaultTarget.WRITTEN, given=only_if(exit_.condition), known=frozenset(exit_.needs)
        )
        for exit_ in exits
    }


def open_exits(exits: Iterable[Exit], scope: Mapping[str, Any]) -> tuple[Exit, ...]:
    """The exits without a condition, and the exits whose condition holds."""
    return tuple(exit_ for exit_ in exits if exit_.condition is None or exit_.condition.evaluate(scope))


def exit_uses(exits: Iterable[Exit]) -> Iterator[Used]:
    """The exits' conditions."""
    return texts_used(*(exit_.condition for exit_ in exits))
