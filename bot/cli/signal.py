"""``bot signal``."""

from dataclasses import asdict
from pathlib import Path

import click

from bot.cli.shared.operate import CommandRefused, bot_option, open_store, operate, phone
from bot.cli.shared.output import echo_json
from bot.cli.start import data_option, values_of
from bot.core.engine_requests import ReportSignal

OUTCOMES = {  # those of `bot.core.engine_answers.SignalReported`
    "heard": "The conversation of {contact} has received {signal}.",
    "waits": "{signal} waits: {contact} gets it when a call has ended, an agent has given the conversation back, or its flow goes on.",
    "unheard": "No step of {contact} waits for {signal}: nothing has happened.",
    "failed": "{detail}",
}


@click.command("signal")
@click.argument("name")
@click.argument("contact")
@data_option
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: contact, signal, outcome, detail.")
@click.pass_context
def command(
    ctx: click.Context, name: str, contact: str, data: tuple[str, ...], folder: Path | None, as_json: bool
) -> None:
    """Report the signal NAME to CONTACT's conversation, and print the result.

    \b
      $ bot signal paid 6281234567890 --data amount=12.50

    Exit code 0: a step took the signal, or it waits. 1: no step waits for it, or it is wrong.
    """
    contact = phone(contact)
    with open_store(folder) as store:
        if not store.keeps(contact):
            raise CommandRefused(f"{contact} is not known to this bot (`bot sessions` lists who is)")
    answer = operate(folder, ReportSignal(contact, name, values_of(data), by="bot signal"))
    done = answer.outcome in ("heard", "waits")
    if as_json:
        echo_json(asdict(answer))
    else:
        click.echo(OUTCOMES[answer.outcome].format(**asdict(answer)), err=not done)
    ctx.exit(0 if done else 1)
