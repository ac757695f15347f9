"""The files that the contacts of a simulation send, and their voice notes, whose words are known."""

from collections.abc import Callable
from datetime import datetime

from bot.core.clock import Clock
from bot.core.filetypes import END, type_of
from bot.testing.emulator import Emulator
from bot.testing.simulation.sample_files import SAMPLE_FILES

_ADDRESS = "https://files.example"


class SentFiles:
    """Files by their addresses: ``https://files.example/1.jpg`` is the first one that was sent, a JPG. The addresses
    are the same in each run.
    """

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._places: dict[str, str] = {}

    def add(self, kind: str, content: bytes | None, at: datetime) -> str:
        """Let the gateway have a file with this content (or a sample of its kind). Returns its address."""
        media = self._emulator.media
        content = media[kind] if content is None else content
        found = type_of(content[:END], content[-END:], kind)
        name = f"{len(self._places) + 1}" + ("" if found is None else f".{found.suffix}")
        media[name], address = content, f"{_ADDRESS}/{name}"
        self._places[address] = f"{self._emulator.url}/media/{int(at.timestamp())}/{name}"
        return address

    def located(self, url: str) -> str:
        """The address at which the gateway has a file."""
        return self._places.get(url, url)


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
