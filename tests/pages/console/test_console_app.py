"""Who gets into the console, and what those may see and do."""

import http.client
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from bot.core.telemetry import redact
from bot.pages.console import console_app
from bot.pages.console.console_app import OPEN, VIEWS
from bot.pages.console.login import known_browser, new_browser
from bot.pages.console.routes import Route
from bot.pages.console.users import VIEWER, User
from bot.pages.shared.page_server import ALIVE_SECONDS
from bot.settings.setting_values import CONSOLE_ROLES
from bot.store.files import StoreUnavailable
from tests.cli.terminal import make_bot
from tests.pages.console.client import Client, logged_in
from tests.pages.console.conftest import PASSWORD, PREFIX, Served, console_of
from tests.pages.playground.conftest import FLOWS, SETTINGS
from tests.patience import PATIENCE

SAID = "Zanzibar"


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with console_of(make_bot(tmp_path_factory.mktemp("bot"), FLOWS, bot=SETTINGS)) as console:
        yield console


@pytest.fixture
def untouched(console: Served) -> Served:
    """One console for all tests that leave it as it was: nobody has written to its bot. Each test may try to log in."""
    console.simulation.wait(timedelta(minutes=10))
    return console


def test_without_a_login_every_page_leads_to_the_form_and_then_to_the_page(served: Served) -> None:
    client = Client(served)
    answer = client.ask("/state?a=1")
    assert answer.status == 302 and answer.headers["Location"] == f"{PREFIX}/log-in?next=/state?a%3D1"
    assert client.log_in("olga", next="/state?a=1").headers["Location"] == f"{PREFIX}/state?a=1"
    assert client.ask("/state").status == 200
    for below in ("/", "/?find=%2B62..", "/contact/62.8?all=1/../x"):
        assert Client(served).log_in("olga", next=below).headers["Location"] == f"{PREFIX}{below}"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "//evil.example", "/\\evil.example", "https://evil.example", "/\r\nX: y", "javascript:1", "//[", "/../../x", "/x/../../y", "/..",
        "/%2e%2e/%2E./x", "/.%2e\\x", "/a\\..\\..\\x", "/./x", "/%2f/evil.example/..", "..", "/x/..#y", "/x/..?y",
    ],
)  # fmt: skip
def test_a_login_leads_to_no_other_site(untouched: Served, elsewhere: str) -> None:
    assert Client(untouched).log_in("olga", next=elsewhere).headers["Location"] == f"{PREFIX}/"


def test_the_cookie_is_for_this_path_no_script_and_no_other_site(untouched: Served) -> None:
    client = logged_in(untouched, "olga")
    parts = {part.strip() for part in client.set_cookie.split(";")[1:]}
    assert parts == {"HttpOnly", f"Path={PREFIX}/", "SameSite=Strict"}


def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(served: Served) -> None:
    wrong = [Client(served).log_in("olga", "wrong horse battery"), Client(served).log_in("nobody", PASSWORD)]
    assert [answer.status for answer in wrong] == [401, 401]
    assert wrong[0].text == wrong[1].text and "The name or the password is wrong." in wrong[0].text


@pytest.mark.parametrize("name", ["olga", "nobody"])
def test_after_five_tries_a_name_waits_and_others_do_not(served: Served, name: str) -> None:
    client = Client(served)
    assert [client.log_in(name, "wrong").status for _ in range(6)] == [401] * 5 + [429]
    refused = client.log_in(name)
    assert refused.status == 429 and "wait 12 seconds" in refused.text
    assert Client(served).log_in("abel").status == 302
    served.simulation.wait(timedelta(seconds=13))
    assert client.log_in(name).status == (302 if name == "olga" else 401)


def from_address(address: str) -> dict[str, str]:
    """What a proxy on this machine writes; the first part has come with the request, and anybody could have written it."""
    return {"X-Forwarded-For": f"192.0.2.99, {address}"}


def tried(served: Served, address: str, name: str = "olga", password: str = "wrong") -> int:
    form = {"name": name, "password": password}
    return Client(served).ask("/log-in", form, from_address(address)).status


def test_somebody_who_keeps_trying_a_name_holds_up_nobody_at_another_address(served: Served) -> None:
    assert [tried(served, "198.51.100.7") for _ in range(7)] == [401] * 5 + [429] * 2
    assert tried(served, "198.51.100.7", password=PASSWORD) == 429
    assert tried(served, "203.0.113.1", password=PASSWORD) == 302


def test_somebody_who_tries_many_names_holds_up_nobody_at_another_address(served: Served) -> None:
    assert [tried(served, "198.51.100.7", f"name{n}") for n in range(21)] == [401] * 20 + [429]
    assert tried(served, "203.0.113.1", password=PASSWORD) == 302


def test_tries_from_many_addresses_are_slowed_for_strangers_and_not_where_the_user_was_before(served: Served) -> None:
    assert tried(served, "203.0.113.1", password=PASSWORD) == 302
    assert {tried(served, f"198.51.100.{n}") for n in range(49)} == {401}
    assert tried(served, "198.51.100.200") == 429
    assert tried(served, "203.0.113.1", password=PASSWORD) == 302
    served.simulation.wait(timedelta(seconds=4))
    assert tried(served, "203.0.113.2", password=PASSWORD) == 302


def test_strangers_who_come_from_the_users_own_address_hold_up_no_browser_in_which_the_user_has_logged_in(
    served: Served,
) -> None:
    for address in ("", "198.51.100.7"):  # a proxy that tells no address, and one that many share
        served.simulation.wait(timedelta(minutes=10))
        headers = {} if not address else from_address(address)
        users = Client(served)
        form = {"name": "olga", "password": PASSWORD}
        assert users.ask("/log-in", form, headers).status == 302
        browser = users.cookies["bot_console_browser"]
        assert {tried(served, address, name) for name in ("olga", "abel") for _ in range(6)} == {401, 429}
        assert tried(served, address, password=PASSWORD) == 429
        again = Client(served, browser)
        assert again.ask("/log-in", form, headers).status == 302
        wrong = {"name": "olga", "password": "wrong"}
        assert [Client(served, browser).ask("/log-in", wrong, headers).status for _ in range(6)] == [401] * 5 + [429]
        other = {"name": "abel", "password": PASSWORD}
        assert Client(served, browser).ask("/log-in", other, headers).status == 429
        assert Client(served, browser[:-1] + "x").ask("/log-in", form, headers).status == 429


def test_a_new_password_makes_the_browsers_of_the_old_one_unknown() -> None:
    old, new = User("olga", VIEWER, "$argon2id$old"), User("olga", VIEWER, "$argon2id$new")
    kept = new_browser(old)
    assert known_browser(old, kept) is not None
    assert [known_browser(new, kept), known_browser(None, kept), known_browser(old, ""), known_browser(old, "é")] == [
        None
    ] * 4


def test_the_log_has_the_address_of_a_failed_login(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    tried(served, "203.0.113.177")
    tried(served, "2001:db8::7")
    lines = [redact(record.getMessage()) for record in caplog.records if "tried to log in" in record.getMessage()]
    assert [line.split()[2] for line in lines] == ["203.0.113.177", "2001:db8::/64"]


def test_a_network_of_ipv6_addresses_is_one(served: Served) -> None:
    assert [tried(served, f"2001:db8::{n}") for n in range(6)] == [401] * 5 + [429]
    assert tried(served, "2001:db8:0:1::1", password=PASSWORD) == 302


def test_what_is_no_address_counts_as_that_of_the_connection(served: Served) -> None:
    assert [tried(served, text) for text in ("", "x", "1.2.3", "a" * 3000, "::g", "x")] == [401] * 5 + [429]


def test_a_login_ends_when_its_user_logs_out(served: Served) -> None:
    client = logged_in(served, "olga")
    old = client.cookie
    assert client.ask("/log-out", {"token": client.token()}).status == 302
    assert Client(served, old).ask("/").status == 302


def test_a_login_ends_after_half_an_hour_in_which_only_its_page_asks(served: Served) -> None:
    client = logged_in(served, "olga")
    served.simulation.wait(timedelta(minutes=20))
    assert client.ask("/").status == 200
    served.simulation.wait(timedelta(minutes=20))
    assert client.ask("/", headers={"X-Refresh": "1"}).status == 200
    served.simulation.wait(timedelta(minutes=11))
    assert client.ask("/", headers={"X-Refresh": "1"}).status == 302


def stream(client: Client) -> http.client.HTTPResponse:
    """The changes that a page follows."""
    address = urlsplit(client.served.url)
    connection = http.client.HTTPConnection(address.netloc, timeout=PATIENCE)
    connection.request("GET", f"{address.path}/changes", headers={"Cookie": client.cookie})
    return connection.getresponse()


def test_a_page_that_is_left_open_ends_its_login_though_it_asks_for_changes_and_hears_of_the_end(
    served: Served,
) -> None:
    client = logged_in(served, "olga")
    for _ in range(2):
        with stream(client) as changes:
            assert changes.status == 200
        served.simulation.wait(timedelta(minutes=14))
    with stream(client) as changes:
        served.simulation.wait(timedelta(minutes=3))
        lines = iter(changes.readline, b"")
        assert next(line for line in lines if b"over" in line) == b"data: over\n" and list(lines) == [b"\n"]
    assert client.ask("/").status == 302


def test_a_stream_in_which_nothing_happens_says_something_before_a_proxy_cuts_it(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ALIVE_SECONDS <= 20
    monkeypatch.setattr(console_app, "ALIVE_SECONDS", 0)
    with stream(logged_in(served, "olga")) as changes:
        lines = [changes.readline() for _ in range(8)]
    assert lines.count(b": alive\n") >= 3


def test_a_login_ends_after_twelve_hours_also_of_a_busy_user(served: Served) -> None:
    client = logged_in(served, "olga")
    for _ in range(24):
        served.simulation.wait(timedelta(minutes=29))
        assert client.ask("/").status == 200
    served.simulation.wait(timedelta(minutes=29))
    assert client.ask("/").status == 302


def test_a_form_needs_the_logins_token_and_must_come_from_a_page_of_the_console(served: Served) -> None:
    client = logged_in(served, "olga")
    form = {"do": "retry", "id": "1", "token": client.token()}
    assert client.ask("/dead-letters/end", form).status == 302
    assert client.ask("/dead-letters/end", form | {"token": ""}).status == 403
    assert client.ask("/dead-letters/end", form | {"token": "é"}).status == 403
    assert client.ask("/dead-letters/end", form | {"token": logged_in(served, "olga").token()}).status == 403
    for origin in ("", "null", "https://evil.example"):
        assert client.ask("/dead-letters/end", form, headers={"Origin": origin}).status == 403
        assert (
            Client(served).ask("/log-in", {"name": "olga", "password": PASSWORD}, headers={"Origin": origin}).status
            == 403
        )


def test_another_host_is_refused_whatever_a_proxy_is_said_to_have_seen(untouched: Served) -> None:
    here = urlsplit(untouched.url).netloc
    hosts: list[dict[str, str]] = [{"Host": "evil.example"}, {"Host": "evil.example", "X-Forwarded-Host": here}]
    for headers in hosts:
        answer = Client(untouched).ask("/log-in", headers=headers)
        assert answer.status == 403 and untouched.url in answer.text


def test_all_lies_below_the_prefix(untouched: Served) -> None:
    client = logged_in(untouched, "olga")
    text = client.ask("/").text
    addresses = [
        part.partition('"')[0]
        for name in ("href", "src", "action", "data-changes")
        for part in text.split(f' {name}="')[1:]
    ]
    assert len(addresses) > 8
    assert [address for address in addresses if not address.startswith((f"{PREFIX}/", "#"))] == []
    above = Client(replace(untouched, url=untouched.url.removesuffix(PREFIX)), client.cookie)
    assert above.ask("/").status == 404 and above.ask(f"{PREFIX}x/").status == 404
    assert above.ask(PREFIX).headers["Location"] == f"{PREFIX}/"


def test_a_page_that_does_not_exist_says_what_to_do(untouched: Served) -> None:
    text = logged_in(untouched, "olga").ask("/nowhere").text
    assert "There is no page at this address: choose one above." in text


def test_pages_allow_nothing_inline_no_other_host_and_no_copy(untouched: Served) -> None:
    for path in ("/", "/log-in", "/nowhere", "/static/console.js"):
        answer = logged_in(untouched, "olga").ask(path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == ("no-cache" if path.startswith("/static/") else "no-store")
        assert "<style" not in answer.text and " style=" not in answer.text and " onclick" not in answer.text


def test_a_store_that_is_away_is_said_with_its_address_as_it_is(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise StoreUnavailable("postgresql://bot@db/bot cannot be used now (gone)", "see whether it runs")

    client = logged_in(served, "vera")
    monkeypatch.setattr(served.console.reader, "queue_counts", away)
    shown = client.ask("/state")
    assert shown.status == 503
    assert "<h1>The store cannot be used now</h1>" in shown.text
    assert ">postgresql://bot@db/bot cannot be used now (gone): see whether it runs.<" in shown.text


def test_each_address_names_its_role_or_is_open(untouched: Served) -> None:
    named = {route.name: route.role for view in VIEWS for route in view.ROUTES}
    rules = {rule.endpoint for rule in untouched.app.url_map.iter_rules()}
    assert rules - {"log_out", "changes", *OPEN} == set(named)
    assert set(named.values()) <= set(CONSOLE_ROLES)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/", "Nobody has written to the bot yet."),
        ("/broadcasts", "There are no broadcasts"),
        ("/dead-letters", "Nothing was given up."),
        ("/dead-letters?what=turn", "No dead letter fits."),
    ],
)
def test_an_empty_list_counts_nothing(untouched: Served, path: str, words: str) -> None:
    shown = logged_in(untouched, "olga").ask(path).text
    assert words in shown and re.search(r"\b0 (?:\w+ )?(?:in all|found)", shown) is None


@pytest.mark.parametrize("name", ["vera", "abel", "olga"])
def test_a_user_reaches_what_the_role_may_and_nothing_else(served: Served, name: str) -> None:
    client, user = logged_in(served, name), next(user for user in served.users.values() if user.name == name)
    token = client.token()
    for route in (route for view in VIEWS for route in view.ROUTES):
        path = route.address.replace("<who>", "0").replace("<name>", "x")
        answer = client.ask(path, {"token": token} if route.posts else None)
        assert (answer.status == 403) == (not user.may(route.role)), route
        assert answer.status < 500, f"{route}: {answer.text}"


ALL_ROUTES = [route for view in VIEWS for route in view.ROUTES]
LOG_OUT = Route("/log-out", lambda console, user: "", VIEWER, posts=True)


@pytest.mark.parametrize("route", [*ALL_ROUTES, LOG_OUT], ids=lambda route: f"{route.posts} {route.address}")
def test_each_form_needs_a_login_a_role_a_token_and_its_origin_and_no_page_takes_one(
    untouched: Served, route: Route
) -> None:
    client, path = logged_in(untouched, "olga"), route.address.replace("<who>", "6281234567890")
    token = client.token()
    if not route.posts:
        forms = [each for each in ALL_ROUTES if each.posts and each.address == route.address]
        assert (client.ask(path, {"token": token}).status == 405) == (not forms)
        return
    assert Client(untouched).ask(path, {"token": token}).status == 302  # to the form of the login
    for form in ({}, {"token": ""}, {"token": "x"}, {"token": logged_in(untouched, "olga").token()}):
        answer = client.ask(path, form)
        assert answer.status == 403 and "This form has no token" in answer.text
    for origin in ("", "null", "https://evil.example", untouched.url.replace("http:", "https:")):
        answer = client.ask(path, {"token": token}, headers={"Origin": origin})
        assert answer.status == 403 and "This form comes from another page" in answer.text
    assert client.ask(path).status == 405 or any(
        not each.posts and each.address == route.address for each in ALL_ROUTES
    )
    if not untouched.users["vera"].may(route.role):
        viewer = logged_in(untouched, "vera")
        assert viewer.ask(path, {"token": viewer.token()}).status == 403


def test_a_viewer_sees_no_number_no_name_no_text_and_no_value(served: Served) -> None:
    contact, simulation = "6281234567890", served.simulation
    simulation.become(contact)
    simulation.emulator.receive(contact, SAID, at=simulation.clock.now())
    simulation.settle()
    simulation.user(f"{SAID} again")
    simulation.emulator.faults.add("VALIDATION_MISSING_FIELD")
    simulation.tap("Tea")
    client = logged_in(served, "vera")
    pages = [route.address for view in VIEWS for route in view.ROUTES if not route.posts and "<" not in route.address]
    counts = [page for page in pages if page.startswith("/results")]  # with the bot's own words, and of nobody
    assert not any(hidden in client.ask(page).text for page in counts for hidden in (contact, contact[:-3], SAID))
    texts = [client.ask(page).text for page in ["/", *(page for page in pages if page not in counts)]]
    link = texts[0].partition('<td><a href="')[2].partition('"')[0].removeprefix(PREFIX)
    texts.append(client.ask(link).text)
    assert "•••890" in texts[0] and "main/size" in texts[0] and "•••890" in texts[-1] and "main/size" in texts[-1]
    for text in texts:
        for hidden in (contact, contact[:-3], SAID, "How large?", "Tea", "What would you like?"):
            assert hidden not in text
    assert client.ask(f"/?find={contact[:5]}").text.count("•••890") == 1  # no search tells a digit
    assert client.ask("/?find=999").text.count("•••890") == 1
    assert client.ask(f"/contact/{contact}").status == 404
    assert logged_in(served, "vera").ask(link).status == 404  # the address was the other login's
    assert logged_in(served, "abel").ask(f"/contact/{contact}").text.count(SAID) >= 2


@pytest.mark.parametrize(
    "path",
    ["/?page=0", "/?page=99999999999999999999", "/?page=x", "/?state=none", "/contact/%00", "/contact/..%2f..", "/dead-letters?before=-1",
     "/dead-letters?before=99999999999999999999", "/?find=%ff%00%27%22--", f"/?find={'9' * 5000}", "/contact/" + "9" * 3000],
)  # fmt: skip
def test_bad_input_gets_a_clear_answer(served: Served, path: str) -> None:
    served.simulation.user("hi")
    answer = logged_in(served, "olga").ask(path)
    assert answer.status in (200, 404), answer.text
    assert "could not be made" not in answer.text
