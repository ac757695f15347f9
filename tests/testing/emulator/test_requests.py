"""What holds for every request: key, envelope, headers, JSON, unknown fields and paths."""

from collections.abc import Callable
from typing import Any

import pytest
import requests

from bot.testing.emulator import Emulator
from tests.testing.emulator.conftest import Caller

LIMIT_HEADERS = {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}


@pytest.mark.parametrize("authorization", ["", "Bearer wrong", "emulator-key", "Bearer  emulator-key", "Bearer ключ"])
def test_a_wrong_or_missing_key_is_unauthorized(api: Caller, emulator: Emulator, authorization: str) -> None:
    response = requests.get(
        f"{emulator.url}/external-api/contacts",
        headers={"Authorization": authorization.encode(), "Content-Type": "application/json"},
        timeout=10,
    )
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "unauthorized"
    assert all(name in response.headers for name in LIMIT_HEADERS)


def test_a_success_has_the_envelope_and_the_three_headers(api: Caller) -> None:
    response = api.text()
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert all(name in response.headers for name in LIMIT_HEADERS)
    answer = response.json()
    assert answer["success"] is True
    assert set(answer) == {"success", "message", "data"}


def test_the_result_of_a_send_has_every_field(api: Caller, emulator: Emulator) -> None:
    data = api.text(to="+491510000001").json()["data"]
    (sent,) = emulator.sent
    assert data == {
        "messageId": sent.message_id,
        "chatMessageId": sent.chat_message_id,
        "to": "491510000001",
        "type": "text",
        "channelId": "channel-1",
        "status": "sent",
        "createdAt": "2030-05-12T12:00:00+00:00",
    }


def test_a_result_may_come_without_ids(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.ids_in_results = False
    assert set(api.text().json()["data"]) == {"to", "type", "channelId", "status", "createdAt"}


def test_chat_messages_takes_the_same_bodies_and_shows_a_message_id(api: Caller, emulator: Emulator) -> None:
    body = {"to": "491510000001", "type": "text", "text": {"body": "Hello"}}
    data = api.post("/chat/messages", body).json()["data"]
    assert data["messageId"] == emulator.sent[0].message_id
    assert "chatMessageId" not in data
    assert emulator.sent[0].endpoint == "chat/messages"


def test_the_status_of_a_success_can_be_switched(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.success_status = 202
    assert api.text().status_code == 202


def test_errors_can_come_with_http_200(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.error_status = 200
    response = api.send({})
    assert response.status_code == 200
    assert response.json()["error"]["code"] == "VALIDATION_MISSING_TYPE"


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'"text"', b"\xff\xfe", b'{"to": NaN}', b"[" * 100_000, b'{"a":' * 100_000]
)
def test_a_body_that_is_no_json_object_is_refused(emulator: Emulator, api: Caller, raw: bytes) -> None:
    url = f"{emulator.url}/external-api/inbox/send-message"
    response = requests.post(url, data=raw, headers=api.headers, timeout=10)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "VALIDATION_INVALID_JSON"


def test_every_request_carries_the_content_type(emulator: Emulator, api: Caller) -> None:
    headers = {"Authorization": api.headers["Authorization"]}
    response = requests.get(f"{emulator.url}/external-api/contacts", headers=headers, timeout=10)
    assert response.status_code == 400
    assert response.json()["error"]["details"]["field"] == "Content-Type"


def test_an_unknown_path_is_answered_in_the_envelope(api: Caller) -> None:
    response = api.get("/v1/contacts")
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not_found"


def test_a_wrong_method_is_answered_in_the_envelope(api: Caller) -> None:
    response = api.get("/inbox/send-message")
    assert response.status_code == 405
    assert response.json()["success"] is False


def test_unknown_fields_are_ignored_and_recorded(api: Caller, emulator: Emulator) -> None:
    body = {
        "to": "491510000001",
        "type": "text",
        "text": {"body": "Hi", "tone": "warm"},
        "recipient_type": "individual",
    }
    assert api.send(body).status_code == 200
    assert emulator.unknown_fields == {"send-message: text.tone", "send-message: recipient_type"}


def test_a_field_of_another_type_counts_as_unknown(api: Caller, emulator: Emulator) -> None:
    api.send(
        {"to": "491510000001", "type": "text", "text": {"body": "Hi"}, "image": {"link": "https://a.example/b.png"}}
    )
    api.send(
        {
            "to": "491510000001",
            "type": "audio",
            "audio": {"link": "https://a.example/b.mp3", "caption": "not for audio"},
        }
    )
    assert emulator.unknown_fields == {"send-message: image", "send-message: audio.caption"}


def test_unknown_fields_are_found_in_arrays_and_queries(api: Caller, emulator: Emulator) -> None:
    button = {"type": "reply", "reply": {"id": "1", "title": "Yes", "emoji": "x"}}
    action = {"buttons": [button]}
    interactive = {"type": "button", "body": {"text": "Well?"}, "action": action}
    assert api.send({"to": "491510000001", "type": "interactive", "interactive": interactive}).ok
    api.get("/contacts", page=1, search="Ann")
    assert emulator.unknown_fields == {
        "send-message: interactive.action.buttons[].reply.emoji",
        "contacts: search",
    }


def test_known_fields_are_not_recorded(api: Caller, emulator: Emulator) -> None:
    assert api.send(
        {
            "to": "491510000001",
            "type": "document",
            "channel_id": "channel-1",
            "document": {"link": "https://a.example/b.pdf", "caption": "c", "filename": "b.pdf"},
        }
    ).ok
    assert emulator.unknown_fields == set()


def test_requests_are_counted_whatever_becomes_of_them(api: Caller, emulator: Emulator) -> None:
    api.text()
    api.send({})
    assert emulator.requests == 2
    counts = emulator.counts
    assert (counts["accepted"], counts["accepted text"]) == (1, 1)
    assert (counts["answered 200"], counts["answered 422"], counts["refused VALIDATION_MISSING_TYPE"]) == (1, 1, 1)


def test_only_the_last_messages_are_kept_when_memory_is_bounded() -> None:
    with Emulator(keep=2, per_minute=100) as emulator:
        emulator.behaviour.window = "open"
        caller = Caller(emulator)
        for number in range(5):
            assert caller.text(str(number)).ok
        assert [sent.body["text"]["body"] for sent in emulator.sent] == ["3", "4"]
        assert emulator.counts["accepted"] == 5


def test_accepted_messages_are_told_of_in_order(api: Caller, emulator: Emulator) -> None:
    told: list[str] = []
    emulator.on_sent(lambda sent: told.append(sent.body["text"]["body"]))
    for text in ("one", "two"):
        api.text(text)
    api.text("x" * 5000)
    assert told == ["one", "two"] == [sent.body["text"]["body"] for sent in emulator.sent]


def test_an_accepted_message_is_kept_with_all_there_is_to_know(api: Caller, emulator: Emulator) -> None:
    api.text("Hi", Idempotency_Key="k1")
    (sent,) = emulator.sent
    assert (sent.to, sent.type, sent.key, sent.endpoint) == ("491510000001", "text", "k1", "send-message")
    assert sent.body == {"to": "491510000001", "type": "text", "text": {"body": "Hi"}}
    assert sent.at == emulator.clock.now()


def test_a_switch_is_set_by_name_and_refused_when_it_is_none(emulator: Emulator) -> None:
    emulator.behaviour.change(
        {"repeated_key": "conflict", "key_kept": 60, "send_message_refuses": ["template"], "statuses": ["sent"]}
    )
    assert emulator.behaviour.repeated_key == "conflict"
    assert emulator.behaviour.key_kept.total_seconds() == 60
    assert emulator.behaviour.send_message_refuses == {"template"}
    wrong: list[dict[str, Any]] = [{"repeated_key": "maybe"}, {"colour": "red"}, {"restamp": "yes"}, {"statuses": 1}]
    for values in wrong:
        with pytest.raises(ValueError, match=next(iter(values))):
            emulator.behaviour.change(values)


def test_an_emulator_that_runs_not_has_no_address() -> None:
    with pytest.raises(RuntimeError, match="not been started"):
        _ = Emulator().url


def test_refusals_name_the_field(refused: Callable[..., dict[str, Any]]) -> None:
    assert refused({"type": "text", "to": "491510000001"})["field"] == "text"
