"""What a person can let go wrong at the gateway, by switches on the page."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from bot.core.immutable import immutable
from bot.emulator import Emulator

Switch = Callable[[], None]


@immutable
class ServiceFault:
    """One switch: what it says, and ``begin``, which lets it happen and returns how it ends."""

    title: str
    begin: Callable[[Emulator], Switch]


LATE = timedelta(minutes=2)


def _gateway(kind: str, title: str, **how: Any) -> ServiceFault:
    def begin(emulator: Emulator) -> Switch:
        fault = emulator.faults.add(kind, **how)
        return lambda: emulator.faults.remove(fault)

    return ServiceFault(title, begin)


def _channel_gone(emulator: Emulator) -> Switch:
    emulator.inactive_channels.update(CHANNELS)
    return emulator.inactive_channels.clear


CHANNELS = ("channel-1",)
SERVICE_FAULTS = {
    "slow": _gateway("slow", "The gateway answers 3 s late", seconds=3.0),
    "busy": _gateway("rate_limited", "The gateway has too many requests (429)", seconds=10.0),
    "down": _gateway("send_failed", "The gateway cannot send (502)"),
    "refused": _gateway("VALIDATION_MISSING_FIELD", "The gateway refuses messages (422)"),
    "lost": _gateway("reset_after", "The answer is lost after a message was accepted"),
    "key": _gateway("unauthorized", "The gateway refuses the key (401)"),
    "channel": ServiceFault("The channel is gone", _channel_gone),
    "doubled": _gateway("double_event", "Each event comes twice"),
}
"""The switches by name."""
