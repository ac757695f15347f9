"""Every template and expression of a bot, wherever it stands."""

from collections.abc import Iterator

from bot.flow.definition import BotDefinition, Flow
from bot.lang.wordings import VALUES
from bot.steps.declared import Used
from bot.steps.uses import uses_of_defaults, uses_of_words

ANSWER = frozenset({"it"})  # what the texts of a variable may use beside the flow's own names


def uses_of_bot(bot: BotDefinition) -> Iterator[Used]:
    """Those of ``bot.yml``."""
    for name, text in bot.wordings.items():
        yield Used(text, VALUES.get(name, frozenset()))
    if bot.opt_out.say is not None:
        yield Used(bot.opt_out.say)
    yield from uses_of_words(bot.words)
    yield from uses_of_defaults(bot.defaults)


def uses_of_flow(flow: Flow) -> Iterator[Used]:
    """Those of a flow and of its steps, inherited ones included."""
    yield from uses_of_words(flow.words)
    yield from uses_of_defaults(flow.defaults)
    for variable in flow.variables.values():
        for text in variable.texts():
            yield Used(text, ANSWER)
    for step in flow.steps.values():
        yield from step.uses
