"""The attack suite: in each attack a new contact has a conversation with a running engine."""

import json
import logging
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Self

from bot.checker.exploring.examples import Examples
from bot.checker.exploring.moves import (
    PLACE,
    EventMove,
    HttpResult,
    ModelResult,
    SendMove,
    SignalMove,
    StartMove,
    TapMove,
    WaitMove,
    WriteMove,
    move_line,
)
from bot.checker.exploring.sample_values import values_for_annotation
from bot.core.clock import MovableClock
from bot.core.effects import HttpRequest
from bot.core.immutable import immutable
from bot.core.text import with_texts
from bot.language.flow.documents import FILES, Source
from bot.language.python.decorators import HandlerSpec
from bot.language.steps.ai_exchange import Exchange
from bot.language.steps.ai_step import AiStep
from bot.language.steps.brief import asks_what_to_search
from bot.language.steps.step_options import LONGEST_GATHER
from bot.loading.folder import Folder
from bot.loading.program import Program, load_program
from bot.services.http_client import Response
from bot.testing.conversations.attack_catalogue import ATTACKS, SECRET, Attack
from bot.testing.conversations.attack_checks import AttackObservation, Violation, findings
from bot.testing.conversations.attack_conversation import (
    ABOUT,
    AttackImpossible,
    AttackPlan,
    MessageBurst,
    PictureMessage,
    ReachedTarget,
    ScriptedMove,
    instruction_of,
    plan_of,
)
from bot.testing.conversations.attack_target import HARMLESS, AttackTarget, RouteFinder, targets
from bot.testing.conversations.attack_weak_points import SAID, shown_by
from bot.testing.conversations.hostile_model import HostileModel, Prompt
from bot.testing.conversations.model_sources import AnswerSource, ModelProxy, ModelUnavailable
from bot.testing.conversations.stubs import Stubs, calls_of
from bot.testing.conversations.transcript import HandlerStub, HttpStub, StubAnswers, StubDefinitions
from bot.testing.conversations.transcript_reader import NOW
from bot.testing.emulator.completion import ModelAnswer, failure
from bot.testing.emulator.completion.completion_api import Item, Speaker
from bot.testing.simulation.phone import ShownMessage
from bot.testing.simulation.simulation import Simulation

HELLO = "Hello?"
SOMETHING_ELSE = "What do you mean by that?"
_MOST_CONSENTS = 6
_RETRIES = timedelta(minutes=3)  # in addition to the time that an answer may take


@immutable
class AttackResult:
    """An attack on a step and its outcome: ``findings`` are broken promises, and ``shows`` the weak points of the bot.
    ``conversation`` is what was done and sent. ``missed`` says why the attack was not possible.
    """

    attack: Attack
    channel: str
    target: AttackTarget
    findings: tuple[Violation, ...] = ()
    shows: tuple[Violation, ...] = ()
    conversation: tuple[tuple[str, str], ...] = ()
    missed: str | None = None

    @property
    def name(self) -> str:
        """``link by name``: the attack, and the channel of its instruction."""
        return self.attack.name if self.attack.instruction is None else f"{self.attack.name} by {self.channel}"


class AttackSuite:
    """All attacks on one bot.

    The same bot, examples and seed give the same results, unless a real model (``source``) answers.
    """

    def __init__(
        self, folder: Folder, program: Program, examples: Examples, seed: int, source: AnswerSource | None = None
    ) -> None:
        self.targets = targets(program.library)
        self._source = source
        self._folder = folder
        self._program = program
        self._seed = seed
        self._routes = RouteFinder(program, examples)

    def run(self, name: str = "") -> Iterator[AttackResult]:
        """Try each attack that has ``name`` in its own name, on each step that asks a model.

        A real model is tried with the attacks that have an instruction. Raises
        `bot.testing.conversations.model_sources.EvaluationStopped` if it cannot be asked.
        """
        for target in self.targets:
            chosen = [tried for tried in _on(target) if name.casefold() in tried.name]
            if self._source is not None:
                chosen = [tried for tried in chosen if tried.attack.instruction is not None]
            moves = self._routes.to(target) if chosen else None
            if moves is None:
                why = "no conversation reaches this step: write a test that does"
                yield from (replace(tried, missed=why) for tried in chosen)
                continue
            reached = ReachedTarget(target, moves, self._routes.stays(target, moves))
            with AttackEnvironment(self._folder, self._program, asks_models=self._source is not None) as world:
                yield from (self._try(world, reached, tried) for tried in chosen)

    def _try(self, world: "AttackEnvironment", reached: ReachedTarget, tried: AttackResult) -> AttackResult:
        instruction = instruction_of(tried.attack, tried.channel, tried.target, self._seed)
        try:
            plan = plan_of(self._routes, reached, tried.channel, instruction, tried.attack.says)
            attack_run = _AttackRun(
                world, tried, plan, instruction, None if self._source is None else ModelProxy(self._source)
            )
            seen = attack_run.run()
        except (AttackImpossible, ModelUnavailable) as missed:
            return replace(tried, missed=str(missed))
        broken, shows = findings(seen), shown_by(seen)
        if self._source is not None:  # a real model has really said it
            broken += [each for each in shows if each.check == SAID]
        weak = tuple(each for each in shows if each not in broken)
        return replace(tried, findings=tuple(broken), shows=weak, conversation=tuple(attack_run.lines))


def _on(target: AttackTarget) -> Iterator[AttackResult]:
    """All attacks that suit a step."""
    suiting = (attack for attack in ATTACKS if attack.suits(target))
    return (AttackResult(attack, channel, target) for attack in suiting for channel in attack.channels)


class AttackEnvironment:
    """An engine on which the attacks on one step are made. Use it as a context manager."""

    def __init__(self, folder: Folder, program: Program, *, asks_models: bool) -> None:
        self.folder = folder
        self._program = program
        self._judges = _judges(program)
        self._clock = MovableClock(NOW.replace(tzinfo=program.library.bot.timezone))
        self.stubs = Stubs(StubDefinitions())
        self.contacts: set[str] = set()
        self.simulation = Simulation(program, self._clock, requester=self._request, asks_models=asks_models)

    def __enter__(self) -> Self:
        self.simulation.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.simulation.__exit__(*exc)

    def _request(self, request: HttpRequest, key: str) -> Response:
        return self.stubs.request(request, key)

    def begin(self, stub_definitions: StubDefinitions, facts: str | None = None) -> None:
        """Begin as a new contact, with these stubs. ``facts`` is a text that is added to each document."""
        self.simulation.become_new_contact()
        self.contacts.add(self.simulation.contact)
        program = self._program if facts is None else load_program(_with_facts(self.folder, facts))
        self.stubs = Stubs(stub_definitions)
        self.simulation.swap(self.stubs.play(program))

    def stub_definitions(
        self, target: AttackTarget, plan: AttackPlan, text: str | None = None, error: str | None = None
    ) -> StubDefinitions:
        """The stubs of handlers and services: what the plan says, else samples.

        The step's tools return ``text`` wherever a text fits, or fail with an ``error`` that they do not declare.
        """
        tools = {tool.handler for tool in target.tools}
        answers = {returns.name: HandlerStub(returns.value, returns.fails) for returns in plan.returned}
        for name, spec in self._program.extensions.calls.items():
            if name in tools and error is not None:
                answers[name] = HandlerStub(fails="error", detail=error)
            elif name in tools and text is not None:
                answers[name] = HandlerStub(with_texts(self._sample(spec), lambda _: text))
            elif name not in self._judges:  # handlers that judge texts are not replaced
                answers.setdefault(name, HandlerStub(self._sample(spec)))
        http = HttpStub(200, json.dumps({"text": text or HARMLESS}).encode(), "application/json")
        return StubDefinitions(
            {name: StubAnswers(then=answer) for name, answer in answers.items()}, {"*": StubAnswers(then=http)}
        )

    def play(self, move: ScriptedMove, model: Speaker) -> None:
        """Make a move. The model's answers that the move does not contain come from ``model``."""
        spoken = deque(answer for answer in move.answers if isinstance(answer, ModelResult))
        for answer in move.answers:
            if isinstance(answer, HttpResult):
                self.stubs.script(answer.request, _http(answer))
        answering = _searching(model)
        self.simulation.service.answer_with(lambda body: _spoken(spoken.popleft()) if spoken else answering(body))
        _act(self.simulation, move)

    def another_writes(self, target: AttackTarget, plan: AttackPlan, text: str) -> bool:
        """Have another contact write something harmless at the step. Returns True if the model is asked."""
        asked: list[Mapping[str, Any]] = []

        def model(body: dict[str, Any]) -> Item:
            asked.append(body)
            return ModelAnswer(HARMLESS)

        self.begin(self.stub_definitions(target, plan))
        for move in plan.before:
            self.play(move, model)
        del asked[:]
        self.play(replace(plan.attack, act=WriteMove(text)) if plan.before else plan.attack, model)
        return bool(asked)

    def _sample(self, spec: HandlerSpec) -> Any:
        return next(values_for_annotation(spec.returns, self._clock.now(), lambda name: ()), HARMLESS)


class _AttackRun:
    """The conversation of one attack. ``lines`` are what was done and said so far."""

    def __init__(
        self,
        world: AttackEnvironment,
        tried: AttackResult,
        plan: AttackPlan,
        instruction: str | None,
        proxy: ModelProxy | None,
    ) -> None:
        self.lines: list[tuple[str, str]] = []
        self._world = world
        self._simulation = world.simulation
        self._tried = tried
        self._plan = plan
        self._instruction = instruction
        self._messages: list[ShownMessage] = []
        self._turned = 0  # how many messages the contact had received when the model began to obey
        first = _calls_a_tool if tried.channel == "tool" else None
        self._proxy = proxy
        real = None if proxy is None else proxy.speak
        self._model = HostileModel(tried.target, instruction, tried.attack.script, first, real, self._note)

    def run(self) -> AttackObservation:
        """Run the attack. Raises `AttackImpossible` if the instruction does not reach the model, and the errors of a
        real model's service.
        """
        world, simulation, tried, target = self._world, self._simulation, self._tried, self._tried.target
        secret = SECRET if tried.attack.name == "failing-tool" else ""
        text = self._instruction if tried.channel == "tool" else None
        stub_definitions = world.stub_definitions(target, self._plan, text, secret or None)
        if tried.attack.earlier:
            world.another_writes(target, self._plan, tried.attack.earlier)
        world.begin(stub_definitions, f"{ABOUT}: {self._instruction}" if tried.channel == "facts" else None)
        first = len(simulation.emulator.sent)
        if tried.channel == "name":
            simulation.gateway.happen("contact.created", {"name": self._instruction})
        seen = AttackObservation(
            target, simulation.contact, self._instruction, tried.channel, tried.attack.consents, secret=secret
        )
        with _raised() as seen.raised:
            self._converse(seen)
        if self._proxy is not None and self._proxy.trouble is not None:
            raise self._proxy.trouble
        if not self._model.turned:
            raise AttackImpossible("the injected text does not reach the model there")
        seen.session, seen.requests = simulation.stored.session(), self._model.requests
        seen.said = self._messages[self._turned :]
        seen.tries = self._model.answers
        seen.calls = list(world.stubs.calls)
        seen.outcomes = list(self._outcomes())
        seen.notes = [note for turn in reversed(simulation.stored.trace()) for note in turn.notes]
        seen.dead_letters = [letter.reason for letter in simulation.stored.dead_letters()]
        seen.strangers = {each.to for each in simulation.emulator.sent[first:]} - world.contacts
        seen.ours = _ours(world.folder, stub_definitions)
        failed = any(outcome.startswith("errors.") for outcome in seen.outcomes)
        safe = any(": unsafe: " in note for note in seen.notes)  # then the other contacts are served
        if failed and not safe:
            seen.others_served = world.another_writes(target, self._plan, HELLO)
        return seen

    def _note(self) -> None:
        self._turned = self._simulation.phones.received

    def _converse(self, seen: AttackObservation) -> None:
        world, simulation = self._world, self._simulation
        for move in self._plan.before:
            world.play(move, self._model)
        self._messages += simulation.phones.heard()
        seen.before = simulation.stored.session()
        world.stubs.calls.clear()  # those before the attack
        move, messages, says = self._plan.attack, self._tried.attack.messages, self._tried.attack.says
        seen.floods = messages > 1
        self._play(
            seen, move if messages == 1 else ScriptedMove(MessageBurst(tuple(f"{says} {n}" for n in range(messages))))
        )
        for text in self._tried.attack.follows:
            if self._is_here():
                self._play(seen, ScriptedMove(WriteMove(text)))
        for _ in range(_MOST_CONSENTS):
            if self._is_asked():
                self._play(seen, ScriptedMove(WriteMove("yes" if self._tried.attack.consents else SOMETHING_ELSE)))

    def _play(self, seen: AttackObservation, move: ScriptedMove) -> None:
        """Play a move of the contact, and note the outcome."""
        simulation, asked = self._simulation, len(self._model.requests)
        self.lines.append(_in_words(move))
        if isinstance(move.act, MessageBurst):
            self._flood(move.act)
        else:
            self._world.play(move, self._model)
        frame = simulation.stored.session().frame
        if simulation.stored.session().gathers:
            simulation.wait(LONGEST_GATHER)
            frame = simulation.stored.session().frame
        if frame is not None and frame.awaited_effect is not None:  # a failed request is repeated a little later
            simulation.wait(timedelta(seconds=_within(self._tried.target)) + _RETRIES)
        heard = simulation.phones.heard()
        self._messages += heard
        self.lines += [("bot", message.text) for message in heard]
        seen.answers.append(len(heard))
        seen.rounds.append(len(self._model.requests) - asked)

    def _flood(self, burst: MessageBurst) -> None:
        """Send all messages before the model answers the first."""
        self._model.may_go_on.clear()
        self._simulation.service.answer_with(_searching(self._model))
        self._simulation.flood(burst.texts)
        self._model.may_go_on.set()
        self._simulation.settle()

    def _is_here(self) -> bool:
        """True if the contact is at the step."""
        frame = self._simulation.stored.session().frame
        return frame is not None and self._tried.target.is_of(frame.flow, frame.step)

    def _is_asked(self) -> bool:
        """True if the contact is asked for consent."""
        frame, talks = self._simulation.stored.session().frame, self._tried.target.brief is not None
        here = talks and self._is_here()
        return here and frame is not None and Exchange.of(frame.step_state).asking is not None

    def _outcomes(self) -> Iterator[str]:
        for turn in reversed(self._simulation.stored.trace()):
            for step in turn.steps:
                if self._tried.target.is_of(step["flow"], step["step"]) and step["outcome"]:
                    yield str(step["outcome"])


def _calls_a_tool(prompt: Prompt) -> Iterator[Item]:
    """Ask for the tool whose result has the instruction."""
    yield ModelAnswer(calls=[prompt.call(prompt.target.plain_tools[0])])


def _act(simulation: Simulation, move: ScriptedMove) -> None:
    match move.act:
        case WriteMove(text, voice):
            (simulation.speak if voice else simulation.user)(text)
        case PictureMessage(caption):
            simulation.send("image", caption)
        case TapMove(title=title, picks=picks):
            simulation.pick(title) if picks else simulation.tap(title)
        case SendMove(kind):
            simulation.send(kind, location=PLACE if kind == "location" else None)
        case WaitMove(duration):
            simulation.wait(duration)
        case EventMove(event):
            simulation.gateway.happen(event, {"agent": "Agent"} if event == "conversation.assigned" else {})
        case StartMove(flow, data):
            simulation.operator.start(flow, data, "after")
        case SignalMove(name, data):
            simulation.operator.signal(name, data)


def _in_words(move: ScriptedMove) -> tuple[str, str]:
    """An act as a line of the conversation: its key and its text."""
    match move.act:
        case WriteMove(text):
            return "user", text
        case PictureMessage(caption):
            return "send", f"image: {caption}"
        case MessageBurst(texts):
            return "user", " / ".join(texts)
        case act:
            ((who, what),) = move_line(act).items()
            return str(who), str(what)


def _http(answer: HttpResult) -> HttpStub:
    if answer.json is None:
        return HttpStub(answer.status, (answer.text or "").encode(), fails=answer.fails)
    return HttpStub(answer.status, json.dumps(answer.json).encode(), "application/json", fails=answer.fails)


def _spoken(answer: ModelResult) -> Item:
    return ModelAnswer(answer.text, calls=calls_of(answer)) if answer.fails is None else failure(answer.fails)


def _within(target: AttackTarget) -> float:
    """The seconds that an answer may take."""
    return target.kind.brief.within if isinstance(target.kind, AiStep) else target.kind.within


def _judges(program: Program) -> set[str]:
    """The handlers that judge texts."""
    briefs = (target.brief for target in targets(program.library))
    settings = [brief.settings for brief in briefs if brief is not None]
    return {name for each in settings for name in (each.input_moderator, each.output_moderator) if name is not None}


def _with_facts(folder: Folder, text: str) -> Folder:
    """The bot with a text at the end of each document. A long one becomes no longer: facts have a limit."""
    added = f"\n\n{text}\n".encode()
    documents = (
        replace(each, text=each.text[: max(len(each.text) - len(added), _SHORT)] + added) if _is_text(each) else each
        for each in folder.documents
    )
    return replace(folder, documents=tuple(documents))


def _searching(model: Speaker) -> Speaker:
    """The same model, which writes nothing of its own to search for: no attack is spent on that."""

    def answer(body: dict[str, Any]) -> Item | str:
        return ModelAnswer(HARMLESS) if asks_what_to_search(body["messages"]) else model(body)

    return answer


_SHORT = 1000  # bytes of a document


def _is_text(document: Source) -> bool:
    """True for a document of AI turns that a text can be added to."""
    return document.path.endswith((".md", ".txt")) and not document.path.startswith(FILES)


def _ours(folder: Folder, stub_definitions: StubDefinitions) -> str:
    """Every text of the bot's own. An address in it may be sent."""
    files = (source.text.decode(errors="replace") for source in (*folder.sources, *folder.code, *folder.documents))
    results = (str(answer.value) for standing in stub_definitions.handlers.values() for answer in standing.each)
    return "\n".join([*files, *results]).casefold()


@contextmanager
def _raised() -> Iterator[list[str]]:
    """The tracebacks that are logged within the block."""
    found: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info is not None and record.exc_info[0] is not None:
                found.append(f"{record.name}: {record.exc_info[0].__name__}: {record.exc_info[1]}")

    listener = Listener()
    logging.getLogger().addHandler(listener)
    try:
        yield found
    finally:
        logging.getLogger().removeHandler(listener)
