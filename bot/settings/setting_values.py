"""All settings with the reader of each, and names that are no settings."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bot.lang.problems import Problems, nearest
from bot.lang.source import Node

if TYPE_CHECKING:
    from bot.keys.fields import Fields


MAX_TOLERANCE = timedelta(hours=3)  # the gateway's last retry comes after 2 h 37 min
INTERNAL_PATHS = ("/healthz", "/readyz", "/metrics")
API = "/api/"
_SHORTEST_KEY = 16  # characters


def url(text: str) -> str:
    """A base address: http or https, without a name, a key or a query."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        raise ValueError("is no base address: write one such as https://gateway.example, with no name, key or query")
    return text.rstrip("/")


def secret(text: str) -> str:
    """A key or a secret."""
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("has spaces or other characters that no key has: copy it again")
    return text


def api_key(text: str) -> str:
    """A key that anybody on the network may try to guess."""
    if len(secret(text)) < _SHORTEST_KEY:
        raise ValueError(
            f"has less than {_SHORTEST_KEY} characters: write a longer one, such as `openssl rand -hex 24`"
        )
    return text


def secrets(text: str) -> tuple[str, ...]:
    """Signing secrets, with commas between them."""
    found = tuple(secret(part.strip()) for part in text.split(",") if part.strip())
    if not found:
        raise ValueError("holds no secret: write one, or several with commas between them")
    return found


def models(text: str) -> tuple[str, ...]:
    """Models' slugs, with commas between them; each counts once."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found or not all(model.isprintable() and " " not in model for model in found):
        raise ValueError("is no list of models: write one such as provider/model, or several with commas between them")
    return found


def key_in(text: str) -> str:
    """Where the key of the chat-completion service goes."""
    if text not in ("authorization", "x-api-key", "query"):
        raise ValueError(f'is "{text[:40]}": write authorization, x-api-key or query')
    return text


def log(text: str) -> str:
    """What is logged beside what happens seldom."""
    if text != "turns":
        raise ValueError(f'is "{text[:40]}": write turns, or leave it out')
    return text


def log_format(text: str) -> str:
    """How a line of the log is written."""
    if text not in ("text", "json"):
        raise ValueError(f'is "{text[:40]}": write text or json')
    return text


def number(least: int, most: int) -> Callable[[str], int]:
    """A whole number within bounds."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text[:12]) <= most):
            raise ValueError(f'is "{text[:40]}": write a whole number from {least} to {most}')
        return int(text)

    return parse


def yes_or_no(text: str) -> bool:
    """``yes`` or ``no``."""
    if text not in ("yes", "no"):
        raise ValueError(f'is "{text[:40]}": write yes or no')
    return text == "yes"


def tolerance(text: str) -> timedelta:
    """How far off a webhook's timestamp may be: seconds, five minutes at least."""
    return timedelta(seconds=number(300, int(MAX_TOLERANCE.total_seconds()))(text))


def host(text: str) -> str:
    """The name or address to listen at."""
    if any(c.isspace() or c == "/" for c in text):
        raise ValueError(f'is "{text[:40]}": write a host name or address, such as 127.0.0.1 or 0.0.0.0')
    return text


def path(text: str) -> str:
    """The webhook's path."""
    if not text.startswith("/") or any(c in "?#<> " for c in text) or text in INTERNAL_PATHS or text.startswith(API):
        raise ValueError(f'is "{text[:40]}": write a path of your own, such as /webhook')
    return text


def store(path: Path) -> Path:
    """The store's file, in a folder that is there."""
    if path.is_dir():
        raise ValueError(f"is the folder {path}: name a file, such as {path / 'bot.db'}")
    if not path.parent.is_dir():
        raise ValueError(f"lies in {path.parent}, which does not exist: make that folder first")
    return path


PREFIX = "BOT_"
OF_DEPLOYMENT = ("BOT_DOMAIN", "BOT_FOLDER", "BOT_UPSTREAM")
"""Variables of compose.yaml and of examples/deploy, which may stand in the same ``.env``."""
PARSERS: Mapping[str, Callable[[str], Any]] = {
    "gateway_url": url,
    "gateway_key": secret,
    "gateway_per_minute": number(1, 1_000_000),
    "gateway_per_day": number(1, 1_000_000_000),
    "gateway_per_contact": number(1, 1_000_000_000),
    "channel_id": str,
    "webhook_secret": secrets,
    "webhook_path": path,
    "webhook_tolerance": tolerance,
    "repeat_unknown": yes_or_no,
    "log": log,
    "log_format": log_format,
    "store": str,
    "host": host,
    "port": number(0, 65535),
    "public_url": url,
    "api_key": api_key,
    "ai_url": url,
    "ai_key": secret,
    "ai_model": models,
    "ai_key_in": key_in,
}


def variable(name: str) -> str:
    """What a setting is called in the environment."""
    return PREFIX + name.upper()


def unknown_variables(environ: Iterable[str]) -> list[str]:
    """A line for each variable of the environment that looks like a setting and is none."""
    known = {*map(variable, PARSERS), *OF_DEPLOYMENT}
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return [f"there is no setting {name} ({_setting_meant(name)})" for name in unknown]


def _setting_meant(name: str) -> str:
    near = nearest(name.removeprefix(PREFIX), PARSERS)
    return "docs/going-live.md lists them" if near is None else f'did you mean "{variable(near)}"?'


def problems_in(settings: Node) -> Problems:
    """What is wrong with the `settings` of ``bot.yml``, as far as that does not depend on where the bot runs."""
    from bot.keys.fields import Fields  # slow to import, and a server that starts reads no more than values

    problems = Problems()
    fields = Fields(settings, problems, "bot: settings", "settings: {port: 8080}")
    for name, parse in PARSERS.items():
        _check(fields, name, parse)
    fields.close()
    return problems


def _check(fields: "Fields", name: str, parse: Callable[[str], Any]) -> None:
    text = fields.string(name)
    if text is None:
        return
    try:
        parse(text)
    except ValueError as error:
        what, _, fix = str(error).partition(": ")
        fields.problems.add("E106", fields.mark_of(name), f"{fields.what}: {name} {what}", fix)
