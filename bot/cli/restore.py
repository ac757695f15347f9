"""``bot restore``."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli.shared.operate import bot_option, store_of
from bot.cli.shared.output import counted, echo_json, echo_lines

if TYPE_CHECKING:
    from bot.store.store_backup import Restored


@click.command("restore")
@click.argument("backup", metavar="[BACKUP]", required=False, type=click.Path(path_type=Path))
@bot_option
@click.option("--keep-inbox", is_flag=True, help="Restore bot.db only, and keep the current log of events.")
@click.option("--new-inbox", is_flag=True, help="Keep bot.db, and make a new log, if the old one is lost or damaged.")
@click.option("--json", "as_json", is_flag=True, help="Print an object for a program to read.")
def command(backup: Path | None, folder: Path | None, keep_inbox: bool, new_inbox: bool, as_json: bool) -> None:
    """Replace the store with BACKUP, a folder that `bot backup` made. Stop the bot first.

    Everything is checked before anything changes: each file is intact, and both files belong together. The old store is
    moved to a folder beside it, which is a backup too. An interrupted restore is completed by the next one, by
    `bot serve`, or by "bot restore" alone.

    \b
      $ bot restore /var/backups/bot/2030-05-06
      $ bot restore /var/backups/bot/2030-05-06 --keep-inbox
      $ bot restore --new-inbox

    Exit code 0: the store is restored. 1: nothing changed; the message says why.
    """
    from bot.core.clock import SystemClock
    from bot.store.store_backup import finish_restore, restore

    store = store_of(folder)[1]
    if (keep_inbox and backup is None) or (new_inbox and backup is not None):
        raise click.UsageError("write bot restore BACKUP, bot restore BACKUP --keep-inbox or bot restore --new-inbox")
    if backup is None and not new_inbox:
        if not finish_restore(store):
            raise click.UsageError("no restore was interrupted: name the folder of a backup")
        click.echo("The interrupted restore is complete. Start the bot.")
        return
    restored = restore(store, backup, SystemClock().now(), keep_inbox=keep_inbox)
    if as_json:
        replaced = restored.replaced and str(restored.replaced)
        echo_json({**asdict(restored.age), "left": restored.left, "replaced": replaced})
        return
    echo_lines(_lines(restored))


def _lines(restored: "Restored") -> list[str]:
    age = restored.age
    lines = [f"Restored: events are processed up to {age.cursor:,} and kept up to {age.last:,}."]
    if age.taken_again:
        lines.append(
            f"Events {age.cursor + 1:,} to {age.taken:,} are processed again: each message keeps its key, so nothing is sent twice."
        )
    if restored.left:
        lines.append(f"{counted(restored.left, 'event')} came after that and will not be processed.")
    if restored.replaced is not None:
        lines.append(f"The old store is in {restored.replaced}: delete it when the bot runs well.")
    return [*lines, "Start the bot."]
