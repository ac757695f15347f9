"""A playground with a bot, and the page of it in a real Chromium."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from bot.cli.shared.flow_reloader import BotFiles, FlowReloader
from bot.core.clock import MovableClock
from bot.pages.playground.playground import Playground
from bot.pages.playground.playground_server import PlaygroundServer
from tests.browsing import Opens
from tests.cli.terminal import call, make_bot
from tests.ports import usual_port

NOON = datetime(2030, 5, 6, 12, tzinfo=UTC)
SETTINGS = """
name: Test Bot
signals: {paid: {}}
defaults: {retry: {max: 3, else: end}, timeout: {after: 20h, then: end}, errors: {else: end}}
"""
FLOWS = """
flow: main
start: {otherwise: true}
vars: {drink: {type: text}, cups: {type: integer, max: 5}, photo: {type: media}, home: {type: location}}
steps:
  hello: {say: "Hello *you*"}
  drink:
    ask: What would you like?
    save: drink
    buttons: {Tea: {value: Tea}, Coffee: {value: Coffee}}
  size:
    ask: How large?
    list: {button: Sizes, sections: {All: {Small: {value: small, about: A cup}, Large: {value: large}}}}
    save: drink
  cups: {ask: How many cups?, save: cups, remind: {after: 1h, say: Still there?}}
  many:
    branch:
      - {if: cups > 3, then: lots}
      - {else: thanks}
  lots: {say: So many!}
  thanks: {say: "{{ cups }} cups, thank you.", then: end}
---
flow: pictures
start: {words: [picture]}
vars: {photo: {type: media}}
steps:
  photo: {ask: A picture please, save: photo}
  got: {say: Got it, then: end}
---
flow: offer
vars: {price: {type: integer, value: 7}}
steps:
  price: {say: "Only {{ price }}!"}
  pay: {ask: Paid?, signals: {paid: thanks}}
  thanks: {say: Thank you for paying, then: end}
"""


@dataclass
class Shown:
    """A playground and the page of its first contact."""

    playground: Playground
    server: PlaygroundServer
    folder: Path
    page: Page

    def write(self, text: str) -> None:
        self.page.fill("#text", text)
        self.page.press("#text", "Enter")

    def has_written(self, *texts: str) -> None:
        """The first contact writes and the bot answers, without the page: where the way of writing does not matter."""
        for text in texts:
            self.playground.write(self.playground.chats.contacts[0], text)
            self.playground.simulation.settle()

    def tap(self, title: str) -> None:
        self.page.locator("#conversation").get_by_role("button", name=title, exact=True).last.click()

    def hears(self, text: str) -> Locator:
        """Wait for a message of the bot's that has come, not one that waits or was given up; its bubble."""
        bubble = self.page.locator(".bubble.bot[id]", has_text=text).last
        expect(bubble).to_be_visible()
        return bubble

    def leaves_unsent(self, text: str) -> None:
        """Wait for a message that the bot could not send, or cannot send yet."""
        expect(self.page.locator(".bubble.bot:not([id])", has_text=text).first).to_be_visible()

    def save(self, flows: str) -> None:
        (self.folder / "flows" / "main.yml").write_text(flows)

    def keep_test(self) -> str:
        """Keep the conversation as a test, which passes; its text."""
        self.page.get_by_role("button", name="Keep as a test").click()
        kept = self.page.get_by_label("Test", exact=True)
        expect(kept).to_have_value(re.compile("expect: "))
        test = kept.input_value()
        (self.folder / "tests.yml").write_text(test)
        self.page.get_by_role("button", name="Close").click()
        outcome = call("test", self.folder)
        assert outcome.code == 0, f"{test}\n{outcome.out}"
        return test

    def replay(self) -> None:
        """Replay the conversation: the bot says the same."""
        self.page.get_by_role("button", name="Replay").click()
        expect(self.page.locator("body > .done")).to_have_text("Replayed: the bot said the same.")

    def open(self, summary: str) -> None:
        if not (wanted := self.page.locator("summary", has_text=summary).first).is_visible():
            self.page.locator("#unfold").click()
        wanted.click()


@contextmanager
def running(folder: Path) -> Iterator[tuple[Playground, PlaygroundServer]]:
    files = BotFiles(folder)
    program = files.load()
    with Playground(program, MovableClock(NOON, running=True), secrets={}) as playground:
        with PlaygroundServer(playground, program, files.folder, (usual_port(), 0)) as server:
            with FlowReloader(files, lambda program: server.use(program, files.folder), playground.complain):
                yield playground, server


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Playground, PlaygroundServer]]:
    with running(make_bot(tmp_path, FLOWS, bot=SETTINGS)) as found:
        yield found


@pytest.fixture
def opens(opens_page: Opens) -> Opens:
    """Opens the page in a browser of its own."""

    def opened(url: str, width: int = 1400, height: int = 900, dark: bool = False, locale: str = "en-GB") -> Page:
        page = opens_page(url, width, height, dark, locale=locale)
        expect(page.locator("#drawing svg")).to_be_attached()
        return page

    return opened


Serves = Callable[[str], tuple[Playground, PlaygroundServer]]


@pytest.fixture
def serves(tmp_path: Path) -> Iterator[Serves]:
    """Serves a bot of these flows."""
    with ExitStack() as running_bots:
        yield lambda flows: running_bots.enter_context(running(make_bot(tmp_path, flows, bot=SETTINGS)))


@pytest.fixture
def shows(serves: Serves, opens: Opens, tmp_path: Path) -> Callable[..., Shown]:
    """Shows a bot of these flows, at a width, dark or light."""

    def shown(flows: str, **look: Any) -> Shown:
        playground, server = serves(flows)
        return Shown(playground, server, tmp_path, opens(server.url, **look))

    return shown


@pytest.fixture
def shown(served: tuple[Playground, PlaygroundServer], opens: Opens, tmp_path: Path) -> Shown:
    playground, server = served
    return Shown(playground, server, tmp_path, opens(server.url))


def expect_each(locator: Locator, parts: list[str]) -> None:
    """There are as many elements as parts, and each contains its part."""
    expect(locator).to_have_count(len(parts))
    expect(locator).to_contain_text(parts)


def words(locator: Locator) -> str:
    return re.sub(r"\s+", " ", locator.inner_text()).strip()
