"""A real Chromium for the tests of pages, in which no page may ask another host or write to the console."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    WebError,
    expect,
    sync_playwright,
)

from bot.pages.shared import page_server
from tests.patience import PATIENCE
from tests.searches import SEARCHING
from tests.tools import AXE, CHROMIUM, NODE_MODULES, chromium_path

expect.set_options(timeout=PATIENCE * 1000)
FEWER_PROCESSES = (
    "--no-sandbox",
    "--in-process-gpu",
    "--enable-features=NetworkServiceInProcess2",
    "--default-tile-width=1600",  # the part of a page that is drawn at once
    "--default-tile-height=1024",
)
"""Chromium draws, and asks servers, in its first process: messages between processes are a tenth of a page's load."""


@contextmanager
def started_chromium() -> Iterator[Browser]:
    """Start a browser. Its event loop counts as running on this thread only while a test uses it (`browser`), because
    other tests run their own.
    """
    CHROMIUM.require()
    with sync_playwright() as playwright:
        with playwright.chromium.launch(executable_path=chromium_path(), args=FEWER_PROCESSES) as started:
            asyncio._set_running_loop(None)
            yield started
            asyncio._set_running_loop(started._loop)


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    asyncio._set_running_loop(chromium._loop)
    yield chromium
    asyncio._set_running_loop(None)


Opens = Callable[..., Page]
LOOKS = pytest.mark.parametrize(
    ("width", "dark"), [(1400, True), (360, False), *([(1400, False), (360, True)] if SEARCHING else [])]
)
"""How a page is looked at: each width and each scheme once in the suite, all four together in a search."""
HARMLESS = (
    "status of 4",  # a refusal is said on the page; browsers also print it
    "Autofocus processing was blocked",  # a test has begun to type sooner than a person could
)


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """The rules of axe that a page breaks, each with the elements that break it."""
    AXE.require()
    if not page.evaluate("'axe' in globalThis"):
        page.evaluate((NODE_MODULES / "axe-core" / "axe.min.js").read_text())
    found = page.evaluate("async () => (await axe.run({ resultTypes: ['violations'] })).violations")
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]


class Tabs:
    """Tabs of one browser, of which one is seen. A headless Chromium shows them all, so the others are told that they
    are hidden.
    """

    def __init__(self, browser_context: BrowserContext) -> None:
        self._context = browser_context
        self.all: list[Page] = []

    def open(self, url: str) -> Page:
        """Open another tab, which hides the others."""
        tab = self._context.new_page()
        self.all.append(tab)
        self.show(tab)
        tab.goto(url)
        return tab

    def show(self, shown: Page) -> None:
        """Show this tab, and hide the others."""
        for tab in self.all:
            tab.evaluate(
                "hidden => { Object.defineProperty(document, 'hidden', { get: () => hidden, configurable: true });"
                " document.dispatchEvent(new Event('visibilitychange')); }",
                tab is not shown,
            )


@pytest.fixture
def opens_page(browser: Browser) -> Iterator[Opens]:
    """Opens a page in a browser of its own. At the end no page may have asked another host, or have written to the
    console.

    ``first`` is done with the browser before it opens the page. Tests with the usual browser have the same ones, one
    after the other, because a new one is as much work as a page: a test that cannot undo what it does to its browser
    (init scripts, a clock) closes its page.
    """
    wrong: list[str] = []
    idle = browser.contexts  # earlier tests have left them, each with its empty page
    listening = ExitStack()
    usual: list[Page] = []
    others: list[BrowserContext] = []

    def opened(
        url: str,
        width: int = 1400,
        height: int = 900,
        dark: bool = False,
        scripts: bool = True,
        locale: str = "en-GB",
        first: Callable[[BrowserContext], object] = lambda context: None,
    ) -> Page:
        is_usual = scripts and locale == "en-GB"
        if is_usual and idle:
            context = idle.pop()
            (page,) = context.pages
        else:
            context = browser.new_context(locale=locale, java_script_enabled=scripts)
            context.set_default_timeout(PATIENCE * 1000)
            page = context.new_page()
        if is_usual:
            usual.append(page)
        else:
            others.append(context)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if dark else "light")
        host = "/".join(url.split("/")[:3])

        def asked(request: Request) -> None:
            if not request.url.startswith((f"{host}/", f"blob:{host}", "data:")):
                wrong.append(f"asked {request.url}")

        def printed(message: ConsoleMessage) -> None:
            if not any(words in message.text for words in HARMLESS):
                wrong.append(message.text)

        def failed(error: WebError) -> None:
            wrong.append(str(error.error))

        listeners: dict[Any, Callable[..., None]] = {"request": asked, "console": printed, "weberror": failed}
        for event, listener in listeners.items():
            context.on(event, listener)
            listening.callback(context.remove_listener, event, listener)
        first(context)
        page.goto(url)
        return page

    with patch.object(page_server, "STATIC_CACHING", "max-age=3600"):  # asking for each is a quarter of a load
        yield opened
    for page in usual:
        leave(page)
    listening.close()
    for context in others:
        context.close()
    assert wrong == [], wrong


def leave(page: Page) -> None:
    """Leave the browser of this page to the next test, like a new one; close it if the test has closed the page."""
    try:
        for other in page.context.pages:
            if other is not page:
                other.close()
        page.mouse.move(-1, -1)
        clear(page)
        page.unroute_all()
        page.context.clear_cookies()
    except Error:  # the page is closed, or on its way to another one
        page.context.close()


def clear(page: Page) -> None:
    """Leave the page, and all that its browser keeps for it: the next server has the same address."""
    page.evaluate("try { sessionStorage.clear() } catch {}")
    page.goto("about:blank")
