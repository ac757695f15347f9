"""The transcription of a voice note: what is fetched, who is asked, what is left on the disk."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.core.effects import Call, Fetch, HttpRequest, Transcribe
from bot.core.values import Media
from bot.runtime.performers import CallAttempt, Say
from bot.runtime.transcriptions import Transcriptions
from bot.store.kept_files import FolderFiles
from bot.store.rows import CallRow

VOICE = Media("audio", "https://files.example/1.ogg")
MEANT = replace(VOICE, file="")
CALL = Call("speech.words", {"voice": MEANT, "language": "en"})
REQUEST = HttpRequest("POST", "https://speech.example/x", files={"file": MEANT})
SECONDS = 20.0


class Bench:
    """Stands where those are who fetch, call and request; notes what each was given."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "1.ogg"
        self.kept = replace(VOICE, file=str(self.file), type="audio/ogg")
        self.given: list[Any] = []
        self.fetched = CallAttempt("done", self.kept)
        self.ended: Callable[[], CallAttempt] = lambda: CallAttempt("done", "hi")

    def transcribe(self, by: Call | HttpRequest, known: str | None = None) -> CallAttempt:
        row = CallRow(1, "e1#0", "key", "6281234567890", Transcribe(VOICE, by, SECONDS), 0, datetime.now(UTC))
        files = FolderFiles(self.file.parent)
        transcribe = Transcriptions(self._fetch, self._ask, self._ask, lambda url: known, files.remove)
        return transcribe(row, lambda text: True)

    def _fetch(self, row: CallRow, say: Say) -> CallAttempt:
        self.given.append(row.effect)
        if self.fetched.outcome == "done":
            self.file.write_bytes(b"OggS")
        return self.fetched

    def _ask(self, row: CallRow, say: Say) -> CallAttempt:
        assert self.file.exists() and row.key == "key"
        self.given.append(row.effect)
        return self.ended()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_handler_is_given_the_file_which_is_deleted_when_it_has_ended(bench: Bench) -> None:
    assert bench.transcribe(CALL) == CallAttempt("done", "hi")
    assert bench.given[1] == replace(CALL, arguments={"voice": bench.kept, "language": "en"})
    assert not bench.file.exists()


def test_a_request_carries_the_file_and_has_the_time_that_is_left(bench: Bench) -> None:
    bench.transcribe(REQUEST)
    fetch, request = bench.given
    assert isinstance(fetch, Fetch) and fetch.media == VOICE and fetch.most == 16 << 20
    assert request.files == {"file": bench.kept}
    assert fetch.within == SECONDS + 5 and 0.95 * SECONDS < request.seconds <= SECONDS
    assert not bench.file.exists()


def test_the_file_is_deleted_whatever_happens(bench: Bench) -> None:
    def fail() -> CallAttempt:
        raise RuntimeError

    bench.ended = fail
    with pytest.raises(RuntimeError):
        bench.transcribe(CALL)
    assert not bench.file.exists()


def test_what_cannot_be_fetched_is_given_to_nobody(bench: Bench) -> None:
    bench.fetched = CallAttempt("NotFetched", detail="it is gone", again=True)
    assert bench.transcribe(CALL) == bench.fetched
    assert len(bench.given) == 1


@pytest.mark.parametrize(("outcome", "again"), [("500", True), ("503", True), ("429", True), ("timeout", True),
                                                ("unreachable", True), ("400", False), ("401", False)])  # fmt: skip
def test_a_service_that_is_down_is_asked_again_also_with_a_post(bench: Bench, outcome: str, again: bool) -> None:
    bench.ended = lambda: CallAttempt(outcome)
    assert bench.transcribe(REQUEST).again is again


def test_what_a_voice_note_is_known_to_say_needs_nobody(bench: Bench) -> None:
    assert bench.transcribe(REQUEST, known="hello") == CallAttempt("done", "hello")
    assert bench.given == []
