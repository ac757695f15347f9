"""What a person can let go wrong at the gateway, by switches on the page."""

from collections.abc import Callable
from datetime import timedelta

from bot.core.immutable import immutable
from bot.testing.emulator import Emulator

Switch = Callable[[], None]


@immutable
class ServiceFault:
    """One switch: what it says, and the fault of the emulated gateway (`bot.testing.emulator.injected_faults`)."""

    title: str
    kind: str
    seconds: float = 0.0

    def begin(self, emulator: Emulator) -> Switch:
        """Let it happen; returns what ends it. A refusal names the switch, so that nobody looks for its cause elsewhere."""
        hint = f'a switch of this page, "{self.title}"'
        fault = emulator.faults.add(self.kind, seconds=self.seconds, hint=hint)
        return lambda: emulator.faults.remove(fault)


LATE = timedelta(minutes=2)
SERVICE_FAULTS = {
    "slow": ServiceFault("The gateway answers 3 s late", "slow", 3.0),
    "busy": ServiceFault("The gateway has too many requests (429)", "rate_limited", 10.0),
    "down": ServiceFault("The gateway cannot send (502)", "send_failed"),
    "refused": ServiceFault("The gateway refuses messages (422)", "VALIDATION_MISSING_FIELD"),
    "lost": ServiceFault("The answer is lost after a message was accepted", "reset_after"),
    "key": ServiceFault("The gateway refuses the key (401)", "unauthorized"),
    "channel": ServiceFault("The channel is gone (404)", "WHATSAPP_CHANNEL_NOT_FOUND"),
    "doubled": ServiceFault("Each event comes twice", "double_event"),
}
"""The switches by name."""
