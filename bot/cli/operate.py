"""How a command finds the store of a bot, and has something changed in it (DESIGN 6)."""

import os
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from dotenv import load_dotenv

from bot.core.errors import BotError
from bot.folder import Folder, find_bot, read_folder
from bot.settings import read_store

if TYPE_CHECKING:
    from bot.store.reader import StoreReader

F = TypeVar("F", bound=Callable[..., Any])
Answer = dict[str, Any]


class Refused(BotError):
    """What was asked for cannot be done."""


def bot_option(command: F) -> F:
    """The option that names the bot's folder, where the arguments are something else."""
    return click.option(
        "--bot",
        "folder",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="The bot's folder, if not here or flows/.",
    )(command)


def load_env(folder: Path) -> None:
    """Read ``.env``: here, or beside `bot.yml`. What the environment has already is left alone."""
    env_file = next((file for file in (Path(".env"), folder / ".env") if file.is_file()), None)
    load_dotenv(env_file or os.devnull)


def store_of(folder: Path | None) -> tuple[Folder, Path]:
    """A bot and where its store lies. Raises `bot.folder.NoBot` and `bot.settings.BadSettings`."""
    bot = read_folder(find_bot(folder))
    load_env(bot.path)
    return bot, read_store(bot.path, os.environ, bot.settings())


def open_store(folder: Path | None) -> "closing[StoreReader]":
    """The store of a bot, to read from, while a server runs or not. Raises `bot.store.files.StoreMissing` as well."""
    from bot.store.reader import StoreReader

    return closing(StoreReader(store_of(folder)[1]))


def operate(folder: Path | None, request: dict[str, Any]) -> Answer:
    """Have an operator's request done by the server that runs on the store, or do it here if none runs.

    Raises `Refused` in the server's words, and `bot.store.files.StoreLocked` where a server runs and is silent.
    """
    from bot.local import NotRunning, ask

    bot, store = store_of(folder)
    try:
        answer = ask(store, request)
    except NotRunning:
        return _operate_here(bot, store, request)
    if "error" in answer:
        raise Refused(str(answer["error"]))
    return answer


def _operate_here(bot: Folder, store: Path, request: dict[str, Any]) -> Answer:
    from bot.clock import SystemClock
    from bot.engine import advance
    from bot.program import load_program
    from bot.runtime.batch import Batch
    from bot.runtime.operator import operate as take
    from bot.store.files import trouble_in_words
    from bot.store.state import Run, Store

    program = load_program(bot)
    with trouble_in_words(store), closing(Store(store)) as own:
        run = Run(careful=False, suspects=frozenset())
        batch = Batch(own, partial(advance, program.library), run, SystemClock().now())
        answer = take(batch, request)
        own.write(batch.commit)
        return answer
