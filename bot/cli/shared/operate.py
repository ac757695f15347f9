"""Functions for all commands: find a bot and its store, read a number, ask the running server or the gateway."""

import contextlib
import getpass
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import sleep
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from bot.cli.shared.output import counted, echo_lines, problem_lines, styled
from bot.core.engine_answers import EngineAnswer, EngineRefused, GatewayItems, NoPermit
from bot.core.engine_requests import (
    A,
    AnyRequest,
    AskStatus,
    EngineRequest,
    GatewayCommand,
    RegisterWebhook,
    ReportSignal,
    SendMessage,
    StartFlow,
    as_json,
)
from bot.core.errors import BotError, OutcomeLost
from bot.core.text import head, is_phone
from bot.language.flow.documents import BOT_FILE
from bot.language.source import wall_clock
from bot.language.source.problems import did_you_mean
from bot.loading.folder import Folder, env_files, find_bot, read_folder
from bot.server.shard_requests import Ask as AskShard
from bot.server.shard_requests import ask_shards
from bot.settings import SETTINGS, BadSettings, read_store, share_authorities
from bot.settings.setting_values import DATABASES, PATHS, from_folder
from bot.store.database import StoreAddress, shards_of

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from bot.language.python.gathered import Extensions
    from bot.loading.program import Program
    from bot.store.store_reader import StoreReader
    from bot.testing.conversations.transcript_reader import LoadedTests


F = TypeVar("F", bound=Callable[..., Any])

NUMBER = click.IntRange(1, 1_000_000)  # of rows, or of a version
STATUS_SECONDS = 1.0
LONGEST_WAIT = 900.0
"""The most seconds that a command waits for the gateway's limits before one of its requests."""
COMMAND_SECONDS = 120.0  # a command waits a minute for a permit, and then for the gateway
PATH_VARIABLES = (
    *(SETTINGS[name].variable for name in PATHS),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
)
_ONE_AT_A_TIME = threading.Lock()  # parts of a request that are done here, with the bot's own Python


SHOWN_BY: Mapping[type[AnyRequest], str] = {
    **dict.fromkeys((SendMessage, StartFlow, ReportSignal), "`bot trace {contact}` shows it"),
    RegisterWebhook: "the gateway lists the webhook",
}
"""How to find out whether one of these requests was carried out: they are not harmless twice."""


class CommandRefused(BotError):
    """A request cannot be carried out."""


class InDoubt(BotError):
    """A request may have been carried out: how to find out, and whether it may be made again."""

    def __init__(self, request: AnyRequest, why: object) -> None:
        shown = SHOWN_BY.get(type(request))
        if shown is None:
            then = "Give the command again: what is done already is not done twice"
        else:
            then = f"Look whether {shown.format_map(as_json(request))} before you give the command again"
        super().__init__(f"{why}. {then}")


class AskGateway(Protocol):
    """Runs a gateway command. Raises `BotError`, in words."""

    def __call__(self, command: GatewayCommand[A], /) -> A:
        """Its answer."""


class BotFolder(click.Path):
    """The folder of a bot. A shell completes it to the bots of the folder that is typed so far, else to its folders."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """The bots whose path begins with ``incomplete``."""
        from click.shell_completion import CompletionItem  # which nothing else needs

        above = incomplete[: incomplete.rfind("/") + 1]
        bots = (f"{above}{file.parent.name}" for file in sorted(Path(above).glob(f"*/{BOT_FILE}")))
        found = [CompletionItem(bot) for bot in bots if bot.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="dir")]


class OrderedGroup(click.Group):
    """A command of several commands, which its help lists in the order of the file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in that order."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called. A misspelt one is guessed."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            fix = did_you_mean(args[0], self.commands, f"`{ctx.command_path} --help` lists them")
            ctx.fail(f'there is no command "{ctx.command_path} {args[0]}" ({fix})')
        return super().resolve_command(ctx, args)


def bot_option(command: F) -> F:
    """The option that names the bot's folder, where the arguments are something else."""
    return click.option(
        "--bot",
        "folder",
        metavar="DIR",
        type=BotFolder(),
        help="The bot's folder, if not here or flows/.",
    )(command)


def bot_argument(command: F) -> F:
    """The argument that names the bot's folder, of a command that is about the bot itself."""
    return click.argument("folder", metavar="[DIR]", required=False, type=BotFolder())(command)


def env_file(folder: Path) -> Path | None:
    """The file with settings that counts, if there is one."""
    return next(iter(env_files(folder)), None)


def load_env(folder: Path) -> None:
    """Read ``.env``.

    Variables that the environment has already do not change; relative paths are relative to the folder of the file, so
    that they are the same wherever a command runs. Raises `bot.settings.BadSettings`.
    """
    if (file := env_file(folder)) is not None:
        from dotenv import load_dotenv

        new = [name for name in PATH_VARIABLES if name not in os.environ]
        try:
            load_dotenv(file)
            for name in new:
                if text := os.environ.get(name):
                    os.environ[name] = from_folder(file.parent, text)
        except ValueError:
            raise BadSettings([f"{file} cannot be read: save it as UTF-8, without NUL characters"]) from None
    share_authorities(os.environ)


def store_of(folder: Path | None) -> tuple[Folder, StoreAddress]:
    """A bot and where its store lies. Raises `bot.loading.folder.NoBot` and `bot.settings.BadSettings`."""
    bot = read_folder(find_bot(folder))
    load_env(bot.path)
    return bot, read_store(bot.path, os.environ, bot.settings())


def store_at(folder: Path | None, name: str, text: str) -> StoreAddress:
    """A store of a bot that is not the one of its settings.

    The argument ``name`` is ``text``, which BOT_STORE could be. Raises as `store_of`.
    """
    bot = read_folder(find_bot(folder))
    load_env(bot.path)
    environ, written = {**os.environ, "BOT_STORE": text}, bot.settings()
    if not text.startswith(DATABASES):  # only a database has a folder of files that is set, and shards
        environ, written = {**environ, "BOT_FILES": "", "BOT_SHARDS": ""}, {**written, "files": "", "shards": ""}
    try:
        return read_store(bot.path, environ, written)
    except BadSettings as error:
        raise BadSettings([problem.replace("BOT_STORE", name, 1) for problem in error.problems]) from None


def served_bot(bot: Folder, store: StoreAddress) -> tuple[Folder, str]:
    """A bot with the files that its servers serve: those of the version that was published, if there is one.

    And a sentence if the files in its folder differ from these; else an empty text. Raises as `open_store`, but not
    where there is no store yet.
    """
    from bot.store.files import StoreMissing
    from bot.store.opening import engine_reader
    from bot.store.published_versions import files_of, in_folder, served_version

    try:
        with closing(engine_reader(store)) as database:
            served = served_version(database)
            if served is None:
                return bot, ""
            differs, what = in_folder(served, bot.path)
            return files_of(database, served.number, bot.path), what if differs else ""
    except StoreMissing:
        return bot, ""


def bot_as_served(bot: Folder) -> Folder:
    """The bot of `served_bot`; the bot in its folder if the store cannot be read, which other commands report."""
    with suppress(BotError):
        return served_bot(bot, read_store(bot.path, os.environ, bot.settings()))[0]
    return bot


def used_bot(folder: Path | None) -> Folder:
    """The bot that is served, for a command that acts on it; where the files in its folder differ, it says which it
    uses. Raises as `open_store`.
    """
    bot, differ = served_bot(*store_of(folder))
    if differ:
        click.echo(f"{differ}: this command uses what is served", err=True)
    return bot


def open_store(folder: Path | None) -> "closing[StoreReader]":
    """The store of a bot, to read from, while a server runs or not. Raises `bot.store.files.StoreMissing` as well."""
    from bot.store.store_reader import StoreReader

    return closing(StoreReader(store_of(folder)[1]))


def operate(folder: Path | None, request: EngineRequest[A]) -> A:
    """Have an operator's request done by the server that runs on the store, or do it here if none runs.

    Raises `CommandRefused` in the server's words, `InDoubt` if nobody knows whether it is done, and
    `bot.store.files.StoreLocked` if a server runs and accepts no requests.
    """
    bot, store = store_of(folder)
    return ask_or_do(store, request, partial(_operate_here, bot))


def ask_or_do(store: StoreAddress, request: EngineRequest[A], do: AskShard) -> A:
    """Ask the server, or do it here with ``do``: in each shard that has no engine. Raises as `operate`."""
    from bot.server.local_socket import NotRunning

    def ask(shard: StoreAddress, part: AnyRequest) -> EngineAnswer:
        try:
            return ask_server(shard, part)
        except NotRunning:
            with _ONE_AT_A_TIME:
                return do(shard, part)

    with _in_words(request):
        return ask_shards(store, request, ask)


def ask_server(store: StoreAddress, request: EngineRequest[A], seconds: float = 10.0) -> A:
    """Have a request done by the server that runs on the store, in ``seconds`` at most.

    Raises `CommandRefused` in the server's words, `bot.core.engine_answers.NoPermit`, `InDoubt`, and
    `bot.server.local_socket.NotRunning`.
    """
    from bot.server.local_socket import NotAnswered, ask_engine

    try:
        with _in_words(request):
            return ask_engine(store, request, seconds)
    except NotAnswered as error:
        if request.only_tells:
            raise
        raise InDoubt(request, error) from None


@contextmanager
def _in_words(request: AnyRequest) -> Iterator[None]:
    """Raise what the engine answers with advice for the person who gave the command."""
    try:
        yield
    except NoPermit:
        raise
    except EngineRefused as error:
        raise InDoubt(request, error) if isinstance(error, OutcomeLost) else CommandRefused(str(error)) from None


@contextmanager
def reach_gateway(folder: Path | None, *, patient: bool = True) -> Iterator[AskGateway]:
    """Run gateway commands (`bot.runtime.gateway_commands`) in the server that runs on the store, or here if none runs.

    So one set of limits counts every request. The yielded function waits while these leave no room, and says so;
    ``patient`` is False for a command that has no time. Raises `bot.settings.BadSettings` and `CommandRefused`; the
    function raises `BotError`, in words.
    """
    from bot.server.local_socket import NotRunning

    bot, store = store_of(folder)
    try:
        status = ask_server(store, AskStatus(), STATUS_SECONDS)
    except NotRunning:
        status = None
    if status is not None:
        any_engine = next(shard for number, shard in enumerate(shards_of(store)) if number not in status.silent)

        def ask(command: GatewayCommand[A], /) -> A:
            return ask_server(any_engine, command, COMMAND_SECONDS)

        yield _patient(ask) if patient else ask
    else:
        with _commands_here(bot, store) as run:
            yield _patient(run) if patient else run


def _patient(ask: AskGateway) -> AskGateway:
    """Ask, and wait as long as the gateway's limits leave no room."""

    def patiently(command: GatewayCommand[A], /) -> A:
        waited = 0.0
        while True:
            try:
                return ask(command)
            except NoPermit as error:
                if error.wait is None:
                    raise
                wait = max(error.wait, 1.0)
            waited += wait
            if waited > LONGEST_WAIT:
                raise CommandRefused(
                    f"the gateway leaves no room for the next {wall_clock.duration_words(timedelta(seconds=wait))}: try again later"
                )
            click.echo(f"the gateway asks to wait: this goes on in {wait:,.0f} s", err=True)
            sleep(wait)

    return patiently


def gateway(folder: Path | None, command: GatewayCommand[A]) -> A:
    """Run one gateway command: see `reach_gateway`."""
    with reach_gateway(folder) as ask:
        return ask(command)


def pages(ask: AskGateway, command: Callable[[int], GatewayCommand[GatewayItems]]) -> Iterator[dict[str, Any]]:
    """Yield the items of all pages of one of the gateway's lists; ``command`` makes the request for a page.

    Raises `bot.services.gateway.gateway_answers.EndlessList`, and as ``ask``.
    """
    from bot.services.gateway import gateway_account
    from bot.services.gateway.gateway_answers import Rate

    def fetch(number: int) -> gateway_account.Page[dict[str, Any]]:
        answer = ask(command(number))
        return gateway_account.Page(tuple(answer.items), answer.has_more, Rate())

    return gateway_account.pages(fetch)


@contextmanager
def _commands_here(bot: Folder, store: StoreAddress) -> Iterator[AskGateway]:
    from bot.core.clock import SystemClock
    from bot.runtime.gateway_commands import commands_without_server
    from bot.settings import read_account
    from bot.store.files import StoreLocked

    account = read_account(os.environ, bot.settings())
    with ExitStack() as opened:
        try:
            commands = opened.enter_context(commands_without_server(account, store, SystemClock()))
        except StoreLocked:
            raise CommandRefused(
                f"{store} is in use, by a server that does not answer now or by another command that asks the "
                "gateway: try again in a moment"
            ) from None
        yield commands.run


def _operate_here(bot: Folder, store: StoreAddress, request: AnyRequest) -> EngineAnswer:
    from bot.core.clock import SystemClock
    from bot.engine.advance import advance
    from bot.loading.program import load_program
    from bot.runtime.batch import Batch
    from bot.runtime.operator_requests import operate as take
    from bot.runtime.operator_requests import refuse_mistakes
    from bot.store.crash_quarantine import ORDINARY
    from bot.store.engine_store import EngineStore
    from bot.store.files import ConnectionLost
    from bot.store.published_versions import served_files

    with closing(EngineStore(store)) as own:
        program = load_program(served_files(own.database, bot))
        refuse_mistakes(program.library, request)
        batch = Batch(own, partial(advance, program.library), ORDINARY, SystemClock().now())
        answer = take(batch, request)
        try:
            own.write(batch.commit)
        except ConnectionLost:  # its commit may have reached the database
            raise InDoubt(request, f"the connection to {store} was lost: it may have done this") from None
        return answer


def user_name() -> str:
    """The name of who runs this command, and of the machine."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have none
        name = "somebody"
    return f"{name}@{socket.gethostname()}"


def number(contact: str) -> str:
    """A contact's number as the store has it: without the plus, the spaces and the hyphens that people write."""
    return re.sub(r"[+\s()-]", "", contact)


def phone(contact: str) -> str:
    """A number that a message can go to. Raises `CommandRefused`."""
    digits = number(contact)
    if not is_phone(digits):
        raise CommandRefused(f'"{head(contact, 40)}" is no phone number: write its digits, with the country code')
    return digits


def span(ctx: click.Context, option: click.Parameter, value: str | None) -> timedelta | None:
    """The callback of an option that takes a duration; None where it is not given."""
    if value is None:
        return None
    found = wall_clock.parse_duration(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is no duration: write one such as 12h, 7d or 4w")
    return found


def refuse_together(**written: object) -> None:
    """Raise `click.UsageError` if more than one of these options is written: ``csv=True, json=True``."""
    both = [f"--{name.replace('_', '-')}" for name, value in written.items() if value]
    if len(both) > 1:
        raise click.UsageError(f"{both[0]} and {both[1]} exclude each other: leave one of them out")


def loaded(bot: Folder) -> "Program":
    """A bot's flows and Python. Where its files have problems these are listed, and the command ends with 1."""
    from bot.loading.program import FaultyBot, load_program

    try:
        with contextlib.redirect_stdout(sys.stderr):  # what the bot's own Python prints is no part of a report
            return load_program(bot)
    except FaultyBot as error:
        echo_lines(problem_lines(bot.path, error.problems), err=True)
        click.echo(styled(counted(len(error.problems), "problem"), fg="red"), err=True)
        raise click.exceptions.Exit(1) from None


def sound(bot: Folder, tests: "LoadedTests", as_json: bool = False) -> "Program":
    """A bot that was read with its tests. If its files have problems, they are listed, and the command ends with 1."""
    if tests.program is None or tests.problems:
        echo_lines(problem_lines(bot.path, tests.problems), err=as_json)
        problems = styled(f"{counted(len(tests.problems), 'problem')}, nothing was run.", fg="red")
        click.echo(problems, err=as_json)
        raise click.exceptions.Exit(1)
    return tests.program


def own_python(bot: Folder) -> "Extensions":
    """The functions and verbs that a bot's Python adds to the language. Raises `bot.loading.program.FaultyBot`."""
    from bot.loading.program import FaultyBot, load_handlers

    with contextlib.redirect_stdout(sys.stderr):  # what it prints is no part of a document
        extensions, problems = load_handlers(bot)
    if problems:
        raise FaultyBot(problems)
    return extensions


def write_whole(file: Path, content: bytes) -> None:
    """Replace a file, or make it, so that only its owner can read it. A link stays one. Raises `OSError`."""
    file = file.resolve()
    with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as draft:  # with mode 0600
        try:
            draft.write(content)
            draft.flush()
            os.fsync(draft.fileno())
            Path(draft.name).replace(file)
        except BaseException:
            with suppress(OSError):
                Path(draft.name).unlink()
            raise
