"""Every template and expression of a bot, wherever it stands."""

from collections.abc import Iterator

from bot.flow.definition import BotDefinition, Flow, Step
from bot.lang.templates import Template
from bot.lang.wordings import VALUES
from bot.steps.declared import Used
from bot.steps.doors import Door
from bot.steps.riders import Defaults
from bot.steps.words import Words

ANSWER = frozenset({"it"})  # what the texts of a variable may use beside the flow's own names


def uses_of_bot(bot: BotDefinition) -> Iterator[Used]:
    """Those of ``bot.yml``."""
    for name, text in bot.wordings.items():
        yield Used(text, VALUES.get(name, frozenset()))
    yield from _of_words(bot.words)
    yield from _of_defaults(bot.defaults)


def uses_of_flow(flow: Flow) -> Iterator[Used]:
    """Those of a flow and of its steps, inherited ones included."""
    yield from _of_words(flow.words)
    yield from _of_defaults(flow.defaults)
    for variable in flow.variables.values():
        for text in variable.texts():
            yield Used(text, ANSWER)
    for step in flow.steps.values():
        yield from uses_of_step(step)


def uses_of_step(step: Step) -> Iterator[Used]:
    """Those of one step: its kind's, its doors' and its riders'."""
    yield from step.kind.uses()
    for outcome in step.kind.outcomes().values():
        if outcome.door is not None:
            yield from _of_door(outcome.door)
    riders = step.riders
    for text in uses_on_leaving(step):
        yield Used(text)
    if riders.visits is not None:
        yield from _of_door(riders.visits.otherwise)
    if riders.then is not None:
        yield from _of_door(riders.then)
    yield from _of_words(riders.words)
    yield from _of_defaults(riders.defaults, step.kind.tells)


def uses_on_leaving(step: Step) -> Iterator[Template]:
    """Those of what a step gives when it is left with success: tags, values, plans."""
    riders = step.riders
    yield from (*riders.tag, *riders.untag, *riders.cancel)
    for item in riders.set:
        yield from item.uses()
    for schedule in riders.schedule:
        yield from schedule.uses()


def _of_door(door: Door, told: frozenset[str] = frozenset()) -> Iterator[Used]:
    for text in door.uses():
        yield Used(text, told)


def _of_words(words: Words) -> Iterator[Used]:
    for word in words.values():
        yield from map(Used, word.uses())


def _of_defaults(defaults: Defaults, told: frozenset[str] = frozenset()) -> Iterator[Used]:
    for name, door in defaults.doors():
        yield from _of_door(door, told if name.startswith("errors.") else frozenset())
    if defaults.window_closed is not None:
        yield from defaults.window_closed.uses()
