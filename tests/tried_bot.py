"""A bot that random contacts meet, and what they may write to it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from bot.language.flow.definition import Flow
from bot.language.flow.library import Library
from bot.loading.folder import Folder
from bot.loading.program import Program
from bot.testing.conversations.transcript import StartLine, Transcript, UserLine

WORDS = (
    "yes", "no", "hello", "thanks", "skip", "done", "1", "2", "3", "7", "10", "0", "-1", "3.5", "1, 2 and 3", "three",
    "tomorrow", "tomorrow 15:00", "12 May 2030", "next monday at 10", "15:00", "in two weeks", "ann@shop.example",
    "0812 3456 7890", "+6281234567890", "Ann Example", "https://shop.example/a", "I would like to know more about it",
)  # fmt: skip
JUNK = (
    "", " ", "?", "👋🏽", "{{ 7 * 7 }}", "{% for x in y %}", "9" * 5000, "x" * 70_000, "word " * 900, "line\n" * 200,
    "a\x00b", "\u202eabc", "\ud800", "٣", "main/menu/1/0/abc", "'; DROP TABLE turns; --", "<b>&amp;", "*_~`", "null",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TriedBot:
    """A bot, the ``texts`` that get somewhere in it, and the ``starts`` that programs make in its tests."""

    folder: Folder
    program: Program
    transcripts: tuple[Transcript, ...]
    texts: tuple[str, ...]
    starts: tuple[StartLine, ...]

    @classmethod
    def of(cls, folder: Folder, program: Program, transcripts: Iterable[Transcript]) -> Self:
        """Gather the texts: from the bot's tests and its flows, and those that get somewhere in most bots."""
        tests = tuple(transcripts)
        lines = [line for test in tests for line in test.conversation]
        said = [line.text for line in lines if isinstance(line, UserLine)]
        languages = (program.library, *program.library.translations.values())
        texts = dict.fromkeys([*WORDS, *said, *(text for spoken in languages for text in _heard_by(spoken))])
        return cls(folder, program, tests, tuple(texts), tuple(line for line in lines if isinstance(line, StartLine)))


def _heard_by(library: Library) -> Iterator[str]:
    """Texts that the flows say they understand: words, starts and examples."""
    yield from (word.text for word in library.bot.words.values())
    for flow in library.flows.values():
        yield from _heard_in(flow)


def _heard_in(flow: Flow) -> Iterator[str]:
    yield from (word.text for word in flow.words.values())
    yield from () if flow.trigger is None else (text for text, _ in flow.trigger.words)
    for step in flow.steps.values():
        yield from (word.text for word in step.options.words.values())
    examples = (getattr(variable, "example", None) for variable in flow.variables.values())
    yield from (example for example in examples if example is not None)
