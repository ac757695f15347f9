"""Words and events that two take: answers of one question, starts of flows, the bot's own words."""

from collections.abc import Iterable, Iterator, Mapping

from bot.flow.definition import BotDefinition, Flow, Step
from bot.lang.nodes import Mark
from bot.lang.problems import Problems
from bot.lang.words import normalise
from bot.steps.ask import Ask
from bot.steps.choices import Choices, FixedChoice
from bot.steps.template import TemplateStep


def check_collisions(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Report whatever two of them take."""
    for flow in flows.values():
        _check_answers(flow, problems)
        _check_heard_first(bot, flow, problems)
    _check_starts(bot, flows.values(), problems)
    _check_events(flows.values(), problems)


def _check_answers(flow: Flow, problems: Problems) -> None:
    """Two answers of one question that take the same word."""
    for step in flow.steps.values():
        taken: dict[str, str] = {}
        for word, owner, mark in _answers_of(step):
            first = taken.setdefault(normalise(word), owner)
            if first != owner:
                problems.add(
                    "E311",
                    mark,
                    f'step "{step.name}": "{word}" is an answer of "{first}" and of "{owner}"',
                    "keep it in one of them",
                )
        if isinstance(step.kind, Ask) and step.kind.choices is not None:
            _check_unique_titles(step, step.kind.choices, problems)


def _check_unique_titles(step: Step, choices: Choices, problems: Problems) -> None:
    seen: set[str] = set()
    for choice in choices.fixed:
        if choice.title.source in seen:
            problems.add(
                "E406",
                choice.mark,
                f'step "{step.name}": a second "{choice.title.source}"',
                "titles of one message differ",
            )
        seen.add(choice.title.source)


def _answers_of(step: Step) -> Iterator[tuple[str, str, Mark]]:
    kind = step.kind
    if isinstance(kind, TemplateStep):
        for reply in kind.replies:
            for word in (reply.title, *reply.words):
                yield word, reply.title, reply.door.mark
    if isinstance(kind, Ask):
        for word in kind.skip_words:
            yield word, "skip", step.mark
        for choice in () if kind.choices is None else kind.choices.fixed:
            for word in _words_of(choice):
                yield word, choice.title.source, choice.mark


def _words_of(choice: FixedChoice) -> tuple[str, ...]:
    return (choice.title.source, *choice.words) if choice.title.constant else choice.words


def _check_starts(bot: BotDefinition, flows: Iterable[Flow], problems: Problems) -> None:
    """A word that starts two flows, or that is one of the bot's."""
    taken = {normalise(word): f'the bot\'s word "{word}"' for word in bot.words}
    for flow in flows:
        owner = f"the start of flow {flow.name}"
        for word, mark in () if flow.start is None else flow.start.words:
            first = taken.setdefault(normalise(word), owner)
            if first != owner:
                problems.add("E312", mark, f'"{word}" is taken: {first}', "choose another word for one of them")


def _check_events(flows: Iterable[Flow], problems: Problems) -> None:
    """An event that starts two flows; everything else is one of them."""
    taken: dict[str, str] = {}
    for start, name in [(flow.start, flow.name) for flow in flows if flow.start is not None]:
        for event in (*(f"by {event}" for event in start.events), *(["`otherwise`"] if start.otherwise else [])):
            first = taken.setdefault(event, name)
            if first != name:
                problems.add("E313", start.mark, f"flow {first} starts {event} already", "keep one of them")


def _check_heard_first(bot: BotDefinition, flow: Flow, problems: Problems) -> None:
    """An answer that no question gets, because it is a word of the bot's."""
    words = {normalise(word) for word in bot.words}
    for step in flow.steps.values():
        for word, owner, mark in _answers_of(step) if isinstance(step.kind, Ask) else ():
            if normalise(word) in words:
                what = f'step "{step.name}": "{word}" of "{owner}" is a word of the bot, which is heard first'
                problems.add("E312", mark, what, "choose another word for one of them")
