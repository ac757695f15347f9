"""W704: the first question of the bot, if it is deaf to words by which the bot's flows start."""

from collections.abc import Iterator

from bot.checker.findings import Finding, and_more, rule
from bot.checker.graph import Graph
from bot.language.answers.topics import EXAMPLES
from bot.language.flow.definition import MADE_FLOWS, Flow, Step
from bot.language.flow.library import Library
from bot.language.source.word_matching import contains, normalise
from bot.language.steps.ask_step import AskStep

_MOST_NAMED = 3  # words in one finding


@rule(W704="a first question that is deaf to the bot's words")
def find_deaf_menus(graph: Graph) -> Iterator[Finding]:
    """Find questions that greet a contact with choices alone, and take no word that starts another flow."""
    library = graph.library
    for flow in library.flows.values():
        step = _first_question(flow)
        deaf = [] if step is None else [*_not_heard(library, flow, step)]
        if step is not None and deaf:
            words = ", ".join(f'"{word}"' for word in deaf[:_MOST_NAMED])
            others = and_more(len(deaf) - _MOST_NAMED)
            what = (
                f'step "{step.name}": whoever is asked this is not heard with {words}{others}, which start other flows'
            )
            fix = "write interrupted: resume, or drop, in the flow, or add a choice that leads there"
            yield Finding.at("W704", step.mark, what, fix)


def _first_question(flow: Flow) -> Step | None:
    """The question for every message that starts no other flow, if it takes nothing but its choices."""
    starts = flow.trigger is not None and flow.trigger.otherwise and flow.name not in MADE_FLOWS
    if not starts or flow.interrupted is not None:
        return None
    step = next((step for step in flow.steps.values() if step.facts.waits_for is not None), None)
    if step is None or not isinstance(step.kind, AskStep) or not step.facts.choices_alone:
        return None
    other = step.kind.other
    return None if other is not None and other.then is not None else step


def _not_heard(library: Library, flow: Flow, step: Step) -> Iterator[str]:
    assert isinstance(step.kind, AskStep)
    choices = () if step.kind.choices is None else step.kind.choices.fixed
    phrases = [
        normalise(text) for choice in choices for text in (*choice.texts, *choice.hears.words, *choice.hears.answers)
    ]
    phrases += [normalise(answer.text) for answer in step.facts.answers]
    phrases += [*library.bot.words, *flow.words, *step.options.words]
    for other in library.flows.values():
        if other.trigger is not None and other is not flow and other.name not in MADE_FLOWS:
            for word, _ in other.trigger.words:
                if not any(contains(normalise(word), phrase) for phrase in phrases):
                    yield word
            yield from (EXAMPLES[topic] for topic in other.trigger.topics)
