"""Reads the stubs of a test: what handlers, `http` requests and models return, and random numbers."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from bot.extensions.decorators import HandlerSpec
from bot.keys.fields import Fields, plain_of, text_of
from bot.lang.problems import Problems, did_you_mean
from bot.lang.source import List, Map, Node, Scalar, one_or_more
from bot.outgoing import AnswerTooLarge, RequestFailed, RequestTimedOut, Unreachable
from bot.steps.call_step import UNDECLARED
from bot.testing.transcript import HandlerStub, HttpStub, KnownNames, ModelStub, StubAnswers, StubDefinitions

MODEL_FAILURES = ("server_error", "quota_exceeded", "model_no_tool_support")
"""The failures of a model that a test may set, by the service's names (spec: Errors)."""

HTTP_FAILURES: dict[str, type[RequestFailed]] = {
    error.outcome: error for error in (RequestTimedOut, Unreachable, AnswerTooLarge)
}
"""The failures of a request that a test may set, by the outcomes of its step."""

_REQUEST = re.compile(r"[A-Z]+ \S+")
_LEAST_STATUS, _MOST_STATUS = 100, 599


def read_stubs(fields: Fields, known: KnownNames) -> StubDefinitions:
    """Read ``handlers``, ``http``, ``models`` (not in an evaluation) and ``random`` of a test."""
    return StubDefinitions(
        _read_answers(fields, "handlers", lambda name, node: _read_result(name, node, known, fields.problems)),
        _read_answers(fields, "http", lambda request, node: _read_http_of(request, node, fields.problems)),
        {} if known.evaluates else _read_answers(fields, "models", lambda _, node: read_model(node, fields.problems)),
        _read_random(fields),
    )


def read_model(node: Node, problems: Problems) -> ModelStub:
    """Read an answer of a model: a text, or a map of `says`, `calls` and `fails`."""
    if not isinstance(node, Map):
        return ModelStub(text_of(node, problems, "model") or "")
    fields = Fields(node, problems, "model")
    text, fails = fields.string("says") or "", fields.choice("fails", MODEL_FAILURES)
    calls = [named_value(item, problems) for item in fields.items("calls")]
    fields.close()
    return ModelStub(text, tuple(call for call in calls if call is not None), fails)


def named_value(node: Node, problems: Problems) -> tuple[str, Mapping[str, Any]] | None:
    """``{leave: tracking}``, or the name of a tool with its arguments."""
    match node:
        case Scalar(text=name):
            return name, {}
        case Map(entries=((Scalar(text="leave"), Scalar(text=name)),)):
            return f"leave_{name}", {}
        case Map(entries=((Scalar(text=name), Map() as arguments),)):
            return name, plain_of(arguments, problems)
    fix = "write the tool's name and its arguments: {orders.find: {number: 1}}"
    problems.add("E601", node.mark, "this is not a call", fix)
    return None


def read_request(node: Node, problems: Problems) -> tuple[str, HttpStub] | None:
    """Read a request and its answer: ``{GET https://api.example/orders/1: {json: {...}}}``."""
    if isinstance(node, Map) and len(node.entries) == 1:
        (request, answer) = node.entries[0]
        found = _read_http_of(request, answer, problems)
        return None if found is None else (request.text, found)
    problems.add(
        "E601", node.mark, "this is not a request with its answer", "write {GET https://api.example: {json: ...}}"
    )
    return None


def _read_answers(fields: Fields, key: str, read: Callable[[Scalar, Node], Any | None]) -> dict[str, StubAnswers]:
    """Read a map by what is asked: one answer for every time, or a list with one answer for each time."""
    inner = fields.fields(key)
    found: dict[str, StubAnswers] = {}
    for name, node in () if inner is None else inner.entries():
        turns = isinstance(node, List)
        answers = [read(name, item) for item in one_or_more(node)]
        found[name.text] = StubAnswers(tuple(answer for answer in answers if answer is not None), turns)
    return found


def _read_result(name: Scalar, node: Node, known: KnownNames, problems: Problems) -> HandlerStub | None:
    spec = known.handlers.get(name.text)
    if spec is None and known.complete:
        fix = did_you_mean(name.text, known.handlers, "declare it in handlers.py")
        problems.add("E501", name.mark, f'no handler "{name.text}"', fix)
        return None
    fields = Fields(node, problems, f'handler "{name.text}"')
    returns = fields.raw("returns")
    fails = fields.choice("fails", _failures(spec)) if spec is not None else fields.string("fails")
    fields.close()
    if fields.has("returns") == fields.has("fails"):
        problems.add(
            "E601",
            node.mark,
            f"{fields.what}: exactly one of returns and fails is needed",
            "write either returns: or fails:",
        )
        return None
    return HandlerStub(None if returns is None else plain_of(returns, problems), fails)


def _failures(spec: HandlerSpec) -> tuple[str, ...]:
    return (*spec.errors, *UNDECLARED)


def _read_http_of(request: Scalar, node: Node, problems: Problems) -> HttpStub | None:
    if _REQUEST.fullmatch(request.text) is None:
        what = f'"{request.text}" is not a request'
        problems.add("E601", request.mark, what, "write its method and address, like GET https://api.example/orders/*")
        return None
    return _read_http(node, problems)


def _read_http(node: Node, problems: Problems) -> HttpStub:
    """Read a status alone, or a map of `status`, `json` or `text`, `headers`; or `fails`."""
    if isinstance(node, Scalar):
        node = Map(node.mark, ((Scalar(node.mark, "status", "status"), node),))
    fields = Fields(node, problems, "http")
    status = fields.integer("status", _LEAST_STATUS, _MOST_STATUS) or 200
    content, text = fields.raw("json"), fields.string("text")
    headers = fields.fields("headers")
    given = () if headers is None else headers.entries()
    fails = fields.choice("fails", HTTP_FAILURES)
    fields.close()
    if content is not None and text is not None:
        problems.add("E601", fields.mark_of("text"), "http: both `json` and `text`", "keep one")
    body = (text or "").encode() if content is None else json.dumps(plain_of(content, problems)).encode()
    kind = "text/plain" if content is None else "application/json"
    told = {name.text.lower(): text_of(value, problems, f"http: headers: {name.text}") or "" for name, value in given}
    return HttpStub(status, body, kind, told, fails)


def _read_random(fields: Fields) -> StubAnswers | None:
    """Read one number for every draw, or a list with one number for each draw."""
    written = fields.raw("random")
    if written is None:
        return None
    numbers = []
    for node in one_or_more(written):
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1:
            numbers.append(float(value))
        else:
            fields.problems.add("E106", node.mark, "random: a number from 0 up to 1 is expected", "write one like 0.25")
    return StubAnswers(tuple(numbers), turns=isinstance(written, List))
