"""Messages on the wire, as in the specification's tables."""

from typing import Any

import pytest

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
)
from bot.services.gateway import gateway_client

CASES: list[tuple[Message, str, dict[str, Any]]] = [
    (TextMessage("Hello"), "text", {"body": "Hello"}),
    (TextMessage("Hello", preview_url=True), "text", {"body": "Hello", "preview_url": True}),
    (
        MediaMessage("image", "https://e.example/a.png", "A"),
        "image",
        {"link": "https://e.example/a.png", "caption": "A"},
    ),
    (MediaMessage("audio", "https://e.example/a.mp3"), "audio", {"link": "https://e.example/a.mp3"}),
    (
        MediaMessage("video", "https://e.example/a.mp4", "A"),
        "video",
        {"link": "https://e.example/a.mp4", "caption": "A"},
    ),
    (
        MediaMessage("document", "https://e.example/a.pdf", "A", "bill.pdf"),
        "document",
        {"link": "https://e.example/a.pdf", "caption": "A", "filename": "bill.pdf"},
    ),
    (
        LocationMessage(52.5, 13.4, "Here", "Main Street 1"),
        "location",
        {"latitude": 52.5, "longitude": 13.4, "name": "Here", "address": "Main Street 1"},
    ),
    (
        Buttons("Sure?", (Choice("y", "Yes"), Choice("n", "No")), "Delete"),
        "interactive",
        {
            "type": "button",
            "header": {"type": "text", "text": "Delete"},
            "body": {"text": "Sure?"},
            "action": {
                "buttons": [
                    {"type": "reply", "reply": {"id": "y", "title": "Yes"}},
                    {"type": "reply", "reply": {"id": "n", "title": "No"}},
                ]
            },
        },
    ),
    (
        LinkButton("Look", "Open", "https://e.example", "Head", "Foot"),
        "interactive",
        {
            "type": "cta_url",
            "header": {"type": "text", "text": "Head"},
            "body": {"text": "Look"},
            "footer": {"text": "Foot"},
            "action": {"display_text": "Open", "url": "https://e.example"},
        },
    ),
    (
        ListMessage("Pick", "Show", (Section("All", (Choice("1", "One", "first"), Choice("2", "Two"))),), "Foot"),
        "interactive",
        {
            "type": "list",
            "body": {"text": "Pick"},
            "footer": {"text": "Foot"},
            "action": {
                "button": "Show",
                "sections": [
                    {
                        "title": "All",
                        "rows": [
                            {"id": "1", "title": "One", "description": "first"},
                            {"id": "2", "title": "Two"},
                        ],
                    }
                ],
            },
        },
    ),
    (TemplateMessage("code", "en"), "template", {"name": "code", "language": {"code": "en"}}),
    (
        TemplateMessage("fixed", "en", {}),
        "template",
        {"name": "fixed", "language": {"code": "en"}, "components": [{"type": "header", "parameters": []}]},
    ),
    (
        TemplateMessage(
            "shipped",
            "en",
            {"type": "image", "image": {"link": "https://e.example/a.png"}},
            ({"type": "text", "text": "Ann"},),
            ("yes", "no"),
            ((2, "AB1"),),
        ),
        "template",
        {
            "name": "shipped",
            "language": {"code": "en"},
            "components": [
                {"type": "header", "parameters": [{"type": "image", "image": {"link": "https://e.example/a.png"}}]},
                {"type": "body", "parameters": [{"type": "text", "text": "Ann"}]},
                {
                    "type": "button",
                    "sub_type": "quick_reply",
                    "index": 0,
                    "parameters": [{"type": "payload", "payload": "yes"}],
                },
                {
                    "type": "button",
                    "sub_type": "quick_reply",
                    "index": 1,
                    "parameters": [{"type": "payload", "payload": "no"}],
                },
                {"type": "button", "sub_type": "url", "index": 2, "parameters": [{"type": "text", "text": "AB1"}]},
            ],
        },
    ),
]


@pytest.mark.parametrize(("message", "kind", "content"), CASES)
def test_a_message_has_the_documented_fields_and_no_others(
    message: Message, kind: str, content: dict[str, Any]
) -> None:
    assert gateway_client.type_of(message) == kind
    assert gateway_client.content(message) == content
