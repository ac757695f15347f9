"""Words, answers and events that two parts of a bot take, so that one of them never gets them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from bot.language.flow.definition import MADE_FLOWS, BotDefinition, Flow, ResolvedTransition, Step, Trigger
from bot.language.source.problems import Mark, Problems
from bot.language.source.text_patterns import matches
from bot.language.source.word_matching import normalise
from bot.language.steps.step_facts import SavedResult
from bot.language.steps.transition import END, NEXT, Word, Words


def check_collisions(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Report every text and every event that two of them take."""
    for said, word in bot.words.items():
        _report_taken(_opting_out(bot), said, word.mark, f"{word.named(said)} of the bot", problems)
    for flow in flows.values():
        _check_answers(flow, problems)
        _check_taken_first(bot, flow, problems)
    _check_starts(bot, flows.values(), problems)


def _check_answers(flow: Flow, problems: Problems) -> None:
    """Two answers of one question that take the same word."""
    for step in flow.steps.values():
        taken: dict[str, str] = {}
        for answer in step.facts.answers:
            said = answer.text.casefold() if answer.exact else normalise(answer.text)
            first = taken.setdefault(said, answer.owner)
            if first != answer.owner:
                what = f'step "{step.name}": "{answer.text}" is an answer of "{first}" and of "{answer.owner}"'
                problems.add("E311", answer.mark or step.mark, what, "keep it in one of them")


def _check_taken_first(bot: BotDefinition, flow: Flow, problems: Problems) -> None:
    """Words and answers that are never taken, because a word that comes before them always takes the same text."""
    before = _before_all(bot)
    for said, word in flow.words.items():
        _report_taken(before, said, word.mark, f"{word.named(said)} of flow {flow.name}", problems)
    before = {**_always(flow.words, "a word of the flow"), **before}
    for step in flow.steps.values():
        here, own = {**_answers_always(step), **before}, step.options.words
        for said, word in own.items():
            _report_taken(here, said, word.mark, f'step "{step.name}": {word.named(said)}', problems)
        here = {**_always(own, "a word of the step"), **here}
        heard = {**own, **flow.words, **bot.words}
        for answer in step.facts.answers:
            of = "" if answer.text == answer.owner else f' of "{answer.owner}"'
            what = f'step "{step.name}": "{answer.text}"{of}'
            if answer.before_words:
                _report_taken(_opting_out(bot), normalise(answer.text), answer.mark or step.mark, what, problems)
                continue
            said = normalise(answer.text)
            if not _does_the_same(heard.get(said), step.transitions.get(answer.outcome), step, bot, flow):
                levels = ((bot.words, "bot"), (flow.words, "flow"), (own, "step"))
                owner = here.get(said) or next(
                    filter(None, (_taken_by_pattern(answer.text, *at) for at in levels)), None
                )
                _report_taken({said: owner} if owner else {}, said, answer.mark or step.mark, what, problems)


def _does_the_same(
    word: Word | None, answer: ResolvedTransition | None, step: Step, bot: BotDefinition, flow: Flow
) -> bool:
    """True if a word only leads to where the answer only leads, too: the contact sees no difference."""
    if word is None or answer is None or word.transition.then is None or step.options.changes_something:
        return False
    target = word.transition.then.text
    target = flow.following[step.name] if target == NEXT else target
    ends_more = target == END and word in bot.words.values()
    saves = step.outcomes[answer.outcome].saves is not SavedResult.NOTHING and step.options.save is not None
    does_more = any(each.acts or each.corrects for each in (word.transition, answer.written) if each is not None)
    return target == answer.target and not (does_more or ends_more or saves)


def _opting_out(bot: BotDefinition) -> dict[str, str]:
    """The words that come before everything else."""
    return dict.fromkeys(bot.opt_out.words, "a word of `opt_out`")


def _before_all(bot: BotDefinition) -> dict[str, str]:
    """The words of every flow, and of contacts who are in none."""
    return {**_always(bot.words, "a word of the bot"), **_opting_out(bot)}


def _always(words: Words, what: str) -> dict[str, str]:
    """The words without a condition, and what they are."""
    return {said: what for said, word in words.items() if word.condition is None}


def _taken_by_pattern(text: str, words: Words, whose: str) -> str | None:
    """The word without a condition whose pattern matches a text, in words; None: no pattern does."""
    always = (word for word in words.values() if word.pattern is not None and word.condition is None)
    return next((f'a word of the {whose}, "{word.text}"' for word in always if matches(word.pattern, text)), None)


def _answers_always(step: Step) -> dict[str, str]:
    """The texts of the step's answers that always come before any word, each with its description."""
    answers = (answer for answer in step.facts.answers if answer.before_words and answer.always)
    return {normalise(answer.text): "a reply to the template" for answer in answers}


def _report_taken(before: Mapping[str, str], said: str, mark: Mark, what: str, problems: Problems) -> None:
    if said in before:
        fix = "choose another word for one of them"
        problems.add("E312", mark, f"{what} is {before[said]}, which comes first", fix)


def _check_starts(bot: BotDefinition, flows: Iterable[Flow], problems: Problems) -> None:
    """Triggers that never start their flow: each is a word of the bot, or starts another flow."""
    words = _before_all(bot)
    triggers = [(flow.name, flow.trigger) for flow in flows if flow.trigger is not None and flow.name not in MADE_FLOWS]
    taken: dict[tuple[str, str], str] = {}
    triggers.sort(key=lambda found: found[1].contact is None)
    parts = [(name, trigger, _parts_of(trigger)) for name, trigger in triggers]
    for name, trigger, found in (*parts, *((name, trigger, _intent_of(trigger)) for name, trigger in triggers)):
        for part in found:
            key = part.key
            written = key in map(normalise, (word for word, _ in trigger.words))
            if owner := words.get(key) or (_taken_by_pattern(key, bot.words, "bot") if written else None):
                what = f"{part.shown} is taken: it is {owner}"
                problems.add(part.code, part.mark, what, "choose another for one of them")
            free = [contact for contact in trigger.contacts if (key, contact) not in taken]
            taken.update({(key, contact): name for contact in free})
            first = taken[key, trigger.contacts[0]]
            if not free and first != name:
                fix = "remove it from one of them" if part.code == "E313" else "choose another for one of them"
                problems.add(part.code, part.mark, f"{part.shown} is taken: it starts flow {first}", fix)


class _TriggerPart(NamedTuple):
    """A part that starts a flow, with the code of the problem if it is taken. Equal parts have the same ``key``."""

    code: str
    key: str
    shown: str
    mark: Mark


def _intent_of(trigger: Trigger) -> Iterator[_TriggerPart]:
    """The texts by which a model knows the flow, and its button in "did you mean".

    Trigger words are compared elsewhere: they match before a model is asked.
    """
    intent = trigger.intent
    if intent is not None:
        yield _TriggerPart("E312", f"about {normalise(intent.about)}", "what it is about", intent.mark)
        yield _TriggerPart("E312", f"title {normalise(intent.title)}", f'the title "{intent.title}"', intent.mark)
        for example in intent.examples:
            yield _TriggerPart("E312", normalise(example), f'the example "{example}"', intent.mark)


def _parts_of(trigger: Trigger) -> Iterator[_TriggerPart]:
    """The parts of a trigger beside its intent."""
    for word, mark in trigger.words:
        yield _TriggerPart("E312", normalise(word), f'"{word}"', mark)
    for topic in trigger.topics:
        yield _TriggerPart("E312", f"topic {topic}", f"the topic {topic}", trigger.mark)
    if trigger.pattern is not None:
        yield _TriggerPart(
            "E312", f"/{trigger.pattern.pattern}/", f"the pattern {trigger.pattern.pattern}", trigger.mark
        )
    if trigger.payload is not None:
        yield _TriggerPart(
            "E312", f"payload {trigger.payload.written}", f'the payload "{trigger.payload.written}"', trigger.mark
        )
    for signal in trigger.signals:
        yield _TriggerPart("E313", f"signal {signal}", f"the signal {signal}", trigger.mark)
    for event in trigger.events:
        yield _TriggerPart("E313", f"event {event}", f"the event {event}", trigger.mark)
    if trigger.otherwise:
        yield _TriggerPart("E313", "`otherwise`", "`otherwise`", trigger.mark)
