"""``bot webhook``."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import click
from dotenv import dotenv_values, set_key

from bot.cli.shared.operate import CommandRefused, bot_option, env_file, gateway, store_of, write_whole
from bot.cli.shared.output import counted, echo_json, echo_lines, local_time, styled
from bot.core.engine_answers import WebhookRegistration
from bot.core.engine_requests import RegisterWebhook
from bot.core.errors import BotError
from bot.core.events import EVENTS
from bot.services.gateway.gateway_account import SECRET
from bot.settings import WebhookSettings, read_webhook
from bot.settings.setting_values import signing_secrets

VARIABLE = "BOT_WEBHOOK_SECRET"
PUBLIC = "BOT_PUBLIC_URL"
NO_LIST = "The gateway cannot list, change or delete webhooks: this is what the bot itself knows."


@click.group("webhook")
def command() -> None:
    """The webhook that receives the gateway's events: register the bot's public address, check that events arrive.

    \b
      $ bot webhook register https://bot.example --write-env
      $ bot webhook show
    """


def _address(ctx: click.Context, option: click.Parameter, value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme != "https" or not parts.hostname or any(char.isspace() for char in value):
        raise click.BadParameter("the gateway accepts only https addresses, such as https://bot.example/webhook")
    return value


def _events(ctx: click.Context, option: click.Parameter, value: str | None) -> list[str]:
    events = [event.strip() for event in (value or ",".join(EVENTS)).split(",") if event.strip()]
    if strange := [event for event in events if event not in EVENTS]:
        raise click.BadParameter(f"there is no event {strange[0]!r}: choose from {', '.join(EVENTS)}")
    return events


@command.command("register", short_help="Tell the gateway to send its events to an address.")
@click.argument("url", callback=_address)
@click.option("--name", metavar="TEXT", help="The webhook's name at the gateway; else the bot's name.")
@click.option(
    "--events", metavar="NAME,...", callback=_events, help="Only these events, separated by commas; else all."
)
@click.option("--secret", "own_secret", is_flag=True, help="Ask for the signing secret (or read it from a pipe).")
@click.option(
    "--write-env", is_flag=True, help="Write the secret to .env, in front of existing ones, and BOT_PUBLIC_URL."
)
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print the registration as an object, with its secret.")
def register(
    url: str, name: str | None, events: list[str], own_secret: bool, write_env: bool, folder: Path | None, as_json: bool
) -> None:
    """Tell the gateway to send its events to URL, a public https address. Without a path, URL gets the path of
    `bot serve`.

    The secret that signs the events is shown only once. --write-env writes it to .env (mode 0600) instead, in front of
    the existing secret, which stays valid: register, restart `bot serve`, and remove the old secret when no more
    events arrive through the old webhook. It writes URL without that path as BOT_PUBLIC_URL, too.

    Exit code 0: registered. 1: the gateway refused, or the settings or the .env file are wrong.
    """
    outside = os.environ.get(VARIABLE)
    bot, _ = store_of(folder)
    known = read_webhook(os.environ, bot.settings())
    secret = _own_secret() if own_secret else token_urlsafe(32) if write_env else None
    file = (env_file(bot.path) or bot.path / ".env") if write_env else None
    if file is not None and secret is not None:  # first: the answer, which shows it only once, may be lost
        write_setting(file, VARIABLE, _in_front(secret, known))
    parts = urlsplit(url)
    address = url if parts.path not in ("", "/") else f"https://{parts.netloc}{known.path}"
    registered = _registered(folder, RegisterWebhook(name or bot.name, address, events, secret), file)
    if as_json:
        echo_json(asdict(registered))
    else:
        _tell(registered, shows_secret=file is None)
    if file is not None and registered.secret not in (None, secret):  # the gateway chose another
        write_setting(file, VARIABLE, _in_front(registered.secret, known))
    base = registered.url.removesuffix(known.path)
    if file is not None and base != registered.url:
        write_setting(file, PUBLIC, base)
    if file is not None and not all(map(_is_usable, known.secrets)):
        click.echo(
            "An existing secret was left out, because it is too short: events signed with it are refused.", err=True
        )
    echo_lines(_left_to_do(registered, known.path, file, outside), err=True)


def _registered(folder: Path | None, command: RegisterWebhook, file: Path | None) -> WebhookRegistration:
    try:
        return gateway(folder, command)
    except BotError as error:
        kept = f"\n{file} contains the new secret, which does no harm" if file is not None else ""
        raise CommandRefused(f"{error}{kept}") from error


def _in_front(secret: str, known: WebhookSettings) -> str:
    """The setting with a secret in front of those that were there and can still be used."""
    usable = (each for each in known.secrets if _is_usable(each))
    return ",".join(dict.fromkeys((secret, *usable)))


def _is_usable(secret: str) -> bool:
    try:
        return signing_secrets(secret) == (secret,)
    except ValueError:
        return False


def _tell(registered: WebhookRegistration, shows_secret: bool) -> None:
    about = f"{registered.name} ({registered.id})" if registered.id else registered.name
    click.echo(f"The gateway sends {counted(len(registered.events), 'event')} to {registered.url}: {about}.")
    click.echo(click.wrap_text(", ".join(registered.events), initial_indent="  ", subsequent_indent="  "))
    if not registered.is_active:
        click.echo(styled("The gateway reports that the webhook is not active.", fg="red"))
    if shows_secret and registered.secret:
        click.echo(f"The secret that signs them, shown only now: {styled(registered.secret, bold=True)}")


def _left_to_do(registered: WebhookRegistration, path: str, file: Path | None, outside: str | None) -> Iterator[str]:
    if not registered.secret:
        yield "The gateway did not show the secret: register again with --secret and your own secret."
    elif not _is_usable(registered.secret):
        yield "The gateway has chosen a secret that `bot serve` refuses, since it is too short: register again with --write-env."
    elif file is None:
        yield f"Put the secret in front of those in {VARIABLE}, with a comma, and restart `bot serve`."
    elif outside:
        yield f"The secret that signs them is in {file}, but {VARIABLE} is set in the environment, which has priority: set it there."
    else:
        yield f"The secret that signs them is in {file}. Restart `bot serve` to use it."
    if file is not None and os.environ.get(PUBLIC) not in (None, dotenv_values(file).get(PUBLIC)):
        yield f"{PUBLIC} is set in the environment, which has priority over {file}: set it there."
    if urlsplit(registered.url).path != path:
        yield f"The path differs: `bot serve` answers at {path} (BOT_WEBHOOK_PATH)."


def _own_secret() -> str:
    """The user's own secret: never as an argument, which every process on the machine can read."""
    if sys.stdin.isatty():
        secret: str = click.prompt("Signing secret", hide_input=True, confirmation_prompt=True, err=True)
    else:
        secret = sys.stdin.readline().rstrip("\r\n")
    if SECRET.fullmatch(secret) is None or not _is_usable(secret):
        raise click.UsageError(
            "a signing secret has 16 characters or more, and no spaces, commas or characters beyond ASCII"
        )
    return secret


@command.command("show", short_help="Show the webhook's path and when the last event arrived.")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: path, secrets (how many), last_event, stale.")
def show(folder: Path | None, as_json: bool) -> None:
    """Show the path of the webhook, and when the last event arrived.

    The gateway cannot list webhooks, so this shows what the bot itself knows. The gateway disables a webhook that has
    failed for 7 days: if no more events arrive, register a new one.

    Exit code 0: success. 1: the settings are wrong.
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
    click.echo(f"`bot serve` receives events at {webhook.path}, signed with {_secrets_in_words(len(webhook.secrets))}.")
    click.echo(f"The last event arrived at {local_time(last)}." if last is not None else "No event has arrived yet.")
    if stale_at is not None:
        click.echo(f"{counted(stale, 'event')} arrived too late and were rejected, the last at {local_time(stale_at)}.")
    click.echo(NO_LIST)


def _secrets_in_words(count: int) -> str:
    if not count:
        return "no secret yet: `bot webhook register URL --write-env` makes one"
    return counted(count, "secret") if count == 1 else f"any of {count} secrets"


def write_setting(file: Path, name: str, value: str) -> None:
    """Set one variable; nothing else in the file changes. There need be no file yet.

    It is replaced whole or not at all, and only its owner can read it. Raises `CommandRefused` and `OSError`.
    """
    with TemporaryDirectory(dir=file.resolve().parent, prefix=".env.") as folder:  # 0700: no other user sees a secret
        draft = Path(folder) / "draft"
        draft.write_bytes(file.read_bytes() if file.exists() else b"")
        set_key(draft, name, value, quote_mode="auto")
        if dotenv_values(draft).get(name) != value:
            raise CommandRefused(f"{file} cannot hold this value: set {name} in the environment instead")
        write_whole(file, draft.read_bytes())
