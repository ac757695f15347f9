"""What templates call beside the built-in functions and filters: the bot's own Python, if it has that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.lang.filters import FILTERS, FUNCTIONS
from bot.lang.functions import FUNCTION, FunctionSpec
from bot.lang.nodes import Mark
from bot.lang.problems import Problems, did_you_mean


@dataclass(frozen=True, slots=True)
class Called:
    """A function or filter (``kind``) that is none of the built-in ones, and how it is called, in which line."""

    kind: str
    name: str
    positional: int
    keywords: tuple[str, ...]
    line: int


def check_calls(calls: Iterable[tuple[Called, Mark]], own: Mapping[str, FunctionSpec], problems: Problems) -> None:
    """Every call is of something that the bot's Python declares, with arguments that it takes."""
    for called, mark in calls:
        spec = own.get(called.name)
        if spec is None:
            _unknown(called, mark, own, problems)
        elif spec.kind != called.kind:
            written = f"{spec.name}(...)" if spec.kind == FUNCTION else f"value | {spec.name}"
            problems.add("E204", mark, f'"{spec.name}" is a {spec.kind}', f"write {written}")
        elif (objection := spec.objection(called.positional, called.keywords)) is not None:
            what = f'{spec.kind} "{spec.name}": {objection}'
            problems.add("E203", mark, what, f"it is declared as {spec.name}{spec.signature}")


def _unknown(called: Called, mark: Mark, own: Mapping[str, FunctionSpec], problems: Problems) -> None:
    built_in = FUNCTIONS if called.kind == FUNCTION else FILTERS
    known = [*built_in, *(spec.name for spec in own.values() if spec.kind == called.kind)]
    fix = did_you_mean(called.name, known, f"there are {', '.join(sorted(known))}; or declare it in handlers.py")
    problems.add("E204", mark, f'no {called.kind} "{called.name}"', fix)
