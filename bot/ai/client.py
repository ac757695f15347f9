"""Asking models through the chat-completion API: one call is one request."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal
from urllib.parse import quote

from bot.ai.assembly import Assembly
from bot.ai.chat import ChatRequest, Completion, Model, PluginCheck, ToolCall
from bot.ai.errors import NotTheService
from bot.ai.refusals import failure, read_object, word
from bot.ai.stream import Stream
from bot.http_client import HttpClient, HttpError, ReachListener, Response

__all__ = ["ChatRequest", "Completion", "Completions", "KeyIn", "Model", "PluginCheck", "Stream", "ToolCall"]

KeyIn = Literal["authorization", "x-api-key", "query"]
"""Where the key goes (spec: Authentication)."""

PLUGIN_STATES = ("active", "update_required", "domain_limit")
_ANSWER_BYTES = 1 << 25  # the longest answer comes to some 20 MiB as a stream
_PLUGIN_TEXTS = ("content", "text", "message", "reply", "response", "answer")

log = logging.getLogger(__name__)


class Completions:
    """The chat-completion service, for one account. Safe to use from many threads. Nothing is retried in here.

    ``seconds`` is the time for a whole answer (spec: at least 60); ``idle`` is how many seconds a stream may be
    silent, before its first byte too unless one is patient. Every method raises the tree of `bot.ai.errors`.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        key_in: KeyIn = "authorization",
        seconds: float = 60.0,
        idle: float = 20.0,
        http: HttpClient | None = None,
        reach: ReachListener | None = None,
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
    def stream(self, request: ChatRequest, *, patient: bool = False, seconds: float | None = None) -> Iterator[Stream]:
        """Ask, and read the answer while it comes. Leaving before its end stops it.

        ``patient``: its first byte may take as long as the whole answer, for a model that thinks before it speaks.
        ``seconds`` are those that are left for it, where they may be fewer than an answer has.
        """
        seconds = self._seconds if seconds is None else min(seconds, self._seconds)
        asked = self._http.stream(
            "POST",
            f"/chat/completions{self._query}",
            _json(request.body(stream=True)),
            self._headers,
            idle_seconds=self._idle,
            seconds=seconds,
            first_seconds=seconds if patient else None,
        )
        with ExitStack() as stack:
            try:
                answer = stack.enter_context(asked)
                if not 200 <= answer.status < 300:
                    self._read(Response(answer.status, answer.headers, b"".join(answer.chunks)))
            except HttpError as error:
                raise failure(error) from error
            yield Stream(answer, request)

    def models(self) -> list[Model]:
        """The models that can be asked now."""
        data = self._get("/models").get("data")
        if not isinstance(data, list):
            raise NotTheService("the answer has no list of models")
        found = [item for item in data if isinstance(item, dict) and word(item.get("id"))]
        return [Model(word(m["id"]), word(m.get("owned_by")), word(m.get("name")) or word(m["id"])) for m in found]

    def check_plugin(self, domain: str, version: str | None = None) -> PluginCheck:
        """Have the key and a plugin's domain checked."""
        body = {"domain": domain} if version is None else {"domain": domain, "version": version}
        details = self._post("/plugin/check", body)
        if details.get("status") not in PLUGIN_STATES:
            raise NotTheService("the answer has no status of a plugin")
        return PluginCheck(details["status"], details)

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
        """What the service says of the plugin's latest version. The shape is not specified."""
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
        content = response.body
        if response.status >= 300 and self._key:
            content = content.replace(self._key.encode(), b"[key]")  # a refusal may quote it
        return read_object(response.status, response.headers, content)


def _whole(answer: Mapping[str, Any], request: ChatRequest) -> Completion:
    assembly = Assembly(request)
    assembly.take(answer)
    assembly.end()
    return assembly.completion()


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
