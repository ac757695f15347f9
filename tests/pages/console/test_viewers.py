"""What viewers cannot learn: nothing that the pages answer says, or lets one guess, who a contact is or what was said."""

import http.client
import re
from contextlib import closing
from html import unescape
from urllib.parse import unquote, urlsplit

import pytest

from bot.core.engine_requests import AddRecipients, NoteContact, StartFlow
from bot.core.values import time_text
from bot.pages.console import contacts
from bot.pages.console.console_app import VIEWS
from bot.store.count_rows import ADD_USAGE
from bot.testing.emulator import MessageTemplate
from tests.pages.console.client import Answer, Client, logged_in
from tests.pages.console.conftest import NOON, PREFIX, Served
from tests.store.store_kit import beside_the_store

NUMBER, OTHER = "6281234567890", "6281234567123"
SPELLINGS = (
    "+62 812-3456-7890", "62 812 3456 7890", "62.812.3456.7890", "(62) 812/3456/7890", "62\u00a0812\u00a03456\u00a07890",
    "62\u2013812\u20133456\u20137890", "62 8 1 2 3 4 5 6 7 8 9 0", NUMBER,
)  # fmt: skip
NAME, EMAIL, WORDS, AGENT = "Zanzibar", "quokka@zoo.example", "marmalade", "keeper@zoo.example"
PLANTED = (NAME, EMAIL, WORDS, AGENT, "quokka", "keeper")
FLOWS = """
flow: main
start: {otherwise: true}
slots: [cups, email]
vars: {cups: integer, email: email, name: text, note: text}
steps:
  cups: {ask: How many?, save: cups}
  email: {ask: Your address?, save: email}
  name: {ask: Your name?, save: name}
  note: {ask: Anything else?, save: note}
  bye: {say: "Thanks {{ name }}: {{ note }}", then: name}
---
flow: help
start: {words: [help]}
vars: {said: {type: text, value: marmalade}}
steps:
  desk: {handoff: {team: bar, note: "They want {{ said }}", say: One moment.}, closed: end}
---
flow: later
vars: {text: text}
steps: {ask: {ask: "Really {{ text }}?", then: end}}
---
flow: vote
start: {payload: "VOTE:{what}"}
vars: {what: text}
steps:
  count: {run: /count, of: "{{ what }}", with: {who: "{{ contact.id }}"}, errors: {else: end}}
  thanks: {say: "You vote for {{ what }}.", then: end}
---
flow: count
shared: ballot
vars: {votes: {type: list, value: [], keep: true}, who: phone}
steps: {add: {set: {votes: "{{ votes + [who] }}"}, then: end}}
"""


@pytest.fixture
def flows() -> str:
    return FLOWS


@pytest.fixture
def planted(served: Served) -> Served:
    """A bot whose every view has something of a contact that a viewer may not learn."""
    bot, emulator = served.simulation, served.simulation.emulator
    bot.become(NUMBER)
    bot.gateway.happen("contact.updated", {"name": NAME, "email": EMAIL, "tags": [WORDS]})
    for text in ("hi", f"my address is {EMAIL}", "2", NAME, WORDS):
        bot.user(text)
    bot.user(f"{WORDS} for {SPELLINGS[1]}")
    for name in (*SPELLINGS, f"for {EMAIL}"):
        emulator.templates.add(MessageTemplate("sale", "en", body="{{1}} off"))
        recipients = [{"contact": contact, "body": [WORDS]} for contact in (NUMBER, OTHER)]
        served.console.ask(
            AddRecipients(name, recipients, {"name": "sale", "language": "en"}, by=AGENT)
        )  # fmt: skip
        bot.settle()
    emulator.templates.add(MessageTemplate("sale", "en", header_media="image", body="All of it!"))  # it is refused
    served.console.ask(
        AddRecipients(f"again {SPELLINGS[1]}", recipients, {"name": "sale", "language": "en"})
    )  # fmt: skip
    start = StartFlow(NUMBER, "later", {"text": WORDS}, "replace", by=f"broadcast {SPELLINGS[2]}")
    served.console.ask(start)
    bot.settle()
    bot.become(OTHER)
    bot.gateway.happen("contact.updated", {"name": NAME})
    bot.user("help")
    bot.gateway.happen("conversation.assigned", {"agent": AGENT})
    emulator.faults.add("VALIDATION_MISSING_FIELD", count=1)
    bot.become(NUMBER)
    bot.user(WORDS)
    emulator.faults.add("error_before")
    bot.user(f"{WORDS} again")
    bot.become("6281234567456")
    bot.tap_payload("Vote", f"VOTE:{WORDS}")
    bot.send("image", WORDS, b"a photo")
    bot.user("help")
    bot.become(NUMBER)
    bot.gateway.happen("message.sent", {"agent": AGENT, "text": f"{WORDS}, {NAME}?"})
    bot.user(f"{WORDS} for me")
    for contact in (NUMBER, OTHER):
        served.console.ask(NoteContact(contact, text=f"{NAME} likes {WORDS}", by=AGENT))
    with beside_the_store(served.console.store) as execute:
        for contact in (NUMBER, OTHER):
            execute(ADD_USAGE, (time_text(NOON), contact, "main", "a-model", 5, 7, 0))
        for number, body in enumerate(("", f"{WORDS} {NUMBER}")):
            execute(
                "INSERT INTO dead_letters (what, contact, reason, body, at) VALUES (?, ?, ?, ?, ?)",
                ("turn" if number else "event", NUMBER, f"{WORDS} of {SPELLINGS[0]}", body, time_text(NOON)),
            )
    return served


def everything(client: Client) -> dict[str, str]:
    """All that a user gets: the answers, with their headers, at each address that a view has or a page leads to."""
    views = [route.address for view in VIEWS for route in view.ROUTES if not route.posts]
    paths = [path.replace("<who>", NUMBER).replace("<number>", "1") for path in views]
    paths += [f"{path}?all=1&page=2&find={NUMBER[:6]}&after=s62812&before=3&reason=mar&contact=6281" for path in paths]
    paths += [f"/usage?by={by}" for by in ("day", "flow", "model", "contact")]
    paths += ["/nowhere", "/contact/c-0", "/?state=with+a+person", "/dead-letters?what=turn"]
    found: dict[str, str] = {}
    while paths:
        path = paths.pop()
        if path in found or path.startswith("/pages/"):
            continue
        answers = [changes(client, path)] if path.startswith("/changes") else [
            client.ask(path, headers=headers) for headers in ({}, {"X-Refresh": "1"})
        ]  # fmt: skip
        found[path] = "\n".join(f"{answer.status} {answer.headers}\n{answer.text}" for answer in answers)
        for link in map(unescape, re.findall(r'(?:href|src|action|data-changes)="([^"#]+)', answers[0].text)):
            paths.append(f"{path.partition('?')[0]}{link}" if link.startswith("?") else link.removeprefix(PREFIX))
    return found


def changes(client: Client, path: str) -> Answer:
    """The beginning of the stream of changes."""
    address = urlsplit(client.served.url)
    with closing(http.client.HTTPConnection(address.netloc)) as connection:
        connection.request("GET", address.path + path, headers={"Cookie": client.cookie})
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), (answer.readline() + answer.readline()).decode())


def test_no_answer_whatever_has_a_number_a_name_an_address_or_words_of_a_contact(planted: Served) -> None:
    found = everything(logged_in(planted, "vera"))
    assert len(found) > 40 and sum("•••890" in text for text in found.values()) > 10
    shown = "".join(found.values())
    assert all(words in shown for words in ("has answered</strong>", "an agent answered at the gateway", "bubble memo"))
    assert "the bot goes on" in found["/inbox"] and 'class="count"' in found["/inbox"]
    assert "Messages that wait" in found["/state"] and found["/dead-letters"].count('class="panel"') > 2
    for path, text in found.items():
        read = unescape(unquote(text))
        known = [each for each in PLANTED if each in read]
        known += [each for each in (NUMBER[:-3], NUMBER[2:-3]) if each in re.sub(r"[^0-9]", "", read)]
        assert known == [], f"{path}: {known} in {read}"


def test_the_rule_of_a_turn_quotes_nobody(planted: Served) -> None:
    found = everything(logged_in(planted, "vera"))
    assert any("<code>answers •••</code>" in text for text in found.values())
    turns = planted.simulation.stored.reader.trace.turns(NUMBER, 100)
    assert any("answers email" in turn.rule for turn in turns) and any("broadcast:" in turn.event_id for turn in turns)


def listed(client: Client, path: str) -> list[str]:
    return re.findall(r"•••(\d{3})</a>", client.ask(path).text)


def test_no_place_in_a_list_can_be_guessed(served: Served) -> None:
    for contact in (NUMBER, OTHER):
        served.simulation.become(contact)
        served.simulation.user("hi")
    viewer = logged_in(served, "vera")
    first = viewer.ask("/").text
    for guess in (f"s{NUMBER}", "s62", "s7", "t1", "t2", "x", "00" * 40):
        found = viewer.ask(f"/?after={guess}").text
        assert re.findall("•••[0-9]{3}", found) == re.findall("•••[0-9]{3}", first) == ["•••123", "•••890"]


def test_further_pages_are_sealed_for_each_login(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contacts, "PAGE", 1)
    for contact in (NUMBER, OTHER):
        served.simulation.become(contact)
        served.simulation.user("hi")
    viewer = logged_in(served, "vera")
    further = re.search(r'href="/console(/\?after=[^"]+)" rel="next"', viewer.ask("/").text)
    assert further is not None and re.search(r"[st]\d", further[1]) is None
    assert listed(viewer, further[1]) == ["890"]
    assert listed(logged_in(served, "vera"), further[1]) == ["123"]


def test_no_order_tells_a_number(served: Served) -> None:
    numbers = [f"62812345{number}" for number in range(10000, 10012)]
    for contact in numbers:
        served.simulation.become(contact)
        served.simulation.user("hi")
    with beside_the_store(served.console.store) as execute:
        execute("DELETE FROM turns WHERE contact < ?", (numbers[8],))
        for contact in numbers:
            execute(ADD_USAGE, (time_text(NOON), contact, "main", "a-model", 5, 7, 0))
    logins = [logged_in(served, "vera") for _ in range(3)]
    assert [listed(each, "/") for each in logins] == [[number[-3:] for number in numbers[:7:-1]]] * 3
    assert "whose last turn is not kept any more" in logins[0].ask("/").text
    assert re.findall(r">(\d{13})</a>", logged_in(served, "abel").ask("/").text) == [*numbers[:7:-1], *numbers[:8]]
    by_usage = [tuple(listed(each, "/usage?by=contact")) for each in logins]
    assert len({*by_usage}) > 1 and {frozenset(each) for each in by_usage} == {frozenset(n[-3:] for n in numbers)}
