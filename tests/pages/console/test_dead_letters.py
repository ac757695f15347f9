"""The view of dead letters: what is looked for, and what becomes of all that is found."""

import re
from datetime import timedelta

import pytest

from bot.core.values import time_text
from bot.store import dead_letter_rows
from bot.store.dead_letter_rows import LetterSearch
from tests.pages.console.client import Client, logged_in
from tests.pages.console.conftest import NOON, Served
from tests.store.store_kit import beside_the_store

NUMBERS = [f"62812345678{number:02}" for number in range(4)]
MANY = 1200


def give_up(served: Served, contact: str, what: str, reason: str, days: int = 0, many: int = 1) -> None:
    """Dead letters that nobody can retry, so many days ago."""
    at = time_text(NOON - timedelta(days=days))
    with beside_the_store(served.console.store) as execute:
        for _ in range(many):
            execute(
                "INSERT INTO dead_letters (what, contact, reason, body, at) VALUES (?, ?, ?, '{}', ?)",
                (what, contact, reason, at),
            )


def refuse(served: Served, contact: str) -> None:
    """Messages to a contact are given up."""
    served.simulation.become(contact)
    fault = served.simulation.emulator.faults.add("VALIDATION_MISSING_FIELD")
    served.simulation.user("hi")
    served.simulation.emulator.faults.remove(fault)


def found(client: Client, query: str) -> int:
    text = client.ask(f"/dead-letters?{query}").text
    number = re.search(r"<span>([\d,.]+) (?:found|in all)</span>", text)
    count = 0 if number is None else int(number[1].replace(",", ""))
    assert min(count, 50) == text.count('<li class="panel">')
    return count


@pytest.mark.parametrize(
    ("query", "fit"),
    [
        ("", 4),
        (f"contact=%2B{NUMBERS[0]}", 2),
        ("contact=nobody", 0),
        ("what=event", 1),
        ("reason=KEYERROR", 2),
        ("reason=100%25", 1),
        ("since=2030-05-05", 2),
        ("until=2030-05-04", 2),
        ("since=2030-05-04&until=2030-05-05", 2),
        ("since=yesterday", 4),
        (f"contact={NUMBERS[0]}&what=turn&reason=KeyError", 1),
    ],
)
def test_it_is_looked_for_by_contact_kind_reason_and_day(served: Served, query: str, fit: int) -> None:
    give_up(served, NUMBERS[0], "turn", "the step failed: KeyError")
    give_up(served, NUMBERS[0], "event", "100% unreadable", 1)
    give_up(served, NUMBERS[1], "turn", "the step failed: KeyError", 2)
    give_up(served, NUMBERS[2], "turn", "too many steps", 9)
    assert found(logged_in(served, "olga"), query) == fit


def test_a_page_behind_the_oldest_does_not_say_that_there_are_none(served: Served) -> None:
    give_up(served, NUMBERS[0], "turn", "too many steps")
    client = logged_in(served, "olga")
    for query in ("before=1", "before=1&reason=many"):
        assert "There are no older ones." in client.ask(f"/dead-letters?{query}").text


def test_a_viewer_finds_nothing_out_by_a_search(served: Served) -> None:
    give_up(served, NUMBERS[0], "turn", "secret")
    client = logged_in(served, "vera")
    assert found(client, "contact=1") == found(client, "reason=none") == 1
    assert found(client, "what=send") == 0
    assert "reason" not in client.ask("/dead-letters").text.partition("<ul")[0]


def test_a_search_that_takes_long_ends_early_says_so_and_goes_on(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, reason in zip(NUMBERS, ("that", "this", "this", "this"), strict=True):
        give_up(served, number, "turn", reason)
    monkeypatch.setattr(dead_letter_rows, "SEARCH_SECONDS", 0)
    monkeypatch.setattr(dead_letter_rows, "SEARCHED_AT_ONCE", 1)
    client, path = logged_in(served, "olga"), "/dead-letters?reason=that"
    for _ in NUMBERS[1:]:
        text = client.ask(path).text
        assert "Only a part of the" in text and "No dead letter fits." not in text
        older = re.search(r'href="/console([^"]+)" rel="next">Older', text)
        assert older is not None
        path = older[1].replace("&amp;", "&")
    text = client.ask(path).text
    assert text.count('<li class="panel">') == 1 and "a part" not in text and "Older" not in text


def test_from_ten_thousand_on_they_are_not_counted(served: Served) -> None:
    give_up(served, NUMBERS[0], "turn", "too many steps", many=10_001)
    client = logged_in(served, "olga")
    for query, words in (("", "10,000 or more in all"), ("?reason=many", "10,000 or more found")):
        assert f"<span>{words}</span>" in client.ask(f"/dead-letters{query}").text


def test_all_that_is_found_is_dropped_after_the_number_was_asked_back(served: Served) -> None:
    give_up(served, NUMBERS[0], "turn", "too many steps", many=MANY)
    give_up(served, NUMBERS[1], "turn", "the step failed")
    client = logged_in(served, "olga")
    form = {"token": client.token(), "do": "drop", "reason": "too many"}
    asked = client.ask("/dead-letters/end?all=1", form).text
    assert "Drop 1,200 dead letters for ever?" in asked and "<strong>too many</strong>" in asked
    assert found(client, "") == MANY + 1
    give_up(served, NUMBERS[2], "turn", "too many steps")  # after the question: it stays
    hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', asked.partition('class="panel"')[2]))
    assert client.ask("/dead-letters/end", hidden).headers["Location"].endswith("/dead-letters?reason=too+many")
    assert "Dropped: 1200." in client.ask("/dead-letters").text
    assert sorted(letter.contact or "" for letter in served.console.reader.dead_letters.newest()) == NUMBERS[1:3]


def test_all_that_is_found_and_can_be_is_retried(served: Served) -> None:
    for number in NUMBERS[:2]:
        refuse(served, number)
    give_up(served, NUMBERS[0], "turn", "too many steps")
    sends = len(served.console.reader.dead_letters.ids(LetterSearch(contact=NUMBERS[0], retried=True)))
    client = logged_in(served, "olga")
    form = {"token": client.token(), "do": "retry", "contact": NUMBERS[0]}
    asked = client.ask("/dead-letters/end?all=1", form).text
    assert f"Retry {sends} dead letter" in asked
    hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', asked.partition('class="panel"')[2]))
    client.ask("/dead-letters/end", hidden)
    assert f"To be sent again: {sends}." in client.ask("/dead-letters").text
    served.simulation.settle()
    left = served.console.reader.dead_letters.newest()
    assert [letter.what for letter in left if letter.contact == NUMBERS[0]] == ["turn"]
    assert any(letter.contact == NUMBERS[1] for letter in left)
