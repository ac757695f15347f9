"""``bot contacts``."""

import csv
import io
import sys
from collections.abc import Iterable, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import click

from bot.cli.shared.csv_rows import CsvRow, read_table
from bot.cli.shared.operate import (
    AskGateway,
    CommandRefused,
    OrderedGroup,
    ask_or_do,
    bot_option,
    number,
    open_store,
    pages,
    reach_gateway,
    store_of,
    write_whole,
)
from bot.cli.shared.output import counted, echo_json
from bot.core.engine_answers import Done
from bot.core.engine_requests import AnyRequest, EraseContact, ListGatewayContacts, UpsertContact
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.text import guarded_cell, sender_id
from bot.language.source.problems import did_you_mean
from bot.store.database import StoreAddress

COLUMNS = ("phone", "name", "email", "tags")
PATIENCE = 15.0  # seconds that an erasure may take in the web process
LOOK_SECONDS = 0.1
_WIDTHS = (16, 24, 28, 1)
Contact = Mapping[str, Any]


@click.group("contacts", cls=OrderedGroup)
def command() -> None:
    """The gateway's contacts (list, pull, push), and this bot's data about one contact (export, erase).

    Requests to the gateway go through the running server and count against the limits.

    \b
      $ bot contacts list
      $ bot contacts pull contacts.csv
      $ bot contacts push contacts.csv
      $ bot contacts export 6281234567890
    """


@command.command("list", short_help="List the gateway's contacts.")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print objects for a program to read.")
def list_them(folder: Path | None, as_json: bool) -> None:
    """List the gateway's contacts: number, name, e-mail, tags. Each 100 contacts take one request.

    Exit code 0: success. 1: the gateway refused, or the settings are wrong.
    """
    with reach_gateway(folder) as ask:
        contacts = _all(ask)
    if as_json:
        echo_json(contacts)
        return
    for contact in contacts:
        cells = (contact["phone"], contact["name"], contact["email"], ", ".join(contact["tags"]))
        click.echo("  ".join(f"{cell or '-':{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)))
    click.echo(f"{counted(len(contacts), 'contact')}." if contacts else "The gateway has no contacts.")


@command.command("pull", short_help="Write the gateway's contacts to a CSV file.")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@bot_option
def pull(file: Path | None, folder: Path | None) -> None:
    """Write the gateway's contacts to FILE as CSV (phone, name, email, tags), or print them.

    A name that a spreadsheet would run as a formula gets an apostrophe in front; push removes it again.

    Exit code 0: fine. 1: the gateway, the settings or the file are wrong; the file is unchanged then.
    """
    with reach_gateway(folder) as ask:
        contacts = _all(ask)
    text = written_book(contacts)
    if file is None:
        click.echo(text, nl=False)
    else:
        write_whole(file, text.encode())
        click.echo(f"{counted(len(contacts), 'contact')} in {file}.")


@command.command("push", short_help="Create or change contacts from a CSV file.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: new, changed, unchanged, refused.")
@click.pass_context
def push(ctx: click.Context, file: Path, folder: Path | None, as_json: bool) -> None:
    """Create or change the gateway's contacts from FILE: CSV with the columns phone, name, email, tags.

    Only phone is required. An empty cell changes nothing. Tags, separated by semicolons, are added to the
    contact's tags. A contact that needs no change costs no request: an interrupted push can be run again.

    Exit code 0: success. 1: a line of the file or the settings are wrong, or the gateway refused.
    """
    entries = read_book(file)
    with reach_gateway(folder) as ask:
        there = {contact["phone"]: contact for contact in _all(ask)}
        wanted = [(entry, _merged(entry, there.get(entry.phone))) for entry in entries]
        changes = [(entry, contact) for entry, contact in wanted if not _is_unchanged(contact, there.get(entry.phone))]
        new = sum(entry.phone not in there for entry, _ in changes)
        if not as_json:
            click.echo(f"{new} new, {len(changes) - new} to change, {len(entries) - len(changes)} unchanged.")
        refused = _put(ask, changes)
    if as_json:
        counts = {"new": new, "changed": len(changes) - new, "unchanged": len(entries) - len(changes)}
        echo_json({**counts, "refused": [{"line": entry.line, "why": why} for entry, why in refused]})
    for entry, why in refused:
        click.echo(f"{file}:{entry.line}: {why}", err=True)
    ctx.exit(1 if refused else 0)


@command.command("export", short_help="Print all data about a contact.")
@click.argument("contact")
@bot_option
def export(contact: str, folder: Path | None) -> None:
    """Print all data about CONTACT as JSON: the rows of the store's two files by table, and the files that it sent.

    The gateway is not asked: `bot contacts list` shows what it keeps.

    \b
      $ bot contacts export 6281234567890 > contact.json

    Exit code 0: success. 1: there is no data about the contact.
    """
    from bot.store.contact_data import export_as_json

    contact, store = _known_as(folder, contact)
    exported = export_as_json(store, contact)
    if exported is None:
        raise _nothing_kept(contact)
    click.echo(exported)


@command.command("erase", short_help="Erase all data about a contact.")
@click.argument("contact")
@bot_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def erase(contact: str, folder: Path | None, yes: bool) -> None:
    """Erase all data about CONTACT: conversation, trace, messages, events, usage, and the files that it sent.

    Messages that wait are not sent. A running server erases the data; if none runs, the command does it itself. The
    command ends when all is erased; what cannot be reached meanwhile, such as a store of files, is erased later. If the
    contact writes again, the bot does not know it: an opt-out is forgotten, too. The contact at the gateway and your
    backups stay as they are.

    \b
      $ bot contacts erase 6281234567890

    Exit code 0: all is gone. 1: nothing is kept of the contact, or something is not gone yet.
    """
    from bot.store.contact_data import export_contact
    from bot.store.kept_files import FilesUnavailable, kept_files

    contact, store = _known_as(folder, contact)
    rows = export_contact(store, contact)
    try:
        files = kept_files(store).of(contact)
        if not rows and not files:
            raise _nothing_kept(contact)
        sent = counted(len(files), "file")
    except FilesUnavailable as error:
        click.echo(f"its files are erased once they can be reached: {error}", err=True)
        sent = "its files"
    what = f"{counted(sum(map(len, rows.values())), 'row')} and {sent}"
    if not yes:
        click.confirm(f"Erase {what} of {contact} for good?", abort=True)
    ask_or_do(store, EraseContact(contact), _erase_here)
    _wait_until_gone(store, contact)
    click.echo(f"{what} of {contact} are erased. The gateway's own contact and your backups are not touched.")


@immutable
class ContactRow:
    """A line of the file: a contact with what is written of it. An empty cell is None, or no tags."""

    line: int
    phone: str
    name: str | None
    email: str | None
    tags: tuple[str, ...]


def read_book(path: Path) -> list[ContactRow]:
    """Read a file. Raises `CommandRefused` with every problem, as ``file:line: what is wrong``."""
    table = read_table(path)
    strange = [name for name in table.columns if name not in COLUMNS]
    if strange:
        problems = (f'no use for a column "{name}" ({did_you_mean(name, COLUMNS, "take it out")})' for name in strange)
        raise CommandRefused("\n".join(f"{path}:1: there is {problem}" for problem in problems))
    return [_entry(row) for row in table.rows]


def written_book(contacts: Iterable[Mapping[str, Any]]) -> str:
    """The text of a CSV file with these contacts."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for contact in contacts:
        cells = (contact["name"], contact["email"], ";".join(contact["tags"]))
        writer.writerow((contact["phone"], *(guarded_cell(cell or "") for cell in cells)))
    return text.getvalue()


def _entry(row: CsvRow) -> ContactRow:
    name, email, tags = (row.cells.get(column) or "" for column in COLUMNS[1:])
    each = dict.fromkeys(tag.strip() for tag in tags.split(";"))
    return ContactRow(row.line, row.phone, name or None, email or None, tuple(tag for tag in each if tag))


def _all(ask: AskGateway) -> list[Contact]:
    """All contacts, each once. One that is added between two requests moves another to the next page."""
    contacts: dict[str, Contact] = {contact["phone"]: contact for contact in pages(ask, ListGatewayContacts)}
    return list(contacts.values())


def _merged(entry: ContactRow, there: Contact | None) -> dict[str, Any]:
    known = there or {"name": None, "email": None, "tags": ()}
    tags = list(dict.fromkeys((*known["tags"], *entry.tags)))
    name, email = entry.name or known["name"] or entry.phone, entry.email or known["email"]
    return {"phone": entry.phone, "name": name, "email": email, "tags": tags}


def _is_unchanged(contact: Contact, there: Contact | None) -> bool:
    if there is None:
        return False
    named = {**there, "name": there["name"] or there["phone"]}  # a name that is only the number does not count
    return all(contact[field] == named[field] for field in ("name", "email")) and contact["tags"] == list(there["tags"])


def _put(ask: AskGateway, changes: list[tuple[ContactRow, dict[str, Any]]]) -> list[tuple[ContactRow, str]]:
    """Create or change contacts at the gateway. Returns the lines that the gateway refused, and why."""
    refused = []
    done = 0
    on_screen = sys.stderr.isatty()
    with click.progressbar(changes, file=sys.stderr, show_pos=True) if on_screen else nullcontext(changes) as bar:
        try:
            for entry, contact in bar:
                answer = ask(UpsertContact(**contact))
                if answer.refused is not None:
                    refused.append((entry, answer.refused))
                done += 1
        except BotError as error:
            rest = f"{done} of {len(changes)} are done: run the command again to continue"
            raise CommandRefused(f"{error}\n{rest}") from error
    return refused


def _known_as(folder: Path | None, contact: str) -> tuple[str, StoreAddress]:
    """The number, or the `sender_id`, under which the store has a contact; and the store. Raises `CommandRefused`."""
    digits, store = number(contact), store_of(folder)[1]
    if sender_id(contact) is not None and not digits.isdecimal():
        return contact, store
    if not digits.isdecimal():
        raise CommandRefused(f'"{digits}" is no number: write its digits, with the country code')
    with open_store(folder) as reader:
        return reader.sessions.known_as(digits), store


def _nothing_kept(contact: str) -> CommandRefused:
    return CommandRefused(f"nothing is kept of {contact} (`bot sessions` lists who has written)")


def _wait_until_gone(store: StoreAddress, contact: str) -> None:
    from bot.store.store_reader import StoreReader

    until = monotonic() + PATIENCE
    with closing(StoreReader(store)) as reader:
        while any(contact == pending for pending, _ in reader.erasures()):
            if monotonic() > until:
                raise CommandRefused(
                    f"{contact} is erased from {reader.database.place}, and its events and files will be as soon as the server can: "
                    "`bot doctor` says when nothing waits to be erased any more"
                )
            sleep(LOOK_SECONDS)


def _erase_here(store: StoreAddress, request: AnyRequest) -> Done:
    """Erase a contact from both parts of a store or a shard, the log first. After an interruption, run it again."""
    from bot.core.clock import SystemClock
    from bot.store.engine_store import EngineStore
    from bot.store.inbox import InboxReader, InboxWriter

    assert isinstance(request, EraseContact)
    clock, contact = SystemClock(), request.contact
    with (
        closing(EngineStore(store)) as engine,
        closing(InboxWriter(store, clock)) as inbox,
        closing(InboxReader(store)) as log,
    ):
        upto = log.last_seq()
        for known_as in {*engine.erasures.numbers_of(contact), *engine.erasures.asked()}:
            inbox.erase(log.of_contact(known_as, upto))
        engine.erase(contact, upto, clock.now())
        for known_as in engine.erasures.asked():
            engine.erase(known_as, upto, clock.now())
        until = monotonic() + PATIENCE
        while engine.erasures.finish(log.has_of):
            if monotonic() > until:
                raise CommandRefused(
                    f"{contact} is erased from {engine.database.place}, but files of it are left: the next `bot serve` goes on with them"
                )
            sleep(LOOK_SECONDS)
    return Done()
