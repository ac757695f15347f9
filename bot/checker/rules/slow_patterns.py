"""W310: a pattern that some texts keep busy, because a repetition contains another one."""

from collections.abc import Iterator

from bot.checker.findings import Finding, rule
from bot.checker.graph import Graph
from bot.checker.pattern_texts import slow_text
from bot.core.messages import TEXT_BODY
from bot.language.expressions.templates import Template
from bot.language.flow.definition import uses_of_all
from bot.language.source.problems import Mark
from bot.language.types.text_types import TextVariable

_SHOWN = 12  # characters of a text
_FIX = "let only one of the two repeat, like [a-z]+(-[a-z]+)* instead of ([a-z]+-?)+"


@rule(W310="a pattern that some texts keep busy")
def find_slow_patterns(graph: Graph) -> Iterator[Finding]:
    """Find each such pattern once: of starts, of words, of variables, and of `matches` in texts and conditions."""
    for mark, written, most in dict.fromkeys(_patterns(graph)):
        text = slow_text(written, most)
        if text is not None:
            what = (
                f'the pattern {written} can take too long for texts like "{text[:_SHOWN]}...", and does not match them'
            )
            yield Finding.at("W310", mark, f"{what}: a repetition contains another one", _FIX)


def _patterns(graph: Graph) -> Iterator[tuple[Mark, str, int]]:
    """The mark of each pattern, the pattern, and the most characters of a text for it."""
    library = graph.library
    for flow in library.flows.values():
        if flow.trigger is not None and flow.trigger.pattern is not None:
            yield flow.trigger.mark, flow.trigger.pattern.pattern, TEXT_BODY
        for variable in flow.variables.values():
            if isinstance(variable, TextVariable) and variable.pattern is not None:
                yield variable.mark, variable.pattern.pattern, variable.most
    steps = (step for flow in library.flows.values() for step in flow.steps.values())
    heard = (
        library.bot.words,
        *(flow.words for flow in library.flows.values()),
        *(step.options.words for step in steps),
    )
    for word in (word for words in heard for word in words.values() if word.pattern is not None):
        yield word.mark, word.pattern.pattern, TEXT_BODY
    for used in uses_of_all(library.bot, library.flows):
        for text in used.text.wordings if isinstance(used.text, Template) else (used.text,):
            yield from ((text.mark, written, TEXT_BODY) for written in text.patterns)
