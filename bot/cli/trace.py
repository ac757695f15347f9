"""``bot trace``."""

from pathlib import Path

import click

from bot.cli.operate import CommandRefused, bot_option, number, open_store
from bot.cli.output import echo_json


@click.command("trace")
@click.argument("contact")
@bot_option
@click.option(
    "-n", "limit", metavar="N", type=click.IntRange(min=1), default=10, show_default=True, help="The last N turns."
)
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one a turn.")
def command(contact: str, folder: Path | None, limit: int, as_json: bool) -> None:
    """Show the last turns of CONTACT: what happened, which rule took it, the steps that were gone through.

    Each step shows its outcome and where that led, each condition what it came to; then what was sent (and how far
    it has got: delivered, read, failed) and called, and how long the turn took. Turns are kept for 7 days.

    \b
      $ bot trace 6281234567890 -n 3

    Exit code 0: fine. 1: there is no store yet, or nothing is known of the contact.
    """
    from bot.cli.explain import turn_lines

    with open_store(folder) as store:
        turns = store.trace(number(contact), limit)
    if not turns:
        raise CommandRefused(f"no turn of {number(contact)} is kept (`bot sessions` lists who has written)")
    if as_json:
        echo_json(turns)
        return
    for turn in turns:
        click.echo("\n".join(turn_lines(turn)))
