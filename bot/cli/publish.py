"""``bot publish``, and what it shares with ``bot rollback``."""

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli.shared.operate import (
    COMMAND_SECONDS,
    CommandRefused,
    InDoubt,
    ask_server,
    bot_argument,
    store_of,
    user_name,
)
from bot.cli.shared.output import echo_lines, quiet_log
from bot.loading.folder import Folder, links_out
from bot.store.database import StoreAddress, shards_of

if TYPE_CHECKING:
    from bot.language.flow.library import Library
    from bot.store.published_versions import PublishedVersion
    from bot.store.store_reader import StoreReader
    from bot.testing.conversations.transcript_reader import LoadedTests

note_option = click.option("--note", metavar="TEXT", default="", help="Why: bot versions shows it.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@click.command("publish")
@bot_argument
@note_option
@click.option("--no-tests", is_flag=True, help="Do not run the bot's tests.")
@click.option("--follow-files", is_flag=True, help="Let servers follow the files of their folders again.")
@yes_option
@click.pass_context
def command(ctx: click.Context, folder: Path | None, note: str, no_tests: bool, follow_files: bool, yes: bool) -> None:
    """Publish the bot in DIR: it becomes the next version in the store, and is served on all machines.

    It checks the bot, runs its tests, and shows what the new version does to the conversations under way; it asks
    before one of them ends or moves. Running servers take the version at once, others when they start. From the first
    version on, files that are saved change nothing until they are published; --follow-files ends that.

    \b
      $ bot publish
      $ bot publish mybot --note "summer menu"

    Exit code 0: it is published, or is served already. 1: there are problems, a test fails, or you said no.
    """
    from bot.cli.shared.check_report import report_on, text
    from bot.store.published_versions import already_served, newest_version
    from bot.store.store_reader import StoreReader

    quiet_log()
    bot, store = store_of(folder)
    if not follow_files:
        _refuse_links_out(bot)
    with closing(StoreReader(store)) as reader:
        newest = newest_version(reader.database)
        if (None if newest is None else newest.digest) == (None if follow_files else bot.digest):
            click.echo(f"Nothing is published: {already_served(newest)}.")
            return
        report = report_on(bot)
        echo_lines(text(report))
        program = report.loaded.program
        if program is None or report.loaded.problems or not (no_tests or _tests_pass(report.loaded, bot)):
            click.echo("Nothing is published.", err=True)
            ctx.exit(1)
        confirm_for(program.library, reader, bot.path, yes)
    click.echo(publish(store, None if follow_files else bot, newest, note))


def _refuse_links_out(bot: Folder) -> None:
    """Every machine gets what is published, and everybody who reads the store. Raises `CommandRefused`."""
    if out := links_out(bot.path):
        links = "; ".join(f"{name} is a link to {to}" for name, to in out)
        raise CommandRefused(
            f"nothing is published: {links}, which is no file of the bot: copy it in the link's place, or delete the link"
        )


def confirm_for(library: "Library", reader: "StoreReader", path: Path, yes: bool) -> None:
    """Show the effect of flows on the conversations under way.

    If these end or move, ask for confirmation; without a terminal that is refused.
    """
    from bot.cli.check import live_lines, look

    live = look(library, reader)
    echo_lines(live_lines(live, path))
    if not live.ends_or_moves or yes:
        return
    if not sys.stdin.isatty():
        raise CommandRefused(
            "nothing is published: it changes conversations (see above), and there is no terminal to ask at; --yes publishes it"
        )
    click.confirm("Publish it?", abort=True, err=True)


def publish(store: StoreAddress, files: Folder | None, newest: "PublishedVersion | None", note: str) -> str:
    """Publish files by the running server, or here if none runs. Returns a sentence about it.

    ``newest`` is the newest version at the check.

    Raises `CommandRefused`, `bot.store.published_versions.PublishRefused` and `bot.store.files.StoreLocked`.
    """
    from bot.core.clock import SystemClock
    from bot.server.local_socket import NotRunning
    from bot.store.opening import engine_writer
    from bot.store.published_versions import add_version, publish_request

    after, by = 0 if newest is None else newest.number, user_name()
    request = publish_request(files, note, after=after, by=by)
    try:
        number = ask_server(store, request, COMMAND_SECONDS).version
        at = "served now" if files is not None else "served now: each server follows the files of its own folder"
    except InDoubt:
        raise CommandRefused(
            "the server ended, or was silent, while it loaded the version: its log says why, `bot versions` says whether it is published"
        ) from None
    except NotRunning:
        with closing(engine_writer(shards_of(store)[0])) as database:
            now = SystemClock().now()
            number = add_version(database, files, after=after, by=by, note=note, now=now).number
        at = (
            f"published: the next `bot serve` {'serves it' if files is not None else 'follows the files of its folder'}"
        )
    return f"Version {number} is {at}."


def _tests_pass(loaded: "LoadedTests", bot: Folder) -> bool:
    from bot.cli.test import passes

    return not loaded.transcripts or passes(bot, loaded)
