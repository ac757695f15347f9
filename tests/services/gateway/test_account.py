"""The account's endpoints: templates, contacts and webhooks, what goes out and what comes of it."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from bot.core.events import EVENTS
from bot.core.messages import TextMessage
from bot.services.gateway import gateway_account, gateway_answers
from bot.services.gateway.gateway_account import ContactInfo, Page, TemplateInfo, pages
from bot.services.gateway.gateway_answers import Rate
from bot.services.gateway.gateway_client import Gateway
from tests.services.gateway.peer import Answer, Peer, answer, peer, refused, reset


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as running:
        yield running


@pytest.fixture
def gateway(server: Peer) -> Gateway:
    return Gateway(server.url, "k3y")


def listing(*items: Any, has_more: Any = False, headers: dict[str, str] | None = None) -> Answer:
    meta = {"page": 1, "per_page": 100, "total": 1000, "has_more": has_more}
    return answer(200, {"success": True, "data": list(items), "meta": meta}, headers)


# -- templates


def test_the_template_list_is_one_request_without_a_body(server: Peer, gateway: Gateway) -> None:
    item = {"name": "order", "language": "en", "category": "UTILITY", "status": "APPROVED", "components": ["BODY"]}
    server.answers(answer(200, {"success": True, "data": [item]}, {"X-RateLimit-Remaining": "59"}))
    found = gateway.templates()
    assert list(found) == [TemplateInfo("order", "en", "UTILITY", "APPROVED", ("BODY",))]
    assert (found.has_more, found.rate.remaining) == (False, 59)
    (request,) = server.requests
    assert (request.path, request.raw) == ("/external-api/inbox/template-list", b"")
    assert request.headers["authorization"] == "Bearer k3y"
    assert request.headers["content-type"] == "application/json"


def test_a_template_needs_a_name_and_a_language_only(server: Peer, gateway: Gateway) -> None:
    server.answers(listing({"name": "a", "language": "en"}, {"name": "b"}, "c", {"name": "d", "language": 1}))
    assert list(gateway.chat_templates_page(3)) == [TemplateInfo("a", "en")]
    assert server.requests[0].path == "/external-api/chat/templates?page=3&per_page=100"


# -- pages


def test_contacts_come_page_by_page(server: Peer, gateway: Gateway) -> None:
    people = [{"id": n, "phone": f"49151{n}", "name": f"N{n}", "tags": ["a", "a", "b"]} for n in range(3)]
    server.answers(
        listing(*people[:2], has_more=True),
        listing(people[2]),
    )
    found = list(pages(gateway.contacts_page))
    assert [(c.id, c.phone, c.name, c.tags) for c in found] == [
        (str(n), f"49151{n}", f"N{n}", ("a", "b")) for n in range(3)
    ]
    assert [request.path for request in server.requests] == [
        f"/external-api/contacts?page={page}&per_page=100" for page in (1, 2)
    ]


def test_no_page_is_asked_for_before_it_is_needed(server: Peer, gateway: Gateway) -> None:
    server.answers(listing({"id": 1, "phone": "4915"}, has_more=True))
    assert next(pages(gateway.contacts_page)).phone == "4915"
    assert len(server.requests) == 1


def test_an_empty_page_ends_a_list_whatever_it_says(server: Peer, gateway: Gateway) -> None:
    server.answers(listing({"name": "a", "language": "en"}, has_more=True), listing(has_more=True))
    assert len(list(pages(gateway.chat_templates_page))) == 1


@pytest.mark.parametrize("more", [None, "true", 1])
def test_only_true_says_that_there_is_more(server: Peer, gateway: Gateway, more: Any) -> None:
    server.answers(listing({"id": 1, "phone": "4915"}, has_more=more))
    assert not gateway.contacts_page(1).has_more


def test_a_gateway_that_gives_the_same_page_for_ever_is_noticed(server: Peer, gateway: Gateway) -> None:
    server.by_default = listing({"id": 1, "phone": "4915"}, has_more=True)
    with pytest.raises(gateway_answers.EndlessList, match="pages 1 and 2 of the list are the same"):
        list(pages(gateway.contacts_page))


def test_a_list_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_account, "MOST_PAGES", 3)
    with pytest.raises(gateway_answers.EndlessList, match="more than 3 pages"):
        list(pages(lambda number: Page((number,), True, Rate())))


# -- contacts

STRANGE: list[tuple[Any, ContactInfo | None]] = [
    ({"phone": "+49 151"}, ContactInfo("", "49151")),
    ({"contact_id": 7, "phone": 49151, "name": " Ann\n\u202eB\0ee "}, ContactInfo("7", "49151", "Ann Bee")),
    ({"id": "x", "phone": "49151", "name": "+49151"}, ContactInfo("x", "49151")),
    ({"id": 1, "phone": "49151", "email": "a@b.example", "tags": ["x", 7, "", "x y\t"]},
     ContactInfo("1", "49151", None, "a@b.example", ("x", "x y"))),
    ({"id": 1, "phone": "49151", "tags": "vip", "custom_fields": {"size": 4}, "created_at": "2030-01-01T00:00:00Z"},
     ContactInfo("1", "49151", custom_fields={"size": 4}, created_at="2030-01-01T00:00:00Z")),
    ({"id": 1, "name": "Ann"}, None),
    ("Ann", None),
]  # fmt: skip


@pytest.mark.parametrize(("item", "expected"), STRANGE)
def test_a_contact_is_read_cleaned_or_left_out(
    server: Peer, gateway: Gateway, item: Any, expected: ContactInfo | None
) -> None:
    server.answers(listing(item))
    assert list(gateway.contacts_page(1)) == ([] if expected is None else [expected])


def test_names_and_tags_are_bounded(server: Peer, gateway: Gateway) -> None:
    item = {"phone": "49151", "name": "x" * 10_000, "email": "y" * 255, "tags": [f"{n:03}" * 99 for n in range(1000)]}
    server.answers(listing(item))
    (found,) = gateway.contacts_page(1)
    assert (len(found.name or ""), found.email, len(found.tags)) == (200, None, 500)
    assert max(map(len, found.tags)) == 200


def test_an_upsert_has_the_documented_fields(server: Peer, gateway: Gateway) -> None:
    server.answers(answer(200, {"success": True, "data": {"id": 12}}, {"X-RateLimit-Remaining": "5"}))
    put = gateway.put_contact("49151", "Ann", "ann@b.example", ("vip",))
    assert (put.id, put.rate.remaining) == ("12", 5)
    assert server.requests[0].path == "/external-api/contacts"
    assert server.requests[0].body == {"name": "Ann", "phone": "49151", "email": "ann@b.example", "tags": ["vip"]}


def test_what_is_not_known_of_a_contact_is_not_sent_and_no_tags_are_said_to_be_none(
    server: Peer, gateway: Gateway
) -> None:
    gateway.put_contact("49151", None, None, ())
    assert server.requests[0].body == {"phone": "49151", "tags": []}


def test_an_upsert_that_is_cut_off_can_be_repeated_and_a_registration_cannot(server: Peer, gateway: Gateway) -> None:
    server.answers(reset, answer(409, b""), reset)
    with pytest.raises(gateway_answers.OutcomeUnknown) as upsert:
        gateway.put_contact("49151", "Ann", None, ())
    with pytest.raises(gateway_answers.OutcomeUnknown):
        gateway.put_contact("49151", "Ann", None, ())
    with pytest.raises(gateway_answers.OutcomeUnknown) as registration:
        gateway.register_webhook("bot", "https://bot.example/webhook", EVENTS)
    assert (upsert.value.keyed, registration.value.keyed) == (True, False)


# -- webhooks


@pytest.mark.parametrize(
    "shown", ["a,b", "a b", "a\nBOT_GATEWAY_URL=https://evil.example", "\x1b]0;x\x07", "", 7, ["x"], "é", "x" * 513]
)
def test_a_secret_that_could_not_be_set_is_as_good_as_not_shown(server: Peer, gateway: Gateway, shown: object) -> None:
    server.answers(
        answer(201, {"success": True, "data": {"secret": shown, "events": ["message.inbound", 7, "\x1b[2J"]}})
    )
    made = gateway.register_webhook("bot", "https://bot.example/webhook", EVENTS)
    assert (made.secret, made.events) == (None, ("message.inbound", "[2J"))


def test_custom_fields_that_are_nested_without_end_are_none(server: Peer, gateway: Gateway) -> None:
    deep = json.loads("[" * 500 + "]" * 500)
    contacts = [{"id": 1, "phone": "6281234567890", "custom_fields": {"deep": deep}}]
    server.answers(answer(200, {"success": True, "data": contacts, "meta": {"has_more": False}}))
    (contact,) = gateway.contacts_page(1)
    assert contact.custom_fields == {}


def test_a_refusal_that_quotes_the_key_or_commands_a_terminal_is_shown_without_them(server: Peer) -> None:
    server.answers(refused("x\x1b[2J", 400, "sk-mine\n\x1b]0;x\x07 is wrong", hint="sk-mine\x07"))
    with pytest.raises(gateway_answers.GatewayRefused) as error:
        Gateway(server.url, "sk-mine").contacts_page(1)
    assert "[key] ]0;x is wrong (hint: [key])" in str(error.value)
    assert str(error.value).isprintable()


def test_a_short_key_is_taken_out_of_a_refusal_only_where_it_stands_alone(server: Peer) -> None:
    server.answers(
        refused("x", 400, "k is no key that is taken"),
        answer(200, {"success": True, "data": [{"id": 7, "phone": "6281234567890", "name": "kiosk"}]}),
    )
    gateway = Gateway(server.url, "k")
    with pytest.raises(gateway_answers.GatewayRefused) as error:
        gateway.contacts_page(1)
    assert error.value.message == "[key] is no key that is taken"
    (contact,) = gateway.contacts_page(1)
    assert contact.name == "kiosk"


def test_a_registration_shows_its_secret_once_and_not_in_its_repr(server: Peer, gateway: Gateway) -> None:
    data = {"id": 3, "name": "bot", "url": "https://bot.example/webhook", "events": ["message.inbound"],
            "secret": "whs3c", "is_active": True, "created_at": "2030-01-01T00:00:00Z"}  # fmt: skip
    server.answers(answer(201, {"success": True, "message": "Webhook created", "data": data}))
    made = gateway.register_webhook("bot", "https://bot.example/webhook", ["message.inbound"], "mine")
    assert (made.id, made.events, made.secret, made.is_active) == ("3", ("message.inbound",), "whs3c", True)
    assert made.created_at == "2030-01-01T00:00:00Z"
    assert "whs3c" not in repr(made)
    assert server.requests[0].path == "/external-api/v1/webhooks"
    assert server.requests[0].body == {
        "name": "bot",
        "url": "https://bot.example/webhook",
        "events": ["message.inbound"],
        "secret": "mine",
    }


def test_a_bare_registration_is_as_it_was_asked_for(server: Peer, gateway: Gateway) -> None:
    server.answers(answer(200, {"success": True, "data": {"id": 3}}))
    made = gateway.register_webhook("bot", "https://bot.example/webhook", EVENTS, "mine")
    assert (made.name, made.url, made.events, made.secret) == ("bot", "https://bot.example/webhook", EVENTS, "mine")
    assert "secret" in server.requests[0].body
    assert len(EVENTS) == len(set(EVENTS)) == 11


# -- what all of them share


@pytest.mark.parametrize("status", [200, 429])
def test_every_answer_tells_of_the_limits(server: Peer, gateway: Gateway, status: int) -> None:
    error = {"code": "RATE_LIMIT_EXCEEDED", "message": "wait"}
    body = {"success": False, "error": error} if status == 429 else {"success": True, "data": []}
    server.by_default = answer(status, body, {"Retry-After": "7", "X-RateLimit-Remaining": "0"})
    for call in (
        gateway.templates,
        lambda: gateway.contacts_page(1),
        lambda: gateway.chat_templates_page(1),
        lambda: gateway.put_contact("49", "A", None, ()),
        lambda: gateway.register_webhook("a", "https://b.example", ()),
    ):
        try:
            rate = call().rate
        except gateway_answers.GatewayRateLimited as limited:
            rate = limited.rate
        assert (rate.remaining, rate.retry_after) == (0, timedelta(seconds=7))


def test_null_is_an_empty_list(server: Peer, gateway: Gateway) -> None:
    server.answers(answer(200, {"success": True, "data": None, "meta": []}))
    assert list(gateway.contacts_page(1)) == []


def test_a_full_page_that_does_not_say_whether_more_follow_is_not_the_last(server: Peer, gateway: Gateway) -> None:
    full = [{"id": number, "phone": f"62810000{number:05}"} for number in range(100)]
    server.answers(answer(200, {"success": True, "data": full}), answer(200, {"success": True, "data": full[:99]}))
    assert [gateway.contacts_page(number).has_more for number in (1, 2)] == [True, False]


@pytest.mark.parametrize("data", [{}, "x", 7])
def test_an_answer_without_a_list_does_not_say_that_there_is_nothing(server: Peer, gateway: Gateway, data: Any) -> None:
    server.answers(answer(200, {"success": True, "data": data, "meta": []}))
    with pytest.raises(gateway_answers.NotTheGateway):
        gateway.contacts_page(1)


# -- channels


def test_a_message_goes_by_the_channel_that_the_contact_writes_to(server: Peer) -> None:
    gateway = Gateway(server.url, "k", "main", channels={"6281111": "ch_1", "6282222": "ch_2"})
    for channel in ("6281111", "6282222", "6283333", None):
        gateway.send("4915", TextMessage("Hi"), "key", channel)
    assert [request.body["channel_id"] for request in server.requests] == ["ch_1", "ch_2", "main", "main"]


def test_without_any_channel_none_is_named(server: Peer, gateway: Gateway) -> None:
    gateway.send("4915", TextMessage("Hi"), "key", "6281111")
    assert "channel_id" not in server.requests[0].body


def test_a_channel_that_is_needed_and_not_named_is_a_matter_of_the_account(server: Peer, gateway: Gateway) -> None:
    server.answers(refused("VALIDATION_MISSING_FIELD", 422, field="channel_id"))
    with pytest.raises(gateway_answers.ChannelNotFound, match="BOT_CHANNEL_ID"):
        gateway.send("4915", TextMessage("Hi"), "key")


@pytest.mark.parametrize(
    ("contact", "alias"),
    [({"input": "4915", "chat_id": "4916"}, "4916"), ({"input": "4915", "chat_id": "+4915"}, None),
     ({"input": "4915"}, None), ({"chat_id": "you"}, None), ("4916", None)],
)  # fmt: skip
def test_a_result_may_call_the_contact_by_another_number(
    server: Peer, gateway: Gateway, contact: Any, alias: str | None
) -> None:
    data = {"contacts": [contact], "messages": [{"id": "m1", "message_status": "queued"}]}
    server.answers(answer(200, json.dumps({"success": True, "data": data}).encode()))
    sent = gateway.send("4915", TextMessage("Hi"), "key")
    assert (sent.alias, sent.status, sent.message_ids) == (alias, "queued", ("m1",))
