"""What is done otherwise while the engine is careful: after crashes, until it has done all there was."""

from collections.abc import Callable
from dataclasses import dataclass

from bot.store.rows import CallRow


@dataclass(frozen=True, slots=True)
class Caution:
    """``careful`` says whether the engine is. ``claim`` returns when it is durable that a row is about to be done.

    ``concerns`` says which rows may end the process: those that run the bot's own Python.
    """

    careful: Callable[[], bool] = lambda: False
    claim: Callable[[CallRow], None] = lambda row: None
    concerns: Callable[[CallRow], bool] = lambda row: True


NEVER = Caution()
"""For what cannot end the process."""
