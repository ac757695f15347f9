"""``bot store``."""

import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from time import monotonic

import click

from bot.cli.shared.operate import bot_option, store_at
from bot.cli.shared.output import counted, echo_json


@click.group("store")
def command() -> None:
    """Move the store of a stopped bot to another place, also from SQLite to PostgreSQL or back.

    \b
      $ bot store copy bot.db postgresql://bot@db.example/bot
    """


@command.command("copy", short_help="Copy a stopped bot's store to another place.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print an object for a program to read.")
def copy(source: str, target: str, folder: Path | None, as_json: bool) -> None:
    """Copy the store FROM to TO, where there must be none. Each is what BOT_STORE can be: a file, or postgresql://...

    Stop the bot first, on each machine. Everything is copied, and every table is compared with what FROM has: the bot
    goes on with TO as after a restart. The files that flows have kept are copied too; BOT_FILES says where those of a
    database are. BOT_SHARDS says how many shards TO gets, if it is a database; FROM may have another number. FROM does
    not change. If the copy is cut short, there is no store in TO, and you can begin again.

    Others on this machine can see a password in a command: leave it out, and write it into ~/.pgpass.

    \b
      $ bot store copy bot.db postgresql://bot@db.example/bot
      $ bot store copy postgresql://bot@db.example/bot bot.db

    Exit code 0: the store is copied. 1: it is not; the message says why.
    """
    from bot.store.database import PostgresAddress, shards_of
    from bot.store.store_copy import copy_store

    old, new = store_at(folder, "FROM", source), store_at(folder, "TO", target)
    began = monotonic()
    with ExitStack() as shown:
        bar = click.progressbar(length=1, label="Copying", file=sys.stderr)

        def tell(done: int, of: int) -> None:
            bar.length = of
            if not bar.entered:
                shown.enter_context(bar)
            bar.update(done - bar.pos)

        copied = copy_store(old, new, tell)
    seconds = monotonic() - began
    if as_json:
        tables = [asdict(table) for table in copied.tables]
        echo_json({"tables": tables, "rows": copied.rows, "files": copied.files, "seconds": round(seconds, 3)})
        return
    rows = f"{counted(copied.rows, 'row')} in {counted(len(copied.tables), 'table')}, each compared by its hash"
    click.echo(f"{new} has everything: {rows}, and {counted(copied.files, 'kept file')}.")
    click.echo(f"It took {seconds:,.1f} s, {copied.rows / seconds:,.0f} rows/s. Now set")
    if isinstance(new, PostgresAddress):
        click.echo(f"  BOT_STORE={target}" if new.password is None else f"  BOT_STORE={new}  (with its password)")
    else:
        click.echo(f"  BOT_STORE={new.resolve()}")
    if copied.divided:
        click.echo(f"  BOT_SHARDS={len(shards_of(new))}")
    if isinstance(new, PostgresAddress) and copied.files:
        shared = "  (a folder that all machines share)" if isinstance(new.files, Path) else ""
        click.echo(f"  BOT_FILES={new.files}{shared}")
    click.echo(f"and start the bot. Start no bot on {old} any more: it would send the same messages.")
