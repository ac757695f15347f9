"""Attacking a bot by the real path: each attack is the conversation of another contact with one engine."""

import json
import logging
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Self

from bot.checker.exploring.examples import Hints
from bot.checker.exploring.moves import PLACE, Happens, Responds, Sends, Speaks, Starts, Taps, Waits, Writes
from bot.checker.exploring.sample_values import values_of
from bot.clock import MovableClock
from bot.core.effects import HttpRequest
from bot.emulator.completion import ModelAnswer, failure
from bot.emulator.completion.completion_api import Item, Speaker
from bot.extensions.decorators import HandlerSpec
from bot.folder import Folder
from bot.outgoing import HttpAnswer
from bot.program import Program, load_program
from bot.simulation.phone import Bubble
from bot.simulation.simulation import Simulation
from bot.steps.ai_exchange import Exchange
from bot.steps.ai_step import AiStep
from bot.testing.attacks.attack_catalogue import ATTACKS, SECRET, Attack
from bot.testing.attacks.attack_checks import Finding, Observed, findings
from bot.testing.attacks.attack_conversation import ABOUT, Beat, Burst, Missed, Pictures, Plot, Scene, order_of, plot_of
from bot.testing.attacks.attack_target import HARMLESS, Target, Ways, targets, with_text
from bot.testing.attacks.hostile_model import Hostile, Prompt
from bot.testing.model_sources import PutOff, Source, Voice
from bot.testing.stubs import StandIns, calls_of
from bot.testing.transcript import Http, Model, Result, Stage, Standing
from bot.testing.transcript_reader import NOW

HELLO = "Hello?"
SOMETHING_ELSE = "What do you mean by that?"
_MOST_CONSENTS = 6
_RETRIES = timedelta(minutes=3)  # beyond the time that an answer may take


@dataclass(frozen=True, slots=True)
class Tried:
    """An attack on a step, and what came of it: ``talk`` is what was done and said since it began.

    ``missed`` says why it could not be made; then nothing was tried.
    """

    attack: Attack
    channel: str
    target: Target
    findings: tuple[Finding, ...] = ()
    talk: tuple[tuple[str, str], ...] = ()
    missed: str | None = None

    @property
    def name(self) -> str:
        """``link by name``: the attack, and the channel on which its order comes."""
        return self.attack.name if self.attack.order is None else f"{self.attack.name} by {self.channel}"


class Suite:
    """All attacks on one bot. The same bot, hints and seed give the same results, unless a real model answers: ``source``."""

    def __init__(self, folder: Folder, program: Program, hints: Hints, seed: int, source: Source | None = None) -> None:
        self.targets = targets(program.library)
        self._source = source
        self._folder = folder
        self._program = program
        self._seed = seed
        self._ways = Ways(program, hints)

    def run(self, name: str = "") -> Iterator[Tried]:
        """Try each attack that has ``name`` in its own name, on each step that asks a model.

        A real model is tried with those that ask something of it. Raises `bot.testing.model_sources.Stopped` where it cannot be asked.
        """
        for target in self.targets:
            chosen = [tried for tried in _on(target) if name.casefold() in tried.name]
            if self._source is not None:
                chosen = [tried for tried in chosen if tried.attack.order is not None]
            way = self._ways.to(target) if chosen else None
            if way is None:
                why = "no way to the step was found: write a test that leads there"
                yield from (replace(tried, missed=why) for tried in chosen)
                continue
            scene = Scene(target, way, self._ways.stays(target, way))
            with World(self._folder, self._program, asks_models=self._source is not None) as world:
                yield from (self._try(world, scene, tried) for tried in chosen)

    def _try(self, world: "World", scene: Scene, tried: Tried) -> Tried:
        order = order_of(tried.attack, tried.channel, tried.target, self._seed)
        try:
            plot = plot_of(self._ways, scene, tried.channel, order, tried.attack.says)
            held = _Held(world, tried, plot, order, None if self._source is None else Voice(self._source))
            seen = held.hold()
        except (Missed, PutOff) as missed:
            return replace(tried, missed=str(missed))
        return replace(tried, findings=tuple(findings(seen)), talk=tuple(held.lines))


def _on(target: Target) -> Iterator[Tried]:
    """Every attack that a step can be tried with."""
    suiting = (attack for attack in ATTACKS if attack.suits(target))
    return (Tried(attack, channel, target) for attack in suiting for channel in attack.channels)


class World:
    """An engine on which the attacks on one step are made. Use it as a context manager."""

    def __init__(self, folder: Folder, program: Program, *, asks_models: bool) -> None:
        self.folder = folder
        self._program = program
        self._judges = _judges(program)
        self._clock = MovableClock(NOW.replace(tzinfo=program.library.bot.timezone))
        self.stand_ins = StandIns(Stage())
        self.contacts: set[str] = set()
        self.simulation = Simulation(program, self._clock, requester=self._request, asks_models=asks_models)

    def __enter__(self) -> Self:
        self.simulation.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.simulation.__exit__(*exc)

    def _request(self, request: HttpRequest, key: str) -> HttpAnswer:
        return self.stand_ins.request(request, key)

    def begin(self, stage: Stage, facts: str | None = None) -> None:
        """A new contact, with what answers in place of the world; ``facts`` is a text at the end of each file of facts."""
        self.simulation.become_somebody_new()
        self.contacts.add(self.simulation.contact)
        program = self._program if facts is None else load_program(_with_facts(self.folder, facts))
        self.stand_ins = StandIns(stage)
        self.simulation.swap(self.stand_ins.play(program))

    def stage(self, target: Target, plot: Plot, text: str | None = None, error: str | None = None) -> Stage:
        """What answers in place of handlers and services: what the way says, else samples.

        The step's tools return ``text`` wherever a text fits, or fail with an ``error`` that they do not declare.
        """
        tools = {tool.handler for tool in (() if target.brief is None else target.brief.tools)}
        answers = {returns.name: Result(returns.value, returns.fails) for returns in plot.returned}
        for name, spec in self._program.extensions.calls.items():
            if name in tools and error is not None:
                answers[name] = Result(fails="error", detail=error)
            elif name in tools and text is not None:
                answers[name] = Result(with_text(self._sample(spec), text))
            elif name not in self._judges:  # what judges texts is tried as it is
                answers.setdefault(name, Result(self._sample(spec)))
        http = Http(200, json.dumps({"text": text or HARMLESS}).encode(), "application/json")
        return Stage({name: Standing((answer,)) for name, answer in answers.items()}, {"*": Standing((http,))})

    def play(self, beat: Beat, model: Speaker) -> None:
        """Let something happen. What the beat does not say of the model's answers, ``model`` does."""
        spoken = deque(answer for answer in beat.answers if isinstance(answer, Speaks))
        for answer in beat.answers:
            if isinstance(answer, Responds):
                self.stand_ins.script(answer.request, _http(answer))
        self.simulation.service.answer_with(lambda body: _spoken(spoken.popleft()) if spoken else model(body))
        _act(self.simulation, beat)

    def serves(self, target: Target, plot: Plot) -> bool:
        """Whether the model is still asked for a contact who does nothing wrong."""
        asked: list[Mapping[str, Any]] = []

        def model(body: dict[str, Any]) -> Item:
            asked.append(body)
            return ModelAnswer(HARMLESS)

        self.begin(self.stage(target, plot))
        for beat in plot.before:
            self.play(beat, model)
        del asked[:]
        self.play(replace(plot.attack, act=Writes(HELLO)) if plot.before else plot.attack, model)
        return bool(asked)

    def _sample(self, spec: HandlerSpec) -> Any:
        return next(values_of(spec.returns, self._clock.now(), lambda name: ()), HARMLESS)


class _Held:
    """The conversation of one attack. ``lines`` are what was done and said since it began."""

    def __init__(self, world: World, tried: Tried, plot: Plot, order: str | None, voice: Voice | None) -> None:
        self.lines: list[tuple[str, str]] = []
        self._world = world
        self._simulation = world.simulation
        self._tried = tried
        self._plot = plot
        self._order = order
        self._bubbles: list[Bubble] = []
        self._turned = 0  # how many messages the contact had got when the model began to do what it is told
        first = _calls_a_tool if tried.channel == "tool" else None
        self._voice = voice
        real = None if voice is None else voice.speak
        self._model = Hostile(tried.target, order, tried.attack.script, first, real, self._note)

    def hold(self) -> Observed:
        """Hold it. Raises `Missed` where the order does not reach the model, and what a real model's service is troubled by."""
        world, simulation, tried, target = self._world, self._simulation, self._tried, self._tried.target
        secret = SECRET if tried.attack.name == "failing-tool" else ""
        text = self._order if tried.channel == "tool" else None
        stage = world.stage(target, self._plot, text, secret or None)
        world.begin(stage, f"{ABOUT}: {self._order}" if tried.channel == "facts" else None)
        first = len(simulation.emulator.sent)
        if tried.channel == "name":
            simulation.happen("contact.created", {"name": self._order})
        seen = Observed(target, simulation.contact, self._order, tried.channel, tried.attack.consents, secret=secret)
        with _raised() as seen.raised:
            self._converse(seen)
        if self._voice is not None and self._voice.trouble is not None:
            raise self._voice.trouble
        if not self._model.turned:
            raise Missed("what was injected does not reach the model there")
        seen.session, seen.requests = simulation.session(), self._model.requests
        seen.said = self._bubbles[self._turned :]
        seen.tries = self._model.answers
        seen.calls = list(world.stand_ins.calls)
        seen.outcomes = list(self._outcomes())
        seen.notes = [note for turn in reversed(simulation.trace()) for note in turn.notes]
        seen.letters = [letter.reason for letter in simulation.dead_letters()]
        seen.strangers = {each.to for each in simulation.emulator.sent[first:]} - world.contacts
        seen.ours = _ours(world.folder, stage)
        failed = any(outcome.startswith("errors.") for outcome in seen.outcomes)
        if failed and not any(": unsafe: " in note for note in seen.notes):  # what is well asks on for the others, too
            seen.others_served = world.serves(target, self._plot)
        return seen

    def _note(self) -> None:
        self._turned = self._simulation.sent

    def _converse(self, seen: Observed) -> None:
        world, simulation = self._world, self._simulation
        for beat in self._plot.before:
            world.play(beat, self._model)
        self._bubbles += simulation.heard()
        seen.before = simulation.session()
        world.stand_ins.calls.clear()  # those of the way
        beat, messages, says = self._plot.attack, self._tried.attack.messages, self._tried.attack.says
        seen.floods = messages > 1
        self._play(seen, beat if messages == 1 else Beat(Burst(tuple(f"{says} {n}" for n in range(messages)))))
        for _ in range(_MOST_CONSENTS):
            if self._is_asked():
                self._play(seen, Beat(Writes("yes" if self._tried.attack.consents else SOMETHING_ELSE)))

    def _play(self, seen: Observed, beat: Beat) -> None:
        """Let the contact do something, and note what it came to."""
        simulation, asked = self._simulation, len(self._model.requests)
        self.lines.append(_in_words(beat))
        if isinstance(beat.act, Burst):
            self._flood(beat.act)
        else:
            self._world.play(beat, self._model)
        frame = simulation.session().frame
        if frame is not None and frame.awaited_effect is not None:  # what failed is tried again a little later
            simulation.wait(timedelta(seconds=_within(self._tried.target)) + _RETRIES)
        heard = simulation.heard()
        self._bubbles += heard
        self.lines += [("bot", bubble.text) for bubble in heard]
        seen.answers.append(len(heard))
        seen.rounds.append(len(self._model.requests) - asked)

    def _flood(self, burst: Burst) -> None:
        """Have all of it come before the model answers the first."""
        self._model.may_go_on.clear()
        self._simulation.service.answer_with(self._model)
        self._simulation.flood(burst.texts)
        self._model.may_go_on.set()
        self._simulation.settle()

    def _is_asked(self) -> bool:
        """Whether the contact is asked if something may be done."""
        frame, target = self._simulation.session().frame, self._tried.target
        here = frame is not None and target.is_of(frame.flow, frame.step) and target.brief is not None
        return here and frame is not None and Exchange.of(frame.step_state).asking is not None

    def _outcomes(self) -> Iterator[str]:
        for turn in reversed(self._simulation.trace()):
            for step in turn.steps:
                if self._tried.target.is_of(step["flow"], step["step"]) and step["outcome"]:
                    yield str(step["outcome"])


def _calls_a_tool(prompt: Prompt) -> Iterator[Item]:
    """Ask for the tool in whose result the order stands."""
    tool = next(tool for tool in prompt.tools if not tool.confirms)
    yield ModelAnswer(calls=[prompt.call(tool)])


def _act(simulation: Simulation, beat: Beat) -> None:
    match beat.act:
        case Writes(text):
            simulation.user(text)
        case Pictures(caption):
            simulation.send("image", caption)
        case Taps(title=title, picks=picks):
            simulation.pick(title) if picks else simulation.tap(title)
        case Sends(kind):
            simulation.send(kind, location=PLACE if kind == "location" else None)
        case Waits(duration):
            simulation.wait(duration)
        case Happens(event):
            simulation.happen(event, {"agent": "Agent"} if event == "conversation.assigned" else {})
        case Starts(flow, data):
            simulation.start(flow, data, "after")


def _in_words(beat: Beat) -> tuple[str, str]:
    """What the contact did, as who and what."""
    match beat.act:
        case Writes(text):
            return "user", text
        case Pictures(caption):
            return "send", f"image: {caption}"
        case Burst(texts):
            return "user", " / ".join(texts)
        case act:
            ((who, what),) = act.line.items()
            return str(who), str(what)


def _http(answer: Responds) -> Http:
    if answer.json is None:
        return Http(answer.status, (answer.text or "").encode(), fails=answer.fails)
    return Http(answer.status, json.dumps(answer.json).encode(), "application/json", fails=answer.fails)


def _spoken(speaks: Speaks) -> Item:
    answer = Model(speaks.text, speaks.calls, speaks.fails)
    return ModelAnswer(answer.text, calls=calls_of(answer)) if answer.fails is None else failure(answer.fails)


def _within(target: Target) -> float:
    """How long an answer may take, in seconds."""
    return target.kind.brief.within if isinstance(target.kind, AiStep) else target.kind.within


def _judges(program: Program) -> set[str]:
    """The handlers that judge texts."""
    briefs = (target.brief for target in targets(program.library))
    settings = [brief.settings for brief in briefs if brief is not None]
    return {name for each in settings for name in (each.heard, each.said) if name is not None}


def _with_facts(folder: Folder, text: str) -> Folder:
    """The bot with a text at the end of each file of facts."""
    documents = (replace(each, text=each.text + f"\n\n{text}\n".encode()) for each in folder.documents)
    return replace(folder, documents=tuple(documents))


def _ours(folder: Folder, stage: Stage) -> str:
    """Every text of our own side: an address in it may be sent."""
    files = (source.text.decode(errors="replace") for source in (*folder.sources, *folder.code, *folder.documents))
    results = (str(answer.value) for standing in stage.handlers.values() for answer in standing.answers)
    return "\n".join([*files, *results]).casefold()


@contextmanager
def _raised() -> Iterator[list[str]]:
    """The tracebacks that are logged meanwhile."""
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
