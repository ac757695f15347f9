"""W701 and W702: choices that nobody can tell apart, and words that take what is meant as an answer."""

from collections.abc import Iterator
from datetime import UTC, datetime

from bot.checker.findings import Finding
from bot.checker.graph import Graph
from bot.checker.rules.sent import Asked, steps
from bot.lang.failures import TemplateFailed
from bot.lang.hidden import LANGUAGE
from bot.lang.nodes import Mark
from bot.lang.texts import TextVariable
from bot.lang.variable import Answer, Unfit, Variable
from bot.lang.words import normalise
from bot.steps.declared import Result, SentText
from bot.steps.words import Word

_LOOKS = str.maketrans("авекмнорстухіαβεικνορτυχ01", "abekmhopctyxiabeikvoptuxol")
"""Letters of other scripts that look like Latin ones, and digits that look like letters, as they are written small."""
_SOME_DAY = datetime(2030, 5, 15, 12, tzinfo=UTC)


def find_alike(graph: Graph) -> Iterator[Finding]:
    """Choices of each language once; words with all questions whose answers they take, once."""
    found: dict[Mark, Finding] = {}
    taken: dict[tuple[Mark, str], list[str]] = {}
    for asked in steps(graph.library):
        for finding in _look_alike(asked):
            found.setdefault(Mark(finding.path, finding.line, finding.column), finding)
        for mark, what in _taken(graph, asked):
            taken.setdefault((mark, what), []).append(asked.step.name)
    yield from found.values()
    for (mark, what), names in taken.items():
        yield _word_finding(mark, what, list(dict.fromkeys(names)))


def _look_alike(asked: Asked) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for sent in asked.step.kind.sends():
        if isinstance(sent, SentText) and sent.title and sent.text.constant:
            title = sent.text.source
            first = seen.setdefault(_looks(title), title)
            if normalise(first) != normalise(title):
                what = f'{asked.seen.spoken}step "{asked.step.name}": "{title}" looks like "{first}"'
                yield Finding.at("W701", sent.text.mark, what, "give them titles that people can tell apart")


def _looks(title: str) -> str:
    """A title as it looks at a glance."""
    return normalise(title).translate(_LOOKS).replace(" ", "")


def _taken(graph: Graph, asked: Asked) -> Iterator[tuple[Mark, str]]:
    """What is heard before an answer, and is one: where it stands, and what it is."""
    step, variable = asked.step, asked.flow.variables.get(asked.step.options.save or "")
    if not step.kind.asks or variable is None or isinstance(variable, TextVariable) or not variable.answered:
        return
    bot = graph.library.in_language(asked.seen.language).bot
    for words in (bot.words, asked.flow.words, step.options.words):
        for said, word in words.items():
            if word.condition is None and _is_answer(variable, said, asked.seen.language):
                yield word.mark, _named(word, said)
    outcomes = step.outcomes
    for answer in step.kind.answers():
        outcome = outcomes.get(answer.owner)
        leaves_open = outcome is not None and outcome.saves is Result.NULL
        if leaves_open and _is_answer(variable, answer.text, asked.seen.language):
            yield answer.mark or step.mark, f'"{answer.text}" of {answer.owner}'


def _named(word: Word, said: str) -> str:
    """The word, with what is said for it in another language."""
    return f'word "{word.text}"' if normalise(word.text) == said else f'"{said}" of word "{word.text}"'


def _is_answer(variable: Variable, text: str, language: str | None) -> bool:
    try:
        variable.accept(Answer(text), _SOME_DAY, {LANGUAGE: language})
    except (Unfit, TemplateFailed):
        return False
    return True


def _word_finding(mark: Mark, what: str, names: list[str]) -> Finding:
    others = f" and {len(names) - 1} more" if len(names) > 1 else ""
    text = f'{what} is an answer of step "{names[0]}"{others} as well, and is heard first'
    return Finding.at("W702", mark, text, "choose another word, or give it an `if`")
