"""What is written on a step: every transition, every template and expression."""

from collections.abc import Iterable, Iterator

from bot.expressions.templates import Template
from bot.steps.declared import Outcome, Used
from bot.steps.kind import StepKind
from bot.steps.step_options import Defaults, StepOptions
from bot.steps.transition import Transition
from bot.steps.words import Words


def transitions_of(outcomes: Iterable[Outcome], options: StepOptions) -> Iterator[Transition]:
    """Every transition of a step: of its kind's outcomes, and of its options."""
    visited = None if options.visits is None else options.visits.otherwise
    transitions = (*(outcome.transition for outcome in outcomes), options.then, visited)
    yield from (transition for transition in transitions if transition is not None)
    yield from (word.transition for word in options.words.values())
    yield from (transition for _, transition in options.defaults.transitions())


def uses_of(kind: StepKind, outcomes: Iterable[Outcome], options: StepOptions) -> Iterator[Used]:
    """Every template and expression of a step: its kind's, its transitions' and its options'."""
    yield from kind.uses()
    for outcome in outcomes:
        if outcome.transition is not None:
            yield from _of_transition(outcome.transition)
    yield from map(Used, uses_on_leaving(options))
    if options.visits is not None:
        yield from _of_transition(options.visits.otherwise)
    if options.then is not None:
        yield from _of_transition(options.then)
    yield from uses_of_words(options.words)
    yield from uses_of_defaults(options.defaults, kind.tells)


def uses_on_leaving(options: StepOptions) -> Iterator[Template]:
    """Those of what a step gives when it is left with success: tags, values, plans."""
    yield from (*options.tag, *options.untag, *options.cancel)
    for item in options.set:
        yield from item.uses()
    for schedule in options.schedule:
        yield from schedule.uses()


def uses_of_words(words: Words) -> Iterator[Used]:
    """Those of words."""
    for word in words.values():
        yield from map(Used, word.uses())


def uses_of_defaults(defaults: Defaults, told: frozenset[str] = frozenset()) -> Iterator[Used]:
    """Those of defaults. ``told`` are the names that the transitions of `errors` may use beside the rest."""
    for name, transition in defaults.transitions():
        yield from _of_transition(transition, told if name.startswith("errors.") else frozenset())
    if defaults.window_closed is not None:
        yield from defaults.window_closed.uses()


def _of_transition(transition: Transition, told: frozenset[str] = frozenset()) -> Iterator[Used]:
    for text in transition.uses():
        yield Used(text, told)
