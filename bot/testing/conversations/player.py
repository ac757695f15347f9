"""Plays the lines of a test to a bot, up to the first line that does not match."""

import json
from collections import defaultdict, deque
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Protocol

from bot.core.errors import BotError
from bot.core.turn import UNHEARD
from bot.language.source.wall_clock import duration_words
from bot.language.source.yaml_tree import Map
from bot.testing.conversations.comparison import (
    NOTHING,
    ExpectationDifference,
    ObservedState,
    differences_in,
    differences_of,
    events_in,
    exits_in,
    filled_in,
    parts_to_list,
    reached_in,
    texts_of,
)
from bot.testing.conversations.simulated_contact import SimulatedMove, act_of
from bot.testing.conversations.spoken_lines import SpokenLine
from bot.testing.conversations.stubs import Stubs
from bot.testing.conversations.transcript import (
    Act,
    AgainLine,
    AsLine,
    BotLine,
    ColleagueLine,
    EventLine,
    ExpectLine,
    FaultLine,
    HttpLine,
    InputLine,
    MeanwhileLine,
    ModelLine,
    PersonaLine,
    PickLine,
    RestartLine,
    SendLine,
    SetLine,
    SignalLine,
    SilenceLine,
    StartLine,
    TapLine,
    TranscriptLine,
    UserLine,
    WaitLine,
)
from bot.testing.emulator import InjectedFault as Hit
from bot.testing.emulator.completion import ErrorAnswer, ModelAnswer
from bot.testing.simulation.phone import ShownMessage
from bot.testing.simulation.simulation import Simulation
from bot.testing.simulation.turn_words import value_in_words

RATE_LIMITED_SECONDS = 1.0


class ConversationFailed(BotError):
    """The conversation differs from the test.

    ``expected`` are the messages that the test lists from here to the next thing that happens, ``found`` those that
    the bot has sent instead.
    """

    def __init__(
        self,
        what: str,
        differences: Sequence[ExpectationDifference] = (),
        expected: Sequence[BotLine] = (),
        found: Sequence[ShownMessage] = (),
    ) -> None:
        super().__init__(what)
        self.differences = tuple(differences)
        self.expected = tuple(expected)
        self.found = tuple(found)


class EvaluationModels(Protocol):
    """The models of an evaluation: they answer the bot, judge, and play contacts."""

    def speak(self, body: dict[str, Any]) -> ModelAnswer | ErrorAnswer:
        """Answer a question of the bot's."""
        ...

    def judge(self, question: str, conversation: Sequence[SpokenLine]) -> str:
        """Answer a question about a conversation: the reason for a no, or an empty text for a yes."""
        ...

    def move(self, contact: PersonaLine, conversation: Sequence[SpokenLine]) -> SimulatedMove:
        """Return what a simulated contact does next."""
        ...


class Player:
    """Plays the lines of a test. ``conversation`` is what was said so far, as far as it was expected.

    With ``models`` it plays an evaluation: the bot may say other messages, too. Each method raises
    `ConversationFailed`, or another `BotError` that says why the conversation cannot continue.
    """

    def __init__(self, simulation: Simulation, stubs: Stubs, models: EvaluationModels | None) -> None:
        self.conversation: list[SpokenLine] = []
        self._simulation = simulation
        self._stubs = stubs
        simulation.voice_notes.on_call = stubs.interrupt
        self._models = models
        self._unheard: defaultdict[str, deque[ShownMessage]] = defaultdict(deque)  # by contact
        self._texts = defaultdict[str, list[str]](list)  # that were said since the last act, by contact
        self._known: set[str] = set()  # the turns before that
        self._asked_before = 0  # how often models had been asked before that
        self._faults: list[Hit] = []
        self._refusal = ""  # of the start that came last, until a line expects it

    def take(self, line: TranscriptLine, following: Sequence[TranscriptLine] = ()) -> None:
        """Play one line. The stubs in the lines ``following`` it are set before it happens."""
        if self._refusal and isinstance(line, InputLine | BotLine | SilenceLine):
            self._not_refused()
        match line:
            case BotLine():
                self._hear(line, following)
            case SilenceLine():
                self._silence()
            case ExpectLine():
                self._look(line)
            case FaultLine(kind=kind, times=times):
                fault = self._simulation.emulator.faults.add(kind, count=times, seconds=RATE_LIMITED_SECONDS)
                self._faults.append(fault)
            case AsLine(contact=contact):
                self._simulation.become(contact)
                self.conversation.append(SpokenLine("as", contact))
            case ModelLine() | HttpLine() | MeanwhileLine():
                pass  # it was set before the line that it answers
            case _:
                self._act(line, following)

    def take_unexpected(self) -> dict[str, list[ShownMessage]]:
        """Take the messages that no line has expected yet, by contact, as if lines had expected them. Raises
        `ConversationFailed` if the bot refused the last act, or did not need an answer that was set for it.
        """
        self._not_refused()
        self._all_asked()
        found = {contact: list(messages) for contact, messages in self._unheard.items() if messages}
        self._unheard.clear()
        return found

    def finish(self) -> None:
        """End the test: every message must have been expected, every stub used, and every fault applied."""
        self._not_refused()
        self._nothing_more("after")
        self._all_asked()
        for fault in self._faults:
            if not fault.hits:
                raise ConversationFailed(
                    f"fault {fault.kind} was never applied: the bot sent nothing that it could affect"
                )

    def _act(self, act: InputLine, following: Sequence[TranscriptLine]) -> None:
        self._nothing_more("before")
        self._all_asked()
        self._script(_until_next_act(following))
        self._stubs.calls.clear()
        self._asked_before = len(self._simulation.service.requests())
        self._known = {turn.event_id for turn in self._simulation.stored.turns_of_all()}
        self._texts.clear()
        self._unheard.clear()
        if isinstance(act, PersonaLine):
            self._simulate(act)
        else:
            self._write(act)
        if following and not any(isinstance(line, ExpectLine) for line in _until_next_act(following)):
            self._not_refused()

    def _write(self, act: Act) -> None:
        """Do one act, and hear what the bot says."""
        self.conversation.append(SpokenLine(*_in_words(act)))
        self._happen(act)
        heard = self._simulation.phones.heard()
        said = {self._simulation.contact: heard, **self._simulation.phones.heard_by_others()}
        for contact, messages in said.items():
            self._texts[contact] += [message.text for message in messages]
            self._unheard[contact] += messages
        if self._models is not None:
            self.conversation += [SpokenLine("bot", message.text, message) for message in heard]
        if self._stubs.troubles:
            raise ConversationFailed(self._stubs.troubles[0])

    def _simulate(self, contact: PersonaLine) -> None:
        """Let a model play the contact until it ends, and judge whether the goal is reached."""
        assert self._models is not None
        left, ended = contact.turns, False
        while not ended:
            move = self._models.move(contact, self.conversation)
            for text in move.messages:
                if not left:
                    raise ConversationFailed(f"the goal is not reached with {contact.turns} messages of the contact")
                left -= 1
                self._write(act_of(contact, text, self.conversation))
            if move.gives_up is not None:
                raise ConversationFailed(f"the contact gives up: {move.gives_up}")
            if not (move.done or move.messages):
                raise ConversationFailed("the model that plays the contact has no answer")
            ended = move.done
        if why := self._models.judge(f"Has the contact reached this goal? {contact.goal}", self.conversation):
            raise ConversationFailed("the goal is not reached", [ExpectationDifference(contact.goal, "yes", why)])

    @property
    def _said(self) -> list[str]:
        return self._texts[self._simulation.contact]

    @property
    def _here(self) -> deque[ShownMessage]:
        """The messages to the contact of the lines that no line has expected yet."""
        return self._unheard[self._simulation.contact]

    def _not_refused(self) -> None:
        if self._refusal:
            raise ConversationFailed(f"the bot refuses this: {self._refusal}")

    def _happen(self, act: Act) -> None:
        simulation = self._simulation
        match act:
            case UserLine(text=text, late=late, voice=voice):
                (simulation.speak if voice else simulation.user)(text, late)
            case TapLine(title=title, payload=payload, late=late) if payload:
                simulation.tap_payload(title, payload, late)
            case TapLine(title=title, of=of, late=late):
                simulation.tap(title, late, of)
            case PickLine(title=title, of=of, late=late):
                simulation.pick(title, late, of)
            case SendLine(kind=kind, caption=caption, content=content, location=location, late=late):
                simulation.send(kind, caption, content, location, late)
            case WaitLine(duration=duration):
                simulation.wait(duration)
            case EventLine(event=event, data=data):
                simulation.gateway.happen(event, data)
            case StartLine(flow=flow, data=data, busy=busy):
                self._refusal = simulation.operator.start(flow, data, busy)
            case SignalLine(name=name, data=data):
                self._refusal = simulation.operator.signal(name, data)
            case SetLine(values=values, flow=flow):
                self._refusal = simulation.operator.set_values(values, flow)
            case ColleagueLine(agrees=agrees, note=note):
                self._refusal = simulation.operator.decide(agrees, note)
            case RestartLine():
                simulation.restart()
            case AgainLine():
                simulation.gateway.repeat()

    def _asked(self) -> list[str]:
        """The requests to models since the last act."""
        requests = self._simulation.service.requests()[self._asked_before :]
        return [json.dumps(asked.body, ensure_ascii=False) for asked in requests]

    def _script(self, lines: Sequence[TranscriptLine]) -> None:
        """Set the answers of models and services up to the next thing that happens."""
        for line in lines:
            match line:
                case ModelLine(answer=answer):
                    self._stubs.script_model(answer)
                case MeanwhileLine(text=text):
                    self._stubs.script_meanwhile(partial(self._simulation.write_meanwhile, text))
                case HttpLine(request=request, answer=answer):
                    self._stubs.script(request, answer)

    def _all_asked(self) -> None:
        if (unasked := self._stubs.unasked) is not None:
            raise ConversationFailed(unasked)

    def _silence(self) -> None:
        if self._models is not None and self._said:
            raise ConversationFailed(
                "the bot sends a message, and the test expects silence",
                [ExpectationDifference("says", NOTHING, self._said[0])],
            )
        if self._here and self._models is None:
            raise ConversationFailed("the bot says something that the test does not list", found=self._here)

    def _nothing_more(self, where: str) -> None:
        if self._models is not None:
            return
        for contact, messages in self._unheard.items():
            if messages:
                mine = contact == self._simulation.contact
                to, fix = ("", "") if mine else (f" to {contact}", f": add as: {contact}")
                what = f"the bot says something{to} {where} this that the test does not list{fix}"
                raise ConversationFailed(what, found=messages)

    def _hear(self, line: BotLine, following: Sequence[TranscriptLine]) -> None:
        if self._models is not None:
            self._find(line)
            return
        message = self._here.popleft() if self._here else None
        differences = differences_of(line, message or ShownMessage())
        if message is not None and not differences:
            self.conversation.append(SpokenLine("bot", message.text, message))
            return
        what = "the bot says something else"
        if message is None:
            turns = self._simulation.stored.all_turns()
            early = dict.fromkeys(turn.rule.partition(":")[0] for turn in turns if turn.rule.endswith(UNHEARD))
            what = "the bot says nothing here" + "".join(f"; no step waited for {each} when it came" for each in early)
        if message is not None and (beside := parts_to_list(line, message)):
            names, written = ", ".join(beside), ", ".join(f"{key}: {value}" for key, value in beside.items())
            what = f"the bot says this with {names}: write {{says: ..., {written}}}"
        here = takewhile(lambda after: not isinstance(after, InputLine | AsLine), following)
        expected = [line, *(after for after in here if isinstance(after, BotLine))]
        raise ConversationFailed(what, differences, expected, [] if message is None else [message, *self._here])

    def _find(self, line: BotLine) -> None:
        """Check that a message like this is among those that were not expected yet."""
        unheard = list(self._here)
        while self._here:
            if not differences_of(line, self._here.popleft()):
                return
        differences = differences_of(line, unheard[0] if unheard else ShownMessage())
        raise ConversationFailed("no message of the bot matches this line", differences, [line], unheard)

    def _look(self, line: ExpectLine) -> None:
        if "refused" not in line.wanted:
            self._not_refused()
        differences = [*differences_in(line, self._seen(line))] or self._judged(line)
        self._refusal = ""
        if differences:
            raise ConversationFailed("the conversation is not as expected", differences)

    def _judged(self, line: ExpectLine) -> list[ExpectationDifference]:
        says = line.wanted.get("says")
        questions = texts_of(says.get("judge")) if isinstance(says, Map) else ()
        if questions and self._models is None:
            raise ConversationFailed("a `judge` question needs a model: use it in an evaluation")
        verdicts = [
            (question, self._models.judge(question, self.conversation))
            for question in questions
            if self._models is not None
        ]
        return [ExpectationDifference(question, "yes", why) for question, why in verdicts if why]

    def _seen(self, line: ExpectLine) -> ObservedState:
        simulation, library = self._simulation, self._simulation.running.program.library
        session, turns = simulation.stored.session(), simulation.stored.all_turns()
        new = [turn for turn in turns if turn.event_id not in self._known]
        return ObservedState(
            session,
            vars={} if session.frame is None else library.values_of(session.frame, session),
            language=session.language or next(iter(library.bot.languages), None),
            calls=self._stubs.calls,
            sent=simulation.phones.received,
            files=simulation.stored.kept_files(),
            exits=exits_in(new),
            reached=reached_in(new, library),
            events=events_in(new),
            filled=filled_in(turns, session, library) if "filled" in line.wanted else {},
            said=self._said,
            refusal=self._refusal,
            asked=self._asked(),
        )


def _until_next_act(lines: Sequence[TranscriptLine]) -> list[TranscriptLine]:
    """The lines up to the next one with which something happens."""
    return list(takewhile(lambda line: not isinstance(line, InputLine), lines))


def _in_words(act: Act) -> tuple[str, str]:
    """An act as a line of the conversation: its key and its text."""
    match act:
        case UserLine(text=text, voice=voice):
            return "user", f"(a voice note) {text}" if voice else text
        case TapLine(title=title):
            return "tap", title
        case PickLine(title=title):
            return "pick", title
        case SendLine(kind=kind, caption=caption):
            return "send", f"{kind}: {caption}" if caption else kind
        case WaitLine(duration=duration):
            return "wait", duration_words(duration)
        case EventLine(event=event):
            return "event", event
        case StartLine(flow=flow):
            return "start", flow
        case SignalLine(name=name):
            return "signal", name
        case SetLine(values=values):
            return "set", ", ".join(f"{name}: {value_in_words(value)}" for name, value in values.items())
        case ColleagueLine(agrees=agrees, note=note):
            return "colleague", f"{'agrees' if agrees else 'refuses'}{f': {note}' if note else ''}"
        case RestartLine():
            return "restart", ""
        case AgainLine():
            return "again", ""
