"""``bot backup``."""

from dataclasses import asdict
from pathlib import Path

import click

from bot.cli.shared.operate import bot_option, store_of
from bot.cli.shared.output import counted, echo_json


@click.command("backup")
@click.argument("target", metavar="TO", type=click.Path(path_type=Path))
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print an object for a program to read.")
def command(target: Path, folder: Path | None, as_json: bool) -> None:
    """Copy the store's two files, and the files that flows have kept, into the new folder TO.

    The bot may run meanwhile. The copy is verified; TO is complete or does not exist. To restore it: stop the bot, run
    `bot restore TO`, start the bot (docs/going-live.md).

    \b
      $ bot backup /var/backups/bot/$(date +%F)

    Exit code 0: the backup was made. 1: it was not; the message says why.
    """
    from bot.store.store_backup import back_up

    backup = back_up(store_of(folder)[1], target)
    if as_json:
        echo_json({**asdict(backup), "folder": str(backup.folder)})
        return
    size = f"{backup.bytes / 1e6:,.1f} MB"
    click.echo(f"{backup.folder}: {counted(backup.contacts, 'contact')}, all events up to {backup.last_seq:,}; {size}.")
