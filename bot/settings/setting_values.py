"""Readers of the settings' values: each says what is wrong with a text and what to write."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from bot.core.lazy_patterns import lazy_pattern
from bot.store.database import PostgresAddress, StoreAddress

MAX_TOLERANCE = timedelta(hours=3)  # the gateway's last retry comes after 2 h 37 min
INTERNAL_PATHS = ("/healthz", "/readyz", "/readyz/inbox", "/metrics")
API = "/api/"
CONSOLE_ROLES = ("viewer", "agent", "operator")
"""The roles of the console's users; each may do what those before it may (docs/console.md)."""
_SHORTEST_KEY, LONG_KEY = 16, 32  # characters
"""A secret that is shorter than the first is refused. One of the second length withstands somebody who tries secrets
without end, on machines of their own.
"""
_USER = lazy_pattern(rf"([\w.@-]{{1,40}}):({'|'.join(CONSOLE_ROLES)}):([\w.~%,-]+:)?(\$argon2id\$[\w$=,+/]+)")
DATABASES = ("postgresql://", "postgres://")
"""The beginnings of a database's address."""
OBJECTS = "s3://"
"""The beginning of an S3-like store's address."""
_BUCKET = lazy_pattern(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[\w.-]+)*/?", re.ASCII)
_DATABASE = lazy_pattern(r"postgres(ql)?://([^:/@?#%]*(:([^/@%]|%[0-9A-Fa-f]{2})*)?@)?([^@%]|%[0-9A-Fa-f]{2})*")
# libpq's other form:
_KEYWORDS = lazy_pattern(r"(host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*=")
_HOST = lazy_pattern(r"[a-z0-9._-]+|[0-9a-f:.]+")
_HERE = ("127.0.0.1", "localhost", "::1")


def gateway_url(text: str) -> str:
    """The gateway's base address, without the path that all its endpoints begin with."""
    base, path, _ = url(text).partition("/external-api")
    if path:
        raise ValueError(f"ends in the path of an endpoint: write {base}, because the bot adds {path} itself")
    return base


def url(text: str) -> str:
    """A base address: http or https, without a name, a key or a query."""
    try:
        parts = urlsplit(text)
        usable = _HOST.fullmatch(parts.hostname or "") and parts.port != 0 and text.isascii() and " " not in text
    except ValueError:
        usable = False
    if not usable or parts.scheme not in ("http", "https") or parts.username or parts.query:
        raise ValueError(
            "is not a base address: write one such as https://gateway.example, without a user name, key or query"
        )
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
        raise ValueError("has no secret: write one, or several with commas between them")
    return found


def signing_secrets(text: str) -> tuple[str, ...]:
    """Signing secrets that are too long to be guessed from one signed event."""
    found = secrets(text)
    if any(len(each) < _SHORTEST_KEY for each in found):
        raise ValueError(
            f"has a secret of less than {_SHORTEST_KEY} characters, which could be guessed from one signed event: "
            "delete it; `bot webhook register URL --write-env` makes a longer one"
        )
    return found


def models(text: str) -> tuple[str, ...]:
    """Models' slugs, with commas between them; each counts once."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found or not all(model.isprintable() and " " not in model for model in found):
        raise ValueError(
            "is not a list of models: write a model such as provider/model, or several with commas between them"
        )
    return found


def log(text: str) -> str:
    """The part of the log that can be added: ``turns``."""
    if text != "turns":
        raise ValueError(f'is "{text[:40]}": write turns, or leave it out')
    return text


def word(*words: str) -> Callable[[str], str]:
    """One of a few words."""
    *most, last = words

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f'is "{text[:40]}": write {", ".join(most)} or {last}')
        return text

    return parse


def number(least: int, most: int) -> Callable[[str], int]:
    """A whole number within bounds."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 12 and least <= int(text) <= most):
            raise ValueError(f'is "{text[:40]}": write a whole number from {least} to {most}')
        return int(text)

    return parse


def yes_or_no(text: str) -> bool:
    """``yes`` or ``no``."""
    return word("yes", "no")(text) == "yes"


def tolerance(text: str) -> timedelta:
    """The most that a webhook's timestamp may be off: seconds, five minutes at least."""
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


PATHS = ("store", "files")
"""The settings that can be paths: a relative one is relative to the folder of the file that has it."""


def from_folder(folder: Path, text: str) -> str:
    """A setting that may be a path, as it is to be read in ``folder``: ``bot.db`` -> ``/srv/bot/bot.db``. Addresses do
    not change.
    """
    return text if not text or "://" in text or _KEYWORDS.match(text) else str(folder.resolve() / text)


def store(text: str, folder: Path, files: str, shards: int) -> StoreAddress:
    """The store's file, in a folder that is there; or the address of a database.

    ``folder`` is the bot's, ``files`` where the files are that its flows keep; an empty text: in the bot's folder.
    """
    if "://" in text or _KEYWORDS.match(text):
        if _DATABASE.fullmatch(text) is None:  # the driver's own words would quote the password
            raise ValueError(
                "is not the address of a database: write postgresql://user:password@host/database, "
                "and in the password %40 for @, %2F for / and %25 for %"
            )
        own = folder.resolve() / "bot"
        if not files.startswith(OBJECTS):
            kept = Path(files).resolve() if files else own.with_name("bot.files")
            return PostgresAddress(text, own, kept, shards)
        return PostgresAddress(text, own, files.rstrip("/"), shards)
    path = Path(text)
    if path.is_dir():
        raise ValueError(f"is the folder {path}: name a file, such as {path / 'bot.db'}")
    if not path.parent.is_dir():
        raise ValueError(f"lies in {path.parent}, which does not exist: make that folder first")
    return path


def files(text: str) -> str:
    """A folder that is there, or a bucket of an S3-like store with a prefix."""
    if text.startswith(OBJECTS):
        if _BUCKET.fullmatch(text) is None:
            raise ValueError(
                "is not the address of a bucket: write s3://bucket/prefix, and set its keys as AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY"
            )
    elif not Path(text).is_dir():
        raise ValueError(
            f"is {text}, which is not a folder: make that folder first, where all machines can reach it, "
            "or write s3://bucket/prefix for an S3-like store"
        )
    return text


def console_users(text: str) -> tuple[str, ...]:
    """The console's users, with spaces between them: ``name:role:hash`` or ``name:role:teams:hash``, as `bot console
    password` prints it.
    """
    entries, names = tuple(text.split()), set()
    for number, entry in enumerate(entries, start=1):
        name = entry.partition(":")[0][:40]
        if _USER.fullmatch(entry) is None:
            raise ValueError(
                f'has an entry that cannot be read, number {number} ("{name}:..."): write what `bot console password` prints, '
                "between single quotes, so that nothing replaces what begins with $"
            )
        if name in names:
            raise ValueError(f'has two users called "{name}": delete one of them')
        names.add(name)
    return entries


def console_url(text: str) -> str:
    """Where browsers find the console: https, unless it is this machine's own."""
    parts = urlsplit(url(text))
    if parts.scheme != "https" and parts.hostname not in _HERE:
        raise ValueError(
            "is not https: others could read passwords on the way; "
            "write https://..., and put a proxy with a certificate before it"
        )
    return text.rstrip("/")
