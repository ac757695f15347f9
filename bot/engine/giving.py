"""What a step gives when it is left with success, and a transition on the way through: values, tags, plans, words."""

from collections.abc import Mapping
from typing import Any

from bot.core.messages import TextMessage
from bot.engine import scheduled_flows
from bot.engine.turn_context import TurnContext
from bot.flow.definition import LANGUAGE, Step
from bot.steps.kind import NOTHING, StepResult
from bot.steps.step_options import StepOptions
from bot.steps.transition import Transition


def give(work: TurnContext, step: Step, result: StepResult | None) -> None:
    """Do a step's `save`, `set`, `tag` and `schedule`; `set` reads the values from before it. Raises a `Failure`."""
    if result is not None:
        if result.saved is not NOTHING and step.options.save is not None:
            work.assign(step.options.save, result.saved)
        work.give(result.sets)
    work.assign_all(step.options.set)
    if step.options.tag or step.options.untag:
        _tag(work, step.options, work.scope())
    scheduled_flows.arrange(work, step.options)


def give_at_transition(work: TurnContext, transition: Transition, scope: Mapping[str, Any]) -> None:
    """Do a transition's `say`, `set`, `tag` and `cancel`. Raises a `Failure`."""
    if transition.say is not None:
        work.send(TextMessage(transition.say.render(scope)))
    idle = work.session.frame is None  # then there are no variables but the contact's language
    work.assign_all((item for item in transition.set if not idle or item.name == LANGUAGE), scope)
    _tag(work, transition, scope)
    scheduled_flows.cancel(work, transition.cancel, scope)


def _tag(work: TurnContext, given: StepOptions | Transition, scope: Mapping[str, Any]) -> None:
    for tag in given.untag:
        work.untag(tag.render(scope))
    for tag in given.tag:
        work.tag(tag.render(scope))
