"""The whole client and the whole event list against the emulator, which was written from the specification alone."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.core import events
from bot.core.clock import MovableClock
from bot.core.messages import TemplateMessage, TextMessage
from bot.services.gateway import gateway_answers, gateway_client, webhook_events
from bot.services.gateway.gateway_account import pages
from bot.services.gateway.gateway_answers import GatewayRefused
from bot.services.gateway.gateway_client import Gateway
from bot.services.gateway.webhook_events import read
from bot.testing.emulator import API_KEY, Emulator, MessageTemplate, TemplateButton
from bot.testing.emulator.endpoints import ENDPOINTS
from bot.testing.emulator.event_payloads import EVENTS
from bot.testing.emulator.request_rules import CODES
from tests.services.gateway.peer import Peer, peer

NOON = datetime(2030, 5, 12, 12, tzinfo=UTC)
ANN = "491510000001"


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(MovableClock(NOON), per_minute=10_000) as running:
        running.open_window(ANN)
        yield running
        assert running.unknown_fields == set()


@pytest.fixture
def gateway(emulator: Emulator) -> Gateway:
    return Gateway(emulator.url, API_KEY)


def test_the_client_knows_every_endpoint_event_and_code_of_the_emulator_and_no_other() -> None:
    paths = {endpoint.path for listed in gateway_client.ENDPOINTS.values() for endpoint in listed}
    paths |= {
        gateway_client.TEMPLATE_LIST,
        gateway_client.CHAT_TEMPLATES,
        gateway_client.CONTACTS,
        gateway_client.WEBHOOKS,
    }
    assert paths == {f"/external-api{path}" for _, path in ENDPOINTS}
    assert events.EVENTS == EVENTS
    assert set(EVENTS) | {"message.queued", webhook_events.STATUS} == set(webhook_events.MEANINGS)
    assert set(gateway_answers.BY_CODE) == set(CODES)


# -- lists


def test_every_contact_is_listed_once_over_all_pages(emulator: Emulator, gateway: Gateway) -> None:
    for n in range(2, 252):
        gateway.put_contact(f"4915100{n:05}", f"N{n}", None, [f"t{n}"])
    found = list(pages(gateway.contacts_page))
    assert len(found) == len({contact.phone for contact in found}) == 251
    assert (found[7].name, found[7].tags) == ("N8", ("t8",))
    assert found[0].name is None  # the emulator, too, calls a contact without a name by its number


def test_both_lists_of_templates_show_the_same(emulator: Emulator, gateway: Gateway) -> None:
    button = TemplateButton("url", "Open", "https://a.example/{{1}}")
    emulator.templates.add(
        MessageTemplate("order", "en", "Hello {{1}}", header="Order", footer="Bye", buttons=(button,), status="PAUSED"),
        MessageTemplate("order", "id", "Halo"),
    )
    found = list(gateway.templates())
    assert list(pages(gateway.chat_templates_page)) == found
    assert [(item.name, item.language, item.status) for item in found] == [
        ("order", "en", "PAUSED"),
        ("order", "id", "APPROVED"),
    ]
    assert found[0].components == ("HEADER", "BODY", "FOOTER", "BUTTONS")


# -- contacts


def test_an_upsert_without_a_name_leaves_the_name_or_is_refused_with_its_reason(
    emulator: Emulator, gateway: Gateway
) -> None:
    gateway.put_contact(ANN, "Ann", None, [])
    with pytest.raises(GatewayRefused, match="name is required"):
        gateway.put_contact(ANN, None, "ann@a.example", ["handoff:sales"])
    emulator.behaviour.contact_name = "optional"
    gateway.put_contact(ANN, None, "ann@a.example", ["handoff:sales"])
    (found,) = gateway.contacts_page(1)
    assert (found.name, found.email, found.tags) == ("Ann", "ann@a.example", ("handoff:sales",))


def test_an_upsert_says_which_contact_it_was(gateway: Gateway) -> None:
    first = gateway.put_contact("491510000002", "Bob", None, [])
    again = gateway.put_contact("+491510000002", "Bobby", None, [])
    assert first.id == again.id != ""


# -- webhooks


def test_a_webhook_is_registered_and_its_secret_signs(emulator: Emulator, gateway: Gateway) -> None:
    made = gateway.register_webhook("bot", "https://bot.example/webhook", events.EVENTS)
    kept = gateway.register_webhook("bot", "https://bot.example/webhook", ["message.inbound"], "mine")
    assert (made.is_active, len(made.events), len(made.secret or "") > 20) == (True, 11, True)
    assert (kept.secret, kept.events, kept.id != made.id) == ("mine", ("message.inbound",), True)
    assert [webhook.secret for webhook in emulator.webhooks.registered] == [made.secret, "mine"]


@pytest.mark.parametrize(
    ("url", "events_", "code"),
    [
        ("http://bot.example", EVENTS, "VALIDATION_INVALID_URL"),
        ("https://bot.example", (), "VALIDATION_MISSING_FIELD"),
    ],
)
def test_a_registration_that_cannot_be_is_refused(
    gateway: Gateway, url: str, events_: tuple[str, ...], code: str
) -> None:
    with pytest.raises(gateway_answers.GatewayRefused) as refused:
        gateway.register_webhook("bot", url, events_)
    assert refused.value.code == code


# -- channels and aliases


def test_several_channels_need_a_name_and_are_told_apart(emulator: Emulator) -> None:
    channels = {"15550000001": "channel-1", "15550000002": "channel-2"}
    with Emulator(MovableClock(NOON), channels={id: number for number, id in channels.items()}) as several:
        several.open_window(ANN)
        gateway = Gateway(several.url, API_KEY, channels=channels)
        gateway.send(ANN, TextMessage("a"), "k1", "15550000002")
        with pytest.raises(gateway_answers.ChannelNotFound):
            gateway.send(ANN, TextMessage("b"), "k2", None)
        Gateway(several.url, API_KEY, "channel-1", channels=channels).send(ANN, TextMessage("c"), "k3")
        assert [sent.channel_id for sent in several.sent] == ["channel-2", "channel-1"]


def test_an_alias_is_told_by_the_result_of_a_template(emulator: Emulator, gateway: Gateway) -> None:
    emulator.templates.add(MessageTemplate("hi", body="Hello"))
    emulator.behaviour.aliases[ANN] = "5215500001"
    emulator.behaviour.send_message_refuses = emulator.behaviour.chat_messages_refuses = frozenset({"template"})
    for _ in range(2):
        with pytest.raises(gateway_answers.EndpointRefused):
            gateway.send(ANN, TemplateMessage("hi", "en"), "k")
    assert gateway.send(ANN, TemplateMessage("hi", "en"), "k").alias == "5215500001"


# -- every kind of parameter

LINK = "https://shop.example/file"
PARAMETERS: list[tuple[str, dict[str, Any]]] = [
    ("", {"type": "text", "text": "17"}),
    ("", {"type": "currency", "currency": {"fallback_value": "$5", "code": "USD", "amount_1000": 5000}}),
    ("", {"type": "date_time", "date_time": {"fallback_value": "May 12"}}),
    ("image", {"type": "image", "image": {"link": f"{LINK}.png"}}),
    ("image", {"type": "image", "image": {"id": "upload-7"}}),
    ("video", {"type": "video", "video": {"link": f"{LINK}.mp4"}}),
    ("document", {"type": "document", "document": {"link": f"{LINK}.pdf"}}),
    ("location", {"type": "location", "location": {"latitude": 1.5, "longitude": 2, "name": "A", "address": "B"}}),
]


@pytest.mark.parametrize(("media", "header"), PARAMETERS, ids=lambda value: str(value)[:40])
def test_a_template_takes_every_kind_of_parameter(
    emulator: Emulator, gateway: Gateway, media: Any, header: dict[str, Any]
) -> None:
    buttons = (TemplateButton("quick_reply", "Yes"), TemplateButton("url", "Open", "https://a.example/{{1}}"))
    emulator.templates.add(
        MessageTemplate(
            "all", "en", "{{1}} {{2}} {{3}}", header="" if media else "No {{1}}", header_media=media, buttons=buttons
        )
    )
    body = tuple(parameter for kind, parameter in PARAMETERS if not kind)
    sent = gateway.send(ANN, TemplateMessage("all", "en", header, body, ("yes-17",), ((1, "AB1"),)), "k")
    assert sent.message_ids
    assert [choice.id for choice in emulator.shown(ANN)] == ["yes-17"]


# -- every event


def tell(emulator: Emulator, receiver: Peer, do: Any) -> Any:
    """What the event means that this makes the gateway tell of."""
    before = len(receiver.requests)
    do()
    receiver.wait_for_requests(before + 1)
    return read(receiver.requests[-1].raw, NOON)


@pytest.fixture
def receiver(emulator: Emulator) -> Iterator[Peer]:
    with peer() as running:
        emulator.subscribe(running.url + "/webhook")
        yield running


@pytest.mark.parametrize("shape", ["flat", "nested", "bare"])
@pytest.mark.parametrize("sample_names", [True, False])
@pytest.mark.parametrize("carried", ["messageId", "chatMessageId"])
def test_each_status_finds_its_message_in_every_shape(
    emulator: Emulator, gateway: Gateway, receiver: Peer, shape: Any, sample_names: bool, carried: Any
) -> None:
    emulator.behaviour.status_payload, emulator.behaviour.status_id = shape, carried
    emulator.behaviour.sample_code_names = sample_names
    sent = gateway.send(ANN, TextMessage("Hi"), "k")
    for name in ("sent", "delivered", "read", "failed"):
        found = tell(emulator, receiver, lambda name=name: emulator.status(sent.message_ids[0], name))
        assert isinstance(found, events.StatusReported)
        assert (found.status, set(found.messages) <= set(sent.message_ids), bool(found.messages)) == (name, True, True)
        assert found.contact == ("" if shape == "bare" else ANN)
        assert found.detail.startswith("WHATSAPP_SEND_FAILED: The message was not") is (name == "failed")


@pytest.mark.parametrize("plus", [True, False])
def test_contacts_and_conversations_are_understood(emulator: Emulator, receiver: Peer, plus: bool) -> None:
    emulator.behaviour.plus_in_events = plus
    emulator.behaviour.companion_events = True
    edited = tell(emulator, receiver, lambda: emulator.edit(ANN, name="Ann", email="a@a.example", tags=["vip"]))
    assert edited == events.ContactChanged(
        edited.id, ANN, NOON, "contact.updated", "Ann", "a@a.example", ("vip",), True, "id:1"
    )
    assigned = tell(emulator, receiver, lambda: emulator.assign(ANN, "Bea"))
    conversation = "conv_1"
    assert assigned == events.ConversationAssigned(assigned.id, ANN, NOON, conversation, "Ann", "Bea", NOON)
    resolved = tell(emulator, receiver, lambda: emulator.resolve(ANN))
    assert resolved == events.HandoffClosed(resolved.id, ANN, NOON, conversation, occurred_at=NOON)
    emulator.receive("491510000002", "Hi")
    receiver.wait_for_requests(6)
    created, opened, inbound = [read(request.raw, NOON) for request in receiver.requests[3:]]
    assert isinstance(created, events.ContactChanged)
    assert isinstance(opened, events.ConversationOpened)
    assert isinstance(inbound, events.MessageReceived)
    new = inbound.contact
    assert created == events.ContactChanged(
        created.id, new, NOON, "contact.created", None, None, (), True, created.alias
    )
    assert opened == events.ConversationOpened(opened.id, new, NOON, inbound.conversation, None)
