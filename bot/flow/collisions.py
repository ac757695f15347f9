"""Words and events that two take: answers of one question, words before answers, starts of flows."""

from collections.abc import Iterable, Iterator, Mapping

from bot.flow.definition import BotDefinition, Flow, Step
from bot.flow.starts import Start
from bot.lang.nodes import Mark
from bot.lang.problems import Problems
from bot.lang.words import normalise
from bot.steps.words import Word, Words


def check_collisions(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Report whatever two of them take."""
    for said, word in bot.words.items():
        _report_heard(_opting_out(bot), said, word.mark, f"{_named(word, said)} of the bot", problems)
    for flow in flows.values():
        _check_answers(flow, problems)
        _check_heard_first(bot, flow, problems)
    _check_starts(bot, flows.values(), problems)


def _check_answers(flow: Flow, problems: Problems) -> None:
    """Two answers of one question that take the same word."""
    for step in flow.steps.values():
        taken: dict[str, str] = {}
        for answer in step.kind.answers():
            first = taken.setdefault(normalise(answer.text), answer.owner)
            if first != answer.owner:
                what = f'step "{step.name}": "{answer.text}" is an answer of "{first}" and of "{answer.owner}"'
                problems.add("E311", answer.mark or step.mark, what, "keep it in one of them")


def _check_heard_first(bot: BotDefinition, flow: Flow, problems: Problems) -> None:
    """What nobody ever hears, because a word that is heard before it always takes the same text."""
    before = _before_all(bot)
    for said, word in flow.words.items():
        _report_heard(before, said, word.mark, f"{_named(word, said)} of flow {flow.name}", problems)
    before = {**_always(flow.words, "a word of the flow"), **before}
    for step in flow.steps.values():
        here, own = {**_answers_always(step), **before}, step.options.words
        for said, word in own.items():
            _report_heard(here, said, word.mark, f'step "{step.name}": {_named(word, said)}', problems)
        here = {**_always(own, "a word of the step"), **here}
        for answer in step.kind.answers():
            what = f'step "{step.name}": "{answer.text}" of "{answer.owner}"'
            if answer.before_words:
                _report_heard(_opting_out(bot), normalise(answer.text), answer.mark or step.mark, what, problems)
            else:
                _report_heard(here, normalise(answer.text), answer.mark or step.mark, what, problems)


def _opting_out(bot: BotDefinition) -> dict[str, str]:
    """The words that are heard before everything else."""
    return dict.fromkeys(bot.opt_out.words, "a word of `opt_out`")


def _before_all(bot: BotDefinition) -> dict[str, str]:
    """The words that are heard in every flow and outside of all."""
    return {**_always(bot.words, "a word of the bot"), **_opting_out(bot)}


def _named(word: Word, said: str) -> str:
    """The word, with what is said for it in another language."""
    return f'word "{word.text}"' if normalise(word.text) == said else f'"{said}" of word "{word.text}"'


def _always(words: Words, what: str) -> dict[str, str]:
    """The words that are heard without a condition, and what they are."""
    return {said: what for said, word in words.items() if word.condition is None}


def _answers_always(step: Step) -> dict[str, str]:
    """The same of the step's answers that are heard before any word."""
    answers = (answer for answer in step.kind.answers() if answer.before_words and answer.always)
    return {normalise(answer.text): "a reply to the template" for answer in answers}


def _report_heard(before: Mapping[str, str], said: str, mark: Mark, what: str, problems: Problems) -> None:
    if said in before:
        fix = "choose another word for one of them"
        problems.add("E312", mark, f"{what} is {before[said]}, which is heard first", fix)


def _check_starts(bot: BotDefinition, flows: Iterable[Flow], problems: Problems) -> None:
    """A start that nobody can make: what makes it is a word of the bot's, or starts other flows already."""
    words = _before_all(bot)
    starts = [(flow.name, flow.start) for flow in flows if flow.start is not None]
    taken: dict[tuple[str, str], str] = {}
    for name, start in sorted(starts, key=lambda found: found[1].contact is None):
        for code, key, shown, mark in _ways_of(start):
            if key in words:
                problems.add(code, mark, f"{shown} is taken: it is {words[key]}", "choose another for one of them")
            free = [contact for contact in start.contacts if (key, contact) not in taken]
            taken.update({(key, contact): name for contact in free})
            first = taken[key, start.contacts[0]]
            if not free and first != name:
                problems.add(code, mark, f"{shown} is taken: it starts flow {first}", "choose another for one of them")


def _ways_of(start: Start) -> Iterator[tuple[str, str, str, Mark]]:
    """All that makes a start: its problem's code, what is the same where two are, how it is shown, where it stands."""
    for word, mark in start.words:
        yield "E312", normalise(word), f'"{word}"', mark
    if start.pattern is not None:
        yield "E312", f"/{start.pattern.pattern}/", f"the pattern {start.pattern.pattern}", start.mark
    for event in start.events:
        yield "E313", f"event {event}", f"the event {event}", start.mark
    if start.otherwise:
        yield "E313", "`otherwise`", "`otherwise`", start.mark
