"""Templates: every code of the table "Template-send errors", the parameter objects, the lists."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.testing.emulator import Emulator, InteractiveChoice, MessageTemplate, TemplateButton
from tests.testing.emulator.conftest import Caller

TO = "491510000001"
PATH = "/inbox/send-template-message"
Refused = Callable[..., dict[str, Any]]
Components = list[dict[str, Any]]

ORDER = MessageTemplate(
    "order_update",
    "en",
    header="Order {{1}}",
    body="Hello {{1}}, your order is {{2}}.",
    footer="The shop",
    buttons=(
        TemplateButton("quick_reply", "Thanks"),
        TemplateButton("quick_reply", "Help"),
        TemplateButton("url", "Track", "https://shop.example/{{1}}"),
    ),
)
HEADER = {"type": "header", "parameters": [{"type": "text", "text": "17"}]}
BODY = {"type": "body", "parameters": [{"type": "text", "text": "Ann"}, {"type": "text", "text": "ready"}]}
REPLY = {
    "type": "button",
    "sub_type": "quick_reply",
    "index": 1,
    "parameters": [{"type": "payload", "payload": "help-17"}],
}
TRACK = {"type": "button", "sub_type": "url", "index": 2, "parameters": [{"type": "text", "text": "17"}]}


@pytest.fixture(autouse=True)
def registered(emulator: Emulator) -> None:
    emulator.templates.add(ORDER)


def sending(components: Any, name: str = "order_update", language: str = "en") -> dict[str, Any]:
    return {"to": TO, "template": {"name": name, "language": {"code": language}, "components": components}}


def with_body(*parameters: dict[str, Any]) -> Components:
    return [HEADER, {"type": "body", "parameters": list(parameters)}, TRACK]


def test_a_complete_template_is_sent_and_answered_in_the_platforms_form(api: Caller, emulator: Emulator) -> None:
    response = api.post(PATH, sending([HEADER, BODY, REPLY, TRACK]))
    assert response.status_code == 200
    (sent,) = emulator.sent
    assert response.json()["data"] == {
        "messaging_product": "chat",
        "contacts": [{"input": TO, "chat_id": TO}],
        "messages": [{"id": sent.chat_message_id, "message_status": "sent"}],
    }
    assert (sent.type, sent.endpoint, emulator.unknown_fields) == ("template", "send-template-message", set())


@pytest.mark.parametrize("endpoint", ["/inbox/send-message", "/chat/messages"])
def test_the_other_endpoints_take_a_template_by_its_type(api: Caller, endpoint: str) -> None:
    body = {**sending([HEADER, BODY, TRACK]), "type": "template"}
    assert api.post(endpoint, body).json()["data"]["type"] == "template"


def test_a_template_needs_no_window(api: Caller) -> None:
    assert api.post(PATH, {**sending([HEADER, BODY, TRACK]), "to": "491510000009"}).ok


def test_a_number_may_be_known_by_another_chat_id(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.aliases[TO] = "4915100001"
    data = api.post(PATH, sending([HEADER, BODY, TRACK])).json()["data"]
    assert data["contacts"] == [{"input": TO, "chat_id": "4915100001"}]


def test_the_first_status_and_the_ids_can_be_switched(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.template_status = "queued"
    emulator.behaviour.ids_in_results = False
    assert api.post(PATH, sending([HEADER, BODY, TRACK])).json()["data"]["messages"] == [{"message_status": "queued"}]


def test_an_authentication_template_without_parameters_needs_no_components(api: Caller, emulator: Emulator) -> None:
    emulator.templates.add(MessageTemplate("login", body="Your login worked.", category="AUTHENTICATION"))
    assert api.post(PATH, {"to": TO, "template": {"name": "login", "language": {"code": "en"}}}).ok


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        ({"template": {}}, "VALIDATION_MISSING_FIELD", 422),
        ({"to": "0151", "template": {}}, "VALIDATION_INVALID_PHONE", 422),
        ({"to": TO}, "VALIDATION_MISSING_FIELD", 422),
        ({"to": TO, "template": {"language": {"code": "en"}}}, "VALIDATION_MISSING_FIELD", 422),
        ({"to": TO, "template": {"name": "order_update"}}, "VALIDATION_MISSING_FIELD", 422),
        ({"to": TO, "template": {"name": "order_update", "language": {}}}, "VALIDATION_MISSING_FIELD", 422),
        ({**sending([HEADER, BODY, TRACK]), "channel_id": "channel-9"}, "WHATSAPP_CHANNEL_NOT_FOUND", 404),
    ],
)
def test_the_fields_around_a_template_are_checked(
    refused: Refused, body: dict[str, Any], code: str, status: int
) -> None:
    found = refused(body, PATH)
    assert (found["code"], found["status"]) == (code, status)


@pytest.mark.parametrize("endpoint", [PATH, "/inbox/send-message"])
@pytest.mark.parametrize(
    ("components", "name", "language", "code"),
    [
        ([HEADER, BODY, TRACK], "nothing", "en", "132012"),
        ([HEADER, BODY, TRACK], "order_update", "de", "132008"),
        (
            with_body({"type": "text", "text": "1"}, {"type": "text", "text": "2"}, {"type": "text", "text": "3"}),
            "",
            "",
            "132000",
        ),
        (with_body({"type": "text", "text": "1"}), "", "", "132001"),
        (with_body({"type": "text", "text": "x" * 1025}, {"type": "text", "text": "2"}), "", "", "132005"),
    ],
)
def test_a_template_is_sent_as_it_was_registered(
    refused: Refused, endpoint: str, components: Components, name: str, language: str, code: str
) -> None:
    body = {**sending(components, name or "order_update", language or "en"), "type": "template"}
    found = refused(body, endpoint)
    assert (found["status"], found["code"]) == (400, code)
    assert found["field"].startswith("template.")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"status": "PAUSED"}, "132006"),
        ({"status": "REJECTED"}, "132007"),
        ({"status": "PENDING"}, "132007"),
        ({"fits": False}, "132015"),
    ],
)
def test_a_template_that_may_not_be_sent_is_refused(
    emulator: Emulator, refused: Refused, change: dict[str, Any], code: str
) -> None:
    emulator.templates.add(replace(ORDER, **change))
    assert refused(sending([HEADER, BODY, TRACK]), PATH)["code"] == code


def test_the_code_for_a_pending_template_can_be_switched(emulator: Emulator, refused: Refused) -> None:
    emulator.behaviour.pending_template = "132012"
    emulator.templates.add(replace(ORDER, status="PENDING"))
    assert refused(sending([HEADER, BODY, TRACK]), PATH)["code"] == "132012"


def test_the_code_for_too_few_parameters_can_be_switched(emulator: Emulator, refused: Refused) -> None:
    emulator.behaviour.too_few_parameters = "132000"
    assert refused(sending(with_body({"type": "text", "text": "1"})), PATH)["code"] == "132000"


@pytest.mark.parametrize(
    "components",
    [
        None,
        [],
        "body",
        ["body"],
        [HEADER, TRACK],
        [BODY, TRACK],
        [HEADER, BODY],
        [HEADER, BODY, BODY, TRACK],
        [HEADER, {**BODY, "type": "BODY"}, TRACK],
        [HEADER, BODY, TRACK, {"type": "footer"}],
        [HEADER, BODY, TRACK, {"parameters": []}],
        [HEADER, {"type": "body"}, TRACK],
        [HEADER, {"type": "body", "parameters": "Ann"}, TRACK],
        with_body({"type": "text", "text": ""}, {"type": "text", "text": "ready"}),
        with_body({"type": "text", "text": 5}, {"type": "text", "text": "ready"}),
        with_body({"text": "Ann"}, {"type": "text", "text": "ready"}),
        with_body({"type": "payload", "payload": "Ann"}, {"type": "text", "text": "ready"}),
        with_body({"type": "image", "image": {"link": "https://a.example/b.png"}}, {"type": "text", "text": "ready"}),
        with_body({"type": "currency", "currency": {"code": "EUR"}}, {"type": "text", "text": "ready"}),
        with_body({"type": "date_time", "date_time": "today"}, {"type": "text", "text": "ready"}),
        [HEADER, BODY, TRACK, {**REPLY, "index": "1"}],
        [HEADER, BODY, TRACK, {**REPLY, "index": 3}],
        [HEADER, BODY, TRACK, {**REPLY, "index": -1}],
        [HEADER, BODY, TRACK, {**REPLY, "index": True}],
        [HEADER, BODY, TRACK, {**REPLY, "sub_type": "url"}],
        [HEADER, BODY, TRACK, {**REPLY, "index": 2}],
        [HEADER, BODY, TRACK, REPLY, REPLY],
        [HEADER, BODY, TRACK, {**REPLY, "parameters": []}],
        [HEADER, BODY, TRACK, {**REPLY, "parameters": [{"type": "text", "text": "help"}]}],
        [HEADER, BODY, TRACK, {**REPLY, "parameters": [{"type": "payload", "payload": ""}]}],
        [HEADER, BODY, {**TRACK, "parameters": [{"type": "payload", "payload": "17"}]}],
    ],
)
def test_a_parameter_that_is_missing_or_of_the_wrong_kind_is_132001(refused: Refused, components: Any) -> None:
    found = refused(sending(components), PATH)
    assert (found["code"], found["status"]) == ("132001", 400)


@pytest.mark.parametrize(
    "parameter",
    [
        {"type": "currency", "currency": {"fallback_value": "10 EUR", "code": "EUR", "amount_1000": 10_000}},
        {"type": "date_time", "date_time": {"fallback_value": "tomorrow"}},
        {"type": "text", "text": "x" * 1024},
    ],
)
def test_the_body_takes_texts_amounts_and_dates(api: Caller, parameter: dict[str, Any]) -> None:
    assert api.post(PATH, sending(with_body(parameter, {"type": "text", "text": "ready"}))).ok


@pytest.mark.parametrize(
    ("media", "good", "bad"),
    [
        ("image", {"link": "https://a.example/b.png"}, {"link": "b.png"}),
        ("image", {"id": "uploaded-1"}, {"id": ""}),
        ("video", {"link": "https://a.example/b.mp4"}, {"id": "uploaded-1"}),
        ("document", {"link": "https://a.example/b.pdf"}, "https://a.example/b.pdf"),
        (
            "location",
            {"latitude": 1.5, "longitude": 2, "name": "Shop", "address": "Street 1"},
            {"latitude": "1.5", "longitude": 2, "name": "Shop", "address": "Street 1"},
        ),
    ],
)
def test_a_media_header_takes_its_own_kind(
    api: Caller, emulator: Emulator, refused: Refused, media: Any, good: Any, bad: Any
) -> None:
    emulator.templates.add(MessageTemplate("pictured", body="Look!", header_media=media))

    def header(kind: str, value: Any) -> dict[str, Any]:
        return sending([{"type": "header", "parameters": [{"type": kind, kind: value}]}], "pictured")

    assert api.post(PATH, header(media, good)).ok
    assert refused(header(media, bad), PATH)["code"] == "132001"
    assert refused(header("text", "words"), PATH)["code"] == "132001"
    assert refused(sending([], "pictured"), PATH)["code"] == "132001"


def test_a_header_without_parameters_may_be_needed_too(api: Caller, emulator: Emulator, refused: Refused) -> None:
    emulator.templates.add(MessageTemplate("headed", header="News", body="Look!"))
    assert api.post(PATH, sending([], "headed")).ok
    emulator.behaviour.static_header_needed = True
    assert refused(sending([], "headed"), PATH)["code"] == "132001"
    assert api.post(PATH, sending([{"type": "header", "parameters": []}], "headed")).ok


def test_upper_case_components_can_be_allowed_on_chat_messages_only(
    api: Caller, emulator: Emulator, refused: Refused
) -> None:
    emulator.behaviour.upper_case_components = True
    body = {**sending([HEADER, {**BODY, "type": "BODY"}, TRACK]), "type": "template"}
    assert api.post("/chat/messages", body).ok
    assert refused(body)["code"] == "132001"


def test_quick_replies_are_shown_with_their_payloads_or_titles(api: Caller, emulator: Emulator) -> None:
    api.post(PATH, sending([HEADER, BODY, REPLY, TRACK]))
    assert emulator.shown(TO) == [
        InteractiveChoice("Thanks", "Thanks", "template"),
        InteractiveChoice("help-17", "Help", "template"),
    ]


def test_the_template_list_shows_every_template(api: Caller, emulator: Emulator) -> None:
    emulator.templates.add(MessageTemplate("hello", "de", body="Hallo", category="MARKETING", status="PENDING"))
    assert api.get("/inbox/template-list").json()["data"] == [
        {
            "name": "order_update",
            "language": "en",
            "category": "UTILITY",
            "status": "APPROVED",
            "components": ["HEADER", "BODY", "FOOTER", "BUTTONS"],
        },
        {"name": "hello", "language": "de", "category": "MARKETING", "status": "PENDING", "components": ["BODY"]},
    ]


def test_the_paged_list_has_a_meta(api: Caller, emulator: Emulator) -> None:
    emulator.templates.add(MessageTemplate("hello", "de"), MessageTemplate("hello", "fr"))
    first = api.get("/chat/templates", per_page=2).json()
    assert first["meta"] == {"page": 1, "per_page": 2, "total": 3, "has_more": True}
    second = api.get("/chat/templates", per_page=2, page=2).json()
    assert second["meta"]["has_more"] is False
    assert [item["language"] for item in first["data"] + second["data"]] == ["en", "de", "fr"]
