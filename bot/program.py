"""A bot's files as one thing to run: its flows, the handlers that they call, and its tests."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.core.errors import BotError
from bot.flow.library import Library, load
from bot.folder import Folder
from bot.handlers import load_handlers
from bot.lang.handlers import HandlerSpec
from bot.lang.problems import Problem
from bot.lang.source import Map

NO_SUCH_HANDLER = "E501"


class FaultyBot(BotError):
    """A bot whose files have problems: ``problems`` are all of them, sorted."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Program:
    """What a bot's files come to: the flows and the handlers that they call, swapped together; and its tests."""

    library: Library
    handlers: Mapping[str, HandlerSpec]
    tests: list[Map]


def load_program(folder: Folder) -> Program:
    """Load a bot's handlers and flows. Raises `FaultyBot` with every problem of every file."""
    handlers, problems = load_handlers(folder)
    loaded = load(folder.sources, handlers)
    # where the handlers could not be loaded, each call of one would be a problem that is none
    problems += [found for found in loaded.problems if not (problems and found.code == NO_SUCH_HANDLER)]
    if problems or loaded.library is None:
        raise FaultyBot(sorted(problems))
    return Program(loaded.library, handlers, loaded.tests)


def problems_of(folder: Folder) -> list[Problem]:
    """Every problem of a bot's files; none when it can run."""
    try:
        load_program(folder)
    except FaultyBot as error:
        return error.problems
    return []
