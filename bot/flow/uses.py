"""Every template and expression of a bot, wherever it stands."""

from collections.abc import Iterator

from bot.flow.definition import BotDefinition, Flow, Step
from bot.steps.doors import Door
from bot.steps.kind import Used
from bot.steps.riders import Defaults


def uses_of_bot(bot: BotDefinition) -> Iterator[Used]:
    """Those of ``bot.yml``."""
    for door in bot.words.values():
        yield from _of_door(door)
    yield from _of_defaults(bot.defaults)


def uses_of_flow(flow: Flow) -> Iterator[Used]:
    """Those of a flow and of its steps, inherited ones included."""
    yield from _of_defaults(flow.defaults)
    for step in flow.steps.values():
        yield from uses_of_step(step)


def uses_of_step(step: Step) -> Iterator[Used]:
    """Those of one step: its kind's, its doors' and its riders'."""
    yield from step.kind.uses()
    for outcome in step.kind.outcomes().values():
        if outcome.door is not None:
            yield from _of_door(outcome.door)
    riders = step.riders
    for tag in riders.tag:
        yield Used(tag)
    for item in riders.set:
        for text in item.uses():
            yield Used(text)
    if riders.visits is not None:
        yield from _of_door(riders.visits.otherwise)
    if riders.then is not None:
        yield from _of_door(riders.then)
    yield from _of_defaults(riders.defaults)


def _of_door(door: Door) -> Iterator[Used]:
    for text in door.uses():
        yield Used(text)


def _of_defaults(defaults: Defaults) -> Iterator[Used]:
    for _, door in defaults.doors():
        yield from _of_door(door)
    if defaults.window_closed is not None:
        yield from defaults.window_closed.uses()
