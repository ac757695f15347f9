"""W402 and W403: too many choices or too few for the answers that are asked for, and titles that may be the same."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from bot.checker.findings import Finding
from bot.checker.graph import Graph
from bot.checker.rules.sent import Asked, steps
from bot.core.messages import clip
from bot.lang.failures import TemplateFailed
from bot.lang.nodes import Mark
from bot.lang.structures import ListVariable
from bot.lang.templates import Expression
from bot.lang.trials import Values, told
from bot.lang.variable import Variable
from bot.lang.words import LONGEST
from bot.steps.declared import Offered, SentText
from bot.steps.made_choices import IT


def find_unfit_choices(graph: Graph) -> Iterator[Finding]:
    """Counts in the language of the flows, titles in every language, each once."""
    found: dict[Mark, Finding] = {}
    for asked in steps(graph.library):
        titles = [sent for sent in asked.step.kind.sends() if isinstance(sent, SentText) and sent.title]
        offers = [sent for sent in asked.step.kind.sends() if isinstance(sent, Offered)]
        for finding in (*_same_titles(asked, titles), *(f for offered in offers for f in _all_alike(asked, offered))):
            found.setdefault(Mark(finding.path, finding.line, finding.column), finding)
        if not asked.seen.spoken:
            yield from (finding for offered in offers for finding in _counts(asked, offered))
    yield from found.values()


def _counts(asked: Asked, offered: Offered) -> Iterator[Finding]:
    what, made = f'step "{asked.step.name}"', _most_of(offered.source, asked.flow.variables)
    if offered.source is not None and made is not None and made > offered.room:
        text = f"{what}: {offered.source.source} may have {made} elements, {offered.room} can be shown"
        yield Finding.at("W402", offered.mark, text, "ask in two steps, or show a part of them, as `where` finds it")
    if offered.source is None or made is not None:
        few = _fewest(asked, offered)
        if few is not None and (fewest := len(few[1]) + (made or 0)) < offered.least:
            text = f"{what}: {offered.least} answers are asked for, and there may be {fewest} to choose from"
            fix = "ask for fewer, with `many: {min: ...}`, or show more of them always"
            yield Finding.at("W402", offered.mark, f"{text}{told(few[0], nulls=True)}", fix)


def _most_of(source: Expression | None, variables: Mapping[str, Variable]) -> int | None:
    """How many elements a list has at most, where it is a variable that says so."""
    variable = None if source is None else variables.get(source.source.strip())
    return variable.most if isinstance(variable, ListVariable) else None


def _fewest(asked: Asked, offered: Offered) -> tuple[Values, list[Expression | None]] | None:
    """The fewest choices of the flow file that are shown together, and with which values."""
    conditions = [condition for condition in offered.fixed if condition is not None]
    names = set[str]().union(*(condition.names for condition in conditions))
    fewest: tuple[Values, list[Expression | None]] | None = None
    for values in asked.seen.trials.of(names):
        scope = asked.seen.trials.scope(values)
        try:
            shown = [each for each in offered.fixed if each is None or each.evaluate(scope)]
        except TemplateFailed:
            continue
        if fewest is None or len(shown) < len(fewest[1]):
            fewest = values, shown
    return fewest


def _same_titles(asked: Asked, titles: list[SentText]) -> Iterator[Finding]:
    """Titles of one question that read the same with some values. Those that are written out are compared when loading."""
    for one, other in combinations(titles, 2):
        if not (one.text.constant and other.text.constant):
            values = next(_equal(asked, one, other), None)
            if values is not None:
                what = f'step "{asked.step.name}": "{other.text.source}" reads like "{one.text.source}"'
                fix = "give them titles that differ, or an `if` to one of them"
                yield Finding.at("W403", other.text.mark, f"{asked.seen.spoken}{what}{told(values)}", fix)


def _equal(asked: Asked, one: SentText, other: SentText) -> Iterator[Values]:
    """The values with which both are shown and read the same, where all values are known."""
    given = (*one.given, *other.given)
    names = one.text.names.union(other.text.names, *(each.condition.names for each in given))
    for values in asked.seen.trials.of(names) if asked.seen.trials.finite(names) else ():
        scope = asked.seen.trials.scope(values)
        try:
            shown = all(bool(each.condition.evaluate(scope)) == each.holds for each in given)
            titles = {clip(sent.text.render(scope).strip(), sent.most or LONGEST) for sent in (one, other)}
        except TemplateFailed:
            continue
        if shown and len(titles) == 1:
            yield values


def _all_alike(asked: Asked, offered: Offered) -> Iterator[Finding]:
    """Choices made of a list whose title says nothing of the element."""
    title = offered.title
    if title is not None and IT.isdisjoint(title.names):
        what = f'step "{asked.step.name}": each choice reads "{title.source}", whatever it stands for'
        yield Finding.at("W403", title.mark, f"{asked.seen.spoken}{what}", "write something of `it`, the element")
