"""A real Chromium for the tests of pages, in which no page may ask another host or write to the console."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.patience import PATIENCE

expect.set_options(timeout=PATIENCE * 1000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """It ends with its module: until then its event loop counts as running on this thread, where other tests run their own."""
    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        with playwright.chromium.launch(executable_path=path, args=["--no-sandbox"]) as browser:
            yield browser


Opens = Callable[..., Page]
AXE = Path(sys.prefix, "lib", "node_modules", "axe-core", "axe.min.js")


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds on a page: rules, with what breaks them."""
    found = page.evaluate(f"async () => {{ {AXE.read_text()}; return (await axe.run()).violations }}")
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]


@pytest.fixture
def opens_page(browser: Browser) -> Iterator[Opens]:
    """Opens a page in a browser of its own. At the end no page may have asked another host, or have written to the console."""
    wrong: list[str] = []
    contexts = []

    def opened(url: str, width: int = 1400, height: int = 900, dark: bool = False, scripts: bool = True) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            locale="en-GB",
            java_script_enabled=scripts,
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        host = "/".join(url.split("/")[:3])

        def asked(request: Request) -> None:
            if not request.url.startswith((f"{host}/", f"blob:{host}", "data:")):
                wrong.append(f"asked {request.url}")

        def printed(message: ConsoleMessage) -> None:
            if "status of 4" not in message.text:  # a refusal is said on the page; browsers also print it
                wrong.append(message.text)

        page.on("request", asked)
        page.on("console", printed)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == [], wrong
