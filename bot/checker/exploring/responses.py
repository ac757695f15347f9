"""What the world may answer to what a bot asks: handlers, services and models, as tests and the flows tell of them."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from bot.checker.exploring.answers import Answer, Keeps, Responds, Returns, Speaks
from bot.checker.exploring.hints import NO_HINTS, Hints, Read
from bot.checker.exploring.samples import NAME, answers_to, lengthened, value_by, values_for, values_of
from bot.checker.exploring.state import State
from bot.core.effects import Call, Complete, Fetch, HttpRequest
from bot.core.errors import BotError
from bot.flow.definition import Flow, Step
from bot.flow.library import Library
from bot.steps.call import UNDECLARED
from bot.types.type_registry import Answer as Written
from bot.types.type_registry import Variable

_STATUSES = (404, 400, 500)
_PASSING = (408, 425, 429)
_HTTP_FAILURES = ("timeout", "unreachable", "too_large")
_MODEL_FAILURES = ("server_error", "quota_exceeded")
_MOST_VALUES = 12  # that a handler may return


class Responses:
    """What the world may answer at each state of a bot's conversations."""

    def __init__(
        self, library: Library, reads: Mapping[str, Read], hints: Hints = NO_HINTS, *, large: bool = False
    ) -> None:
        self._library = library
        self._reads = reads
        self._hints = hints
        self._large = large

    def to(self, state: State) -> Iterator[Answer]:
        """What may be answered to what a conversation waits for."""
        assert state.awaited is not None and state.frame is not None
        flow = self._library.flows[state.frame.flow]
        step = flow.steps[state.frame.step]
        match state.awaited[1]:
            case Call() as call:
                yield from self._returned(call, state, flow, step)
            case HttpRequest() as request:
                yield from self._responded(request, flow, step)
            case Complete() as complete:
                yield from self._spoken(complete, state, flow, step)
            case Fetch():
                yield Keeps()

    def _returned(self, call: Call, state: State, flow: Flow, step: Step) -> Iterator[Answer]:
        name = call.handler
        yield from self._hints.returns.get(name, ())
        values = list(self._values(name, state, flow, step))
        longer = [lengthened(value) for value in values] if self._large else []
        yield from (Returns(name, value) for value in (*values, *longer))
        spec = self._hints.extensions.calls.get(name)
        declared = () if spec is None else spec.errors
        for error in dict.fromkeys([*_errors_of(step), *declared, *UNDECLARED]):
            if not (error == "error" and call.tries > 1):  # it would be called again a little later
                yield Returns(name, fails=error)

    def _values(self, name: str, state: State, flow: Flow, step: Step) -> Iterator[Any]:
        """What a handler may return: by its annotation, else by the variable that takes it."""
        spec, read, saved = self._hints.extensions.calls.get(name), self._reads[flow.name], step.options.save or ""
        now = state.local(self._library.bot.timezone)
        annotated = () if spec is None else values_of(spec.returns, now, read.compared, saved)
        values = [dict(read.shape(saved)) if each == {} else each for each in islice(annotated, _MOST_VALUES)]
        yield from values or values_for(flow.variables.get(saved), now, read.shape(saved))

    def _responded(self, request: HttpRequest, flow: Flow, step: Step) -> Iterator[Answer]:
        """What a service answers; but nothing after which it would be asked again a little later."""
        found = self._responses(request, flow, step)
        return found if request.tries == 1 else (answer for answer in found if not _passes(answer))

    def _responses(self, request: HttpRequest, flow: Flow, step: Step) -> Iterator[Responds]:
        name = f"{request.method} {request.address}"
        hinted = self._hints.responds(name)
        yield from hinted
        body = self._body(flow, step)
        yield from [Responds(name, json=lengthened(body))] if self._large and body else []
        yield Responds(name, json=body or None)
        statuses = [int(error.replace("xx", "00")) for error in _errors_of(step) if error[0].isdigit()]
        yield from (Responds(name, status, json=body or None) for status in statuses)
        yield from (Responds(name, status) for status in _STATUSES)
        yield from (Responds(name, fails=failure) for failure in _HTTP_FAILURES)

    def _body(self, flow: Flow, step: Step) -> Any:
        """An answer with all that the step reads of it, and the flow of the variables that take it."""
        read = self._reads[flow.name]
        body = dict(read.shape("answer"))
        for name in sorted(step.kind.gives & flow.variables.keys()):
            shape, listed = read.shape(name), flow.variables[name].type == "list"
            if name in body:
                body[name] = [shape or NAME] if listed else shape or body[name]
            elif listed and not body:
                return [shape or NAME]
            else:
                body |= shape
        return body

    def _spoken(self, complete: Complete, state: State, flow: Flow, step: Step) -> Iterator[Answer]:
        exits = [outcome.removeprefix("exits.") for outcome in step.transitions if outcome.startswith("exits.")]
        tools = {tool["function"]["name"]: tool["function"] for tool in complete.tools}
        for name in exits:
            called = f"leave_{name}"
            if called in tools:
                yield Speaks(calls=((called, self._arguments(tools[called], state, flow)),))
            elif not tools:
                yield Speaks(name)
        yield from (known for known in self._hints.speaks if all(name in tools for name, _ in known.calls))
        yield Speaks("All right.")
        for name, tool in tools.items():
            if not name.startswith("leave_"):
                yield Speaks("One moment.", ((name, self._arguments(tool, state, flow)),))
        yield from (Speaks(fails=failure) for failure in _MODEL_FAILURES)

    def _arguments(self, tool: Mapping[str, Any], state: State, flow: Flow) -> Mapping[str, Any]:
        """Arguments that fit a tool, from the hints or the variables of the same names."""
        parameters, now = tool.get("parameters", {}), state.local(self._library.bot.timezone)
        return {
            name: self._argument(flow.variables.get(name), schema, parameters.get("$defs", {}), now)
            for name, schema in parameters.get("properties", {}).items()
        }

    def _argument(
        self, variable: Variable | None, schema: Mapping[str, Any], named: Mapping[str, Any], now: datetime
    ) -> Any:
        if variable is not None and schema.get("type") == "string" and "format" not in schema:
            texts = (*answers_to(variable, now), *self._hints.texts)
            return next((text for text in texts if _fits(variable, text, now)), "x")
        return value_by(schema, named, now)


def _errors_of(step: Step) -> list[str]:
    """The failures that lead somewhere by their names, but for those of the step's own texts and values."""
    named = (outcome.removeprefix("errors.") for outcome in step.transitions if outcome.startswith("errors."))
    return [error for error in named if error not in ("else", "failed")]


def _passes(answer: Responds) -> bool:
    """Whether a service is asked again after such an answer, where it may be."""
    return answer.status in _PASSING or answer.status >= 500 or answer.fails not in (None, "too_large")


def _fits(variable: Variable, text: str, now: datetime) -> bool:
    try:
        variable.coerce(variable.accept(Written(text), now), now)
    except BotError:
        return False
    return True
