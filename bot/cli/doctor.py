"""``bot doctor``."""

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from bot.cli.shared.operate import bot_argument, bot_as_served, env_file, load_env, reach_gateway, refuse_together
from bot.cli.shared.output import counted, echo_json, path_from_here, styled
from bot.core.engine_answers import EngineRefused
from bot.core.engine_requests import AskStatus
from bot.core.networks import is_this_machine
from bot.loading.folder import Folder, find_bot, read_folder
from bot.settings import BadSettings, ModelService, Settings, missing_secrets, read_settings, read_store, short_secrets
from bot.settings.setting_values import OBJECTS
from bot.store.database import PostgresAddress, StoreAddress

if TYPE_CHECKING:
    from bot.language.flow.library import Library
    from bot.server.doctor import Check, CheckResult
    from bot.services.gateway.gateway_account import TemplateInfo

INDENT = 17
SECONDS = 8.0  # for all that is looked at: with the start of the command that is less than 10
SPARE = 0.5  # seconds by which a check in several parts ends earlier
COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command("doctor")
@bot_argument
@click.option("--url", metavar="URL", help="The bot's public base address, instead of BOT_PUBLIC_URL.")
@click.option("--server", "only_server", is_flag=True, help="Only check whether the server on this machine answers.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one for each finding.")
@click.pass_context
def command(ctx: click.Context, folder: Path | None, url: str | None, only_server: bool, as_json: bool) -> None:
    """Check everything that the bot in DIR needs, and say what is wrong and how to fix it.

    It checks the settings and files; this machine; the store; both services (do they answer, accept the keys, and have
    the same time); the templates and files that the flows use; the receiver of events; and the webhook's public address
    and certificate. No contact gets a message. It works with and without a running server, and takes at most 10
    seconds: whatever has not answered by then is reported. With --server it asks only whether the server on this
    machine answers, which takes half a second: a health check for containers without a port (`bot serve --engine`).

    \b
      $ bot doctor --url https://bot.example
      ok    gateway    the key is accepted; templates of the channel: 4
      fail  webhook    its certificate is refused: certificate has expired
                       replace it by a certificate for this name

    Exit code 0: no check failed. 1: a check failed.
    """
    refuse_together(url=url, server=only_server)
    bot = read_folder(find_bot(folder))
    load_env(bot.path)
    found: list[CheckResult] = []
    for finding in _server(bot) if only_server else _findings(bot, url):
        found.append(finding)
        if not as_json:
            _show(finding)
    failures, warnings = (sum(finding.state == state for finding in found) for state in ("fail", "warn"))
    if as_json:
        echo_json([asdict(finding) for finding in found])
    else:
        fine = f"No check failed, {counted(warnings, 'warning')}." if warnings else "Everything is fine."
        click.echo(styled(f"{counted(failures, 'thing')} to fix.", fg="red") if failures else fine)
    ctx.exit(1 if failures else 0)


def _server(bot: Folder) -> Iterator["CheckResult"]:
    """Check that the engine of each shard answers on this machine.

    Alarms do not fail the check: a restart would not end them.
    """
    from bot.server import local_socket
    from bot.server.doctor import fail, ok
    from bot.server.shard_requests import silent_in_words

    try:
        status = local_socket.ask(read_store(bot.path, os.environ, bot.settings()), AskStatus(), SECONDS)
    except local_socket.NotRunning as error:
        yield fail("server", str(error), "`bot serve`")
    except EngineRefused as error:
        yield fail("server", str(error), "see its log")
    else:
        if status.silent:
            yield fail("server", silent_in_words(status.silent), "see its log")
        else:
            yield ok("server", "it answers")


def _show(finding: "CheckResult") -> None:
    first, *more = _lines(finding.what)
    click.echo(f"{styled(f'{finding.state:4}', fg=COLOURS[finding.state])}  {finding.about:9}  {first}")
    for line in more:
        click.echo(f"{'':{INDENT}}{line}")
    for line in _lines(finding.advice):
        click.echo(f"{'':{INDENT}}{styled(line, dim=True)}")


def _lines(text: str) -> list[str]:
    """Wrap a text to the terminal's width. Without a terminal it stays one line, so that programs can search in it."""
    if not sys.stdout.isatty():
        return [text] if text else []
    width = max(shutil.get_terminal_size().columns - INDENT, 30)
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _findings(bot: Folder, url: str | None) -> Iterator["CheckResult"]:
    """Run all checks at once, within `SECONDS`. The findings come in the order of the documentation."""
    from bot.server.doctor import Check, fail, ok, together, warn

    deadline = monotonic() + SECONDS
    store = read_store(bot.path, os.environ, bot.settings())
    library: Future[Library | None] = Future()
    late = f"there was no answer within {SECONDS:.0f} s"
    checks = [
        Check(
            lambda: _flows(bot, library),
            warn("flows", f"they were not checked within {SECONDS:.0f} s", "`bot check` takes the time it needs"),
        ),
        Check(lambda: _machine(bot, store), fail("disk", late, f"see what is wrong with the disk of {store}")),
    ]
    try:
        settings = read_settings(bot.path, os.environ, bot.settings())
    except BadSettings as error:
        checks.append(_known(*(fail("settings", problem) for problem in error.problems)))
    else:
        checks.append(_known(ok("settings", "all required settings are there")))
        for line in short_secrets(settings):
            what, _, advice = line.partition(": ")
            checks.append(_known(warn("settings", what, advice)))
        checks += _outside(bot, store, settings, library, url, deadline)
    yield from together(checks, deadline - monotonic())


def _known(*findings: "CheckResult") -> "Check":
    """The results that need no check."""
    from bot.server.doctor import Check

    return Check(lambda: findings, findings[0])


def _flows(bot: Folder, loaded: "Future[Library | None]") -> Iterator["CheckResult"]:
    """Check the served files.

    ``loaded`` gets their flows as soon as they load; None if they do not.
    """
    from bot.checker.run_rules import run_rules
    from bot.core.clock import SystemClock
    from bot.loading.program import FaultyBot, load_program
    from bot.server.doctor import fail, ok, past_dates, warn

    files = bot_as_served(bot)
    own = files is bot
    yield from (fail("secrets", problem) for problem in missing_secrets(os.environ, files.secrets()))
    try:
        library = load_program(files).library
    except Exception as error:
        loaded.set_result(None)
        if not isinstance(error, FaultyBot):
            raise
        count = len(error.problems)
        advice = "`bot check` lists all" if own else "install what is missing here, or `bot rollback`"
        yield fail("flows", f"{counted(count, 'problem')}, the first: {error.problems[0]}", advice)
        return
    loaded.set_result(library)
    if found := run_rules(library, files.sources):
        advice = "`bot check` lists all" if own else "correct it in the folder, and `bot publish`"
        yield warn("flows", f"{counted(len(found), 'finding')}, the first: {found[0]}", advice)
    else:
        where = path_from_here(bot.path, ".") if own else "the version that is served"
        yield ok("flows", f"{counted(len(library.flows), 'flow')} in {where}, without problems")
    yield from past_dates(library, SystemClock().now())


def _machine(bot: Folder, store: StoreAddress) -> Iterator["CheckResult"]:
    from bot.core.clock import SystemClock
    from bot.server import doctor

    now = SystemClock().now()
    if isinstance(store, PostgresAddress):
        yield from doctor.database(store, now)
    else:
        yield doctor.sqlite()
    yield from doctor.env_file(bot.path)
    yield from doctor.variables(os.environ)
    yield doctor.disk(store)
    yield from doctor.store_state(store, now)
    yield from doctor.served(store, bot.path)


def _outside(
    bot: Folder,
    store: StoreAddress,
    settings: Settings,
    library: "Future[Library | None]",
    url: str | None,
    deadline: float,
) -> Iterator["Check"]:
    """The checks of everything that has to answer: the server, both services, the hosts of the files, the public
    address.
    """
    from bot.core.clock import SystemClock
    from bot.server import doctor
    from bot.server.doctor import Check, fail, warn

    def flows() -> "Library | None":
        with suppress(TimeoutError):  # which the look at the flows says
            return library.result(deadline - monotonic() - SPARE)
        return None

    def files() -> Iterator["CheckResult"]:
        if (loaded := flows()) is not None:
            yield from doctor.reachable(loaded, settings.gateway_url, deadline - monotonic() - SPARE)

    def receiver() -> Iterator["CheckResult"]:
        if (loaded := flows()) is not None and loaded.bot.events_to is not None:
            yield from doctor.events_receiver(loaded.bot.events_to, os.environ)

    def servers() -> Iterator["CheckResult"]:
        if (loaded := flows()) is not None:
            yield from doctor.mcp_servers(loaded.bot.mcp, os.environ)

    def lacking() -> Iterator["CheckResult"]:
        if (loaded := flows()) is not None and (lack := loaded.lacks_model) is not None:
            yield (fail if loaded.asks_models else warn)("models", lack, "set BOT_AI_URL, BOT_AI_KEY and BOT_AI_MODEL")

    late, service = f"there was no answer within {SECONDS:.0f} s", settings.model_service
    public = url.rstrip("/") if url else settings.public_url
    yield Check(lambda: doctor.web(settings.host, settings.port), fail("server", late, "see its log, restart it"))
    yield Check(lambda: doctor.server(store, env_file(bot.path)), fail("server", late, "see its log, restart it"))
    yield Check(lambda: _gateway(bot, settings, flows), fail("gateway", late, "check BOT_GATEWAY_URL and the network"))
    if service is not None:
        yield Check(partial(_models, service), fail("models", late, "check BOT_AI_URL and the network"))
    else:
        yield Check(lacking, fail("models", late, "`bot check` takes the time it needs"))
    yield Check(receiver, fail(doctor.RECEIVER, late, "check events_to in bot.yml, and the receiver"))
    yield Check(servers, fail("mcp", late, "check mcp in bot.yml, and the server"))
    yield Check(files, fail("files", late, "see whether the gateway gets them in a few seconds"))
    if settings.files is not None and settings.files.startswith(OBJECTS):
        yield Check(lambda: doctor.kept(store), fail("files", late, "check AWS_ENDPOINT_URL and the network"))
    if public is None:
        advice = "set BOT_PUBLIC_URL, such as https://bot.example"
        yield _known(warn("webhook", "its public address is not known", advice))
    else:
        path, now = settings.webhook_path, SystemClock().now()
        rehearsed = is_this_machine(urlsplit(settings.gateway_url).hostname or "")
        yield Check(
            lambda: doctor.public_address(public, path, now, rehearsed), fail("webhook", late, doctor.NOT_REACHED)
        )


def _gateway(bot: Folder, settings: Settings, flows: Callable[[], "Library | None"]) -> Iterator["CheckResult"]:
    from bot.cli.templates import both_lists, infos
    from bot.core.clock import SystemClock
    from bot.server import doctor
    from bot.services.gateway.gateway_client import TEMPLATE_LIST

    def listed() -> list["TemplateInfo"]:
        with reach_gateway(bot.path, patient=False) as ask:
            return infos(both_lists(ask))

    asked = TEMPLATE_LIST, {"Authorization": f"Bearer {settings.gateway_key}"}
    if (yield from doctor.reach("gateway", "BOT_GATEWAY_URL", settings.gateway_url, SystemClock().now, *asked)):
        yield from doctor.gateway_key(listed, flows)


def _models(service: ModelService) -> Iterator["CheckResult"]:
    from bot.core.clock import SystemClock
    from bot.server import doctor

    asked = doctor.models_request(service)
    if (yield from doctor.reach("models", "BOT_AI_URL", service.url, SystemClock().now, *asked)):
        yield from doctor.models(service)
