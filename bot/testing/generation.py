"""Making tests of a bot: talks that take its steps and outcomes, and walks by chance, with what the bot says to them.

The talks are found with the real engine alone (`bot.checker.exploring.explorer`), so that a thousand are tried in a second.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from random import Random

from bot.checker.exploring.explorer import Explorer
from bot.checker.exploring.hints import Hints
from bot.checker.exploring.moves import Spoils, Waits
from bot.checker.exploring.proposals import LONG, Proposals
from bot.checker.exploring.state import State
from bot.checker.graph import Graph
from bot.checker.stories.written import CONTACT, document, heading, talk
from bot.program import Program
from bot.testing.coverage import Coverage
from bot.testing.paths import Paths, Way
from bot.testing.reading import NOW

BEGINS = (
    (NOW, CONTACT),
    (datetime(2030, 5, 11, 23, 0), "15555550101"),  # a Saturday, at night
    (datetime(2030, 5, 7, 15, 0), "15555550102"),
    (datetime(2030, 5, 8, 8, 0), "15555550103"),
)
"""When the talks begin, and who talks: what is open, and what is drawn for good, differ."""

_MOST_MOVES = 12  # of a walk
WALKS, OF_BOT = "test-walks.yml", "test-bot.yml"
"""Files of what belongs to no flow: none has such a name."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A test as YAML: the file that it is to stand in, its name and its document."""

    file: str
    name: str
    text: str


class Generator:
    """Makes the tests of one bot. They depend on nothing but the bot, the hints and the seed.

    ``explorer`` makes the turns, ``proposals`` say what could happen.
    """

    def __init__(self, program: Program, hints: Hints) -> None:
        self._library = program.library
        self.explorer = Explorer(program.library, program.extensions)
        self.proposals = Proposals(Graph(program.library), hints)
        self._coverage = Coverage(program.library)

    def covering(self) -> Iterator[Generated]:
        """Talks that take as much of the bot as is found, few and short."""
        paths = Paths(self.explorer, self.proposals, self._coverage, self.begins())
        paths.explore()
        paths.aim()
        for way in paths.fewest():
            name = self._name_of(way)
            flow = name.partition(":")[0].partition("/")[0]
            file = f"test_{flow}.yml" if flow in self._library.flows else OF_BOT
            yield self._written(way.state, file, f"generated: {name}")

    def walks(self, number: int, seed: int) -> Iterator[Generated]:
        """Talks in which all happens by chance."""
        dice = Random(seed)
        for nth in range(1, number + 1):
            yield self._written(self._walk(dice), WALKS, f"generated: walk {nth} of seed {seed}")

    def begins(self) -> list[State]:
        """Where the talks begin."""
        zone = self._library.bot.timezone
        return [self.explorer.begin(contact, now.replace(tzinfo=zone)) for now, contact in BEGINS]

    def _walk(self, dice: Random) -> State:
        state = self.begins()[0]
        moves = dice.randint(_MOST_MOVES // 2, _MOST_MOVES)
        while len(state.path()) < moves or state.awaited is not None or state.spoiled:
            possible = [move for move in self.proposals.moves(state) if move not in (Waits(LONG), Spoils())]
            state = self.explorer.take(state, dice.choice(possible))
        return state

    def _name_of(self, way: Way) -> str:
        """What a talk takes first of all that no talk before it takes."""
        first = min(way.keys, key=lambda key: (key[1].path, key[1].line, key[1].column))
        return self._coverage.name_of(first)

    def _written(self, state: State, file: str, name: str) -> Generated:
        head = heading(state, name, drew=self.explorer.drew, zone=self._library.bot.timezone)
        frame = state.frame
        place = {"flow": None} if frame is None else {"flow": frame.flow, "step": frame.step}
        return Generated(file, name, document(head, [*talk(state), {"expect": place}]))
