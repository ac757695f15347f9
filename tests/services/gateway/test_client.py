"""Sending through the gateway: what goes out, and what each answer means."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.core.messages import Buttons, Choice, MediaMessage, Message, TemplateMessage, TextMessage
from bot.services.gateway import gateway_answers
from bot.services.gateway.gateway_client import Gateway
from tests.services.gateway.peer import Answer, Peer, answer, hang_up, peer, raw, refused, reset

HI = TextMessage("Hi")
BUTTONS = Buttons("Sure?", (Choice("y", "Yes"),))
TEMPLATE = TemplateMessage("hello", "en")
INBOX, CHAT = "/external-api/inbox/send-message", "/external-api/chat/messages"


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as running:
        yield running


@pytest.fixture
def gateway(server: Peer) -> Gateway:
    return Gateway(server.url, "k3y")


def failure(gateway: Gateway, message: Message = HI) -> gateway_answers.GatewayError:
    with pytest.raises(gateway_answers.GatewayError) as caught:
        gateway.send("4915", message, "key-1")
    return caught.value


# -- what goes out


def test_a_message_goes_to_the_inbox_with_its_key(server: Peer, gateway: Gateway) -> None:
    sent = gateway.send("4915", TextMessage("Hi"), "key-1")
    (request,) = server.requests
    assert (request.path, request.body) == (INBOX, {"to": "4915", "type": "text", "text": {"body": "Hi"}})
    assert request.headers["idempotency-key"] == "key-1"
    assert request.headers["authorization"] == "Bearer k3y"
    assert request.headers["content-type"] == "application/json"
    assert (sent.message_ids, sent.keyed) == (("m1", "c1"), True)


def test_the_channel_is_named_where_one_is_set(server: Peer) -> None:
    Gateway(server.url, "k", "channel-7").send("4915", TextMessage("Hi"), "key-1")
    assert server.requests[0].body["channel_id"] == "channel-7"


def test_a_message_over_a_limit_is_not_sent(server: Peer, gateway: Gateway) -> None:
    error = failure(gateway, TextMessage("x" * 4097))
    assert isinstance(error, gateway_answers.InvalidMessage)
    assert "4097 characters" in str(error)
    assert server.requests == []


# -- endpoints

NO_TYPE = refused("VALIDATION_INVALID_TYPE", 422)


@pytest.mark.parametrize(
    ("message", "last", "body"),
    [
        pytest.param(
            BUTTONS,
            "/external-api/v1/chat/interactive",
            {
                "to": "4915",
                "type": "interactive",
                "interactive": {
                    "type": "button",
                    "body": {"text": "Sure?"},
                    "action": {"buttons": [{"type": "reply", "reply": {"id": "y", "title": "Yes"}}]},
                },
            },
            id="interactive",
        ),
        pytest.param(
            TEMPLATE,
            "/external-api/inbox/send-template-message",
            {"to": "4915", "template": {"name": "hello", "language": {"code": "en"}}},
            id="template",
        ),
    ],
)
def test_the_next_endpoint_is_taken_after_a_refusal_of_the_type(
    server: Peer, gateway: Gateway, message: Message, last: str, body: dict[str, Any]
) -> None:
    server.answers(NO_TYPE, NO_TYPE)
    keyed = []
    for _ in range(2):
        keyed.append(gateway.keyed(message))
        assert isinstance(failure(gateway, message), gateway_answers.EndpointRefused)
    keyed.append(gateway.keyed(message))
    assert gateway.send("4915", message, "key-1").keyed is False
    assert [request.path for request in server.requests] == [INBOX, CHAT, last]
    assert keyed == [True, True, False]
    assert server.requests[2].body == body
    assert "idempotency-key" not in server.requests[2].headers


def test_which_endpoint_takes_a_type_is_remembered_for_that_type_only(server: Peer, gateway: Gateway) -> None:
    server.answers(NO_TYPE)
    failure(gateway, BUTTONS)
    for message in (BUTTONS, BUTTONS, TextMessage("Hi")):
        gateway.send("4915", message, "k")
    assert [request.path for request in server.requests] == [INBOX, CHAT, CHAT, INBOX]


def test_a_type_that_no_endpoint_takes_is_refused(server: Peer, gateway: Gateway) -> None:
    server.answers(NO_TYPE)
    error = failure(gateway, MediaMessage("image", "https://e.example/a.png"))
    assert type(error) is gateway_answers.InvalidType
    assert not error.retry


@pytest.mark.parametrize("broken", [refused("VALIDATION_MISSING_FIELD", 422), answer(404, b""), answer(500, b"")])
def test_no_other_answer_leads_to_the_next_endpoint(server: Peer, gateway: Gateway, broken: Answer) -> None:
    server.answers(broken)
    failure(gateway, BUTTONS)
    gateway.send("4915", BUTTONS, "k")
    assert [request.path for request in server.requests] == [INBOX, INBOX]


@pytest.mark.parametrize("status", [404, 405, 410, 501])
@pytest.mark.parametrize("enveloped", [True, False])
@pytest.mark.parametrize("message", [BUTTONS, TEMPLATE])
def test_the_next_endpoint_is_taken_where_one_is_missing(
    server: Peer, gateway: Gateway, message: Message, status: int, enveloped: bool
) -> None:
    server.answers(NO_TYPE, refused("not_found", status) if enveloped else answer(status, b"<html>"))
    for _ in range(2):
        assert isinstance(failure(gateway, message), gateway_answers.EndpointRefused)
    for _ in range(2):
        gateway.send("4915", message, "key-1")
    last = server.requests[-1].path
    assert [request.path for request in server.requests] == [INBOX, CHAT, last, last]


def test_a_gateway_that_has_no_endpoint_for_a_type_refuses_the_type(server: Peer, gateway: Gateway) -> None:
    server.answers(NO_TYPE, refused("not_found", 404), refused("not_found", 404))
    for _ in range(2):
        failure(gateway, BUTTONS)
    assert type(failure(gateway, BUTTONS)) is gateway_answers.InvalidType


@pytest.mark.parametrize("status", [403, 500])
def test_no_other_answer_says_that_an_endpoint_is_missing(server: Peer, gateway: Gateway, status: int) -> None:
    server.answers(NO_TYPE, refused("new_code", status))
    for _ in range(2):
        failure(gateway, BUTTONS)
    gateway.send("4915", BUTTONS, "key-1")
    assert [request.path for request in server.requests] == [INBOX, CHAT, CHAT]


def test_a_refusal_for_the_address_names_it(server: Peer) -> None:
    server.answers(refused("not_found", 404, "there is no such endpoint"))
    gateway = Gateway(f"{server.url}/external-api", "k3y")
    with pytest.raises(gateway_answers.EndpointUnavailable) as refusal:
        gateway.contacts_page(1)
    assert f"GET {server.url}/external-api/external-api/contacts (404)" in str(refusal.value)


# -- answers


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        ({"messageId": "m1", "chatMessageId": "c1"}, ("m1", "c1")),
        ({"messageId": "m1", "chatMessageId": "m1"}, ("m1",)),
        ({"messages": [{"id": "w1", "message_status": "queued"}, {"id": 2}]}, ("w1", "2")),
        ({}, ()),
        (None, ()),
        ([1], ()),
        ({"messageId": None, "messages": "x"}, ()),
    ],
)
def test_all_ids_of_a_result_are_kept_and_none_is_needed(
    server: Peer, gateway: Gateway, data: Any, ids: tuple[str, ...]
) -> None:
    server.answers(answer(200, {"success": True, "data": data}))
    assert gateway.send("4915", TextMessage("Hi"), "k").message_ids == ids


def test_a_repeated_key_that_conflicts_was_sent(server: Peer, gateway: Gateway) -> None:
    named = answer(409, {"success": False, "error": {"code": "DUPLICATE"}, "data": {"messageId": "m1"}})
    server.answers(refused("conflict", 409), named)
    assert gateway.send("4915", HI, "k", repeated=True).message_ids == ()
    assert gateway.send("4915", HI, "k", repeated=True).message_ids == ("m1",)


def test_a_conflict_at_the_first_try_is_no_success(server: Peer, gateway: Gateway) -> None:
    server.answers(refused("conflict", 409), answer(409, b""))
    for _ in range(2):
        error = failure(gateway)
        assert isinstance(error, gateway_answers.OutcomeUnknown)
        assert (error.keyed, error.conflict) == (True, True)


def test_a_conflict_at_an_endpoint_without_keys_is_a_refusal(server: Peer, gateway: Gateway) -> None:
    server.answers(NO_TYPE, NO_TYPE, refused("conflict", 409))
    for _ in range(2):
        failure(gateway, BUTTONS)
    assert type(failure(gateway, BUTTONS)) is gateway_answers.GatewayRefused


def test_a_result_with_the_status_failed_is_a_failure(server: Peer, gateway: Gateway) -> None:
    server.answers(answer(200, {"success": True, "data": {"messageId": "m1", "status": "failed"}}))
    assert failure(gateway).code == "WHATSAPP_SEND_FAILED"


@pytest.mark.parametrize("status", [200, 400, 422, 500, 502])
def test_the_code_decides_at_any_http_status(server: Peer, gateway: Gateway, status: int) -> None:
    server.answers(refused("WHATSAPP_TEMPLATE_REQUIRED", status, "window closed", field="type"))
    error = failure(gateway)
    assert isinstance(error, gateway_answers.TemplateRequired)
    assert (error.message, error.details) == ("window closed", {"field": "type"})


CASES: list[tuple[str, Answer, type[gateway_answers.GatewayError], bool]] = [
    ("unknown code, 4xx", refused("NEW_CODE", 400), gateway_answers.GatewayRefused, False),
    ("unknown code, 2xx", refused("NEW_CODE", 200), gateway_answers.GatewayRefused, False),
    ("unknown code, 401", refused("bad_key", 401), gateway_answers.GatewayUnauthorized, False),
    ("unknown code, 429", refused("slow_down", 429), gateway_answers.GatewayRateLimited, True),
    ("unknown code, 403", refused("new_code", 403), gateway_answers.EndpointUnavailable, False),
    ("unknown code, 404", refused("not_found", 404), gateway_answers.EndpointUnavailable, False),
    ("unknown code, 501", refused("new_code", 501), gateway_answers.EndpointUnavailable, False),
    ("bare 501", answer(501, b""), gateway_answers.NotTheGateway, True),
    ("unknown code, 5xx", refused("INTERNAL", 500), gateway_answers.OutcomeUnknown, True),
    (
        "code as a number",
        answer(400, {"success": False, "error": {"code": 132012}}),
        gateway_answers.GatewayRefused,
        False,
    ),
    ("error as a text", answer(400, {"success": False, "error": "no"}), gateway_answers.GatewayRefused, False),
    ("no error object", answer(200, {"success": False}), gateway_answers.GatewayRefused, False),
    ("bare 302", answer(302, b""), gateway_answers.NotTheGateway, True),
    ("bare 404", answer(404, b"<html>"), gateway_answers.NotTheGateway, True),
    ("bare 401", answer(401, b""), gateway_answers.GatewayUnauthorized, False),
    ("bare 429", answer(429, b""), gateway_answers.GatewayRateLimited, True),
    ("bare 500", answer(500, b"oops"), gateway_answers.OutcomeUnknown, True),
    ("bare 503, JSON", answer(503, {"oops": 1}), gateway_answers.OutcomeUnknown, True),
    ("no JSON, 200", answer(200, b"<html>"), gateway_answers.OutcomeUnknown, True),
    ("deep JSON, 200", answer(200, b"[" * 100_000), gateway_answers.OutcomeUnknown, True),
    ("a list, 200", answer(200, b"[1]"), gateway_answers.OutcomeUnknown, True),
    ("success as a text", answer(200, {"success": "false"}), gateway_answers.OutcomeUnknown, True),
    ("success null", answer(200, {"success": None, "data": {"messageId": "m"}}), gateway_answers.OutcomeUnknown, True),
    ("success null, 500", answer(500, {"success": None}), gateway_answers.OutcomeUnknown, True),
    ("success null, 400", answer(400, {"success": None}), gateway_answers.NotTheGateway, True),
    ("success infinite", answer(200, b'{"success":1e999}'), gateway_answers.OutcomeUnknown, True),
    ("reset", reset, gateway_answers.OutcomeUnknown, True),
    ("hang up", hang_up, gateway_answers.OutcomeUnknown, True),
    (
        "cut",
        raw(b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"success": true'),
        gateway_answers.OutcomeUnknown,
        True,
    ),
]


@pytest.mark.parametrize(("given", "expected", "retry"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_each_answer_means_one_thing(
    server: Peer, gateway: Gateway, given: Answer, expected: type[gateway_answers.GatewayError], retry: bool
) -> None:
    server.answers(given)
    error = failure(gateway)
    assert type(error) is expected
    assert error.retry is retry


def test_no_connection_means_not_sent(server: Peer, gateway: Gateway) -> None:
    server.close()
    assert isinstance(failure(gateway), gateway_answers.GatewayNotReached)


@pytest.mark.parametrize(("refusals", "keyed"), [(0, True), (2, False)])
def test_an_unknown_outcome_says_whether_the_endpoint_took_the_key(
    server: Peer, gateway: Gateway, refusals: int, keyed: bool
) -> None:
    server.answers(*[NO_TYPE] * refusals, reset)
    for _ in range(refusals):
        failure(gateway, BUTTONS)
    error = failure(gateway, BUTTONS)
    assert isinstance(error, gateway_answers.OutcomeUnknown)
    assert error.keyed is keyed


@pytest.mark.parametrize("status", [200, 429])
def test_rate_headers_come_with_results_and_errors(server: Peer, gateway: Gateway, status: int) -> None:
    headers = {"X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "1900000000", "Retry-After": "7"}
    server.answers(answer(status, {"success": status == 200}, headers))
    rate = gateway.send("4915", TextMessage("Hi"), "k").rate if status == 200 else failure(gateway).rate
    assert (rate.remaining, rate.retry_after) == (3, timedelta(seconds=7))
    assert rate.resets_at == datetime.fromtimestamp(1900000000, UTC)


def test_neither_key_nor_text_nor_number_is_in_an_error_of_ours(server: Peer, gateway: Gateway) -> None:
    server.answers(reset)
    text = str(failure(gateway, TextMessage("my secret")))
    server.close()
    text += str(failure(gateway, TextMessage("my secret")))
    assert not any(word in text for word in ("k3y", "my secret", "4915", "key-1"))
