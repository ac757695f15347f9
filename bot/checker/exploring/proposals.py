"""Proposals for the next move: of contacts, time and programs, or a result of a handler, a service or a model."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import chain, islice
from json import dumps
from typing import Any

from bot.checker.exploring.examples import NO_EXAMPLES, Examples, FlowReads
from bot.checker.exploring.explorer import ExploredState
from bot.checker.exploring.moves import (
    EffectResult,
    EventMove,
    FileResult,
    HandlerResult,
    HttpResult,
    InputMove,
    ModelResult,
    Move,
    RefusalMove,
    SendMove,
    SignalMove,
    StartMove,
    TapMove,
    WaitMove,
    WriteMove,
    once,
)
from bot.checker.exploring.sample_values import (
    NAME,
    lengthened,
    sample_texts,
    value_for_schema,
    values_for_annotation,
    values_for_variable,
)
from bot.checker.graph import Graph, Opening
from bot.checker.pattern_texts import text_matching
from bot.core.effects import PASSING, AskModel, Call, Fetch, HttpRequest
from bot.core.errors import BotError
from bot.core.events import TimeReached
from bot.core.session import Frame
from bot.core.values import Media
from bot.core.waits import ForEffect
from bot.engine.turn_context import TurnContext
from bot.language.answers.topics import EXAMPLES
from bot.language.flow.definition import Flow, Step, uses_of_flow
from bot.language.flow.library import Library
from bot.language.steps.call_step import UNDECLARED
from bot.language.steps.step_kind import Reply, ReplyId
from bot.language.steps.write_step import WriteStep
from bot.language.types.structured_types import AnswerVariable, FilesVariable, LocationVariable, MediaVariable
from bot.language.types.type_registry import Answer as Written
from bot.language.types.type_registry import Variable

JUNK = "What is all this about?"
"""A text that only a question for any text accepts as an answer."""

LONG = timedelta(hours=25)
"""A silence after which the window is closed."""

SOON = timedelta(minutes=1)
"""The time before the end of a wait at which a person just acts in time."""

_KIND = ("message", "kind")  # only by this can a flow tell a voice note from a text
_VOICE_NOTE = Reply(media=Media("audio", "https://files.example/audio"))
_MOST_ANSWERS = 12  # texts that are tried for one variable


class Proposals:
    """Proposes moves for a state of a conversation. ``large``: also values of the largest size."""

    def __init__(self, graph: Graph, examples: Examples = NO_EXAMPLES, *, large: bool = False) -> None:
        library = self._library = graph.library
        self._by_programs = {root.place[0] for root in graph.roots if root.opening is Opening.PROGRAM}
        self._examples = examples
        self._large = large
        self._fit: dict[tuple[Any, ...], tuple[str, ...]] = {}  # by all that the result depends on
        self._reads = {name: FlowReads(flow, library) for name, flow in library.flows.items()}
        self._responses = ResultProposals(library, self._reads, examples, large=large)
        steps = (step for flow in library.flows.values() for step in flow.steps.values())
        texts = (used.text for flow in library.flows.values() for used in uses_of_flow(flow))
        self._tells_voice = library.bot.transcription is not None and any(_KIND in text.paths for text in texts)
        self._refusable = any(step.refusal is not None for step in steps)

    def moves(self, state: ExploredState) -> list[Move]:
        """All moves, each once; the likely ones come first."""
        return once(self._acts(state) if state.awaited is None else self._responses.to(state))

    def _acts(self, state: ExploredState) -> Iterator[InputMove]:
        frame = state.frame
        if state.session.agent is not None:
            yield EventMove("conversation.resolved")
        elif frame is None:
            for flow in self._library.flows.values():
                yield from self._starting(flow)
            yield from (WriteMove(word.text) for word in self._library.bot.words.values())
            yield from self._examples.starts
            yield WriteMove(JUNK)
            yield SendMove("image")
        else:
            yield from self._at_step(state, frame)
        if state.session.agent is None:
            yield from self._later_taps(state)
        yield from self._waits(state, frame)
        if self._refusable and not state.next_send_refused:
            yield RefusalMove()

    def _waits(self, state: ExploredState, frame: Frame | None) -> Iterator[InputMove]:
        due = state.wake_at
        if due is not None:
            yield WaitMove(due - state.now)
            if (
                frame is not None
                and self._library.flows[frame.flow].steps[frame.step].facts.ignores_messages
                and due - state.now > SOON
            ):
                yield WaitMove(due - state.now - SOON)  # a person may be just in time
        if due is None or due - state.now > LONG:
            yield WaitMove(LONG)

    # -- in no flow --------------------------------------------------------------------------------------------------

    def _starting(self, flow: Flow) -> Iterator[InputMove]:
        start = flow.trigger
        if flow.name in self._by_programs:
            yield StartMove(flow.name)
        if start is None:
            return
        yield from (WriteMove(text) for text, _ in start.words[:1])
        yield from (WriteMove(EXAMPLES[topic]) for topic in start.topics)
        if start.pattern is not None:
            fitting = (text for text in self._examples.texts if start.pattern.fullmatch(text))
            yield from (WriteMove(text) for text in islice(fitting, 2))
            yield from (WriteMove(text) for text in text_matching(start.pattern.pattern))
        yield from (EventMove(event) for event in start.events if not event.startswith("message.in"))

    # -- in a flow ---------------------------------------------------------------------------------------------------

    def _at_step(self, state: ExploredState, frame: Frame) -> Iterator[InputMove]:
        flow = self._library.flows[frame.flow]
        step = flow.steps[frame.step]
        yield from self._signals(state, step)
        if step.facts.ignores_messages:
            yield EventMove("conversation.resolved")
            yield EventMove("conversation.assigned")  # the agent keeps the conversation: its time-outs stop
            return
        if step.facts.waits:
            yield from self._taps(state, frame)
            answers = list(self._answers_of(state, flow, step))
            yield from answers
            if self._tells_voice and not step.kind.takes_audio(self._turn_context(state).step_context(), _VOICE_NOTE):
                written = (move for move in answers if isinstance(move, WriteMove))
                yield from (WriteMove(move.text, voice=True) for move in islice(written, 1))
        if step.facts.pauses:
            yield from (WriteMove(word.text) for word in self._words_of(state, flow, step))
            yield from self._interrupting(flow)

    def _signals(self, state: ExploredState, step: Step) -> Iterator[SignalMove]:
        """The signals that the step accepts, each with several samples of its data."""
        for name in step.signals:
            declared = self._library.bot.signals[name]
            local = state.local(self._library.bot.timezone)
            samples = {field: list(islice(sample_texts(variable, local), 3)) for field, variable in declared.items()}
            for number in range(max(map(len, samples.values()), default=1)):
                yield SignalMove(
                    name, {field: texts[min(number, len(texts) - 1)] for field, texts in samples.items() if texts}
                )

    def _later_taps(self, state: ExploredState) -> Iterator[InputMove]:
        """The buttons of steps that do not wait, as long as a tap on them counts."""
        sent = [each.frames[-1] for each in state.session.valid_replies]
        later = {each.visit for each in sent if self._library.flows[each.flow].steps[each.step].facts.tapped_later}
        for option in state.options if later else ():
            tap = ReplyId.parse(option.reply)
            if tap is not None and tap.visit in later:
                yield TapMove(option.reply, option.title, option.picked)

    def _taps(self, state: ExploredState, frame: Frame) -> Iterator[InputMove]:
        """The options of the question that waits, each title once, as the newest message shows it."""
        newest = {option.title: option for option in state.options}
        for option in newest.values():
            tap = ReplyId.parse(option.reply)
            if tap is not None and (tap.flow, tap.step, tap.visit) == (frame.flow, frame.step, frame.visit):
                yield TapMove(option.reply, option.title, option.picked)

    def _answers_of(self, state: ExploredState, flow: Flow, step: Step) -> Iterator[InputMove]:
        """Answers to a question, in writing and by its other means; and a text that is no answer."""
        shown = {option.title for option in state.options}
        owners = {answer.owner: answer.text for answer in step.facts.answers if answer.owner not in shown}
        yield from (WriteMove(text) for text in owners.values())
        variable = flow.saved_by(step)
        match variable:
            case AnswerVariable(accepts=accepts):
                yield from (WriteMove("Ann") if kind == "text" else SendMove(kind) for kind in accepts)
            case MediaVariable(kinds=kinds) | FilesVariable(kinds=kinds):
                yield from map(SendMove, kinds)
            case LocationVariable():
                yield SendMove("location")
            case None:
                yield WriteMove("Ann")
            case _:
                yield from map(WriteMove, self._fitting(state, flow, variable))
        yield WriteMove(JUNK)
        yield SendMove("sticker")

    def _turn_context(self, state: ExploredState) -> TurnContext:
        return TurnContext(self._library, state.session, TimeReached("", state.session.contact, state.now))

    def _fitting(self, state: ExploredState, flow: Flow, variable: Variable) -> tuple[str, ...]:
        """Texts that the step accepts for a variable: its bounds, constants of conditions, and texts of tests."""
        assert state.frame is not None
        key = (flow.name, state.frame.step, state.now.date(), repr(self._library.values_of(state.frame, state.session)))
        if key not in self._fit:
            constants = map(str, self._reads[flow.name].constants(variable.name))
            samples = sample_texts(variable, state.local(self._library.bot.timezone), large=self._large)
            texts = dict.fromkeys([*samples, *constants, *self._examples.texts])
            context = self._turn_context(state)
            fitting = (text for text in texts if accepts_text(context, text))
            self._fit[key] = tuple(islice(fitting, _MOST_ANSWERS))
        return self._fit[key]

    def _words_of(self, state: ExploredState, flow: Flow, step: Step) -> Iterator[Any]:
        yield from self._library.bot.words.values()
        yield from flow.words.values()
        for each in (step, *self._turn_context(state).running_steps):
            yield from each.options.words.values()

    def _interrupting(self, flow: Flow) -> Iterator[InputMove]:
        if flow.interrupted is not None:
            others = (other for other in self._library.flows.values() if other.name != flow.name)
            yield from (move for other in others if other.trigger is not None for move in self._starting(other))


def accepts_text(context: TurnContext, text: str) -> bool:
    """True if the step at which a turn begins accepts a text as an answer."""
    try:
        return (
            context.known_step is not None and context.step.kind.answer(context.step_context(), Reply(text)) is not None
        )
    except BotError:
        return False


_STATUSES = (404, 400, 500)
_HTTP_FAILURES = ("timeout", "unreachable", "too_large")
_MODEL_FAILURES = ("server_error", "quota_exceeded")
_MOST_VALUES = 12  # that a handler may return


class ResultProposals:
    """Proposes results of the effect that a conversation waits for."""

    def __init__(self, library: Library, reads: Mapping[str, FlowReads], examples: Examples, *, large: bool) -> None:
        self._library = library
        self._reads = reads
        self._examples = examples
        self._large = large

    def to(self, state: ExploredState) -> Iterator[EffectResult]:
        """The possible results of an effect."""
        assert state.awaited is not None and state.frame is not None
        flow = self._library.flows[state.frame.flow]
        step = flow.steps[state.frame.step]
        match state.awaited[1]:
            case Call() as call:
                yield from self._returned(call, state, flow, step)
            case HttpRequest() as request:
                yield from self._responded(request, flow, step)
            case AskModel() as complete:
                yield from self._spoken(complete, state, flow, step)
            case Fetch():
                yield FileResult()

    def _returned(self, call: Call, state: ExploredState, flow: Flow, step: Step) -> Iterator[EffectResult]:
        name = call.handler
        yield from self._examples.returns.get(name, ())
        values = list(self._values(name, state, flow, step))
        longer = [lengthened(value) for value in values] if self._large else []
        yield from (HandlerResult(name, value) for value in (*values, *longer))
        spec = self._examples.extensions.calls.get(name)
        declared = () if spec is None else spec.errors
        for error in dict.fromkeys([*_errors_of(step), *declared, *UNDECLARED]):
            if not (error == "error" and call.tries > 1):  # it would be called again a little later
                yield HandlerResult(name, fails=error)

    def _values(self, name: str, state: ExploredState, flow: Flow, step: Step) -> Iterator[Any]:
        """The values that a handler may return: by its annotation, else by the variable that gets it."""
        spec, read, saved = self._examples.extensions.calls.get(name), self._reads[flow.name], step.options.save or ""
        now = state.local(self._library.bot.timezone)
        annotated = () if spec is None else values_for_annotation(spec.returns, now, read.compared, saved)
        values = [_filled(each, read.shape(saved)) for each in islice(annotated, _MOST_VALUES)]
        says = any(each != [] for each in values)  # a plain `list` does not say what is in it
        yield from values if says else values_for_variable(flow.variables.get(saved), now, read.shape(saved))

    def _responded(self, request: HttpRequest, flow: Flow, step: Step) -> Iterator[EffectResult]:
        """The answers of a service, except those after which the request would be repeated a little later."""
        found = self._responses(request, flow, step)
        return found if request.tries == 1 else (answer for answer in found if not _passes(answer))

    def _responses(self, request: HttpRequest, flow: Flow, step: Step) -> Iterator[HttpResult]:
        name = f"{request.method} {request.address}"
        hinted = self._examples.responds(name)
        yield from hinted
        body = self._body(flow, step)
        yield from [HttpResult(name, json=lengthened(body))] if self._large and body else []
        yield HttpResult(name, json=body or None)
        nulls = dict.fromkeys(body) if isinstance(body, dict) else {}
        yield from [HttpResult(name, json=nulls)] if nulls else []
        statuses = [int(error.replace("xx", "00")) for error in _errors_of(step) if error[0].isdigit()]
        yield from (HttpResult(name, status, json=body or None) for status in statuses)
        yield from (HttpResult(name, status) for status in _STATUSES)
        yield from (HttpResult(name, fails=failure) for failure in _HTTP_FAILURES)

    def _body(self, flow: Flow, step: Step) -> Any:
        """A body with all fields that the step reads from it, and the flow of the variables that get them."""
        read = self._reads[flow.name]
        body = dict(read.shape("answer"))
        for name in sorted(step.facts.gives & flow.variables.keys()):
            shape, listed = read.shape(name), flow.variables[name].type == "list"
            if name in body:
                body[name] = [shape or NAME] if listed else shape or body[name]
            elif listed and not body:
                return [shape or NAME]
            else:
                body |= shape
        return body

    def _spoken(self, complete: AskModel, state: ExploredState, flow: Flow, step: Step) -> Iterator[EffectResult]:
        exits = [outcome.removeprefix("exits.") for outcome in step.transitions if outcome.startswith("exits.")]
        tools = {tool["function"]["name"]: tool["function"] for tool in complete.tools}
        for name in exits:
            called = f"leave_{name}"
            if called in tools:
                yield ModelResult(calls=((called, self._arguments(tools[called], state, flow)),))
            elif not tools:
                yield ModelResult(name)
        slots = self._slots_found(state)
        if slots:
            yield ModelResult(dumps(slots))
        if isinstance(step.kind, WriteStep):
            now = state.local(self._library.bot.timezone)
            for value in values_for_variable(step.kind.variable, now, {}):
                yield ModelResult(value if isinstance(value, str) else dumps(value))
        yield from (known for known in self._examples.speaks if all(name in tools for name, _ in known.calls))
        yield ModelResult("All right.")
        for name, tool in tools.items():
            if not name.startswith("leave_"):
                yield ModelResult("One moment.", ((name, self._arguments(tool, state, flow)),))
        yield from (ModelResult(fails=failure) for failure in _MODEL_FAILURES)

    def _slots_found(self, state: ExploredState) -> Mapping[str, str]:
        """Answers to the slots of the flow below, if a model is asked to find them in a message; else empty."""
        assert state.frame is not None
        waits = state.frame.waits
        questions = waits.about.questions if isinstance(waits, ForEffect) and waits.about is not None else ()
        return {name: text for name in questions if (text := self._answer_to(state, name)) is not None}

    def _answer_to(self, state: ExploredState, question: str) -> str | None:
        """A text that a question of the flow below takes: one of its choices, else a sample of its variable."""
        flow, now = self._library.flows[state.session.frames[-2].flow], state.local(self._library.bot.timezone)
        step = flow.steps[question]
        variable = flow.saved_by(step)
        chosen = (answer.text for answer in step.facts.answers if answer.outcome != "skip")
        samples = (
            () if variable is None else (text for text in sample_texts(variable, now) if _fits(variable, text, now))
        )
        return next(chain(chosen, samples), None)

    def _arguments(self, tool: Mapping[str, Any], state: ExploredState, flow: Flow) -> Mapping[str, Any]:
        """Arguments that fit a tool, from the examples or from variables of the same names."""
        parameters, now = tool.get("parameters", {}), state.local(self._library.bot.timezone)
        return {
            name: self._argument(flow.variables.get(name), schema, parameters.get("$defs", {}), now)
            for name, schema in parameters.get("properties", {}).items()
        }

    def _argument(
        self, variable: Variable | None, schema: Mapping[str, Any], named: Mapping[str, Any], now: datetime
    ) -> Any:
        if variable is not None and schema.get("type") == "string" and "format" not in schema:
            texts = (*sample_texts(variable, now), *self._examples.texts)
            return next((text for text in texts if _fits(variable, text, now)), "x")
        return value_for_schema(schema, named, now)


def _filled(value: Any, shape: Mapping[str, Any]) -> Any:
    """The value with ``shape`` in place of an empty map, also of one in a list: `[{}]` -> `[shape]`."""
    if isinstance(value, list):
        return [_filled(item, shape) for item in value]
    return dict(shape) if value == {} else value


def _errors_of(step: Step) -> list[str]:
    """The failures that have a transition of their own, except those of the step's own texts and values."""
    named = (outcome.removeprefix("errors.") for outcome in step.transitions if outcome.startswith("errors."))
    return [error for error in named if error not in ("else", "failed")]


def _passes(answer: HttpResult) -> bool:
    """True if a request is repeated after such an answer."""
    return answer.status in PASSING or answer.status >= 500 or answer.fails not in (None, "too_large")


def _fits(variable: Variable, text: str, now: datetime) -> bool:
    try:
        variable.coerce(variable.accept(Written(text), now), now)
    except BotError:
        return False
    return True
