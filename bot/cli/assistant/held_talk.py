"""A conversation that an assistant holds with a bot, a few lines at a time, on a clock that stands still."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from bot.checker.exploring.conversation_yaml import document
from bot.cli.shared.explain import session_lines, turn_lines
from bot.core.errors import BotError
from bot.language.source.problems import Mark, Problems
from bot.language.source.writing import flow_style
from bot.language.source.yaml_tree import List, Map, Node, Scalar, as_written, read
from bot.loading.folder import fingerprint, read_folder
from bot.loading.program import Program, load_program
from bot.testing.conversations.player import Player
from bot.testing.conversations.recorded_chat import parts_of
from bot.testing.conversations.transcript import BotLine, HttpLine, MeanwhileLine, ModelLine, SilenceLine, Transcript
from bot.testing.conversations.transcript_reader import reader_for
from bot.testing.conversations.transcript_run import isolated_simulation
from bot.testing.simulation.simulation import Simulation

_WRITTEN = "lines"  # the name of what the assistant wrote, in problems
_START = Mark(_WRITTEN, 1, 1)
_FORM = "write a list like [{user: hello}, {tap: Coffee}, {wait: 10m}], or a test with now, handlers and talk"


class CannotTalk(BotError):
    """The lines cannot be read, or the bot cannot take them."""


class HeldTalk:
    """One conversation with the bot in a folder. Nobody but the bot hears it: gateway, services and models are stubs.

    The simulation goes on from call to call. After a failed line, and after an edit of the bot, the lines so far are
    played again. Methods raise `bot.loading.program.FaultyBot` while the bot has problems.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._running = ExitStack()
        self._runs = False
        self._simulation: Simulation
        self._player: Player
        self._program: Program
        self._files = 0
        self._head: dict[str, Any] = {}
        self._acts: list[Any] = []  # what the assistant wrote so far
        self._lines: list[Any] = []  # the same, with what the bot said

    def close(self) -> None:
        """End the simulation."""
        self._running.close()
        self._runs = False

    def say(self, written: str) -> str:
        """Play lines. Returns them as lines of a test, with what the bot said to each, and where the contact is then.
        If an edit changed what the bot says to the lines so far, these come first.

        A list of lines goes on with the conversation; a test begins a new one. Raises `CannotTalk`.
        """
        head, acts = _parts(written)
        if head is not None:
            self.close()
            self._head, self._acts, self._lines = head, [], []
        before = self._lines
        self._begin(acts)
        shown = len(self._lines) if self._lines == before else 0
        self._play(acts)
        return "\n".join([*(f"- {flow_style(line)}" for line in self._lines[shown:]), *self._state()])

    def trace(self, turns: int) -> str:
        """Why the bot said what it said in its last turns. Raises `CannotTalk` if nothing was said."""
        self._begin()
        zone = self._program.library.bot.timezone
        found = self._simulation.stored.trace(turns)
        return "\n".join(click.unstyle(line) for turn in found for line in turn_lines(turn, zone))

    def as_test(self, name: str) -> str:
        """The conversation so far as a test. Raises `CannotTalk` if nothing was said."""
        self._begin()
        frame = self._simulation.stored.session().frame
        place = {"flow": None} if frame is None else {"flow": frame.flow, "step": frame.step}
        return document({"test": name, **self._head}, [*self._lines, {"expect": place}])

    def _begin(self, following: Sequence[Any] = ()) -> None:
        """Begin, or begin again with the lines so far if the bot was edited or a line failed."""
        if self._runs and fingerprint(self._path) == self._files:
            return
        self.close()
        self._files = fingerprint(self._path)
        folder = read_folder(self._path)
        self._program = load_program(folder)
        if not (self._acts or following):
            raise CannotTalk("nothing has happened: talk to the bot first")
        test = self._read([*self._acts, *following])
        acts, self._acts, self._lines = self._acts, [], []
        self._simulation, self._player = self._running.enter_context(
            isolated_simulation(self._program, folder, test.now, test.stub_definitions, test.contact)
        )
        self._runs = True
        self._play(acts)

    def _read(self, acts: list[Any]) -> Transcript:
        """Read lines as those of a test. Raises `CannotTalk` with every problem."""
        problems = Problems()
        (node,) = read(_WRITTEN, document({"test": "talk", **self._head}, acts), problems)
        assert isinstance(node, Map)
        found = reader_for(self._program, self._path).read(node, problems)
        if problems:
            raise CannotTalk("\n".join(f"{each.what} ({each.fix})" for each in problems.sorted()))
        return found

    def _play(self, acts: list[Any]) -> None:
        lines = self._read(acts).conversation if acts else ()
        if lines and isinstance(lines[0], ModelLine | HttpLine | MeanwhileLine):
            raise CannotTalk(f"{flow_style(acts[0])}: write it behind the line that it answers, in one call with it")
        for place, (line, act) in enumerate(zip(lines, acts, strict=True)):
            if isinstance(line, BotLine | SilenceLine):
                raise CannotTalk("leave out what the bot says: it comes back by itself")
            try:
                self._player.take(line, lines[place + 1 :])
                said = list(self._said())
            except BotError as error:
                self.close()  # the next call plays the lines before this one again
                raise CannotTalk(f"{flow_style(act)}: {error}") from None
            self._acts.append(act)
            self._lines += [act, *said]

    def _said(self) -> Iterator[Any]:
        """The bot's messages since then, as lines of a test."""
        own = self._simulation.contact
        for contact, messages in sorted(self._player.take_unexpected().items(), key=lambda item: item[0] != own):
            if contact != own:
                yield {"as": contact}
            yield from ({"bot": parts_of(message)} for message in messages)
            if contact != own:
                yield {"as": own}

    def _state(self) -> Iterator[str]:
        zone = self._program.library.bot.timezone
        yield f"# it is {self._simulation.clock.now().astimezone(zone):%A %Y-%m-%d %H:%M}"
        for line in session_lines(self._simulation.stored.session(), zone):
            yield f"# {click.unstyle(line)}"
        for complaint in self._simulation.stored.complaints():
            yield f"# went wrong: {complaint}"


def _parts(written: str) -> tuple[dict[str, Any] | None, list[Any]]:
    """The keys above the lines, None if there are only lines; and the lines. Raises `CannotTalk`."""
    problems = Problems()
    nodes = read(_WRITTEN, written, problems)
    if problems or len(nodes) != 1:
        raise CannotTalk("\n".join([*map(str, problems.sorted()), _FORM]))
    node: Node | None = nodes[0]
    head = None
    if isinstance(node, Map):
        if (node.get("talk")) is None:
            node = List(_START, (node,))  # a line alone
        else:
            head = {key.text: as_written(value) for key, value in node.entries if key.text not in ("test", "talk")}
            node = node.get("talk")
    if isinstance(node, Scalar) and node.text:
        node = List(_START, (node,))  # a word alone
    if not isinstance(node, List):
        raise CannotTalk(_FORM)
    return head, [as_written(item) for item in node.items]
