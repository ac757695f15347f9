"""The files that the contacts of a simulation send: their addresses are the same in each run."""

from datetime import datetime

from bot.core.filetypes import END, type_of
from bot.testing.emulator import Emulator

_ADDRESS = "https://files.example"


class SentFiles:
    """Files by their addresses: ``https://files.example/1.jpg`` is the first one that was sent, a JPG."""

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
