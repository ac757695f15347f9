"""The form of a question as a contact opens it: of a running bot, whose conversation goes on by what is sent."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from bot.core.clock import MovableClock
from bot.core.engine_requests import EraseContact
from bot.core.own_addresses import EXAMPLE
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.simulation.simulation import Simulation
from tests.cli.terminal import make_bot

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
BOT = "name: Test\ndefaults: {timeout: {after: 20h, then: end}}\n"
FLOWS = """
flow: visit
start: {words: [book]}
vars: {name: name, guests: {type: integer, min: 1, max: 60}, day: {type: date, after: today, error: Later please.}, garden: boolean}
steps:
  name:
    ask: What is your name? Or fill in everything at once.
    save: name
    form: {title: Fill in, fields: {name: Your name, guests: How many?, day: Which day?, garden: Outside?}, then: done}
  guests: {ask: For how many?, save: guests}
  day: {ask: Which day?, save: day}
  garden: {ask: Outside?, save: garden}
  done: {say: "{{ name }}, {{ guests }}, {{ day }}, {{ 'outside' if garden else 'inside' }}", then: end}
"""
RIGHT = {"name": "Ann", "guests": "4", "day": "2030-05-08", "garden": "true"}


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Simulation]:
    with Simulation(load_program(read_folder(make_bot(tmp_path, FLOWS, bot=BOT))), MovableClock(START)) as simulation:
        simulation.user("book")
        yield simulation


def link(chat: Simulation) -> str:
    """The address behind the newest button."""
    found = [message.link.url for message in chat.phones.messages() if message.link is not None]
    return found[-1]


def ask(chat: Simulation, address: str, data: dict[str, str] | bytes | None = None) -> tuple[int, str]:
    with closing(HTTPConnection("127.0.0.1", urlsplit(chat.running.url).port)) as connection:
        body = urlencode(data) if isinstance(data, dict) else data
        headers = {} if body is None else {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("GET" if body is None else "POST", urlsplit(address).path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def send(chat: Simulation, data: dict[str, str], address: str = "") -> tuple[int, str]:
    found = ask(chat, address or link(chat), data)
    chat.settle()
    return found


def heard(chat: Simulation) -> list[str]:
    return [message.text for message in chat.phones.heard()]


def errors(page: str) -> list[tuple[str, str]]:
    return re.findall(r'<p class="error" id="(\w+)-error">([^<]*)</p>', page)


def test_what_is_sent_answers_all_questions_and_the_conversation_goes_on(chat: Simulation) -> None:
    status, page = ask(chat, link(chat))
    assert status == 200 and re.findall(r"<label[^>]*>([^<]*)", page) == [
        "Your name",
        "How many?",
        "Which day?",
        "Outside?",
    ]
    assert heard(chat) == ["What is your name? Or fill in everything at once."]
    status, page = send(chat, RIGHT)
    assert status == 200 and "Thank you!" in page
    assert heard(chat) == ["Ann, 4, 2030-05-08, outside"]


def test_the_chat_answers_as_well_and_then_the_form_is_closed(chat: Simulation) -> None:
    address = link(chat)
    for text in ("Ann", "4", "2030-05-08", "no"):
        chat.user(text)
    assert heard(chat)[-1] == "Ann, 4, 2030-05-08, inside"
    assert ask(chat, address)[0] == 410 and send(chat, RIGHT, address)[0] == 410 and heard(chat) == []


def test_each_field_is_read_like_an_answer_and_nothing_is_kept_of_a_form_with_a_mistake(chat: Simulation) -> None:
    status, page = send(chat, {"name": "<b>Ann", "guests": "99", "day": "2030-05-01", "garden": "maybe"})
    assert (status == 422 and [name for name, _ in errors(page)] == ["guests", "day", "garden"]) or errors(page)
    assert dict(errors(page))["day"] == "Later please." and "<b>" not in page
    assert dict(errors(send(chat, {**RIGHT, "name": "x" * 2001})[1])) == {"name": "At most 2000 characters, please."}
    assert send(chat, {**RIGHT, "day": ""})[0] == 422 and send(chat, {})[0] == 422
    heard(chat)
    assert chat.stored.session().frames[-1].step == "name"
    assert send(chat, RIGHT)[0] == 200 and heard(chat) == ["Ann, 4, 2030-05-08, outside"]


def test_a_field_that_is_optional_may_be_left_empty(tmp_path: Path) -> None:
    flows = FLOWS.replace("then: done}", "optional: [day, garden], then: done}").replace(
        "{{ day }}", "{{ day or 'any day' }}"
    )
    program = load_program(read_folder(make_bot(tmp_path, flows, bot=BOT)))
    with Simulation(program, MovableClock(START)) as simulation:
        simulation.user("book")
        assert re.findall(r'name="(\w+)" required', ask(simulation, link(simulation))[1]) == ["name", "guests"]
        heard(simulation)
        assert send(simulation, {**RIGHT, "day": "soon", "garden": ""})[0] == 422
        assert send(simulation, {**RIGHT, "day": " ", "garden": ""})[0] == 200
        assert heard(simulation) == ["Ann, 4, any day, inside"]


def test_it_is_sent_once_however_often_and_whatever_is_sent_again(chat: Simulation) -> None:
    address = link(chat)
    assert send(chat, RIGHT)[0] == 200
    assert send(chat, RIGHT, address)[0] == 410 and send(chat, {**RIGHT, "name": "Bo"}, address)[0] == 410
    assert heard(chat)[1:] == ["Ann, 4, 2030-05-08, outside"]


def test_two_that_are_sent_at_once_are_one(chat: Simulation) -> None:
    with chat.clock.held():
        found = [ask(chat, link(chat), {**RIGHT, "name": name}) for name in ("Ann", "Bo")]
    chat.settle()
    assert found[0][0] == 200
    assert heard(chat)[1:] == ["Ann, 4, 2030-05-08, outside"]


def test_an_address_of_an_earlier_visit_is_closed(chat: Simulation) -> None:
    old = link(chat)
    chat.clock.move_to(START.replace(day=8))
    chat.settle()
    assert ask(chat, old)[0] == 410
    chat.user("book")
    assert link(chat) != old and ask(chat, old)[0] == 410 and ask(chat, link(chat))[0] == 200


def test_a_flow_that_interrupts_the_question_leaves_its_form_open(tmp_path: Path) -> None:
    flows = FLOWS.replace("name: name,", "name: email,").replace("vars:", "interrupted: resume\nvars:")
    flows += "---\nflow: hours\nstart: {words: [hours]}\nsteps: {a: {ask: Today?}}\n"
    with Simulation(load_program(read_folder(make_bot(tmp_path, flows, bot=BOT))), MovableClock(START)) as chat:
        chat.user("book")
        chat.user("hours")
        assert send(chat, {**RIGHT, "name": "ann@a.example"})[0] == 200
        assert heard(chat)[-1] == "Today?"
        chat.user("yes")
        assert heard(chat)[-1] == "ann@a.example, 4, 2030-05-08, outside"


def test_strangers_find_nothing(chat: Simulation) -> None:
    ours = link(chat)
    token = ours.rpartition("/")[2]
    signal = (EXAMPLE.signal("visit.name", chat.contact, 1, 1) or "").rpartition("/")[2]
    others = [
        f"/forms/visit.name/x{token[1:]}",
        f"/forms/visit.guests/{token}",
        f"/forms/visit.name/{signal}",
        f"{ours}=",
    ]
    assert [ask(chat, address)[0] for address in others] == [404] * len(others)
    assert ask(chat, f"/signals/visit.name/{token}", RIGHT)[0] == 404
    assert chat.contact not in ours


def test_an_erased_contact_has_no_form(chat: Simulation) -> None:
    address = link(chat)
    chat.running.engine.operate(EraseContact(chat.contact))
    assert ask(chat, address)[0] == 410


def test_a_page_has_no_script_no_cookie_and_no_other_host(chat: Simulation) -> None:
    with closing(HTTPConnection("127.0.0.1", urlsplit(chat.running.url).port)) as connection:
        connection.request("GET", urlsplit(link(chat)).path)
        answer = connection.getresponse()
        page = answer.read().decode()
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy and "form-action 'self'" in policy
    assert (answer.headers["Referrer-Policy"], answer.headers["Cache-Control"]) == ("no-referrer", "no-store")
    assert answer.headers["Set-Cookie"] is None and "<script" not in page and "http" not in page


def test_a_form_has_a_size_and_an_address_a_limit(chat: Simulation) -> None:
    assert ask(chat, link(chat), b"name=" + b"x" * 40_000)[0] == 413
    statuses = [ask(chat, link(chat))[0] for _ in range(60)]
    assert statuses[0] == 200 and statuses[-1] == 429
