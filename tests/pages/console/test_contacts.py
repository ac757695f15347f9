"""The views of all contacts and of one, in a real Chromium."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from playwright.sync_api import expect

from bot.core.engine_requests import AddRecipients
from bot.core.values import time_text
from bot.store import session_rows
from bot.store.session_rows import ContactSearch
from bot.store.trace_rows import ADD_TURN, FAILED, note_row
from bot.testing.emulator import MessageTemplate
from tests.pages.console.client import logged_in
from tests.pages.console.conftest import NOON, Live, Served
from tests.postgres import about_files
from tests.store.store_kit import beside_the_store, sqlite

NUMBERS = [f"62812345678{number:02}" for number in range(20)]


EVERYBODY = ContactSearch()


def listed(served: Served, size: int, search: ContactSearch = EVERYBODY) -> list[list[str]]:
    """The pages of all contacts."""
    pages, after = [], ""
    while True:
        found, after = served.console.reader.sessions.find(search, size, after)
        pages.append([each.contact for each in found])
        if not after:
            return [page for page in pages if page]


def test_an_operator_sees_who_is_where_and_the_conversation_as_the_phone_shows_it(live: Live) -> None:
    live.simulation.user("hi")
    live.simulation.tap("Tea")
    page = live.log_in("olga")
    row = page.locator("#contacts tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("main/size")
    row.get_by_role("link", name=live.simulation.contact).click()
    expect(page.locator(".bubble.mine .text")).to_have_text(["hi", "Tea"])
    expect(page.locator(".bubble.bot .text")).to_have_text(["Hello you", "What would you like?", "How large?"])
    expect(page.locator("#values")).to_contain_text("drink")
    expect(page.locator(".turn").first).to_contain_text('tapped "Tea"')


def test_a_page_shows_what_happens_without_being_loaded_again(live: Live) -> None:
    live.simulation.user("hi")
    page = live.log_in("olga", f"/contact/{live.simulation.contact}")
    expect(page.locator(".bubble.mine .text")).to_have_text(["hi"])
    live.simulation.tap("Tea")
    expect(page.locator(".bubble.mine .text")).to_have_text(["hi", "Tea"])


def test_pages_have_each_contact_once_the_newest_turn_first_also_where_the_trace_has_forgotten_it(
    served: Served,
) -> None:
    for number in NUMBERS:
        served.simulation.become(number)
        served.simulation.user("hi")
        served.simulation.wait(timedelta(minutes=1))
    served.simulation.become(NUMBERS[3])
    served.simulation.user("hi again")
    newest = [NUMBERS[3], *(number for number in reversed(NUMBERS) if number != NUMBERS[3])]
    assert [number for page in listed(served, 7) for number in page] == newest
    assert [len(page) for page in listed(served, 7)] == [7, 7, 6]
    with beside_the_store(served.console.store) as execute:
        execute("DELETE FROM turns WHERE contact IN (?, ?)", (NUMBERS[3], NUMBERS[19]))
    assert [number for page in listed(served, 3) for number in page] == [*newest[2:], NUMBERS[3], NUMBERS[19]]
    assert listed(served, 50, ContactSearch(find="7801")) == [[NUMBERS[1]]]


def test_a_search_that_takes_long_ends_early_says_so_and_goes_on(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in NUMBERS[:4]:
        live.simulation.become(number)
        live.simulation.user("hi")
    with beside_the_store(live.console.store) as execute:
        execute("DELETE FROM turns WHERE contact IN (?, ?)", (NUMBERS[0], NUMBERS[1]))
    monkeypatch.setattr(session_rows, "SEARCH_SECONDS", 0)
    monkeypatch.setattr(session_rows, "SEARCHED_AT_ONCE", 1)
    page = live.log_in("olga", "/?find=7801")
    for _ in range(2):  # two turns are left
        expect(page.locator("#contacts")).to_contain_text("Only a part of the")
        page.get_by_role("link", name="Further").click()
    page.get_by_role("link", name="Further").click()
    page.get_by_role("link", name="Further").click()
    expect(page.locator("#contacts tbody a")).to_have_text([NUMBERS[1]])


def fill(served: Served, many: int) -> None:
    """So many contacts more, each with a turn and a message, older than what there is."""
    served.simulation.user("hi")
    contact = served.simulation.contact
    with beside_the_store(served.console.store) as execute:
        for table, id in (("sessions", ""), ("turns", "id, "), ("messages", "id, ")):
            execute(f"CREATE TEMP TABLE model AS SELECT * FROM {table} WHERE contact = ? LIMIT 1", (contact,))
            names = [name for _, name, *_ in execute(f"PRAGMA table_info({table})") if name != "id"]
            at = {
                "contact": "9000000 + i",
                "created_at": "'2030-05-01T' || i",
                "at": "updated_at",
                "conversation": "NULL",
            }
            values = ", ".join(at.get(name, name) for name in names).replace("updated_at", "'2030-05-01T' || i")
            execute(
                f"""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {many})
                INSERT INTO {table} ({id}{", ".join(names)}) SELECT {"-i, " if id else ""}{values} FROM n CROSS JOIN model"""
            )
            execute("DROP TABLE model")


def give_up(served: Served, many: int) -> None:
    """So many dead letters."""
    with beside_the_store(served.console.store) as execute:
        execute(
            f"""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {many})
            INSERT INTO dead_letters (what, reason, body, at) SELECT 'turn', 'too many steps', '{{}}', '2030-05-01T12:00:00+00:00' FROM n"""
        )


def work(served: Served, read: Callable[[], object]) -> int:
    """How much SQLite does for it, in thousands of steps."""
    count = 0

    def counted() -> None:
        nonlocal count
        count += 1

    sqlite(served.console.reader).set_progress_handler(counted, 1000)
    read()
    sqlite(served.console.reader).set_progress_handler(None, 1000)
    return count


@about_files
def test_what_is_looked_at_often_takes_no_longer_with_many_contacts_and_dead_letters(served: Served) -> None:
    client = logged_in(served, "olga")
    fill(served, 20_000)
    give_up(served, 200_000)
    thousands = {"/": 60, f"/contact/{served.simulation.contact}": 60, "/inbox": 60, "/state": 60, "/dead-letters": 150}
    done = {}
    for path in thousands:
        client.ask(path)  # how many there are is counted seldom
        served.console.cached("sessions", lambda: 20_001, lambda found: 60)
        served.console.cached("waiting_at", lambda: {("main", "drink"): 20_001}, lambda found: 60)
        done[path] = work(served, partial(client.ask, path))
    assert {path: found for path, found in done.items() if found >= thousands[path]} == {}


def test_a_whole_number_leads_to_what_is_kept_of_a_contact_who_has_never_written(live: Live) -> None:
    live.simulation.emulator.templates.add(MessageTemplate("sale", "en", body="All of it!"))
    recipients = [{"contact": NUMBERS[0], "body": []}]
    live.console.ask(AddRecipients("sale", recipients, {"name": "sale", "language": "en"}))
    live.simulation.settle()
    assert live.simulation.stored.reader.sessions.get(NUMBERS[0]) is None
    page = live.log_in("olga", f"/?find=%2B{NUMBERS[0]}")
    expect(page.get_by_role("heading", level=1)).to_have_text(NUMBERS[0])
    expect(page.locator(".bubble.bot")).to_contain_text("template sale (en)")
    expect(page.get_by_role("link", name="Export as JSON")).to_be_visible()
    page.goto(f"{live.url}/?find={NUMBERS[1]}")
    expect(page.locator("#contacts")).to_contain_text("Nobody has written to the bot yet.")


def test_a_broadcasts_turn_is_headed_by_words_and_its_note_is_no_warning(live: Live) -> None:
    bot = live.simulation
    bot.user("hi")
    bot.emulator.templates.add(MessageTemplate("sale", "en", header_media="image", body="All of it!"))
    header = {"type": "image", "image": {"link": "https://cafe.example/photos/cup.png"}}
    sale = {"name": "sale", "language": "en", "header": header}
    recipients = [{"contact": bot.contact, "body": []}]
    live.console.ask(AddRecipients("Spring offer", recipients, sale))
    bot.settle()
    for user in ("olga", "vera"):
        page = live.log_in(user)
        page.locator("#contacts tbody tr a").first.click()
        name = ' "Spring offer"' if user == "olga" else ""
        expect(page.locator(".turn summary b").first).to_have_text(f"the broadcast{name}")
        expect(page.locator(".turn").first).not_to_contain_text("µs")  # it was no turn
        expect(page.locator(".turn .note")).to_have_text(["message 3"] if user == "olga" else [])
        expect(page.locator(".noted")).to_have_count(0)
        expect(page.locator(".bubble.bot .file a")).to_have_text(["cup.png"] if user == "olga" else [])


def test_a_turn_that_failed_is_a_problem(live: Live) -> None:
    live.simulation.user("hi")
    contact = live.simulation.contact
    row = note_row(contact, "event-9", "{}", FAILED, "the step failed: KeyError")
    with beside_the_store(live.console.store) as execute:
        execute(ADD_TURN, (9, time_text(NOON), *row))
    page = live.log_in("olga", f"/contact/{contact}")
    expect(page.locator(".turn .noted")).to_have_text("⚠ the step failed: KeyError")
    expect(page.locator(".turn .note")).to_have_count(0)
