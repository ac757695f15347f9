"""What an edit on the disk would do, found in another process."""

import signal
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bot.core.clock import MovableClock
from bot.pages.console.live_check import LiveCheck
from tests.browsing import violations
from tests.cli.keeping import FLOWS, kept
from tests.cli.terminal import BOT
from tests.pages.console.conftest import Live
from tests.patience import wait_for
from tests.postgres import bot_store, store_at
from tests.runtime.engine_kit import START


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("live")
    with kept(folder) as bot:
        bot.user("hi", "2")
    return folder


@pytest.fixture(autouse=True)
def environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of the console, in which the address of a database stands."""
    for name, value in bot_store(store_at(folder / "bot.db")).items():
        monkeypatch.setenv(name, value)


def test_it_says_how_many_go_on_and_how_many_an_edit_would_drop(folder: Path) -> None:
    (folder / "bot.yml").write_text(BOT)
    check = LiveCheck(folder, store_at(folder / "bot.db"), MovableClock(START))
    assert check.reports == {}
    (folder / "flows" / "main.yml").write_text(FLOWS)
    check.begin()
    wait_for(lambda: not check.looks())
    found = check.reports[None].found
    assert found is not None, check.reports[None]
    assert (check.reports[None].at, found["conversations"], found["dropped"]) == (START, 1, 0)
    (folder / "flows" / "main.yml").write_text("flow: other\nsteps: {a: {say: Hi., then: end}}\n")
    check.begin()
    wait_for(lambda: not check.looks())
    found = check.reports[None].found
    assert found is not None and found["dropped"] == 1


def test_its_process_can_be_ended_although_the_console_has_blocked_the_signal(tmp_path: Path) -> None:
    with kept(tmp_path):
        pass
    blocked = "import signal, pathlib\npathlib.Path('blocked').write_text(str(signal.pthread_sigmask(0, [])))\n"
    with (tmp_path / "handlers.py").open("a") as handlers:
        handlers.write(blocked)
    check = LiveCheck(tmp_path, store_at(tmp_path / "bot.db"), MovableClock(START))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        check.begin()  # its thread, and so its process, begin with the signals of this thread
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    wait_for(lambda: not check.looks())
    assert check.reports[None].found is not None, check.reports[None]
    assert (tmp_path / "blocked").read_text() == "set()"


def look_now(page: Page) -> None:
    page.get_by_role("button", name="Check now").click()


@pytest.fixture(autouse=True)
def is_not_nice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check is no slower than the test that waits for it, also on a busy machine."""
    monkeypatch.setattr("bot.pages.console.live_check._NICE", 0)


def test_a_check_that_takes_long_is_shown_at_once_and_its_report_once_it_ends(live: Live) -> None:
    go = live.console.folder.path / "go"
    (live.console.folder.path / "handlers.py").write_text(
        f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists():\n    time.sleep(0.01)\n"
    )
    page = live.log_in("olga", "/edits")
    look_now(page)
    expect(page.get_by_role("status")).to_have_text("The check is running: its result will be shown here.")
    go.touch()
    expect(page.locator("main")).to_contain_text("0 conversations under way")
    expect(page.get_by_role("status")).to_have_count(0)


def test_an_operator_sees_whom_an_edit_would_drop_and_problems_in_the_files(live: Live) -> None:
    live.simulation.user("hi")
    page = live.log_in("olga", "/edits")
    expect(page.locator("main")).to_contain_text("No check has run yet.")
    look_now(page)
    expect(page.locator("main")).to_contain_text("1 conversation under way: 1 goes on unchanged, 0 would be dropped")
    path = live.console.folder.path / "flows" / "main.yml"
    path.write_text("flow: main\nsteps: {a: {say: Hi., then: end}}\n")
    look_now(page)
    expect(page.locator("main tbody tr")).to_contain_text("the step is gone, and no gone is declared: dropped")
    expect(page.locator("main tbody td").last).to_have_text("flows/main.yml:1")
    assert violations(page) == []
    path.write_text("flow: main\nsteps: {a: {say: Hi., then: nowhere}}\n")
    look_now(page)
    expect(page.locator("pre")).to_contain_text('E102 no step "nowhere"')
    report = live.console.live_check.reports[None]
    assert report.found is None and "Traceback" not in report.trouble
