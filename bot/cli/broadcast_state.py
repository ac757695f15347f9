"""How a broadcast stands, for `bot broadcast`: once, or while it goes on."""

from collections.abc import Mapping
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

import click

from bot.cli.operate import Refused, open_store, store_of
from bot.cli.output import counted, echo_json

if TYPE_CHECKING:
    from bot.store.store_reader import StoreReader

LOOK_EVERY = 0.5  # seconds
SHOWN = 50
HELD = ("waiting", "paused", "stopped")
ATTENTION = ("failed", "unknown", "paused")
HOLD_ALL = (
    *("delivery-held", "channel-held", "rate-limited", "day-limit", "header-limit"),
    *("gateway-unreachable", "store-unavailable"),
)
"""The alarms with which nothing is sent, or perhaps not this broadcast: nobody should watch that."""

IN_WORDS = {"opted_out": "opted out", "left_out": "left out"}


def show(folder: Path | None, name: str, as_json: bool) -> None:
    """Print how a broadcast stands, and what became of each message that was not sent. Raises `GatewayRefused`."""
    from bot.runtime.broadcasting import why_paused
    from bot.store.broadcast_rows import PAUSED

    with open_store(folder) as store:
        broadcast, counts, recipients = store.broadcast(name), store.outcomes(name), store.recipients(name)
    if broadcast is None:
        raise Refused(f'there is no broadcast "{name}" (`bot queue` lists those that are not done)')
    template = broadcast.template
    if as_json:
        each = [dict(zip(("contact", "outcome", "code"), recipient, strict=True)) for recipient in recipients]
        named = {"name": name, "template": template.name, "language": template.language, "state": broadcast.state}
        echo_json({**named, "code": broadcast.code, "outcomes": counts, "recipients": each})
        return
    click.echo(f"{name}: {template.name} ({template.language})")
    if broadcast.state == PAUSED:
        what, advice = why_paused(broadcast)
        click.echo(f"{what} ({advice})")
    unsent = [(contact, outcome, code) for contact, outcome, code in recipients if outcome not in (*HELD, "sent")]
    for contact, outcome, code in unsent[:SHOWN]:
        click.echo(f"  {contact}  {_in_words(outcome)}" + (f" ({code})" if code else ""))
    if len(unsent) > SHOWN:
        click.echo(f"  and {counted(len(unsent) - SHOWN, 'other')}: --json shows all")
    click.echo(summary(counts))


def follow(ctx: click.Context, folder: Path | None, name: str, wait: bool) -> None:
    """Show how the broadcast goes on, and end with what came of it."""
    if _server(folder) is None:
        click.echo("No server runs: it begins when `bot serve` does.")
    elif wait:
        with open_store(folder) as store:
            counts = _watch(folder, store, name)
        click.echo(summary(counts))
        ctx.exit(1 if any(outcome.startswith(ATTENTION) for outcome in counts) else 0)


def _server(folder: Path | None) -> dict[str, Any] | None:
    """How the server that runs says it is; None where none does."""
    from bot.local_socket import NotRunning, ask

    try:
        return ask(store_of(folder)[1], {"do": "status"})
    except NotRunning:
        return None


def trouble(folder: Path | None, name: str) -> str:
    """What keeps the server from sending a broadcast, in words; empty where nothing does."""
    from bot.runtime.broadcasting import ALARM

    server = _server(folder)
    if server is None:
        return "The server has stopped."
    alarms = [
        alarm
        for alarm in server.get("alarms", ())
        if alarm["name"] in HOLD_ALL or (alarm["name"], alarm["about"]) == (ALARM, name)
    ]
    return "\n".join(f"{alarm['what']} ({alarm['advice']})" for alarm in alarms)


def _watch(folder: Path | None, store: "StoreReader", name: str) -> dict[str, int]:
    """Show the progress until nobody waits, the server has gone or can send nothing, or Ctrl-C; how it stands then."""
    counts, why = store.outcomes(name), ""
    with click.progressbar(length=sum(counts.values()), label=name) as bar:
        try:
            while counts.get("waiting") and not (why := trouble(folder, name)):
                bar.update(_done(counts) - bar.pos)
                sleep(LOOK_EVERY)
                counts = store.outcomes(name)
        except KeyboardInterrupt:
            pass
        bar.update(_done(counts) - bar.pos)
    if counts.get("paused"):
        why = trouble(folder, name)
    if why:
        click.echo(f"\n{why}", err=True)
    return store.outcomes(name)


def _done(counts: Mapping[str, int]) -> int:
    return sum(number for outcome, number in counts.items() if outcome not in HELD)


def summary(counts: Mapping[str, int]) -> str:
    """How many messages of a broadcast have come to what, and what to do about it."""
    told = ", ".join(f"{number:,} {_in_words(outcome)}" for outcome, number in sorted(counts.items()))
    goes_on = " What waits is sent whenever a server runs." if counts.get("waiting") else ""
    held = next((f" It was {state}: --resume goes on with it." for state in HELD[1:] if counts.get(state)), "")
    why = " `bot queue` says why." if any(outcome.startswith(ATTENTION) for outcome in counts) else ""
    return f"{told or 'Nobody is in it'}.{goes_on}{held}{why}"


def _in_words(outcome: str) -> str:
    return IN_WORDS.get(outcome, outcome)
