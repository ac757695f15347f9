"""What fills a template: every type of parameter of the specification, from a flow to the gateway's wire."""

from typing import Any

import pytest

from bot.services.gateway.gateway_client import Gateway, content
from bot.testing.emulator import Emulator
from bot.testing.simulation.approved_templates import approved_templates
from tests.talk import CONTACT, Talk, library_of, problems_of

START = "flow: a\nstart: {words: [hi]}\nvars: {total: {type: number, value: 12.5}}\nsteps:\n  a:\n    template:\n"


def flow(lines: str, more: str = "    then: end\n") -> str:
    body = "".join(f"      {line}\n" for line in ("name: bill", "language: en", *lines.splitlines()))
    return START + body + more


def components(lines: str, more: str = "    then: end\n") -> list[dict[str, Any]]:
    chat = Talk(flow(lines, more))
    chat.user("hi")
    found: list[dict[str, Any]] = content(chat.sent[-1])["components"]
    return found


BODY = {
    "text": ("Hello", {"type": "text", "text": "Hello"}),
    "text as a map": ("{text: Hello}", {"type": "text", "text": "Hello"}),
    "date_time": ("{date_time: 12 May}", {"type": "date_time", "date_time": {"fallback_value": "12 May"}}),
    "currency": (
        '{currency: {amount: "{{ total }}", code: EUR}}',
        {"type": "currency", "currency": {"fallback_value": "12.5 EUR", "code": "EUR", "amount_1000": 12500}},
    ),
    "currency in words": (
        "{currency: {amount: 3, code: IDR, text: three}}",
        {"type": "currency", "currency": {"fallback_value": "three", "code": "IDR", "amount_1000": 3000}},
    ),
}


@pytest.mark.parametrize("name", BODY)
def test_a_parameter_of_the_body(name: str) -> None:
    written, wire = BODY[name]
    assert components(f"body: [{written}]") == [{"type": "body", "parameters": [wire]}]


HEADER = {
    "text": ("Hello", {"type": "text", "text": "Hello"}),
    "image": ('{image: "https://x.example/a.png"}', {"type": "image", "image": {"link": "https://x.example/a.png"}}),
    "image by id": ('{image: {id: "4711"}}', {"type": "image", "image": {"id": "4711"}}),
    "video": ('{video: "https://x.example/a.mp4"}', {"type": "video", "video": {"link": "https://x.example/a.mp4"}}),
    "document": (
        '{document: "https://x.example/a.pdf"}',
        {"type": "document", "document": {"link": "https://x.example/a.pdf"}},
    ),
    "location": (
        "{location: {latitude: 1.5, longitude: 2, name: Shop, address: Main St 1}}",
        {
            "type": "location",
            "location": {"latitude": 1.5, "longitude": 2.0, "name": "Shop", "address": "Main St 1"},
        },
    ),
}


@pytest.mark.parametrize("name", HEADER)
def test_a_parameter_of_the_header(name: str) -> None:
    written, wire = HEADER[name]
    assert components(f"header: {written}") == [{"type": "header", "parameters": [wire]}]


def test_link_buttons_stand_behind_the_quick_replies_unless_their_place_is_written() -> None:
    replies = "    replies: {Yes: end, No: end}\n"
    found = components("buttons: [a, {url: b, index: 0}]", replies)
    assert [(button["sub_type"], button["index"]) for button in found] == [
        ("quick_reply", 1), ("quick_reply", 3), ("url", 2), ("url", 0),
    ]  # fmt: skip


@pytest.mark.parametrize("name", [*BODY, *HEADER])
def test_the_gateway_takes_it(name: str) -> None:
    lines = f"body: [{BODY[name][0]}]" if name in BODY and name != "text" else f"header: {HEADER[name][0]}"
    text = flow(lines + "\nbuttons: [{url: x, index: 0}]", "    replies: {Yes: end}\n")
    chat = Talk(text)
    chat.user("hi")
    with Emulator() as emulator:
        emulator.templates.add(*approved_templates(library_of(text)))
        gateway = Gateway(emulator.url, emulator.api_key)
        assert gateway.send(CONTACT, chat.sent[-1], "k1").status == "sent"
        gateway.close()


def test_an_amount_that_is_no_number_is_a_failure_of_the_flow() -> None:
    chat = Talk(flow("body: [{currency: {amount: '{{ contact.name }}', code: EUR}}]"), name="Ann")
    chat.user("hi")
    assert chat.turn is not None
    assert "the amount is no number" in str(chat.turn.failure)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("body: [{image: x}]", 'E107 step "a": template: body: one type of parameter is expected'),
        ("body: [{text: a, date_time: b}]", 'E107 step "a": template: body: one type of parameter is expected'),
        ("body: [{currency: 12}]", "E106"),
        ("body: [{currency: {amount: 1}}]", 'E105 step "a": template: body: currency: "code" is missing'),
        ("header: {video: {id: 1}}", "E104"),
        ("header: {image: {}}", "nothing says which file it is (write one of file, id)"),
        ("header: {date_time: x}", "E107"),
        ("header: {location: {latitude: 1, longitude: 2, name: x}}", '"address" is missing'),
        ('header: {image: "https://x.example/a.gif"}', "E404"),
    ],
)
def test_the_check_finds_it(lines: str, expected: str) -> None:
    assert any(expected in problem for problem in problems_of(flow(lines))), problems_of(flow(lines))


def test_a_text_may_show_a_preview_of_its_address() -> None:
    chat = Talk(
        "flow: a\nstart: {words: [hi]}\nsteps:\n  a: {say: See https://x.example, preview_url: true, then: end}\n"
    )
    chat.user("hi")
    assert content(chat.sent[-1]) == {"body": "See https://x.example", "preview_url": True}
