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
    TemplateMessage,
    TextMessage,
    clipped,
    is_link,
    violations,
)


def rows(count: int, start: int = 0) -> tuple[Choice, ...]:
    return tuple(Choice(f"id{n}", f"row {n}") for n in range(start, start + count))


def listed(count: int) -> tuple[Section, ...]:
    return tuple(Section(f"s{n}", rows(1, n)) for n in range(count))


# A message at its limit, and one just past it with the words that say so.
EDGES: dict[str, tuple[Callable[[int], Message], int, str]] = {
    "text": (lambda n: TextMessage("x" * n), 4096, "the text has 4097 characters, 4096 are allowed"),
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
        TextMessage(" "),
        Buttons("", rows(1)),
        Buttons("x", ()),
        Buttons("x", (Choice("1", "same"), Choice("2", "same"))),
        Buttons("x", (Choice("1", "a"), Choice("1", "b"))),
        LinkButton("x", "t", "ftp://a.example"),
        LinkButton("x", "t", "https://a b"),
        MediaMessage("image", "x.png"),
        MediaMessage("audio", "https://a.example/x.mp3", caption="Listen"),
        MediaMessage("image", "https://a.example/x.png", filename="x.png"),
        TemplateMessage("", "en"),
        TemplateMessage("t", "en", {"type": "image", "image": {"link": "x.png"}}),
        TemplateMessage("t", "en", {"type": "image", "image": {"link": "https://a.example/x.gif"}}),
    ],
)
def test_what_the_gateway_would_refuse_is_refused_before(message: Message) -> None:
    assert violations(message) != []


def test_only_the_address_of_a_button_has_a_greatest_length() -> None:
    signed = "https://a.example/x.png?signature=".ljust(5000, "x")
    assert violations(MediaMessage("image", signed)) == []
    assert violations(TemplateMessage("t", "en", {"type": "image", "image": {"link": signed}})) == []
    assert violations(LinkButton("b", "t", signed)) != []


@pytest.mark.parametrize(
    ("kind", "link", "suffix"),
    [
        ("image", "https://a.example/x.webp", "webp"),
        ("image", "https://a.example/X.GIF?w=100#top", "gif"),
        ("video", "https://a.example/x.mov", "mov"),
        ("document", "https://a.example/x.jpg", "jpg"),
        ("image", "https://a.example/x.jpeg", None),
        ("image", "https://a.example/x.php?file=x.gif", None),
        ("image", "https://a.zip", None),
        ("image", "https://a.zip/images/1", None),
        ("document", "https://a.example/v1.2", None),
    ],
)
def test_an_address_that_ends_in_a_type_of_another_kind_is_told_before_it_is_sent(
    kind: str, link: str, suffix: str | None
) -> None:
    said = [] if suffix is None else [f"the gateway takes no .{suffix} as {kind}"]
    assert violations(MediaMessage(kind, link)) == said


def test_a_header_of_uploaded_media_has_no_address_to_look_at() -> None:
    assert violations(TemplateMessage("t", "en", {"type": "image", "image": {"id": "m1"}})) == []


@pytest.mark.parametrize(
    "name", [n for n in EDGES if EDGES[n][1] > 19 and n not in ("address", "reply id", "latitude", "longitude")]
)
def test_a_text_that_is_too_long_is_shortened_to_its_limit(name: str) -> None:
    make, limit, _ = EDGES[name]
    assert violations(clipped(make(limit + 50))) == []


def test_the_limits_are_those_of_the_specification() -> None:
    assert limits.MEDIA_BYTES == {"image": 5 << 20, "audio": 16 << 20, "video": 16 << 20, "document": 100 << 20}


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("https://a.example", True),
        ("http://a.example/b?c#d", True),
        ("https://[::1]/a", True),
        ("https://", False),
        ("http://", False),
        ("https:///a", False),
        ("https://?a", False),
        ("https://#a", False),
        ("https://a.example/b c", False),
        ("ftp://a.example", False),
        ("", False),
    ],
)
def test_an_address_names_a_host(url: str, link: bool) -> None:
    assert is_link(url) is link
    assert (violations(LinkButton("Here", "Open", url)) == []) is link
    assert (violations(MediaMessage("image", url)) == []) is link


FAMILY = "👨‍👩‍👧‍👦"


def test_a_cut_text_ends_with_a_whole_character_in_each_of_its_places() -> None:
    cut = clipped(
        ListMessage("b" * 1020 + FAMILY, "o" * 15 + FAMILY, (Section("s" * 20 + FAMILY, (Choice("1", "t" * 20 + FAMILY, "d" * 70 + FAMILY),)),), "f" * 55 + FAMILY)
    )  # fmt: skip
    assert isinstance(cut, ListMessage)
    row = cut.sections[0].rows[0]
    texts = cut.body, cut.button, cut.sections[0].title, row.title, row.description, cut.footer
    assert [text and text.strip("botsdf") for text in texts] == ["…"] * 6
    caption = clipped(MediaMessage("image", "https://a.example/x.png", "c" * 1020 + FAMILY))
    assert isinstance(caption, MediaMessage) and caption.caption == "c" * 1020 + "…"
