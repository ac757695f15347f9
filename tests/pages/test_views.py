"""Every view of the pages, at two widths, light and dark: axe finds nothing, and nothing is wider than the page.

``PICTURES=folder SEARCH=1 python -m pytest tests/pages/test_views.py`` leaves a picture of each in the folder.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Page, expect

from bot.core.clock import MovableClock
from bot.core.engine_requests import AddRecipients, AnswerContact, NoteContact, TakeOver
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.emulator import MessageTemplate
from bot.testing.simulation.simulation import Simulation
from tests.browsing import Opens, clear, violations
from tests.cli.terminal import make_bot
from tests.pages.console.conftest import Live, Served, console_of
from tests.pages.console.test_usage import judge, use
from tests.pages.playground.conftest import Shown, running
from tests.searches import SEARCHING, search
from tests.server.web.test_form_endpoint import BOT, FLOWS, START
from tests.server.web.test_form_page import address

CAFE = Path(__file__).parents[2] / "flows"
SITI, BUDI, ANA, TOM = "6281234567890", "6281234567891", "351912345678", "351912345679"
LATER = timedelta(minutes=20)
View = tuple[str, Page]


def cafe(folder: Path) -> Path:
    """The café in a folder of its own, with a call that a colleague decides on."""
    shutil.copytree(CAFE, folder, dirs_exist_ok=True)
    for name, text in yaml.safe_load((Path(__file__).parent / "cafe.yml").read_text()).items():
        with (folder / name).open("a") as file:
            file.write(text)
    return folder


@contextmanager
def leaving(opens: Opens) -> Iterator[Opens]:
    """Opens pages, and leaves them before their server ends."""
    pages: list[Page] = []

    def opened(*address: str, **more: Any) -> Page:
        pages.append(opens(*address, **more))
        return pages[-1]

    yield opened
    for page in pages:
        clear(page)


@contextmanager
def playground(folder: Path, opens: Opens) -> Iterator[Shown]:
    with running(folder) as (found, server), leaving(opens) as opened:
        yield Shown(found, server, folder, opened(server.url))


def pane(page: Page, name: str) -> None:
    """Show one of the panes, as a tab on a narrow screen."""
    if (tab := page.locator(f".panes a[href='#{name}']")).is_visible():
        tab.click()


def phone(folder: Path, opens: Opens) -> Iterator[View]:
    with playground(cafe(folder), opens) as shown:
        page = shown.page
        expect(page.locator("#drawing svg")).to_be_attached()
        yield "empty", page
        shown.write("hello")
        shown.hears("What would you like?")
        shown.tap("Order a coffee")
        shown.hears("What can we make you?").locator("summary").click()
        yield "list", page
        shown.page.locator(".row", has_text="Flat white").click()
        shown.hears("How many?")
        shown.write("lots")
        shown.hears("Please write a number")
        yield "conversation", page
        page.get_by_title("Send a file, a voice note or a place").click()
        yield "attachments", page
        page.get_by_title("Send a file, a voice note or a place").click()
        pane(page, "map")
        yield "map", page
        page.locator("#drawing .place", has=page.locator("[data-place='order/cups']")).press("Enter")
        expect(page.locator("#step")).to_contain_text("tests reach it")
        yield "step", page
        page.locator("#step [data-close]").click()
        pane(page, "phone")
        page.get_by_role("button", name="Skip", exact=True).click()
        shown.hears("Still thirsty?")
        yield "time", page
        if (details := page.locator("#unfold")).is_visible():
            details.click()
        pane(page, "details")
        yield "details", page
        for summary in page.locator(".also > details > summary").all():
            summary.click()
        page.get_by_label("The gateway refuses messages (422)").check()
        yield "faults", page
        page.locator("[data-set=cups]").click()
        page.locator("#variable input[name=value]").fill("many")
        page.get_by_role("button", name="Set", exact=True).click()
        expect(page.locator("#variable").get_by_role("alert")).not_to_be_empty()
        yield "variable", page
        page.get_by_role("button", name="Cancel").click()
        pane(page, "phone")
        shown.write("2")
        expect(page.locator(".bubble.failed")).to_be_visible()
        yield "failed", page
        page.get_by_role("button", name="Keep as a test").click()
        expect(page.get_by_label("Test", exact=True)).to_have_value(re.compile("expect: "))
        yield "kept", page


def model(folder: Path, opens: Opens) -> Iterator[View]:
    with playground(cafe(folder), opens) as shown:
        shown.write("gift")
        answer = shown.page.get_by_label("Its answer")
        expect(answer).to_be_visible()
        yield "asked", shown.page
        answer.fill('CALL gift {"name": "Ana"}')
        shown.page.get_by_role("button", name="Answer").click()
        expect(shown.page.locator("#colleague form")).to_be_visible()
        yield "colleague", shown.page


def editing(folder: Path, opens: Opens) -> Iterator[View]:
    with playground(cafe(folder), opens) as shown:
        page = shown.page
        shown.write("order")
        expect(page.locator("#editing")).to_be_attached()
        shown.hears("What can we make you?").locator(".text").click()
        texts = page.locator("#editing")
        expect(texts.get_by_role("textbox").first).to_be_visible()
        yield "texts", page
        texts.get_by_role("textbox", name="ask", exact=True).fill("What can we {{ mak }} you?")
        expect(texts.locator(".notes .error")).to_be_visible()
        yield "problem", page
        texts.get_by_role("textbox", name="ask", exact=True).fill("What may we make you?")
        expect(texts.locator(".notes .error")).to_have_count(0)
        expect(texts.locator(".changes ins")).to_contain_text("may")
        yield "diff", page
        texts.get_by_role("textbox", name="ask", exact=True).fill("What can we make you?")
        texts.locator("summary", has_text="The whole step as YAML").click()
        step = texts.locator("textarea.yaml")
        step.fill("drink:\n  ask: What can we make you?\n  sve: drink\n  ")
        expect(texts.locator(".notes .error")).to_be_visible()
        step.press("Control+Space")
        expect(page.locator("#completions")).to_be_visible()
        expect(texts.locator(".changes")).to_be_visible()
        expect(page.locator("#completions li").first).to_be_in_viewport(ratio=1)
        yield "step", page


def broken(folder: Path, opens: Opens) -> Iterator[View]:
    with playground(cafe(folder), opens) as shown:
        shown.write("hello")
        shown.hears("What would you like?")
        file = folder / "flows" / "order.yml"
        file.write_text(file.read_text().replace("then: end", "then: ende").replace("ask:", "aks:", 1))
        expect(shown.page.locator(".trouble li")).not_to_have_count(0)
        yield "problems", shown.page


def form(folder: Path, opens: Opens) -> Iterator[View]:
    with Simulation(load_program(read_folder(make_bot(folder, FLOWS, bot=BOT))), MovableClock(START)) as chat:
        chat.user("book")
        page = opens(address(chat))
        yield "asks", page
        page.get_by_label("How many?").fill("99")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_label("How many?")).to_have_attribute("aria-invalid", "true")
        yield "corrects", page
        page.get_by_label("Your name").fill("Ann")
        page.get_by_label("How many?").fill("4")
        page.get_by_label("Which day?").fill("2030-05-08")
        page.get_by_label("Outside?").select_option("Yes")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("heading")).to_contain_text("Thank you!")
        yield "thanks", page
        page.goto(address(chat))
        yield "closed", page


@contextmanager
def console(folder: Path, opens: Opens) -> Iterator[Live]:
    with console_of(cafe(folder)) as found, leaving(opens) as opened:
        yield Live(found.simulation, found.console, found.url, found.engine, opened)


def shows(live: Live, page: Page, path: str) -> Page:
    live.simulation.settle()
    page.goto(f"{live.url}{path}")
    page.locator("main h1").wait_for()
    return page


def say(live: Live | Served, contact: str, *texts: str, name: str = "") -> None:
    live.simulation.become(contact)
    if name:
        live.simulation.gateway.happen("contact.updated", {"name": name})
    for text in texts:
        live.simulation.user(text)


def nothing_yet(folder: Path, opens: Opens) -> Iterator[View]:
    with console(folder, opens) as live:
        page = live.opens(f"{live.url}/log-in")
        yield "login", page
        page.get_by_label("Name").fill("olga")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_be_visible()
        yield "refused", page
        page = live.log_in("olga")
        for path in ("inbox", "", "broadcasts", "results", "usage", "dead-letters", "state", "edits", "versions"):
            yield path or "contacts", shows(live, page, f"/{path}")
        yield "nowhere", shows(live, page, "/nowhere")
        yield "forbidden", shows(live, live.log_in("vera"), "/edits")


def desk(folder: Path, opens: Opens) -> Iterator[View]:
    """The console while people wait for people."""
    with console(folder, opens) as live:
        siti_waits(live)
        say(live, BUDI, "order", "tea", name="Budi Santoso")
        live.simulation.service.say("", calls=[("gift", {"name": "Ana"})])
        say(live, ANA, "gift", name="Ana Prado")
        live.simulation.clock.move(LATER)
        say(
            live,
            TOM,
            "I want to complain",
            "This is the third time that I write to you about the very same cold coffee!",
        )
        page = live.log_in("abel", "/inbox")
        yield "inbox", page
        yield "decision", shows(live, page, f"/contact/{ANA}")
        answered(live)
        yield "conversation", shows(live, page, f"/contact/{SITI}")
        for part in ("replies", "file", "template", "note"):
            page.locator(f"#{part} > summary").click()
        yield "tools", page
        yield "waits", shows(live, page, f"/contact/{TOM}")
        yield "contacts", shows(live, page, "/")
        yield "none", shows(live, page, "/?find=Zoe")
        yield "others", shows(live, live.log_in("olga"), f"/contact/{SITI}")
        yield "erase", shows(live, live.log_in("olga"), f"/contact/{SITI}/erase")
        page = live.log_in("vera")
        page.locator("#contacts a").first.click()
        expect(page.locator("#conversation")).to_be_visible()
        yield "masked", page
        live.simulation.clock.move(timedelta(hours=25))
        yield "window", shows(live, live.log_in("abel"), f"/contact/{SITI}")


def siti_waits(live: Live | Served) -> None:
    """A contact orders, is not content, and waits for a person."""
    say(live, SITI, "hello", "order", "latte", "2", name="Siti Rahma")
    live.simulation.tap("Yes, please")
    live.simulation.wait(timedelta(minutes=10))
    say(
        live,
        SITI,
        "my coffee was cold",
        "Is anybody there? We would need them before noon, if that is possible at all.",
    )


def answered(live: Live | Served) -> None:
    live.console.ask(TakeOver(SITI, by="abel"))
    live.console.ask(
        AnswerContact(SITI, text="Hello Siti, Abel here. We make you new ones. May one be smaller?", by="abel")
    )
    live.console.ask(NoteContact(SITI, "A regular guest.", by="abel"))
    live.simulation.settle()
    say(live, SITI, "Sure, thank you!")


def reports(folder: Path, opens: Opens) -> Iterator[View]:
    """The console of somebody who looks after the bot."""
    with console(folder, opens) as live:
        for contact in (SITI, BUDI, ANA):
            say(live, contact, "hello", "order", "latte")
        say(live, SITI, "2")
        live.simulation.emulator.templates.add(MessageTemplate("sale", "en", body="All of it!"))
        live.simulation.emulator.templates.add(MessageTemplate("other", "en", body="{{1}} off"))
        for name, template in (("News of May", "sale"), ("Spring sale", "other")):
            people = [{"contact": contact, "body": []} for contact in (SITI, BUDI, ANA, TOM)]
            live.console.ask(AddRecipients(name, people, {"name": template, "language": "en"}, by="olga"))
            live.simulation.settle()
        use(live)
        judge(live)
        page = live.log_in("olga", "/broadcasts")
        yield "broadcasts", page
        yield "broadcast", shows(live, page, "/broadcast?name=News+of+May")
        yield "paused", shows(live, page, "/broadcast?name=Spring+sale")
        yield "usage", shows(live, page, "/usage")
        live.simulation.wait(timedelta(hours=13))
        page = live.log_in("olga", "/results?flow=order")
        yield "results", page
        page.get_by_role("region", name="Steps").get_by_role("link", name="cups").click()
        yield "by-day", page
        fault = live.simulation.emulator.faults.add("VALIDATION_MISSING_FIELD")
        say(live, BUDI, "hello")
        live.simulation.emulator.faults.remove(fault)
        live.simulation.emulator.inactive_channels.add("channel-1")
        say(live, ANA, "hello")
        yield "failed", shows(live, page, f"/contact/{BUDI}")
        yield "dead-letters", shows(live, page, "/dead-letters")
        page.locator("#letters").get_by_role("checkbox").first.check()
        page.get_by_role("button", name="Drop …", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("for ever?")
        yield "drop", page
        yield "state", shows(live, page, "/state")
        live.simulation.emulator.inactive_channels.clear()
        shows(live, page, "/edits")
        page.get_by_role("button", name="Check now").click()
        expect(page.locator("#report")).to_contain_text("Checked")
        yield "edits", page


Walk = Callable[[Path, Opens], Iterator[View]]
WALKS: tuple[Walk, ...] = (phone, model, editing, broken, form, nothing_yet, desk, reports)
LOOKS = (1400, True), (360, False), (1400, False), (360, True)
EACH = [*product(WALKS, LOOKS)] if SEARCHING else [*zip(WALKS, cycle(LOOKS), strict=False)]
"""The views, and how they are looked at: each view once in the suite, in all looks in a search."""


@search
@pytest.mark.parametrize(("walk", "look"), EACH, ids=lambda each: getattr(each, "__name__", str(each)))
def test_axe_finds_nothing_in_any_view_and_nothing_is_wider_than_the_page(
    walk: Walk, look: tuple[int, bool], tmp_path: Path, opens_page: Opens
) -> None:
    width, dark = look
    wrong = {}
    for view, page in walk(tmp_path, partial(opens_page, width=width, height=900 if width > 900 else 740, dark=dark)):
        if folder := os.environ.get("PICTURES"):
            name = f"{walk.__name__}-{view}-{width}-{'dark' if dark else 'light'}.png"
            page.screenshot(path=Path(folder) / name, full_page=True)
        if found := violations(page):
            wrong[view] = found
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    assert wrong == {}
