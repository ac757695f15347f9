"""A log that keeps its newest message in sight, in a real Chromium."""

import threading
from collections.abc import Iterator
from socket import create_server

import pytest
from playwright.sync_api import Page

from bot.pages.page_server import PageServer, page_app
from tests.browsing import Opens, browser, opens_page  # noqa: F401

LOG = (
    "<!doctype html><title>Log</title><button hidden></button><div id=log style='height:200px;overflow:auto'>"
    + "".join(f"<p id=m{number} style='height:40px;margin:0'>{number}</p>" for number in range(50))
    + "</div>"
)
SCROLL_AND_CHANGE = """async () => {
  const { Newest } = await import("/pages/newest.js");
  const log = document.getElementById("log");
  const newest = new Newest(log, document.querySelector("button"));
  log.scrollTop = 400; // its event comes with the next frame
  newest.change(() => log.prepend(Object.assign(document.createElement("p"), { style: "height:1000px;margin:0" })));
  return log.scrollTop;
}"""


@pytest.fixture
def page(opens_page: Opens) -> Iterator[Page]:  # noqa: F811
    app = page_app(__name__, forms=False)
    app.add_url_rule("/", "home", lambda: LOG)
    listener = create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    with PageServer(app, listener, threading.Event()):
        yield opens_page(url)


def test_a_message_that_comes_before_the_browser_reports_a_scroll_moves_nothing_that_is_read(page: Page) -> None:
    assert page.evaluate(SCROLL_AND_CHANGE) == 1400
