"""``bot rollback``."""

from contextlib import closing
from pathlib import Path

import click

from bot.cli.publish import confirm_for, note_option, publish, yes_option
from bot.cli.shared.operate import NUMBER, CommandRefused, bot_option, loaded, store_of
from bot.cli.shared.output import quiet_log


@click.command("rollback")
@click.argument("number", metavar="[N]", required=False, type=NUMBER)
@bot_option
@note_option
@yes_option
def command(number: int | None, folder: Path | None, note: str, yes: bool) -> None:
    """Publish version N again, as a new version. Without N it is the last one whose files differ from those served.

    It shows what that does to the conversations under way, and asks before one of them ends or moves. It works also
    while the served version cannot be loaded.

    \b
      $ bot rollback
      $ bot rollback 5 --note "the new menu confuses people"

    Exit code 0: it is published, or is served already. 1: there is no such version, it cannot be loaded, or you said
    no.
    """
    from bot.store.published_versions import already_served, files_of, newest_version, versions
    from bot.store.store_reader import StoreReader

    quiet_log()
    bot, store = store_of(folder)
    with closing(StoreReader(store)) as reader:
        newest = newest_version(reader.database)
        served = None if newest is None else newest.digest
        if number is None:
            others = [each.number for each in versions(reader.database) if each.digest not in (None, served)]
            if not others:
                raise CommandRefused("there is no version with other files: `bot versions` lists them")
            number = others[0]
        files = files_of(reader.database, number, bot.path)
        if files.digest == served:
            click.echo(f"Nothing is published: {already_served(newest)}.")
            return
        confirm_for(loaded(files).library, reader, bot.path, yes)
    click.echo(publish(store, files, newest, note or f"version {number} again"))
