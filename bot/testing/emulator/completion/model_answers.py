"""The answers that a test can queue (a model's text, an error, any bytes), their wire format, and the switches."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal, NoReturn


@dataclass(slots=True)
class CompletionBehaviour:
    """The switches for every point on which the specification is silent. Each may be changed at any time.

    Requests:

    * ``tool_choice``: taken as a ``string`` (or an object), as an ``array``, or as ``any`` of these.
    * ``unknown_model``: the error for a model that is not in the list: ``invalid_request_error``,
      ``model_not_in_package`` or ``server_error``.

    Answers:

    * ``reasoning``: reasoning blocks are ``removed``, as they should be, ``left`` in the content, or stand ``apart``
      from it (``reasoning_content``).
    * ``usage``: whole answers have it. ``usage_in_stream``: ``never``, in the ``last_chunk``, or in a chunk of its
      own without choices (``own_chunk``).
    * ``finish_reason``: in a last chunk with an ``empty_delta``, in the ``last_delta`` with content, or ``missing``.
    * ``done``: the stream ends with ``[DONE]``.
    * ``plugin_chat``: the shape of its answer. ``completion``: as a chat response; ``message``:
      ``{message: {role, content}}``; ``reply``: ``{reply: text}``; ``data``: ``{data: {content: text}}``.

    Errors:

    * ``named_by``: the error's name is in ``type`` (and the kind of a used up quota in ``code``), or in ``code``.
    * ``reset_in``: a number of ``seconds`` or a ``text`` such as ``2h 15m``; ``reset_in_place``: in the ``error``
      object or beside it in the ``body``.
    """

    tool_choice: Literal["any", "string", "array"] = "any"
    unknown_model: Literal["invalid_request_error", "model_not_in_package", "server_error"] = "invalid_request_error"

    reasoning: Literal["removed", "left", "apart"] = "removed"
    usage: bool = True
    usage_in_stream: Literal["never", "last_chunk", "own_chunk"] = "never"
    finish_reason: Literal["empty_delta", "last_delta", "missing"] = "empty_delta"
    done: bool = True
    plugin_chat: Literal["completion", "message", "reply", "data"] = "completion"

    named_by: Literal["type", "code"] = "type"
    reset_in: Literal["seconds", "text"] = "seconds"
    reset_in_place: Literal["error", "body"] = "error"


ERRORS: Mapping[str, tuple[int, ...]] = {
    "invalid_request_error": (400, 401),
    "model_no_tool_support": (400,),
    "model_requires_package": (403,),
    "model_not_in_package": (403,),
    "quota_exceeded": (429,),
    "rate_limit_exceeded": (429,),
    "server_error": (500,),
    "provider_error": (502,),
}
"""The specification's errors and their HTTP statuses, the usual one first (table "Errors")."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A model's answer, and how it is sent.

    ``calls`` are tool calls: a name, and the arguments as an object or as any text. ``finish`` is ``stop`` or
    ``tool_calls`` unless it is given: then the text is not cut at the request's ``max_tokens``. ``think`` is a
    reasoning block in front of the text, which the service removes. ``usage`` says whether the tokens are
    given; None: as the service does it.

    ``chunks`` says how a stream cuts the text: None by words, a number by so many characters, or the pieces
    themselves, of which the text then is made. ``delay`` is how many real seconds each piece takes; an answer
    that is not streamed takes as long in all. ``comments`` puts a comment before each event, ``crlf`` ends lines with
    CR and LF.

    Failures: after ``cut_after`` bytes of the body the connection is closed, or the body ends as if that were
    all (``cut_cleanly``); after ``stall_after`` bytes nothing more comes; instead of its end a stream has an
    ``error``; with ``endless`` a stream is that text again and again (comments only, if it is empty).
    """

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any] | str]] = ()
    finish: str | None = None
    think: str = ""
    usage: bool | None = None
    chunks: int | Sequence[str] | None = None
    delay: float = 0.0
    comments: bool = False
    crlf: bool = False
    cut_after: int | None = None
    cut_cleanly: bool = False
    stall_after: int | None = None
    error: "ErrorAnswer | None" = None
    endless: str | None = None

    def pieces(self) -> list[str]:
        """The text as a stream cuts it."""
        if self.chunks is None:
            return re.findall(r"\s*\S+\s*|\s+", self.text)
        if isinstance(self.chunks, int):
            return [self.text[start : start + self.chunks] for start in range(0, len(self.text), self.chunks)]
        return list(self.chunks)


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An error. ``kind`` is the kind of a used up quota; ``reset_in`` is in seconds, or any text."""

    name: str
    http: int
    message: str
    kind: str | None = None
    reset_in: float | str | None = None

    def body(self, behaviour: CompletionBehaviour) -> dict[str, Any]:
        """The error in the shape of the specification."""
        error: dict[str, Any] = {"message": self.message, "type": self.name}
        if behaviour.named_by == "code":
            error |= {"type": "server_error" if self.http >= 500 else "invalid_request_error", "code": self.name}
        elif self.kind is not None:
            error["code"] = self.kind
        body: dict[str, Any] = {"error": error}
        if self.reset_in is not None:
            place = error if behaviour.reset_in_place == "error" else body
            words = behaviour.reset_in == "text" and not isinstance(self.reset_in, str)
            place["reset_in"] = _words(float(self.reset_in)) if words else self.reset_in
        return body


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """Bytes that the service would not send, such as a proxy's page."""

    status: int
    body: bytes
    content_type: str = "text/html"


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """No answer: the request is held until the client closes the connection."""


class CompletionRefusal(Exception):
    """A request that is answered with an error."""

    def __init__(self, failure: ErrorAnswer) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure(
    name: str,
    http: int | None = None,
    *,
    message: str | None = None,
    kind: str | None = None,
    reset_in: float | str | None = None,
) -> ErrorAnswer:
    """A failure by its name.

    Raises `ValueError` for a name that the specification does not have, unless ``http`` is given.
    """
    if http is None and name not in ERRORS:
        raise ValueError(f"there is no error {name!r}, but these: {', '.join(ERRORS)}; or give an http status")
    if kind is None and name == "quota_exceeded":
        kind = "5h"
    return ErrorAnswer(name, http or ERRORS[name][0], message or name.replace("_", " "), kind, reset_in)


def refuse(name: str, message: str, http: int | None = None, **more: Any) -> NoReturn:
    """Raise a `CompletionRefusal`."""
    raise CompletionRefusal(failure(name, http, message=message, **more))


def tokens(text: str) -> int:
    """The number of tokens in a text, as this service counts: four characters a token."""
    return -(-len(text) // 4)


def _words(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{count}{unit}" for count, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if count]
    return " ".join(parts) or "0s"


_ARGUMENTS_CUT = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of an answer, and how many pieces of the model's output they contain."""

    data: bytes
    steps: int = 0


class EmulatedCompletion:
    """One answer of a model. ``created`` is in Unix seconds, ``most_tokens`` the request's ``max_tokens``."""

    def __init__(
        self,
        answer: ModelAnswer,
        behaviour: CompletionBehaviour,
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
        self._apart = answer.think if behaviour.reasoning == "apart" else ""
        self._usage = _usage(tokens(prompt), tokens(written))

    @property
    def text(self) -> str:
        """The content."""
        return "".join(self._pieces)

    @property
    def total_tokens(self) -> int:
        """The tokens of the question and of the answer."""
        return self._usage["total_tokens"]

    @property
    def steps(self) -> int:
        """The number of pieces of output that the model needs for it."""
        return len(self._deltas())

    def body(self) -> dict[str, Any]:
        """The response that is not streamed."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self._apart:
            message["reasoning_content"] = self._apart
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
        """The end of a stream: the finish reason and the usage, where this service has them."""
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
        thought = [{"content": "", "reasoning_content": piece} for piece in _cut(self._apart)] if self._apart else []
        deltas: list[dict[str, Any]] = [*thought, *({"content": piece} for piece in self._pieces)]
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
    """JSON as the service writes it: characters beyond ASCII stay, half of a character becomes a question mark."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")


def _calls(answer: ModelAnswer, serial: int) -> list[dict[str, Any]]:
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
