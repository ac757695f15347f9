"""The gateway's limits, each at its edge."""

from collections.abc import Callable

import pytest

from bot.core import messages as limits
from bot.core.messages import (
    Buttons,
    Choice,
    LinkButton,
    ListMessage,
    LocationMessage,
    MediaMessage,
    Message,
    Section,
    Template,
    Text,
    clipped,
    violations,
)


def rows(count: int, start: int = 0) -> tuple[Choice, ...]:
    return tuple(Choice(f"id{n}", f"row {n}") for n in range(start, start + count))


def listed(count: int) -> tuple[Section, ...]:
    return tuple(Section(f"s{n}", rows(1, n)) for n in range(count))


# A message at its limit, and one just past it with the words that say so.
EDGES: dict[str, tuple[Callable[[int], Message], int, str]] = {
    "text": (lambda n: Text("x" * n), 4096, "the text has 4097 characters, 4096 are allowed"),
    "caption": (lambda n: MediaMessage("image", "https://a.example/x.png", "x" * n), 1024, "the caption has 1025"),
    "address": (lambda n: LinkButton("b", "t", "https://a.example/".ljust(n, "x")), 2000, "the link has 2001"),
    "button body": (lambda n: Buttons("x" * n, rows(1)), 1024, "the text has 1025"),
    "header": (lambda n: Buttons("x", rows(1), "h" * n), 60, "the header has 61"),
    "button title": (lambda n: Buttons("x", (Choice("1", "t" * n),)), 20, "21 characters, 20 are allowed"),
    "buttons": (lambda n: Buttons("x", rows(n)), 3, "4 buttons, 1 to 3 are allowed"),
    "reply id": (lambda n: Buttons("x", (Choice("i" * n, "t"),)), 256, "257 characters, 256 are allowed"),
    "footer": (lambda n: ListMessage("x", "o", listed(1), "f" * n), 60, "the footer has 61"),
    "opener": (lambda n: ListMessage("x", "o" * n, listed(1)), 20, "the list's button has 21"),
    "sections": (lambda n: ListMessage("x", "o", listed(n)), 10, "11 sections, 1 to 10 are allowed"),
    "rows": (lambda n: ListMessage("x", "o", (Section("s", rows(n)),)), 10, "11 rows, 1 to 10 are allowed"),
    "section title": (lambda n: ListMessage("x", "o", (Section("s" * n, rows(1)),)), 24, "25 characters, 24"),
    "row title": (lambda n: ListMessage("x", "o", (Section("s", (Choice("1", "t" * n),)),)), 24, "25 characters, 24"),
    "row description": (
        lambda n: ListMessage("x", "o", (Section("s", (Choice("1", "t", "d" * n),)),)),
        72,
        "73 characters, 72 are allowed",
    ),
    "latitude": (lambda n: LocationMessage(n, 0), 90, "latitude 91 is not between -90 and 90"),
    "longitude": (lambda n: LocationMessage(0, n), 180, "longitude 181 is not between -180 and 180"),
}


@pytest.mark.parametrize("name", EDGES)
def test_at_its_limit_a_message_passes_and_past_it_it_is_refused(name: str) -> None:
    make, limit, words = EDGES[name]
    assert violations(make(limit)) == []
    assert any(words in violation for violation in violations(make(limit + 1))), violations(make(limit + 1))


@pytest.mark.parametrize(
    "message",
    [
        Text(" "),
        Buttons("", rows(1)),
        Buttons("x", ()),
        Buttons("x", (Choice("1", "same"), Choice("2", "same"))),
        Buttons("x", (Choice("1", "a"), Choice("1", "b"))),
        LinkButton("x", "t", "ftp://a.example"),
        LinkButton("x", "t", "https://a b"),
        MediaMessage("image", "x.png"),
        Template("", "en"),
    ],
)
def test_what_the_gateway_would_refuse_is_refused_before(message: Message) -> None:
    assert violations(message) != []


@pytest.mark.parametrize(
    "name", [n for n in EDGES if EDGES[n][1] > 19 and n not in ("address", "reply id", "latitude", "longitude")]
)
def test_a_text_that_is_too_long_is_shortened_to_its_limit(name: str) -> None:
    make, limit, _ = EDGES[name]
    assert violations(clipped(make(limit + 50))) == []


def test_the_limits_are_those_of_the_specification() -> None:
    assert limits.MEDIA_BYTES == {"image": 5 << 20, "audio": 16 << 20, "video": 16 << 20, "document": 100 << 20}
