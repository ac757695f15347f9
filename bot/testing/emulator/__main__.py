"""``python -m bot.testing.emulator``: the emulators as a process of their own."""

import json
import re
import signal
from contextlib import ExitStack
from typing import Any

import click

from bot.testing.emulator.completion import KEY, CompletionService
from bot.testing.emulator.emulator import API_KEY, SECRET, Emulator
from bot.testing.emulator.gateway_behaviour import Behaviour

Many = tuple[str, ...]
PORT = click.IntRange(0, 65535)


@click.command(context_settings={"show_default": True, "max_content_width": 100})
@click.option("--port", type=PORT, default=0, help="Port on 127.0.0.1; 0 takes a free one.")
@click.option("--per-minute", default=60, help="Requests a minute.")
@click.option("--per-day", default=10_000, help="Requests a day.")
@click.option("--latency-ms", type=click.FloatRange(0), default=0.0, help="Added to every answer.")
@click.option("--webhook", "webhooks", multiple=True, metavar="URL", help="Deliver events there; may be given again.")
@click.option(
    "--tunnel",
    "tunnels",
    multiple=True,
    metavar="HTTPS_URL=HTTP_URL",
    help="Where events for a registered https address really go; may be given again.",
)
@click.option("--api-key", default=API_KEY, help="The key that requests must carry.")
@click.option("--secret", default=SECRET, help="Signs the events.")
@click.option("--schedule-scale", default=1.0, help="Multiplies the waits between tries of an event.")
@click.option("--keep", type=click.IntRange(0), help="Keep only so many messages and requests (the counts are of all).")
@click.option("--threads", type=click.IntRange(1), default=16, help="How many requests are answered at once.")
@click.option("--delivery-threads", type=click.IntRange(1), default=4, help="How many events are delivered at once.")
@click.option(
    "--completions",
    type=PORT,
    metavar="PORT",
    help=f"Serve the chat-completion API too, with the key {KEY}; port 0 takes a free one.",
)
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
    tunnels: Many,
    api_key: str,
    secret: str,
    schedule_scale: float,
    keep: int | None,
    threads: int,
    delivery_threads: int,
    completions: int | None,
    switches: Many,
) -> None:
    """Run an emulator of the messaging gateway until it is interrupted. It prints its address on one line.

    With --completions, the address of the chat-completion API is on a second line.
    """
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
        tunnel=_tunnel(tunnels),
    )
    for url in webhooks:
        try:
            emulator.subscribe(url)
        except ValueError as problem:
            raise click.BadParameter(str(problem), param_hint="--webhook") from None
    # Blocked before any thread starts, so that only the wait below gets the signals, however many come.
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with ExitStack() as running:
        wanted = port
        try:
            click.echo(running.enter_context(emulator).url)
            if completions is not None:
                wanted = completions
                click.echo(running.enter_context(CompletionService(port=completions, threads=threads, keep=keep)).url)
        except OSError as error:
            what = f"port {wanted} cannot be listened on: {error.strerror}"
            raise click.ClickException(f"{what} (name another one, or 0 for any that is free)") from None
        signal.sigwait(ends)


def _tunnel(tunnels: Many) -> dict[str, str]:
    for tunnel in tunnels:
        if not re.fullmatch(r"https://[^=]+=http://(localhost|127\.0\.0\.1)(:\d+)?(/[^=]*)?", tunnel):
            example = "https://bot.example=http://127.0.0.1:8000, which ends on this machine"
            raise click.BadParameter(f"{tunnel!r}: write one such as {example}", param_hint="--tunnel")
    return {public: local for public, _, local in (tunnel.partition("=") for tunnel in tunnels)}


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
