"""The stubs of a test: they replace handlers, services, models and random numbers, and record every call."""

import functools
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from bot.checker.exploring.moves import ModelResult
from bot.core.effects import HttpRequest
from bot.core.immutable import immutable
from bot.language.python.annotations import Results
from bot.language.python.decorators import HandlerSpec
from bot.language.python.gathered import Extensions
from bot.language.python.verbs import VerbSpec
from bot.language.steps.mcp_servers import ServerTool
from bot.loading.program import Program
from bot.services.http_client import Response
from bot.services.request_errors import NotAllowed
from bot.testing.conversations import stub_reader
from bot.testing.conversations.stub_reader import AND_SO_ON, HTTP_FAILURES
from bot.testing.conversations.transcript import HandlerStub, HttpStub, StubAnswers, StubDefinitions, is_meant
from bot.testing.emulator.completion import ERRORS, ErrorAnswer, ModelAnswer, failure
from bot.testing.emulator.completion.completion_api import echo
from bot.testing.emulator.completion.completion_requests import asked


class _TimedOut(Exception):
    """A handler takes too long."""


class _Mismatched(Exception):
    """A handler's arguments, or its result, do not fit."""


class _Undeclared(Exception):
    """An error that a handler does not declare."""


@immutable
class ObservedCall:
    """A call of a handler, or a request, that the bot has made."""

    name: str
    arguments: Mapping[str, Any]


class Stubs:
    """Answers as the test says. Called from many threads.

    ``calls`` are the calls and requests since the list was cleared last; ``troubles`` are requests that the test does
    not answer.
    """

    def __init__(self, stub_definitions: StubDefinitions) -> None:
        self.calls: list[ObservedCall] = []
        self.troubles: list[str] = []
        self._lock = threading.Lock()
        self._calls = {name: _AnswerQueue(standing) for name, standing in stub_definitions.handlers.items()}
        self._http = {request: _AnswerQueue(standing) for request, standing in stub_definitions.http.items()}
        self._models = {part: _AnswerQueue(standing) for part, standing in stub_definitions.models.items()}
        self._next: deque[tuple[str, HttpStub]] = deque()
        self._next_models: deque[ModelResult] = deque()
        self._meanwhile: deque[Callable[[], None]] = deque()
        self.pass_time: Callable[[timedelta | None], None] = lambda _: None  # None: as much as a model has to answer
        self._random = None if stub_definitions.random is None else _AnswerQueue(stub_definitions.random)
        self._results = Results(Extensions())

    def script_model(self, answer: ModelResult) -> None:
        """Make a model answer this when it is asked next, after the earlier answers."""
        with self._lock:
            self._next_models.append(answer)

    def script_meanwhile(self, happen: Callable[[], None]) -> None:
        """Call ``happen`` during the next call of the bot, before that is answered."""
        with self._lock:
            self._meanwhile.append(happen)

    def script(self, request: str, answer: HttpStub) -> None:
        """Answer the next request of this form, after the earlier ones of this form."""
        with self._lock:
            self._next.append((request, answer))

    @property
    def unasked(self) -> str | None:
        """The stub that the test has set and the bot has not asked for, in words."""
        with self._lock:
            if self._next_models:
                return "the test has more `model` lines than the bot asks the model"
            if self._meanwhile:
                return "the bot calls and asks nothing during which a `meanwhile` line could happen"
            if not self._next:
                return None
            return f"the bot did not send the request {self._next[0][0]}, for which the test has an answer"

    def play(self, program: Program) -> Program:
        """The program with stubs in place of its Python and of random numbers. Every call is recorded."""
        extensions = program.extensions
        self._results = Results(extensions)
        handlers = {name: self._called(spec) for name, spec in extensions.handlers.items()}
        verbs = {name: self._verb(verb) for name, verb in extensions.verbs.items()}
        hooks = {name: replace(hook, call=self._called(hook.call)) for name, hook in extensions.hooks.items()}
        tools = {name: self._called(spec) for name, spec in extensions.tools.items()}
        extensions = replace(extensions, handlers=handlers, verbs=verbs, hooks=hooks, tools=tools)
        library = program.library if self._random is None else program.library.with_draw(self._draw)
        return replace(program, extensions=extensions, library=library)

    def request(self, request: HttpRequest, key: str) -> Response:
        """Answer an `http` step's request. Raises `bot.services.request_errors.RequestFailed`."""
        name = f"{request.method} {request.address}"
        self.interrupt()
        with self._lock:
            self.calls.append(ObservedCall(name, _parts(request)))
            written = next((written for written in self._http if is_meant(written, name)), None)
            answer = self._scripted(name) or (None if written is None else self._http[written].pop())
            if answer is None:
                missing = f"the bot sends {name}, and the test has no answer: write - http: {{{name}: ANSWER}}"
                self.troubles.append(missing if written is None else _exhausted(f"the bot sends {name}", "http"))
                raise NotAllowed(f"{name} is not scripted")
        if answer.fails is not None:
            raise HTTP_FAILURES[answer.fails](f"{answer.fails}, as the test says")
        return Response(answer.status, {"content-type": answer.type, **answer.headers}, answer.body)

    def speak(self, request: dict[str, Any]) -> ModelAnswer | ErrorAnswer:
        """The model's answer: that of a line, else of what stands above all lines, else the question again."""
        question = asked(request)
        with self._lock:
            answer: ModelResult | None = self._next_models.popleft() if self._next_models else None
            if answer is None:
                part = next((part for part in self._models if part.casefold() in question.casefold()), None)
                answer = None if part is None else self._models[part].pop()
                if part is not None and answer is None:
                    self.troubles.append(_exhausted(f'a model is asked "{part}"', "models"))
        self.interrupt()  # the bot may ask again because of it: the next answer is for that question
        return ModelAnswer(echo(request)) if answer is None else spoken(answer, self.pass_time)

    def interrupt(self) -> None:
        """Do the act that the test has for the next call."""
        with self._lock:
            happen = self._meanwhile.popleft() if self._meanwhile else None
        if happen is not None:
            happen()

    def _scripted(self, name: str) -> HttpStub | None:
        """The answer of the first line that fits this request."""
        found = next((line for line in self._next if is_meant(line[0], name)), None)
        if found is None:
            return None
        self._next.remove(found)
        return found[1]

    def _verb(self, verb: VerbSpec) -> VerbSpec:
        return verb if verb.outside is None else replace(verb, outside=self._called(verb.outside))

    def _called(self, spec: HandlerSpec) -> HandlerSpec:
        """A handler whose calls are recorded. A stub answers if the test has one, else the handler itself."""
        turns = self._calls.get(spec.name)
        errors = spec.errors if turns is None else {**spec.errors, "timeout": _TimedOut, "mismatch": _Mismatched}

        @functools.wraps(spec.function)
        def called(**given: Any) -> Any:
            arguments = {name: value for name, value in given.items() if name in spec.parameters}
            result = self._note(ObservedCall(spec.name, arguments), turns)
            if turns is None and isinstance(spec.function, ServerTool):
                self.troubles.append(
                    f"the bot calls {spec.name}, and the test has no answer: write a stub under handlers"
                )
            return spec.function(**given) if turns is None else self._results.of(spec.name, _ended(result, errors))

        providers = spec.providers if turns is None else ()
        return replace(spec, function=called, errors=errors, providers=providers)

    def _note(self, made: ObservedCall, turns: "_AnswerQueue | None") -> HandlerStub | None:
        self.interrupt()
        with self._lock:
            self.calls.append(made)
            result: HandlerStub | None = None if turns is None else turns.pop()
            if turns is not None and result is None:
                self.troubles.append(_exhausted(f'the bot calls "{made.name}"', "handlers"))
            return result

    def _draw(self, key: str) -> float:
        assert self._random is not None
        with self._lock:
            number: float | None = self._random.pop()
            if number is not None:
                return number
            self.troubles.append(_exhausted("the bot draws random numbers", "random"))
            return 0.0


class _AnswerQueue:
    """The answers of one stub: some one after another, then always the same one, if there is one."""

    def __init__(self, standing: StubAnswers) -> None:
        self._then = standing.then
        self._left = deque(standing.first)

    def pop(self) -> Any | None:
        """The next answer; None if there is no other."""
        return self._left.popleft() if self._left else self._then


def _exhausted(what: str, stub: str) -> str:
    """The trouble that a list of answers is too short."""
    return (
        f"{what} more often than the test has answers: add one to `{stub}`, "
        f"or write {AND_SO_ON} behind the last one, which is then always given"
    )


def spoken(answer: ModelResult, pass_time: Callable[[timedelta | None], None]) -> ModelAnswer | ErrorAnswer:
    """The emulated service's answer for a stub. ``pass_time`` skips a time; None: as much as a model has to answer."""
    if answer.after:
        pass_time(answer.after)
    match answer.fails:
        case None:
            return ModelAnswer(answer.text, calls=calls_of(answer))
        case stub_reader.TIMEOUT:
            pass_time(None)
            return ModelAnswer("Too late.")
        case stub_reader.EMPTY:
            return ModelAnswer()
        case stub_reader.BROKEN_OFF:
            return ModelAnswer(answer.text or "Half an answer", cut_after=0)
        case stub_reader.REFUSED_BY_KEY:
            return failure("invalid_request_error", 401)
    return failure(answer.fails, None if answer.fails in ERRORS else 400)


def calls_of(answer: ModelResult) -> list[tuple[str, Mapping[str, Any]]]:
    """A model's calls, by the names by which it knows the tools."""
    return [(name.replace(".", "_"), arguments) for name, arguments in answer.calls]


def _ended(result: HandlerStub | None, errors: Mapping[str, type[BaseException]]) -> Any:
    """The result of a stub. Raises the error that the test says."""
    if result is None:
        raise _Undeclared("the test has no answer")
    if result.fails is None:
        return result.value
    raise _made(errors.get(result.fails, _Undeclared), result.detail)


def _made(error: type[BaseException], detail: str) -> BaseException:
    """An error of a class whose arguments are not known."""
    methods: dict[str, Callable[..., Any]] = {"__init__": lambda self: None, "__str__": lambda self: detail}
    stand_in: BaseException = type(error.__name__, (error,), methods)()
    return stand_in


def _parts(request: HttpRequest) -> dict[str, Any]:
    """The parts of a request that a test can expect: its headers, and its body as a value. A file is its type."""
    query = dict(parse_qsl(urlsplit(request.address).query, keep_blank_values=True))
    parts: dict[str, Any] = {"headers": dict(request.headers), "query": query}
    if request.body is None:
        return parts
    files = {name: media.type for name, media in request.files.items()}
    try:
        return parts | {"json": json.loads(request.body)}
    except ValueError:
        return parts | {"form": dict(parse_qsl(request.body)) | files}
