"""The requests of ``http`` steps: the address and secrets of a service are filled in, and no request reaches our own
network.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from time import monotonic
from urllib.parse import parse_qsl, quote

from bot.core.effects import HttpRequest
from bot.core.networks import is_address
from bot.language.expressions.templates import TemplateFailed
from bot.language.steps.http_services import HttpService, is_header
from bot.services.http_client import HttpClient, Response
from bot.services.operators_network import proxy_of
from bot.services.public_addresses import (
    MOST_REDIRECTS,
    REDIRECTS,
    BadAddress,
    HostUnknown,
    NotPublic,
    WebAddress,
    redirected_to,
)
from bot.services.request_errors import (
    AnswerCut,
    AnswerTooLarge,
    DeadlinePassed,
    HttpError,
    NotAllowed,
    NotSent,
    Oversized,
    RequestFailed,
    RequestTimedOut,
    Silent,
    Unreachable,
)

UNSAFE = ("POST", "PATCH")  # sent twice, such a request acts twice
IDEMPOTENCY_KEY = "Idempotency-Key"
"""The header with a request's key: a service that knows it does the same request once."""


Requester = Callable[[HttpRequest, str], Response]
"""Sends one request, once, and returns the answer. Called from many threads.

The text is a key that is the same at every repeat of the same request. Raises `RequestFailed`, and nothing else.
"""

MOST_BYTES = 1 << 20
TO_ALLOW = "what lies in your own network is made a service of bot.yml, under http, with allow_private: true"
EVERYWHERE = {"Accept": "*/*", "User-Agent": "bot-flows"}


class ServiceRequester:
    """A `bot.services.outgoing.Requester` that really sends. Safe to use from many threads.

    ``secrets`` are looked into only for the names that a service needs. Redirects are followed for GET alone, the
    headers stay with the host that they are meant for.
    """

    def __init__(self, services: Mapping[str, HttpService], secrets: Mapping[str, str]) -> None:
        self._secrets = secrets
        self.use(services)

    def use(self, services: Mapping[str, HttpService]) -> None:
        """Send the next request to these services."""
        for service in services.values():
            for text in service.texts():
                text.prepare()
        self._services = services

    def __call__(self, request: HttpRequest, key: str) -> Response:
        """Send a request once and read the whole answer. Raises `RequestFailed`."""
        deadline = monotonic() + request.seconds
        name, _, path = request.address.partition(":/")
        with _refusals(name, TO_ALLOW):
            body, of_body = _body_of(request, key)
            if path.startswith("/"):
                return _sent(request, request.address, _headers(request, {}, key) | of_body, body, deadline)
            service = self._service(name)
            headers = _headers(request, service.headers_told(self._secrets), key) | of_body
            url = service.address(f"/{path}", self._secrets)
            return _sent(request, url, headers, body, deadline, service)

    def _service(self, name: str) -> HttpService:
        service = self._services.get(name)
        if service is None:  # an edit removed it since
            raise NotAllowed(f'there is no service "{name}"')
        _check_secrets(name, service.needs, self._secrets)
        return service


def post(
    service: HttpService, secrets: Mapping[str, str], body: str, headers: dict[str, str], key: str, seconds: float
) -> Response:
    """Post to the address of a service that has only one, and read the whole answer. Raises `RequestFailed`."""
    deadline = monotonic() + seconds
    with _refusals(service.name, "write allow_private: true where it lies in your own network"):
        _check_secrets(service.name, service.needs, secrets)
        request = HttpRequest("POST", service.name, headers)
        url = service.own_address(secrets)
        headers = _headers(request, service.headers_told(secrets), key)
        return _sent(request, url, headers, body.encode(), deadline, service)


@contextmanager
def _refusals(service: str, to_allow: str) -> Iterator[None]:
    """Raise `NotAllowed` for what keeps a request from being sent at all."""
    try:
        yield
    except NotPublic as error:
        raise NotAllowed(f"{error}: {to_allow}") from error
    except BadAddress as error:
        raise NotAllowed(str(error)) from error
    except TemplateFailed as error:
        raise NotAllowed(f"the service {service}: {error}") from error


def _check_secrets(service: str, names: Iterable[str], secrets: Mapping[str, str]) -> None:
    missing = sorted(name for name in names if not secrets.get(name))
    if missing:
        raise NotAllowed(f"the service {service} needs {', '.join(missing)}: set it, in the environment or in .env")


def _headers(request: HttpRequest, service_headers: Mapping[str, str], key: str) -> dict[str, str]:
    """All headers: ours, under the service's, under the step's, whatever their case."""
    by_key = {IDEMPOTENCY_KEY: key} if request.method in UNSAFE else {}
    headers: dict[str, tuple[str, str]] = {}
    for group in (EVERYWHERE, by_key, service_headers, request.headers):
        headers.update((name.lower(), (name, value)) for name, value in group.items())
    for name, value in headers.values():
        if not is_header(value):
            raise NotAllowed(f"the header {name} cannot hold its value: one line of ASCII")
    return dict(headers.values())


def _body_of(request: HttpRequest, key: str) -> tuple[bytes | None, dict[str, str]]:
    """The body as it is sent, and its own headers where it carries files. Raises `NotAllowed` if one of
    them is gone.
    """
    body = None if request.body is None else request.body.encode()
    if not request.files:
        return body, {}
    boundary = sha256(key.encode()).hexdigest()
    parts = [(f'name="{quote(name)}"', "", value.encode()) for name, value in parse_qsl(request.body or "", True)]
    for name, media in request.files.items():
        path = Path(media.file or "")
        try:
            content = path.read_bytes()
        except OSError as error:
            raise NotAllowed(f"the file {name} cannot be read: {error.strerror}") from error
        parts.append((f'name="{quote(name)}"; filename="{path.name}"', f"Content-Type: {media.type}\r\n", content))
    sent = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {named}\r\n{typed}\r\n".encode() + content + b"\r\n"
        for named, typed, content in parts
    )
    return sent + f"--{boundary}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def _sent(
    request: HttpRequest,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    deadline: float,
    service: HttpService | None = None,
) -> Response:
    """Send the request, and follow redirects. The settings of the ``service`` do not apply to other hosts."""
    first = WebAddress.of(url).origin
    for _ in range(MOST_REDIRECTS + 1):
        place = WebAddress.of(url)
        if place.origin != first:
            headers, service = EVERYWHERE, None
        answer = _exchanged(request.method, place, headers, body, deadline, service)
        if request.method != "GET" or answer.status not in REDIRECTS or "location" not in answer.headers:
            return answer
        url = redirected_to(url, answer.headers["location"])
    raise AnswerCut(f"more than {MOST_REDIRECTS} redirects")


def _exchanged(
    method: str,
    place: WebAddress,
    headers: Mapping[str, str],
    body: bytes | None,
    deadline: float,
    service: HttpService | None,
) -> Response:
    own = service is not None
    try:
        address = _address(place, service, _left(deadline))
        left = _left(deadline)
        with closing(HttpClient(place.origin, seconds=left, body_limit=MOST_BYTES, address=address, own=own)) as http:
            with http.stream(method, place.target, body, headers, idle_seconds=left, seconds=left) as answer:
                return answer.whole()
    except HostUnknown as error:
        raise Unreachable(str(error)) from error
    except HttpError as error:
        raise _failure(error) from error


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise RequestTimedOut("the answer was not there in time")
    return left


def _address(place: WebAddress, service: HttpService | None, seconds: float) -> str | None:
    """The one IP address that may be connected to; None where the host need not be looked at.

    A service that is reached through the environment's proxy is looked up by that: nobody but the operator names it.
    """
    if service is not None and (service.allow_private or (proxy_of(place.origin) and not is_address(place.host))):
        return None
    return place.public_address(seconds)


def _failure(error: HttpError) -> RequestFailed:
    match error:
        case NotSent():
            return Unreachable(f"{error} ({error.advice})" if error.advice else str(error))
        case Oversized():
            return AnswerTooLarge(str(error))
        case DeadlinePassed() | Silent():
            return RequestTimedOut(str(error))
    return AnswerCut(str(error))
