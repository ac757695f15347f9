"""``bot broadcast``."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from bot.cli.broadcast_state import follow, show
from bot.cli.mailing import Recipient, header, read_recipients
from bot.cli.operate import Refused, bot_option, open_store, operate, reach_gateway, store_of
from bot.cli.output import counted
from bot.core.errors import BotError
from bot.settings import read_limits

CHUNK_BYTES = 48 * 1024  # of recipients, in a request that may have 64 KiB
USAGE = (
    "write TEMPLATE CONTACTS.CSV, with --edit NAME to correct a broadcast; or --stop NAME, or --resume NAME, or the "
    "NAME alone to see how it stands"
)


@click.command("broadcast")
@click.argument("template", metavar="[TEMPLATE", required=False)
@click.argument(
    "file", metavar="CONTACTS.CSV]", required=False, type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
@click.option("--language", default="en", show_default=True, help="The template's language.")
@click.option("--body", metavar="TEXT", multiple=True, help="A parameter, with {{column}} for a cell; once for each.")
@click.option("--header", "head", metavar="TEXT|URL", help="The header's parameter: a text, or the address of a file.")
@click.option("--name", help="What the broadcast is called.  [default: the template and the file]")
@click.option(
    "--edit", "edited", metavar="NAME", help="Correct the broadcast of this name: template, parameters, file."
)
@click.option("--stop", "stopped", metavar="NAME", help="Stop the broadcast of this name, and no more.")
@click.option("--resume", "resumed", metavar="NAME", help="Go on with the broadcast of this name, and no more.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--wait/--no-wait", default=True, help="Show the progress, or leave it to the server.")
@click.option("--json", "as_json", is_flag=True, help="With a NAME alone: print an object with every recipient.")
@bot_option
@click.pass_context
def command(
    ctx: click.Context,
    template: str | None,
    file: Path | None,
    language: str,
    body: tuple[str, ...],
    head: str | None,
    name: str | None,
    edited: str | None,
    stopped: str | None,
    resumed: str | None,
    yes: bool,
    wait: bool,
    as_json: bool,
    folder: Path | None,
) -> None:
    """Send TEMPLATE to the contacts in the file: a column "phone", and columns for the template's parameters.

    Columns named 1, 2, ... are the body's parameters; or say with --body what each is. The running server sends, in
    the time that replies leave. The first message goes alone, the others once the gateway has taken it. Who has
    opted out gets nothing, and nobody gets a broadcast twice: run the same command again to go on, or with
    another --name to send once more.

    What the gateway refuses pauses a broadcast. --edit NAME corrects it for those who did not get it, and --resume
    NAME goes on. --stop takes back all that is not being sent. NAME alone shows how it stands; `bot queue` shows the
    names.

    \b
      $ bot broadcast sale contacts.csv --body "{{name}}" --body "20 %"
      $ bot broadcast "sale: contacts"
      $ bot broadcast sale contacts.csv --body "20 %" --edit "sale: contacts"
      $ bot broadcast --resume "sale: contacts"

    Exit code 0: fine. 1: the file or the bot is at fault, you said no, or messages could not be sent.
    """
    given = [what for what in (stopped, resumed, template) if what is not None]
    if len(given) != 1 or (template is None and file is not None) or (edited is not None and (file is None or name)):
        raise click.UsageError(USAGE)
    if stopped is not None:
        _stop(folder, stopped)
    elif resumed is not None:
        answer = operate(folder, {"do": "resume", "name": resumed})
        click.echo(f"{counted(answer['resumed'], 'contact')} had been left out, and will get it.")
        follow(ctx, folder, resumed, wait)
    elif template is not None and file is None:
        show(folder, template, as_json)
    elif template is not None and file is not None:
        named = {"name": template, "language": language} | ({"header": header(head)} if head else {})
        recipients = read_recipients(file, body)
        _check_template(folder, named, recipients[0], file)
        if edited is not None:
            _edit(folder, edited, named, recipients, yes)
            return
        name = name or f"{template}: {file.stem}"
        _begin(folder, name, named, recipients, yes)
        follow(ctx, folder, name, wait)


def _begin(
    folder: Path | None, name: str, template: Mapping[str, Any], recipients: Sequence[Recipient], yes: bool
) -> None:
    """Have the contacts added to the broadcast, once it has been shown what that means."""
    with open_store(folder) as store:
        counts = store.outcomes(name)
    for state in ("stopped", "paused"):
        if left := counts.get(state):
            raise Refused(
                f'The broadcast "{name}" was {state} before {counted(left, "contact")} had it. To go on with it, write '
                f'bot broadcast --resume "{name}"; to correct it first, --edit "{name}"; for another one, --name. '
                "Nothing was sent."
            )
    _preview(folder, template, recipients)
    if counts:
        known = counted(sum(counts.values()), "contact")
        click.echo(f"The broadcast has {known} already; they do not get it twice.")
    if not yes:
        click.confirm("Send it?", abort=True)
    request = {"do": "broadcast", "name": name, "template": template}
    total = _in_chunks(folder, request, recipients, {"added": 0, "known": 0, "differ": 0, "opted_out": 0})
    click.echo(f"{total['added']:,} added, {total['known']:,} known, {total['opted_out']:,} opted out.")
    if total["differ"]:
        differ = counted(total["differ"], "contact")
        click.echo(f'{differ} in it have other parameters, and keep them: --edit "{name}" corrects that.', err=True)


def _edit(
    folder: Path | None, name: str, template: Mapping[str, Any], recipients: Sequence[Recipient], yes: bool
) -> None:
    """Have a broadcast corrected. Until that is whole, and the broadcast is resumed, nothing of it is sent."""
    with open_store(folder) as store:
        if store.broadcast(name) is None:
            raise Refused(f'there is no broadcast "{name}" (`bot queue` lists those that are not done)')
        left = {
            contact for contact, outcome, _ in store.recipients(name) if outcome in ("waiting", "paused", "stopped")
        }
    _preview(folder, template, recipients)
    if gone := left - {recipient["contact"] for recipient in recipients}:
        click.echo(f"{counted(len(gone), 'contact')} who did not get it and are not in the file will not get it.")
    if not yes:
        click.confirm("Correct it?", abort=True)
    begun = operate(folder, {"do": "edit", "name": name, "template": template})
    request = {"do": "correct", "name": name, "edit": begun["edit"]}
    kinds = ("corrected", "added", "had_it", "unknown", "opted_out")
    total = _in_chunks(folder, request, recipients, dict.fromkeys(kinds, 0))
    total |= operate(folder, {"do": "end_edit", "name": name, "edit": begun["edit"]})
    click.echo(", ".join(f"{number:,} {kind.replace('_', ' ')}" for kind, number in total.items()) + ".")
    if begun["in_flight"]:
        click.echo(
            f"{counted(begun['in_flight'], 'message')} may have been sent without the correction: it is too late to take that back."
        )
    click.echo(f'It is stopped. To go on with it: bot broadcast --resume "{name}"')


def _stop(folder: Path | None, name: str) -> None:
    answer = operate(folder, {"do": "stop", "name": name})
    click.echo(f"{counted(answer['stopped'], 'contact')} will not get it.")
    if answer["in_flight"]:
        click.echo(f"{counted(answer['in_flight'], 'message')} may have been sent: it is too late to take that back.")


def _check_template(folder: Path | None, template: Mapping[str, Any], first: Recipient, file: Path) -> None:
    """Say what the gateway would refuse, before anything is sent. Raises `GatewayRefused` where that is certain."""
    from bot.cli.templates import both_lists, infos
    from bot.flow.library import TemplateUse, template_uses
    from bot.lang.nodes import Mark
    from bot.program import FaultyBot, load_program
    from bot.runtime.template_check import misfits_of
    from bot.steps.template_message import TemplateMessage, TemplateParameter

    notice = TemplateMessage(
        template["name"],
        template["language"],
        TemplateParameter(template["header"]["type"], {}) if "header" in template else None,
        tuple(TemplateParameter("text", {}) for _ in first["body"]),
    )
    try:
        with reach_gateway(folder) as ask:
            listed = infos(both_lists(ask))
    except BotError as error:
        click.echo(f"{notice.name} could not be looked up in the gateway's list: {error}", err=True)
        click.echo("The first message will show whether it is right: the others wait for it.", err=True)
        return
    uses: list[TemplateUse] = []
    with suppress(FaultyBot):  # how else the flows fill it is a help, and no more
        uses = list(template_uses(load_program(store_of(folder)[0]).library))
    found = misfits_of(TemplateUse(Mark(str(file), 1, 1), notice), uses, listed)
    if certain := [f"{misfit.what} ({misfit.fix})" for misfit in found if misfit.certain]:
        raise Refused("\n".join((*certain, "Nothing was sent.")))
    for misfit in found:
        click.echo(f"perhaps: {misfit.what} ({misfit.fix})", err=True)


def _preview(folder: Path | None, template: Mapping[str, Any], recipients: Sequence[Recipient]) -> None:
    from bot.runtime.rate_limiter import campaign_time

    first = recipients[0]
    texts = "".join(f' "{text}"' for text in first["body"])
    click.echo(f"{template['name']} ({template['language']}) to {first['contact']}:{texts or ' no parameters'}")
    per_minute, per_day = read_limits(os.environ, store_of(folder)[0].settings())
    takes = campaign_time(len(recipients), per_minute, per_day)
    limits = f"{counted(per_minute, 'request')} a minute and {per_day:,} a day"
    click.echo(f"{counted(len(recipients), 'contact')}: at {limits} that takes {_in_words(takes)} or more.")


def _in_words(duration: timedelta) -> str:
    hours, seconds = divmod(duration.seconds, 3600)
    parts = ((duration.days, "day"), (hours, "hour"), (-(-seconds // 60), "minute"))
    return ", ".join(counted(number, what) for number, what in parts if number) or "a moment"


def _in_chunks(
    folder: Path | None, request: Mapping[str, Any], recipients: Sequence[Recipient], total: dict[str, int]
) -> dict[str, int]:
    """Have a request done for all recipients, in pieces that the server takes. Returns the sum of its answers."""
    for chunk in _chunks(recipients):
        answer = operate(folder, {**request, "recipients": chunk})
        total = {key: number + int(answer[key]) for key, number in total.items()}
    return total


def _chunks(recipients: Sequence[Recipient]) -> Iterator[list[Recipient]]:
    chunk: list[Recipient] = []
    size = 0
    for recipient in recipients:
        length = len(json.dumps(recipient)) + 2
        if length > CHUNK_BYTES:
            raise Refused(f"the parameters for {recipient['contact']} are too long")
        if size + length > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(recipient)
        size += length
    yield chunk
