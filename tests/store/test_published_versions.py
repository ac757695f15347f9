"""Published versions in both kinds of stores."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from bot.language.flow.documents import Source
from bot.loading.folder import Folder
from bot.store.database import Database
from bot.store.opening import engine_writer
from bot.store.published_versions import (
    NoSuchVersion,
    PublishRefused,
    add_version,
    files_of,
    newest_version,
    publish_request,
    served_version,
    versions,
)
from bot.store.sqlite_schema import migrate
from tests.postgres import new_database

NOON = datetime(2030, 5, 6, 12, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        migrate(tmp_path / "bot.db")
        with closing(engine_writer(tmp_path / "bot.db")) as opened:
            yield opened
    else:
        with new_database(request.getfixturevalue("postgres"), tmp_path) as address:
            with closing(engine_writer(address)) as opened:
                yield opened


def add(database: Database, files: Folder | None, after: int) -> int:
    return add_version(database, files, after=after, by="ann", note="why\0", now=NOON).number


def files(name: str) -> Folder:
    documents = (Source("menu.md", b"\xff\0" + name.encode()),)
    return Folder(
        Path("bot"), (Source("bot.yml", f"name: {name}".encode()),), (Source("handlers.py", b"x"),), documents
    )


def test_a_version_has_the_files_as_they_were(database: Database) -> None:
    before = database.version()
    assert add(database, files("one"), 0) == 1
    assert database.version() != before or isinstance(database.place, Path)  # a page of the console is loaded anew
    assert files_of(database, 1, Path("bot")) == files("one")
    found = newest_version(database)
    assert found == served_version(database)
    assert found is not None and (found.number, found.at, found.by) == (1, NOON, "ann")


def test_the_newest_one_is_served_or_the_files_of_each_machine(database: Database) -> None:
    assert newest_version(database) is None
    add(database, files("one"), 0)
    add(database, None, 1)
    assert served_version(database) is None
    with pytest.raises(NoSuchVersion, match="no version 2 with files"):
        files_of(database, 2, Path("bot"))
    add(database, files("one"), 2)
    assert [version.digest is None for version in versions(database)] == [False, True, False]


def test_the_same_files_and_what_another_has_published_meanwhile_are_refused(database: Database) -> None:
    add(database, files("one"), 0)
    with pytest.raises(PublishRefused, match="version 1 has the same files, and is served already"):
        add(database, files("one"), 1)
    with pytest.raises(PublishRefused, match="ann has published version 1 meanwhile: look again"):
        add(database, files("two"), 0)


def test_the_newest_fifty_are_kept(database: Database) -> None:
    for after in range(52):
        add(database, files(str(after)), after)
    assert [version.number for version in versions(database, 100)] == [*range(52, 2, -1)]


def test_a_bot_that_no_request_could_hold_is_refused_before_it_is_sent() -> None:
    large = Folder(Path("bot"), (), (), (Source("menu.md", Random(1).randbytes(24 << 20)),))
    with pytest.raises(PublishRefused, match="the bot has 32 MB packed, 31 are possible"):
        publish_request(large, "", after=0, by="ann")
