"""The services that a bot sends requests to, as ``bot.yml`` declares them: base addresses and their secrets."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from urllib.parse import urlencode, urlsplit

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.networks import private_host
from bot.core.values import Record
from bot.language.expressions.grammar import check_calls
from bot.language.expressions.templates import FUNCTIONS, Template
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import BOOLEAN, STRINGS, TEMPLATE, Form, KeySet, KeySpec, map_of
from bot.language.keys.fields import Fields, entries_of, name_of, template_of
from bot.language.source.problems import Problems, did_you_mean
from bot.language.source.yaml_tree import Map, Node, Scalar
from bot.language.steps.attempts import ATTEMPT_KEYS, Attempts

SECRET = "secret"
OURS = "BOT_"  # the settings, which are nobody else's
_SECRET_NAME = lazy_pattern(r"[A-Z][A-Z0-9_]{0,63}")
_HEADER = lazy_pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
OUR_HEADERS = ("host", "content-length", "transfer-encoding", "connection", "accept-encoding")
Named = tuple[tuple[str, Template], ...]
Entries = tuple[tuple[Scalar, Node], ...]


@immutable
class HttpService:
    """One service. Its texts may hold ``secret.NAME``, and nothing of a conversation: no flow sees them.

    ``allow_private``: it may lie in a private network. ``attempts`` are for requests that declare none of their own.
    """

    name: str
    base: Template
    headers: Named = ()
    query: Named = ()
    allow_private: bool = False
    attempts: Attempts = field(default_factory=Attempts)

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

    def own_address(self, secrets: Mapping[str, str]) -> str:
        """The address itself, for a service that has only one. Raises `TemplateFailed`."""
        return self.base.render(self._scope(secrets))

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


def _read_secrets(node: Node, problems: Problems, what: str) -> tuple[str, ...]:
    if isinstance(node, Map):
        listed = ", ".join(key.text for key, _ in node.entries)
        fix = f"write secrets: [{listed}]; the values stand in the environment or in .env"
        problems.add("E106", node.mark, f"{what}: a list of names is expected, without their values", fix)
        return tuple(key.text for key, _ in node.entries)
    names = STRINGS.read(node, problems, what)
    for name in names:
        if not _SECRET_NAME.fullmatch(name) or name.startswith(OURS):
            fix = "write one like CRM_KEY"
            if name.startswith(OURS):
                fix = f"names that begin with {OURS} are those of the settings: choose another"
            problems.add("E108", node.mark, f'{what}: "{name}" is no name of a secret', fix)
    return names


def read_services(entries: Entries, secrets: tuple[str, ...], problems: Problems) -> dict[str, HttpService]:
    """Read the `SERVICES` of a bot with these secrets, by name."""
    services = {}
    for key, item in entries:
        if name_of(key, problems, "service") is not None:
            entry = _SERVICE.open(item, problems, f'service "{key.text}"', f"{key.text}: {{base: https://host/path}}")
            services[key.text] = _read_service(key.text, entry, secrets)
    return services


def _read_service(name: str, fields: Fields, secrets: tuple[str, ...]) -> HttpService:
    base = _BASE.read(fields)
    service = HttpService(
        name,
        base or Template.plain("", fields.mark),
        HEADERS.read(fields),
        _QUERY.read(fields),
        ALLOW_PRIVATE.read(fields),
        Attempts(**ATTEMPT_KEYS.values(fields)),
    )
    if base is not None and base.constant and not _is_base(base.source):
        fix = "write one like https://api.example/v1, with no name, key or query"
        fields.report("E405", base.mark, "base: this is no address", fix)
    check_public(fields, _BASE.name, service.base)
    for text in service.texts():
        check_service_text(fields, text, secrets)
    return service


def _read_named(node: Node, problems: Problems, what: str) -> Named:
    texts = (
        (name.text, template_of(item, problems, what))
        for name, item in entries_of(node, problems, what, "{name: text}")
    )
    return tuple((name, text) for name, text in texts if text is not None)


def _read_headers(node: Node, problems: Problems, what: str) -> Named:
    """Texts by the names of headers."""
    named = _read_named(node, problems, what)
    for name, text in named:
        if not _HEADER.fullmatch(name) or name.lower() in OUR_HEADERS:
            fix = (
                "the bot sets it itself: leave it out"
                if _HEADER.fullmatch(name)
                else "write a header's name, like X-Key"
            )
            problems.add("E108", text.mark, f'{what}: "{name}" cannot be given', fix)
    return named


def is_header(value: str) -> bool:
    """True if a text can be the value of a header: no line breaks, nothing but ASCII."""
    return value.isascii() and value.isprintable()


def is_web_address(text: str) -> bool:
    """True if requests can go to it: http or https, a host, and nothing that is not sent there."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.username or parts.fragment)


def _is_base(text: str) -> bool:
    return is_web_address(text) and not urlsplit(text).query


def check_public(fields: Fields, key: str, url: Template) -> None:
    """An address in a private network, as far as it is written out, is one that may lie there."""
    host = private_host(url.source)
    if host is not None and not ALLOW_PRIVATE.read(fields):
        what = f"{key}: {host} is in a private network"
        fields.report("E510", url.mark, what, "write allow_private: true beside it, if that is your own")


def check_service_text(fields: Fields, text: Template, secrets: tuple[str, ...]) -> None:
    """A service's texts know the bot's secrets and nothing else, not even its own Python."""
    check_calls(text.calls, {}, fields.problems)
    for name in sorted(text.names - {SECRET} - FUNCTIONS.keys()):
        fix = "a service knows only the bot's secrets: secret.NAME"
        fields.report("E301", text.mark, f'"{name}" means nothing here', fix)
    for path in sorted(text.paths):
        if path[0] == SECRET and (len(path) != 2 or path[1] not in secrets):
            named = ".".join(path[1:])
            fix = did_you_mean(named, secrets, f"name it in bot.yml: secrets: [{named}]")
            fields.report("E509", text.mark, f'no secret "{named}"', fix)


_NAMED: Form[Named] = map_of(TEMPLATE, _read_named, absent=())
HEADERS: KeySpec[Named] = KeySpec("headers", replace(_NAMED, read=_read_headers), "Headers that go with every request.")
_BASE = KeySpec("base", TEMPLATE, "The address that all requests to it begin with.", required=True)
_QUERY = KeySpec("query", _NAMED, "Parameters that are added to the query of every request.")
ALLOW_PRIVATE = KeySpec("allow_private", BOOLEAN, "Whether it may lie in a private network; false by default.")
_SERVICE = KeySet(_BASE, HEADERS, _QUERY, *ATTEMPT_KEYS, ALLOW_PRIVATE)
SERVICES: Form[Entries] = Form(key_schemas.map_of(_SERVICE.schema()), entries_of, absent=())
"""Services by name; `read_services` makes them of it."""
SECRETS = Form(
    key_schemas.one_or_several(key_schemas.pattern("(?!BOT_)[A-Z][A-Z0-9_]{0,63}", "write one like CRM_KEY")),
    _read_secrets,
    absent=(),
)
"""Names of environment variables."""
