"""Streams as the service sends them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from bot.services.ai.ai_client import Stream
from bot.services.ai.chat_completion import ChatRequest
from bot.services.http_client import Streamed

MODEL = "acme/large"
REQUEST = ChatRequest(MODEL, [{"role": "user", "content": "Is it open today?"}])
EVENT_STREAM = {"Content-Type": "text/event-stream"}


def piece(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c1", "object": "chat.completion.chunk", "model": MODEL, "choices": choices, **more}


def call(index: int, arguments: str, **head: Any) -> dict[str, Any]:
    name = {"name": head.pop("name")} if "name" in head else {}
    return {"tool_calls": [{"index": index, **head, "function": {**name, "arguments": arguments}}]}


def events(*pieces: dict[str, Any] | str, end: str = "\n") -> bytes:
    """The bytes of a stream; text is taken as it is."""
    lines = [p if isinstance(p, str) else f"data: {json.dumps(p, ensure_ascii=False)}" for p in pieces]
    return "".join(line + end + end for line in lines).encode()


def said(*texts: str) -> list[dict[str, Any]]:
    return [piece({"content": text}) for text in texts]


TEXTS = ("<thi", "nk>It is Sunday", ".</think>\n", "Yes – until ", "six 🙂", "\n\n1. cafe\n")
ANSWER = "Yes – until six 🙂\n\n1. cafe\n"
LAST = (piece({}, "stop", usage={"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21}), "data: [DONE]")
SPOKEN = events(": hello", piece({"role": "assistant"}), *said(*TEXTS), *LAST)
CALLED = events(
    *said("One moment."),
    piece(call(0, "", id="call_a", type="function", name="orders.find")),
    piece(call(0, '{"num')),
    piece(call(0, 'ber": "17"}')),
    piece(call(1, '{"to": "café"}', id="call_b", type="function", name="route")),
    piece({}, "tool_calls"),
    "data: [DONE]",
)


def stream(chunks: Iterable[bytes], request: ChatRequest = REQUEST, headers: dict[str, str] = EVENT_STREAM) -> Stream:
    return Stream(Streamed(200, headers, iter(chunks)), request)


def broken(data: bytes, error: Exception) -> Iterator[bytes]:
    yield data
    raise error
