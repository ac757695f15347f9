"""What a step gives when it is left with success, and a door on the way through: values, tags, plans, words."""

from collections.abc import Mapping
from typing import Any

from bot.core.messages import Text
from bot.engine import plans
from bot.engine.work import Work
from bot.flow.definition import LANGUAGE, Step
from bot.steps.doors import Door
from bot.steps.kind import NOTHING, Decision
from bot.steps.riders import Riders


def give(work: Work, step: Step, decision: Decision | None) -> None:
    """Do a step's `save`, `set`, `tag` and `schedule`; `set` reads the values from before it. Raises a `Failure`."""
    if decision is not None:
        if decision.saved is not NOTHING and step.riders.save is not None:
            work.assign(step.riders.save, decision.saved)
        work.give(decision.sets)
    work.assign_all(step.riders.set)
    if step.riders.tag or step.riders.untag:
        _tag(work, step.riders, work.scope())
    plans.arrange(work, step.riders)


def give_at_door(work: Work, door: Door, scope: Mapping[str, Any]) -> None:
    """Do a door's `say`, `set`, `tag` and `cancel`. Raises a `Failure`."""
    if door.say is not None:
        work.send(Text(door.say.render(scope)))
    idle = work.session.frame is None  # then there are no variables but the contact's language
    work.assign_all((item for item in door.set if not idle or item.name == LANGUAGE), scope)
    _tag(work, door, scope)
    plans.cancel(work, door.cancel, scope)


def _tag(work: Work, given: Riders | Door, scope: Mapping[str, Any]) -> None:
    for tag in given.untag:
        work.untag(tag.render(scope))
    for tag in given.tag:
        work.tag(tag.render(scope))
