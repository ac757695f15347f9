"""Running a test: its talk is held with the bot by the real path, in a world of its own."""

from dataclasses import dataclass

from bot.core.errors import BotError
from bot.folder import Folder
from bot.lang.nodes import Mark
from bot.program import Program
from bot.simulation.bubble import Bubble
from bot.simulation.simulation import Simulation
from bot.testing.compare import Difference
from bot.testing.coverage import Coverage
from bot.testing.player import Player, Spoken, TalkFailed
from bot.testing.transcript import Says, Transcript
from bot.testing.world import world


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a test failed, and where. ``talk`` is what was said until then.

    ``expected`` are the messages that the test lists at that place, ``found`` those that came instead. ``complaints``
    are what else went wrong, such as a message that the gateway refused.
    """

    mark: Mark
    what: str
    differences: tuple[Difference, ...] = ()
    talk: tuple[Spoken, ...] = ()
    expected: tuple[Says, ...] = ()
    found: tuple[Bubble, ...] = ()
    complaints: tuple[str, ...] = ()


def run(transcript: Transcript, program: Program, folder: Folder, coverage: Coverage | None = None) -> Failure | None:
    """Run one test in a world of its own; None when it passes.

    ``coverage`` notes which steps and outcomes it took.
    """
    with world(program, folder, transcript.now, transcript.stage, transcript.contact) as (simulation, player):
        failure = play(transcript, simulation, player)
        if coverage is not None:
            coverage.note(simulation.all_turns())
        return failure


def play(transcript: Transcript, simulation: Simulation, player: Player) -> Failure | None:
    """Hold a talk in a world that is there; None when it goes as it is written."""
    mark = transcript.mark
    try:
        for number, line in enumerate(transcript.talk, start=1):
            mark = line.mark
            player.take(line, transcript.talk[number:])
        player.finish()
    except BotError as error:
        return failure_of(error, mark, simulation, player)
    return None


def failure_of(error: BotError, mark: Mark, simulation: Simulation, player: Player) -> Failure:
    """What a talk came to that does not go on."""
    talk, complaints = tuple(player.talk), tuple(simulation.complaints())
    if not isinstance(error, TalkFailed):
        return Failure(mark, str(error), talk=talk, complaints=complaints)
    return Failure(mark, str(error), error.differences, talk, error.expected, error.found, complaints)
