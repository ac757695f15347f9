"""``bot start``."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from bot.cli.shared.operate import bot_option, operate, phone
from bot.cli.shared.output import echo_json
from bot.core.engine_requests import StartFlow
from bot.core.session import BUSY
from bot.core.text import head
from bot.core.values import value_of_text

OUTCOMES = {  # those of `bot.runtime.operator_requests`
    "started": "{flow} was started for {contact}.",
    "waits": "{contact} is in a flow: {flow} starts when that has ended.",
    "opted_out": "{contact} has opted out: {flow} was not started.",
    "skipped": "{contact} is in a flow: {flow} was not started.",
    "failed": "{detail}",
}


data_option = click.option(
    "--data",
    metavar="NAME=VALUE",
    multiple=True,
    help="A value for a variable of the flow, or a signal's; once for each.",
)


@click.command("start")
@click.argument("flow")
@click.argument("contact")
@data_option
@click.option(
    "--busy",
    type=click.Choice(BUSY),
    help="For a contact who is in a flow; default: as the flow says, else after.",
)
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: contact, flow, outcome, detail.")
@click.pass_context
def command(
    ctx: click.Context,
    flow: str,
    contact: str,
    data: tuple[str, ...],
    busy: str | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Start FLOW for CONTACT, and print the result.

    A VALUE is read as the type of its variable; a value that begins with [ or { is JSON. The running server starts the
    flow; if none runs, its messages wait for the next start. If the contact's 24-hour window is closed, only a template
    can be sent: the command warns if the flow begins with another message.

    \b
      $ bot start visit_reminder 6281234567890
      $ bot start survey 6281234567890 --data visit=4711 --busy skip

    Exit code 0: it was started, waits, or was skipped (also because of an opt-out). 1: it could not be started.
    """
    answer = operate(folder, StartFlow(phone(contact), flow.removeprefix("/"), values_of(data), busy, by="bot start"))
    failed = answer.outcome == "failed"
    if as_json:
        echo_json(asdict(answer))
    else:
        click.echo(OUTCOMES[answer.outcome].format(**asdict(answer)), err=failed)
        if answer.detail and not failed:
            click.echo(f"But {answer.detail}.", err=True)
    ctx.exit(1 if failed else 0)


def values_of(data: tuple[str, ...], option: str = "--data") -> dict[str, Any]:
    """The values that options give by their names. Raises `click.UsageError`."""
    values = {}
    for item in data:
        name, equals, text = item.partition("=")
        if not (name and equals):
            raise click.UsageError(f'{option} {item}: write NAME=VALUE, such as {option} "visit=4711"')
        try:
            values[name.strip()] = value_of_text(text)
        except ValueError:
            raise click.UsageError(f"{option}: {head(text, 40)} is not JSON") from None
    return values
