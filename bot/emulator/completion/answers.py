"""What a request can be answered with: a model's words, an error of the specification, or any bytes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from bot.emulator.completion.behaviour import Behaviour

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

QUOTAS = ("5h", "weekly", "monthly_exhausted")
"""The kinds of quotas that can be used up."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says, and how it comes.

    ``calls`` are tool calls: a name, and the arguments as an object or as any text. ``finish`` is ``stop`` or
    ``tool_calls`` unless it is given: then the text is not cut at the request's ``max_tokens``. ``think`` is a reasoning block in front of the text, which the service removes.
    ``usage``: given or left out, instead of as the service behaves.

    ``chunks`` says how a stream cuts the text: None by words, a number by so many characters, or the pieces
    themselves, of which the text then is made. ``delay`` is in real seconds for each piece; an answer that is not
    streamed is late by all of them. ``comments`` puts one before each event, ``crlf`` ends lines with it.

    What goes wrong: after ``cut_after`` bytes of the body the connection is closed, or the body ends as if that were
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
    error: "Failure | None" = None
    endless: str | None = None

    def pieces(self) -> list[str]:
        """The text as a stream cuts it."""
        if self.chunks is None:
            return re.findall(r"\s*\S+\s*|\s+", self.text)
        if isinstance(self.chunks, int):
            return [self.text[start : start + self.chunks] for start in range(0, len(self.text), self.chunks)]
        return list(self.chunks)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error. ``kind`` is that of a used up quota, ``reset_in`` seconds (or any text, as it is to be shown)."""

    name: str
    http: int
    message: str
    kind: str | None = None
    reset_in: float | str | None = None

    def body(self, behaviour: Behaviour) -> dict[str, Any]:
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
class Raw:
    """Bytes that are no answer of the service, such as a proxy's page."""

    status: int
    body: bytes
    content_type: str = "text/html"


@dataclass(frozen=True, slots=True)
class Silence:
    """No answer at all, until the client goes."""


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure(
    name: str,
    http: int | None = None,
    *,
    message: str | None = None,
    kind: str | None = None,
    reset_in: float | str | None = None,
) -> Failure:
    """A failure by its name. Raises `ValueError` for one that the specification has not, unless ``http`` is given."""
    if http is None and name not in ERRORS:
        raise ValueError(f"there is no error {name!r}, but these: {', '.join(ERRORS)}; or give an http status")
    if kind is None and name == "quota_exceeded":
        kind = QUOTAS[0]
    return Failure(name, http or ERRORS[name][0], message or name.replace("_", " "), kind, reset_in)


def refuse(name: str, message: str, http: int | None = None, **more: Any) -> NoReturn:
    """Raise a `Refusal`."""
    raise Refusal(failure(name, http, message=message, **more))


def tokens(text: str) -> int:
    """What a text comes to in this service's count: four characters a token."""
    return -(-len(text) // 4)


def _words(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{count}{unit}" for count, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if count]
    return " ".join(parts) or "0s"
