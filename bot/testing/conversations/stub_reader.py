"""Reads the stubs of a test: what handlers, `http` requests and models return, and random numbers."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from bot.checker.exploring.moves import ModelResult
from bot.core.lazy_patterns import lazy_pattern
from bot.language.keys import key_schemas as schemas
from bot.language.keys.declared_keys import (
    DURATION,
    STRING,
    Form,
    KeySet,
    KeySpec,
    either,
    integer,
    nested,
    number,
    one_of,
    raw_node,
    shared,
)
from bot.language.keys.fields import Fields, entries_of, items_of, plain_of, text_of
from bot.language.source.problems import Mark, Problems, did_you_mean
from bot.language.source.yaml_tree import List, Map, Node, Scalar
from bot.language.steps.call_step import UNDECLARED
from bot.services.ai.ai_errors import BY_CODE
from bot.services.request_errors import AnswerTooLarge, RequestFailed, RequestTimedOut, Unreachable
from bot.testing.conversations.transcript import HandlerStub, HttpStub, KnownNames, StubAnswers

HTTP_FAILURES: dict[str, type[RequestFailed]] = {
    error.outcome: error for error in (RequestTimedOut, Unreachable, AnswerTooLarge)
}
"""The failures of a request that a test may set, by the outcomes of its step."""
TIMEOUT, EMPTY, BROKEN_OFF = "timeout", "empty", "broken_off"
REFUSED_BY_KEY = "unauthorized"
MODEL_FAILURES = (*BY_CODE, REFUSED_BY_KEY, TIMEOUT, EMPTY, BROKEN_OFF)
"""The failures of a model: the service's own names, and those without a name there."""
_REQUEST = lazy_pattern(r"[A-Z]+ \S+")

# -- what models answer -------------------------------------------------------------------------------


def _read_calls(node: Node, problems: Problems, what: str) -> tuple[tuple[Mark, str, Mapping[str, Any]], ...]:
    calls = (_read_call(item, problems) for item in items_of(node, problems, what))
    return tuple(call for call in calls if call is not None)


def _read_call(node: Node, problems: Problems) -> tuple[Mark, str, Mapping[str, Any]] | None:
    """``{leave: tracking}``, or the name of a tool with its arguments."""
    match node:
        case Scalar(text=name):
            return node.mark, name, {}
        case Map(entries=((Scalar(text="leave"), Scalar(text=name)),)):
            return node.mark, f"leave_{name}", {}
        case Map(entries=((Scalar(text=name), Map() as arguments),)):
            return node.mark, name, plain_of(arguments, problems)
    fix = "write the tool's name and its arguments: {orders.find: {number: 1}}"
    problems.add("E601", node.mark, "this is not a call", fix)
    return None


def _read_model(fields: Fields) -> ModelResult:
    calls = tuple((name, arguments) for _, name, arguments in _CALLS.read(fields))
    written, says = _JSON_WRITTEN.read(fields), _SAYS.read(fields)
    if written is not None and says is not None:
        fields.problems.add("E601", fields.mark_of(_SAYS.name), "model: both `json` and `says`", "keep one")
    text = says or "" if written is None else json.dumps(plain_of(written, fields.problems), ensure_ascii=False)
    return ModelResult(text, calls, _MODEL_FAILS.read(fields), _AFTER.read(fields) or timedelta())


CALLS = Form(schemas.list_of(schemas.either(schemas.ANY_TEXT, schemas.map_of(schemas.ANY))), _read_calls, absent=())
"""Calls, each with its place, its name and its arguments."""
_SAYS = KeySpec("says", STRING, "The model's text.")
_JSON_WRITTEN = KeySpec("json", raw_node(schemas.ANY), "The value that it writes, as JSON.")
_CALLS = KeySpec("calls", CALLS, "The tools that it asks for, and the exit that it leaves by.")
_MODEL_FAILS = KeySpec("fails", one_of(*MODEL_FAILURES), "How it fails.")
_AFTER = KeySpec("after", DURATION, "How long it thinks; the clock of the test moves on.")
_TEXT_ALONE = Form(STRING.schema, lambda *at: ModelResult(text_of(*at) or ""))
MODEL = shared(
    "model-answer", either(_TEXT_ALONE, nested(KeySet(_SAYS, _JSON_WRITTEN, _CALLS, _MODEL_FAILS, _AFTER), _read_model))
)
"""The answer of a model: a text, or a map with more."""

# -- what services answer -----------------------------------------------------------------------------


def _read_http(fields: Fields) -> HttpStub:
    content, text = _JSON.read(fields), _TEXT.read(fields)
    if content is not None and text is not None:
        fields.problems.add("E601", fields.mark_of(_TEXT.name), "http: both `json` and `text`", "keep one")
    body = (text or "").encode() if content is None else json.dumps(plain_of(content, fields.problems)).encode()
    kind = "text/plain" if content is None else "application/json"
    return HttpStub(_STATUS.read(fields) or 200, body, kind, _HEADERS.read(fields), _HTTP_FAILS.read(fields))


def _read_status(node: Node, problems: Problems, what: str) -> HttpStub:
    return HttpStub(_STATUS.form.read(node, problems, f"{what}: {_STATUS.name}") or 200)


def _read_headers(node: Node, problems: Problems, what: str) -> dict[str, str]:
    entries = entries_of(node, problems, what)
    return {name.text.lower(): text_of(value, problems, f"{what}: {name.text}") or "" for name, value in entries}


_STATUS = KeySpec("status", integer(100, 599), "Its status; 200 by default.")
_JSON = KeySpec("json", raw_node(schemas.ANY), "Its body, as JSON.")
_TEXT = KeySpec("text", STRING, "Its body, as a text.")
_HEADERS = KeySpec("headers", Form(schemas.map_of(schemas.ANY), _read_headers, absent={}), "Its headers.")
_HTTP_FAILS = KeySpec("fails", one_of(*HTTP_FAILURES), "How the request fails.")
_STATUS_ALONE = Form(_STATUS.form.schema, _read_status)
_HTTP = shared(
    "http-answer", either(_STATUS_ALONE, nested(KeySet(_STATUS, _JSON, _TEXT, _HEADERS, _HTTP_FAILS), _read_http))
)


def _read_answer(request: Scalar, node: Node, problems: Problems) -> HttpStub | None:
    if _REQUEST.fullmatch(request.text) is not None:
        return _HTTP.read(node, problems, "http")
    fix = "write its method and address, like GET https://api.example/orders/*"
    problems.add("E601", request.mark, f'"{request.text}" is not a request', fix)
    return None


def _read_request(node: Node, problems: Problems, what: str) -> tuple[str, HttpStub] | None:
    if isinstance(node, Map) and len(node.entries) == 1:
        (request, answer) = node.entries[0]
        found = _read_answer(request, answer, problems)
        return None if found is None else (request.text, found)
    fix = "write {GET https://api.example: {json: ...}}"
    problems.add("E601", node.mark, "this is not a request with its answer", fix)
    return None


REQUEST = Form(schemas.map_of(_HTTP.schema), _read_request)
"""A request and its answer: ``{GET https://api.example/orders/1: {json: {...}}}``."""

# -- what handlers return -----------------------------------------------------------------------------

_RETURNS = KeySpec("returns", raw_node(schemas.ANY), "The value that the handler returns.")
_FAILS = KeySpec("fails", STRING, "The error that it ends with: a declared one, timeout, mismatch or error.")
_RESULT = KeySet(_RETURNS, _FAILS)


def _read_result(name: Scalar, node: Node, problems: Problems, known: KnownNames) -> HandlerStub | None:
    spec = known.handlers.get(name.text)
    if spec is None and known.complete:
        fix = did_you_mean(name.text, known.handlers, "declare it in handlers.py")
        problems.add("E501", name.mark, f'no handler "{name.text}"', fix)
        return None
    fields = _RESULT.open(node, problems, f'handler "{name.text}"', "{returns: ...}")
    declared = _FAILS if spec is None else replace(_FAILS, form=one_of(*spec.errors, *UNDECLARED))
    returns, fails = _RETURNS.read(fields), declared.read(fields)
    if isinstance(node, Map) and _RETURNS.written(fields) == _FAILS.written(fields):
        what = f"{fields.what}: exactly one of returns and fails is needed"
        problems.add("E601", node.mark, what, "write either returns: or fails:")
        return None
    return HandlerStub(None if returns is None else plain_of(returns, problems), fails)


# -- all stubs ----------------------------------------------------------------------------------------


AND_SO_ON = "..."
"""Behind the last answer of a list: from then on, it is always given."""
_IN_TURN = f"a list: in turn, and where it ends in {AND_SO_ON}, then always the last"


def _sequence(schema: schemas.Schema, read: Callable[[Node, Problems], Any | None]) -> Form[StubAnswers]:
    """One answer for every time; or a list with one answer for each time, which can end in `AND_SO_ON`."""

    def read_all(node: Node, problems: Problems, what: str) -> StubAnswers:
        if not isinstance(node, List):
            return StubAnswers(then=read(node, problems))
        items, dots = node.items, [isinstance(item, Scalar) and item.text == AND_SO_ON for item in node.items]
        goes_on = len(items) > 1 and dots[-1]
        for item, stray in zip(items, dots[:-1] if goes_on else dots, strict=False):
            if stray:
                problems.add("E601", item.mark, f"{what}: {AND_SO_ON} stands behind the last answer", "write it there")
        found = (read(item, problems) for item, dot in zip(items, dots, strict=True) if not dot)
        answers = tuple(answer for answer in found if answer is not None)
        return StubAnswers(answers[:-1], *answers[-1:]) if goes_on else StubAnswers(answers)

    return Form(
        schemas.either(schema, schemas.list_of(schemas.either(schema, {"type": "string", "enum": [AND_SO_ON]}))),
        read_all,
    )


def _answers(
    schema: schemas.Schema, read: Callable[[Scalar, Node, Problems], Any | None]
) -> Form[dict[str, StubAnswers]]:
    """A map of answers by what is asked."""

    def read_all(node: Node, problems: Problems, what: str) -> dict[str, StubAnswers]:
        entries = entries_of(node, problems, what)
        return {name.text: _sequence(schema, partial(read, name)).read(item, problems, what) for name, item in entries}

    return Form(schemas.map_of(_sequence(schema, lambda *_: None).schema), read_all, absent={})


def _read_draw(node: Node, problems: Problems) -> float | None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1:
        return float(value)
    problems.add("E106", node.mark, "random: a number from 0 up to 1 is expected", "write one like 0.25")
    return None


_DRAWS = _sequence({**number(0).schema, "exclusiveMaximum": 1}, _read_draw)


def stubs(known: KnownNames) -> KeySet:
    """The stubs that a document may have: the fields of `StubDefinitions`. In an evaluation a model answers itself."""
    results = _answers(_RESULT.schema(), partial(_read_result, known=known))
    models = _answers(MODEL.schema, lambda _, node, problems: MODEL.read(node, problems, "model"))
    about_models = f"Answers of models, by a part of the question; {_IN_TURN}."
    return KeySet(
        KeySpec("handlers", results, f"Results of handlers, by name; {_IN_TURN}."),
        KeySpec("http", _answers(_HTTP.schema, _read_answer), f"Answers of services, by request; {_IN_TURN}."),
        KeySpec("random", _DRAWS, f"The numbers that are drawn; {_IN_TURN}."),
        *(() if known.evaluates else (KeySpec("models", models, about_models),)),
    )
