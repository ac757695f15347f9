"""Interactive messages: every limit of the table "Interactive limits", and what a contact can tap afterwards."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from bot.testing.emulator import Emulator, InteractiveChoice
from tests.testing.emulator.conftest import Caller

TO = "491510000001"
Refused = Callable[..., dict[str, Any]]
Change = Callable[[dict[str, Any]], object]

BUTTON = {
    "type": "button",
    "header": {"type": "text", "text": "Header"},
    "body": {"text": "Body"},
    "action": {"buttons": [{"type": "reply", "reply": {"id": "y", "title": "Yes"}}]},
}
LINK = {
    "type": "cta_url",
    "header": {"type": "text", "text": "Header"},
    "body": {"text": "Body"},
    "footer": {"text": "Footer"},
    "action": {"display_text": "Open", "url": "https://shop.example/cart"},
}
LIST = {
    "type": "list",
    "body": {"text": "Body"},
    "footer": {"text": "Footer"},
    "action": {
        "button": "Choose",
        "sections": [{"title": "Fruit", "rows": [{"id": "a", "title": "Apple", "description": "Red"}]}],
    },
}


def wrapped(interactive: Any) -> dict[str, Any]:
    return {"to": TO, "type": "interactive", "interactive": interactive}


def changed(interactive: dict[str, Any], change: Change) -> dict[str, Any]:
    copied = copy.deepcopy(interactive)
    change(copied)
    return wrapped(copied)


def put(path: str, value: Any) -> Change:
    def change(interactive: dict[str, Any]) -> None:
        *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        target: Any = interactive
        for parent in parents:
            target = target[parent]
        target[last] = value

    return change


def reply(identity: str, title: str) -> dict[str, Any]:
    return {"type": "reply", "reply": {"id": identity, "title": title}}


def rows(count: int, start: int = 0) -> list[dict[str, str]]:
    return [{"id": f"r{n}", "title": f"Row {n}"} for n in range(start, start + count)]


@pytest.mark.parametrize("endpoint", ["/inbox/send-message", "/chat/messages", "/v1/chat/interactive"])
@pytest.mark.parametrize("interactive", [BUTTON, LINK, LIST])
def test_all_three_kinds_go_through_all_endpoints(
    api: Caller, emulator: Emulator, endpoint: str, interactive: dict[str, Any]
) -> None:
    assert api.post(endpoint, wrapped(interactive)).json()["success"] is True
    assert emulator.unknown_fields == set()
    assert emulator.sent[0].type == "interactive"


def test_the_interactive_endpoint_takes_nothing_else(refused: Refused) -> None:
    text = {"to": TO, "type": "text", "text": {"body": "Hi"}}
    assert refused(text, "/v1/chat/interactive")["code"] == "VALIDATION_INVALID_TYPE"


@pytest.mark.parametrize(
    ("interactive", "change"),
    [
        (BUTTON, put("header.text", "x" * 60)),
        (BUTTON, put("body.text", "x" * 1024)),
        (BUTTON, put("action.buttons", [reply("1", "x" * 20), reply("2" * 256, "b"), reply("3", "c")])),
        (LINK, put("action.display_text", "x" * 20)),
        (LINK, put("action.url", "https://a.example/" + "x" * 1982)),
        (LINK, put("footer.text", "x" * 60)),
        (LIST, put("action.button", "x" * 20)),
        (LIST, put("action.sections", [{"title": f"S{s}", "rows": rows(10, s * 10)} for s in range(10)])),
        (LIST, put("action.sections.0.title", "x" * 24)),
        (LIST, put("action.sections.0.rows.0", {"id": "x" * 256, "title": "x" * 24, "description": "x" * 72})),
    ],
)
def test_the_limits_themselves_are_accepted(api: Caller, interactive: dict[str, Any], change: Change) -> None:
    assert api.send(changed(interactive, change)).ok


@pytest.mark.parametrize(
    ("interactive", "change", "code", "field"),
    [
        (BUTTON, put("type", "carousel"), "INTERACTIVE_INVALID_TYPE", "type"),
        (BUTTON, put("type", ["button"]), "INTERACTIVE_INVALID_TYPE", "type"),
        (BUTTON, put("body.text", ""), "INTERACTIVE_BODY_EMPTY", "body.text"),
        (BUTTON, put("body.text", "  "), "INTERACTIVE_BODY_EMPTY", "body.text"),
        (LIST, put("body", None), "INTERACTIVE_BODY_EMPTY", "body.text"),
        (BUTTON, put("action", []), "INTERACTIVE_INVALID_BUTTON", "action"),
        (BUTTON, put("action.buttons", []), "INTERACTIVE_INVALID_BUTTON", "action.buttons"),
        (BUTTON, put("action.buttons", "Yes"), "INTERACTIVE_INVALID_BUTTON", "action.buttons"),
        (BUTTON, put("action.buttons.0.type", "url"), "INTERACTIVE_INVALID_BUTTON", "action.buttons[0].type"),
        (BUTTON, put("action.buttons.0.reply", "Yes"), "INTERACTIVE_INVALID_BUTTON", "action.buttons[0].type"),
        (BUTTON, put("action.buttons.0.reply.id", ""), "INTERACTIVE_INVALID_BUTTON", "action.buttons[0].reply.id"),
        (
            BUTTON,
            put("action.buttons.0.reply.title", " "),
            "INTERACTIVE_INVALID_BUTTON",
            "action.buttons[0].reply.title",
        ),
        (BUTTON, put("header.type", "image"), "INTERACTIVE_INVALID_BUTTON", "header.type"),
        (BUTTON, put("header", "Header"), "INTERACTIVE_INVALID_BUTTON", "header"),
        (BUTTON, put("header.text", ""), "INTERACTIVE_INVALID_BUTTON", "header.text"),
        (BUTTON, put("footer", {"text": "Footer"}), "INTERACTIVE_INVALID_BUTTON", "footer"),
        (LINK, put("action.url", "shop.example"), "INTERACTIVE_INVALID_URL", "action.url"),
        (LINK, put("action.url", None), "INTERACTIVE_INVALID_URL", "action.url"),
        (LINK, put("action.display_text", None), "INTERACTIVE_INVALID_BUTTON", "action.display_text"),
        (LIST, put("header", {"type": "text", "text": "Header"}), "INTERACTIVE_INVALID_LIST", "header"),
        (LIST, put("action.button", None), "INTERACTIVE_INVALID_LIST", "action.button"),
        (LIST, put("action.sections", []), "INTERACTIVE_INVALID_LIST", "action.sections"),
        (LIST, put("action.sections.0.rows", []), "INTERACTIVE_INVALID_LIST", "action.sections[0].rows"),
        (LIST, put("action.sections.0.title", ""), "INTERACTIVE_INVALID_LIST", "action.sections[0].title"),
        (LIST, put("action.sections.0.rows.0.id", None), "INTERACTIVE_INVALID_LIST", "action.sections[0].rows[0].id"),
        (
            LIST,
            put("action.sections.0.rows.0.title", ""),
            "INTERACTIVE_INVALID_LIST",
            "action.sections[0].rows[0].title",
        ),
    ],
)
def test_what_is_malformed_is_refused(
    refused: Refused, interactive: dict[str, Any], change: Change, code: str, field: str
) -> None:
    found = refused(changed(interactive, change))
    assert (found["status"], found["code"], found["field"]) == (400, code, field)


@pytest.mark.parametrize(
    ("interactive", "change", "code", "maximum"),
    [
        (BUTTON, put("body.text", "x" * 1025), "INTERACTIVE_INVALID_BUTTON", 1024),
        (LINK, put("body.text", "x" * 1025), "INTERACTIVE_INVALID_URL", 1024),
        (LIST, put("body.text", "x" * 1025), "INTERACTIVE_INVALID_LIST", 1024),
        (BUTTON, put("header.text", "x" * 61), "INTERACTIVE_INVALID_BUTTON", 60),
        (LINK, put("header.text", "x" * 61), "INTERACTIVE_INVALID_URL", 60),
        (LINK, put("footer.text", "x" * 61), "INTERACTIVE_INVALID_URL", 60),
        (LIST, put("footer.text", "x" * 61), "INTERACTIVE_INVALID_LIST", 60),
        (BUTTON, put("action.buttons", [reply(str(n), str(n)) for n in range(4)]), "INTERACTIVE_INVALID_BUTTON", 3),
        (BUTTON, put("action.buttons.0.reply.title", "x" * 21), "INTERACTIVE_INVALID_BUTTON", 20),
        (BUTTON, put("action.buttons.0.reply.id", "x" * 257), "INTERACTIVE_INVALID_BUTTON", 256),
        (LINK, put("action.display_text", "x" * 21), "INTERACTIVE_INVALID_BUTTON", 20),
        (LINK, put("action.url", "https://a.example/" + "x" * 1983), "INTERACTIVE_INVALID_URL", 2000),
        (LIST, put("action.button", "x" * 21), "INTERACTIVE_INVALID_LIST", 20),
        (
            LIST,
            put("action.sections", [{"title": "S", "rows": rows(1, s)} for s in range(11)]),
            "INTERACTIVE_INVALID_LIST",
            10,
        ),
        (LIST, put("action.sections.0.rows", rows(11)), "INTERACTIVE_INVALID_LIST", 10),
        (LIST, put("action.sections.0.title", "x" * 25), "INTERACTIVE_INVALID_LIST", 24),
        (LIST, put("action.sections.0.rows.0.title", "x" * 25), "INTERACTIVE_INVALID_LIST", 24),
        (LIST, put("action.sections.0.rows.0.description", "x" * 73), "INTERACTIVE_INVALID_LIST", 72),
        (LIST, put("action.sections.0.rows.0.id", "x" * 257), "INTERACTIVE_INVALID_LIST", 256),
    ],
)
def test_one_more_than_the_limit_is_refused_with_both_numbers(
    refused: Refused, interactive: dict[str, Any], change: Change, code: str, maximum: int
) -> None:
    found = refused(changed(interactive, change))
    assert (found["code"], found["max"], found["received"]) == (code, maximum, maximum + 1)


def test_ids_and_titles_of_one_message_differ_unless_switched(
    api: Caller, emulator: Emulator, refused: Refused
) -> None:
    for twins in ([reply("1", "A"), reply("1", "B")], [reply("1", "A"), reply("2", "A")]):
        assert refused(changed(BUTTON, put("action.buttons", twins)))["code"] == "INTERACTIVE_INVALID_BUTTON"
    twice = changed(LIST, put("action.sections", [{"title": "S", "rows": rows(1)}, {"title": "T", "rows": rows(1)}]))
    assert refused(twice)["code"] == "INTERACTIVE_INVALID_LIST"
    emulator.behaviour.duplicate_choices = True
    assert api.send(twice).ok


def test_headers_and_footers_that_one_table_has_can_be_switched(
    api: Caller, emulator: Emulator, refused: Refused
) -> None:
    emulator.behaviour.list_header = emulator.behaviour.button_footer = True
    emulator.behaviour.list_footer = False
    headed = changed(LIST, put("header", {"type": "text", "text": "Header"}))
    del headed["interactive"]["footer"]
    assert api.send(headed).ok
    assert api.send(changed(BUTTON, put("footer", {"text": "Footer"}))).ok
    assert refused(wrapped(LIST))["field"] == "footer"


def test_a_section_without_title_can_be_allowed(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.untitled_sections = True
    assert api.send(changed(LIST, lambda interactive: interactive["action"]["sections"][0].pop("title"))).ok


def test_the_status_of_interactive_errors_can_be_switched(emulator: Emulator, refused: Refused) -> None:
    emulator.behaviour.interactive_status = 422
    assert refused(changed(BUTTON, put("type", "carousel")))["status"] == 422


def test_interactive_messages_need_an_open_window(refused: Refused) -> None:
    closed = {**wrapped(BUTTON), "to": "491510000009"}
    assert refused(closed, "/v1/chat/interactive")["code"] == "WHATSAPP_TEMPLATE_REQUIRED"


def test_what_a_contact_was_shown_is_known(api: Caller, emulator: Emulator) -> None:
    api.send(wrapped(BUTTON))
    api.send(wrapped(LINK))
    api.send(wrapped(LIST))
    assert emulator.shown(TO) == [InteractiveChoice("y", "Yes", "button"), InteractiveChoice("a", "Apple", "list")]


def test_what_was_refused_was_not_shown(api: Caller, emulator: Emulator) -> None:
    api.send({**wrapped(BUTTON), "channel_id": "channel-9"})
    assert emulator.shown(TO) == []
    assert emulator.shown("491510000009") == []
