"""``bot webhook``."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import click
from dotenv import dotenv_values, set_key

from bot.cli.operate import Answer, CommandRefused, bot_option, env_file, gateway, store_of, write_whole
from bot.cli.output import counted, echo_json, local_time, styled
from bot.core.errors import BotError
from bot.core.events import EVENTS
from bot.gateway.gateway_account import SECRET
from bot.settings import WebhookSettings, read_webhook

VARIABLE = "BOT_WEBHOOK_SECRET"
NO_LIST = "The gateway has no way to list, change or delete webhooks: what is shown is what is known here."


@click.group("webhook")
def command() -> None:
    """The webhook by which the gateway's events come: register the bot's public address, see whether anything arrives.

    \b
      $ bot webhook register https://bot.example --write-env
      $ bot webhook show
    """


def _address(ctx: click.Context, option: click.Parameter, value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme != "https" or not parts.hostname or any(char.isspace() for char in value):
        raise click.BadParameter("the gateway takes https addresses only, such as https://bot.example/webhook")
    return value


def _events(ctx: click.Context, option: click.Parameter, value: str | None) -> list[str]:
    events = [event.strip() for event in (value or ",".join(EVENTS)).split(",") if event.strip()]
    if strange := [event for event in events if event not in EVENTS]:
        raise click.BadParameter(f"there is no event {strange[0]!r}: choose of {', '.join(EVENTS)}")
    return events


@command.command("register", short_help="Have the gateway send its events to an address.")
@click.argument("url", callback=_address)
@click.option("--name", metavar="TEXT", help="What the gateway calls it, if not as the bot.")
@click.option("--events", metavar="NAME,...", callback=_events, help="Only these events, with commas; else all.")
@click.option("--secret", "own_secret", is_flag=True, help="Ask for the signing secret (or read it from a pipe).")
@click.option("--write-env", is_flag=True, help="Write the secret to .env, before those there are.")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print the registration as an object, with its secret.")
def register(
    url: str, name: str | None, events: list[str], own_secret: bool, write_env: bool, folder: Path | None, as_json: bool
) -> None:
    """Have the gateway send its events to URL: https, and public. Without a path it is the one `bot serve` answers at.

    The secret that signs the events is shown this once. --write-env writes it to .env as well (mode 0600), in front
    of the secret there is, which goes on counting until you take it out: register, restart `bot serve`, and take the
    old one out once no event comes by the old webhook any more.

    Exit code 0: registered. 1: the gateway, the settings or the .env file are at fault.
    """
    outside = os.environ.get(VARIABLE)
    bot, _ = store_of(folder)
    known = read_webhook(os.environ, bot.settings())
    secret = _own_secret() if own_secret else token_urlsafe(32) if write_env else None
    file = (env_file(bot.path) or bot.path / ".env") if write_env else None
    if file is not None and secret is not None:  # first: the answer, which shows it only once, may be lost
        write_setting(file, VARIABLE, _in_front(secret, known))
    address = _with_path(url, known.path)
    request = {"call": "register_webhook", "name": name or bot.name, "url": address, "events": events}
    registered = _registered(folder, request if secret is None else {**request, "secret": secret}, file)
    if as_json:
        echo_json(registered)
    else:
        _tell(registered)
    if file is not None and registered["secret"] not in (None, secret):  # the gateway chose another
        write_setting(file, VARIABLE, _in_front(registered["secret"], known))
    for line in _left_to_do(registered, known.path, file, outside):
        click.echo(line, err=True)


def _registered(folder: Path | None, request: dict[str, Any], file: Path | None) -> Answer:
    try:
        return gateway(folder, request)
    except BotError as error:
        kept = f"\n{file} holds the new secret all the same: it does no harm there" if file is not None else ""
        raise CommandRefused(f"{error}{kept}") from error


def _in_front(secret: str, known: WebhookSettings) -> str:
    return ",".join(dict.fromkeys((secret, *known.secrets)))


def _with_path(url: str, path: str) -> str:
    parts = urlsplit(url)
    return url if parts.path not in ("", "/") else f"https://{parts.netloc}{path}"


def _tell(registered: Mapping[str, Any]) -> None:
    about = f"{registered['name']} ({registered['id']})" if registered["id"] else registered["name"]
    click.echo(f"The gateway sends {counted(len(registered['events']), 'event')} to {registered['url']}: {about}.")
    click.echo(click.wrap_text(", ".join(registered["events"]), initial_indent="  ", subsequent_indent="  "))
    if not registered["is_active"]:
        click.echo(styled("The gateway says that it is not active.", fg="red"))
    if registered["secret"]:
        click.echo(f"The secret that signs them, shown only now: {styled(registered['secret'], bold=True)}")


def _left_to_do(registered: Mapping[str, Any], path: str, file: Path | None, outside: str | None) -> Iterator[str]:
    if not registered["secret"]:
        yield "The gateway did not show the secret: register again with --secret, and one of your own."
    elif file is None:
        yield f"Put it in front of those in {VARIABLE}, with a comma, and restart `bot serve`."
    elif outside:
        yield f"It stands in {file}, but {VARIABLE} is set in the environment, which counts before it: set it there."
    else:
        yield f"It stands in {file}, and counts once `bot serve` has been restarted."
    if urlsplit(registered["url"]).path != path:
        yield f"Mind the path: `bot serve` answers at {path} (BOT_WEBHOOK_PATH)."


def _own_secret() -> str:
    """The user's own secret: never as an argument, which every process on the machine can read."""
    if sys.stdin.isatty():
        secret: str = click.prompt("Signing secret", hide_input=True, confirmation_prompt=True, err=True)
    else:
        secret = sys.stdin.readline().rstrip("\r\n")
    if SECRET.fullmatch(secret) is None:
        raise click.UsageError("a signing secret has no spaces, commas or characters beyond ASCII, and is not empty")
    return secret


@command.command("show", short_help="Show where events are taken, and the last one's time.")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: path, secrets (how many), last_event, stale.")
def show(folder: Path | None, as_json: bool) -> None:
    """Show where events are taken, and when the last one came.

    The gateway has no way to list webhooks, so this is what is known here. It switches off a webhook that has failed
    for 7 days: where nothing comes any more, register a new one.

    Exit code 0: fine. 1: the settings are at fault.
    """
    from bot.store.files import StoreMissing
    from bot.store.inbox import InboxReader

    bot, store = store_of(folder)
    webhook = read_webhook(os.environ, bot.settings())
    last, stale, stale_at = None, 0, None
    with suppress(StoreMissing), closing(InboxReader(store)) as inbox:  # before the first start
        last, (stale, stale_at) = inbox.last_received(), inbox.stale()
    if as_json:
        secrets = len(webhook.secrets)
        echo_json({"path": webhook.path, "secrets": secrets, "last_event": last, "stale": stale, "stale_at": stale_at})
        return
    click.echo(f"`bot serve` takes events at {webhook.path}, signed with {_secrets_in_words(len(webhook.secrets))}.")
    click.echo(f"The last one came at {local_time(last)}." if last is not None else "None has come yet.")
    if stale_at is not None:
        click.echo(
            f"{counted(stale, 'event')} came too late and had to be refused, the last at {local_time(stale_at)}."
        )
    click.echo(NO_LIST)


def _secrets_in_words(count: int) -> str:
    if not count:
        return "no secret yet: `bot webhook register URL --write-env` makes one"
    return counted(count, "secret") if count == 1 else f"any of {count} secrets"


def write_setting(file: Path, name: str, value: str) -> None:
    """Set one variable; nothing else in the file changes. There need be no file yet.

    It is replaced whole or not at all, and only its owner can read it. Raises `GatewayRefused` and `OSError`.
    """
    with TemporaryDirectory(dir=file.resolve().parent, prefix=".env.") as folder:  # 0700: nobody else sees a secret
        draft = Path(folder) / "draft"
        draft.write_bytes(file.read_bytes() if file.exists() else b"")
        set_key(draft, name, value, quote_mode="auto")
        if dotenv_values(draft).get(name) != value:
            raise CommandRefused(f"{file} cannot hold this value: set {name} in the environment instead")
        write_whole(file, draft.read_bytes())
