"""The services that a bot sends requests to, as ``bot.yml`` declares them: base addresses, and what only they are told."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from bot.core.values import Record
from bot.expressions.grammar import check_calls
from bot.expressions.templates import FUNCTIONS, Template
from bot.keys.fields import Fields, name_of, template_of
from bot.keys.key_schemas import ANY_TEXT, BOOLEAN, Schemas, map_of, one_or_several, pattern, record, takes
from bot.lang.problems import did_you_mean

SECRET = "secret"
OURS = "BOT_"  # the settings, which are nobody else's
_SECRET_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
OUR_HEADERS = ("host", "content-length", "transfer-encoding", "connection", "accept-encoding")
Named = tuple[tuple[str, Template], ...]
NAMED = map_of(ANY_TEXT)
_KEYS: Schemas = {
    "base": takes(ANY_TEXT, "The address that all requests to it begin with."),
    "headers": takes(NAMED, "Headers that go with every request."),
    "query": takes(NAMED, "What is added to the query of every request."),
    "allow_private": takes(BOOLEAN, "Whether it may lie in a private network; false where nothing is said."),
}
SERVICES = map_of(record(_KEYS, "base"))
SECRETS = one_or_several(pattern("(?!BOT_)[A-Z][A-Z0-9_]{0,63}", "write one like CRM_KEY"))


@dataclass(frozen=True, slots=True)
class HttpService:
    """One service. Its texts may hold ``secret.NAME``, and nothing of a conversation: no flow sees them.

    ``allow_private``: it may lie in a private network.
    """

    name: str
    base: Template
    headers: Named = ()
    query: Named = ()
    allow_private: bool = False

    @property
    def needs(self) -> frozenset[str]:
        """The names of the secrets that the service gets."""
        return frozenset(path[1] for text in self.texts() for path in text.paths)

    def address(self, path: str, secrets: Mapping[str, str]) -> str:
        """The whole address of a path, which may have a query. Raises `TemplateFailed`."""
        scope = self._scope(secrets)
        query = urlencode([(name, text.render(scope)) for name, text in self.query], errors="surrogateescape")
        joint = "" if not query else "&" if "?" in path else "?"
        return self.base.render(scope).rstrip("/") + path + joint + query

    def headers_told(self, secrets: Mapping[str, str]) -> dict[str, str]:
        """The headers that go with every request. Raises `TemplateFailed`."""
        scope = self._scope(secrets)
        return {name: text.render(scope) for name, text in self.headers}

    def texts(self) -> Iterator[Template]:
        """Everything in it that may hold secrets."""
        yield self.base
        yield from (text for _, text in (*self.headers, *self.query))

    def _scope(self, secrets: Mapping[str, str]) -> dict[str, Record]:
        return {SECRET: Record(SECRET, {name: secrets[name] for name in self.needs if name in secrets})}


def read_secrets(fields: Fields) -> tuple[str, ...]:
    """Read `secrets` of ``bot.yml``: names of environment variables."""
    names = fields.strings("secrets")
    for name in names:
        if not _SECRET_NAME.fullmatch(name) or name.startswith(OURS):
            what, fix = f'{fields.what}: secrets: "{name}" is no name of a secret', "write one like CRM_KEY"
            if name.startswith(OURS):
                fix = f"names that begin with {OURS} are those of the settings: choose another"
            fields.problems.add("E108", fields.mark_of("secrets"), what, fix)
    return names


def read_services(fields: Fields, secrets: tuple[str, ...]) -> dict[str, HttpService]:
    """Read `http` of ``bot.yml``: the services by name."""
    inner = fields.fields("http")
    services = {}
    for key, node in () if inner is None else inner.entries():
        if name_of(key, fields.problems, "service") is not None:
            entry = Fields(node, fields.problems, f'service "{key.text}"')
            services[key.text] = _read_service(key.text, entry, secrets)
    return services


def _read_service(name: str, fields: Fields, secrets: tuple[str, ...]) -> HttpService:
    base = fields.template("base") if fields.require("base") else None
    service = HttpService(
        name,
        base or Template.plain("", fields.mark),
        read_headers(fields),
        _named(fields, "query"),
        fields.boolean("allow_private"),
    )
    fields.close()
    if base is not None and base.constant and not _is_base(base.source):
        what = f"{fields.what}: base: this is no address"
        fields.problems.add(
            "E405", base.mark, what, "write one like https://api.example/v1, with no name, key or query"
        )
    for text in service.texts():
        _check_text(fields, text, secrets)
    return service


def read_headers(fields: Fields) -> Named:
    """Read `headers`: texts by the names of headers."""
    named = _named(fields, "headers")
    for name, text in named:
        if not _HEADER.fullmatch(name) or name.lower() in OUR_HEADERS:
            what = f'{fields.what}: headers: "{name}" cannot be given'
            fix = (
                "the bot sets it itself: leave it out"
                if _HEADER.fullmatch(name)
                else "write a header's name, like X-Key"
            )
            fields.problems.add("E108", text.mark, what, fix)
    return named


def is_header(value: str) -> bool:
    """Whether a text can be the value of a header: no line breaks, nothing but ASCII."""
    return value.isascii() and value.isprintable()


def _named(fields: Fields, key: str) -> Named:
    inner = fields.fields(key)
    if inner is None:
        return ()
    texts = ((name.text, template_of(node, fields.problems, inner.what)) for name, node in inner.entries())
    return tuple((name, text) for name, text in texts if text is not None)


def _is_base(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    more = parts.username or parts.query or parts.fragment
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not more


def _check_text(fields: Fields, text: Template, secrets: tuple[str, ...]) -> None:
    """A service's texts know the bot's secrets and nothing else, not even its own Python."""
    check_calls(text.calls, {}, fields.problems)
    for name in sorted(text.names - {SECRET} - FUNCTIONS.keys()):
        what = f'{fields.what}: "{name}" means nothing here'
        fields.problems.add("E301", text.mark, what, "a service knows only the bot's secrets: secret.NAME")
    for path in sorted(text.paths):
        if path[0] == SECRET and (len(path) != 2 or path[1] not in secrets):
            named = ".".join(path[1:])
            fix = did_you_mean(named, secrets, f"name it in bot.yml: secrets: [{named}]")
            fields.problems.add("E509", text.mark, f'{fields.what}: no secret "{named}"', fix)
