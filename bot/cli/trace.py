"""``bot trace``."""

from pathlib import Path

import click

from bot.cli.shared.operate import NUMBER, CommandRefused, bot_option, number, open_store
from bot.cli.shared.output import echo_json


@click.command("trace")
@click.argument("contact")
@bot_option
@click.option("-n", "limit", metavar="N", type=NUMBER, default=10, show_default=True, help="The last N turns.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one a turn.")
def command(contact: str, folder: Path | None, limit: int, as_json: bool) -> None:
    """Show the last turns of CONTACT: the event, the rule that handled it, and the steps that ran.

    Each step shows its outcome and the next step, each condition its value. Then follow the messages with their status
    (delivered, read, failed), the calls, and how long the turn took. Turns are kept for 7 days.

    \b
      $ bot trace 6281234567890 -n 3

    Exit code 0: success. 1: there is no store yet, or no turn of the contact is kept.
    """
    from bot.cli.shared.explain import turn_lines

    with open_store(folder) as store:
        contact = store.sessions.known_as(number(contact))
        turns = store.trace.turns(contact, limit)
    if not turns:
        raise CommandRefused(f"no turn of {contact} is kept (`bot sessions` lists who has written)")
    if as_json:
        echo_json(turns)
        return
    for turn in turns:
        click.echo("\n".join(turn_lines(turn)))
