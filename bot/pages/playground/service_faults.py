"""The faults of the gateway that a person can switch on."""

import threading
from collections.abc import Callable
from datetime import timedelta

from bot.core.immutable import immutable
from bot.pages.playground.refused import Refused
from bot.testing.emulator import Emulator

Switch = Callable[[], None]


@immutable
class ServiceFault:
    """A switch: its label, and the fault of the emulated gateway (`bot.testing.emulator.injected_faults`)."""

    title: str
    kind: str
    seconds: float = 0.0

    @property
    def hint(self) -> str:
        """The part of a refusal's details that names the switch."""
        return f'a switch of this page, "{self.title}"'

    def begin(self, emulator: Emulator) -> Switch:
        """Begin the fault. Returns a function that ends it.

        A refusal names the switch, so that nobody looks for another cause.
        """
        fault = emulator.faults.add(self.kind, seconds=self.seconds, hint=self.hint)
        return lambda: emulator.faults.remove(fault)


LATE = timedelta(minutes=2)
SERVICE_FAULTS = {
    "slow": ServiceFault("The gateway answers 3 s late", "slow", 3.0),
    "busy": ServiceFault("The gateway has too many requests (429)", "rate_limited", 10.0),
    "down": ServiceFault("The platform refuses messages (502)", "send_failed"),
    "refused": ServiceFault("The gateway refuses messages (422)", "VALIDATION_MISSING_FIELD"),
    "lost": ServiceFault("The answer is lost after a message was accepted", "reset_after"),
    "key": ServiceFault("The gateway refuses the key (401)", "unauthorized"),
    "channel": ServiceFault("The channel is gone (404)", "WHATSAPP_CHANNEL_NOT_FOUND"),
    "doubled": ServiceFault("Each event comes twice", "double_event"),
}
"""The switches by name."""


def cause_of(detail: str) -> str:
    """Why a message was not sent: the switch of the page that caused it, else the words of the gateway."""
    switch = next((fault for fault in SERVICE_FAULTS.values() if fault.hint in detail), None)
    return detail if switch is None else f'you switched on "{switch.title}"'


class FaultSwitches:
    """The faults that are on, by name: those of `SERVICE_FAULTS`, and `late`. Safe to use from many threads.

    ``changed`` is called after each change.
    """

    def __init__(self, emulator: Emulator, changed: Callable[[], None]) -> None:
        self._emulator = emulator
        self._changed = changed
        self._lock = threading.Lock()
        self._on: dict[str, Switch] = {}

    @property
    def names(self) -> list[str]:
        """The names of the faults that are on."""
        with self._lock:
            return list(self._on)

    @property
    def delay(self) -> timedelta:
        """How late the messages of contacts come."""
        return LATE if "late" in self._on else timedelta()

    def switch(self, fault: str, on: bool) -> None:
        """Begin or end a fault. Raises `Refused` for an unknown one."""
        if fault != "late" and fault not in SERVICE_FAULTS:
            raise Refused(f"there is no fault {fault}")
        with self._lock:
            if on and fault not in self._on:
                self._on[fault] = (lambda: None) if fault == "late" else SERVICE_FAULTS[fault].begin(self._emulator)
            elif not on and fault in self._on:
                self._on.pop(fault)()
        self._changed()
