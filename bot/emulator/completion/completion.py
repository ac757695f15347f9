"""A completion in the wire form, whole or as Server-Sent Events (spec: "Chat response", "Stream chunk")."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from bot.emulator.completion.answers import Answer, tokens
from bot.emulator.completion.behaviour import Behaviour

_ARGUMENTS_CUT = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of an answer, and how many pieces of the model's output they had to wait for."""

    data: bytes
    steps: int = 0


class Completion:
    """One answer of a model. ``created`` is in Unix seconds, ``most_tokens`` the request's ``max_tokens``."""

    def __init__(
        self,
        answer: Answer,
        behaviour: Behaviour,
        *,
        serial: int,
        model: str,
        created: int,
        prompt: str,
        most_tokens: int,
    ) -> None:
        self._answer = answer
        self._behaviour = behaviour
        self._id = f"chatcmpl-{serial}"
        self._model = model
        self._created = created
        self._calls = _calls(answer, serial)
        text = answer.pieces()
        cut = text if answer.finish else list(_within(text, most_tokens * 4))
        ended = "length" if len("".join(cut)) < len("".join(text)) else "tool_calls" if self._calls else "stop"
        self._finish = answer.finish or ended
        think = f"<think>{answer.think}</think>\n" if answer.think else ""
        self._pieces = [think, *cut] if think and behaviour.reasoning == "left" else cut
        written = think + "".join(cut) + "".join(call["function"]["arguments"] for call in self._calls)
        self._usage = _usage(tokens(prompt), tokens(written))

    @property
    def text(self) -> str:
        """The content."""
        return "".join(self._pieces)

    @property
    def total_tokens(self) -> int:
        """What it costs."""
        return self._usage["total_tokens"]

    @property
    def steps(self) -> int:
        """How many pieces of output the model makes of it."""
        return len(self._deltas())

    def body(self) -> dict[str, Any]:
        """The response that is not streamed."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self._calls:
            message |= {"content": self.text or None, "tool_calls": self._calls}
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        body = {"id": self._id, "object": "chat.completion", "created": self._created, "model": self._model}
        body["choices"] = [choice]
        if self._behaviour.usage if self._answer.usage is None else self._answer.usage:
            body["usage"] = self._usage
        return body

    def blanks(self) -> Iterator[Piece]:
        """An endless answer that is not streamed: JSON may begin with any number of spaces."""
        return repeat(Piece(b" ", 1))

    def events(self) -> Iterator[Piece]:
        """The events of a stream; without end, if the answer is endless."""
        if self._answer.endless is not None:
            yield from repeat(self._endless(self._answer.endless))
        deltas = self._deltas()
        chunks = [self._chunk(delta) for delta in deltas]
        error = self._answer.error
        if error is None:
            self._end(chunks)
        for number, chunk in enumerate(chunks):
            yield self._event(encode(chunk), steps=int(number < len(deltas)))
        if error is not None:
            yield self._event(encode(error.body(self._behaviour)))
        elif self._behaviour.done:
            yield self._event(b"[DONE]")

    def _end(self, chunks: list[dict[str, Any]]) -> None:
        """Put the finish reason and the usage where this service has them."""
        if self._behaviour.finish_reason == "empty_delta" or not chunks:
            chunks.append(self._chunk({}))
        if self._behaviour.finish_reason != "missing":
            chunks[-1]["choices"][0]["finish_reason"] = self._finish
        place = self._behaviour.usage_in_stream
        if self._answer.usage is False or (place == "never" and not self._answer.usage):
            return
        if place == "own_chunk":
            chunks.append({**self._chunk({}), "choices": []})
        chunks[-1]["usage"] = self._usage

    def _deltas(self) -> list[dict[str, Any]]:
        deltas: list[dict[str, Any]] = [{"content": piece} for piece in self._pieces]
        for index, call in enumerate(self._calls):
            function = {"name": call["function"]["name"], "arguments": ""}
            deltas.append({"tool_calls": [{"index": index, **call, "function": function}]})
            rest = call["function"]["arguments"]
            deltas += [{"tool_calls": [{"index": index, "function": {"arguments": a}}]} for a in _cut(rest)]
        return deltas

    def _chunk(self, delta: dict[str, Any]) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        return {"id": self._id, "object": "chat.completion.chunk", "model": self._model, "choices": [choice]}

    def _event(self, data: bytes, steps: int = 0) -> Piece:
        event = b"data: " + data + b"\n\n"
        if self._answer.comments:
            event = b": keep-alive\n\n" + event
        return Piece(event.replace(b"\n", b"\r\n") if self._answer.crlf else event, steps)

    def _endless(self, text: str) -> Piece:
        if text:
            return self._event(encode(self._chunk({"content": text})), steps=1)
        return Piece(b": keep-alive\n\n", 1)


def encode(value: Any) -> bytes:
    """JSON as the service writes it: characters beyond ASCII as they are, half characters as question marks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")


def _calls(answer: Answer, serial: int) -> list[dict[str, Any]]:
    calls = []
    for number, (name, arguments) in enumerate(answer.calls):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        function = {"name": name, "arguments": text}
        calls.append({"id": f"call_{serial}_{number}", "type": "function", "function": function})
    return calls


def _usage(prompt: int, completion: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _within(pieces: Sequence[str], characters: int) -> Iterator[str]:
    for piece in pieces:
        if characters <= 0:
            return
        yield piece[:characters]
        characters -= len(piece)


def _cut(text: str) -> list[str]:
    return [text[start : start + _ARGUMENTS_CUT] for start in range(0, len(text), _ARGUMENTS_CUT)]
