"""Two files that do not belong together, or are damaged, are found before anything is taken."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.files import StoreDamaged, StoreUnavailable, inbox_path
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.integrity import StoresDiffer, check_pair, check_whole
from bot.store.sqlite_schema import migrate
from tests.patience import PATIENCE
from tests.store.store_kit import START, append, clock


def come(path: Path, *ids: str) -> None:
    """So many events come in."""
    with closing(InboxWriter(path, clock(), patience=PATIENCE)) as inbox:
        for id in ids:
            append(inbox, id)


def take(path: Path) -> None:
    """The engine takes all there is."""
    with closing(EngineStore(path)) as store, closing(InboxReader(path)) as log:
        commit = Commit(store.cursor, START)
        for row in log.after(store.cursor, 100):
            commit.move_cursor(row.seq, row.event_id)
        store.write(commit)


def prune(path: Path) -> None:
    """A week later the web process has looked after its file."""
    with closing(InboxWriter(path, clock(), patience=PATIENCE)) as inbox, closing(EngineStore(path)) as store:
        inbox.prune(store.cursor, timedelta(days=-1))


def copies(path: Path, folder: str) -> Path:
    shutil.copytree(path.parent, path.parent.parent / folder)
    return path.parent.parent / folder / path.name


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store that has taken two events, and a third has come."""
    (tmp_path / "store").mkdir()
    store = tmp_path / "store" / "bot.db"
    migrate(store)
    come(store, "evt_1", "evt_2")
    take(store)
    come(store, "evt_3")
    return store


def test_files_that_belong_together_are_of_one_age_however_often_they_are_migrated(path: Path) -> None:
    migrate(path)
    age = check_pair(path)
    assert (age.cursor, age.last, age.taken_again) == (2, 3, 0)


def test_an_older_inbox_is_refused_however_far_it_has_grown_meanwhile(path: Path) -> None:
    """As a loop of restarts has it: nothing is skipped because the numbers have caught up."""
    old = copies(path, "old")
    take(path)
    come(path, "evt_4")
    take(path)
    shutil.copy(inbox_path(old), inbox_path(path))
    with pytest.raises(StoresDiffer, match=r"up to number 4, and in .* the log ends at 3.*`bot restore"):
        migrate(path)
    come(path, "evt_5", "evt_6")
    for _ in range(3):
        with pytest.raises(StoresDiffer, match=r"up to number 4, and in .* that number is another event"):
            migrate(path)


def test_a_log_that_has_lost_the_event_at_the_cursor_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(inbox_path(path))) as log, log:
        log.execute("DELETE FROM log WHERE seq = 2")
    with pytest.raises(StoresDiffer, match="is an older copy, or has lost events"):
        check_pair(path)


def test_what_is_pruned_leaves_the_files_together(path: Path) -> None:
    take(path)
    prune(path)
    assert check_pair(path).cursor == 3
    with closing(InboxReader(path)) as log:
        assert [row.event_id for row in log.after(0, 9)] == ["evt_3"]


def test_an_older_engines_file_takes_again_what_the_log_still_has(path: Path) -> None:
    old = copies(path, "old")
    take(path)
    come(path, "evt_4")
    take(path)
    with closing(InboxWriter(path, clock(), patience=PATIENCE)) as inbox:
        inbox.prune(4)
    shutil.copy(old, path)
    migrate(path)
    assert check_pair(path).taken_again == 2


@pytest.mark.parametrize("made", [True, False])
def test_an_engines_file_that_is_older_than_what_the_log_has_deleted_is_refused(tmp_path: Path, made: bool) -> None:
    path = tmp_path / "store" / "bot.db"
    path.parent.mkdir()
    migrate(path)
    if made:  # else it never took anything
        come(path, "evt_0")
        take(path)
    old = copies(path, "old")
    come(path, "evt_1", "evt_2", "evt_3")
    take(path)
    prune(path)
    shutil.copy(old, path)
    with pytest.raises(StoresDiffer, match=r"is too old for .*`bot restore BACKUP --keep-inbox`"):
        migrate(path)


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize(("which", "advice"), [(lambda p: p, "--keep-inbox"), (inbox_path, "--new-inbox")])
def test_a_file_that_is_missing_or_empty_is_not_silently_replaced(
    path: Path, which: Callable[[Path], Path], advice: str, empty: bool
) -> None:
    which(path).write_bytes(b"") if empty else which(path).unlink()
    for _ in range(2):
        with pytest.raises(StoresDiffer, match=f"{which(path).name} is missing or empty.*`bot restore.* {advice}"):
            migrate(path)


def test_a_first_start_that_was_killed_between_the_two_files_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "bot.db"
    migrate(path)
    with closing(sqlite3.connect(inbox_path(path))) as log, log:
        log.execute("UPDATE meta SET store_id = NULL")
    migrate(path)
    assert check_pair(path).cursor == 0


def test_trouble_while_a_store_is_brought_up_to_date_names_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr("bot.store.sqlite_schema.open_to_migrate", full)
    with pytest.raises(StoreUnavailable, match=r"bot\.db cannot be used now \(database or disk is full\)"):
        migrate(path)


def test_files_of_two_stores_are_refused(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    migrate(other)
    for ours, theirs in ((path, other), (inbox_path(path), inbox_path(other))):
        before = ours.read_bytes()
        shutil.copy(theirs, ours)
        with pytest.raises(StoresDiffer, match="not of one store"):
            migrate(path)
        ours.write_bytes(before)


def test_the_two_files_in_each_others_place_are_refused(path: Path) -> None:
    engine, inbox = path.read_bytes(), inbox_path(path).read_bytes()
    path.write_bytes(inbox)
    inbox_path(path).write_bytes(engine)
    with pytest.raises(StoresDiffer, match=r"bot\.db is another file than it should be"):
        migrate(path)


def test_another_programs_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "bot.db"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE bookmarks (a)")
    with pytest.raises(StoresDiffer, match="is another file than it should be"):
        migrate(path)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]


def noise(data: bytes) -> bytes:
    return random.Random(7).randbytes(len(data))


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def torn(data: bytes) -> bytes:
    return data[:-1000]


def page(data: bytes) -> bytes:
    return data[:8192] + b"\x05" * 4096 + data[12288:]


def zeroes(data: bytes) -> bytes:
    return data[:4096] + bytes(8192) + data[12288:]


DAMAGES: tuple[Callable[[bytes], bytes], ...] = (noise, half, torn, page, zeroes)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("which", [lambda path: path, inbox_path], ids=["engine", "inbox"])
def test_a_damaged_file_is_found_at_the_start_and_the_words_say_what_restores_it(
    path: Path, which: Callable[[Path], Path], damage: Callable[[bytes], bytes]
) -> None:
    which(path).write_bytes(damage(which(path).read_bytes()))
    advice = "--new-inbox" if which is inbox_path else "BACKUP --keep-inbox"
    with pytest.raises(
        StoreDamaged, match=rf"{which(path).name} is damaged \(.*\): stop the bot, then `bot restore {advice}`"
    ):
        migrate(path)


def test_a_look_through_a_large_file_ends_when_its_time_is_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.integrity._STEPS", 1)
    path.write_bytes(page(path.read_bytes()))
    check_whole(path, seconds=-1)
    with pytest.raises(StoreDamaged):
        check_whole(path)


def test_a_damaged_row_is_damage(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET store_id = CAST(x'ff' AS TEXT)")
    with pytest.raises(StoreDamaged, match="is damaged"):
        check_pair(path)


def test_a_file_that_has_lost_what_it_says_of_itself_is_damaged(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM meta")
    with pytest.raises(StoreDamaged, match="is damaged"):
        migrate(path)


class Damaged:
    """A connection to a file whose pages cannot be read."""

    in_transaction = False

    def __getattr__(self, name: str) -> object:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.written_at(),
        lambda store: store.broadcasts.paused(),
        lambda store: store.runs.caught_up(),
        lambda store: store.runs.begin(),
        lambda store: store.clock_set_back(START, timedelta(hours=1)),
        lambda store: store.prune(START),
        lambda store: store.erasures.numbers_of("6281234567890"),
        lambda store: store.erase("6281234567890", 1, START),
        lambda store: store.erasures.finish(lambda contact, upto: False),
    ],
    ids=["row", "rows", "write", "run", "clock", "prune", "numbers", "erase", "erasures"],
)
def test_damage_that_is_met_while_it_runs_names_the_file(path: Path, use: Callable[[EngineStore], object]) -> None:
    with closing(EngineStore(path)) as store, pytest.MonkeyPatch.context() as patched:
        patched.setattr(store.database, "connection", Damaged())
        with pytest.raises(StoreDamaged, match=r"bot\.db is damaged .*: stop the bot, then `bot restore"):
            use(store)
