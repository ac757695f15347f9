"""The moment at which each contact's own clock shows the time of a broadcast."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.cli.shared.contact_times import moments_in_words, over_in_words, read_contacts_time, with_times
from bot.cli.shared.operate import CommandRefused, user_name
from bot.core.session import Session
from bot.loading.folder import read_folder
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.sqlite_schema import migrate
from tests.cli.terminal import call, make_bot

NOW = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
JAKARTA, ROME, LONDON = "6281234567890", "393331234567", "447400123456"
FLOWS = "flow: main\nstart: {otherwise: true}\nsteps:\n  hello: {say: Hello, then: end}\n"


def at(text: str, zone: str = "Europe/Rome", now: datetime = NOW) -> str:
    found = read_contacts_time(text).on(ZoneInfo(zone), now)
    assert found.tzinfo is UTC
    return f"{found:%m-%d %H:%M}"


def test_a_time_of_day_is_the_next_one_on_the_contacts_clock() -> None:
    assert at("18:00") == "05-06 16:00"
    assert at("9:00") == "05-07 07:00"
    assert at("12:00") == "05-07 10:00"  # it is 12:00 in Rome right now
    assert at("9:00", "America/New_York") == "05-06 13:00"
    assert at("9:00", "Pacific/Auckland") == "05-06 21:00"  # it is the 6th there too, 22:00


def test_a_day_and_time_are_those_of_each_contact_and_with_an_offset_one_moment() -> None:
    assert at("2030-12-24 9:00") == at("2030-12-24T09:00") == "12-24 08:00"
    assert at("2030-12-24 9:00", "Asia/Jakarta") == "12-24 02:00"
    assert at("2030-12-24 09:00+01:00", "Asia/Jakarta") == "12-24 08:00"


def test_a_time_that_clocks_skip_is_later_and_one_that_they_show_twice_comes_once() -> None:
    assert at("2030-03-31 2:30") == "03-31 01:30"  # 3:30 in summer
    assert at("2030-10-27 2:30") == "10-27 00:30"  # the first of two
    just_after_the_first = datetime(2030, 10, 27, 0, 30, tzinfo=UTC)
    assert at("2:30", now=just_after_the_first) == "10-28 01:30"
    before_the_gap = datetime(2030, 3, 31, 0, 59, tzinfo=UTC)
    assert at("2:30", now=before_the_gap) == "03-31 01:30"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_bot(tmp_path, FLOWS)
    migrate(tmp_path / "bot.db")
    return tmp_path


def recipients(*contacts: str) -> list[dict[str, str]]:
    return [{"contact": contact} for contact in contacts]


def times(folder: Path, text: str) -> list[str]:
    timed = with_times(read_folder(folder), read_contacts_time(text), recipients(JAKARTA, ROME, LONDON), NOW)
    return [f"{datetime.fromisoformat(each['at']):%m-%d %H:%M}" for each in timed]


def test_without_zones_for_contacts_all_have_the_bots(folder: Path) -> None:
    assert times(folder, "9:00") == ["05-07 09:00"] * 3


def test_each_contact_has_the_zone_of_its_number_or_what_a_flow_has_set(folder: Path) -> None:
    bot = folder / "bot.yml"
    bot.write_text(bot.read_text() + "timezone: Europe/Rome\ncontact_timezones: true\n")
    assert times(folder, "9:00") == ["05-07 02:00", "05-07 07:00", "05-07 08:00"]
    store = EngineStore(folder / "bot.db")
    commit = Commit(store.cursor, NOW)
    commit.sessions.set(Session(LONDON, timezone="America/New_York"), None)
    store.write(commit)
    store.close()
    assert times(folder, "9:00") == ["05-07 02:00", "05-07 07:00", "05-06 13:00"]


def test_a_time_that_is_over_for_some_is_said_and_one_that_is_over_for_all_is_refused(folder: Path) -> None:
    with pytest.raises(CommandRefused, match="--at 2030-05-06 09:00 is over for all contacts"):
        times(folder, "2030-05-06 9:00")
    hours = {NOW + timedelta(hours=by): 1 for by in (-3, 0, 1)}
    assert over_in_words(hours, NOW, timedelta(hours=1)) == [
        "For 1 contact that time has just passed: they get it at once.",
        "For 1 contact it has passed by more than 1h (--late): they get nothing.",
    ]
    assert over_in_words({NOW + timedelta(1): 2}, NOW, timedelta(hours=1)) == []


def test_many_moments_are_put_in_few_words() -> None:
    hours = {NOW + timedelta(hours=by): by + 1 for by in range(8)}
    words = moments_in_words(hours, ZoneInfo("Europe/Rome"))
    assert words.startswith("1 contact at 2030-05-06 12:00 (CEST), 2 contacts at 2030-05-06 13:00 (CEST), ")
    assert words.endswith("5 contacts at 2030-05-06 16:00 (CEST), 21 contacts until 2030-05-06 19:00 (CEST)")


def test_the_command_says_when_contacts_get_it_as_the_docs_show_it(folder: Path) -> None:
    bot = folder / "bot.yml"
    bot.write_text(bot.read_text() + "timezone: Europe/Berlin\ncontact_timezones: true\n")
    (folder / "contacts.csv").write_text(f"phone\n{JAKARTA}\n{ROME}\n{LONDON}\n")
    arguments = (folder / "contacts.csv", "--body", "20 %", "--at", "2030-12-24 9:00", "--bot", folder)
    lines = call("broadcast", "send", "sale", *arguments, "--yes").lines
    docs = (Path(__file__).parents[3] / "docs" / "commands.md").read_text()
    assert "    " + "\n    ".join(lines[:4]) + "\n" in docs
    assert lines[-1] == "No server runs: start `bot serve` before its time."
    shown = call("broadcast", "show", "sale: contacts", "--bot", folder).lines
    assert shown == [f"sale: contacts: sale (en), started by {user_name()}", lines[2], "3 scheduled."]
