"""Versions of a bot in its store: what a server serves once one was published, and how one gets back."""

import json
from base64 import b64encode
from contextlib import closing
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from socket import gethostname
from typing import Any

import pytest

from bot.core.engine_answers import EngineRefused, FilesLoaded, VersionPublished
from bot.core.engine_requests import AskFlows, AskStatus, PublishVersion, Reload
from bot.language.flow.documents import Source
from bot.loading.folder import Folder, read_folder
from bot.loading.program import Program
from bot.server import doctor, local_socket
from bot.server.process.program_loader import ProgramLoader
from bot.store.opening import engine_writer
from bot.store.published_versions import add_version, versions
from bot.store.sqlite_schema import migrate
from tests.cli.terminal import call
from tests.server.process.serving import Serve, Serving, until

NEW = "flow: new\nstart: {words: [new]}\nsteps:\n  s: {say: New., then: end}\n"
NOON = datetime(2030, 5, 6, 12, tzinfo=UTC)


def flows(serving: Serving) -> list[str]:
    """The flows that are served."""
    return sorted(local_socket.ask(serving.store, AskFlows()).flows)


def listed(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(call("versions", "--bot", folder, "--json").out)
    return found


def published(folder: Path, **files: str) -> int:
    """Publish the files of a folder, and others, to the store of a server that does not run; they are not checked."""
    more = tuple(Source(f"{name}.py", text.encode()) for name, text in files.items())
    bot = read_folder(folder)
    migrate(folder / "bot.db")
    with closing(engine_writer(folder / "bot.db")) as database:
        after = max((version.number for version in versions(database)), default=0)
        files_of_it = Folder(folder, bot.sources, (*bot.code, *more))
        return add_version(database, files_of_it, after=after, by="ann@one", note="", now=NOON).number


def test_from_the_first_version_on_what_was_published_is_served_until_the_files_are_followed_again(
    serve: Serve, folder: Path
) -> None:
    serving = serve().up()
    assert call("versions", "--bot", folder).out.startswith("Servers follow the files of their folders")
    assert call("publish", folder, "--note", "first").lines[-1] == "Version 1 is served now."
    (folder / "new.yml").write_text(NEW)
    assert local_socket.ask(serving.store, Reload()) == FilesLoaded(True)
    assert flows(serving) == ["main"]
    assert call("publish", folder).lines[-1] == "Version 2 is served now."
    assert flows(serving) == ["main", "new"]
    assert call("publish", folder).out == "Nothing is published: version 2 has the same files, and is served already.\n"
    assert call("rollback", "--bot", folder).lines[-1] == "Version 3 is served now."
    assert flows(serving) == ["main"]
    assert "+flow: new" in call("versions", "2", "--bot", folder).lines
    assert (
        call("publish", folder, "--follow-files").lines[-1].startswith("Version 4 is served now: each server follows")
    )
    assert flows(serving) == ["main", "new"]
    (folder / "new.yml").unlink()
    until(lambda: flows(serving) == ["main"])
    found = [(version["number"], version["note"], version["served"], version["files"]) for version in listed(folder)]
    assert found == [
        (4, "", False, None),
        (3, "version 1 again", False, {"changed": [], "new": [], "gone": ["new.yml"]}),
        (2, "", False, {"changed": [], "new": ["new.yml"], "gone": []}),
        (1, "first", False, {"changed": [], "new": ["bot.yml", "main.yml"], "gone": []}),
    ]


def test_a_server_that_starts_serves_the_newest_version_and_says_that_the_files_differ(
    serve: Serve, folder: Path
) -> None:
    published(folder)
    (folder / "new.yml").write_text(NEW)
    serving = serve()
    serving.line_with(f"version 1 is served, which ann@one has published; the files in {folder} differ")
    assert flows(serving.up()) == ["main"]
    (found,) = [found for found in doctor.served(serving.store, folder) if found.about == "version"]
    assert (found.state, found.advice) == ("warn", "`bot publish` here serves these files instead")


@pytest.mark.parametrize("handlers", ["import a_package_of_another_machine", "import os\nos.kill(os.getpid(), 9)"])
def test_nothing_older_is_served_in_place_of_a_version_that_cannot_be_loaded_until_somebody_rolls_back(
    serve: Serve, folder: Path, handlers: str
) -> None:
    published(folder)
    published(folder, handlers=handlers)
    serving = serve()
    serving.line_with(
        f"version 2, which ann@one has published, cannot be loaded on {gethostname()} (E505 at handlers.py:1)"
    )
    serving.up()
    with pytest.raises(EngineRefused, match=r"cannot be loaded on"):
        local_socket.ask(serving.store, AskStatus())
    assert (serving.post("evt-1"), serving.get("/readyz")) == (200, 503)
    assert "cannot be loaded on" in call("sessions", "reset", "628", "--bot", folder).err
    assert call("rollback", "--bot", folder).lines[-1] == "Version 3 is served now."
    until(lambda: serving.get("/readyz") == 200)
    serving.settle(1)


def test_the_running_engine_refuses_what_it_cannot_load_and_what_nobody_has_looked_at_and_goes_on(
    serve: Serve, folder: Path
) -> None:
    serving = serve().up()
    bot = read_folder(folder)

    def publish(code: bytes, after: int) -> VersionPublished:
        content = Folder(folder, bot.sources, (Source("handlers.py", code),)).packed()
        asked = PublishVersion(after, b64encode(content).decode(), by="bob")
        return local_socket.ask(serving.store, asked)

    with pytest.raises(EngineRefused, match=r"handlers.py:1:1: E505 importing it raises"):
        publish(b"import a_package_of_another_machine", 0)
    assert listed(folder) == []
    assert publish(b"", 0) == VersionPublished(1)
    with pytest.raises(EngineRefused, match=r"^bob has published version 1 meanwhile: look again$"):
        publish(b"1", 0)
    assert (serving.post("evt-1"), flows(serving)) == (200, ["main"])


def test_a_version_whose_python_ends_the_engine_is_not_published(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    deadly = (
        "from os import getpid, kill\nif open('/proc/self/comm').read() == 'bot-engine\\n':\n    kill(getpid(), 9)\n"
    )
    (folder / "handlers.py").write_text("")
    assert call("publish", folder).code == 0
    (folder / "handlers.py").write_text(deadly)
    refused = call("publish", folder)
    assert refused.code == 1 and "the server ended, or was silent, while it loaded the version" in refused.err
    until(lambda: serving.get("/readyz") == 200)
    assert [version["number"] for version in listed(folder)] == [1]


def test_an_engine_that_is_killed_once_the_version_is_stored_serves_it_when_it_begins_again(folder: Path) -> None:
    store = folder / "bot.db"
    migrate(store)
    (folder / "new.yml").write_text(NEW)
    asked = PublishVersion(0, b64encode(read_folder(folder).packed()).decode(), by="ann")
    (folder / "new.yml").unlink()

    def killed(program: Program) -> None:
        raise KeyboardInterrupt

    with closing(engine_writer(store)) as database:
        before = ProgramLoader(folder, BytesIO(), database)
        assert [*before.newest().library.flows] == ["main"]
        with pytest.raises(KeyboardInterrupt):
            before.publish(asked, database, killed)
        assert [*ProgramLoader(folder, BytesIO(), database).newest().library.flows] == ["main", "new"]
