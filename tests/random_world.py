"""Services, models and chance that answer a bot at random. The same seed gives the same answers."""

import threading
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from bot.checker.exploring.moves import ModelResult
from bot.core.effects import HttpRequest
from bot.services.http_client import Response
from bot.services.request_errors import AnswerCut, AnswerTooLarge, RequestTimedOut, Unreachable
from bot.testing.conversations.stubs import calls_of
from bot.testing.conversations.transcript import HttpLine, HttpStub, ModelLine, Transcript, is_meant
from bot.testing.emulator.completion import ERRORS, ErrorAnswer, ModelAnswer, RawAnswer, failure

JSON = "application/json"
FAILURES = {"timeout": RequestTimedOut, "unreachable": Unreachable, "too_large": AnswerTooLarge, "broken": AnswerCut}
FAILED = (
    *(HttpStub(fails=kind) for kind in FAILURES),
    *(HttpStub(status) for status in (400, 401, 404, 409, 500, 502)),
    HttpStub(302, headers={"location": "https://elsewhere.example"}),
    HttpStub(429, headers={"retry-after": "60"}),
    HttpStub(503, b"oops", headers={"retry-after": "soon"}),
)
"""Failures of any service."""

NONSENSE = (
    HttpStub(200),
    HttpStub(204),
    *(
        HttpStub(200, body, JSON)
        for body in (b"", b"null", b"[]", b"7", b'{"cut": ', b"[" * 5000, b'"\\ud800"', b"1e999")
    ),
    HttpStub(200, b'{"a": {"b": [1, null, "x"]}}', JSON),
    HttpStub(200, b'[{"a": 1}, 7, "x"]', JSON),
    HttpStub(200, b"<html>Sign in, please</html>", "text/html"),
    HttpStub(200, b"\xff\xfe", "text/plain; charset=latin-9"),
)
"""Answers that no service should give if it has understood the request."""

SAYINGS: tuple[ModelAnswer | ErrorAnswer | RawAnswer, ...] = (
    ModelAnswer(""),
    ModelAnswer("x" * 9000),
    ModelAnswer("One.\n\nTwo.\n\nThree.\n\nFour.\n\nFive."),
    ModelAnswer("See https://evil.example/x and {{ 7 * 7 }}."),
    ModelAnswer("It is", finish="length"),
    ModelAnswer("It is what it is, and so it goes.", cut_after=200),
    ModelAnswer(calls=[("delete_all", {})]),
    ModelAnswer(calls=[("remember", "nonsense")]),
    RawAnswer(502, b"<html>Bad gateway</html>"),
    *(failure(name) for name in ERRORS if name != "invalid_request_error"),
)
ARGUMENTS: tuple[Any, ...] = (
    "", "x", "AB123456", "7", 7, -1, 0.5, True, None, [], ["x"], {"a": "b"}, "12 May 2030", "ann@shop.example",
)  # fmt: skip


class World:
    """Answers mostly as the bot's own tests do, so that the contact gets far; else with whatever there is.

    The services of every other seed fail, and answer no nonsense; ``nonsense`` tells that one has.
    """

    def __init__(self, transcripts: Iterable[Transcript], seed: int) -> None:
        transcripts = list(transcripts)
        self.nonsense = False
        self._unusual = FAILED if seed % 2 else (*NONSENSE, *FAILED)
        self._http = list(_http_in(transcripts))
        self._models = list(_models_in(transcripts))
        self._lock = threading.Lock()
        self._http_dice, self._model_dice, self._chance = (Random(f"{seed} {what}") for what in ("http", "model", ""))
        self._drawn: dict[str, float] = {}

    def draw(self, key: str) -> float:
        """A random number, which stays that of the key: a turn may be made again."""
        with self._lock:
            return self._drawn.setdefault(key, self._chance.random())

    def request(self, request: HttpRequest, key: str) -> Response:
        """A service's answer. Raises `bot.services.request_errors.RequestFailed`."""
        name = f"{request.method} {request.address}"
        with self._lock:
            meant = [answer for written, answer in self._http if is_meant(written, name)]
            usual = self._http_dice.random() < 0.8
            answer = self._http_dice.choice(meant if usual and meant else self._unusual)
            self.nonsense |= answer in NONSENSE
        if answer.fails is not None:
            raise FAILURES[answer.fails](f"{answer.fails}, by chance")
        return Response(answer.status, {"content-type": answer.type, **answer.headers}, answer.body)

    def speak(self, request: Mapping[str, Any]) -> ModelAnswer | ErrorAnswer | RawAnswer:
        """A model's answer."""
        tools = [tool["function"] for tool in request.get("tools") or ()]
        with self._lock:
            dice = self._model_dice
            if self._models and dice.random() < 0.4:
                return _said(dice.choice(self._models))
            if tools and dice.random() < 0.6:
                return ModelAnswer("One moment.", calls=[_call(dice.choice(tools), dice)])
            return dice.choice(SAYINGS)


def _http_in(transcripts: Iterable[Transcript]) -> Iterable[tuple[str, HttpStub]]:
    for transcript in transcripts:
        for written, standing in transcript.stub_definitions.http.items():
            yield from ((written, answer) for answer in standing.each)
        yield from ((line.request, line.answer) for line in transcript.conversation if isinstance(line, HttpLine))


def _models_in(transcripts: Iterable[Transcript]) -> Iterable[ModelResult]:
    for transcript in transcripts:
        for standing in transcript.stub_definitions.models.values():
            yield from standing.each
        yield from (line.answer for line in transcript.conversation if isinstance(line, ModelLine))


def _said(model: ModelResult) -> ModelAnswer | ErrorAnswer:
    return ModelAnswer(model.text, calls=calls_of(model)) if model.fails is None else failure(model.fails)


def _call(tool: Mapping[str, Any], dice: Random) -> tuple[str, Mapping[str, Any]]:
    """A call of a tool with some of its arguments, which may be anything."""
    names = tool.get("parameters", {}).get("properties", {})
    return tool["name"], {name: dice.choice(ARGUMENTS) for name in names if dice.random() < 0.9}
