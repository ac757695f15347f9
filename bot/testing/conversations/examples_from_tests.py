"""Example inputs from the tests of a bot: texts of contacts, and results of handlers, services and models."""

import json
from collections.abc import Iterable

from bot.checker.exploring.examples import Examples
from bot.checker.exploring.explorer import MODEL_OUTCOMES
from bot.checker.exploring.moves import HandlerResult, HttpResult, ModelResult, StartMove, once
from bot.language.python.gathered import Extensions
from bot.testing.conversations.transcript import (
    HttpLine,
    HttpStub,
    ModelLine,
    StartLine,
    StubDefinitions,
    Transcript,
    TranscriptLine,
    UserLine,
    is_meant,
)


def examples_from(extensions: Extensions, transcripts: Iterable[Transcript]) -> Examples:
    """All inputs and results in tests, each once."""
    known = list(transcripts)
    lines = [line for transcript in known for line in transcript.conversation]
    stubs = [transcript.stub_definitions for transcript in known]
    http = _http_in(stubs, lines)
    starts = [StartMove(line.flow, line.data) for line in lines if isinstance(line, StartLine)]
    return Examples(
        tuple(dict.fromkeys(line.text for line in lines if isinstance(line, UserLine))),
        _returns_in(stubs),
        lambda request: once(_response(request, answer) for written, answer in http if is_meant(written, request)),
        tuple(once(_models_in(stubs, lines))),
        tuple(once(starts)),
        extensions,
    )


def _returns_in(stubs: Iterable[StubDefinitions]) -> dict[str, tuple[HandlerResult, ...]]:
    found: dict[str, list[HandlerResult]] = {}
    for definitions in stubs:
        for name, standing in definitions.handlers.items():
            found.setdefault(name, []).extend(HandlerResult(name, each.value, each.fails) for each in standing.each)
    return {name: tuple(once(answers)) for name, answers in found.items()}


def _http_in(stubs: Iterable[StubDefinitions], lines: Iterable[TranscriptLine]) -> list[tuple[str, HttpStub]]:
    standing = [
        (written, answer)
        for definitions in stubs
        for written, answers in definitions.http.items()
        for answer in answers.each
    ]
    return standing + [(line.request, line.answer) for line in lines if isinstance(line, HttpLine)]


def _models_in(stubs: Iterable[StubDefinitions], lines: Iterable[TranscriptLine]) -> list[ModelResult]:
    """The answers of models, without failures after which the model is asked again: the explorer tries only once."""
    standing = [answer for definitions in stubs for answers in definitions.models.values() for answer in answers.each]
    found = standing + [line.answer for line in lines if isinstance(line, ModelLine)]
    return [answer for answer in found if answer.fails is None or answer.fails in MODEL_OUTCOMES]


def _response(request: str, answer: HttpStub) -> HttpResult:
    if answer.type == "application/json" and answer.body:
        return HttpResult(request, answer.status, json=json.loads(answer.body), fails=answer.fails)
    return HttpResult(request, answer.status, text=answer.body.decode() or None, fails=answer.fails)
