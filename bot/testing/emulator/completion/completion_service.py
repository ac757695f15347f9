"""The emulated chat-completion service: its Python interface and its HTTP side."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

from bot.core.clock import Clock, SystemClock, to_microseconds
from bot.testing.emulator.completion.completion_account import CompletionAccount, EmulatedModel
from bot.testing.emulator.completion.completion_api import EVENT_STREAM, CompletionApi, CompletionReply, Speaker
from bot.testing.emulator.completion.completion_requests import RawCompletionRequest, Received
from bot.testing.emulator.completion.model_answers import CompletionBehaviour, ModelAnswer, NoAnswer, RawAnswer, failure
from bot.testing.emulator.emulator_server import GONE, CutOff, EmulatorServer, status_line

Environ = dict[str, Any]
Gone = Callable[[], bool]

BASE = "/api/v1"
_POLL = 0.05


class CompletionWire:
    """Sends replies over HTTP. `stop` interrupts whatever is held."""

    def __init__(self, api: CompletionApi) -> None:
        self._api = api
        self._stopping = False
        self._waiting = threading.Condition()

    def stop(self) -> None:
        """End every wait."""
        with self._waiting:
            self._stopping = True
            self._waiting.notify_all()

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterator[bytes]:
        """Answer a request. The end of the answer is counted: ``ended``, ``cut``, or ``abandoned`` by the client."""
        reply = self._api.respond(_incoming(environ))
        gone: Gone = environ[GONE]
        how = "abandoned"
        try:
            if reply.status:
                _begin(reply, start_response)
            yield from self._pieces(reply, gone)
            if reply.ending == "stalled":
                self._hold(None, gone)
            if reply.ending != "whole":
                how = "abandoned" if gone() else "cut"
                raise CutOff
            how = "ended"
        finally:
            self._api.count(how)

    def _pieces(self, reply: CompletionReply, gone: Gone) -> Iterator[bytes]:
        pace, steps = reply.pace, 0
        for piece in reply.pieces:
            steps += piece.steps
            if pace is not None and piece.steps:
                self._hold((pace.clock, to_microseconds(pace.since + pace.seconds * steps)), gone)
            if self._stopping or gone():
                raise CutOff
            yield piece.data

    def _hold(self, until: tuple[Clock, float] | None, gone: Gone) -> None:
        clock, due = until or (SystemClock(), None)
        with self._waiting:
            while not (self._stopping or gone() or (due is not None and clock.elapsed() >= due)):
                clock.wait(self._waiting, due, _POLL)


def _begin(reply: CompletionReply, start_response: Callable[..., Any]) -> None:
    headers = [("Content-Type", reply.content_type)]
    if reply.length is not None:
        headers.append(("Content-Length", str(reply.length)))
    write = start_response(status_line(reply.status), headers)
    if reply.content_type == EVENT_STREAM:
        write(b"")  # the head of a stream does not wait for its first piece


def _incoming(environ: Environ) -> RawCompletionRequest:
    query = dict(parse_qsl(environ["QUERY_STRING"], keep_blank_values=True))
    headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
    if environ.get("CONTENT_TYPE"):
        headers["content-type"] = environ["CONTENT_TYPE"]
    path = environ["PATH_INFO"]
    endpoint = path.removeprefix(BASE).strip("/") if path.startswith(f"{BASE}/") else path
    return RawCompletionRequest(environ["REQUEST_METHOD"], endpoint, headers, query, environ["wsgi.input"].read())


KEY = "sk-emulated"
MODELS = (
    EmulatedModel("acme/swift"),
    EmulatedModel("acme/wise"),
    EmulatedModel("acme/plain", tools=False),
    EmulatedModel("plus/great"),
)

CHAT = "chat/completions"


class CompletionService:
    """The chat-completion API, built from its specification, on the loopback interface of this machine.

    ``models`` are slugs or `EmulatedModel` (None: any slug). Those that begin like `EXCLUSIVE` need a ``package``:
    the slugs that the key's package has, or None for a key without one. ``per_minute`` limits requests, ``quotas``
    limit tokens by kind of window (``5h``, ``weekly``, ``monthly_exhausted``); without them there are no limits.
    ``threads`` requests are answered at once, and ``keep`` requests are remembered; the counts are of all.

    `behaviour` has a switch for every point on which the specification is silent. `plugin` is what the plugin's
    endpoints know: its newest ``version``, ``most_domains``, and the throttles ``minute`` and ``day``.

    With `pieces_per_second`, answers without a ``delay`` of their own take time by the given clock.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        key: str = KEY,
        port: int = 0,
        models: Iterable[EmulatedModel | str] | None = MODELS,
        threads: int = 16,
        package: Collection[str] | None = None,
        per_minute: int | None = None,
        quotas: Mapping[str, int] | None = None,
        keep: int | None = None,
    ) -> None:
        self.key = key
        self.behaviour = CompletionBehaviour()
        self._port = port
        self._threads = threads
        self._account = CompletionAccount(
            self.behaviour, key=key, models=models, package=package, per_minute=per_minute, quotas=quotas or {}
        )
        self.plugin = self._account.plugin
        self._api = CompletionApi(clock or SystemClock(), self._account, self.behaviour, keep)
        self._wire = CompletionWire(self._api)
        self._server: EmulatorServer | None = None

    def start(self) -> "CompletionService":
        """Take the port and begin to answer. A service is started once."""
        self._server = EmulatorServer(self._wire, self._port, self._threads)
        self._server.start()
        return self

    def stop(self) -> None:
        """Stop: answers that are held are interrupted, connections closed, threads ended."""
        if self._server is not None:
            self._wire.stop()
            self._server.stop()
            self._server = None

    def __enter__(self) -> "CompletionService":
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The base address, which ends with ``/api/v1``."""
        if self._server is None:
            raise RuntimeError("the service is not running")
        return f"http://127.0.0.1:{self._server.port}{BASE}"

    # Reading

    def requests(self, endpoint: str | None = None) -> list[Received]:
        """All requests, or those to one endpoint, in the order of their answers."""
        with self._api.changed:
            return [seen for seen in self._api.received if endpoint in (None, seen.endpoint)]

    @property
    def counts(self) -> dict[str, int]:
        """All counts: ``requests``, ``answered 200``, ``refused provider_error``, and the ends of answers: ``ended``,
        ``cut``, or ``abandoned`` by the client.
        """
        with self._api.changed:
            return dict(self._api.counts)

    @property
    def unknown_fields(self) -> set[str]:
        """Fields that requests had and the specification does not, as ``endpoint: field``."""
        return {f"{seen.endpoint}: {name}" for seen in self.requests() for name in seen.unknown}

    @property
    def unsaid(self) -> int:
        """The number of queued answers that are left."""
        return self._api.script.left

    def wait_until(self, condition: Callable[[], bool], timeout: float = 10.0) -> bool:
        """Wait until a condition on the state of this service holds; False after ``timeout`` real seconds."""
        with self._api.changed:
            return self._api.changed.wait_for(condition, timeout)

    # Setting

    def say(self, text: str = "", *, on: str = CHAT, **how: Any) -> None:
        """Queue one answer; ``how`` are the fields of `ModelAnswer`. ``on``: the endpoint, also ``plugin/chat``."""
        self._api.script.queue(on, ModelAnswer(text, **how))

    def fail(self, name: str, http: int | None = None, *, on: str = CHAT, **more: Any) -> None:
        """Queue one error; ``more`` is that of `failure`."""
        self._api.script.queue(on, failure(name, http, **more))

    def hang(self) -> None:
        """Queue no answer: the request is held, even without a head, until the client closes the connection."""
        self._api.script.queue(CHAT, NoAnswer())

    def drip(self, text: str = "drip ", *, delay: float = 0.01) -> None:
        """Queue an endless answer: the text again and again, every ``delay`` real seconds; only comments if it is
        empty.
        """
        self._api.script.queue(CHAT, ModelAnswer(endless=text, delay=delay))

    def send(self, status: int, body: bytes, content_type: str = "text/html", *, on: str = CHAT) -> None:
        """Queue any bytes, such as a proxy's page."""
        self._api.script.queue(on, RawAnswer(status, body, content_type))

    def answer_with(self, speaker: Speaker) -> None:
        """Make a function answer every chat for which nothing is queued.

        It gets the request and returns an item or a text.
        """
        self._api.script.speaker = speaker

    def close_key(self, why: str = "the API key has been revoked") -> None:
        """Refuse the key from now on, like a revoked key or one of an inactive package."""
        self._account.closed = why

    @property
    def pieces_per_second(self) -> float | None:
        """Set the speed of the models, by the given clock; None: at once."""
        return self._api.pieces_per_second

    @pieces_per_second.setter
    def pieces_per_second(self, pieces: float | None) -> None:
        self._api.pieces_per_second = pieces
