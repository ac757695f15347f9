"""What the tests of a bot know of its world: what contacts write, and what handlers, services and models answer."""

import json
from collections.abc import Iterable
from typing import TypeVar

from bot.checker.exploring.examples import Hints
from bot.checker.exploring.moves import Responds, Returns, Speaks, Starts
from bot.extensions.gathered import Extensions
from bot.testing.transcript import (
    Http,
    HttpLine,
    Line,
    Model,
    ModelLine,
    Result,
    Stage,
    Start,
    Transcript,
    User,
    is_meant,
)

T = TypeVar("T")


def hints_of(extensions: Extensions, transcripts: Iterable[Transcript]) -> Hints:
    """All that tests say, each thing once."""
    known = list(transcripts)
    lines = [line for transcript in known for line in transcript.talk]
    stages = [transcript.stage for transcript in known]
    http = _http_in(stages, lines)
    starts = [Starts(line.flow, line.data) for line in lines if isinstance(line, Start)]
    return Hints(
        tuple(dict.fromkeys(line.text for line in lines if isinstance(line, User))),
        _returns_in(stages),
        lambda request: _once(_response(request, answer) for written, answer in http if is_meant(written, request)),
        tuple(_once(map(_spoken, _models_in(stages, lines)))),
        tuple(_once(starts)),
        extensions,
    )


def _returns_in(stages: Iterable[Stage]) -> dict[str, tuple[Returns, ...]]:
    found: dict[str, list[Returns]] = {}
    for stage in stages:
        for name, standing in stage.handlers.items():
            found.setdefault(name, []).extend(_returned(name, answer) for answer in standing.answers)
    return {name: tuple(_once(answers)) for name, answers in found.items()}


def _http_in(stages: Iterable[Stage], lines: Iterable[Line]) -> list[tuple[str, Http]]:
    standing = [
        (written, answer) for stage in stages for written, each in stage.http.items() for answer in each.answers
    ]
    return standing + [(line.request, line.answer) for line in lines if isinstance(line, HttpLine)]


def _models_in(stages: Iterable[Stage], lines: Iterable[Line]) -> list[Model]:
    standing = [answer for stage in stages for each in stage.models.values() for answer in each.answers]
    return standing + [line.answer for line in lines if isinstance(line, ModelLine)]


def _returned(name: str, result: Result) -> Returns:
    return Returns(name, result.value, result.fails)


def _spoken(model: Model) -> Speaks:
    return Speaks(model.text, tuple((name, dict(arguments)) for name, arguments in model.calls), model.fails)


def _response(request: str, answer: Http) -> Responds:
    if answer.type == "application/json" and answer.body:
        return Responds(request, answer.status, json=json.loads(answer.body), fails=answer.fails)
    return Responds(request, answer.status, text=answer.body.decode() or None, fails=answer.fails)


def _once(values: Iterable[T]) -> list[T]:
    """Each value once: of those that look the same, the first."""
    found: dict[str, T] = {}
    for value in values:
        found.setdefault(repr(value), value)
    return list(found.values())
