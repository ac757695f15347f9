"""The versions of a bot that were published: the newest is what engines serve, on all machines.

A version whose ``content`` is NULL says that engines follow the files of their own machines again, as before the first
version.
"""

from base64 import b64encode
from datetime import datetime
from pathlib import Path

from bot.core.engine_answers import VersionPublished
from bot.core.engine_requests import PublishVersion, answer_as_json
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.values import json_text, storable, time_text
from bot.loading.folder import FileChanges, Folder, NoBot, file_changes, read_folder, unpacked
from bot.store.commit import ANSWER
from bot.store.database import REQUEST_BYTES, Database

KEPT_VERSIONS = 50
_LISTED = "SELECT id, at, published_by, note, digest FROM versions ORDER BY id DESC LIMIT ?"
_CONTENT = "SELECT content FROM versions WHERE id = ? AND content IS NOT NULL"
_ADD = "INSERT INTO versions (id, at, published_by, note, digest, content) VALUES (?, ?, ?, ?, ?, ?)"
_FORGET = "DELETE FROM versions WHERE id <= ?"
_COMMITTED = "UPDATE meta SET written_at = ?"


class NoSuchVersion(BotError):
    """There is no version with this number, or it has no content."""


class PublishRefused(BotError):
    """A version is not published; the text says why."""


@immutable
class PublishedVersion:
    """A version, without its content. ``digest`` is the content's; None if engines follow their machines' files."""

    number: int
    at: datetime
    by: str
    note: str
    digest: str | None


def versions(database: Database, limit: int = KEPT_VERSIONS) -> list[PublishedVersion]:
    """The versions, the newest first: that is the one which is served."""
    return [
        PublishedVersion(number, datetime.fromisoformat(at), by, note, digest)
        for number, at, by, note, digest in database.all(_LISTED, limit)
    ]


def newest_version(database: Database) -> PublishedVersion | None:
    """The newest version; None if there is none."""
    return next(iter(versions(database, 1)), None)


def served_version(database: Database) -> PublishedVersion | None:
    """The version that is served; None if engines follow the files of their machines."""
    newest = newest_version(database)
    return None if newest is None or newest.digest is None else newest


def files_of(database: Database, number: int, path: Path) -> Folder:
    """The files of a version, as if they were in the folder at ``path``. Raises `NoSuchVersion`."""
    found = database.one(_CONTENT, number)
    if found is None:
        raise NoSuchVersion(f"there is no version {number} with files (`bot versions` lists them)")
    return unpacked(path, found[0])


def history(
    database: Database, path: Path, limit: int = KEPT_VERSIONS
) -> list[tuple[PublishedVersion, FileChanges | None]]:
    """The versions as `versions` lists them, each with its differences from the one before; None if it has no files."""
    listed, found = versions(database, limit + 1), []
    before: Folder | None = None
    for version in reversed(listed):
        files = None if version.digest is None else files_of(database, version.number, path)
        found.append((version, None if files is None else file_changes(before, files)))
        before = files or before
    return found[::-1][:limit]


def version_before(database: Database, number: int) -> PublishedVersion | None:
    """The last version with files before one."""
    return next((one for one in versions(database) if one.number < number and one.digest is not None), None)


def served_files(database: Database, files: Folder) -> Folder:
    """The files that are served: of the newest version, else those of this machine."""
    served = served_version(database)
    return files if served is None else files_of(database, served.number, files.path)


def publish_request(files: Folder | None, note: str, *, after: int, by: str, name: str = "") -> PublishVersion:
    """A request to publish files with the arguments of `add_version`. Raises `PublishRefused` for files too large."""
    content = None if files is None else b64encode(files.packed()).decode()
    if content is not None and len(content) > REQUEST_BYTES - 10_000:
        raise PublishRefused(f"nothing is published: the bot has {len(content) >> 20} MB packed, 31 are possible")
    return PublishVersion(after, content, note, name, by=by)


def add_version(
    database: Database,
    files: Folder | None,
    *,
    after: int,
    by: str,
    note: str,
    now: datetime,
    asked_as: str | None = None,
) -> PublishedVersion:
    """Add a version in a durable commit; without ``files`` engines follow those of their machines from now on.

    ``after`` is the newest version that the publisher knew. Raises `PublishRefused` if there is another one, whose
    effect on the conversations nobody has looked at, or if these files are served already. ``asked_as`` is the name of
    a request of another machine: see `bot.store.commit.ANSWER`.
    """
    digest, content = (None, None) if files is None else (files.digest, files.packed())
    with database.transaction() as execute:
        newest = newest_version(database)
        if (0 if newest is None else newest.number) != after:
            assert newest is not None
            raise PublishRefused(f"{newest.by} has published version {newest.number} meanwhile: look again")
        if (None if newest is None else newest.digest) == digest:
            raise PublishRefused("nothing is published: " + already_served(newest))
        added = PublishedVersion(after + 1, now, by, note, digest)
        execute(_ADD, (added.number, time_text(now), storable(by), storable(note), digest, content))
        execute(_FORGET, (added.number - KEPT_VERSIONS,))
        execute(_COMMITTED, (time_text(now),))
        if asked_as is not None:
            execute(ANSWER, (json_text(answer_as_json(VersionPublished(added.number))), asked_as))
    return added


def already_served(served: PublishedVersion | None) -> str:
    """The reason why nothing is published, in words: the same is served already."""
    if served is None or served.digest is None:
        return "the files in the folder are followed already"
    return f"version {served.number} has the same files, and is served already"


def in_folder(served: PublishedVersion, path: Path) -> tuple[bool, str]:
    """True if the files of a folder differ from those that are served; and a text that says how they compare."""
    try:
        differs = read_folder(path).digest != served.digest
    except NoBot:
        differs = True
    return differs, f"version {served.number} is served, which {served.by} has published; the files in {path} " + (
        "differ" if differs else "are the same"
    )
