"""The pytest plugin: with the fixture ``chat`` a test talks to a bot as tests in YAML do.

Every run of pytest loads it where this project is installed. So it imports nothing of the project before a test asks
for the fixture.
"""

from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bot.loading.folder import Folder
    from bot.loading.program import Program
    from bot.testing.conversations.chat_fixture import Chat

FOLDER = "bot_folder"
_TALK = pytest.StashKey["Chat"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The setting that names the bot."""
    parser.addini(FOLDER, "the folder of the bot that the fixture `chat` talks to", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker that sets the bot, the time and the contact of one test."""
    about = "bot(folder, *, now, random, contact): the bot that `chat` talks to, when, what it draws, and who talks"
    config.addinivalue_line("markers", about)


@pytest.fixture
def chat(request: pytest.FixtureRequest) -> "Iterator[Chat]":
    """A conversation with a bot: that of the marker `bot`, of the setting `bot_folder`, or of the current folder."""
    from bot.testing.conversations.chat_fixture import Chat

    marker = request.node.get_closest_marker("bot")
    given: tuple[Any, ...] = () if marker is None else marker.args
    program, folder = _bot(request.config.rootpath, str(given[0] if given else request.config.getini(FOLDER)))
    conversation = Chat(program, folder, **({} if marker is None else marker.kwargs))
    request.node.stash[_TALK] = conversation
    try:
        yield conversation
    finally:
        conversation.close()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail a test that has passed if the bot has said something that was not expected."""
    __tracebackhide__ = True
    result = yield
    conversation = pyfuncitem.stash.get(_TALK, None)
    if conversation is not None:
        conversation.finish()
    return result


@cache
def _bot(root: Path, folder: str) -> "tuple[Program, Folder]":
    from bot.core.errors import BotError
    from bot.loading.folder import find_bot, read_folder
    from bot.loading.program import load_program

    try:
        read = read_folder(find_bot(root / folder if folder else None))
        return load_program(read), read
    except BotError as error:
        pytest.fail(str(error), pytrace=False)
