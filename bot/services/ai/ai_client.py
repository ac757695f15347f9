"""The client of the chat-completion service: its endpoints, and streamed answers. One call is one request."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal
from urllib.parse import quote

from bot.core.immutable import immutable
from bot.core.text import json_object
from bot.core.values import Usage
from bot.services.ai.ai_errors import CompletionError, CutStream, NotTheService, failure, read_object, word
from bot.services.ai.chat_completion import Assembly, ChatRequest, Completion, ToolCall
from bot.services.http_client import HttpClient, ReachabilityAlarm, Response, Streamed
from bot.services.request_errors import Ambiguous, HttpError

__all__ = ["ChatRequest", "Completion", "Completions", "KeyIn", "ListedModel", "PluginCheck", "Stream", "ToolCall"]

KeyIn = Literal["authorization", "x-api-key", "query"]
"""Where the key goes (spec: Authentication)."""

PLUGIN_STATES = ("active", "update_required", "domain_limit")
_ANSWER_BYTES = 1 << 25  # bytes; the longest answer is a stream of some 20 MiB
_PLUGIN_TEXTS = ("content", "text", "message", "reply", "response", "answer")
EVENT_BYTES = 1 << 20
_USAGE_WITHIN = 1.0  # seconds behind the end of an answer, where nothing else is read
_DONE = "[DONE]"

log = logging.getLogger(__name__)


class Events:
    """Takes the ``data`` of events out of bytes, which may be cut anywhere. Lines end with LF, CRLF or CR."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[str] = []
        self._size = 0  # of the event so far
        self._after_cr = False

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The events that are complete with this chunk. Raises `NotTheService` for one of more than 1 MiB."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        for part in chunk.splitlines(keepends=True):
            self._line += part
            self._size += len(part)
            if self._size > EVENT_BYTES:
                raise NotTheService(f"an event of the stream has more than {EVENT_BYTES} bytes")
            if part.endswith((b"\r", b"\n")):
                yield from self._end_line()
        if chunk:
            self._after_cr = chunk.endswith(b"\r")

    def end(self) -> Iterator[str]:
        """The event that the end of the stream has cut off, if there is one."""
        for _ in range(2):  # the line, and the empty one that ends an event
            yield from self._end_line()

    def _end_line(self) -> Iterator[str]:
        line = self._line.rstrip(b"\r\n").decode(errors="replace").removeprefix("\ufeff")
        self._line.clear()
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
        elif not line:
            if self._data:
                yield "\n".join(self._data)
            self._data.clear()
            self._size = 0


class Stream:
    """A model's answer while it comes. Iterating gives its text, piece by piece, and can be done once.

    ``completion`` is there after the end; ``begun`` tells whether anything has come. An answer has ended with
    ``[DONE]`` or with a ``finish_reason``: whatever fails after the latter matters to nobody. Iterating raises the tree
    of `bot.services.ai.ai_errors`.
    """

    completion: Completion

    def __init__(self, streamed: Streamed, request: ChatRequest) -> None:
        self._streamed = streamed
        self._assembly = Assembly(request)
        self.begun = False
        self._done = False

    @property
    def usage(self) -> Usage:
        """The tokens used so far."""
        return self._assembly.usage()

    @property
    def unopened(self) -> int:
        """The number of times that everything before the newest piece turned out to be thoughts: see
        `bot.services.ai.chat_completion.Thoughts`.
        """
        return self._assembly.unopened

    def __iter__(self) -> Iterator[str]:
        try:
            for text in self._texts():
                if text:
                    yield text
            self.completion = self._assembly.completion()
        except CompletionError as error:
            error.usage = self.usage if self.begun else None
            raise

    def _texts(self) -> Iterator[str]:
        if "event-stream" in self._streamed.headers.get("Content-Type", ""):
            yield from self._events()
        else:  # it came whole, although a stream was asked for
            yield self._receive(read_object(self._streamed.status, self._streamed.headers, b"".join(self._chunks())))
        yield self._assembly.end()

    def _events(self) -> Iterator[str]:
        events = Events()
        for chunk in self._chunks():
            for data in events.feed(chunk):
                yield self._event(data)
                if self._done:
                    return
        for data in events.end():
            if data == _DONE or json_object(data):
                yield self._event(data)
        if not self._done and not self._assembly.finish:
            raise CutStream("the answer has no end")

    def _event(self, data: str) -> str:
        if not data.strip():  # a sign of life
            return ""
        if data.strip() == _DONE:
            self._done = True
            return ""
        piece = json_object(data)
        if not piece:
            raise NotTheService("an event of the stream is no JSON object")
        return self._receive(piece)

    def _receive(self, piece: dict[str, object]) -> str:
        text = self._assembly.add(piece)
        if self._assembly.finish:
            self._streamed.end_within(_USAGE_WITHIN)
        self.begun = True
        return text

    def _chunks(self) -> Iterator[bytes]:
        try:
            yield from self._streamed.chunks
        except Ambiguous as error:
            if not self._assembly.finish:
                raise failure(error) from error


@immutable
class ListedModel:
    """A model that can be asked."""

    id: str
    owned_by: str
    name: str


@immutable
class PluginCheck:
    """The service's answer about a plugin's key and domain. ``status`` is ``active``, ``update_required`` or
    ``domain_limit``; ``details`` is the whole answer.
    """

    status: str
    details: Mapping[str, Any]


class Completions:
    """The chat-completion service, for one account. Safe to use from many threads. Nothing is retried in here.

    ``seconds`` is the time for a whole answer (spec: at least 60); ``idle`` is how many seconds a stream may be silent,
    before its first byte too unless one is patient. Every method raises the tree of `bot.services.ai.ai_errors`.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        key_in: KeyIn = "authorization",
        seconds: float = 60.0,
        idle: float = 60.0,
        http: HttpClient | None = None,
        reach: ReachabilityAlarm | None = None,
    ) -> None:
        self._http = http or HttpClient(url, seconds=seconds, body_limit=_ANSWER_BYTES, own=True, reach=reach)
        self._seconds = seconds
        self._idle = idle
        self._key = key
        self._headers = {"Content-Type": "application/json"}
        self._query = ""
        match key_in:
            case "authorization":
                self._headers["Authorization"] = f"Bearer {key}"
            case "x-api-key":
                self._headers["x-api-key"] = key
            case "query":
                self._query = f"?apiKey={quote(key, safe='')}"
                log.warning("the key of the chat-completion service goes into addresses, which others may log")

    def complete(self, request: ChatRequest) -> Completion:
        """Ask, and wait for the whole answer."""
        return _whole(self._post("/chat/completions", request.body()), request)

    @contextmanager
    def stream(
        self,
        request: ChatRequest,
        *,
        patient: bool = False,
        seconds: float | None = None,
        first: float | None = None,
    ) -> Iterator[Stream]:
        """Ask, and read the answer while it comes. Leaving before its end stops it.

        ``seconds`` are those for all of it; without them it has as many as an answer that comes whole. ``patient``: its
        first byte may take as long as an answer that comes whole, for a model that thinks before it speaks. ``first``
        are the seconds that are left for this byte, where they may be fewer.
        """
        seconds = self._seconds if seconds is None else seconds
        silence = self._seconds if patient else self._idle
        asked = self._http.stream(
            "POST",
            f"/chat/completions{self._query}",
            _json(request.body(stream=True)),
            self._headers,
            idle_seconds=self._idle,
            seconds=seconds,
            first_seconds=silence if first is None else min(first, silence),
        )
        with ExitStack() as stack:
            try:
                answer = stack.enter_context(asked)
                if not 200 <= answer.status < 300:
                    self._read(answer.whole())
            except HttpError as error:
                raise failure(error) from error
            yield Stream(answer, request)

    def models(self) -> list[ListedModel]:
        """The models that can be asked now."""
        data = self._get("/models").get("data")
        if not isinstance(data, list):
            raise NotTheService("the answer has no list of models")
        found = [item for item in data if isinstance(item, dict) and word(item.get("id"))]
        return [
            ListedModel(word(m["id"]), word(m.get("owned_by")), word(m.get("name")) or word(m["id"])) for m in found
        ]

    def check_plugin(self, domain: str, version: str | None = None) -> PluginCheck:
        """Have the key and a plugin's domain checked."""
        body = {"domain": domain} if version is None else {"domain": domain, "version": version}
        details = self._post("/plugin/check", body)
        inner = details.get("data")
        for said in (details, inner if isinstance(inner, dict) else {}):
            if (status := said.get("status")) in PLUGIN_STATES:
                return PluginCheck(status, details)
        raise NotTheService("the answer has no status of a plugin")

    def plugin_chat(self, messages: Sequence[Mapping[str, Any]], domain: str, model: str | None = None) -> Completion:
        """Ask as a plugin does. The answer's shape is not specified: a chat response, or a text under a usual name."""
        body = {"messages": list(messages), "domain": domain} | ({"model": model} if model else {})
        answer = self._post("/plugin/chat", body)
        answer = answer["data"] if isinstance(answer.get("data"), dict) else answer
        if "choices" not in answer:
            said = answer["message"] if isinstance(answer.get("message"), dict) else answer
            text = next((said[name] for name in _PLUGIN_TEXTS if isinstance(said.get(name), str)), None)
            answer = {**answer, "choices": [] if text is None else [{"message": {"content": text}}]}
        return _whole(answer, ChatRequest(model or word(answer.get("model")), messages))

    def plugin_update(self) -> Mapping[str, Any]:
        """The service's answer about the plugin's latest version. Its shape is not specified."""
        return self._get("/plugin/update")

    def close(self) -> None:
        """Close idle connections."""
        self._http.close()

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._ask(lambda: self._http.post(path + self._query, _json(body), self._headers))

    def _get(self, path: str) -> dict[str, Any]:
        return self._ask(lambda: self._http.get(path + self._query, self._headers))

    def _ask(self, request: Callable[[], Response]) -> dict[str, Any]:
        try:
            response = request()
        except HttpError as error:
            raise failure(error) from error
        return self._read(response)

    def _read(self, response: Response) -> dict[str, Any]:
        content = response.without(self._key).body if response.status >= 300 else response.body
        return read_object(response.status, response.headers, content)


def _whole(answer: Mapping[str, Any], request: ChatRequest) -> Completion:
    assembly = Assembly(request)
    assembly.add(answer)
    assembly.end()
    return assembly.completion()


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
