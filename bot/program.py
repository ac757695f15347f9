"""A bot's files as one thing to run: its flows, the handlers that they call, and its tests."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.core.errors import BotError
from bot.flow.library import Library, load
from bot.folder import Folder
from bot.handlers import load_handlers
from bot.lang.handlers import HandlerSpec
from bot.lang.nodes import Map
from bot.lang.problems import Problem

NO_SUCH_HANDLER = "E501"
NO_BOT_FILE = "E100"
LEADS_NOWHERE = "E130"


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
    loaded = load(folder.sources, handlers, folder.documents)
    # where the handlers or bot.yml could not be loaded, each call, or each default, would be a problem that is none
    doubtful = {NO_SUCH_HANDLER} if problems else set()
    doubtful |= {LEADS_NOWHERE} if any(found.code == NO_BOT_FILE for found in loaded.problems) else set()
    problems += [found for found in loaded.problems if found.code not in doubtful]
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
