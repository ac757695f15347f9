"""What an engine that dies remembers of the bot's files, in a file that the supervisor holds."""

from base64 import b64encode
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from socket import gethostname
from typing import Any, cast

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import SystemClock
from bot.core.engine_requests import PublishVersion
from bot.language.flow.documents import Source
from bot.loading.folder import Folder, read_folder
from bot.server.process.program_loader import LastGood, ProgramLoader, SettingMissing, VersionRefused
from bot.store.database import Database
from bot.store.files import StoreUnavailable
from bot.store.opening import engine_reader, engine_writer
from bot.store.published_versions import add_version, newest_version
from bot.store.sqlite_schema import migrate

LONG = Folder(Path("bot"), (Source("bot.yml", b"name: Long\n" + b"# more\n" * 1000),), (Source("handlers.py", b"1"),))
SHORT = Folder(Path("bot"), (Source("bot.yml", b"name: Short\n"),), (Source("handlers.py", b"exit()"),))


def test_the_last_files_that_were_good_are_remembered_whatever_is_tried_after_them() -> None:
    file = BytesIO()
    remembers = LastGood(file)
    for good in (LONG, SHORT):
        remembers.keep(good)
        remembers.trying(LONG)
        assert LastGood(file).folder == good


def test_a_full_disk_stops_no_engine_which_remembers_nothing_beyond_its_own_life_then() -> None:
    with Path("/dev/full").open("r+b", buffering=0) as file:
        remembers = LastGood(file)
        remembers.trying(SHORT)
        remembers.keep(SHORT)
        assert remembers.folder == SHORT and LastGood(file).folder is None


def test_python_at_whose_import_the_process_died_three_times_in_a_row_is_deadly() -> None:
    file = BytesIO()
    for _ in range(3):
        assert not LastGood(file).is_deadly(SHORT)
        LastGood(file).trying(SHORT)
    assert LastGood(file).is_deadly(SHORT)
    assert not LastGood(file).is_deadly(LONG)


def test_one_import_that_the_process_survives_ends_the_suspicion() -> None:
    file = BytesIO()
    for _ in range(3):
        LastGood(file).trying(SHORT)
    LastGood(file).survived()
    assert not LastGood(file).is_deadly(SHORT)


def test_files_that_are_good_are_no_longer_suspected_of_what_was_tried_before_them() -> None:
    file = BytesIO()
    remembers = LastGood(file)
    remembers.keep(SHORT)
    for _ in range(3):
        remembers.trying(SHORT)
    remembers.keep(SHORT)
    assert not LastGood(file).is_deadly(SHORT)


def test_files_that_are_saved_again_and_again_without_a_change_are_loaded_each_time(tmp_path: Path) -> None:
    (tmp_path / "bot.yml").write_text("name: Test\n")
    (tmp_path / "handlers.py").write_text("from bot import handler\n")
    (tmp_path / "main.yml").write_text("flow: main\nstart: {otherwise: true}\nsteps: {s: {say: Hi., then: end}}\n")
    migrate(tmp_path / "bot.db")
    with closing(engine_reader(tmp_path / "bot.db")) as versions:
        reloads = ProgramLoader(tmp_path, BytesIO(), versions)
        reloads.newest()
        assert all(reloads.again() is not None for _ in range(6))


class SometimesAway:
    """A store's database that cannot be reached now and then."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.away: Callable[[str], bool] = lambda sql: False

    def one(self, sql: str, *parameters: Any) -> Any:
        if self.away(sql):
            raise StoreUnavailable("it is away", "wait")
        return self.database.one(sql, *parameters)

    def all(self, sql: str, *parameters: Any) -> list[Any]:
        return self.database.all(sql, *parameters)


def test_an_engine_that_waits_serves_no_older_version_because_the_store_was_away_when_it_read_the_newest(
    tmp_path: Path,
) -> None:
    migrate(tmp_path / "bot.db")
    with closing(engine_writer(tmp_path / "bot.db")) as database:
        store = SometimesAway(database)
        loader = ProgramLoader(tmp_path, BytesIO(), cast(Database, store))
        for after, name in enumerate(("one", "two")):
            flow = f"flow: {name}\nstart: {{otherwise: true}}\nsteps: {{s: {{say: Hi., then: end}}}}\n"
            files = Source("bot.yml", b"name: Test\n"), Source("main.yml", flow.encode())
            now = datetime(2030, 5, 6, tzinfo=UTC)
            add_version(database, Folder(tmp_path, files, ()), after=after, by="ann", note="", now=now)
            store.away = lambda sql, after=after: after == 1 and "content" in sql  # type: ignore[misc]
            if after:
                with pytest.raises(StoreUnavailable):
                    loader.newest()
                store.away = lambda sql: False
            assert [*loader.newest().library.flows] == [name]


def test_a_version_that_cannot_be_loaded_is_tried_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    migrate(tmp_path / "bot.db")
    with closing(engine_writer(tmp_path / "bot.db")) as database:
        files = Folder(tmp_path, (Source("bot.yml", b"name: [\n"),), ())
        add_version(database, files, after=0, by="ann", note="", now=datetime(2030, 5, 6, tzinfo=UTC))
        loader = ProgramLoader(tmp_path, BytesIO(), database)
        for _ in range(3):
            with pytest.raises(
                VersionRefused, match=f"version 1, which ann has published, cannot be loaded on {gethostname()}"
            ):
                loader.newest()
    assert capsys.readouterr().err.count("E002") == 1


def test_flows_that_keep_files_which_only_one_of_several_machines_would_have_are_neither_published_nor_loaded_again(
    tmp_path: Path,
) -> None:
    keeps = "flow: main\nstart: {otherwise: true}\nvars: {photo: {type: media, keep: true}}\nsteps: {s: {ask: A photo?, save: photo}}\n"
    ends = "name: Test\ndefaults: {timeout: {after: 20h, then: end}, errors: {else: end}}\n"
    (tmp_path / "bot.yml").write_text(ends)
    (tmp_path / "main.yml").write_text("flow: main\nstart: {otherwise: true}\nsteps: {s: {say: Hi., then: end}}\n")
    migrate(tmp_path / "bot.db")
    with closing(engine_writer(tmp_path / "bot.db")) as database:
        loader = ProgramLoader(tmp_path, BytesIO(), database, shares_files=False)
        served = loader.newest()
        loader.tell(alarms := Alarms(SystemClock()))
        (tmp_path / "main.yml").write_text(keeps)
        assert loader.again() is None
        (alarm,) = alarms.current()
        assert alarm.advice.endswith("or to s3://bucket/prefix, and restart the server")
        content = b64encode(read_folder(tmp_path).packed()).decode()
        with pytest.raises(SettingMissing, match="set BOT_FILES to a folder that all machines share"):
            loader.publish(PublishVersion(0, content), database, lambda program: None)
        assert (newest_version(database), loader.newest()) == (None, served)
        files = read_folder(tmp_path)
        add_version(database, files, after=0, by="ann", note="", now=datetime(2030, 5, 6, tzinfo=UTC))  # from elsewhere
        with pytest.raises(VersionRefused, match=r"version 1, .*: set BOT_FILES to .*, and restart the server, or"):
            loader.newest()


def test_flows_whose_secrets_are_missing_are_neither_published_nor_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bot.yml").write_text("name: Test\n")
    (tmp_path / "main.yml").write_text("flow: main\nstart: {otherwise: true}\nsteps: {s: {say: Hi., then: end}}\n")
    migrate(tmp_path / "bot.db")
    with closing(engine_writer(tmp_path / "bot.db")) as database:
        loader = ProgramLoader(tmp_path, BytesIO(), database)
        served = loader.newest()
        loader.tell(alarms := Alarms(SystemClock()))
        (tmp_path / "bot.yml").write_text("name: Test\nsecrets: [CRM_KEY, MAP_KEY]\n")
        monkeypatch.setenv("MAP_KEY", "sk-of-the-map")
        assert loader.again() is None
        (alarm,) = alarms.current()
        missing = (
            "CRM_KEY is missing: set it, in the environment or in .env, since bot.yml names it, and restart the server"
        )
        assert alarm.advice == missing
        content = b64encode(read_folder(tmp_path).packed()).decode()
        with pytest.raises(SettingMissing, match=missing):
            loader.publish(PublishVersion(0, content), database, lambda program: None)
        assert (newest_version(database), loader.newest()) == (None, served)
        files = read_folder(tmp_path)
        add_version(database, files, after=0, by="ann", note="", now=datetime(2030, 5, 6, tzinfo=UTC))  # from elsewhere
        with pytest.raises(VersionRefused, match=f"version 1, .*: {missing}, or `bot rollback`"):
            loader.newest()
        monkeypatch.setenv("CRM_KEY", "sk-of-the-crm")
        assert ProgramLoader(tmp_path, BytesIO(), database).newest().library.bot.secrets == ("CRM_KEY", "MAP_KEY")
