"""The names of time: opening hours that are asked for, scheduled flows that are cancelled."""

from collections.abc import Mapping

from bot.flow.definition import BotDefinition, Flow
from bot.flow.targets import transitions_of_bot, transitions_of_flow
from bot.flow.uses import uses_of_bot, uses_of_flow
from bot.lang.hours import no_hours
from bot.lang.problems import Problems, did_you_mean


def check_timing(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Report every name that is written out and that nothing has."""
    for used in (*uses_of_bot(bot), *(used for flow in flows.values() for used in uses_of_flow(flow))):
        for name in sorted(used.text.hours - bot.hours.keys()):
            problems.add("E115", used.text.mark, *no_hours(name, bot.hours))
    _check_cancelled(bot, flows, problems)


def _check_cancelled(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Where some name is only known at run time, any name may be that one."""
    steps = [step for flow in flows.values() for step in flow.steps.values()]
    names = [schedule.name for step in steps for schedule in step.options.schedule]
    if not all(name.constant for name in names):
        return
    known = {name.source for name in names}
    transitions = [
        *transitions_of_bot(bot),
        *(transition for flow in flows.values() for transition in transitions_of_flow(flow)),
    ]
    cancelled = [*(step.options.cancel for step in steps), *(transition.cancel for transition in transitions)]
    for name in dict.fromkeys(name for names in cancelled for name in names):
        if name.constant and name.source not in known:
            fix = did_you_mean(name.source, known, "a step schedules it by this name, or by its flow's")
            problems.add("E116", name.mark, f'nothing is scheduled as "{name.source}"', fix)
