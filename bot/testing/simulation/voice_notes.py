"""The voice notes of a simulation, whose words are known."""

from collections.abc import Callable

from bot.core.clock import Clock
from bot.testing.emulator import Emulator
from bot.testing.simulation.sample_files import SAMPLE_FILES


class VoiceNotes:
    """Voice notes by their addresses. They need no handler or service that transcribes them.

    `on_call` is called before a voice note is transcribed.
    """

    def __init__(self, emulator: Emulator, clock: Clock) -> None:
        self.on_call: Callable[[], None] = lambda: None
        self._emulator = emulator
        self._clock = clock
        self._words: dict[str, str] = {}

    def record(self, words: str) -> str:
        """Make a voice note that says these words. Returns its address."""
        name = f"voice-{len(self._words)}.ogg"
        address = f"{self._emulator.url}/media/{int(self._clock.now().timestamp())}/{name}"
        self._words[address], self._emulator.media[name] = words, SAMPLE_FILES["ogg"]
        return address

    def transcribe(self, url: str) -> str | None:
        """Return the words of the voice note at an address; None for any other address."""
        words = self._words.get(url)
        if words is not None:
            self.on_call()
        return words

    def __contains__(self, url: object) -> bool:
        return url in self._words
