"""How a command finds the store of a bot, and has something changed in it (DESIGN 6)."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from dotenv import load_dotenv

from bot.core.errors import BotError
from bot.folder import Folder, env_files, find_bot, read_folder
from bot.settings import read_store

if TYPE_CHECKING:
    from bot.store.store_reader import StoreReader

F = TypeVar("F", bound=Callable[..., Any])
Answer = dict[str, Any]
Ask = Callable[[dict[str, Any]], Answer]

COMMAND_SECONDS = 120.0  # a command waits a minute for a permit, and then for the gateway


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


def bot_argument(command: F) -> F:
    """The argument that names the bot's folder, of a command that is about the bot itself."""
    return click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))(command)


def env_file(folder: Path) -> Path | None:
    """The file with settings that counts, if there is one."""
    return next(iter(env_files(folder)), None)


def load_env(folder: Path) -> None:
    """Read ``.env``. What the environment has already is left alone."""
    load_dotenv(env_file(folder) or os.devnull)


def store_of(folder: Path | None) -> tuple[Folder, Path]:
    """A bot and where its store lies. Raises `bot.folder.NoBot` and `bot.settings.BadSettings`."""
    bot = read_folder(find_bot(folder))
    load_env(bot.path)
    return bot, read_store(bot.path, os.environ, bot.settings())


def open_store(folder: Path | None) -> "closing[StoreReader]":
    """The store of a bot, to read from, while a server runs or not. Raises `bot.store.files.StoreMissing` as well."""
    from bot.store.store_reader import StoreReader

    return closing(StoreReader(store_of(folder)[1]))


def operate(folder: Path | None, request: dict[str, Any]) -> Answer:
    """Have an operator's request done by the server that runs on the store, or do it here if none runs.

    Raises `Refused` in the server's words, and `bot.store.files.StoreLocked` where a server runs and is silent.
    """
    from bot.local_socket import NotRunning

    bot, store = store_of(folder)
    try:
        return ask_server(store, request)
    except NotRunning:
        return _operate_here(bot, store, request)


def ask_server(store: Path, request: dict[str, Any], seconds: float = 10.0) -> Answer:
    """Have a request done by the server that runs on the store, in ``seconds`` at most.

    Raises `Refused` in the server's words, and `bot.local_socket.NotRunning`.
    """
    from bot.local_socket import ask

    answer = ask(store, request, seconds)
    if "error" in answer:
        raise Refused(str(answer["error"]))
    return answer


@contextmanager
def reach_gateway(folder: Path | None) -> Iterator[Ask]:
    """Run gateway commands (`bot.runtime.gateway_commands`) in the server that runs on the store, or here if none runs.

    So the limits hold whoever asks. Raises `bot.settings.BadSettings` and `Refused`; what it hands out raises, in
    words, a `BotError`.
    """
    from bot.local_socket import answers

    bot, store = store_of(folder)
    if answers(store):
        yield lambda request: ask_server(store, {"do": "gateway", **request}, COMMAND_SECONDS)
    else:
        with _commands_here(bot, store) as run:
            yield run


def gateway(folder: Path | None, request: dict[str, Any]) -> Answer:
    """Run one gateway command: see `reach_gateway`."""
    with reach_gateway(folder) as ask:
        return ask(request)


def pages(ask: Ask, call: str) -> Iterator[dict[str, Any]]:
    """The items of all pages of one of the gateway's lists. Raises `bot.gateway.gateway_answers.EndlessList`, and as ``ask``."""
    from bot.gateway import gateway_account
    from bot.gateway.gateway_answers import Rate

    def fetch(number: int) -> gateway_account.Page[dict[str, Any]]:
        answer = ask({"call": call, "page": number})
        return gateway_account.Page(tuple(answer["items"]), answer["has_more"], Rate())

    return gateway_account.pages(fetch)


@contextmanager
def _commands_here(bot: Folder, store: Path) -> Iterator[Ask]:
    from bot.clock import SystemClock
    from bot.runtime.gateway_commands import commands_without_server
    from bot.settings import read_account
    from bot.store.files import StoreLocked

    account = read_account(os.environ, bot.settings())
    with ExitStack() as opened:
        try:
            commands = opened.enter_context(commands_without_server(account, store, SystemClock()))
        except StoreLocked:
            raise Refused(
                f"{store} is in use, by a server that does not answer now or by another command that asks the "
                "gateway: try again in a moment"
            ) from None
        yield commands.run


def _operate_here(bot: Folder, store: Path, request: dict[str, Any]) -> Answer:
    from bot.clock import SystemClock
    from bot.engine.advance import advance
    from bot.program import load_program
    from bot.runtime.batch import Batch
    from bot.runtime.operator_requests import operate as take
    from bot.store.crash_quarantine import ORDINARY
    from bot.store.engine_store import Store
    from bot.store.files import trouble_in_words

    program = load_program(bot)
    with trouble_in_words(store), closing(Store(store)) as own:
        batch = Batch(own, partial(advance, program.library), ORDINARY, SystemClock().now())
        answer = take(batch, request)
        own.write(batch.commit)
        return answer
