"""A chat completion: the request, and the answer assembled from the pieces of a stream, without the model's reasoning.

The specification calls them Chat request, Chat response and Stream chunk.
"""

import json
import logging
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any

from bot.core.immutable import immutable, mutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import PICTURE, clean, estimate, estimate_messages, is_blank, most_tokens, without_controls
from bot.core.values import Usage
from bot.services.ai.ai_errors import EmptyAnswer, ExcessiveCalls, InvalidRequest, NotTheService, refusal, word

MAX_TOKENS = 100_000
MAX_TEMPERATURE = 2
MOST_CALLS = 32
FILTERED = "content_filter"  # how an answer ends that the service's own filter has cut
_CHARACTERS = 16  # of arguments for each token that the answer may have: escapes make them long

log = logging.getLogger(__name__)


@immutable
class ChatRequest:
    """A question to a model. ``messages``, ``tools`` and ``tool_choice`` are in the wire form; a message may have a
    `PICTURE`.

    ``max_tokens`` is how long the answer may be. A field that is None is left to the service.
    """

    model: str
    messages: Sequence[Mapping[str, Any]]
    max_tokens: int = 1024
    temperature: float | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: str | Mapping[str, Any] | Sequence[Any] | None = None
    reasoning_split: bool | None = None

    def body(self, *, stream: bool = False) -> dict[str, Any]:
        """The request's body. Raises `InvalidRequest` where it breaks a limit of the service (spec: Limits)."""
        if not self.model or not self.messages:
            raise InvalidRequest("a request needs a model and at least one message")
        if not 1 <= self.max_tokens <= MAX_TOKENS:
            raise InvalidRequest(f"max_tokens is {self.max_tokens}: it must be from 1 to {MAX_TOKENS}")
        if self.temperature is not None and not 0 <= self.temperature <= MAX_TEMPERATURE:
            raise InvalidRequest(f"temperature is {self.temperature}: it must be from 0 to {MAX_TEMPERATURE}")
        messages = [_with_parts(message) for message in self.messages]
        body: dict[str, Any] = {"model": self.model, "messages": messages, "max_tokens": self.max_tokens}
        optional = {
            "temperature": self.temperature,
            "stream": stream or None,
            "tools": list(self.tools) or None,
            "tool_choice": self.tool_choice,
            "reasoning_split": self.reasoning_split,
        }
        return {**body, **{name: value for name, value in optional.items() if value is not None}}

    @property
    def prompt_tokens(self) -> int:
        """About how many tokens the question has."""
        return estimate_messages(self.messages) + (estimate(json.dumps(list(self.tools))) if self.tools else 0)

    @property
    def most_tokens(self) -> int:
        """The most tokens that a service can plausibly report for this question and its answer."""
        return most_tokens(self.prompt_tokens, self.max_tokens)

    def estimate(self, answer: str) -> Usage:
        """The estimated tokens of this question and an answer, if the service does not say."""
        return Usage(self.model, self.prompt_tokens, min(estimate(answer), self.max_tokens), estimated=True)


@immutable
class ToolCall:
    """A call that the model asks for. ``arguments`` are its text, JSON if the model is right."""

    id: str
    name: str
    arguments: str


@immutable
class Completion:
    """A model's answer. ``finish``: ``stop``, ``length`` (it was cut there), ``tool_calls``, or the service's word."""

    id: str
    model: str
    text: str
    calls: tuple[ToolCall, ...]
    finish: str
    usage: Usage


@mutable
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def is_other(self, piece: Mapping[str, Any]) -> bool:
        """True for the first piece of another call under the same index, as some servers number them."""
        id = word(piece.get("id"))
        return bool(id and self.id and id != self.id and word(_dict(piece.get("function")).get("name")))

    def add(self, piece: Mapping[str, Any]) -> int:
        """Take a piece, and give its size in characters. The name may come whole with each of them."""
        function = _dict(piece.get("function"))
        self.id = self.id or word(piece.get("id"))
        name = word(function.get("name"))
        self.name = word(self.name + ("" if name == self.name else name))
        arguments = function.get("arguments")
        self.arguments.append(json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments))
        return len(self.arguments[-1])

    def whole(self, index: int, taken: Container[str]) -> ToolCall:
        """The call, as its pieces have it, under an id that no other call has taken."""
        arguments = "".join(self.arguments).strip()
        if arguments.startswith("{}"):  # some servers send it before the arguments
            arguments = arguments[2:].strip() or "{}"
        if fenced := _FENCED.fullmatch(arguments):
            arguments = fenced[1]
        id = self.id or f"call_{index}"
        while id in taken:
            id += "_"
        return ToolCall(id, self.name, clean(arguments, len(arguments)))


_FENCED = lazy_pattern(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL)


class Assembly:
    """An answer that is put together from the pieces of a stream; a whole answer is one piece."""

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._id = ""
        self._model = ""
        self._choice: Any = None  # the index of the choice that is taken, as it is written: of the first one that came
        self._usage: Usage | None = None
        self._raw: list[str] = []  # thoughts included: they are paid for
        self._shown: list[str] = []
        self._half = ""  # of a character outside of Unicode's first plane
        self._thoughts = Thoughts()
        self._calls: dict[tuple[int, int], _Call] = {}  # by index, and by how many were there before
        self._newest: dict[int, _Call] = {}  # by index
        self._left = _CHARACTERS * request.max_tokens  # characters of arguments
        self.finish = ""

    def add(self, piece: Mapping[str, Any]) -> str:
        """Take a piece, and give the text that can be shown because of it. Raises the service's errors."""
        if piece.get("error"):
            raise refusal(200, {}, piece)
        self._id = self._id or word(piece.get("id"))
        self._model = self._model or word(piece.get("model"))
        self._usage = self._believed(piece.get("usage")) or self._usage
        choice = self._choice_of(piece.get("choices"))
        if choice is None:
            return ""
        self.finish = word(choice.get("finish_reason")) or self.finish
        content = _dict(choice.get("delta") or choice.get("message"))
        self._add_calls(content.get("tool_calls"))
        self._raw.append(_text(content.get("reasoning_content")))
        unopened = self.unopened
        text = self._thoughts.feed(self._sound(_text(content.get("content"))))
        if self.unopened > unopened:
            self._shown.clear()
        return self._show(text)

    @property
    def unopened(self) -> int:
        """The number of times that everything shown before turned out to be thoughts: see `Thoughts`."""
        return self._thoughts.unopened

    def end(self) -> str:
        """The text that was held back, when no piece follows."""
        return self._show(self._thoughts.end())

    def usage(self) -> Usage:
        """The tokens used so far."""
        if self._usage is not None:
            return self._usage
        called = [call.name + "".join(call.arguments) for call in self._calls.values()]
        return self._request.estimate("".join(self._raw + called))

    def completion(self) -> Completion:
        """The answer. Raises `EmptyAnswer`, or `NotTheService` if it has no choices."""
        if self._choice is None:
            raise NotTheService("the answer has no choices")
        text = "".join(self._shown)
        calls = self._whole_calls()
        if is_blank(text) and not calls and self.finish != FILTERED:
            error = EmptyAnswer("the model answered with nothing")
            error.usage = self.usage()
            raise error
        finish = "tool_calls" if calls and self.finish not in ("length", FILTERED) else self.finish or "stop"
        return Completion(self._id, self._model or self._request.model, text, calls, finish, self.usage())

    def _believed(self, said: Any) -> Usage | None:
        """The tokens used, as the service says; None if it says nothing, or something impossible."""
        asked, answered = (_dict(said).get(name) for name in ("prompt_tokens", "completion_tokens"))
        if (
            not isinstance(asked, int)
            or not isinstance(answered, int)
            or min(asked, answered) < 0
            or asked + answered == 0
        ):
            return None
        if asked + answered > self._request.most_tokens:
            _warn_of(self._request.model)
            return None
        return Usage(self._request.model, asked, answered)

    def _choice_of(self, choices: Any) -> dict[str, Any] | None:
        """The piece of the one choice that is taken, however many there are and however they alternate."""
        for place, choice in enumerate(map(_dict, choices if isinstance(choices, list) else [])):
            index = choice.get("index")
            index = place if index is None else index
            if self._choice is None:
                self._choice = index
            if index == self._choice:
                return choice
        return None

    def _whole_calls(self) -> tuple[ToolCall, ...]:
        calls: dict[str, ToolCall] = {}
        for index, (_, pieces) in enumerate(sorted(self._calls.items(), key=lambda item: item[0])):
            call = pieces.whole(index, calls)
            calls[call.id] = call
        return tuple(call for call in calls.values() if call.name)

    def _add_calls(self, pieces: Any) -> None:
        """Take pieces of calls. Raises `ExcessiveCalls`."""
        for piece in pieces if isinstance(pieces, list) else []:
            if not isinstance(piece, dict):
                continue
            index = piece.get("index")
            if not isinstance(index, int):
                index = len(self._calls)  # each call is whole, then
            call = self._newest.get(index)
            if call is None or call.is_other(piece):
                call = self._newest[index] = self._calls[index, len(self._calls)] = _Call()
            self._left -= call.add(piece)
            if self._left < 0 or len(self._calls) > MOST_CALLS:
                raise ExcessiveCalls("the answer has too many tool calls, or too long ones")

    def _show(self, text: str) -> str:
        self._shown.append(text)
        return text

    def _sound(self, piece: str) -> str:
        """The piece as valid text: half a character waits for its other half."""
        self._raw.append(piece)
        piece = self._half + piece
        self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        whole = piece[: len(piece) - len(self._half)]
        return without_controls(clean(whole, len(whole)))


def _with_parts(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message in the wire form: one with a picture in parts (decisions: "Chat completion")."""
    if PICTURE not in message:
        return message
    shown = {"type": "image_url", "image_url": {"url": message[PICTURE]}}
    rest = {key: value for key, value in message.items() if key != PICTURE}
    return {**rest, "content": [{"type": "text", "text": message["content"]}, shown]}


@cache
def _warn_of(model: str) -> None:
    """Say so once for each model."""
    log.warning(
        'model "%s" reports more tokens than a question and its answer can have: they are estimated instead', model
    )


_TEXT_TYPES = ("text", "output_text")


def _text(content: Any) -> str:
    """The text of a content: a string or a list of parts. Parts of other types, such as ``reasoning``, are left out."""
    if isinstance(content, list):
        parts = (_dict(part) for part in content)
        return "".join(_text(part.get("text")) for part in parts if part.get("type", "text") in _TEXT_TYPES)
    return content if isinstance(content, str) else ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# -- thoughts, which are not for the contact ----------------------------------------------------------

_THOUGHTS = ("think", "thinking", "thought", "reasoning", "reflection", "scratchpad", "analysis", "seed:think",
             "antthinking")  # fmt: skip
_MARKS = ("[THINK]", "[/THINK]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "<s>", "</s>", "<unused94>", "<unused95>")
"""Marks of single families of models, each as its model writes it."""
_BLOCKS = (
    *(*_THOUGHTS, "invoke", "function", "function_call", "function_calls"),
    *("tool_call", "tool_calls", "tool_code", "tool_use", "tool_response"),
)
_NAMES = "|".join(_BLOCKS)
_LONGEST = 100  # characters of a tag
_TAG = lazy_pattern(
    rf"<(?P<closing>/?)(?P<name>{_NAMES})(?:[\s=][^<>]{{0,60}})?>|<[|｜](?P<token>[^<>|｜]{{1,60}})[|｜]>"
    rf"|(?-i:(?P<mark>{'|'.join(map(re.escape, _MARKS))}))",
    re.I,
)
_BEGUN = lazy_pattern(rf"<(?:/?(?P<name>[a-z_:]*)|/?(?:{_NAMES})[\s=][^<>]{{0,60}}|[|｜][^<>|｜]{{0,60}}[|｜]?)", re.I)
_ENDS = ("im_end", "endoftext", "eot_id", "end_of_text", "end▁of▁sentence", "end_of_turn", "python_tag")
_FINAL = "final"  # the one channel that is for the contact


class Thoughts:
    """Takes thoughts out of a text that comes in pieces, which may be cut anywhere, within a tag too.

    White space before the answer's first word goes with them, and so does a block that is never closed. ``unopened``
    counts the blocks that were closed and never opened: everything that was shown before was thoughts.
    """

    def __init__(self) -> None:
        self.unopened = 0
        self._held = ""  # the beginning of a tag, perhaps
        self._thinking = False
        self._channel: list[str] | None = None  # the pieces of a channel's name, while it comes
        self._begun = False

    def feed(self, piece: str) -> str:
        """Take a piece. Returns the text to show next. If the piece closes a block that was never opened, this text
        replaces everything before it.
        """
        text = self._held + piece
        shown = []
        at = 0
        for tag in _TAG.finditer(text):
            shown.append(self._pass(text[at : tag.start()]))
            closes = tag["mark"] == "[/THINK]" or (tag["closing"] and tag["name"].lower() in _THOUGHTS)
            if closes and not self._thinking:
                shown.clear()
                self._begun = False
                self.unopened += 1
            self._on_tag(tag)
            at = tag.end()
        rest = text[at:]
        self._held = _begun_tag(rest)
        shown.append(self._pass(rest[: len(rest) - len(self._held)]))
        return self._show("".join(shown))

    def end(self) -> str:
        """The text that is left to show when no piece follows."""
        held, self._held = self._held, ""
        return self._show(self._pass(held))

    def _on_tag(self, tag: re.Match[str]) -> None:
        token, mark = tag["token"], tag["mark"]
        if mark is not None:
            self._thinking = self._thinking if mark == "<s>" else mark not in ("[/THINK]", "<unused95>")
        elif token is None:
            self._thinking = not tag["closing"]
        elif token in ("start", "channel"):
            self._channel = []
        elif token == "message" and self._channel is not None:
            self._thinking = "".join(self._channel).strip().lower() != _FINAL
            self._channel = None
        elif token in _ENDS:
            self._thinking = True  # what follows is no answer: the model plays the contact, or writes a call as code
        elif token.startswith("tool"):
            self._thinking = not token.endswith("end")

    def _pass(self, text: str) -> str:
        if self._channel is not None:
            self._channel.append(text)
            return ""
        return "" if self._thinking else text

    def _show(self, text: str) -> str:
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        return text


def _begun_tag(text: str) -> str:
    """The end of a text that may be the beginning of a tag."""
    start = max(text.rfind("<", -_LONGEST), text.rfind("[", -_LONGEST))
    if start >= 0 and any(mark.startswith(text[start:]) for mark in _MARKS):
        return text[start:]
    start = text.rfind("<", max(0, len(text) - _LONGEST))
    begun = _BEGUN.fullmatch(text, start) if start >= 0 else None
    if begun is None:
        return ""
    name = (begun["name"] or "").lower()
    return text[start:] if any(block.startswith(name) for block in _BLOCKS) else ""
