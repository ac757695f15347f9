"""The world of one test: a store, an emulator, a clock and handlers of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from bot.clock import MovableClock
from bot.folder import Folder
from bot.handlers import load_handlers
from bot.program import Program
from bot.simulation.simulation import Simulation
from bot.testing.player import Player
from bot.testing.stand_ins import StandIns
from bot.testing.transcript import Stage


@contextmanager
def world(
    program: Program, folder: Folder, now: datetime, stage: Stage, contact: str | None
) -> Iterator[tuple[Simulation, Player]]:
    """Run a bot from ``now`` on, a time on its own clock, with what a test puts in place of the rest."""
    fresh, _ = load_handlers(folder)  # what the bot's Python remembers is no business of the next test
    stand_ins = StandIns(stage)
    program = stand_ins.play(replace(program, extensions=fresh))
    clock = MovableClock(now.replace(tzinfo=program.library.bot.timezone))
    with Simulation(program, clock, requester=stand_ins.request, contact=contact) as simulation:
        simulation.service.answer_with(stand_ins.speak)
        yield simulation, Player(simulation, stand_ins)
