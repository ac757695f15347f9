"""Settings: what differs from one installation to the next.

They stand in the environment, over ``.env``, over `bot.yml`'s ``settings``.
Each is called ``BOT_<NAME>`` in the environment and ``<name>`` under ``settings:`` in `bot.yml`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

from bot.core.errors import BotError
from bot.lang.problems import did_you_mean
from bot.settings import setting_values
from bot.settings.setting_values import PARSERS, variable

T = TypeVar("T")


class BadSettings(BotError):
    """Settings that are missing or wrong: ``problems`` has one line for each, with what to do."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ModelService:
    """The chat-completion service: the first of ``models`` is asked, the others are fallen back to; maybe none."""

    url: str
    key: str = field(repr=False)
    models: tuple[str, ...]
    key_in: Literal["authorization", "x-api-key", "query"]


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of `bot serve`. Secrets are in no repr."""

    gateway_url: str
    gateway_key: str = field(repr=False)
    webhook_secrets: tuple[str, ...] = field(repr=False)  # several while one replaces another
    channel_id: str | None
    gateway_per_minute: int
    gateway_per_day: int
    gateway_per_contact: int | None  # of a day; None: see `bot.runtime.rate_limiter.share_of`
    repeat_unknown: bool  # a reply of which nobody can tell whether it was sent
    store: Path  # the engine's file; the inbox lies beside it
    host: str
    port: int
    webhook_path: str
    webhook_tolerance: timedelta
    public_url: str | None  # the bot's address as the gateway sees it
    model_service: ModelService | None  # None: no model can be asked
    api_key: str | None = field(default=None, repr=False)  # what programs must know that start flows; None: none may
    log: str | None = None  # "turns": a line for each
    log_format: str = "text"  # or "json"
    named: Mapping[str, str] = field(default_factory=dict, repr=False)  # the secrets that `bot.yml` names

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every text that must appear nowhere."""
        keys = [self.model_service.key] if self.model_service else []
        keys += [self.api_key] if self.api_key else []
        return (self.gateway_key, *self.webhook_secrets, *keys, *self.named.values())

    def environ(self) -> dict[str, str]:
        """The same settings as environment variables, for a process that is started with them."""
        special = ("webhook_secrets", "repeat_unknown", "model_service", "named")
        written = {f"BOT_{f.name.upper()}": getattr(self, f.name) for f in fields(self) if f.name not in special}
        written["BOT_WEBHOOK_SECRET"] = ",".join(self.webhook_secrets)
        written["BOT_REPEAT_UNKNOWN"] = "yes" if self.repeat_unknown else "no"
        written["BOT_WEBHOOK_TOLERANCE"] = int(self.webhook_tolerance.total_seconds())
        if ai := self.model_service:
            written |= {"BOT_AI_URL": ai.url, "BOT_AI_KEY": ai.key, "BOT_AI_MODEL": ",".join(ai.models)}
            written["BOT_AI_KEY_IN"] = ai.key_in
        return {name: str(value) for name, value in written.items() if value is not None} | dict(self.named)


@dataclass(frozen=True, slots=True)
class AccountSettings:
    """What calling the gateway takes: the account's part of `Settings`, for commands that need no webhook."""

    gateway_url: str
    gateway_key: str = field(repr=False)
    channel_id: str | None
    gateway_per_minute: int
    gateway_per_day: int


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Where the webhook is answered, and its secrets: none before it is registered."""

    path: str
    secrets: tuple[str, ...] = field(repr=False)


def read_settings(
    folder: Path, environ: Mapping[str, str], written: Mapping[str, str], named: Iterable[str] = ()
) -> Settings:
    """Read the settings of the bot in ``folder``; ``written`` are those in its `bot.yml`, ``named`` its `secrets`.

    Raises `BadSettings` with everything that is missing or wrong, all at once.
    """
    read = _Reader(environ, written)
    values: dict[str, Any] = {
        **_account(read),
        "webhook_secrets": read("webhook_secret", hint=_SIGNING),
        "gateway_per_contact": read("gateway_per_contact"),
        "repeat_unknown": read("repeat_unknown", default=False),
        "store": read.store(folder),
        "host": read("host", default="127.0.0.1"),
        "port": read("port", default=8000),
        "webhook_path": read("webhook_path", default="/webhook"),
        "webhook_tolerance": read("webhook_tolerance", default=timedelta(minutes=5)),
        "public_url": read("public_url"),
        "api_key": read("api_key"),
        "log": read("log"),
        "log_format": read("log_format", default="text"),
        "model_service": _model_service(read) if any(map(read.text, _MODEL_SERVICE)) else None,
    }
    read.refuse_unknown()
    return read.complete(Settings(**values, named={name: read.named(name) for name in named}))


def read_webhook(environ: Mapping[str, str], written: Mapping[str, str]) -> WebhookSettings:
    """Read the webhook's settings, whatever else is set or missing. Raises `BadSettings`."""
    read = _Reader(environ, written)
    return read.complete(WebhookSettings(read("webhook_path", default="/webhook"), read("webhook_secret", default=())))


def read_account(environ: Mapping[str, str], written: Mapping[str, str]) -> AccountSettings:
    """Read the gateway's account, whatever else is set or missing. Raises `BadSettings`."""
    read = _Reader(environ, written)
    return read.complete(AccountSettings(**_account(read)))


def read_model_service(environ: Mapping[str, str], written: Mapping[str, str]) -> ModelService:
    """Read the chat-completion service's settings, whatever else is set or missing. Raises `BadSettings`."""
    read = _Reader(environ, written)
    return read.complete(_model_service(read))


def read_limits(environ: Mapping[str, str], written: Mapping[str, str]) -> tuple[int, int]:
    """Read how many requests the gateway takes a minute and a day, whatever else is set. Raises `BadSettings`."""
    read = _Reader(environ, written)
    limits = read.complete(_limits(read))
    return limits["gateway_per_minute"], limits["gateway_per_day"]


def read_store(folder: Path, environ: Mapping[str, str], written: Mapping[str, str]) -> Path:
    """Where the store of the bot in ``folder`` lies, whatever else is set or missing. Raises `BadSettings`."""
    read = _Reader(environ, written)
    return read.complete(read.store(folder))


def _limits(read: "_Reader") -> dict[str, int]:
    return {
        "gateway_per_minute": read("gateway_per_minute", default=60),
        "gateway_per_day": read("gateway_per_day", default=10_000),
    }


def _account(read: "_Reader") -> dict[str, Any]:
    return {
        "gateway_url": read("gateway_url", hint="the gateway's base address, such as https://gateway.example"),
        "gateway_key": read("gateway_key", hint="the gateway's API key"),
        "channel_id": read("channel_id"),
        **_limits(read),
    }


_SIGNING = "the signing secret of the gateway's webhook (`bot webhook register URL --write-env` makes one)"
_MODEL_SERVICE = ("ai_url", "ai_key", "ai_model", "ai_key_in")


def _model_service(read: "_Reader") -> ModelService:
    url = "the chat-completion service's base address, such as https://models.example/api/v1"
    return ModelService(
        url=read("ai_url", hint=url),
        key=read("ai_key", hint="the chat-completion service's API key"),
        models=read("ai_model", default=()),
        key_in=read("ai_key_in", default="authorization"),
    )


class _Reader:
    """Reads one setting after another and collects what is wrong with them."""

    def __init__(self, environ: Mapping[str, str], written: Mapping[str, str]) -> None:
        self.environ, self.written = environ, written
        self.problems: list[str] = []

    def __call__(
        self, name: str, *, default: Any = None, hint: str = "", parse: Callable[[str], Any] | None = None
    ) -> Any:
        text = self.text(name)
        if not text:
            if hint:
                self.problems.append(f"{variable(name)} is missing: set it, in the environment or in .env, to {hint}")
            return default
        try:
            return (parse or PARSERS[name])(text)
        except ValueError as error:
            self.problems.append(f"{variable(name)} {error}")
            return default

    def text(self, name: str) -> str:
        """A setting as it is written; an empty text where it is not."""
        return (self.environ.get(variable(name)) or self.written.get(name) or "").strip()

    def named(self, name: str) -> str:
        """A secret that `bot.yml` names: it stands in the environment alone."""
        value = self.environ.get(name, "")
        if not value:
            self.problems.append(f"{name} is missing: set it, in the environment or in .env, since bot.yml names it")
        return value

    def store(self, folder: Path) -> Path:
        """A relative path is relative to where the command runs, or to the bot's folder if `bot.yml` names it."""
        base = Path() if self.environ.get("BOT_STORE") else folder
        store: Path = self("store", default=folder / "bot.db", parse=lambda text: setting_values.store(base / text))
        return store

    def refuse_unknown(self) -> None:
        """`bot.yml` is to have no settings but those that there are."""
        for name in sorted(self.written.keys() - PARSERS.keys()):
            fix = did_you_mean(name, PARSERS, "docs/going-live.md lists them")
            self.problems.append(f'bot.yml: settings: there is no setting "{name}" ({fix})')

    def complete(self, value: T) -> T:
        """What has been made of the settings, if nothing was wrong with them. Raises `BadSettings`."""
        if self.problems:
            raise BadSettings(self.problems)
        return value
