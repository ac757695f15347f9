"""W402, W403, W701, W702, W703: questions whose choices are missing, alike, misnumbered, or taken by a word."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from itertools import combinations

from bot.checker.analysis.timed_graph import waits_during_run
from bot.checker.findings import Finding, and_more, rule
from bot.checker.graph import Graph, StepId
from bot.checker.rules.sent_texts import AskedStep, steps
from bot.core.messages import clip
from bot.language.answers.titles import with_number
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.expressions.templates import Expression
from bot.language.source.languages import CONTACT_LANGUAGE
from bot.language.source.problems import Mark
from bot.language.source.text_patterns import matches
from bot.language.source.word_matching import LONGEST, normalise
from bot.language.steps.control_steps import ELEMENT
from bot.language.steps.step_facts import ChoiceFacts, SavedResult, SentText
from bot.language.types.sample_scopes import Values, in_words
from bot.language.types.structured_types import ListVariable
from bot.language.types.text_types import TextVariable
from bot.language.types.variable import Answer, InvalidAnswer, Variable


@rule(W402="too many choices, or too few", W403="choices that may read the same")
def find_unfit_choices(graph: Graph) -> Iterator[Finding]:
    """Find unfit choices, each once: their number in the language of the flows, their titles in every language."""
    found: list[Finding] = []
    for asked in steps(graph.library):
        offers = asked.step.facts.offers
        found += (*_same_titles(asked), *(f for offered in offers for f in _all_alike(asked, offered)))
        if not asked.seen.spoken:
            yield from (finding for offered in offers for finding in _counts(asked, offered))
    yield from _once(found)


def _once(findings: Iterable[Finding]) -> Iterable[Finding]:
    """The first finding at each place."""
    found: dict[Mark, Finding] = {}
    for finding in findings:
        found.setdefault(finding.mark, finding)
    return found.values()


def _counts(asked: AskedStep, offered: ChoiceFacts) -> Iterator[Finding]:
    what, made = f'step "{asked.step.name}"', _most_of(offered.source, asked.flow.variables)
    if offered.source is not None and made is not None and made > offered.room:
        text = f"{what}: {offered.source.source} may have {made} elements, {offered.room} can be shown"
        yield Finding.at("W402", offered.mark, text, "ask in two steps, or show a part of them, as `where` finds it")
    if offered.source is None or made is not None:
        few = _fewest(asked, offered)
        if few is not None and (fewest := len(few[1]) + (made or 0)) < offered.least:
            text = f"{what}: {offered.least} answers are asked for, and there may be {fewest} to choose from"
            fix = "ask for fewer, with `many: {min: ...}`, or always show more of them"
            yield Finding.at("W402", offered.mark, f"{text}{in_words(few[0], nulls=True)}", fix)


def _most_of(source: Expression | None, variables: Mapping[str, Variable]) -> int | None:
    """The most elements of a list, if it is a variable with a limit."""
    variable = None if source is None else variables.get(source.source.strip())
    return variable.most if isinstance(variable, ListVariable) else None


def _fewest(asked: AskedStep, offered: ChoiceFacts) -> tuple[Values, list[Expression | None]] | None:
    """The fewest choices of the flow file that are shown together, and the values for which that happens."""
    conditions = [condition for condition in offered.fixed if condition is not None]
    names = set[str]().union(*(condition.names for condition in conditions))
    fewest: tuple[Values, list[Expression | None]] | None = None
    for values in asked.seen.sample_scopes.of(names):
        scope = asked.seen.sample_scopes.scope(values)
        try:
            shown = [each for each in offered.fixed if each is None or each.evaluate(scope)]
        except TemplateFailed:
            continue
        if fewest is None or len(shown) < len(fewest[1]):
            fewest = values, shown
    return fewest


def _same_titles(asked: AskedStep) -> Iterator[Finding]:
    """Titles of one question that read the same for some values. Titles without values are compared at loading."""
    for one, other in combinations(asked.step.facts.titles, 2):
        if not (one.text.constant and other.text.constant):
            values = next(_equal(asked, one, other), None)
            if values is not None:
                what = f'step "{asked.step.name}": "{other.text.source}" reads like "{one.text.source}"'
                fix = "give them titles that differ, or an `if` to one of them"
                yield Finding.at("W403", other.text.mark, f"{asked.seen.spoken}{what}{in_words(values)}", fix)


def _equal(asked: AskedStep, one: SentText, other: SentText) -> Iterator[Values]:
    """The values for which both choices are shown and read the same, if all values are known."""
    given = (*one.given, *other.given)
    names = one.text.names.union(other.text.names, *(each.condition.names for each in given))
    for values in asked.seen.sample_scopes.of(names) if asked.seen.sample_scopes.finite(names) else ():
        scope = asked.seen.sample_scopes.scope(values)
        try:
            shown = all(bool(each.condition.evaluate(scope)) == each.holds for each in given)
            titles = {clip(sent.text.render(scope).strip(), sent.most or LONGEST) for sent in (one, other)}
        except TemplateFailed:
            continue
        if shown and len(titles) == 1:
            yield values


def _all_alike(asked: AskedStep, offered: ChoiceFacts) -> Iterator[Finding]:
    """Choices of a list whose title does not depend on the element."""
    title = offered.title
    if title is not None and ELEMENT.isdisjoint(title.names):
        what = f'step "{asked.step.name}": each choice reads "{title.source}", whatever it stands for'
        yield Finding.at("W403", title.mark, f"{asked.seen.spoken}{what}", "write something of `it`, the element")


@rule(W703="a title with the number of another place")
def find_misnumbered(graph: Graph) -> Iterable[Finding]:
    """Find titles whose number is the place of another choice, where numbers are shown; each once for each language."""
    return _once(finding for asked in steps(graph.library) for finding in _misnumbered(asked))


def _misnumbered(asked: AskedStep) -> Iterator[Finding]:
    if not any(offered.numbered for offered in asked.step.facts.offers):
        return
    titles = asked.step.facts.titles
    texts = [sent.text.source if sent.text.constant else "" for sent in titles]
    for place in range(len(texts)):
        named = with_number(Decimal(place + 1), frozenset(), texts, None)
        if len(named) == 1 and named != [place]:
            other = titles[named[0]]
            what = f'{asked.seen.spoken}step "{asked.step.name}": "{other.text.source}" has the number {place + 1}'
            what += f', and is shown as {named[0] + 1}: "{place + 1}" chooses nothing'
            yield Finding.at(
                "W703", other.text.mark, what, "put the choices in the order of their numbers, or reword it"
            )


_LOOKS = str.maketrans("авекмнорстухіαβεικνορτυχ01", "abekmhopctyxiabeikvoptuxol")
"""Letters of other scripts that look like Latin ones, and digits that look like letters, in small letters."""
_SOME_DAY = datetime(2030, 5, 15, 12, tzinfo=UTC)


@rule(W701="choices that look alike", W702="a word that takes an answer")
def find_alike(graph: Graph) -> Iterator[Finding]:
    """Find choices that look alike, once for each language; and words that also answer questions."""
    yield from _once(finding for asked in steps(graph.library) for finding in _look_alike(asked))
    taken: dict[tuple[Mark, str, str], list[str]] = {}
    for asked in steps(graph.library):
        for found_word in (*_taken(graph, asked), *_taken_by_runner(graph, asked)):
            taken.setdefault(found_word, []).append(asked.step.name)
    for (mark, what, fix), names in taken.items():
        yield _word_finding(mark, what, fix, list(dict.fromkeys(names)))


def _look_alike(asked: AskedStep) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for sent in asked.step.facts.titles:
        if sent.text.constant:
            title = sent.text.source
            first = seen.setdefault(_looks(title), title)
            if normalise(first) != normalise(title):
                what = f'{asked.seen.spoken}step "{asked.step.name}": "{title}" looks like "{first}"'
                yield Finding.at("W701", sent.text.mark, what, "give them titles that people can tell apart")


def _looks(title: str) -> str:
    """A title without the differences that people overlook: titles that look alike have the same result."""
    return normalise(title).translate(_LOOKS).replace(" ", "")


def _taken(graph: Graph, asked: AskedStep) -> Iterator[tuple[Mark, str, str]]:
    """Words and texts of `answers` that are also answers but are understood first: the mark, the fault, the fix."""
    step, variable = asked.step, _read_by_question(asked)
    if variable is None:
        return
    bot = graph.library.in_language(asked.seen.language).bot
    for words in (bot.words, asked.flow.words, step.options.words):
        for said, word in words.items():
            if word.condition is None and _is_answer(variable, said, asked.seen.language):
                yield word.mark, word.named(said), "choose another word, or give it an `if`"
    outcomes = step.outcomes
    for answer in step.facts.answers:
        outcome = outcomes.get(answer.owner)
        leaves_open = outcome is not None and outcome.saves is SavedResult.NULL
        if leaves_open and _is_answer(variable, answer.text, asked.seen.language):
            yield answer.mark or step.mark, f'"{answer.text}" of {answer.owner}', "choose another word"


def _taken_by_runner(graph: Graph, asked: AskedStep) -> Iterator[tuple[Mark, str, str]]:
    """The same for words of the steps that run the flow, which take choices, too."""
    language, variable = asked.seen.language, _read_by_question(asked)
    flows = graph.library.in_language(language).flows
    answers = [answer.text for answer in asked.step.facts.answers if not answer.before_words]
    for flow, step in graph.analysis(_runners)[asked.flow.name, asked.step.name]:
        for said, word in flows[flow].steps[step].options.words.items():
            if word.condition is None and (
                any(normalise(text) == said or (word.pattern and matches(word.pattern, text)) for text in answers)
                or (variable is not None and _is_answer(variable, said, language))
            ):
                yield word.mark, word.named(said), "choose another word, or give it an `if`"


def _runners(graph: Graph) -> Mapping[StepId, list[StepId]]:
    """For each step, the steps with words that may run its flow while the contact is there."""
    found: dict[StepId, list[StepId]] = defaultdict(list)
    for runner, step in graph.steps.items():
        if step.facts.flows_run and step.options.words:
            for place in dict(waits_during_run(graph, runner)):
                found[place].append(runner)
    return found


def _read_by_question(asked: AskedStep) -> Variable | None:
    """The variable whose values a question reads in what people write; None: any text, or choices alone."""
    variable = asked.flow.saved_by(asked.step)
    if not asked.step.facts.asks or variable is None or isinstance(variable, TextVariable):
        return None
    return variable if variable.answered and variable.written else None


def _is_answer(variable: Variable, text: str, language: str | None) -> bool:
    try:
        variable.accept(Answer(text), _SOME_DAY, {CONTACT_LANGUAGE: language})
    except (InvalidAnswer, TemplateFailed):
        return False
    return True


def _word_finding(mark: Mark, what: str, fix: str, names: list[str]) -> Finding:
    text = f'{what} is an answer of step "{names[0]}"{and_more(len(names) - 1)} as well, and is understood first'
    return Finding.at("W702", mark, text, fix)
