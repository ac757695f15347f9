"""What the playground answers to requests that its page does not make."""

import http.client
import json
import re
from typing import Any
from urllib.parse import urlsplit

import pytest

from bot.core.session import Session
from bot.pages.playground.playground import Playground
from bot.pages.playground.playground_app import phone_view
from bot.pages.playground.playground_server import PlaygroundServer, PortTaken
from tests.pages.playground.conftest import Serves

Served = tuple[Playground, PlaygroundServer]
CONTACT = "15555550100"


def ask(
    served: Served, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], str]:
    """Status, headers and text of an answer. ``body`` is JSON, or bytes as they are."""
    address = urlsplit(served[1].url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json"} | (headers or {})
    connection.request("GET" if data is None else "POST", path, data, sent)
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return found


def do(served: Served, **what: Any) -> tuple[int, str]:
    status, _, text = ask(served, f"/contact/{CONTACT}/do", what)
    return status, json.loads(text).get("error", "")


def test_only_this_machines_own_page_gets_an_answer(served: Served) -> None:
    assert ask(served, f"/contact/{CONTACT}")[0] == 200
    assert ask(served, "/", headers={"Host": "evil.example"})[0] == 403
    own = {"Origin": served[1].url.rstrip("/")}
    assert ask(served, f"/contact/{CONTACT}/do", {"do": "write", "text": "a"}, own)[0] == 200
    for origin in ("https://evil.example", "null"):
        assert ask(served, f"/contact/{CONTACT}/do", {"do": "write", "text": "b"}, {"Origin": origin})[0] == 403
    assert [bubble.text for bubble in served[0].chats.bubbles(CONTACT)][:1] == ["a"]


def page_of(served: Served) -> str:
    """The page of the first contact, as it is before its script runs."""
    return ask(served, f"/contact/{CONTACT}")[2]


def test_contacts_have_names_and_their_numbers_are_told(served: Served) -> None:
    assert f'aria-current="page" title="{CONTACT}">Ana</a>' in page_of(served)


def test_nothing_can_be_written_before_the_page_can_send_it(served: Served) -> None:
    assert re.search(r'<textarea id="text" [^>]*\bdisabled\b', page_of(served))


def test_without_a_script_times_are_the_servers(served: Served) -> None:
    assert re.search(r'id="clock".*?>Mon 6 May, 12:0\d<', page_of(served), re.DOTALL)


ZOO = """
flow: zoo
start: {otherwise: true, words: [hello]}
steps: {drink: {ask: What would you like?, then: end}}
---
flow: anew
start: {words: [anew]}
steps: {anew: {say: Anew, then: /zoo}}
"""


def test_the_first_words_that_are_offered_are_those_of_the_main_flow(serves: Serves) -> None:
    assert re.findall(r'data-say="(\w+)"', page_of(serves(ZOO))) == ["hello", "anew"]


@pytest.mark.parametrize(
    ("fault", "title"),
    [
        ("refused", "The gateway refuses messages (422)"),
        ("busy", "The gateway has too many requests (429)"),
        ("key", "The gateway refuses the key (401)"),
        ("down", "The platform refuses messages (502)"),
        ("channel", "The channel is gone"),
    ],
)
def test_a_fault_of_the_pages_own_switch_is_called_that(served: Served, fault: str, title: str) -> None:
    served[0].faults.switch(fault, True)
    served[0].write(CONTACT, "hi")
    served[0].simulation.settle()
    page = page_of(served)
    unsent = re.search(r'<article class="bubble bot \w+ unsent">.*?</article>', page, re.DOTALL)
    assert unsent and title in unsent[0]
    for wrong in ("defect", "BOT_", "bot.yml", "the gateway's message says why", "the gateway&#39;s message says why"):
        assert wrong not in page


def test_a_form_of_another_page_cannot_act_because_only_json_is_read(served: Served) -> None:
    status, _, _ = ask(served, f"/contact/{CONTACT}/do", b'{"do": "write"}', {"Content-Type": "text/plain"})
    assert status == 415


def test_the_policy_allows_nothing_inline_and_no_other_host(served: Served) -> None:
    _, headers, text = ask(served, f"/contact/{CONTACT}")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "<style" not in text and "style=" not in text and "onclick" not in text


DEEP = "[" * 900 + "]" * 900


BODIES = ["[" * 100_000, '{"a":' * 100_000, f'{{"do": {DEEP}}}', f'{{"do": "write", "text": {DEEP}}}',
          '{"do": "choose", "bubble": 1e400, "choice": 0}', f'{{"do": "choose", "bubble": "{"9" * 5000}", "choice": 0}}',
          '{"do": "place", "latitude": NaN, "longitude": 1e400}', '{"do": "wait", "for": 1e400}', "{", "[]", "1", ""]  # fmt: skip


def test_no_json_whatever_is_a_failure_of_the_server(served: Served) -> None:
    for body in BODIES:
        status, _, text = ask(served, f"/contact/{CONTACT}/do", body.encode())
        assert status in (200, 400, 409), (body[:100], text)


def test_what_cannot_be_done_is_answered_with_a_sentence(served: Served) -> None:
    assert do(served, do="dance") == (409, "unknown act: the acts are write, speak, answer, choose, place, start, signal, happen, set, decide, "
                                           "restart, wait, next, past_window, switch, replay, keep, contact")  # fmt: skip
    assert do(served, do="write", text="  ") == (409, "the message is empty")
    assert do(served, do="write", text="a" * 5000) == (409, "a message has at most 4096 characters")
    assert do(served, do="speak", text=" ") == (409, "the voice note says nothing")
    assert do(served, do="write") == (409, "this cannot be done: 'text'")
    assert do(served, do="choose", bubble=7, choice=0) == (409, "there is no such button any more")
    assert do(served, do="place", latitude=91, longitude=0)[0] == 409
    assert do(served, do="switch", fault="flood", on=True) == (409, "there is no fault flood")
    assert do(served, do="start", flow="nowhere")[0] == 409
    assert (
        do(served, do="start", flow="offer", values="price")[1]
        == '"price" is no value: write name=value, each on its own line'
    )
    assert do(served, do="start", flow="offer", values="price=[{7}]")[1].startswith(
        "price is not JSON: write it like ["
    )
    assert do(served, do="start", flow="offer", values='price=[{"a": 7}]')[1].endswith("a list is not a number")
    assert do(served, do="wait", **{"for": "900d"})[0] == 409
    assert do(served, do="next") == (
        409,
        "there is no next event: no reminder, time-out, schedule or retry is waiting",
    )


def test_what_is_refused_takes_nothing_else_off_the_phone(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    playground, contact = served[0], served[0].chats.contacts[0]

    def starts(*_: object) -> str:
        playground.write(contact, "meanwhile")
        return "there is no such flow"

    monkeypatch.setattr(playground.simulation.operator, "start", starts)
    assert do(served, do="start", flow="offer")[0] == 409
    assert [bubble.text for bubble in playground.chats.bubbles(contact) if bubble.message is None] == ["meanwhile"]


def test_broken_requests_are_refused(served: Served) -> None:
    assert ask(served, f"/contact/{CONTACT}/do", b"{")[0] == 400
    assert ask(served, f"/contact/{CONTACT}/do", [])[0] == 409
    assert ask(served, "/contact/1/do", {"do": "write", "text": "a"})[0] == 409
    assert ask(served, "/contact/1")[0] == 302
    assert ask(served, "/map?flow=nowhere")[0] == 404
    assert ask(served, "/step?flow=main&step=nowhere")[0] == 404
    assert ask(served, "/media/nothing.png")[0] == 404
    assert ask(served, f"/contact/{CONTACT}/file?name=a.bin", b"MZ\0\1")[0] == 409


def test_a_file_comes_back_with_the_type_of_its_content(served: Served) -> None:
    assert ask(served, f"/contact/{CONTACT}/file?name=a.html", b"%PDF-1.4\n%%EOF\n")[0] == 200
    bubble = served[0].chats.bubbles(CONTACT)[0]  # the bot may have answered by now
    _, headers, _ = ask(served, f"/media/{bubble.file.split()[0]}")
    assert headers["Content-Type"] == "application/pdf" and headers["Content-Disposition"] == "attachment"


def test_there_are_fifty_contacts_at_most(served: Served) -> None:
    for _ in range(49):
        assert do(served, do="contact")[0] == 200
    assert do(served, do="contact") == (409, "there are 50 contacts already: start `bot dev` again")


def test_a_port_that_is_taken_is_named(served: Served) -> None:
    playground, server = served
    port = urlsplit(server.url).port or 0
    program = playground.simulation.running.program
    with pytest.raises(PortTaken, match=f"port {port} is taken: name another one with --port"):
        PlaygroundServer(playground, program, server._newest_map().folder, [port])


def test_a_message_that_the_gateway_has_taken_is_shown_once_also_while_the_bot_does_not_know(served: Served) -> None:
    """The answer is lost after the message was accepted: it is on the phone, and waits for its next try."""
    playground, contact = served[0], served[0].chats.contacts[0]
    playground.faults.switch("lost", True)
    playground.write(contact, "hi")
    playground.simulation.settle()
    assert [send.attempts for send in playground.simulation.stored.reader.messages.pending()][:1] == [1]
    view = phone_view(playground, playground.simulation.stored.reader.sessions.get(contact) or Session(contact))
    assert [shown.bubble.message.text for shown in view.bubbles if shown.bubble.message] == ["Hello *you*"]
    waiting = [(unsent.message.text, unsent.message.buttons) for unsent in view.unsent]
    assert waiting == [("What would you like?", ("Tea", "Coffee"))]
