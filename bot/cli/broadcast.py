"""``bot broadcast``."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bot.cli.shared.contact_times import moments, moments_in_words, over_in_words, read_contacts_time, with_times
from bot.cli.shared.csv_rows import BodyTexts, FlowValues, Recipient, header, read_recipients, read_table
from bot.cli.shared.operate import (
    CommandRefused,
    OrderedGroup,
    bot_option,
    loaded,
    open_store,
    operate,
    reach_gateway,
    served_bot,
    span,
    store_of,
    used_bot,
    user_name,
)
from bot.cli.shared.output import counted, echo_json, echo_lines
from bot.cli.start import values_of
from bot.core.engine_answers import EngineRefused, RecipientsAdded, RecipientsCorrected, Status
from bot.core.engine_requests import (
    AddRecipients,
    AskStatus,
    BeginCorrection,
    CorrectRecipients,
    EndCorrection,
    ResumeBroadcast,
    StopBroadcast,
)
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.text import parameter_line, printable
from bot.language.source.problems import did_you_mean
from bot.language.source.wall_clock import duration_words
from bot.loading.folder import Folder
from bot.server.shard_requests import SILENT
from bot.settings import read_limits
from bot.store.broadcast_rows import NOT_YET, REACHED_FIELDS, outcome_for_people, reached_totals, without_message

if TYPE_CHECKING:
    from bot.store.broadcast_rows import Reached
    from bot.store.store_reader import StoreReader


CHUNK_BYTES = 48 * 1024  # of recipients, in a request that may have 64 KiB

Counts = TypeVar("Counts", RecipientsAdded, RecipientsCorrected)


F = TypeVar("F", bound=Callable[..., Any])


@click.group("broadcast", cls=OrderedGroup)
def command() -> None:
    """Send a template to many contacts, or start a flow for each.

    The running server sends; replies go first. The first message is sent alone, the others when the gateway has
    accepted it. Contacts who have opted out get nothing, and nobody gets a broadcast twice: run the same command again
    to continue, or with another --name to send again. Refusals of the gateway pause a broadcast.

    \b
      $ bot broadcast send sale contacts.csv --body "{{name}}" --body "20 %"
      $ bot broadcast start course contacts.csv --with "day=3"
      $ bot broadcast show "sale: contacts"
      $ bot broadcast stop "sale: contacts"
    """


@immutable
class Campaign:
    """The contacts of a broadcast, its time and its name, as they were written. ``edited`` names the one to correct."""

    file: Path | None
    where: str | None
    at: str | None
    late: timedelta | None
    name: str | None
    edited: str | None
    yes: bool
    wait: bool
    folder: Path | None

    def check(self) -> None:
        """Refuse options that lack something, or would do nothing. Raises `click.UsageError`."""
        if self.file is None and self.where is None:
            raise click.UsageError("name the contacts: write CONTACTS.CSV, or --where EXPRESSION")
        if self.edited is not None and self.name is not None:
            raise click.UsageError("--edit names the broadcast: leave out --name")
        if self.late is not None and self.at is None:
            raise click.UsageError(
                "--late is for --at: it says how late a message is sent if no server ran at its time"
            )


def _campaign(command: F) -> F:
    """The arguments and options of `Campaign`."""
    contacts = click.Path(path_type=Path, dir_okay=False, exists=True)
    for option in (
        bot_option,
        click.option("--wait/--no-wait", default=True, help="Show the progress, or leave it to the server."),
        click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
        click.option(
            "--edit",
            "edited",
            metavar="NAME",
            help="Correct the broadcast of this name instead, for those who did not get it; then it is stopped.",
        ),
        click.option("--name", help="The broadcast's name.  [default: what is sent, and the file or the expression]"),
        click.option(
            "--late",
            metavar="DURATION",
            callback=span,
            help="With --at: how late it is sent if no server ran at the time.  [default: 1h]",
        ),
        click.option(
            "--at", metavar="TIME", help='Later, on each contact\'s own clock: 9:00, or a time like "2030-12-24 18:00".'
        ),
        click.option(
            "--where",
            metavar="EXPRESSION",
            help="Only contacts for whom this holds: of the file, else of all who have written.",
        ),
        click.argument("file", metavar="[CONTACTS.CSV]", required=False, type=contacts),
    ):
        command = option(command)
    return command


@command.command("send", short_help="Send a template to many contacts.")
@click.argument("template")
@click.option("--language", metavar="CODE", default="en", show_default=True, help="The template's language.")
@click.option("--body", metavar="TEXT", multiple=True, help="A parameter, with {{column}} for a cell; once for each.")
@click.option("--header", "head", metavar="TEXT|URL", help="The header's parameter: a text, or the address of a file.")
@_campaign
@click.pass_context
def send_template(
    ctx: click.Context, /, template: str, language: str, body: tuple[str, ...], head: str | None, **written: Any
) -> None:
    """Send TEMPLATE to the contacts in the file: a column "phone", and columns for the template's parameters.

    The file is CSV or a workbook (.xlsx). Columns named 1, 2, ... are the body's parameters; or write each with --body,
    or answer the question which columns they are. --where chooses contacts by what the bot knows of them:
    contact.tags, and variables with keep; without a file --body can name these. --at sends at the next 9:00, or at a
    day and time, on each contact's own clock. If no server runs then, it is sent up to an hour late (--late), because
    a restart should cost nothing, and a morning's message should not come in the evening.

    \b
      $ bot broadcast send sale contacts.csv --body "{{name}}" --body "20 %"
      $ bot broadcast send sale --where "'vip' in contact.tags and town == 'Rome'"
      $ bot broadcast send sale contacts.csv --at 9:00
      $ bot broadcast send sale contacts.csv --at "2030-12-24 18:00" --late 3h
      $ bot broadcast send sale contacts.csv --body "20 %" --edit "sale: contacts"

    Exit code 0: success. 1: the file or the bot has problems, you said no, or messages could not be sent.
    """
    campaign = Campaign(**written)
    campaign.check()
    bot = used_bot(campaign.folder)
    notice = {"name": template, "language": language} | ({"header": header(head)} if head else {})
    if not body and not campaign.yes and campaign.file is not None:
        body = _columns_asked_for(template, campaign.file)
    recipients = _recipients(bot, campaign.file, campaign.where, BodyTexts(body))
    _check_template(bot, notice, recipients[0], str(campaign.file or "--where"))
    _run(ctx, bot, campaign, template, {"template": notice}, recipients)


@command.command("start", short_help="Start a flow for each of many contacts.")
@click.argument("flow")
@click.option(
    "--with",
    "given",
    metavar="NAME=VALUE",
    multiple=True,
    help="A value for a variable of FLOW, with {{column}} for a cell; once for each.",
)
@_campaign
@click.pass_context
def start_flow(ctx: click.Context, /, flow: str, given: tuple[str, ...], **written: Any) -> None:
    """Start FLOW for the contacts in the file, which has a column "phone", or for those of --where.

    If a contact is in a flow, FLOW's own "busy" decides. File, --where, --at and --late are as for `bot broadcast
    send`.

    \b
      $ bot broadcast start course contacts.csv --with "name={{name}}"

    Exit code 0: success. 1: the file or the bot has problems, you said no, or a flow could not be started.
    """
    campaign = Campaign(**written)
    campaign.check()
    bot, flow = used_bot(campaign.folder), flow.removeprefix("/")
    recipients = _recipients(bot, campaign.file, campaign.where, _flow_values(bot, flow, given))
    _run(ctx, bot, campaign, flow, {"flow": flow}, recipients)


def _run(
    ctx: click.Context,
    bot: Folder,
    campaign: Campaign,
    sent: str,
    what: dict[str, Any],
    recipients: Sequence[Recipient],
) -> None:
    """Begin or correct a broadcast, and follow it. ``sent`` names what it sends."""
    about = [sent, *([campaign.file.stem] if campaign.file else []), *([campaign.where] if campaign.where else [])]
    name = campaign.edited or campaign.name or ": ".join(about)
    with open_store(campaign.folder) as store:
        known = store.broadcasts.get(name)
    if campaign.at is not None or (known is not None and known.at):
        clock = read_contacts_time(campaign.at or (known.at if known is not None else ""))
        bound = _bound(campaign.late) if campaign.at is not None or known is None else known.late
        what |= {"at": clock.text, "late": bound.total_seconds()}
        recipients = with_times(bot, clock, recipients, datetime.now(UTC))
    if campaign.edited is not None:
        _edit(campaign.folder, name, what, recipients, campaign.yes, moved=campaign.at is not None)
        return
    _begin(campaign.folder, name, what, recipients, campaign.yes)
    follow(ctx, campaign.folder, name, campaign.wait)


@command.command("list", short_help="List all broadcasts.")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print objects for a program to read.")
def list_all(folder: Path | None, as_json: bool) -> None:
    """List all broadcasts with their states and times, the newest first."""
    with open_store(folder) as store:
        listed = store.broadcasts.all()
    if as_json:
        echo_json({"broadcasts": [asdict(each) for each in listed]})
        return
    zone = _zone(folder)
    if listed:
        click.echo(f"{'state':9}  {'begin':16}  {'end':16}  name")
    for each in listed:
        began, ended = (f"{at.astimezone(zone):%Y-%m-%d %H:%M}" if at else "" for at in (each.began_at, each.ended_at))
        notes = [f"{each.missed:,} missed"] if each.missed else []
        if each.next_at:
            notes.insert(0, f"{each.to_come:,} to come, next at {each.next_at.astimezone(zone):%Y-%m-%d %H:%M}")
        click.echo(f"{each.state:9}  {began}  {ended:16}  {each.name}" + (f"  ({'; '.join(notes)})" if notes else ""))
    if not listed:
        click.echo("There are no broadcasts.")


@command.command("show", short_help="Show what became of a broadcast.")
@click.argument("name")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: totals, and every recipient.")
def show_one(name: str, folder: Path | None, as_json: bool) -> None:
    """Show the status of the broadcast NAME: who did not get it and why, and how many messages were delivered, read
    and answered.
    """
    show(folder, name, as_json)


@command.command("stop", short_help="Stop a broadcast.")
@click.argument("name")
@bot_option
def stop(name: str, folder: Path | None) -> None:
    """Stop the broadcast NAME: all its messages that are not being sent are withdrawn."""
    answer = operate(folder, StopBroadcast(name, by=user_name()))
    click.echo(f"{counted(answer.stopped, 'contact')} will not get it.")
    if answer.in_flight:
        click.echo(f"{counted(answer.in_flight, 'message')} may have been sent and cannot be withdrawn.")


@command.command("resume", short_help="Resume a broadcast that was stopped or paused.")
@click.argument("name")
@bot_option
@click.option("--wait/--no-wait", default=True, help="Show the progress, or leave it to the server.")
@click.pass_context
def resume(ctx: click.Context, name: str, folder: Path | None, wait: bool) -> None:
    """Resume the broadcast NAME, which was stopped or paused.

    Exit code 1: messages could not be sent.
    """
    answer = operate(folder, ResumeBroadcast(name, by=user_name()))
    then = f", {counted(answer.to_come, 'contact')} at their time" if answer.to_come else ""
    click.echo(f"{counted(answer.resumed, 'contact')} will get it now{then}.")
    follow(ctx, folder, name, wait)


def _flow_values(bot: Folder, flow: str, given: tuple[str, ...]) -> FlowValues:
    """The data that the flow is started with. Raises `CommandRefused` if there is no such flow."""
    from bot.engine.scheduled_flows import objections

    library = loaded(bot).library
    if missing := objections(library, flow, {}).get("flow"):
        raise CommandRefused(missing)

    def judge(data: Mapping[str, Any]) -> str:
        return objections(library, flow, data).get("data", "")

    return FlowValues(values_of(given, "--with"), judge)


def _columns_asked_for(template: str, file: Path) -> tuple[str, ...]:
    """The columns that fill the template's placeholders, as texts of --body: the user names them, since the gateway's
    list does not have the placeholders. Nobody is asked if the columns are numbered or missing.
    """
    columns = read_table(file).columns
    if not columns or "1" in columns:
        return ()

    def named(answer: str) -> tuple[str, ...]:
        names = tuple(name.strip() for name in answer.split(",") if name.strip())
        if strange := [name for name in names if name not in columns]:
            raise click.BadParameter(
                f'there is no column "{strange[0]}" ({did_you_mean(strange[0], columns, "write names with commas")})'
            )
        return tuple(f"{{{{{name}}}}}" for name in names)

    click.echo(f"{file.name} has the columns {', '.join(columns)}.")
    question = f"Which fill {{{{1}}}}, {{{{2}}}}, ... of {template}, in this order? (Enter: it has none)"
    chosen: tuple[str, ...] = click.prompt(question, default="", show_default=False, value_proc=named)
    return chosen


def _recipients(bot: Folder, file: Path | None, where: str | None, own: BodyTexts | FlowValues) -> Sequence[Recipient]:
    """The contacts of the file, or all contacts, for whom the expression holds. Prints how many they are."""
    listed = None if file is None else read_recipients(file, own)
    if where is None:
        assert listed is not None
        return listed
    from bot.cli.shared.selection import select, select_from

    found = select(bot, where, own) if listed is None else select_from(bot, where, listed)
    total = found.asked if listed is None else len(listed)
    words = "who have written" if listed is None else "in the file"
    click.echo(f"{len(found.recipients):,} of {counted(total, 'contact')} {words} match.")
    if found.failed:
        get = "gets" if found.failed == 1 else "get"
        click.echo(f"{counted(found.failed, 'contact')} could not be asked and {get} nothing: {found.why}", err=True)
    if not found.recipients:
        raise CommandRefused("Nothing was sent." if found.failed else "Nothing was sent: nobody matches.")
    return found.recipients


def _bound(late: timedelta | None) -> timedelta:
    """Read how late a message may be sent. Raises `click.UsageError`."""
    from bot.runtime.broadcast_requests import LATE, LEAST_LATE

    if late is not None and late < LEAST_LATE:
        raise click.UsageError(f"--late is {duration_words(LEAST_LATE)} at least")
    return LATE if late is None else late


def _zone(folder: Path | None) -> tzinfo:
    return served_bot(*store_of(folder))[0].timezone


def _begin(folder: Path | None, name: str, what: Mapping[str, Any], recipients: Sequence[Recipient], yes: bool) -> None:
    """Add the contacts to the broadcast, after its contents were shown and confirmed."""
    with open_store(folder) as store:
        counts = store.broadcasts.outcomes(name)
    for state in ("stopped", "paused"):
        if left := counts.get(state):
            raise CommandRefused(
                f'The broadcast "{name}" was {state} before {counted(left, "contact")} had it. To go on with it, write '
                f'bot broadcast resume "{name}"; to correct it first, --edit "{name}"; for another one, --name. '
                "Nothing was sent."
            )
    _preview(folder, what, recipients)
    if counts:
        known = counted(sum(counts.values()), "contact")
        click.echo(f"The broadcast already has {known}; nobody gets it twice.")
    if not yes:
        click.confirm("Send it?", abort=True)
    request = AddRecipients(name, (), by=user_name(), **what)
    total = _in_chunks(folder, request, recipients, RecipientsAdded())
    click.echo(f"{total.added:,} added, {total.known:,} known, {total.opted_out:,} opted out.")
    if total.differ:
        differ = counted(total.differ, "contact")
        click.echo(f'{differ} in it have other parameters, and keep them: --edit "{name}" corrects that.', err=True)


def _edit(
    folder: Path | None, name: str, what: Mapping[str, Any], recipients: Sequence[Recipient], yes: bool, moved: bool
) -> None:
    """Correct a broadcast. It sends nothing until all corrections are made and it is resumed.

    Contacts who are in it keep their times, unless it is ``moved``.
    """
    if not moved:
        what = {key: value for key, value in what.items() if key not in ("at", "late")}
    with open_store(folder) as store:
        if store.broadcasts.get(name) is None:
            raise CommandRefused(f'there is no broadcast "{name}" (`bot broadcast list` lists them)')
        left = {contact for contact, outcome, _ in store.broadcasts.recipients(name) if outcome in NOT_YET}
    _preview(folder, what, recipients)
    if gone := left - {recipient["contact"] for recipient in recipients}:
        click.echo(f"{counted(len(gone), 'contact')} who did not get it and are not in the file will not get it.")
    if not yes:
        click.confirm("Correct it?", abort=True)
    begun = operate(folder, BeginCorrection(name, **what))
    corrected = _in_chunks(folder, CorrectRecipients(name, begun.edit, (), moved), recipients, RecipientsCorrected())
    total = asdict(corrected) | asdict(operate(folder, EndCorrection(name, begun.edit)))
    click.echo(", ".join(f"{number:,} {kind.replace('_', ' ')}" for kind, number in total.items()) + ".")
    if begun.in_flight:
        click.echo(
            f"{counted(begun.in_flight, 'message')} may have been sent without the correction and cannot be withdrawn."
        )
    click.echo(f'It is stopped. To go on with it: bot broadcast resume "{name}"')


def _check_template(bot: Folder, template: Mapping[str, Any], first: Recipient, file: str) -> None:
    """Print what the gateway would refuse, before anything is sent. Raises `CommandRefused` if that is certain."""
    from bot.cli.templates import both_lists, infos
    from bot.language.flow.library import TemplateUse, template_uses
    from bot.language.source.problems import Mark
    from bot.language.steps.template_message import TemplateParameter, TemplateToSend
    from bot.loading.program import FaultyBot, load_program
    from bot.runtime.template_check import misfits_of

    notice = TemplateToSend(
        template["name"],
        template["language"],
        Mark(file, 1, 1),
        TemplateParameter(template["header"]["type"], {}) if "header" in template else None,
        tuple(TemplateParameter("text", {}) for _ in first["body"]),
    )
    try:
        with reach_gateway(bot.path) as ask:
            listed = infos(both_lists(ask))
    except BotError as error:
        click.echo(f"{notice.name} could not be checked against the gateway's list: {error}", err=True)
        click.echo("The first message will show whether it is correct: the others wait for it.", err=True)
        return
    uses: list[TemplateUse] = []
    with suppress(FaultyBot):  # how else the flows fill it is a help, and no more
        uses = list(template_uses(load_program(bot).library))
    found = misfits_of(TemplateUse(Mark(file, 1, 1), notice), uses, listed)
    if certain := [f"{misfit.what} ({misfit.fix})" for misfit in found if misfit.certain]:
        raise CommandRefused("\n".join((*certain, "Nothing was sent.")))
    for misfit in found:
        click.echo(f"perhaps: {misfit.what} ({misfit.fix})", err=True)


def _preview(folder: Path | None, what: Mapping[str, Any], recipients: Sequence[Recipient]) -> None:
    from bot.runtime.rate_limiter import campaign_time

    first = recipients[0]
    if "flow" in what:
        texts = "".join(f" {name}={value}" for name, value in first["data"].items())
        click.echo(f"flow {what['flow']} for {first['contact']}:{texts or ' no values'}")
    else:
        template, texts = what["template"], "".join(f' "{text}"' for text in first["body"])
        click.echo(f"{template['name']} ({template['language']}) to {first['contact']}:{texts or ' no parameters'}")
        changed = [each for each in recipients if any(parameter_line(text) != text for text in each["body"])]
        if changed:
            click.echo(
                f"{counted(len(changed), 'contact')}, the first {changed[0]['contact']}: line breaks, tabs and runs of spaces in a "
                "parameter are sent as one space: the platform takes no others.",
                err=True,
            )
    per_minute, per_day = read_limits(os.environ, store_of(folder)[0].settings())
    takes = campaign_time(len(recipients), per_minute, per_day)
    limits = f"{counted(per_minute, 'request')} a minute and {per_day:,} a day"
    click.echo(f"{counted(len(recipients), 'contact')}: at {limits} that takes {_in_words(takes)} or more.")
    if "at" in what:
        times, late = moments(recipients), timedelta(seconds=what["late"])
        click.echo(_when(what["at"], times, _zone(folder)))
        echo_lines(over_in_words(times, datetime.now(UTC), late), err=True)
        click.echo(f"If no server runs then, it is sent up to {duration_words(late)} late, and else counted as missed.")


def _when(at: str, times: Mapping[datetime, int], zone: tzinfo) -> str:
    """The sentence that says when contacts get a broadcast whose time is ``at`` on each contact's clock."""
    return f"At {at} on each contact's clock: {moments_in_words(times, zone)}."


def _in_words(duration: timedelta) -> str:
    hours, seconds = divmod(duration.seconds, 3600)
    parts = ((duration.days, "day"), (hours, "hour"), (-(-seconds // 60), "minute"))
    return ", ".join(counted(number, what) for number, what in parts if number) or "a moment"


def _in_chunks(
    folder: Path | None,
    request: AddRecipients | CorrectRecipients,
    recipients: Sequence[Recipient],
    total: Counts,
) -> Counts:
    """Make a request for all recipients, in pieces that the server accepts. Returns the sum of its answers."""
    for chunk in _chunks(recipients):
        answer = asdict(operate(folder, replace(request, recipients=chunk)))
        total = replace(total, **{name: number + answer[name] for name, number in asdict(total).items()})
    return total


def _chunks(recipients: Sequence[Recipient]) -> Iterator[list[Recipient]]:
    chunk: list[Recipient] = []
    size = 0
    for recipient in recipients:
        length = len(json.dumps(recipient)) + 2
        if length > CHUNK_BYTES:
            raise CommandRefused(f"the parameters for {recipient['contact']} are too long")
        if size + length > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(recipient)
        size += length
    yield chunk


LOOK_EVERY = 0.5  # seconds
SHOWN = 50
ATTENTION = ("failed", "unknown", "paused")
HOLD_ALL = (
    *("delivery-held", "address-held", "channel-held", "rate-limited", "day-limit", "header-limit"),
    *("gateway-unreachable", "store-unavailable", SILENT),
)
"""The alarms with which nothing is sent, or perhaps not this broadcast. Then there is no progress to watch."""


def show(folder: Path | None, name: str, as_json: bool) -> None:
    """Print the state of a broadcast, why messages were not sent, and what became of those that were.

    Raises `CommandRefused`.
    """
    from bot.runtime.broadcasting import why_paused
    from bot.store.broadcast_rows import ANSWERED_WITHIN, PAUSED, FlowToStart

    with open_store(folder) as store:
        broadcast, counts = store.broadcasts.get(name), store.broadcasts.outcomes(name)
        recipients = store.broadcasts.recipients(name)
        reached, to_come = store.broadcasts.reached(name), store.broadcasts.to_come(name)
    if broadcast is None:
        raise CommandRefused(f'there is no broadcast "{name}" (`bot broadcast list` lists them)')
    content = broadcast.content
    if isinstance(content, FlowToStart):
        named, words = {"flow": content.flow}, f"flow {content.flow}"
    else:
        named, words = {"template": content.name, "language": content.language}, f"{content.name} ({content.language})"
    if as_json:
        each = [
            {"contact": contact, "outcome": outcome, "code": code, **_fields(reached.get(contact))}
            for contact, outcome, code in recipients
        ]
        state = {name: getattr(broadcast, name) for name in ("state", "code", "started_by")}
        totals = {
            "at": broadcast.at or None,
            "late": broadcast.late.total_seconds(),
            "begins_at": broadcast.begins_at,
            "to_come": [{"at": at, "contacts": count} for at, count in to_come.items()],
            "ended_at": broadcast.ended_at,
            "outcomes": counts,
            "reached": reached_totals(reached.values()),
        }
        echo_json({"name": name, **named, **state, **totals, "recipients": each})
        return
    click.echo(f"{name}: {words}, started by {printable(broadcast.started_by)}")
    if to_come:
        click.echo(_when(broadcast.at, to_come, _zone(folder)))
    if broadcast.ended_at is not None:
        ended = broadcast.ended_at.astimezone(_zone(folder))
        click.echo(f"It ended at {ended:%Y-%m-%d %H:%M} ({ended.tzname()}).")
    if broadcast.state == PAUSED:
        what, advice = why_paused(broadcast)
        click.echo(f"{what} ({advice})")
    unsent = without_message(recipients)
    for contact, outcome, code in unsent[:SHOWN]:
        click.echo(f"  {contact}  {outcome_for_people(outcome)}" + (f" ({code})" if code else ""))
    if len(unsent) > SHOWN:
        click.echo(f"  and {counted(len(unsent) - SHOWN, 'other')}: --json shows all")
    if reached:
        sent = counts.get("sent", 0) or sum(counts[each] for each in counts if each.startswith("started"))
        # which may be older than what is known of each
        total, hours = reached_totals(reached.values()), ANSWERED_WITHIN // timedelta(hours=1)
        of = f"{sent:,} sent" if total["known"] == sent else f"{total['known']:,} sent in the last 7 days"
        click.echo(
            f"{of}: {total['delivered']:,} delivered, {total['read']:,} read, "
            f"{total['answered']:,} answered within {hours} hours."
        )
    click.echo(summary(counts))


def _fields(reached: "Reached | None") -> dict[str, bool | None]:
    """How far one message got, by field; null if it was not sent, or is not known any more."""
    return {field: None if reached is None else getattr(reached, field) for field in REACHED_FIELDS}


def follow(ctx: click.Context, folder: Path | None, name: str, wait: bool) -> None:
    """Show the progress of the broadcast, and end with its results."""
    if _server(folder) is None:
        with open_store(folder) as store:
            waits = store.broadcasts.outcomes(name).get("scheduled")
        click.echo(
            f"No server runs: {'start `bot serve` before its time' if waits else 'it begins when `bot serve` does'}."
        )
    elif wait:
        with open_store(folder) as store:
            counts = _watch(folder, store, name)
        click.echo(summary(counts))
        ctx.exit(1 if any(outcome.startswith(ATTENTION) for outcome in counts) else 0)


def _server(folder: Path | None) -> Status | None:
    """The status of the running server, empty if it cannot say; None if no server runs."""
    from bot.server.local_socket import NotRunning, ask_engine

    try:
        return ask_engine(store_of(folder)[1], AskStatus())
    except NotRunning:
        return None
    except EngineRefused:
        return Status()


def trouble(folder: Path | None, name: str) -> str:
    """The reason why the server does not send a broadcast, in words; empty if it does."""
    from bot.runtime.broadcasting import ALARM

    server = _server(folder)
    if server is None:
        return "The server has stopped."
    return "\n".join(
        f"{alarm['what']} ({alarm['advice']})"
        for alarm in server.alarms
        if alarm["name"] in HOLD_ALL or (alarm["name"], alarm["about"]) == (ALARM, name)
    )


def _watch(folder: Path | None, store: "StoreReader", name: str) -> dict[str, int]:
    """Show the progress until nobody waits, the server has stopped or cannot send, or Ctrl-C. Returns the state at the
    end.
    """
    counts, why = store.broadcasts.outcomes(name), ""
    with click.progressbar(length=sum(counts.values()), label=name) as bar:
        try:
            while counts.get("waiting") and not (why := trouble(folder, name)):
                bar.update(_done(counts) - bar.pos)
                sleep(LOOK_EVERY)
                counts = store.broadcasts.outcomes(name)
        except KeyboardInterrupt:
            pass
        bar.update(_done(counts) - bar.pos)
    if counts.get("paused"):
        why = trouble(folder, name)
    if why:
        click.echo(f"\n{why}", err=True)
    return store.broadcasts.outcomes(name)


def _done(counts: Mapping[str, int]) -> int:
    return sum(number for outcome, number in counts.items() if outcome not in NOT_YET)


def summary(counts: Mapping[str, int]) -> str:
    """The number of a broadcast's messages by outcome, and what to do about it."""
    by_outcome = ", ".join(f"{number:,} {outcome_for_people(outcome)}" for outcome, number in sorted(counts.items()))
    goes_on = " Waiting messages are sent while a server runs." if counts.get("waiting") else ""
    held = next(
        (f" It was {state}: `bot broadcast resume` continues it." for state in NOT_YET[2:] if counts.get(state)), ""
    )
    held += " Those who missed it get it with --edit, at once or with another --at." if counts.get("missed") else ""
    why = " `bot queue` says why." if any(outcome.startswith(ATTENTION) for outcome in counts) else ""
    return f"{by_outcome or 'Nobody is in it'}.{goes_on}{held}{why}"
