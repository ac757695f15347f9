"""What an engine that dies remembers of the bot's files, in a file that the supervisor holds."""

from contextlib import closing
from io import BytesIO
from pathlib import Path

from bot.flow.documents import Source
from bot.folder import Folder
from bot.process.program_loader import LastGood, ProgramLoader
from bot.store.opening import engine_reader
from bot.store.store_schema import migrate

LONG = Folder(Path("bot"), (Source("bot.yml", b"name: Long\n" + b"# more\n" * 1000),), (Source("handlers.py", b"1"),))
SHORT = Folder(Path("bot"), (Source("bot.yml", b"name: Short\n"),), (Source("handlers.py", b"exit()"),))


def test_the_last_files_that_were_good_are_remembered_whatever_is_tried_after_them() -> None:
    file = BytesIO()
    remembers = LastGood(file)
    for good in (LONG, SHORT):
        remembers.keep(good)
        remembers.trying(LONG)
        assert LastGood(file).folder == good


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
