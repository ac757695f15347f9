"""Flows beside the bot's own Python: what they call is there, and what they declare is called otherwise."""

from collections.abc import Mapping

from bot.flow.definition import BotDefinition, Flow
from bot.flow.uses import uses_of_bot, uses_of_flow
from bot.lang.calls import check_calls
from bot.lang.functions import FunctionSpec
from bot.lang.problems import Problems


def check_own(
    bot: BotDefinition, flows: Mapping[str, Flow], own: Mapping[str, FunctionSpec], problems: Problems
) -> None:
    """Report every call of what is not there, and every variable whose name is a function's."""
    for used in (*uses_of_bot(bot), *(used for flow in flows.values() for used in uses_of_flow(flow))):
        check_calls(used.text.calls, own, problems)
    for variable in (variable for flow in flows.values() for variable in flow.variables.values()):
        if variable.name in own:
            what = f'variable "{variable.name}": the bot\'s Python has a {own[variable.name].kind} of this name'
            problems.add("E306", variable.mark, what, "choose another name")
