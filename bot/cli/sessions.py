"""``bot sessions``."""

from dataclasses import asdict
from pathlib import Path

import click

from bot.cli.shared.operate import NUMBER, CommandRefused, bot_option, number, open_store, operate
from bot.cli.shared.output import counted, echo_json, echo_lines, local_time
from bot.core.engine_requests import ResetContact

RESET = "reset"


@click.command("sessions")
@click.argument("words", metavar="[CONTACT | reset CONTACT]", nargs=-1)
@bot_option
@click.option("-n", "limit", metavar="N", type=NUMBER, default=100, show_default=True, help="At most N contacts.")
@click.option("--after", metavar="CONTACT", default="", help="Continue after this contact.")
@click.option("--json", "as_json", is_flag=True, help="Print objects for a program to read.")
def command(words: tuple[str, ...], folder: Path | None, limit: int, after: str, as_json: bool) -> None:
    """List the contacts with the step that each is at. With CONTACT, show one contact: its flows and its variables.

    "reset CONTACT" ends all flows of the contact; its next message starts again. The running server does it; if none
    runs, the command does it itself.

    \b
      $ bot sessions
      $ bot sessions 6281234567890
      $ bot sessions reset 6281234567890

    Exit code 0: success. 1: there is no store yet, or no such contact.
    """
    match words:
        case ():
            _list(folder, after, limit, as_json)
        case ("reset", contact):
            answer = operate(folder, ResetContact(number(contact), by="bot sessions"))
            if as_json:
                echo_json(asdict(answer))
            else:
                click.echo(f"{number(contact)} is in no flow now.")
        case (contact,) if contact != RESET:
            _show(folder, number(contact), as_json)
        case _:
            raise click.UsageError("write bot sessions, bot sessions CONTACT or bot sessions reset CONTACT")


def _list(folder: Path | None, after: str, limit: int, as_json: bool) -> None:
    with open_store(folder) as store:
        sessions, total = store.sessions.summaries(number(after), limit), store.counts()["sessions"]
    if as_json:
        echo_json(sessions)
        return
    for session in sessions:
        where = f"{session.flow}/{session.step}" if session.flow else "-"
        wakes = f"  wakes at {local_time(session.wake_at)}" if session.wake_at else ""
        out = "  opted out" if session.opted_out else ""
        click.echo(f"{session.contact:16}  {where:32}  since {local_time(session.updated_at)}{wakes}{out}")
    if not total:
        click.echo("Nobody has written to the bot yet.")
        return
    click.echo(f"{counted(total, 'contact')}." + (f" {len(sessions)} are shown." if len(sessions) < total else ""))


def _show(folder: Path | None, contact: str, as_json: bool) -> None:
    from bot.cli.shared.explain import session_lines

    with open_store(folder) as store:
        contact = store.sessions.known_as(contact)
        session = store.sessions.get(contact)
    if session is None:
        raise CommandRefused(f"{contact} has never written to this bot (`bot sessions` lists who has)")
    if as_json:
        echo_json(session)
        return
    click.echo(contact + (f", {session.name}" if session.name else ""))
    echo_lines(session_lines(session))
    if session.last_inbound is not None:
        click.echo(f"last message at {local_time(session.last_inbound)}")
