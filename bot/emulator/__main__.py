"""``python -m bot.emulator``: the gateway's emulator as a process of its own."""

import json
import logging
import signal
from typing import Any

import click

from bot.emulator.behaviour import Behaviour
from bot.emulator.emulator import API_KEY, SECRET, Emulator

Many = tuple[str, ...]


@click.command(context_settings={"show_default": True, "max_content_width": 100})
@click.option("--port", default=0, help="Port on 127.0.0.1; 0 takes a free one.")
@click.option("--per-minute", default=60, help="Requests a minute.")
@click.option("--per-day", default=10_000, help="Requests a day.")
@click.option("--latency-ms", default=0.0, help="Added to every answer.")
@click.option("--webhook", "webhooks", multiple=True, metavar="URL", help="Deliver events there; may be given again.")
@click.option("--api-key", default=API_KEY, help="The key that requests must carry.")
@click.option("--secret", default=SECRET, help="Signs the events.")
@click.option("--schedule-scale", default=1.0, help="Multiplies the waits between tries of an event.")
@click.option("--keep", type=int, help="Keep only so many messages (the counts are of all).")
@click.option("--threads", default=16, help="How many requests are answered at once.")
@click.option("--delivery-threads", default=4, help="How many events are delivered at once.")
@click.option(
    "--set",
    "switches",
    multiple=True,
    metavar="NAME=VALUE",
    help="A switch of the gateway, its value as JSON or text, such as window=open; may be given again.",
)
def main(
    port: int,
    per_minute: int,
    per_day: int,
    latency_ms: float,
    webhooks: Many,
    api_key: str,
    secret: str,
    schedule_scale: float,
    keep: int | None,
    threads: int,
    delivery_threads: int,
    switches: Many,
) -> None:
    """Run an emulator of the messaging gateway until it is interrupted. It prints its address on one line."""
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it warns of every request that waits for a thread
    emulator = Emulator(
        per_minute=per_minute,
        per_day=per_day,
        api_key=api_key,
        secret=secret,
        port=port,
        schedule_scale=schedule_scale,
        latency=latency_ms / 1000,
        threads=threads,
        delivery_threads=delivery_threads,
        keep=keep,
        behaviour=_behaviour(switches),
    )
    for url in webhooks:
        try:
            emulator.subscribe(url)
        except ValueError as problem:
            raise click.BadParameter(str(problem), param_hint="--webhook") from None
    # Blocked before any thread starts, so that only the wait below gets them, however many come.
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with emulator:
        click.echo(emulator.url)
        signal.sigwait(ends)


def _behaviour(switches: Many) -> Behaviour:
    behaviour = Behaviour()
    for switch in switches:
        name, _, value = switch.partition("=")
        try:
            behaviour.change({name: _value(value)})
        except ValueError as problem:
            raise click.BadParameter(str(problem), param_hint="--set") from None
    return behaviour


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


if __name__ == "__main__":
    main()
