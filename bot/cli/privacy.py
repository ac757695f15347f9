"""``bot contacts export`` and ``bot contacts erase``: what a person may ask for."""

from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

import click

from bot.cli.numbers import number
from bot.cli.operate import Refused, ask_server, bot_option, store_of
from bot.cli.output import counted, echo_json

PATIENCE = 15.0  # seconds for the web process to do its part
LOOK_SECONDS = 0.1


@click.command("export", short_help="Print all that is kept of a contact.")
@click.argument("contact")
@bot_option
def export(contact: str, folder: Path | None) -> None:
    """Print all that is kept of CONTACT as JSON: the rows of both files by table, and the files that it sent.

    Nothing is asked of the gateway: what that keeps is in `bot contacts list`.

    \b
      $ bot contacts export 6281234567890 > contact.json

    Exit code 0: fine. 1: nothing is kept of the contact.
    """
    contact = number(contact)
    rows, files = _kept(store_of(folder)[1], contact)
    echo_json({"contact": contact, **rows, "files": [str(file.resolve()) for file in files]})


@click.command("erase", short_help="Erase all that is kept of a contact.")
@click.argument("contact")
@bot_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def erase(contact: str, folder: Path | None, yes: bool) -> None:
    """Erase all that is kept of CONTACT: conversation, trace, messages, events, usage, and the files that it sent.

    What waits to be sent to it is not sent. It goes through the running server; if none runs, it is done at once.
    The command ends when all is gone. If the contact writes again, it is somebody whom the bot has never met: also
    an opt-out is forgotten. The gateway keeps its own contact, and backups keep theirs.

    \b
      $ bot contacts erase 6281234567890

    Exit code 0: all is gone. 1: nothing is kept of the contact, or something is not gone yet.
    """
    from bot.local_socket import NotRunning

    contact, store = number(contact), store_of(folder)[1]
    rows, files = _kept(store, contact)
    what = f"{counted(sum(map(len, rows.values())), 'row')} and {counted(len(files), 'file')}"
    if not yes:
        click.confirm(f"Erase {what} of {contact} for good?", abort=True)
    try:
        ask_server(store, {"do": "erase", "contact": contact})
        _wait_until_gone(store, contact)
    except NotRunning:
        _erase_here(store, contact)
    click.echo(f"{what} of {contact} are erased. The gateway's own contact and your backups are not touched.")


def _kept(store: Path, contact: str) -> tuple[dict[str, list[dict[str, object]]], list[Path]]:
    from bot.store import contact_data as kept

    if not contact.isdecimal():
        raise Refused(f'"{contact}" is no number: write its digits, with the country code')
    rows, files = kept.export_contact(store, contact), kept.kept_files(store, contact)
    if not rows and not files:
        raise Refused(f"nothing is kept of {contact} (`bot sessions` lists who has written)")
    return rows, files


def _wait_until_gone(store: Path, contact: str) -> None:
    from bot.store.store_reader import StoreReader

    until = monotonic() + PATIENCE
    with closing(StoreReader(store)) as reader:
        while any(contact == pending for pending, _ in reader.erasures()):
            if monotonic() > until:
                raise Refused(
                    f"{contact} is erased from {store.name}, and its events will be as soon as the web process can: "
                    "`bot doctor` says when nothing waits to be erased any more"
                )
            sleep(LOOK_SECONDS)


def _erase_here(store: Path, contact: str) -> None:
    """Do both writers' parts under both locks. The log first: if this is cut short, it is only to be asked again."""
    from bot.clock import SystemClock
    from bot.store.engine_store import Store
    from bot.store.inbox import InboxReader, InboxWriter

    clock = SystemClock()
    with (
        closing(Store(store)) as engine,
        closing(InboxWriter(store, clock)) as inbox,
        closing(InboxReader(store)) as log,
    ):
        upto = log.last_seq()
        for known_as in engine.numbers_of(contact):
            inbox.erase(log.of_contact(known_as, upto))
        engine.erase(contact, upto, clock.now())
        engine.finish_erasures(log.has_of)
