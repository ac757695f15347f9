"""Parts of a page that change while somebody looks, in a real Chromium."""

import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from bot.pages.shared.page_server import PageServer, page_app
from tests.browsing import Opens, browser, opens_page  # noqa: F401
from tests.ports import pages_listener


@pytest.fixture
def page(opens_page: Opens) -> Iterator[Page]:  # noqa: F811
    """A page with an empty part."""
    app = page_app(__name__, forms=False)
    app.add_url_rule("/", "home", lambda: "<!doctype html><title>Parts</title><div id=part></div>")
    listener = pages_listener()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    with PageServer(app, listener, threading.Event()):
        yield opens_page(url)


def put(page: Page, html: str) -> None:
    """Make this the HTML of the part."""
    page.evaluate(
        "async html => (await import('/pages/parts.js')).replace(document.getElementById('part'), html)", html
    )


def letters(*ids: int, count: int = 0) -> str:
    rows = (
        f"<li>{count} tries <label><input type=checkbox name=id value={id}> {id}</label> <a href=/ann>Ann</a></li>"
        for id in ids
    )
    return f"<p>{count} in all</p><ul>{''.join(rows)}</ul>"


def test_the_html_is_what_the_server_says(page: Page) -> None:
    states = [
        "<p>a</p>\n<p id=x>b</p> c",
        "<p id=x>b</p>",
        "<p id=y>b</p><p id=x class=c>b <b>now</b></p><!-- d -->",
        "<p id=x>e</p><p id=y>b</p>",
        "",
        "text",
        "<ul><li>1</li><li>2</li><li>3</li></ul>",
        "<ul><li>0</li><li>1</li><li>3</li></ul>",
        "<table><tbody><tr><td><a href='/a'>A</a></td></tr><tr><td><a href='/b'>B</a></td></tr></tbody></table>",
        "<table><tbody><tr><td><a href='/b'>B!</a></td></tr><tr><td><a href='/c'>C</a></td></tr></tbody></table>",
    ]
    for state in [*states, *reversed(states)]:
        put(page, state)
        wanted = page.evaluate("html => { const one = document.createElement('div'); one.innerHTML = html; return one.innerHTML }", state)  # fmt: skip
        assert page.locator("#part").inner_html() == wanted


@pytest.mark.parametrize("focused", "xyz")
def test_what_has_the_focus_keeps_it_when_the_order_changes(page: Page, focused: str) -> None:
    put(page, "".join(f"<button id={name}>{name}</button>" for name in "xyz"))
    page.locator(f"#{focused}").focus()
    put(page, "".join(f"<button id={name}>{name}</button>" for name in "zyx"))
    assert page.evaluate("document.activeElement.id") == focused


def test_what_is_ticked_stays_so_when_numbers_change_and_rows_come_and_go(page: Page) -> None:
    put(page, letters(1, 2, 3))
    page.get_by_label("2").check()
    for state in (letters(1, 2, 3, count=7), letters(2, 3, count=8), letters(4, 2, 3, count=9)):
        put(page, state)
        assert [each.get_attribute("value") for each in page.locator("input:checked").all()] == ["2"]
    put(page, letters(4, 3, count=10))
    assert page.locator("input:checked").count() == 0


def test_a_list_that_a_person_has_opened_or_closed_stays_so_and_others_follow_the_server(page: Page) -> None:
    def turns(newest: int, count: int) -> str:
        each = (f"<details id=t{n}{' open' if n == newest else ''}><summary>{n}, {count} sent</summary>x</details>" for n in range(newest, 0, -1))  # fmt: skip
        return "".join(each)

    put(page, turns(2, 0))
    page.locator("#t1 summary").click()
    put(page, turns(3, 5))
    assert [each.get_attribute("id") for each in page.locator("details[open]").all()] == ["t3", "t1"]
    page.locator("#t3 summary").press("Enter")
    put(page, turns(3, 6))
    assert [each.get_attribute("id") for each in page.locator("details[open]").all()] == ["t1"]


def test_what_is_written_and_selected_and_the_focus_stay_when_texts_around_change(page: Page) -> None:
    html = "<p>{n} wait</p><button>{n} more</button><form><input name=answer value=one></form><p id=said>Said: {n}</p>"
    put(page, html.format(n=1))
    page.locator("input").fill("two")
    page.locator("input").evaluate("input => input.setSelectionRange(1, 2)")
    put(page, html.format(n=2))
    assert page.locator("input").input_value() == "two"
    assert page.evaluate("[document.activeElement.name, document.activeElement.selectionStart]") == ["answer", 1]
    page.locator("button").focus()
    put(page, html.format(n=3))
    assert page.evaluate("document.activeElement.textContent") == "3 more"


def test_a_screen_reader_hears_only_what_is_new(page: Page) -> None:
    put(page, "".join(f"<article id=b{n}><p>{n}</p></article>" for n in range(60)))
    page.evaluate(
        "() => { globalThis.added = []; new MutationObserver((seen) => { for (const each of seen) added.push(...each.addedNodes) })"
        ".observe(document.getElementById('part'), { childList: true, subtree: true }) }"
    )
    put(page, "".join(f"<article id=b{n}><p>{n}</p></article>" for n in range(1, 61)))
    assert page.evaluate("added.map((each) => each.id)") == ["b60"]
