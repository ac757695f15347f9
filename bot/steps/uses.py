"""What is written on a step: every door, every template and expression."""

from collections.abc import Iterable, Iterator

from bot.lang.templates import Template
from bot.steps.declared import Outcome, Used
from bot.steps.doors import Door
from bot.steps.kind import StepKind
from bot.steps.riders import Defaults, Riders
from bot.steps.words import Words


def doors_of(outcomes: Iterable[Outcome], riders: Riders) -> Iterator[Door]:
    """Every door of a step: of its kind's outcomes, and of its riders."""
    visited = None if riders.visits is None else riders.visits.otherwise
    doors = (*(outcome.door for outcome in outcomes), riders.then, visited)
    yield from (door for door in doors if door is not None)
    yield from (word.door for word in riders.words.values())
    yield from (door for _, door in riders.defaults.doors())


def uses_of(kind: StepKind, outcomes: Iterable[Outcome], riders: Riders) -> Iterator[Used]:
    """Every template and expression of a step: its kind's, its doors' and its riders'."""
    yield from kind.uses()
    for outcome in outcomes:
        if outcome.door is not None:
            yield from _of_door(outcome.door)
    yield from map(Used, uses_on_leaving(riders))
    if riders.visits is not None:
        yield from _of_door(riders.visits.otherwise)
    if riders.then is not None:
        yield from _of_door(riders.then)
    yield from uses_of_words(riders.words)
    yield from uses_of_defaults(riders.defaults, kind.tells)


def uses_on_leaving(riders: Riders) -> Iterator[Template]:
    """Those of what a step gives when it is left with success: tags, values, plans."""
    yield from (*riders.tag, *riders.untag, *riders.cancel)
    for item in riders.set:
        yield from item.uses()
    for schedule in riders.schedule:
        yield from schedule.uses()


def uses_of_words(words: Words) -> Iterator[Used]:
    """Those of words."""
    for word in words.values():
        yield from map(Used, word.uses())


def uses_of_defaults(defaults: Defaults, told: frozenset[str] = frozenset()) -> Iterator[Used]:
    """Those of defaults. ``told`` are the names that the doors of `errors` may use beside the rest."""
    for name, door in defaults.doors():
        yield from _of_door(door, told if name.startswith("errors.") else frozenset())
    if defaults.window_closed is not None:
        yield from defaults.window_closed.uses()


def _of_door(door: Door, told: frozenset[str] = frozenset()) -> Iterator[Used]:
    for text in door.uses():
        yield Used(text, told)
