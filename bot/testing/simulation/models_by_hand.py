"""A person who answers in place of the models."""

import threading
from typing import Protocol

from bot.core.clock import MovableClock
from bot.runtime.performers import CallAttempt, Perform, Say
from bot.store.rows import CallRow
from bot.testing.emulator.completion import CompletionService
from bot.testing.emulator.completion.completion_api import Speaker


class ByHand(Protocol):
    """A person who answers for the models. Called on any thread."""

    def __call__(self, row: CallRow) -> Speaker | CallAttempt:
        """Ask the person.

        Returns how the emulated service answers this call, or how the call ends without a request.
        """
        ...

    def waits(self, row: CallRow) -> bool:
        """True while the person is being asked about this call: a bot that only waits for that counts as idle."""
        ...


class ModelsByHand:
    """Asks a person, and then lets the emulated service answer what they say.

    Time stands still while they are asked.
    """

    def __init__(self, by_hand: ByHand, clock: MovableClock, service: CompletionService) -> None:
        self.waits = by_hand.waits
        self._by_hand = by_hand
        self._clock = clock
        self._service = service
        self._one = threading.Lock()  # at a time: the request that comes is then this call's

    def before(self, perform: Perform) -> Perform:
        """Wrap ``perform`` in a function that asks the person first."""

        def performed(row: CallRow, say: Say) -> CallAttempt:
            with self._clock.held():
                answer = self._by_hand(row)
            if isinstance(answer, CallAttempt):
                return answer
            with self._one:
                self._service.answer_with(answer)
                return perform(row, say)

        return performed
