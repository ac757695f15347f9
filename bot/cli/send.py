"""``bot send``."""

from dataclasses import asdict
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import click

from bot.cli.shared.csv_rows import header
from bot.cli.shared.operate import bot_option, open_store, operate, phone, store_of
from bot.cli.shared.output import echo_json
from bot.core.engine_requests import SendMessage
from bot.store.database import shard_of

PATIENCE = 20.0  # seconds
LOOK_EVERY = 0.1
OUTCOMES = {  # those of `bot.core.events.SendEnded`, and one before it
    "sent": "The message to {} was sent.",
    "replaced": "The 24-hour window is closed: the window_closed template was sent to {} instead.",
    "superseded": "The 24-hour window is closed: {} got the window_closed template before, so nothing was sent now.",
    "contact_limit": "The contact's share of the day (BOT_GATEWAY_PER_CONTACT) is used up: nothing was sent to {}.",
    "failed": "The message to {} was not sent: {}",
    "waiting": "The message to {} waits to be sent: `bot queue` shows it.",
    "accepted": "The message to {} is accepted, and is sent as soon as that is possible: {}. `bot trace` and `bot queue` show its outcome.",
    "unknown": "It is unknown whether the message to {} was sent: {}",
}


@click.command("send")
@click.argument("contact")
@click.argument("text", required=False)
@click.option(
    "--template", metavar="NAME", help="Send this template: the only message while the 24-hour window is closed."
)
@click.option("--language", default="en", show_default=True, help="The template's language.")
@click.option("--body", metavar="TEXT", multiple=True, help="A parameter of the template; once for each.")
@click.option("--header", "head", metavar="TEXT|URL", help="The header's parameter: a text, or the address of a file.")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: contact, id, outcome, detail.")
@click.pass_context
def command(
    ctx: click.Context,
    contact: str,
    text: str | None,
    template: str | None,
    language: str,
    body: tuple[str, ...],
    head: str | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Send TEXT or a template to CONTACT, and report the result.

    The contact's conversation does not change. The running server sends the message; if none runs, the message waits
    for the next start.

    \b
      $ bot send 6281234567890 "Your parcel is here."
      $ bot send 6281234567890 --template parcel --body 4711

    Exit code 0: it was sent, or a template in its place, or it waits. 1: it could not be sent, or that is unknown: then
    the command says how to find out.
    """
    if (text is None) == (template is None):
        raise click.UsageError("write a text, or --template NAME")
    if template is None and (body or head):
        raise click.UsageError(
            "--body and --header are parameters of a template: add --template NAME in place of the text"
        )
    if template is None:
        request = SendMessage(phone(contact), text, by="bot send")
    else:
        filled: dict[str, Any] = {"name": template, "language": language, "body": list(body)}
        filled |= {"header": header(head)} if head else {}
        request = SendMessage(phone(contact), template=filled, by="bot send")
    answer = operate(folder, request)
    outcome, detail = _outcome(folder, answer.contact, answer.id)
    lost = outcome in ("failed", "unknown")
    if as_json:
        echo_json({**asdict(answer), "outcome": outcome, "detail": detail})
    else:
        click.echo(_in_words(answer.contact, outcome, detail), err=lost)
    ctx.exit(1 if lost else 0)


def _in_words(contact: str, outcome: str, detail: str) -> str:
    from bot.runtime.sending import WINDOW_CLOSED

    if detail.startswith(WINDOW_CLOSED):
        detail = f"{detail} (a template can be sent at any time: --template NAME)"
    return OUTCOMES[outcome].format(contact, detail)


def _outcome(folder: Path | None, contact: str, id: int) -> tuple[str, str]:
    from bot.server.local_socket import answers
    from bot.store.files import StoreUnavailable

    shard = shard_of(store_of(folder)[1], contact)
    until = monotonic() + PATIENCE
    try:
        with open_store(folder) as store:
            while (found := store.messages.outcome(id)) is None:
                if monotonic() > until or not answers(shard):
                    return "waiting", ""
                sleep(LOOK_EVERY)
    except StoreUnavailable as error:
        return "accepted", str(error)
    return found
