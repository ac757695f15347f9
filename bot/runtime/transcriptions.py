"""Performs `Transcribe`: fetches a voice note, has a handler or a service transcribe it, and deletes the file."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Any

from bot.core.effects import PASSING, Call, Fetch, HttpRequest, Transcribe
from bot.core.messages import MEDIA_BYTES
from bot.core.values import Media
from bot.runtime.file_calls import MARGIN
from bot.runtime.performers import CallAttempt, Perform, Say
from bot.store.kept_files import FilesUnavailable
from bot.store.rows import CallRow

_PASSING = ("timeout", "unreachable", *map(str, PASSING))

Known = Callable[[str], str | None]
"""Returns the words of the voice note at an address; None if it must be transcribed."""


class Transcriptions:
    """Performs `Transcribe`, with what fetches, calls, requests, and removes files. Safe to use from many threads.

    ``known`` says what voice notes say that a person only pretends to speak, in a chat or a test.
    """

    def __init__(
        self, fetch: Perform, call: Perform, request: Perform, known: Known, remove: Callable[[str], None]
    ) -> None:
        self._fetch = fetch
        self._call = call
        self._request = request
        self._known = known
        self._remove = remove

    def __call__(self, row: CallRow, say: Say) -> CallAttempt:
        """Transcribe the row's voice note. Raises nothing."""
        effect = row.effect
        assert isinstance(effect, Transcribe)
        said = self._known(effect.media.url)
        if said is not None:
            return CallAttempt("done", said)
        began, most = monotonic(), MEDIA_BYTES[effect.media.kind]
        fetch = Fetch(effect.media, most, within=effect.seconds + MARGIN)
        fetched = self._fetch(replace(row, effect=fetch), say)
        if fetched.outcome != "done":
            return fetched
        try:
            left = effect.seconds - (monotonic() - began)
            return self._asked(row, effect.by, fetched.value, left, say)
        finally:
            with suppress(OSError, FilesUnavailable):  # it goes with its contact at the latest
                self._remove(fetched.value.file)

    def _asked(self, row: CallRow, by: Call | HttpRequest, file: Media, left: float, say: Say) -> CallAttempt:
        if left <= 0:
            return CallAttempt("timeout", detail="fetching the voice note took too long", again=True)
        if isinstance(by, Call):
            return self._call(replace(row, effect=replace(by, arguments=_given(by.arguments, file))), say)
        request = replace(by, files=_given(by.files, file), seconds=left)
        ended = self._request(replace(row, effect=request), say)
        passes = ended.outcome in _PASSING or ended.outcome.startswith("5")  # who transcribes twice changes nothing
        return replace(ended, again=ended.again or passes)


def _given(values: dict[str, Any], file: Media) -> dict[str, Any]:
    """The values with the fetched voice note where it is meant."""
    return {name: file if _is_meant(value) else value for name, value in values.items()}


def _is_meant(value: Any) -> bool:
    return isinstance(value, Media) and value.file == ""
