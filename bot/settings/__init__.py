"""Settings: values that differ from one installation to the next.

The environment comes first, then ``.env``, then ``settings`` in `bot.yml`.
Each is called ``BOT_<NAME>`` in the environment and ``<name>`` under ``settings:`` in `bot.yml`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import field, fields, replace
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.language.source.problems import Problems, did_you_mean, nearest
from bot.language.source.yaml_tree import Node
from bot.settings import setting_values as values
from bot.store.database import PostgresAddress, StoreAddress

if TYPE_CHECKING:
    from bot.language.keys.declared_keys import Form

T = TypeVar("T")
PREFIX = "BOT_"
OF_DEPLOYMENT = ("BOT_DOMAIN", "BOT_FOLDER", "BOT_UPSTREAM")
"""Variables of the compose files and of examples/deploy, which may stand in the same ``.env``."""
_LIST = "docs/going-live.md lists them"


class BadSettings(BotError):
    """Settings that are missing or wrong: ``problems`` has one line for each, with what to do."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@immutable
class SettingSpec:
    """One setting: its name in `bot.yml`, how it is read, what editors say of it, and its value by default.

    ``needed`` says what to set it to if it is missing; empty if it may be missing.
    """

    name: str
    parse: Callable[[str], Any]
    about: str
    default: Any = None
    needed: str = ""
    secret: bool = False

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return PREFIX + self.name.upper()


def _setting(parse: Callable[[str], Any], about: str, *, name: str = "", **more: Any) -> Any:
    """Declare a setting, by the name of its field or another. ``{}`` in ``about`` is where its default is shown."""
    spec = SettingSpec(name, parse, about.format(_written(more.get("default"))), **more)
    return field(repr=not spec.secret, metadata={"spec": spec})


def _written(value: Any) -> str:
    """A setting's value as it is written in the environment."""
    match value:
        case bool():
            return "yes" if value else "no"
        case tuple():
            return (" " if any("," in each for each in value) else ",").join(value)
        case timedelta():
            return str(int(value.total_seconds()))
        case PostgresAddress():
            return value.url  # with its password
    return str(value)


def _specs(group: Any) -> dict[str, SettingSpec]:
    """The settings that are declared in a class, by their fields."""
    found = {each.name: each.metadata["spec"] for each in fields(group) if "spec" in each.metadata}
    return {name: replace(spec, name=spec.name or name) for name, spec in found.items()}


@immutable
class ModelService:
    """The chat-completion service: the first of ``models`` is asked, the others if it fails; there may be no model."""

    url: str = _setting(
        values.url,
        "The chat-completion service's base address.",
        name="ai_url",
        needed="the chat-completion service's base address, such as https://models.example/api/v1",
    )
    key: str = _setting(
        values.secret,
        "The chat-completion service's API key: it belongs in .env.",
        name="ai_key",
        needed="the chat-completion service's API key",
        secret=True,
    )
    models: tuple[str, ...] = _setting(
        values.models,
        "The model that is asked; after commas, the models that are asked if it fails.",
        name="ai_model",
        default=(),
    )
    key_in: Literal["authorization", "x-api-key", "query"] = _setting(
        values.word("authorization", "x-api-key", "query"),
        "Where the key goes: authorization, x-api-key or query; {} by default.",
        name="ai_key_in",
        default="authorization",
    )


@immutable
class AccountSettings:
    """The settings of the gateway's account: enough for commands that need no webhook."""

    gateway_url: str = _setting(
        values.gateway_url,
        "The gateway's base address.",
        needed="the gateway's base address, such as https://gateway.example",
    )
    gateway_key: str = _setting(
        values.secret, "The gateway's API key: it belongs in .env.", needed="the gateway's API key", secret=True
    )
    channel_id: str | None = _setting(str, "The channel to send by, where the account has several.")
    gateway_per_minute: int = _setting(
        values.number(1, 1_000_000), "How many requests a minute the account may make; {} by default.", default=60
    )
    gateway_per_day: int = _setting(
        values.number(1, 1_000_000_000), "How many requests a day the account may make; {} by default.", default=10_000
    )


@immutable
class Settings(AccountSettings):
    """All settings of `bot serve`. Secrets are in no repr."""

    webhook_secrets: tuple[str, ...] = _setting(  # several while one replaces another
        values.signing_secrets,
        "The secret with which the gateway signs events: it belongs in .env.",
        name="webhook_secret",
        needed="the signing secret of the gateway's webhook (`bot webhook register URL --write-env` makes one)",
        secret=True,
    )
    gateway_per_contact: int | None = _setting(  # None: see `bot.runtime.rate_limiter.share_of`
        values.number(1, 1_000_000_000),
        "How many of a day's requests one contact may get; 2 % by default, but at least 40.",
    )
    repeat_unknown: bool = _setting(
        values.yes_or_no,
        "Whether a reply is sent again if nobody knows whether it was sent; {} by default.",
        default=False,
    )
    answer_ids: bool = _setting(
        values.yes_or_no,
        "Whether senders who are no phone numbers are answered, to the id as it came; {} by default.",
        default=False,
    )
    store: StoreAddress = _setting(
        str,
        "The store: a file, bot.db beside bot.yml by default, or the address of a database, postgresql://user@host/name.",
    )
    files: str | None = _setting(
        values.files,
        "Where the files are that flows keep, if the store is a database: a folder that all machines share, or s3://bucket/prefix.",
    )
    shards: int = _setting(
        values.number(1, 64),
        "The number of shards of a new store that is a database, each with an engine of its own; {} by default.",
        default=1,
    )
    host: str = _setting(values.host, "The address that bot serve listens at; {} by default.", default="127.0.0.1")
    port: int = _setting(values.number(0, 65535), "The port that bot serve listens at; {} by default.", default=8000)
    webhook_path: str = _setting(values.path, "A further path of the webhook; {} by default.", default="/webhook")
    webhook_tolerance: timedelta = _setting(
        values.tolerance,
        "How many seconds an event's timestamp may be off; {} by default.",
        default=timedelta(minutes=5),
    )
    public_url: str | None = _setting(values.url, "The bot's public base address, at which bot doctor looks.")
    api_key: str | None = _setting(
        values.api_key, "The key with which programs start flows: it belongs in .env.", secret=True
    )
    results_days: int = _setting(
        values.number(1, 36_500),
        "For how many days the results that bot report shows are kept; {} by default.",
        default=400,
    )
    console_users: tuple[str, ...] = _setting(
        values.console_users,
        "The users of the console, as bot console password prints them: they belong in .env.",
        default=(),
        secret=True,
    )
    console_url: str | None = _setting(
        values.console_url, "The console's address in browsers; http://127.0.0.1 and its port by default."
    )
    console_host: str = _setting(
        values.host, "The address that the console listens at; {} by default.", default="127.0.0.1"
    )
    console_port: int = _setting(
        values.number(0, 65535), "The port that the console listens at; {} by default.", default=8001
    )
    log: str | None = _setting(values.log, "Write turns to have bot serve log a line for each turn, beside trouble.")
    log_format: str = _setting(
        values.word("text", "json"), "How bot serve writes its log: text or json; {} by default.", default="text"
    )
    model_service: ModelService | None = None  # None: no model can be asked
    named: Mapping[str, str] = field(default_factory=dict, repr=False)  # the secrets that `bot.yml` names

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every text that must appear nowhere."""
        secrets = (value if isinstance(value, tuple) else (value,) for spec, value in self._values() if spec.secret)
        database = self.store.password if isinstance(self.store, PostgresAddress) else None
        return (*chain.from_iterable(secrets), *self.named.values(), *([database] if database else []))

    def environ(self) -> dict[str, str]:
        """The same settings as environment variables, for a process that is started with them."""
        return {spec.variable: _written(value) for spec, value in self._values()} | dict(self.named)

    def _values(self) -> Iterator[tuple[SettingSpec, Any]]:
        """Each setting that has a value, with it."""
        for group in (self, self.model_service) if self.model_service is not None else (self,):
            for name, spec in _specs(group).items():
                if (value := getattr(group, name)) is not None:
                    yield spec, value


SETTINGS = {spec.name: spec for group in (Settings, ModelService) for spec in _specs(group).values()}
"""All settings, by name."""


@immutable
class WebhookSettings:
    """The webhook's path, and its secrets: empty before it is registered."""

    path: str
    secrets: tuple[str, ...] = field(repr=False)


def read_settings(
    folder: Path, environ: Mapping[str, str], written: Mapping[str, str], named: Iterable[str] = ()
) -> Settings:
    """Read the settings of the bot in ``folder``; ``written`` are those in its `bot.yml`, ``named`` its `secrets`.

    Raises `BadSettings` with everything that is missing or wrong, all at once.
    """
    read = _Reader(environ, written, folder)
    found = read.all_of(Settings) | {"store": read.store(folder)}
    if any(read.text(spec.name) for spec in _specs(ModelService).values()):
        found["model_service"] = ModelService(**read.all_of(ModelService))
    read.refuse_unknown()
    found["named"] = {name: environ.get(name, "") for name in named}
    read.problems += missing_secrets(environ, found["named"])
    return read.complete(Settings(**found))


def share_authorities(environment: MutableMapping[str, str]) -> None:
    """Give all variables for trusted certificates the same value if only some are set, because other clients in this
    process (of an S3-like store, of the bot's own Python) read only one of them.
    """
    bundle, file, folder = (environment.get(name) for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"))
    if bundle and not (file or folder):
        environment["SSL_CERT_DIR" if Path(bundle).is_dir() else "SSL_CERT_FILE"] = bundle
    elif not bundle and (place := file or folder):
        environment["REQUESTS_CA_BUNDLE"] = place


def missing_secrets(environ: Mapping[str, str], named: Iterable[str]) -> list[str]:
    """A sentence for each secret that `bot.yml` names and that is not set: it stands in the environment alone."""
    missing = (name for name in named if not environ.get(name))
    return [f"{name} is missing: set it, in the environment or in .env, since bot.yml names it" for name in missing]


def read_webhook(environ: Mapping[str, str], written: Mapping[str, str]) -> WebhookSettings:
    """Read the webhook's settings, whatever else is set or missing, and however short its secrets are. Raises
    `BadSettings`.
    """
    read = _Reader(environ, written)
    spec = replace(SETTINGS["webhook_secret"], parse=values.secrets, needed="", default=())
    path, secrets = read(SETTINGS["webhook_path"]), read(spec)
    return read.complete(WebhookSettings(path, secrets))


def read_account(environ: Mapping[str, str], written: Mapping[str, str]) -> AccountSettings:
    """Read the gateway's account, whatever else is set or missing. Raises `BadSettings`."""
    read = _Reader(environ, written)
    return read.complete(AccountSettings(**read.all_of(AccountSettings)))


def read_model_service(environ: Mapping[str, str], written: Mapping[str, str]) -> ModelService:
    """Read the chat-completion service's settings, whatever else is set or missing. Raises `BadSettings`."""
    read = _Reader(environ, written)
    return read.complete(ModelService(**read.all_of(ModelService)))


def read_limits(environ: Mapping[str, str], written: Mapping[str, str]) -> tuple[int, int]:
    """Read how many requests the gateway takes a minute and a day, whatever else is set. Raises `BadSettings`."""
    read = _Reader(environ, written)
    return read.complete((read(SETTINGS["gateway_per_minute"]), read(SETTINGS["gateway_per_day"])))


def read_store(folder: Path, environ: Mapping[str, str], written: Mapping[str, str]) -> StoreAddress:
    """Read where the store of the bot in ``folder`` is, whatever else is set or missing. Raises `BadSettings`."""
    read = _Reader(environ, written, folder)
    return read.complete(read.store(folder))


class _Reader:
    """Reads settings one by one and collects their mistakes."""

    def __init__(self, environ: Mapping[str, str], written: Mapping[str, str], folder: Path | None = None) -> None:
        self.environ, self.written = environ, dict(written)
        if folder is not None:
            self.written |= {
                name: values.from_folder(folder, written[name]) for name in values.PATHS if name in written
            }
        self.problems: list[str] = []

    def __call__(self, spec: SettingSpec) -> Any:
        text = self.text(spec.name)
        if not text:
            if spec.needed:
                what = f"{spec.variable} is missing: set it, in the environment or in .env, to {spec.needed}"
                self.problems.append(what)
            return spec.default
        try:
            return spec.parse(text)
        except ValueError as error:
            self.problems.append(f"{spec.variable} {error}")
            return spec.default

    def all_of(self, group: type) -> dict[str, Any]:
        """The settings that are declared in a class, by their fields."""
        return {name: self(spec) for name, spec in _specs(group).items()}

    def text(self, name: str) -> str:
        """A setting as it is written; an empty text where it is not."""
        return (self.environ.get(SETTINGS[name].variable) or self.written.get(name) or "").strip()

    def store(self, folder: Path) -> StoreAddress:
        """Read where the store of the bot in ``folder`` is."""
        spec = SETTINGS["store"]
        files = self.text("files")
        if files and not self.text("store").startswith(values.DATABASES):
            self.problems.append(
                "BOT_FILES is for a store that is a database: set BOT_STORE to its address, or leave it out"
            )
        shards = self(SETTINGS["shards"])
        if shards > 1 and not self.text("store").startswith(values.DATABASES):
            self.problems.append(
                "BOT_SHARDS is for a store that is a database: set BOT_STORE to its address, or leave it out"
            )
        address: StoreAddress = self(
            replace(spec, parse=lambda text: values.store(text, folder, files, shards), default=folder / "bot.db")
        )
        return address

    def refuse_unknown(self) -> None:
        """Report settings of `bot.yml` that do not exist."""
        for name in sorted(self.written.keys() - SETTINGS.keys()):
            fix = did_you_mean(name, SETTINGS, _LIST)
            self.problems.append(f'bot.yml: settings: there is no setting "{name}" ({fix})')

    def complete(self, value: T) -> T:
        """Return the value that was made of the settings, if they have no problems. Raises `BadSettings`."""
        if self.problems:
            raise BadSettings(self.problems)
        return value


def unknown_variables(environ: Iterable[str]) -> list[str]:
    """A line for each variable of the environment that looks like a setting but is unknown."""
    known = {*(spec.variable for spec in SETTINGS.values()), *OF_DEPLOYMENT}
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return [f"there is no setting {name} ({_setting_meant(name)})" for name in unknown]


def short_secrets(settings: Settings) -> list[str]:
    """A line where a signing secret can be used, and is to be replaced by a longer one."""
    if all(len(secret) >= values.LONG_KEY for secret in settings.webhook_secrets):
        return []
    return [
        f"BOT_WEBHOOK_SECRET has a secret of less than {values.LONG_KEY} characters, "
        "which somebody could guess from one signed event: `bot webhook register URL --write-env` makes a longer one"
    ]


def _setting_meant(name: str) -> str:
    near = nearest(name.removeprefix(PREFIX), SETTINGS)
    return _LIST if near is None else f'did you mean "{SETTINGS[near].variable}"?'


def problems_in(settings: Node) -> Problems:
    """The problems of the `settings` of ``bot.yml``, as far as they do not depend on the machine."""
    problems = Problems()
    settings_form().read(settings, problems, "bot: settings")
    return problems


def settings_form() -> "Form[Any]":
    """The settings as a map in ``bot.yml``. Secrets are known there, and editors do not offer them."""
    from bot.language.keys.declared_keys import (  # slow to import, and no server needs them
        STRING,
        Form,
        KeySet,
        KeySpec,
        nested,
    )
    from bot.language.keys.key_schemas import not_suggested

    def read(spec: SettingSpec, node: Node, problems: Problems, what: str) -> None:
        text = STRING.read(node, problems, what)
        try:
            if text is not None:
                spec.parse(text)
        except ValueError as error:
            reason, _, fix = str(error).partition(": ")
            problems.add("E106", node.mark, f"{what} {reason}", fix)

    def form(spec: SettingSpec) -> Form[None]:
        return Form(not_suggested(STRING.schema) if spec.secret else STRING.schema, partial(read, spec))

    keys = KeySet(*(KeySpec(spec.name, form(spec), spec.about) for spec in SETTINGS.values()))
    return nested(keys, keys.values, "{port: 8080}")
