"""Files that contacts send, kept in a real S3-like store: what is there, what a handler gets, and what is said of trouble."""

import socket
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import SystemClock
from bot.core.effects import Call, Fetch, HttpRequest, Performed, RunHook
from bot.core.values import Media
from bot.runtime.file_calls import Downloads, FileCalls, LocalFiles, keep_made
from bot.runtime.performers import CallAttempt, Say
from bot.server import doctor
from bot.store import kept_files
from bot.store.database import PostgresAddress
from bot.store.files import StoreUnavailable
from bot.store.kept_files import ObjectFiles, contact_path, read_kept
from bot.store.rows import CallRow
from bot.testing.emulator.event_payloads import SAMPLES
from tests.patience import wait_for
from tests.s3_store import BUCKET, s3_store
from tests.services.gateway.peer import Peer, answer, peer

ANN, BOB = "6281234567890", "6289876543210"
URL = f"s3://{BUCKET}/bots/cafe"
PNG = SAMPLES["image"]


class Bench:
    """An S3-like store with its folder, and a gateway that has a file."""

    def __init__(self, folder: Path, gateway: Peer) -> None:
        self.folder = folder / "objects" / BUCKET / "bots" / "cafe"
        self.gateway = gateway
        self.alarms = Alarms(SystemClock())
        self.files = ObjectFiles(URL, folder / "bot", self.alarms)
        self.copies = folder / "bot.copies"

    def fetch(self, contact: str = ANN, key: str = "key") -> CallAttempt:
        self.gateway.answers(answer(200, PNG))
        row = row_of(Fetch(Media("image", f"{self.gateway.url}/1"), 1000), contact, key)
        return FileCalls(Downloads(self.gateway.url), self.files)(row, lambda text: True)

    def objects(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def erase(self, contact: str) -> None:
        wait_for(lambda: self.files.erase(contact))


def row_of(effect: Performed, contact: str = ANN, key: str = "key") -> CallRow:
    return CallRow(1, "e1#0", key, contact, effect, 0, datetime(2030, 5, 1, tzinfo=UTC))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    folder = tmp_path_factory.mktemp("s3")
    with s3_store(folder / "objects") as variables:
        yield folder, variables


@pytest.fixture
def bench(store: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    folder, variables = store
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with peer() as gateway:
        made = Bench(folder, gateway)
        yield made
        for contact in (ANN, BOB):
            made.erase(contact)


def test_a_file_is_one_object_in_its_contacts_own_place_and_is_fetched_once(bench: Bench) -> None:
    ended = bench.fetch()
    assert ended.outcome == "done" and ended.value.type == "image/png"
    assert ended.value.file == f"{URL}/{contact_path(ANN)}/key.png"
    bench.gateway.by_default = answer(404, b"")
    assert bench.fetch() == ended
    assert bench.objects() == [f"{contact_path(ANN)}/key.png"] and ANN not in ended.value.file
    assert (bench.folder / bench.objects()[0]).read_bytes() == PNG


def test_a_file_that_a_handler_makes_is_an_object_too(bench: Bench) -> None:
    made = keep_made(bench.files, row_of(Call("shop.bill", {})), PNG)
    assert made.file == f"{URL}/{contact_path(ANN)}/key.png"
    assert read_kept(bench.files, ANN, "key.png") == PNG


def test_an_erasure_takes_all_objects_of_the_contact_and_waits_for_one_that_is_on_its_way(bench: Bench) -> None:
    for contact, key in ((ANN, "1"), (ANN, "2"), (BOB, "3")):
        bench.fetch(contact, key)
    with bench.files.begin(ANN, "4", 1000) as file:
        file.write(PNG)
        assert not bench.files.erase(ANN)
        file.keep("png")
    bench.erase(ANN)
    assert bench.files.of(ANN) == [] and bench.objects() == [f"{contact_path(BOB)}/3.png"]


def test_a_file_that_could_not_be_begun_holds_up_no_erasure(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as full, pytest.raises(OSError):
        full.setattr(tempfile, "tempdir", "/dev/full")
        bench.files.begin(ANN, "1", 1000)
    bench.erase(ANN)


def _given(effect: Call | RunHook) -> dict[str, Any]:
    return effect.arguments if isinstance(effect, Call) else effect.told


def test_a_handler_a_hook_and_a_service_get_a_copy_that_is_gone_afterwards(bench: Bench) -> None:
    photo = bench.fetch().value
    seen: list[bytes] = []

    def perform(row: CallRow, say: Say) -> CallAttempt:
        given: Any = row.effect
        found: Any = given.files["photo"] if isinstance(given, HttpRequest) else _given(given)["photos"][0]
        seen.append(Path(found.file).read_bytes())
        assert found.file.endswith("/key.png")
        return CallAttempt("done", {"best": found})

    calls = LocalFiles(bench.files, perform)
    assert calls(row_of(Call("pick", {"photos": [photo]})), lambda text: True).value == {"best": photo}
    assert calls(row_of(RunHook("told", {"photos": [photo]})), lambda text: True).outcome == "done"
    request = HttpRequest("POST", "crm:/x", files={"photo": photo})
    assert calls(row_of(request), lambda text: True).outcome == "done"
    assert seen == [PNG] * 3 and list(bench.copies.iterdir()) == []
    bench.files.remove(photo.file)
    ended = calls(row_of(Call("pick", {"photos": [photo]})), lambda text: True)
    assert (ended.outcome, ended.detail) == ("error", "a kept file cannot be read: it is gone")


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("AWS_ACCESS_KEY_ID", "another", "refuses the key: AWS_ACCESS_KEY_ID is wrong"),
        ("AWS_SECRET_ACCESS_KEY", "another", "refuses the key: AWS_SECRET_ACCESS_KEY is wrong"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1", "there is no connection: check AWS_ENDPOINT_URL"),
        ("BUCKET", "none", "the bucket none of BOT_FILES does not exist: make it, or name another"),
    ],
)
def test_what_is_wrong_with_the_store_is_said_in_words(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    with monkeypatch.context() as wrong, pytest.raises(StoreUnavailable, match=words):
        wrong.setenv(variable, value)
        url = f"s3://{value}" if variable == "BUCKET" else URL
        (found,) = doctor.kept(PostgresAddress("postgresql://db/bot", bench.copies, url))
        assert found.state == "fail" and words in f"{found.what}: {found.advice}"
        ObjectFiles(url, bench.copies, bench.alarms).check()
    assert [alarm.name for alarm in bench.alarms.current()] == ["files-unavailable"]
    bench.files.check()
    assert bench.alarms.current() == []


def test_a_store_that_hangs_is_not_waited_for_and_the_file_is_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, monkeypatch.context() as changed:
        changed.setattr(kept_files, "REQUEST_SECONDS", 0.2)
        changed.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        bench.files = ObjectFiles(URL, bench.copies)
        ended = bench.fetch()
    bench.files = ObjectFiles(URL, bench.copies)
    assert ended.outcome == "NotFetched" and ended.again and "it did not answer in time" in ended.detail
