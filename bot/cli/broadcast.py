"""``bot broadcast``."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

import click

from bot.cli.mailing import Recipient, header, read_recipients
from bot.cli.operate import Refused, bot_option, open_store, operate, reach_gateway, store_of
from bot.cli.output import counted
from bot.core.errors import BotError
from bot.settings import read_limits

if TYPE_CHECKING:
    from bot.store.reader import StoreReader

CHUNK_BYTES = 48 * 1024  # of recipients, in a request that may have 64 KiB
LOOK_EVERY = 0.5  # seconds
ATTENTION = ("failed", "unknown")


@click.command("broadcast")
@click.argument("template", metavar="[TEMPLATE", required=False)
@click.argument(
    "file", metavar="CONTACTS.CSV]", required=False, type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
@click.option("--language", default="en", show_default=True, help="The template's language.")
@click.option("--body", metavar="TEXT", multiple=True, help="A parameter, with {{column}} for a cell; once for each.")
@click.option("--header", "head", metavar="TEXT|URL", help="The header's parameter: a text, or the address of a file.")
@click.option("--name", help="What the broadcast is called.  [default: the template and the file]")
@click.option("--stop", "stopped", metavar="NAME", help="Stop the broadcast of this name, and no more.")
@click.option("--resume", "resumed", metavar="NAME", help="Go on with the broadcast of this name, and no more.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--wait/--no-wait", default=True, help="Show the progress, or leave it to the server.")
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
    stopped: str | None,
    resumed: str | None,
    yes: bool,
    wait: bool,
    folder: Path | None,
) -> None:
    """Send TEMPLATE to the contacts in the file: a column "phone", and columns for the template's parameters.

    Columns named 1, 2, ... are the body's parameters; or say with --body what each is. The running server sends, in
    the time that replies leave. A contact with the tag "opted_out" gets nothing, and nobody gets a broadcast twice:
    run the same command again to go on, or with another --name to send once more. --stop takes back all that is
    not being sent; it goes on with --resume only. `bot queue` shows the names.

    \b
      $ bot broadcast sale contacts.csv --body "{{name}}" --body "20 %"
      $ bot broadcast --stop "sale: contacts"

    Exit code 0: fine. 1: the file or the bot is at fault, you said no, or messages could not be sent.
    """
    given = [what for what in (stopped, resumed, template) if what is not None]
    if len(given) != 1 or (template is None) != (file is None):
        raise click.UsageError("write TEMPLATE CONTACTS.CSV, or --stop NAME, or --resume NAME")
    if stopped is not None:
        _stop(folder, stopped)
    elif resumed is not None:
        answer = operate(folder, {"do": "resume", "name": resumed})
        click.echo(f"{counted(answer['resumed'], 'contact')} had been left out, and will get it.")
        _follow(ctx, folder, resumed, wait)
    elif template is not None and file is not None:
        name = name or f"{template}: {file.stem}"
        named = {"name": template, "language": language} | ({"header": header(head)} if head else {})
        _begin(folder, name, named, file, body, yes)
        _follow(ctx, folder, name, wait)


def _begin(
    folder: Path | None, name: str, template: Mapping[str, Any], file: Path, body: Sequence[str], yes: bool
) -> None:
    """Have the file's contacts added to the broadcast, once it has been shown what that means."""
    recipients = read_recipients(file, body)
    _hold_against_list(folder, template, recipients[0], file)
    with open_store(folder) as store:
        counts = store.broadcast(name)
    if left := counts.get("stopped"):
        raise Refused(
            f'The broadcast "{name}" was stopped before {counted(left, "contact")} had it. To go on with it, write '
            f'bot broadcast --resume "{name}"; for another one, --name. Nothing was sent.'
        )
    _preview(folder, template, recipients, sum(counts.values()))
    if not yes:
        click.confirm("Send it?", abort=True)
    _add(folder, {"do": "broadcast", "name": name, "template": template}, recipients)


def _stop(folder: Path | None, name: str) -> None:
    answer = operate(folder, {"do": "stop", "name": name})
    click.echo(f"{counted(answer['stopped'], 'contact')} will not get it.")
    if answer["in_flight"]:
        click.echo(f"{counted(answer['in_flight'], 'message')} may have been sent: that ends as it ends.")


def _follow(ctx: click.Context, folder: Path | None, name: str, wait: bool) -> None:
    """Show how the broadcast goes on, and end with what came of it."""
    if _server(folder) is None:
        click.echo("No server runs: it begins when `bot serve` does.")
    elif wait:
        with open_store(folder) as store:
            counts = _watch(folder, store, name)
        click.echo(_summary(counts))
        ctx.exit(1 if any(counts.get(outcome) for outcome in ATTENTION) else 0)


def _hold_against_list(folder: Path | None, template: Mapping[str, Any], first: Recipient, file: Path) -> None:
    """Say what the gateway would refuse, before anything is sent. Raises `Refused` where that is certain."""
    from bot.cli.templates import both_lists, infos
    from bot.flow.notices import TemplateUse, template_uses
    from bot.lang.nodes import Mark
    from bot.program import FaultyBot, load_program
    from bot.runtime.template_check import misfits_of
    from bot.steps.notice import Notice, Parameter

    notice = Notice(
        template["name"],
        template["language"],
        Parameter(template["header"]["type"], {}) if "header" in template else None,
        tuple(Parameter("text", {}) for _ in first["body"]),
    )
    try:
        with reach_gateway(folder) as ask:
            listed = infos(both_lists(ask))
    except BotError as error:
        click.echo(f"{notice.name} could not be looked up in the gateway's list: {error}", err=True)
        return
    uses: list[TemplateUse] = []
    with suppress(FaultyBot):  # how else the flows fill it is a help, and no more
        uses = list(template_uses(load_program(store_of(folder)[0]).library))
    found = misfits_of(TemplateUse(Mark(str(file), 1, 1), notice), uses, listed)
    if certain := [f"{misfit.what} ({misfit.fix})" for misfit in found if misfit.certain]:
        raise Refused("\n".join((*certain, "Nothing was sent.")))
    for misfit in found:
        click.echo(f"perhaps: {misfit.what} ({misfit.fix})", err=True)


def _preview(folder: Path | None, template: Mapping[str, Any], recipients: Sequence[Recipient], known: int) -> None:
    from bot.runtime.pacing import campaign_time

    first = recipients[0]
    texts = "".join(f' "{text}"' for text in first["body"])
    click.echo(f"{template['name']} ({template['language']}) to {first['contact']}:{texts or ' no parameters'}")
    per_minute, per_day = read_limits(os.environ, store_of(folder)[0].settings())
    takes = campaign_time(len(recipients), per_minute, per_day)
    limits = f"{counted(per_minute, 'request')} a minute and {per_day:,} a day"
    click.echo(f"{counted(len(recipients), 'contact')}: at {limits} that takes {_in_words(takes)} or more.")
    if known:
        click.echo(f"The broadcast has {counted(known, 'contact')} already; they do not get it twice.")


def _in_words(duration: timedelta) -> str:
    hours, seconds = divmod(duration.seconds, 3600)
    parts = ((duration.days, "day"), (hours, "hour"), (-(-seconds // 60), "minute"))
    return ", ".join(counted(number, what) for number, what in parts if number) or "a moment"


def _add(folder: Path | None, request: dict[str, Any], recipients: Sequence[Recipient]) -> None:
    total = {"added": 0, "known": 0, "opted_out": 0}
    for chunk in _chunks(recipients):
        answer = operate(folder, {**request, "recipients": chunk})
        total = {key: number + int(answer[key]) for key, number in total.items()}
    click.echo(f"{total['added']:,} added, {total['known']:,} known, {total['opted_out']:,} opted out.")


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


def _server(folder: Path | None) -> dict[str, Any] | None:
    """How the server that runs says it is; None where none does."""
    from bot.local import NotRunning, ask

    try:
        return ask(store_of(folder)[1], {"do": "status"})
    except NotRunning:
        return None


def _trouble(folder: Path | None) -> str:
    server = _server(folder)
    if server is None:
        return "The server has stopped."
    return "\n".join(f"{alarm['what']} ({alarm['advice']})" for alarm in server.get("alarms", ()))


def _watch(folder: Path | None, store: "StoreReader", name: str) -> dict[str, int]:
    """Show the progress until nobody waits, the server has gone or can send nothing, or Ctrl-C; how it stands then."""
    counts = store.broadcast(name)
    with click.progressbar(length=sum(counts.values()), label=name) as bar:
        try:
            while counts.get("waiting"):
                if trouble := _trouble(folder):
                    click.echo(f"\n{trouble}", err=True)
                    break
                bar.update(_done(counts) - bar.pos)
                sleep(LOOK_EVERY)
                counts = store.broadcast(name)
        except KeyboardInterrupt:
            pass
        bar.update(_done(counts) - bar.pos)
    return counts


def _done(counts: Mapping[str, int]) -> int:
    return sum(number for outcome, number in counts.items() if outcome not in ("waiting", "stopped"))


def _summary(counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{number:,} {outcome.replace('_', ' ')}" for outcome, number in sorted(counts.items()))
    goes_on = " What waits is sent whenever a server runs." if counts.get("waiting") else ""
    why = " `bot queue` says why." if any(counts.get(outcome) for outcome in ATTENTION) else ""
    stopped = " It was stopped: --resume goes on with it." if counts.get("stopped") else ""
    return f"{told}.{goes_on}{stopped}{why}"
