"""Running a test: its talk is held with the bot, line by line, up to the first that does not fit."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from bot.clock import MovableClock
from bot.folder import Folder
from bot.handlers import load_handlers
from bot.lang.durations import words
from bot.lang.nodes import Mark
from bot.program import Program
from bot.simulation.bubble import Bubble
from bot.simulation.simulation import NotOnScreen, Simulation, Stuck
from bot.testing.compare import Difference, differences_in, differences_of
from bot.testing.transcript import Expect, Line, Model, Pick, Says, Tap, Transcript, User, Wait


@dataclass(frozen=True, slots=True)
class Spoken:
    """One line of a talk as it went: ``who`` is user, tap, pick, wait or bot."""

    who: str
    text: str
    bubble: Bubble | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a test failed, and where; ``talk`` is what was said until then, the offending message included.

    ``complaints`` are what else went wrong, such as a message that the gateway refused.
    """

    mark: Mark
    what: str
    differences: tuple[Difference, ...]
    talk: tuple[Spoken, ...]
    complaints: tuple[str, ...] = ()


class _Failed(Exception):
    """The talk goes another way than the test says."""

    def __init__(self, what: str, differences: list[Difference] | None = None) -> None:
        super().__init__(what)
        self.differences = tuple(differences or ())


def run(transcript: Transcript, program: Program, folder: Folder) -> Failure | None:
    """Run one test with a store, an emulator and handlers of its own; None when it passes."""
    fresh, _ = load_handlers(folder)  # what the handlers remember is no business of the next test
    program = replace(program, handlers=fresh)
    clock = MovableClock(transcript.now.replace(tzinfo=program.library.bot.timezone))
    with Simulation(program, clock) as simulation:
        return _Talk(simulation).play(transcript)


class _Talk:
    """A test's talk with a bot."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._talk: list[Spoken] = []
        self._unheard: deque[Bubble] = deque()

    def play(self, transcript: Transcript) -> Failure | None:
        mark = transcript.mark
        try:
            for number, line in enumerate(transcript.talk):
                mark = line.mark
                if isinstance(line, User | Tap | Pick | Wait):
                    self._script(transcript.talk[number + 1 :])
                self._take(line)
            self._nothing_more("after")
            self._all_asked()
        except (_Failed, NotOnScreen, Stuck) as error:
            differences = error.differences if isinstance(error, _Failed) else ()
            complaints = tuple(self._simulation.complaints())
            return Failure(mark, str(error), differences, tuple(self._talk), complaints)
        return None

    def _take(self, line: Line) -> None:
        match line:
            case Says():
                self._hear(line)
            case Expect():
                self._look(line)
            case Model():
                pass  # it was scripted before the contact did what it answers
            case User(_, text):
                self._act("user", text, lambda: self._simulation.user(text))
            case Tap(_, title):
                self._act("tap", title, lambda: self._simulation.tap(title))
            case Pick(_, title):
                self._act("pick", title, lambda: self._simulation.pick(title))
            case Wait(_, duration):
                self._act("wait", words(duration), lambda: self._simulation.wait(duration))

    def _script(self, following: Sequence[Line]) -> None:
        """Tell the stand-in for the models what to say until the contact does something again."""
        self._all_asked()
        for line in takewhile(lambda line: not isinstance(line, User | Tap | Pick | Wait), following):
            if isinstance(line, Model) and line.fails is not None:
                self._simulation.service.fail(line.fails)
            elif isinstance(line, Model):
                calls = [(name.replace(".", "_"), arguments) for name, arguments in line.calls]
                self._simulation.service.say(line.text, calls=calls)

    def _all_asked(self) -> None:
        if self._simulation.service.unsaid:
            raise _Failed("the model is asked less often than the test says")

    def _act(self, who: str, text: str, act: Callable[[], None]) -> None:
        self._nothing_more("before")
        self._talk.append(Spoken(who, text))
        act()
        self._unheard.extend(self._simulation.heard())

    def _nothing_more(self, where: str) -> None:
        if self._unheard:
            self._speak(self._unheard[0])
            raise _Failed(f"the bot says something {where} this that the test does not list")

    def _hear(self, line: Says) -> None:
        if not self._unheard:
            raise _Failed("the bot says nothing here", differences_of(line, Bubble()))
        bubble = self._unheard.popleft()
        self._speak(bubble)
        differences = differences_of(line, bubble)
        if differences:
            raise _Failed("the bot says something else", differences)

    def _look(self, line: Expect) -> None:
        differences = differences_in(line, self._simulation.session())
        if differences:
            raise _Failed("the conversation is not where it is expected", differences)

    def _speak(self, bubble: Bubble) -> None:
        self._talk.append(Spoken("bot", bubble.text, bubble))
