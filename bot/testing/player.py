"""Holding a talk with a bot, line by line, up to the first that does not fit."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from bot.core.errors import BotError
from bot.emulator import InjectedFault as Hit
from bot.lang.source import Map
from bot.lang.wall_clock import duration_words
from bot.simulation.phone import Bubble
from bot.simulation.simulation import Simulation
from bot.testing.comparison import (
    NOTHING,
    Difference,
    Seen,
    differences_in,
    differences_of,
    exits_in,
    filled_in,
    texts_of,
)
from bot.testing.stubs import StandIns, calls_of
from bot.testing.transcript import (
    Act,
    Again,
    Expect,
    Fault,
    Happens,
    HttpLine,
    Line,
    ModelLine,
    Pick,
    Restart,
    Says,
    Send,
    Silence,
    Start,
    Tap,
    User,
    Wait,
)

RATE_LIMITED_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Spoken:
    """One line of a talk as it went: ``who`` is bot, or what happened: user, tap, pick, wait, ..."""

    who: str
    text: str
    bubble: Bubble | None = None


class TalkFailed(BotError):
    """The talk goes another way than the test says.

    ``expected`` are the messages that the test lists from here on up to what happens next, ``found`` those that the
    bot has sent instead.
    """

    def __init__(
        self,
        what: str,
        differences: Sequence[Difference] = (),
        expected: Sequence[Says] = (),
        found: Sequence[Bubble] = (),
    ) -> None:
        super().__init__(what)
        self.differences = tuple(differences)
        self.expected = tuple(expected)
        self.found = tuple(found)


Judge = Callable[[str, Sequence[Spoken]], str]
"""Answers a question about a talk: why it is no, empty where it is yes."""


class Player:
    """Plays the lines of a talk with a bot. ``talk`` is what was said until now, as far as it was expected.

    With a ``judge`` it plays an evaluation: what the bot says may be any number of messages beside those that are listed.
    Each method raises `TalkFailed`, or another `BotError` that says in words why the talk does not go on.
    """

    def __init__(self, simulation: Simulation, stand_ins: StandIns, judge: Judge | None = None) -> None:
        self.talk: list[Spoken] = []
        self._simulation = simulation
        self._stand_ins = stand_ins
        self._judge = judge
        self._unheard: deque[Bubble] = deque()
        self._said: list[str] = []  # since something happened last
        self._known: set[str] = set()  # the turns before that
        self._faults: list[Hit] = []

    def take(self, line: Line, following: Sequence[Line] = ()) -> None:
        """Play one line. What the lines ``following`` it answer is scripted before it happens."""
        match line:
            case Says():
                self._hear(line, following)
            case Silence():
                self._silence()
            case Expect():
                self._look(line)
            case Fault(kind=kind, times=times):
                fault = self._simulation.emulator.faults.add(kind, count=times, seconds=RATE_LIMITED_SECONDS)
                self._faults.append(fault)
            case ModelLine() | HttpLine():
                pass  # it was scripted before that happened after which it is asked for
            case _:
                self._act(line, following)

    def finish(self) -> None:
        """The talk is over: everything has been said, asked for, and gone wrong."""
        self._nothing_more("after")
        self._all_asked()
        for fault in self._faults:
            if not fault.hits:
                raise TalkFailed(f"the gateway had no occasion for its fault: {fault.kind}")

    def _act(self, act: Act, following: Sequence[Line]) -> None:
        self._nothing_more("before")
        self._all_asked()
        self._script(_until_next_act(following))
        self._stand_ins.calls.clear()
        self._known = {turn.event_id for turn in self._simulation.all_turns()}
        self.talk.append(Spoken(*_in_words(act)))
        self._happen(act)
        heard = self._simulation.heard()
        self._said = [bubble.text for bubble in heard]
        self._unheard = deque(heard)
        if self._judge is not None:
            self.talk += [Spoken("bot", bubble.text, bubble) for bubble in heard]
        if self._stand_ins.troubles:
            raise TalkFailed(self._stand_ins.troubles[0])

    def _happen(self, act: Act) -> None:
        simulation = self._simulation
        match act:
            case User(text=text, late=late):
                simulation.user(text, late)
            case Tap(title=title, late=late):
                simulation.tap(title, late)
            case Pick(title=title, late=late):
                simulation.pick(title, late)
            case Send(kind=kind, caption=caption, content=content, location=location, late=late):
                simulation.send(kind, caption, content, location, late)
            case Wait(duration=duration):
                simulation.wait(duration)
            case Happens(event=event, data=data):
                simulation.happen(event, data)
            case Start(flow=flow, data=data, busy=busy):
                simulation.start(flow, data, busy)
            case Restart():
                simulation.restart()
            case Again():
                simulation.repeat()

    def _script(self, lines: Sequence[Line]) -> None:
        """Say what models and services answer until something happens again."""
        for line in lines:
            match line:
                case ModelLine(answer=answer) if answer.fails is not None:
                    self._simulation.service.fail(answer.fails)
                case ModelLine(answer=answer):
                    self._simulation.service.say(answer.text, calls=calls_of(answer))
                case HttpLine(request=request, answer=answer):
                    self._stand_ins.script(request, answer)

    def _all_asked(self) -> None:
        if self._simulation.service.unsaid:
            raise TalkFailed("the model is asked less often than the test says")
        if (unasked := self._stand_ins.unasked) is not None:
            raise TalkFailed(f"the bot does not ask {unasked}, which the test has an answer for")

    def _silence(self) -> None:
        if self._judge is not None and self._said:
            raise TalkFailed(
                "the bot says something, and is to be silent", [Difference("says", NOTHING, self._said[0])]
            )
        self._nothing_more("here")

    def _nothing_more(self, where: str) -> None:
        if self._unheard and self._judge is None:
            what = "something" if where == "here" else f"something {where} this"
            raise TalkFailed(f"the bot says {what} that the test does not list", found=self._unheard)

    def _hear(self, line: Says, following: Sequence[Line]) -> None:
        if self._judge is not None:
            self._find(line)
            return
        bubble = self._unheard.popleft() if self._unheard else None
        differences = differences_of(line, bubble or Bubble())
        if bubble is not None and not differences:
            self.talk.append(Spoken("bot", bubble.text, bubble))
            return
        what = "the bot says nothing here" if bubble is None else "the bot says something else"
        expected = [line, *(after for after in _until_next_act(following) if isinstance(after, Says))]
        raise TalkFailed(what, differences, expected, [] if bubble is None else [bubble, *self._unheard])

    def _find(self, line: Says) -> None:
        """A message like this is among those that have not been asked for yet."""
        unheard = list(self._unheard)
        while self._unheard:
            if not differences_of(line, self._unheard.popleft()):
                return
        differences = differences_of(line, unheard[0] if unheard else Bubble())
        raise TalkFailed("no message of the bot's is like this", differences, [line], unheard)

    def _look(self, line: Expect) -> None:
        differences = differences_in(line, self._seen(line)) or self._judged(line)
        if differences:
            raise TalkFailed("the conversation is not where it is expected", differences)

    def _judged(self, line: Expect) -> list[Difference]:
        says = line.wanted.get("says")
        questions = texts_of(says.get("judge")) if isinstance(says, Map) else ()
        if questions and self._judge is None:
            raise TalkFailed("a judging question needs a model: it is for evaluations")
        verdicts = [(question, self._judge(question, self.talk)) for question in questions if self._judge is not None]
        return [Difference(question, "yes", why) for question, why in verdicts if why]

    def _seen(self, line: Expect) -> Seen:
        simulation, calls = self._simulation, self._stand_ins.calls
        session, turns = simulation.session(), simulation.all_turns()
        language = session.language or next(iter(simulation.bot.languages), None)
        exits = exits_in(turn for turn in turns if turn.event_id not in self._known)
        filled = filled_in(turns, session, simulation.library) if "filled" in line.wanted else {}
        return Seen(session, language, calls, simulation.sent, exits, filled, self._said)


def _until_next_act(lines: Sequence[Line]) -> list[Line]:
    """The lines up to the next by which something happens."""
    return list(takewhile(lambda line: not isinstance(line, Act), lines))


def _in_words(act: Act) -> tuple[str, str]:
    """What happens, as who and what."""
    match act:
        case User(text=text):
            return "user", text
        case Tap(title=title):
            return "tap", title
        case Pick(title=title):
            return "pick", title
        case Send(kind=kind, caption=caption):
            return "send", f"{kind}: {caption}" if caption else kind
        case Wait(duration=duration):
            return "wait", duration_words(duration)
        case Happens(event=event):
            return "event", event
        case Start(flow=flow):
            return "start", flow
        case Restart():
            return "restart", ""
        case Again():
            return "again", ""
