"""What an operator does with one contact's data, in a real Chromium."""

import json
import logging

import pytest
from playwright.sync_api import expect

from tests.browsing import violations
from tests.pages.console.client import logged_in, rows
from tests.pages.console.conftest import Live, Served


def test_an_export_is_the_one_of_the_command_and_leaves_a_line_in_the_log(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    live.simulation.user("hi")
    contact = live.simulation.contact
    page = live.log_in("olga", f"/contact/{contact}")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as JSON").click()
    assert download.value.suggested_filename == f"{contact}.json"
    exported = json.loads(download.value.path().read_text())
    assert exported["contact"] == contact and {"sessions", "turns", "log"} <= exported.keys()
    assert f"olga (operator): export •••{contact[-3:]}" in caplog.messages


def test_a_contact_is_erased_once_the_number_is_typed(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    live.simulation.user("hi")
    contact = live.simulation.contact
    page = live.log_in("olga", f"/contact/{contact}")
    page.get_by_role("link", name="Erase").click()
    typed = page.get_by_label("Write the contact's number to go on")
    typed.fill(contact[:-1])
    page.get_by_role("button", name="Erase").click()
    expect(page.get_by_role("alert")).to_have_text("That is not the contact's number: nothing is erased.")
    assert live.simulation.stored.reader.sessions.get(contact) is not None
    assert violations(page) == []
    typed.fill(f"+{contact[:2]} {contact[2:]}")
    page.get_by_role("button", name="Erase").click()
    expect(page.get_by_role("status")).to_contain_text(f"All data of {contact} is erased")
    expect(page.locator("#contacts")).to_contain_text("Nobody has written to the bot yet.")
    assert live.simulation.stored.reader.sessions.get(contact) is None
    assert f"olga (operator): erase •••{contact[-3:]}" in caplog.messages
    (note,) = [
        json.loads(event) for (event,) in rows(live.console.store, "SELECT event FROM turns WHERE contact IS NULL")
    ]
    assert note == {"do": "erase", "attempts": note["attempts"], "by": "olga"}


def test_a_conversation_is_ended_in_the_users_name(live: Live) -> None:
    live.simulation.user("hi")
    page = live.log_in("olga", f"/contact/{live.simulation.contact}")
    page.get_by_role("button", name="End the conversation").click()
    expect(page.get_by_role("status")).to_contain_text("The conversation is ended")
    expect(page.locator("#turns")).to_contain_text("reset by olga")
    expect(page.get_by_role("button", name="End the conversation")).to_have_count(0)


def test_only_an_operator_may(served: Served) -> None:
    served.simulation.user("hi")
    contact = served.simulation.contact
    client = logged_in(served, "abel")
    assert "Erase" not in client.ask(f"/contact/{contact}").text
    assert client.ask(f"/contact/{contact}/export").status == 403
    assert client.ask(f"/contact/{contact}/erase", {"token": client.token(), "number": contact}).status == 403
    assert client.ask(f"/contact/{contact}/reset", {"token": client.token()}).status == 403
    assert served.simulation.stored.reader.sessions.get(contact) is not None


def test_nothing_is_exported_of_somebody_who_is_not_known(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert logged_in(served, "olga").ask("/contact/6281234567890/export").status == 404
    assert not any("export" in message for message in caplog.messages)
