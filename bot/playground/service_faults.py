"""What a person can let go wrong in the two services, by switches on the page."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from bot.core.immutable import immutable
from bot.emulator import Emulator
from bot.emulator.completion import CompletionService, ModelAnswer, failure
from bot.emulator.completion.completion_api import echo

Switch = Callable[[], None]


@immutable
class ServiceFault:
    """One switch: what it says, and ``begin``, which lets it happen and returns how it ends."""

    title: str
    begin: Callable[[Emulator, CompletionService], Switch]
    of_models: bool = False


LATE = timedelta(minutes=2)


def _gateway(kind: str, title: str, **how: Any) -> ServiceFault:
    def begin(emulator: Emulator, _: CompletionService) -> Switch:
        fault = emulator.faults.add(kind, **how)
        return lambda: emulator.faults.remove(fault)

    return ServiceFault(title, begin)


def _channel_gone(emulator: Emulator, _: CompletionService) -> Switch:
    emulator.inactive_channels.update(CHANNELS)
    return emulator.inactive_channels.clear


def _models(title: str, answer: Callable[[dict[str, Any]], Any]) -> ServiceFault:
    def begin(_: Emulator, service: CompletionService) -> Switch:
        service.answer_with(answer)
        return lambda: service.answer_with(echo)

    return ServiceFault(title, begin, of_models=True)


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
    "model_down": _models("Models fail", lambda _: failure("provider_error")),
    "model_slow": _models("Models take 4 s", lambda asked: ModelAnswer(echo(asked), chunks=20, delay=0.2)),
    "model_cut": _models("Models' answers are cut off", lambda asked: ModelAnswer(echo(asked), cut_after=40)),
}
"""The switches by name."""
