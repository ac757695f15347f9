"""``bot doctor``."""

import os
import shutil
import sys
import textwrap
from collections.abc import Generator, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli.operate import bot_argument, env_file, load_env, reach_gateway
from bot.cli.output import counted, echo_json, path_from_here, styled
from bot.folder import Folder, find_bot, read_folder
from bot.settings import BadSettings, Settings, read_settings, read_store

if TYPE_CHECKING:
    from bot.doctor.finding import Finding
    from bot.flow.library import Library
    from bot.gateway.account import TemplateInfo

INDENT = 17
COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command("doctor")
@bot_argument
@click.option("--url", metavar="URL", help="The bot's public base address, in place of BOT_PUBLIC_URL.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one a finding.")
@click.pass_context
def command(ctx: click.Context, folder: Path | None, url: str | None, as_json: bool) -> None:
    """Look at all that the bot in DIR needs to work, and say what is wrong and what to do about it.

    The settings and files; this machine; the store; both services: do they answer, take the keys, and tell the same
    time; the templates and the files that the flows name; and the webhook's public address with its certificate.
    Nothing is sent to anybody. It works beside a running server and without one.

    \b
      $ bot doctor --url https://bot.example
      ok    gateway    the key is accepted; templates of the channel: 4
      fail  webhook    its certificate is refused: certificate has expired
                       renew it, for this very name

    Exit code 0: nothing fails. 1: something does.
    """
    bot = read_folder(find_bot(folder))
    load_env(bot.path)
    found: list[Finding] = []
    for finding in _findings(bot, url):
        found.append(finding)
        if not as_json:
            _show(finding)
    failures = sum(finding.state == "fail" for finding in found)
    if as_json:
        echo_json([asdict(finding) for finding in found])
    else:
        click.echo(styled(f"{counted(failures, 'thing')} to put right.", fg="red") if failures else "Nothing fails.")
    ctx.exit(1 if failures else 0)


def _show(finding: "Finding") -> None:
    first, *more = _lines(finding.what)
    click.echo(f"{styled(f'{finding.state:4}', fg=COLOURS[finding.state])}  {finding.about:9}  {first}")
    for line in more:
        click.echo(f"{'':{INDENT}}{line}")
    for line in _lines(finding.advice):
        click.echo(f"{'':{INDENT}}{styled(line, dim=True)}")


def _lines(text: str) -> list[str]:
    """As wide as a terminal is; one line for a program that looks for something in it."""
    if not sys.stdout.isatty():
        return [text] if text else []
    width = max(shutil.get_terminal_size().columns - INDENT, 30)
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _findings(bot: Folder, url: str | None) -> Iterator["Finding"]:
    from bot.clock import SystemClock
    from bot.doctor import dates, machine
    from bot.doctor.finding import fail, ok

    library = yield from _flows(bot)
    if library is not None:
        yield from dates.past_dates(library, SystemClock().now())
    yield machine.sqlite()
    yield from machine.env_file(bot.path)
    yield from machine.variables(os.environ)
    store = read_store(bot.path, os.environ, bot.settings())
    yield machine.disk(store)
    yield from machine.store_state(store, SystemClock().now())
    try:
        settings = read_settings(bot.path, os.environ, bot.settings(), bot.secrets())
    except BadSettings as error:
        for problem in error.problems:
            yield fail("settings", problem)
        return
    yield ok("settings", "all that is needed is there")
    yield from machine.server(store, env_file(bot.path))
    yield from _outside(bot, settings, library, url)


def _flows(bot: Folder) -> Generator["Finding", None, "Library | None"]:
    """Whether the bot's files are in order; returns its flows if they load."""
    from bot.checker.prove import prove
    from bot.doctor.finding import fail, ok, warn
    from bot.program import FaultyBot, load_program

    try:
        library = load_program(bot).library
    except FaultyBot as error:
        count = len(error.problems)
        yield fail("flows", f"{counted(count, 'problem')}, the first: {error.problems[0]}", "`bot check` lists all")
        return None
    if found := prove(library, bot.sources):
        yield warn("flows", f"{counted(len(found), 'finding')}, the first: {found[0]}", "`bot check` lists all")
        return library
    yield ok("flows", f"{counted(len(library.flows), 'flow')} in {path_from_here(bot.path, '.')}, without problems")
    return library


def _outside(bot: Folder, settings: Settings, library: "Library | None", url: str | None) -> Iterator["Finding"]:
    from bot.cli.templates import both_lists, infos
    from bot.clock import SystemClock
    from bot.doctor import address, sent_files, services
    from bot.doctor.finding import warn

    now = SystemClock().now

    def listed() -> list["TemplateInfo"]:
        with reach_gateway(bot.path) as ask:
            return infos(both_lists(ask))

    if (yield from services.reach("gateway", "BOT_GATEWAY_URL", settings.gateway_url, now)):
        yield from services.gateway_key(listed, library)
    service = settings.model_service
    if service is not None and (yield from services.reach("models", "BOT_AI_URL", service.url, now)):
        yield from services.models(service)
    if library is not None:
        yield from sent_files.reachable(library, settings.gateway_url)
    public = url.rstrip("/") if url else settings.public_url
    if public is None:
        yield warn("webhook", "its public address is not known", "set BOT_PUBLIC_URL, such as https://bot.example")
    else:
        yield from address.public_address(public, settings.webhook_path, now())
