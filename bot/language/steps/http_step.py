"""``http``: a request to a service, sent outside the turn; its answer comes back as an event."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any, Self
from urllib.parse import quote, urlencode

from bot.core.effects import SPARE_SECONDS, HttpRequest
from bot.core.events import CallEnded
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.networks import private_host
from bot.core.values import Media, json_default
from bot.language.expressions.formats import shown
from bot.language.expressions.templates import Expression, Pieces, Template, TemplateFailed, pieces_of
from bot.language.keys.declared_keys import (
    EXPRESSION,
    NAME,
    STRING,
    Form,
    KeySet,
    KeySpec,
    either,
    map_of,
    raw_node,
    read_over,
)
from bot.language.keys.definitions import refuse_defined
from bot.language.keys.fields import Fields, entries_of, name_of, refuse_altered
from bot.language.keys.key_schemas import ANY
from bot.language.source.problems import Problems, did_you_mean
from bot.language.source.yaml_tree import Map, Node, Scalar
from bot.language.steps.attempts import ATTEMPT_KEYS, CACHE_KEY, TRIES_KEY, WITHIN_KEY, Attempts
from bot.language.steps.http_services import HEADERS, HttpService, Named, is_header
from bot.language.steps.message_parts import check_error_names
from bot.language.steps.step_facts import (
    MAY_FAIL,
    DefaultTarget,
    Null,
    Outcome,
    StepFacts,
    StepFailed,
    Used,
    Wait,
    WaitsFor,
    texts_used,
)
from bot.language.steps.step_kind import (
    Awaited,
    LeaveStep,
    ReadContext,
    StepContext,
    StepKind,
    StepResult,
    WaitForEffect,
)
from bot.language.steps.transition import TEXT_ASSIGNMENTS, Assignment, evaluate, templates_in, value_of

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_ADDRESS_START = lazy_pattern(
    r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?=[/?]|\Z)|(?!https?:)([a-z][a-z0-9_]*):(?=/(?!/))"
)
_OWN = "own"  # what a service could be called
_WRITTEN = lazy_pattern(r"[A-Za-z0-9/?:@!$&'()*+,;=._~%-]*")
_VALUE = "\0"  # stands for a value in the address's shape


@immutable
class Address:
    """``GET crm:/orders/{{ id }}``. ``service`` is empty where the address is a whole one."""

    method: str
    service: str
    pieces: Pieces

    def render(self, scope: Mapping[str, Any]) -> str:
        """The address with its values, each quoted: none adds a part to the path or to the query.

        Raises `StepFailed` where a value that is a part of the path is empty, ``.`` or ``..``.
        """
        texts = [piece if isinstance(piece, str) else _quoted(piece, scope) for piece in self.pieces]
        address = "".join(texts)
        for written, part in zip(_path_of(_shape(self.pieces)), _path_of(address), strict=True):
            if _VALUE in written and part in ("", ".", ".."):
                raise StepFailed("mismatch", "a value in the address's path is empty or consists of dots")
        return address

    def uses(self) -> Iterator[Template]:
        """The templates in the address."""
        return (piece for piece in self.pieces if isinstance(piece, Template))


def read_address(fields: Fields, services: Mapping[str, HttpService]) -> Address:
    """Read ``http: GET https://...`` or ``http: POST service:/path``."""
    if isinstance(fields.raw(_HTTP.name), Map):
        fix = "write the method and the address: http: GET https://host/path"
        _HTTP.report(fields, "E106", "http: a text is expected, this is a map", fix)
        return Address("GET", "", ())
    text = _HTTP.read(fields)
    method, _, written = (text or "").strip().partition(" ")
    if text is None:
        return Address("GET", "", ())
    if method not in METHODS:
        fix = did_you_mean(method, METHODS, f"begin with one of {', '.join(METHODS)}")
        if "/" in method:
            fix = f"write the method before the address: GET {method}"
        _HTTP.report(fields, "E109", f'"{method}" is no method', fix)
        return Address("GET", "", ())
    pieces = pieces_of(written.strip(), _HTTP.mark(fields), fields.problems)
    return Address(method, "" if pieces is None else _check_address(fields, pieces, services), pieces or ())


def attempts_at(address: Address, services: Mapping[str, HttpService]) -> Attempts:
    """The settings for attempts of the service that an address belongs to."""
    return services[address.service].attempts if address.service in services else Attempts()


def _check_address(fields: Fields, pieces: Pieces, services: Mapping[str, HttpService]) -> str:
    """Check the constant parts of an address; returns the name of its service, or an empty text."""
    start = _ADDRESS_START.match(_shape(pieces))
    if start is None:
        fix = "write https://host/path, or service:/path with a service of bot.yml; values may stand behind that only"
        _HTTP.report(fields, "E405", "http: this is no address", fix)
    elif not all(_WRITTEN.fullmatch(piece) for piece in pieces if isinstance(piece, str)):
        fix = "percent-encode what is no letter, digit or sign of an address"
        _HTTP.report(fields, "E405", "http: this address has characters that none can have", fix)
    elif start[1] is not None and start[1] not in services:
        fix = did_you_mean(start[1], services, f"add it to bot.yml: http: {{{start[1]}: {{base: https://...}}}}")
        _HTTP.report(fields, "E508", f'http: no service "{start[1]}"', fix)
    elif (host := private_host(_shape(pieces))) is not None:
        fix = f"add a service to bot.yml: http: {{{_OWN}: {{base: {start[0]}, allow_private: true}}}}; then write {_OWN}:/path"
        _HTTP.report(fields, "E510", f"http: {host} is in a private network", fix)
    return "" if start is None else start[1] or ""


def _shape(pieces: Pieces) -> str:
    return "".join(piece if isinstance(piece, str) else _VALUE for piece in pieces)


def _quoted(piece: Template, scope: Mapping[str, Any]) -> str:
    return quote(word(piece.value(scope), "a value in the address"), safe="", errors="replace")


def _path_of(address: str) -> list[str]:
    return address.partition("?")[0].split("/")


OWN_ERRORS = ("timeout", "unreachable", "too_large", "mismatch", "failed", "4xx", "5xx")
ANSWER, STATUS = "answer", "status"
_STATUS = lazy_pattern("[3-5][0-9]{2}")
ANSWER_NAMES = frozenset({ANSWER, STATUS})


@immutable
class Body:
    """The body of a request: ``value`` as JSON, or its names and values as a form."""

    value: Any
    is_form: bool

    @property
    def type(self) -> str:
        """The media type."""
        return "application/x-www-form-urlencoded" if self.is_form else "application/json"

    def render(self, scope: Mapping[str, Any]) -> tuple[str, dict[str, Media]]:
        """The body, and the kept files of a form by name. Raises `StepFailed` for a value that it cannot carry."""
        value = evaluate(self.value, scope)
        if not self.is_form:
            return json_text(value), {}
        files = {name: item for name, item in value.items() if isinstance(item, Media) and item.file is not None}
        return encoded(((name, item) for name, item in value.items() if name not in files), "form"), files


_HTTP = KeySpec("http", STRING, "The method and the address, like GET crm:/orders/{{ number }}.", required=True)
_QUERY = KeySpec("query", TEXT_ASSIGNMENTS, "Parameters that are added to the address as its query.")
_HEADERS = replace(HEADERS, about="The request's headers.")
_JSON = KeySpec("json", raw_node(ANY), "The request's body, as JSON.")
_FORM = KeySpec("form", TEXT_ASSIGNMENTS, "The request's body, as a form.")
Taken = tuple[tuple[Scalar, Expression | None], ...]


def _read_whole(node: Node, problems: Problems, what: str) -> Taken:
    """``save: name``: the whole answer."""
    return ((node, None),) if name_of(node, problems, what) is not None and isinstance(node, Scalar) else ()


def _read_taken(node: Node, problems: Problems, what: str) -> Taken:
    """``save: {name: expression}``: parts of it."""
    entries = entries_of(node, problems, what)
    return tuple((name, EXPRESSION.read(item, problems, f"{what}: {name.text}")) for name, item in entries)


_SAVE: KeySpec[Taken] = KeySpec(
    "save",
    either(Form(NAME.schema, _read_whole, absent=()), map_of(EXPRESSION, _read_taken)),
    "The variable that takes the answer, or several with their parts.",
)
REQUEST = KeySet(_HTTP, _QUERY, _HEADERS, _JSON, _FORM, *ATTEMPT_KEYS)
"""The keys of a request."""


@immutable
class HttpStep(StepKind):
    """A request, how long and how often it is tried, and which variables get which part of the answer.

    ``caught`` are the failures that lead somewhere of their own.
    """

    address: Address
    query: tuple[Assignment, ...]
    headers: Named
    body: Body | None
    within: float
    tries: int
    cache: float
    outputs: Mapping[str, Expression | None]  # by our variables; None: the whole answer
    caught: frozenset[str]
    verb = "http"
    keys = KeySet(*REQUEST, _SAVE)

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``http`` with what goes along, and what becomes of the answer."""
        address = read_address(fields, reading.services)
        service = attempts_at(address, reading.services)
        cache = read_over(CACHE_KEY, fields, service.cache)
        step = cls(
            address,
            _QUERY.read(fields),
            _HEADERS.read(fields),
            _read_body(fields),
            read_over(WITHIN_KEY, fields, service.within),
            read_over(TRIES_KEY, fields, service.tries) or 1,
            cache if address.method == "GET" else 0.0,
            _read_outputs(fields, reading),
            frozenset(reading.errors),
        )
        _check_method(fields, step)
        fix = f"write a status or one of {', '.join(OWN_ERRORS)}, else"
        check_error_names(fields, (*OWN_ERRORS, "3xx"), "a request has no error", fix, _STATUS)
        return step

    def facts(self) -> StepFacts:
        """Return the facts: ``then`` for an answer of 200 to 299, ``errors.else`` for each failure without a name.

        It waits for the answer, or until all tries have failed.
        """
        gives = frozenset(self.outputs)
        return StepFacts(
            waits_for=Wait(WaitsFor.RESULT, timedelta(seconds=self.within * self.tries)),
            outcomes={"then": Outcome(None, DefaultTarget.THEN, known=gives), **MAY_FAIL},
            names_in_errors=ANSWER_NAMES,
            uses=tuple(self.uses()),
            gives=gives,
        )

    def uses(self) -> Iterator[Used]:
        """The values that are put in, and what is taken out of the answer."""
        yield from texts_used(*self.address.uses())
        sent = [item.value for item in self.query] + [text for _, text in self.headers]
        sent += [] if self.body is None else [self.body.value]
        yield from texts_used(*templates_in(sent), null=Null.TAKEN)
        yield from texts_used(*self.outputs.values(), extra=ANSWER_NAMES)

    def enter(self, context: StepContext) -> StepResult:
        """Ask for the request and wait for its answer."""
        return WaitForEffect(effect=self.request(context.scope))

    def request(self, scope: Mapping[str, Any]) -> HttpRequest:
        """The request with these values. Raises `StepFailed` for one that it cannot carry."""
        query = encoded(((item.name, item.evaluate(scope)) for item in self.query), "query")
        address = self.address.render(scope)
        body, files = (None, {}) if self.body is None else self.body.render(scope)
        return HttpRequest(
            self.address.method,
            address + ("" if not query else f"&{query}" if "?" in address else f"?{query}"),
            self._headers(scope),
            body,
            self.within,
            self.within + SPARE_SECONDS,
            self.tries,
            self.cache,
            files,
        )

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """An answer, which is saved, or what went wrong."""
        if not isinstance(event, CallEnded):
            return None
        told = event.value or {}
        known = {ANSWER: told.get(ANSWER), STATUS: told.get(STATUS)}
        if event.outcome != "done":
            raise StepFailed(self._failure(event.outcome), event.detail or event.outcome, known)
        return LeaveStep("then", sets=self._taken({**context.scope, **known}, known), known=known)

    def _headers(self, scope: Mapping[str, Any]) -> dict[str, str]:
        headers = {} if self.body is None else {"Content-Type": self.body.type}
        for name, text in self.headers:
            value = text.value(scope)
            if value is None:
                continue
            headers[name] = word(value, name)
            if not is_header(headers[name]):
                raise StepFailed("mismatch", f"{name}: a header holds one line of ASCII")
        return headers

    def _taken(self, scope: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the answer for our variables."""
        try:
            return {
                ours: known[ANSWER] if part is None else part.evaluate(scope) for ours, part in self.outputs.items()
            }
        except TemplateFailed as failed:
            raise StepFailed("failed", str(failed), known) from failed

    def _failure(self, outcome: str) -> str:
        """The name of a failure: a status by its number where `errors` has it, else like ``4xx``."""
        status = _STATUS.fullmatch(outcome) is not None and outcome not in self.caught
        return f"{outcome[0]}xx" if status else outcome


def _read_body(fields: Fields) -> Body | None:
    if _JSON.written(fields) and _FORM.written(fields):
        _FORM.report(fields, "E121", '"form" beside "json"', "keep one of them")
    node = _JSON.read(fields)
    if node is not None:
        refuse_altered(node, fields.problems)
        return Body(value_of(node, fields.problems), is_form=False)
    form = _FORM.read(fields)
    return Body({item.name: item.value for item in form}, is_form=True) if form else None


def _read_outputs(fields: Fields, reading: ReadContext) -> dict[str, Expression | None]:
    """Which variables take the answer, or a part of it."""
    taken, problems = _SAVE.read(fields), fields.problems
    for name, part in taken:
        defined = refuse_defined(name.text, name.mark, problems.definitions, problems)
        if name.text not in reading.variables and not defined:
            declared = f"{name.text}: {{type: {'object' if part is None else 'text'}}}"
            fix = did_you_mean(name.text, reading.variables, f"declare it under vars: {declared}")
            fields.report("E301", name.mark, f'save: no variable "{name.text}"', fix)
    return {name.text: part for name, part in taken}


def _check_method(fields: Fields, step: HttpStep) -> None:
    """Report keys that have no effect with the request's method."""
    if not step.address.pieces:  # it could not be read
        return
    method = step.address.method
    if method == "GET" and step.body is not None:
        key = _FORM if step.body.is_form else _JSON
        key.report(fields, "E123", f'"{key.name}" means nothing with GET', "use `query`, or another method")
    if method != "GET" and CACHE_KEY.written(fields):
        what = f'"{CACHE_KEY.name}" means nothing with {method}'
        CACHE_KEY.report(fields, "E123", what, "leave it out: only what a GET answers is kept")


def json_text(value: Any) -> str:
    """A value as JSON: times in ISO 8601, durations in seconds. Raises `StepFailed` for what JSON cannot hold."""
    try:
        return json.dumps(value, default=json_default, allow_nan=False)  # ASCII alone: halves of characters go through
    except (ValueError, RecursionError):
        raise StepFailed("mismatch", "a value that has no form in JSON") from None


def word(value: Any, what: str) -> str:
    """One value as a text; null is an empty one. Raises `StepFailed` for a list or a record: ``what`` says where."""
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return shown(value.total_seconds())
        case list() | tuple() | Mapping():
            raise StepFailed("mismatch", f"{what} is one value, not several")
    return shown(value)


def encoded(pairs: Iterable[tuple[str, Any]], what: str) -> str:
    """Names and values as a query or a form has them: null is left out, a list is its name several times."""
    words = []
    for name, value in pairs:
        several = value if isinstance(value, list | tuple) else () if value is None else (value,)
        words += [(name, word(item, f'{what}: "{name}"')) for item in several]
    return urlencode(words, errors="replace")
