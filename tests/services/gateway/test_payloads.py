"""Events other than messages and taps: statuses, contacts, conversations, shown in the specification or not."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.core.events import (
    EVENTS,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    HandoffClosed,
    StatusReported,
)
from bot.services.gateway.webhook_events import UnreadableEvent, envelope, read

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
ANN = {"id": 1, "phone": "+49 15", "name": "Ann"}


def body(event: str, data: Any) -> bytes:
    return json.dumps({"id": "evt_1", "event": event, "timestamp": int(NOW.timestamp()), "data": data}).encode()


def status(event: str, data: Any) -> StatusReported:
    found = read(body(event, data), NOW)
    assert isinstance(found, StatusReported)
    return found


# -- statuses


@pytest.mark.parametrize("name", ["sent", "delivered", "read", "failed"])
def test_a_status_is_the_events_name(name: str) -> None:
    found = status(f"message.{name}", {"message_id": "m1", "to": "+4915"})
    assert (found.id, found.contact, found.at, found.status, found.messages) == ("evt_1", "4915", NOW, name, ("m1",))


@pytest.mark.parametrize("name", ["queued", "sent", "delivered", "READ", "failed"])
def test_the_sample_codes_event_is_named_by_its_status(name: str) -> None:
    data = {"message_id": "m1", "status": name}
    assert status("message.status", data).status == name.lower()
    assert envelope(body("message.status", data)).event == f"message.{name.lower()}"


@pytest.mark.parametrize("name", [None, "deleted", "inbound", 7])
def test_a_status_that_nobody_knows_cannot_be_read(name: Any) -> None:
    raw = body("message.status", {"message_id": "m1", "status": name, "from": "4915", "body": "hi"})
    with pytest.raises(UnreadableEvent, match="no status of the specification"):
        read(raw, NOW)
    assert envelope(raw).event == "message.status"


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        ({"messageId": "a", "chatMessageId": "b"}, ("a", "b")),
        ({"message_id": "a", "chat_message_id": "a"}, ("a",)),
        ({"id": 7}, ("7",)),
        ({"message": {"id": "a"}, "messages": [{"id": "b"}, "c", {"message_id": "d"}]}, ("a", "b", "d")),
        ({"to": "4915", "message_id": None, "messages": {}}, ()),
    ],
)
def test_the_message_is_found_wherever_it_may_stand(data: dict[str, Any], ids: tuple[str, ...]) -> None:
    assert status("message.read", data).messages == ids


def test_a_status_names_only_so_many_messages() -> None:
    assert len(status("message.read", {"messages": [{"id": n} for n in range(1000)]}).messages) == 10


@pytest.mark.parametrize(
    ("data", "contact"),
    [
        ({"to": "+4915", "from": "49999"}, "4915"),
        ({"contact": ANN, "from": "49999"}, "4915"),
        ({"from": "49999"}, ""),
        ({}, ""),
    ],
)
def test_a_status_is_about_whom_the_message_went_to_and_never_the_channel(data: dict[str, Any], contact: str) -> None:
    raw = body("message.read", {**data, "message_id": "m1"})
    assert status("message.read", {**data, "message_id": "m1"}).contact == contact
    assert envelope(raw).contact == (contact or None)


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        ({"error": {"code": "132006", "message": "paused"}},
         "132006: paused (use another template until it is approved again)"),
        ({"error": {"code": 470, "message": "gone\naway"}}, "470: gone away"),
        ({"errors": [{"message": "no"}]}, "no"),
        ({"error": "no such number"}, "no such number"),
        ({"reason": "blocked"}, "blocked"),
        ({"errors": [], "error": {}}, "the gateway gave no reason"),
    ],
)  # fmt: skip
def test_a_failure_says_why_and_what_to_do(data: dict[str, Any], detail: str) -> None:
    assert status("message.failed", {**data, "message_id": "m1"}).detail == detail
    assert status("message.read", {**data, "message_id": "m1"}).detail == ""


def test_a_status_of_nothing_cannot_be_read() -> None:
    with pytest.raises(UnreadableEvent, match="neither a message nor a contact"):
        read(body("message.read", {"status": "read"}), NOW)


# -- contacts


def test_a_contact_is_read_as_the_specification_shows_it() -> None:
    data = {"contact_id": 12, "phone": "+4915", "name": "Ann", "email": None, "tags": ["vip"],
            "custom_fields": {}, "created_at": "2030-01-01T00:00:00Z"}  # fmt: skip
    expected = ContactChanged("evt_1", "4915", NOW, "contact.created", "Ann", None, ("vip",), True, "id:12")
    assert read(body("contact.created", data), NOW) == expected
    assert envelope(body("contact.created", data)).contact == "4915"


def test_an_updated_contact_may_lie_in_an_object_and_say_little() -> None:
    nested = {"contact": {**ANN, "email": "ann@b.example"}}
    found = read(body("contact.updated", nested), NOW)
    assert found == ContactChanged("evt_1", "4915", NOW, "contact.updated", "Ann", "ann@b.example", None, alias="id:1")
    assert read(body("contact.updated", {"phone": 4915}), NOW) == ContactChanged(
        "evt_1", "4915", NOW, "contact.updated"
    )


def test_no_tags_is_something_else_than_nothing_said_of_tags() -> None:
    found = read(body("contact.updated", {"phone": "4915", "tags": []}), NOW)
    assert isinstance(found, ContactChanged)
    assert found.tags == ()


def test_what_an_agent_wrote_is_cut_to_one_clean_line() -> None:
    data = {"phone": "4915", "name": "A\0n\u202en\n x" + "y" * 1000, "tags": ["a\nb", {}, "  "]}
    found = read(body("contact.updated", data), NOW)
    assert isinstance(found, ContactChanged)
    assert (found.name or "")[:6] == "Ann xy"
    assert len(found.name or "") == 200
    assert found.tags == ("a b",)


def test_a_name_that_is_the_number_is_no_name() -> None:
    found = read(body("contact.created", {"phone": "4915", "name": "+49 15"}), NOW)
    assert isinstance(found, ContactChanged)
    assert found.name is None


def test_a_contact_without_a_number_is_named_by_the_gateways_id() -> None:
    named = body("contact.updated", {"contact_id": 1, "name": "Ann"})
    assert read(named, NOW) == ContactChanged("evt_1", "id:1", NOW, "contact.updated", "Ann", alias="id:1")
    assert envelope(named).contact == "id:1"


def test_a_contact_without_a_number_and_an_id_cannot_be_read() -> None:
    with pytest.raises(UnreadableEvent, match="no phone number"):
        read(body("contact.updated", {"name": "Ann"}), NOW)


# -- conversations


def test_conversations_are_read_as_the_specification_shows_them() -> None:
    data = {"conversation_id": "c1", "contact": ANN, "channel": "chat", "status": "open", "created_at": "2030"}
    assert read(body("conversation.opened", data), NOW) == ConversationOpened("evt_1", "4915", NOW, "c1", "Ann")
    agent = {"id": 7, "name": "Bea", "email": "bea@b.example"}
    assigned = {"conversation_id": "c1", "contact": ANN, "agent": agent, "assigned_at": "2030"}
    found = read(body("conversation.assigned", assigned), NOW)
    assert found == ConversationAssigned("evt_1", "4915", NOW, "c1", "Ann", "Bea", NOW)


@pytest.mark.parametrize(
    ("agent", "name"), [({"email": "b@b.example"}, "b@b.example"), ({"id": 7}, "7"), ("Bea", None), (None, None)]
)
def test_an_agent_is_called_by_what_is_known(agent: Any, name: str | None) -> None:
    found = read(body("conversation.assigned", {"conversation_id": "c1", "agent": agent}), NOW)
    assert isinstance(found, ConversationAssigned)
    assert (found.contact, found.agent) == ("", name)


@pytest.mark.parametrize("event", ["conversation.opened", "conversation.assigned", "conversation.resolved"])
def test_a_conversation_may_be_all_that_is_named_but_something_is(event: str) -> None:
    found = read(body(event, {"conversation_id": 7}), NOW)
    assert isinstance(found, ConversationOpened | ConversationAssigned | HandoffClosed)
    assert (found.contact, found.conversation) == ("", "7")
    with pytest.raises(UnreadableEvent, match="neither a contact nor a conversation"):
        read(body(event, {"contact": "Ann"}), NOW)


# -- all of them

HOSTILE: list[Any] = [None, [], "x", 7, {"contact": [], "message": "m", "messages": 7, "tags": {}, "agent": []},
                      {"message_id": {"a": 1}, "phone": [1], "to": {"x": 1}, "conversation_id": [], "error": [[]]},
                      {"phone": "4915", "to": "4915", "conversation_id": "\ud800" * 500, "name": "\udfff", "error": 5,
                       "contact": {"phone": True, "name": {"x": 1}}, "tags": [None] * 10_000}]  # fmt: skip


@pytest.mark.parametrize("event", [*EVENTS, "message.status", "interactive_response", "message.received"])
@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_raises_but_what_says_why(event: str, data: Any) -> None:
    raw = body(event, data)
    assert envelope(raw).readable
    try:
        found = read(raw, NOW)
    except UnreadableEvent as error:
        assert "`data" in str(error)
    else:
        json.dumps(str(found)).encode()


@pytest.mark.parametrize(
    ("data", "kind", "text", "agent"),
    [
        ({}, None, None, None),
        ({"type": "text", "body": "Hello", "agent": {"id": 1, "name": "Ann"}}, "text", "Hello", "Ann"),
        ({"type": "text", "text": {"body": "Hello"}, "sent_by": "Ann"}, "text", "Hello", "Ann"),
        ({"message": {"type": "image", "content": "Hello", "user": {"email": "ann@x.example"}}}, "image", "Hello", "ann@x.example"),
        ({"template": {"name": "sale"}, "body": None, "sender": "4915"}, "template", None, None),
        ({"type": 5, "text": ["a"], "agent": [1], "message": "m", "user": {"name": {}}}, None, None, None),
    ],
)  # fmt: skip
def test_what_a_sent_message_says_of_itself_is_read_wherever_it_may_stand(
    data: dict[str, Any], kind: str | None, text: str | None, agent: str | None
) -> None:
    sent = status("message.sent", {"message_id": "m1", "to": "4915", "conversation_id": "c1", **data}).sent
    assert sent is not None
    assert (sent.kind, sent.text, sent.agent, sent.conversation) == (kind, text, agent, "c1")
