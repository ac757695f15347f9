"""``bot contacts``."""

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from bot.cli.address_book import Entry, read_book, written_book
from bot.cli.operate import Ask, Refused, bot_option, pages, reach_gateway
from bot.cli.output import counted, echo_json
from bot.cli.privacy import erase, export
from bot.cli.whole_file import write_whole
from bot.core.errors import BotError

Contact = Mapping[str, Any]
_WIDTHS = (16, 24, 28, 1)


class _InThisOrder(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group("contacts", cls=_InThisOrder)
def command() -> None:
    """The contacts that the gateway keeps (list, pull, push), and what this bot keeps of one (export, erase).

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
    """List the gateway's contacts: number, name, e-mail, tags. One request for 100 of them.

    Exit code 0: fine. 1: the gateway or the settings are at fault.
    """
    with reach_gateway(folder) as ask:
        contacts = _all(ask)
    if as_json:
        echo_json(contacts)
        return
    for contact in contacts:
        cells = (contact["phone"], contact["name"], contact["email"], ", ".join(contact["tags"]))
        click.echo("  ".join(f"{cell or '-':{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)))
    click.echo(f"{counted(len(contacts), 'contact')}.")


@command.command("pull", short_help="Write the gateway's contacts to a CSV file.")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@bot_option
def pull(file: Path | None, folder: Path | None) -> None:
    """Write the gateway's contacts to FILE as CSV (phone, name, email, tags), or print them.

    A name that a spreadsheet would take for a formula gets an apostrophe in front; push takes it off again.

    Exit code 0: fine. 1: the gateway, the settings or the file are at fault; the file is as it was then.
    """
    with reach_gateway(folder) as ask:
        contacts = _all(ask)
    text = written_book(contacts)
    if file is None:
        click.echo(text, nl=False)
    else:
        write_whole(file, text.encode())
        click.echo(f"{counted(len(contacts), 'contact')} in {file}.")


@command.command("push", short_help="Create or change contacts as a CSV file says.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: new, changed, unchanged, refused.")
@click.pass_context
def push(ctx: click.Context, file: Path, folder: Path | None, as_json: bool) -> None:
    """Create or change the gateway's contacts as FILE says: CSV with the columns phone, name, email, tags.

    Only phone is needed. An empty cell changes nothing; tags (semicolons between them) are added to those that
    the contact has. What is so already costs no request, so a push that was stopped goes on when run again.

    Exit code 0: fine. 1: a line of the file, the gateway or the settings are at fault.
    """
    entries = read_book(file)
    with reach_gateway(folder) as ask:
        there = {contact["phone"]: contact for contact in _all(ask)}
        wanted = [(entry, _merged(entry, there.get(entry.phone))) for entry in entries]
        changes = [(entry, contact) for entry, contact in wanted if not _is_so(contact, there.get(entry.phone))]
        new = sum(entry.phone not in there for entry, _ in changes)
        if not as_json:
            click.echo(f"{new} new, {len(changes) - new} to change, {len(entries) - len(changes)} as they should be.")
        refused = _put(ask, changes)
    if as_json:
        counts = {"new": new, "changed": len(changes) - new, "unchanged": len(entries) - len(changes)}
        echo_json({**counts, "refused": [{"line": entry.line, "why": why} for entry, why in refused]})
    for entry, why in refused:
        click.echo(f"{file}:{entry.line}: {why}", err=True)
    ctx.exit(1 if refused else 0)


command.add_command(export)
command.add_command(erase)


def _all(ask: Ask) -> list[Contact]:
    """Every contact once: one that comes in meanwhile moves others to the next page."""
    contacts: dict[str, Contact] = {contact["phone"]: contact for contact in pages(ask, "contacts")}
    return list(contacts.values())


def _merged(entry: Entry, there: Contact | None) -> dict[str, Any]:
    known = there or {"name": None, "email": None, "tags": ()}
    tags = list(dict.fromkeys((*known["tags"], *entry.tags)))
    name, email = entry.name or known["name"], entry.email or known["email"]
    return {"phone": entry.phone, "name": name, "email": email, "tags": tags}


def _is_so(contact: Contact, there: Contact | None) -> bool:
    if there is None:
        return False
    wanted, known = ((c["name"], c["email"], list(c["tags"])) for c in (contact, there))
    return wanted == known


def _put(ask: Ask, changes: list[tuple[Entry, dict[str, Any]]]) -> list[tuple[Entry, str]]:
    """Have each contact put; returns what the gateway refused, and why."""
    refused = []
    done = 0
    on_screen = sys.stderr.isatty()
    with click.progressbar(changes, file=sys.stderr, show_pos=True) if on_screen else nullcontext(changes) as bar:
        try:
            for entry, contact in bar:
                answer = ask({"call": "put_contact", **contact})
                if "refused" in answer:
                    refused.append((entry, str(answer["refused"])))
                done += 1
        except BotError as error:
            rest = f"{done} of {len(changes)} are done: run it again, and it goes on from there"
            raise Refused(f"{error}\n{rest}") from error
    return refused
