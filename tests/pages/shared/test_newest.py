"""A log that keeps its newest message in sight, in a real Chromium."""

import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from bot.pages.shared.page_server import PageServer, page_app
from tests.browsing import Opens, browser, opens_page  # noqa: F401
from tests.ports import pages_listener

SCROLL_AND_CHANGE = """async () => {
  const { Newest } = await import("/pages/newest.js");
  const log = document.getElementById("log");
  const message = (height) => {
    const made = document.createElement("p");
    Object.assign(made.style, { height, margin: 0 });
    return made;
  };
  Object.assign(log.style, { height: "200px", overflow: "auto", overflowAnchor: "none" });
  for (let number = 0; number < 50; number++) log.append(Object.assign(message("40px"), { id: `m${number}` }));
  const newest = new Newest(log, document.querySelector("button"));
  log.scrollTop = 400; // its event comes with the next frame
  newest.change(() => log.prepend(message("1000px")));
  return log.scrollTop;
}"""


@pytest.fixture
def page(opens_page: Opens) -> Iterator[Page]:  # noqa: F811
    app = page_app(__name__, forms=False)
    page = "<!doctype html><title>Log</title><button></button><div id=log></div>"
    app.add_url_rule("/", "home", lambda: page)
    listener = pages_listener()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    with PageServer(app, listener, threading.Event()):
        yield opens_page(url)


def test_a_message_that_comes_before_the_browser_reports_a_scroll_moves_nothing_that_is_read(page: Page) -> None:
    assert page.evaluate(SCROLL_AND_CHANGE) == 1400
