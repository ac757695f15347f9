"""The world of one test: a store, an emulator, a clock and handlers of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from bot.clock import MovableClock
from bot.emulator.completion.script import Speaker
from bot.folder import Folder
from bot.program import Program, load_handlers
from bot.simulation.simulation import Simulation
from bot.testing.player import Judge, Player
from bot.testing.stand_ins import StandIns
from bot.testing.transcript import Stage

Evaluating = tuple[Speaker, Judge]
"""Who speaks for the models in an evaluation, and who judges what the bot says."""


@contextmanager
def world(
    program: Program, folder: Folder, now: datetime, stage: Stage, contact: str | None, by: Evaluating | None = None
) -> Iterator[tuple[Simulation, Player]]:
    """Run a bot from ``now`` on, a time on its own clock, with what a test puts in place of the rest."""
    fresh, _ = load_handlers(folder)  # what the bot's Python remembers is no business of the next test
    stand_ins = StandIns(stage)
    program = stand_ins.play(replace(program, extensions=fresh))
    clock = MovableClock(now.replace(tzinfo=program.library.bot.timezone))
    speak, judge = by or (stand_ins.speak, None)
    asks = by is not None
    with Simulation(program, clock, requester=stand_ins.request, contact=contact, asks_models=asks) as simulation:
        simulation.service.answer_with(speak)
        yield simulation, Player(simulation, stand_ins, judge)
