"""A colleague decides on a call that the bot asks about, in a real Chromium."""

import pytest
from playwright.sync_api import expect

from bot.core.engine_requests import RefuseCall
from tests.pages.console.conftest import Live
from tests.pages.playground.conftest import SETTINGS as OF_ALL

FLOWS = """
flow: main
start: {otherwise: true}
vars: {found: {type: object}}
steps:
  talk:
    ai: You help.
    tools:
      - http: "GET crm:/orders/{{ it.number }}"
        name: cancel
        about: Cancel an order.
        takes: {number: its number}
        confirm: {by: support}
    exits: {done: {when: all is said, then: end}}
    errors: {else: end}
"""
ANN = "6281234567890"
ASKED = "Cancel an order.\nGET crm:/orders/A1"


@pytest.fixture
def flows() -> str:
    return FLOWS


@pytest.fixture
def settings() -> str:
    return OF_ALL + 'http: {crm: {base: "https://crm.example"}}\n'


@pytest.fixture
def asking(live: Live) -> Live:
    """The bot asks; then the model says something."""
    live.simulation.service.say("", calls=[("cancel", {"number": "A1"})])
    live.simulation.service.say("They said no.")
    live.simulation.emulator.receive(ANN, "cancel A1", at=live.simulation.clock.now())
    live.simulation.settle()
    return live


def test_an_agent_sees_the_call_and_refuses_it_with_a_note(asking: Live, caplog: pytest.LogCaptureFixture) -> None:
    page = asking.log_in("abel", "/inbox")
    expect(page.locator("#inbox tbody tr")).to_contain_text("asks: Cancel an order.")
    page.get_by_role("link", name=f"Decide on {ANN}").click()
    expect(page.locator("#person blockquote")).to_have_text(ASKED, use_inner_text=True)
    page.get_by_label("Note for the bot").fill("It has left.")
    page.get_by_role("button", name="No", exact=True).click()
    expect(page.locator("#conversation")).to_contain_text('a colleague refused (abel): "It has left."')
    expect(page.locator("#conversation")).to_contain_text("They said no.")
    expect(page.locator("#person blockquote")).to_have_count(0)
    assert "abel (agent): refuse •••890" in caplog.text


def test_what_was_written_and_chosen_for_one_question_is_not_for_the_next_one(asking: Live) -> None:
    page = asking.log_in("abel", f"/contact/{ANN}")
    page.get_by_label("Note for the bot").fill("It has left.")
    yes = page.get_by_role("button", name="Yes, do it")
    yes.focus()
    asking.simulation.service.say("", calls=[("cancel", {"number": "B2"})])
    session = asking.console.reader.sessions.get(ANN)
    assert session and session.team_question
    asking.console.ask(RefuseCall(ANN, by="tom", question=session.team_question.id))
    asking.simulation.settle()
    asking.simulation.emulator.receive(ANN, "cancel B2", at=asking.simulation.clock.now())
    asking.simulation.settle()
    expect(page.locator("#person blockquote")).to_have_text(ASKED.replace("A1", "B2"), use_inner_text=True)
    expect(yes).not_to_be_focused()
    expect(page.get_by_label("Note for the bot")).to_have_value("")


def test_a_viewer_sees_that_a_colleague_is_asked_and_cannot_decide(asking: Live) -> None:
    page = asking.log_in("vera", "/inbox")
    page.get_by_role("link", name="Decide").click()
    expect(page.locator("#person")).to_contain_text("May the bot do this?")
    expect(page.locator("#person")).not_to_contain_text("A1")
    expect(page.get_by_role("button", name="Yes, do it")).to_have_count(0)
