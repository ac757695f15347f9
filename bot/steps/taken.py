"""Names that a bot's own Python cannot take: those of the language itself."""

from functools import cache

from bot.expressions.filters import FILTERS, FUNCTIONS
from bot.extensions.decorators import FUNCTION, BadDeclaration
from bot.extensions.gathered import Extensions
from bot.keys.fields import Fields
from bot.lang.nodes import Map, Mark
from bot.lang.problems import Problems
from bot.steps import KINDS
from bot.steps.step_options import read_step_options
from bot.steps.transition import RESERVED

_OUTCOMES = frozenset({"within", "tries", "other", "skip", "else", "if"})
"""Keys and outcomes that mean something wherever they stand."""


@cache
def _keys() -> frozenset[str]:
    """What any step may say beside its verb, and `_OUTCOMES`."""
    fields = Fields(Map(Mark("", 0, 0), ()), Problems(), "")
    read_step_options(fields, saves=True)
    return _OUTCOMES.union(fields.asked)


def refuse_taken(extensions: Extensions) -> None:
    """Raise `BadDeclaration` for the first function, verb, key or outcome whose name is taken."""
    for spec in extensions.own.values():
        if spec.name in (FUNCTIONS if spec.kind == FUNCTION else FILTERS):
            raise BadDeclaration(f'{spec.kind} "{spec.name}" is built in: choose another name', spec.function)
    for verb in extensions.verbs.values():
        if verb.verb in KINDS or verb.verb in _keys():
            raise BadDeclaration(f'step kind "{verb.verb}": the word is one of the language\'s own', verb.run)
        names = (*verb.keys, *verb.outcomes)
        for name in names:
            if name in _keys() | RESERVED | KINDS.keys() or names.count(name) > 1 or not name.isidentifier():
                raise BadDeclaration(f'step kind "{verb.verb}": "{name}" is taken: choose another name', verb.run)
