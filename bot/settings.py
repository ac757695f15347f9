"""Settings: what differs from one installation to the next. The environment, over ``.env``, over `bot.yml`'s ``settings``.

Each is called ``BOT_<NAME>`` in the environment and ``<name>`` under ``settings:`` in `bot.yml`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bot.core.errors import BotError

MAX_TOLERANCE = timedelta(hours=3)  # the gateway's last retry comes after 2 h 37 min
INTERNAL_PATHS = ("/healthz", "/readyz", "/metrics")


class BadSettings(BotError):
    """Settings that are missing or wrong: ``problems`` has one line for each, with what to do."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that `bot serve` is told from outside. Secrets are in no repr."""

    gateway_url: str
    gateway_key: str = field(repr=False)
    webhook_secrets: tuple[str, ...] = field(repr=False)  # several while one replaces another
    channel_id: str | None
    gateway_per_minute: int
    gateway_per_day: int
    store: Path  # the engine's file; the inbox lies beside it
    host: str
    port: int
    webhook_path: str
    webhook_tolerance: timedelta

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every text that must appear nowhere."""
        return (self.gateway_key, *self.webhook_secrets)

    def environ(self) -> dict[str, str]:
        """The same settings as environment variables, for a process that is started with them."""
        texts = {f"BOT_{f.name.upper()}": getattr(self, f.name) for f in fields(self) if f.name != "webhook_secrets"}
        texts["BOT_WEBHOOK_SECRET"] = ",".join(self.webhook_secrets)
        texts["BOT_WEBHOOK_TOLERANCE"] = int(self.webhook_tolerance.total_seconds())
        return {name: str(value) for name, value in texts.items() if value is not None}


def read_settings(folder: Path, environ: Mapping[str, str], written: Mapping[str, str]) -> Settings:
    """Read the settings of the bot in ``folder``; ``written`` are those in its `bot.yml`.

    Raises `BadSettings` with everything that is missing or wrong, all at once.
    """
    read = _Reader(environ, written)
    values: dict[str, Any] = {
        "gateway_url": read("gateway_url", _url, hint="the gateway's base address, such as https://gateway.example"),
        "gateway_key": read("gateway_key", _secret, hint="the gateway's API key"),
        "webhook_secrets": read("webhook_secret", _secrets, hint="the signing secret of the gateway's webhook"),
        "channel_id": read("channel_id", str, default=None),
        "gateway_per_minute": read("gateway_per_minute", _number(1, 1_000_000), default=60),
        "gateway_per_day": read("gateway_per_day", _number(1, 1_000_000_000), default=10_000),
        "store": read.store(folder),
        "host": read("host", _host, default="127.0.0.1"),
        "port": read("port", _number(0, 65535), default=8000),
        "webhook_path": read("webhook_path", _path, default="/webhook"),
        "webhook_tolerance": read("webhook_tolerance", _tolerance, default=timedelta(minutes=5)),
    }
    read.refuse_unknown({"webhook_secret", *values} - {"webhook_secrets"})
    if read.problems:
        raise BadSettings(read.problems)
    return Settings(**values)


def read_store(folder: Path, environ: Mapping[str, str], written: Mapping[str, str]) -> Path:
    """Where the store of the bot in ``folder`` lies, whatever else is set or missing. Raises `BadSettings`."""
    read = _Reader(environ, written)
    store = read.store(folder)
    if read.problems:
        raise BadSettings(read.problems)
    return store


class _Reader:
    """Reads one setting after another and collects what is wrong with them."""

    def __init__(self, environ: Mapping[str, str], written: Mapping[str, str]) -> None:
        self.environ, self.written = environ, written
        self.problems: list[str] = []

    def __call__(self, name: str, parse: Callable[[str], Any], *, default: Any = None, hint: str = "") -> Any:
        variable = f"BOT_{name.upper()}"
        text = (self.environ.get(variable) or self.written.get(name) or "").strip()
        if not text:
            if hint:
                self.problems.append(f"{variable} is missing: set it, in the environment or in .env, to {hint}")
            return default
        try:
            return parse(text)
        except ValueError as error:
            self.problems.append(f"{variable} {error}")
            return default

    def store(self, folder: Path) -> Path:
        """A relative path is relative to where the command runs, or to the bot's folder if `bot.yml` names it."""
        base = Path() if self.environ.get("BOT_STORE") else folder
        store: Path = self("store", lambda text: _store(base / text), default=folder / "bot.db")
        return store

    def refuse_unknown(self, known: set[str]) -> None:
        self.problems += [f'bot.yml: settings: there is no setting "{name}"' for name in self.written.keys() - known]


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        raise ValueError("is no base address: write one such as https://gateway.example, with no name, key or query")
    return text.rstrip("/")


def _secret(text: str) -> str:
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("has spaces or other characters that no key has: copy it again")
    return text


def _secrets(text: str) -> tuple[str, ...]:
    found = tuple(_secret(part.strip()) for part in text.split(",") if part.strip())
    if not found:
        raise ValueError("holds no secret: write one, or several with commas between them")
    return found


def _number(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text[:12]) <= most):
            raise ValueError(f'is "{text[:40]}": write a whole number from {least} to {most}')
        return int(text)

    return parse


def _tolerance(text: str) -> timedelta:
    return timedelta(seconds=_number(300, int(MAX_TOLERANCE.total_seconds()))(text))


def _host(text: str) -> str:
    if any(c.isspace() or c == "/" for c in text):
        raise ValueError(f'is "{text[:40]}": write a host name or address, such as 127.0.0.1 or 0.0.0.0')
    return text


def _path(text: str) -> str:
    if not text.startswith("/") or any(c in "?#<> " for c in text) or text in INTERNAL_PATHS:
        raise ValueError(f'is "{text[:40]}": write a path of your own, such as /webhook')
    return text


def _store(path: Path) -> Path:
    if path.is_dir():
        raise ValueError(f"is the folder {path}: name a file, such as {path / 'bot.db'}")
    if not path.parent.is_dir():
        raise ValueError(f"lies in {path.parent}, which does not exist: make that folder first")
    return path
