"""Events: payloads, headers, signatures, and the taps of what was really shown."""

import hashlib
import hmac
import json
from datetime import timedelta
from typing import Any

import pytest
import requests

from bot.core.clock import MovableClock
from bot.testing.emulator import SECRET, Emulator, MessageTemplate, NotShown, TemplateButton
from tests.testing.emulator.conftest import NOON, Caller, Receiver

TO = "491510000001"
NOON_STAMP = int(NOON.timestamp())


def only(emulator: Emulator, receiver: Receiver) -> dict[str, Any]:
    """The one event delivered, as it was received."""
    assert emulator.wait_until(emulator.idle)
    (delivered,) = receiver.seen
    return dict(json.loads(delivered.body))


def names(emulator: Emulator, receiver: Receiver) -> list[str]:
    assert emulator.wait_until(emulator.idle)
    return [json.loads(delivered.body)["event"] for delivered in receiver.seen]


def show(api: Caller, *titles: str) -> None:
    buttons = [{"type": "reply", "reply": {"id": f"id-{title}", "title": title}} for title in titles]
    interactive = {"type": "button", "body": {"text": "Well?"}, "action": {"buttons": buttons}}
    assert api.send({"to": TO, "type": "interactive", "interactive": interactive}).ok


def show_list(api: Caller) -> None:
    rows = [{"id": "id-Pear", "title": "Pear"}]
    action = {"button": "Choose", "sections": [{"title": "Fruit", "rows": rows}]}
    interactive = {"type": "list", "body": {"text": "Well?"}, "action": action}
    assert api.send({"to": TO, "type": "interactive", "interactive": interactive}).ok


def show_template(api: Caller, emulator: Emulator) -> None:
    emulator.templates.add(MessageTemplate("ask", body="Well?", buttons=(TemplateButton("quick_reply", "Yes"),)))
    payload = {"type": "payload", "payload": "yes-17"}
    button = {"type": "button", "sub_type": "quick_reply", "index": 0, "parameters": [payload]}
    template = {"name": "ask", "language": {"code": "en"}, "components": [button]}
    assert api.post("/inbox/send-template-message", {"to": TO, "template": template}).ok


def test_a_text_has_every_field_of_the_payload(emulator: Emulator, receiver: Receiver) -> None:
    event_id = emulator.receive(TO, "Hello")
    event = only(emulator, receiver)
    assert {name: event[name] for name in ("id", "event", "timestamp")} == {
        "id": event_id,
        "event": "message.inbound",
        "timestamp": NOON_STAMP,
    }
    data = event["data"]
    assert data.pop("message_id")
    assert data == {
        "from": TO,
        "to": "15550000001",
        "type": "text",
        "body": "Hello",
        "media_url": None,
        "timestamp": NOON_STAMP,
        "conversation_id": "conv_1",
    }


@pytest.mark.parametrize("kind", ["image", "audio", "video", "document"])
def test_media_comes_with_an_address_that_expires(
    emulator: Emulator, receiver: Receiver, clock: MovableClock, kind: str
) -> None:
    emulator.receive(TO, kind=kind)
    data = only(emulator, receiver)["data"]
    assert (data["type"], data["body"]) == (kind, None)
    clock.move(timedelta(hours=24))
    assert requests.get(data["media_url"], timeout=10).status_code == 200
    clock.move(timedelta(seconds=1))
    assert requests.get(data["media_url"], timeout=10).status_code == 404


def test_a_sticker_has_no_media_address(emulator: Emulator, receiver: Receiver) -> None:
    emulator.receive(TO, kind="sticker")
    data = only(emulator, receiver)["data"]
    assert (data["type"], data["body"], data["media_url"]) == ("sticker", None, None)


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("absent", {"body": None}),
        ("object", {"body": None, "location": {"latitude": 1.5, "longitude": 2}}),
        ("flat", {"body": None, "latitude": 1.5, "longitude": 2}),
        ("body", {"body": "1.5,2"}),
    ],
)
def test_coordinates_come_where_the_switch_says(
    emulator: Emulator, receiver: Receiver, where: str, shown: dict[str, Any]
) -> None:
    emulator.behaviour.change({"coordinates": where})
    emulator.receive(TO, kind="location", location={"latitude": 1.5, "longitude": 2})
    data = only(emulator, receiver)["data"]
    usual = {"message_id", "from", "to", "type", "media_url", "timestamp", "conversation_id"}
    assert {name: value for name, value in data.items() if name not in usual} == shown


def test_a_reaction_comes_as_a_message_and_opens_no_window(emulator: Emulator, receiver: Receiver, api: Caller) -> None:
    emulator.receive("491510000009", "\N{THUMBS UP SIGN}", kind="reaction")
    data = only(emulator, receiver)["data"]
    assert (data["type"], data["body"], data["media_url"]) == ("reaction", "\N{THUMBS UP SIGN}", None)
    assert api.text(to="491510000009").json()["error"]["code"] == "WHATSAPP_TEMPLATE_REQUIRED"


def test_what_no_contact_can_send_is_refused(emulator: Emulator) -> None:
    with pytest.raises(ValueError, match="poem"):
        emulator.receive(TO, kind="poem")
    with pytest.raises(ValueError, match="media_url"):
        emulator.receive(TO, "Hi", media_url="https://a.example/b.png")
    with pytest.raises(ValueError, match="the kind location"):
        emulator.receive(TO, location={"latitude": 1.5, "longitude": 2})


@pytest.mark.parametrize("prefix", [True, False])
def test_events_are_signed_over_timestamp_dot_body(emulator: Emulator, receiver: Receiver, prefix: bool) -> None:
    emulator.behaviour.signature_prefix = prefix
    emulator.receive(TO, "Grüße \N{WAVING HAND SIGN}")
    event = only(emulator, receiver)
    (delivered,) = receiver.seen
    headers = delivered.headers
    digest = hmac.new(SECRET.encode(), f"{NOON_STAMP}.".encode() + delivered.body, hashlib.sha256).hexdigest()
    assert headers["X-Service-Signature"] == (f"sha256={digest}" if prefix else digest)
    assert headers["X-Service-Timestamp"] == str(NOON_STAMP)
    assert headers["X-Service-Event"] == event["event"] == "message.inbound"
    assert headers["X-Service-Delivery-Id"]
    assert headers["Content-Type"] == "application/json"


def test_each_webhook_has_its_own_secret_and_events(emulator: Emulator, receiver: Receiver) -> None:
    other = Receiver()
    emulator.subscribe(other.url, secret="other", events=["conversation.resolved"])
    emulator.receive(TO, "Hi")
    emulator.resolve(TO)
    assert emulator.wait_until(emulator.idle)
    other.stop()
    assert len(receiver.seen) == 2
    (delivered,) = other.seen
    signed = delivered.headers["X-Service-Timestamp"].encode() + b"." + delivered.body
    digest = hmac.new(b"other", signed, hashlib.sha256).hexdigest()
    assert delivered.headers["X-Service-Signature"] == f"sha256={digest}"


def test_event_and_delivery_ids_are_unique(emulator: Emulator, receiver: Receiver) -> None:
    sent = [emulator.receive(TO, str(number)) for number in range(10)]
    assert emulator.wait_until(emulator.idle)
    assert len(set(sent)) == 10
    assert len({delivered.headers["X-Service-Delivery-Id"] for delivered in receiver.seen}) == 10


def test_a_button_is_tapped_by_id_or_title(api: Caller, emulator: Emulator, receiver: Receiver) -> None:
    show(api, "Yes", "No")
    emulator.tap(TO, title="No")
    data = only(emulator, receiver)["data"]
    assert data.pop("message_id")
    assert data == {
        "from": TO,
        "timestamp": NOON_STAMP,
        "interactive": {"type": "button", "button": {"id": "id-No", "title": "No"}},
    }
    emulator.tap(TO, "id-Yes")
    emulator.tap(TO, "id-Yes", "Yes", "button")
    assert names(emulator, receiver) == ["message.interactive_reply"] * 3


def test_a_row_is_picked(api: Caller, emulator: Emulator, receiver: Receiver) -> None:
    show_list(api)
    emulator.tap(TO, title="Pear")
    interactive = only(emulator, receiver)["data"]["interactive"]
    assert interactive == {"type": "list", "list_reply": {"id": "id-Pear", "title": "Pear"}}


def test_only_what_was_shown_can_be_tapped(api: Caller, emulator: Emulator) -> None:
    show(api, "Yes")
    emulator.open_window("491510000002")
    taps: list[tuple[Any, ...]] = [(TO, "id-No"), (TO, None, "No"), (TO, "id-Yes", "No"), (TO, "id-Yes", "Yes", "list")]
    for tap in [*taps, ("491510000002", "id-Yes"), ("491510000009", "id-Yes")]:
        with pytest.raises(NotShown):
            emulator.tap(*tap)
    assert emulator.counts.get("events", 0) == 0


def test_an_old_button_can_still_be_tapped_and_the_newest_of_a_title_wins(
    api: Caller, emulator: Emulator, receiver: Receiver
) -> None:
    show(api, "Yes")
    show(api, "No")
    emulator.tap(TO, title="Yes")
    assert only(emulator, receiver)["data"]["interactive"]["button"]["id"] == "id-Yes"


def test_a_tap_opens_the_window(api: Caller, emulator: Emulator, clock: MovableClock) -> None:
    show(api, "Yes")
    clock.move(timedelta(hours=30))
    assert api.text().status_code == 400
    emulator.tap(TO, "id-Yes")
    assert api.text().ok


@pytest.mark.parametrize(
    ("way", "event", "shown"),
    [
        ("interactive_reply", "message.interactive_reply", {"id": "yes-17", "title": "Yes"}),
        ("title", "message.inbound", "Yes"),
        ("payload", "message.inbound", "yes-17"),
    ],
)
def test_a_tap_on_a_template_arrives_in_one_of_three_ways(
    api: Caller, emulator: Emulator, receiver: Receiver, way: str, event: str, shown: Any
) -> None:
    emulator.behaviour.change({"template_tap": way})
    show_template(api, emulator)
    emulator.tap(TO, title="Yes")
    received = only(emulator, receiver)
    data = received["data"]
    assert received["event"] == event
    assert (data["interactive"]["button"] if event == "message.interactive_reply" else data["body"]) == shown


def test_an_agent_takes_over_and_resolves(emulator: Emulator, receiver: Receiver) -> None:
    emulator.assign(TO, "Kim")
    emulator.resolve(TO)
    assert names(emulator, receiver) == ["conversation.assigned", "conversation.resolved"]
    assigned, resolved = (json.loads(delivered.body)["data"] for delivered in receiver.seen)
    who = {"conversation_id": "conv_1", "contact": {"id": 1, "phone": TO, "name": TO}}
    assert assigned == {
        **who,
        "agent": {"id": 1, "name": "Kim", "email": "agent@example.com"},
        "assigned_at": "2030-05-12T12:00:00+00:00",
    }
    assert resolved == {**who, "resolved_at": "2030-05-12T12:00:00+00:00"}


def test_a_conversation_is_opened_and_a_contact_made_without_a_message(emulator: Emulator, receiver: Receiver) -> None:
    emulator.open(TO)
    emulator.edit(TO, name="Kim", new=True)
    assert names(emulator, receiver) == ["conversation.opened", "contact.created"]
    opened, created = (json.loads(delivered.body)["data"] for delivered in receiver.seen)
    assert (opened["conversation_id"], opened["status"]) == ("conv_1", "open")
    assert (created["contact_id"], created["name"]) == (1, "Kim")


def test_the_newest_event_comes_again_under_another_delivery_id(emulator: Emulator, receiver: Receiver) -> None:
    with pytest.raises(LookupError):
        emulator.repeat()
    emulator.receive(TO, "one")
    emulator.repeat()
    assert names(emulator, receiver) == ["message.inbound", "message.inbound"]
    first, second = receiver.seen
    assert first.body == second.body
    assert first.headers["X-Service-Delivery-Id"] != second.headers["X-Service-Delivery-Id"]


def test_a_resolved_conversation_may_name_no_contact(emulator: Emulator, receiver: Receiver) -> None:
    emulator.behaviour.resolved_names_contact = False
    emulator.resolve(TO)
    assert only(emulator, receiver)["data"] == {"conversation_id": "conv_1"}


def test_a_first_message_can_bring_its_companions(api: Caller, emulator: Emulator, receiver: Receiver) -> None:
    emulator.behaviour.companion_events = True
    for text in ("one", "two"):
        emulator.receive("491510000002", text)
    emulator.resolve("491510000002")
    emulator.receive("491510000002", "three")
    assert names(emulator, receiver) == [
        *("contact.created", "conversation.opened", "message.inbound", "message.inbound"),
        *("conversation.resolved", "conversation.opened", "message.inbound"),
    ]
    created, opened = (json.loads(delivered.body)["data"] for delivered in receiver.seen[:2])
    assert set(created) == {"contact_id", "phone", "name", "email", "tags", "custom_fields", "created_at"}
    assert set(opened) == {"conversation_id", "contact", "channel", "status", "created_at"}
    assert opened["status"] == "open"


def test_an_upsert_is_told_of_among_the_companions(api: Caller, emulator: Emulator, receiver: Receiver) -> None:
    emulator.behaviour.companion_events = True
    for name in ("Ann", "Anna"):
        api.post("/contacts", {"name": name, "phone": "491510000002"})
    assert names(emulator, receiver) == ["contact.created", "contact.updated"]


@pytest.mark.parametrize("first", [True, False])
def test_statuses_follow_a_message_or_come_before_its_answer(
    api: Caller, emulator: Emulator, receiver: Receiver, first: bool
) -> None:
    emulator.behaviour.statuses = ("sent", "delivered", "read")
    emulator.behaviour.statuses_first = first
    message_id = api.text().json()["data"]["messageId"]
    if first:
        assert len(receiver.seen) == 3
    assert emulator.wait_until(lambda: len(receiver.seen) == 3)
    told = [json.loads(delivered.body) for delivered in receiver.seen]
    assert [event["event"] for event in told] == ["message.sent", "message.delivered", "message.read"]
    assert [event["data"]["message_id"] for event in told] == [message_id] * 3
    assert [event["data"]["status"] for event in told] == ["sent", "delivered", "read"]


def test_statuses_can_carry_the_platforms_id(api: Caller, emulator: Emulator, receiver: Receiver) -> None:
    emulator.behaviour.change({"statuses": ["failed"], "statuses_first": True, "status_id": "chatMessageId"})
    chat_message_id = api.text().json()["data"]["chatMessageId"]
    data = only(emulator, receiver)["data"]
    assert (data["message_id"], data["status"]) == (chat_message_id, "failed")
    assert data["error"]["code"]


def test_events_can_have_the_names_of_the_sample_code(api: Caller, emulator: Emulator, receiver: Receiver) -> None:
    emulator.behaviour.change({"sample_code_names": True, "statuses": ["sent"], "statuses_first": True})
    show(api, "Yes")
    emulator.receive(TO, "Hi")
    emulator.tap(TO, title="Yes")
    assert names(emulator, receiver) == ["message.status", "message.received", "interactive_response"]
    assert receiver.seen[1].headers["X-Service-Event"] == "message.received"


def test_a_contact_is_the_same_with_and_without_a_plus(emulator: Emulator, receiver: Receiver) -> None:
    emulator.receive(f"+{TO}", "Hi")
    assert only(emulator, receiver)["data"]["from"] == TO


def test_an_alias_and_a_plus_change_the_number_in_events(api: Caller, emulator: Emulator, receiver: Receiver) -> None:
    emulator.behaviour.aliases[TO] = "4915100001"
    emulator.behaviour.plus_in_events = True
    emulator.receive(TO, "Hi")
    assert only(emulator, receiver)["data"]["from"] == "+4915100001"
    assert api.text(to="4915100001").ok


def test_a_contact_writes_to_one_of_several_channels() -> None:
    receiver = Receiver()
    with Emulator(channels={"a": "15550000001", "b": "15550000002"}) as emulator:
        emulator.subscribe(receiver.url)
        emulator.receive(TO, "Hi", channel_id="b")
        assert emulator.wait_until(emulator.idle)
    receiver.stop()
    assert json.loads(receiver.seen[0].body)["data"]["to"] == "15550000002"


def test_any_payload_can_be_delivered_under_a_given_id(emulator: Emulator, receiver: Receiver) -> None:
    assert emulator.emit("message.inbound", {"odd": True}, event_id="evt-1", at=NOON) == "evt-1"
    event = only(emulator, receiver)
    assert (event["id"], event["data"]) == ("evt-1", {"odd": True})
    with pytest.raises(ValueError, match=r"message\.lost"):
        emulator.emit("message.lost", {})


def test_a_status_is_told_when_it_changes_and_only_of_messages_that_were_accepted(
    api: Caller, emulator: Emulator, receiver: Receiver
) -> None:
    id = api.text().json()["data"]["chatMessageId"]
    emulator.status(id, "failed")
    data = only(emulator, receiver)["data"]
    assert (data["status"], data["to"], data["error"]["code"]) == ("failed", TO, "WHATSAPP_SEND_FAILED")
    with pytest.raises(LookupError, match="no message has the id"):
        emulator.status("m-unknown", "read")


@pytest.mark.parametrize(
    ("shape", "named"),
    [("flat", {"message_id", "to"}), ("nested", {"message", "contact"}), ("bare", {"message_id"})],
)
def test_a_status_comes_in_three_shapes(
    api: Caller, emulator: Emulator, receiver: Receiver, shape: Any, named: set[str]
) -> None:
    emulator.behaviour.status_payload = shape
    emulator.status(api.text().json()["data"]["messageId"], "read")
    assert only(emulator, receiver)["data"].keys() - {"status", "timestamp"} == named


def test_an_agent_changes_a_contact(emulator: Emulator, receiver: Receiver) -> None:
    emulator.edit(TO, name="Ann", tags=["vip"])
    event = only(emulator, receiver)
    assert event["event"] == "contact.updated"
    assert (event["data"]["phone"], event["data"]["name"], event["data"]["tags"]) == (TO, "Ann", ["vip"])
