"""A bot's files as one thing to run: its flows, the Python that they use, and its tests."""

from dataclasses import dataclass

from bot.core.errors import BotError
from bot.flow.library import Library, load
from bot.folder import Folder
from bot.handlers import load_handlers
from bot.lang.extensions import Extensions
from bot.lang.nodes import Map
from bot.lang.problems import Problem

NOT_IN_PYTHON = ("E107", "E204", "E501")  # verbs, functions and handlers that the Python may have


class FaultyBot(BotError):
    """A bot whose files have problems: ``problems`` are all of them, sorted."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Program:
    """What a bot's files come to: the flows and the Python that they use, swapped together; and its tests."""

    library: Library
    extensions: Extensions
    tests: list[Map]


def load_program(folder: Folder) -> Program:
    """Load a bot's Python and flows. Raises `FaultyBot` with every problem of every file."""
    extensions, problems = load_handlers(folder)
    loaded = load(folder.sources, extensions, folder.documents)
    # where the Python could not be loaded, each call would be a problem that is none
    doubtful = {*NOT_IN_PYTHON} if problems else set()
    problems += [found for found in loaded.problems if found.code not in doubtful]
    if problems or loaded.library is None:
        raise FaultyBot(sorted(problems))
    return Program(loaded.library, extensions, loaded.tests)


def problems_of(folder: Folder) -> list[Problem]:
    """Every problem of a bot's files; none when it can run."""
    try:
        load_program(folder)
    except FaultyBot as error:
        return error.problems
    return []
