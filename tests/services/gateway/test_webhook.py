"""The webhook's deliveries: which are genuine, and what each means."""

import hashlib
import hmac
import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import values
from bot.core.events import HandoffClosed, MessageReceived, Tapped
from bot.core.values import Location, Media
from bot.services.gateway.webhook_events import Envelope, UnreadableEvent, Verdict, envelope, read, verify

NOW = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)
STAMP = str(int(NOW.timestamp()))
FIVE_MINUTES = timedelta(minutes=5)
RAW = b'{"id":"e1","event":"message.inbound","data":{}}'


def sign(raw: bytes, secret: str = "s3cret", timestamp: str = STAMP) -> str:
    return hmac.new(secret.encode(), timestamp.encode() + b"." + raw, hashlib.sha256).hexdigest()


def verdict(
    signature: str | None, timestamp: str | None = STAMP, raw: bytes = RAW, secrets: tuple[str, ...] = ("s3cret",)
) -> Verdict:
    return verify(secrets, timestamp, signature, raw, NOW, FIVE_MINUTES)


def body(event: str, data: Any, **fields: Any) -> bytes:
    return json.dumps({"id": "evt_1", "event": event, "timestamp": int(STAMP) - 60, "data": data, **fields}).encode()


def inbound(**data: Any) -> MessageReceived:
    event = read(body("message.inbound", {"from": "+4915112345678", "type": "text", **data}), NOW)
    assert isinstance(event, MessageReceived)
    return event


# -- signatures


def test_a_right_signature_is_genuine_with_its_prefix_or_bare() -> None:
    assert verdict("sha256=" + sign(RAW)) is Verdict.GENUINE
    assert verdict(sign(RAW)) is Verdict.GENUINE
    assert verdict(sign(RAW).upper()) is Verdict.GENUINE


def test_any_of_several_secrets_will_do() -> None:
    for secret in ("new", "old"):
        assert verdict(sign(RAW, secret), secrets=("new", "old")) is Verdict.GENUINE
    assert verdict(sign(RAW, "older"), secrets=("new", "old")) is Verdict.FORGED


def test_an_empty_secret_opens_nothing() -> None:
    assert verdict(sign(RAW, ""), secrets=("",)) is Verdict.FORGED
    assert verdict(sign(RAW, ""), secrets=()) is Verdict.FORGED


@pytest.mark.parametrize(
    "signature",
    [
        "sha256=",
        "0" * 64,
        "sha256=" + "0" * 63,
        "sha256=zz",
        "sha1=" + "0" * 40,
        "\u00e9" * 64,
        "\ud800",
        "sha256=" * 9,
    ],
)
def test_any_other_signature_is_forged(signature: str) -> None:
    assert verdict(signature) is Verdict.FORGED


def test_a_changed_body_or_timestamp_is_forged() -> None:
    assert verdict(sign(RAW), raw=RAW + b" ") is Verdict.FORGED
    assert verdict(sign(RAW), timestamp=str(int(STAMP) + 1)) is Verdict.FORGED


@pytest.mark.parametrize("timestamp", [None, "", "now", "1.5", "-1", "9" * 5000, "\u0661\u0662"])
def test_a_timestamp_that_is_no_number_is_malformed(timestamp: str | None) -> None:
    assert verdict(sign(RAW), timestamp=timestamp) is Verdict.MALFORMED


def test_a_missing_signature_is_malformed() -> None:
    assert verdict(None) is Verdict.MALFORMED
    assert verdict("") is Verdict.MALFORMED


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(300, Verdict.GENUINE), (-300, Verdict.GENUINE), (301, Verdict.STALE), (-301, Verdict.STALE)],
)
def test_a_timestamp_may_be_five_minutes_off_either_way(seconds: int, expected: Verdict) -> None:
    timestamp = str(int(STAMP) + seconds)
    assert verdict(sign(RAW, timestamp=timestamp), timestamp) is expected


@pytest.mark.parametrize("header", [f"{STAMP} ", f" {STAMP}", f"\t{STAMP}\t ", STAMP])
@pytest.mark.parametrize("signed", ["with", "without"])
def test_white_space_around_a_timestamp_says_nothing_whether_it_is_signed_or_not(header: str, signed: str) -> None:
    signature = sign(RAW, timestamp=header if signed == "with" else STAMP)
    assert verdict(signature, header) is Verdict.GENUINE
    assert verdict(sign(RAW, timestamp=f"{STAMP} "), STAMP) is Verdict.GENUINE, "a server on the way took it out"
    assert verdict(sign(RAW, timestamp="1"), header) is Verdict.FORGED
    late = f"{int(STAMP) - 301} "
    assert verdict(sign(RAW, timestamp=late), late) is Verdict.STALE


def test_a_stale_forgery_is_a_forgery() -> None:
    assert verdict(sign(RAW), timestamp="1") is Verdict.FORGED


# -- envelopes


def test_an_envelope_tells_what_to_file_a_body_under() -> None:
    raw = body("message.inbound", {"from": "+4915112345678"})
    assert envelope(raw) == Envelope("evt_1", "message.inbound", "4915112345678", True, None)


@pytest.mark.parametrize(
    ("alias", "name"),
    [("message.received", "message.inbound"), ("interactive_response", "message.interactive_reply")],
)
def test_names_of_the_sample_code_are_aliases(alias: str, name: str) -> None:
    assert envelope(body(alias, {})).event == name


def test_the_contact_of_a_conversation_event_is_known() -> None:
    assert envelope(body("conversation.opened", {"contact": {"id": 1, "phone": "4915"}})).contact == "4915"


@pytest.mark.parametrize("value", [None, "", "x" * 101, "a\0b", "\ud800", {}, [], True, 1.5])
def test_an_unusable_id_is_replaced_by_the_hash_of_the_body(value: Any) -> None:
    raw = body("message.inbound", {}, id=value)
    assert envelope(raw).id == "sha256:" + hashlib.sha256(raw).hexdigest()
    assert envelope(raw).readable


def test_a_number_as_id_is_taken() -> None:
    assert envelope(body("message.inbound", {}, id=17)).id == "17"


INBOUND = {"message_id": "m1", "from": "4915", "to": "628000", "type": "text", "body": "hi", "timestamp": 1}
TAPPED = {
    "message_id": "m1",
    "from": "4915",
    "timestamp": 1,
    "interactive": {"type": "button", "button": {"id": "a", "title": "A"}},
}
OTHER_TAP = {"type": "button", "button": {"id": "b", "title": "B"}}


def message_of(event: str, data: dict[str, Any], id: str = "e1") -> str | None:
    return envelope(body(event, data, id=id)).message


@pytest.mark.parametrize(
    ("event", "data", "same"),
    [
        ("message.inbound", INBOUND, INBOUND),
        ("message.inbound", INBOUND, {**INBOUND, "from": "+4915", "timestamp": 2, "conversation_id": "c1"}),
        ("message.interactive_reply", TAPPED, TAPPED),
    ],
)
def test_two_events_of_one_message_have_that_in_common(event: str, data: dict[str, Any], same: dict[str, Any]) -> None:
    assert message_of(event, data) == message_of(event, same, id="e2") is not None
    assert message_of({"message.inbound": "message.received"}.get(event, "interactive_response"), same) == message_of(
        event, data
    )


@pytest.mark.parametrize(
    ("event", "data", "other"),
    [
        ("message.inbound", INBOUND, {**INBOUND, "from": "4916"}),
        ("message.inbound", INBOUND, {**INBOUND, "to": "628001"}),
        ("message.inbound", INBOUND, {**INBOUND, "body": "bye"}),
        ("message.inbound", INBOUND, {**INBOUND, "message_id": "m2"}),
        ("message.interactive_reply", TAPPED, {**TAPPED, "from": "4916"}),
        ("message.interactive_reply", TAPPED, {**TAPPED, "timestamp": 2}),
        ("message.interactive_reply", TAPPED, {**TAPPED, "interactive": OTHER_TAP}),
    ],
)
def test_an_id_that_stands_for_another_message_elsewhere_or_later_is_another_message(
    event: str, data: dict[str, Any], other: dict[str, Any]
) -> None:
    assert message_of(event, data) != message_of(event, other)


@pytest.mark.parametrize("event", ["message.sent", "message.delivered", "message.failed", "contact.created", "x"])
def test_events_that_are_no_message_have_no_message_in_common(event: str) -> None:
    assert message_of(event, INBOUND) is None
    assert message_of("message.inbound", {**INBOUND, "message_id": None}) is None


HOSTILE = {
    "nothing": b"",
    "no JSON": b"hello",
    "cut": b'{"id":"e1","event":"mess',
    "no object": b"[1, 2]",
    "no UTF-8": b'{"id":"\xff"}',
    "NUL": b"\0\0\0",
    "deep list": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "huge integer": b'{"id":' + b"9" * 100_000 + b"}",
    "no event": b'{"id":"e1"}',
    "event of a strange type": b'{"id":"e1","event":["message.inbound"],"data":7}',
    "a byte order mark": b'\xef\xbb\xbf{"id":"e1","event":"message.inbound"}',
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_an_unreadable_body_is_filed_and_means_nothing(raw: bytes) -> None:
    filed = envelope(raw)
    assert not filed.readable
    assert filed.id
    assert read(raw, NOW) is None


def test_of_duplicate_keys_the_last_counts() -> None:
    assert envelope(b'{"id":"a","id":"b","event":"x"}').id == "b"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ("from", "to", "type", "body", "media_url", "timestamp", "interactive", "contact", "location", "latitude")
shapes = st.dictionaries(st.sampled_from(FIELDS), json_values | st.dictionaries(st.sampled_from(FIELDS), json_values))


@given(
    event=st.sampled_from(["message.inbound", "message.interactive_reply", "conversation.resolved"]) | json_values,
    data=shapes | json_values,
    rest=st.fixed_dictionaries({"id": json_values, "timestamp": json_values}),
)
def test_whatever_is_signed_can_be_read_and_stored(event: Any, data: Any, rest: dict[str, Any]) -> None:
    raw = json.dumps({**rest, "event": event, "data": data}).encode()
    envelope(raw).id.encode()
    with suppress(UnreadableEvent):
        meaning = read(raw, NOW)
        values.dumps(meaning).encode()
        assert "\\u0000" not in values.dumps(meaning)


@given(st.binary())
def test_whatever_bytes_come_are_filed(raw: bytes) -> None:
    assert envelope(raw).id
    with suppress(UnreadableEvent):
        read(raw, NOW)


# -- messages


def test_a_text_is_read() -> None:
    event = inbound(body="hello", to="+4930123", message_id="m1", conversation_id="c1")
    assert event == MessageReceived(
        "evt_1", "4915112345678", NOW, NOW - timedelta(minutes=1), "text", "hello", None, None, "4930123", "c1", "m1"
    )


def test_a_contact_is_digits_whatever_stands_between_them() -> None:
    assert inbound(**{"from": "+49 (151) 123-45678"}).contact == "4915112345678"
    assert inbound(**{"from": 4915112345678}).contact == "4915112345678"


@pytest.mark.parametrize("number", [None, "", "unknown", "+", "49x", "1" * 16, True, ["49"]])
def test_a_message_from_nobody_cannot_be_read(number: Any) -> None:
    with pytest.raises(UnreadableEvent, match="no phone number"):
        read(body("message.inbound", {"from": number, "body": "x"}), NOW)


@pytest.mark.parametrize("kind", ["image", "audio", "video", "document"])
def test_media_comes_with_its_caption_and_is_no_text(kind: str) -> None:
    event = inbound(type=kind, media_url="https://gateway.example/f", body="look")
    assert (event.kind, event.media, event.text) == (kind, Media(kind, "https://gateway.example/f", "look"), None)


def test_media_without_an_address_is_no_media() -> None:
    assert inbound(type="image", media_url=None, body=None).media is None


def test_a_signed_address_may_be_long_and_an_endless_one_is_none() -> None:
    link = "https://files.example/f?signature=".ljust(8000, "x")
    assert inbound(type="image", media_url=link).media == Media("image", link, None)
    assert inbound(type="image", media_url=link + "x").media is None


def test_a_sticker_and_an_unknown_type_without_words_keep_their_kind_and_are_no_text() -> None:
    assert (inbound(type="sticker", body="x").kind, inbound(type="sticker", body="x").text) == ("sticker", None)
    for words in (None, "", " "):
        assert (inbound(type="hologram", body=words).kind, inbound(type="hologram", body=words).text) == (
            "hologram",
            None,
        )


@pytest.mark.parametrize("kind", ["hologram", "Text", "button"])
def test_an_unknown_type_with_words_is_a_text(kind: str) -> None:
    event = inbound(type=kind, body="Tea, please")
    assert (event.kind, event.text, event.is_heard) == ("text", "Tea, please", True)


@pytest.mark.parametrize("kind", ["reaction", "Edited", "revoked", "system", "poll_update", "unsupported"])
@pytest.mark.parametrize("words", [None, "\N{THUMBS UP SIGN}"])
def test_a_reaction_and_the_like_are_not_heard_whatever_their_words(kind: str, words: str | None) -> None:
    event = inbound(type=kind, body=words)
    assert (event.kind, event.text, event.is_heard) == (kind.lower(), None, False)


@pytest.mark.parametrize(
    "place",
    [{"location": {"latitude": 52.5, "longitude": 13}}, {"latitude": 52.5, "longitude": 13}],
    ids=["object", "flat"],
)
def test_a_locations_coordinates_are_taken_if_they_are_there(place: dict[str, Any]) -> None:
    event = inbound(type="location", body="Berlin", **place)
    assert (event.location, event.text) == (Location(52.5, 13.0), None)


def test_a_location_without_coordinates_is_its_body() -> None:
    assert (inbound(type="location", body="Berlin").location, inbound(type="location", body="Berlin").text) == (
        None,
        "Berlin",
    )


@pytest.mark.parametrize("latitude", [91, -90.5, "52", True, None, float("nan"), 10**400])
def test_impossible_coordinates_are_none(latitude: Any) -> None:
    assert inbound(type="location", latitude=latitude, longitude=1).location is None


def test_text_is_cleaned_and_bounded() -> None:
    assert inbound(body="a\0b").text == "ab"
    assert inbound(body="a\ud800b").text == "a\ufffdb"
    assert inbound(body="\U0001f600").text == "\U0001f600"
    assert len(inbound(body="x" * 100_000).text or "") == 64 * 1024


# -- time


def test_the_messages_own_time_counts_then_the_envelopes_then_the_arrival() -> None:
    assert inbound(timestamp=int(STAMP) - 3600).sent_at == NOW - timedelta(hours=1)
    assert inbound().sent_at == NOW - timedelta(minutes=1)
    raw = json.dumps({"id": "e", "event": "message.inbound", "data": {"from": "49"}}).encode()
    event = read(raw, NOW)
    assert isinstance(event, MessageReceived)
    assert event.sent_at == NOW


@pytest.mark.parametrize("stamp", [int(STAMP) + 1, 10**15, 10**400, float("inf")])
def test_a_time_in_the_future_is_the_arrival(stamp: Any) -> None:
    assert inbound(timestamp=stamp).sent_at == NOW


@pytest.mark.parametrize("stamp", [0, -5, "soon", True, None, float("nan"), []])
def test_what_is_no_time_is_passed_over(stamp: Any) -> None:
    assert inbound(timestamp=stamp).sent_at == NOW - timedelta(minutes=1)


# -- taps


@pytest.mark.parametrize(
    "interactive",
    [
        {"type": "button", "button": {"id": "r1", "title": "Yes"}},
        {"type": "list", "list_reply": {"id": "r1", "title": "Yes"}},
    ],
    ids=["button", "list"],
)
def test_a_tap_is_read(interactive: dict[str, Any]) -> None:
    data = {"from": "+4915", "message_id": "m1", "timestamp": int(STAMP) - 5, "interactive": interactive}
    expected = Tapped("evt_1", "4915", NOW, NOW - timedelta(seconds=5), "r1", "Yes", "m1")
    assert read(body("message.interactive_reply", data), NOW) == expected
    assert read(body("interactive_response", data), NOW) == expected


def tap(**choice: Any) -> Any:
    return read(body("message.interactive_reply", {"from": "49", "interactive": {"button": choice}}), NOW)


def test_a_tap_needs_an_id_or_a_title() -> None:
    assert (tap(id="r1").reply, tap(id="r1").title) == ("r1", "")
    assert (tap(title="Yes").reply, tap(title="Yes").title) == ("", "Yes")
    with pytest.raises(UnreadableEvent, match="neither the id nor the title"):
        tap()


# -- the rest


def test_a_resolved_conversation_closes_a_handoff() -> None:
    data = {"conversation_id": "c1", "contact": {"id": 1, "phone": "+4915", "name": "Ann"}}
    occurred_at = NOW - timedelta(minutes=1)
    closed = HandoffClosed("evt_1", "4915", NOW, "c1", occurred_at=occurred_at)
    assert read(body("conversation.resolved", data), NOW) == closed


@pytest.mark.parametrize("stamp", [None, "soon", 1e300, (NOW + timedelta(days=9)).timestamp()])
def test_a_time_that_cannot_be_is_none(stamp: object) -> None:
    raw = json.loads(body("conversation.resolved", {"conversation_id": 7})) | {"timestamp": stamp}
    closed = read(json.dumps(raw).encode(), NOW)
    assert isinstance(closed, HandoffClosed) and closed.occurred_at is None


def test_a_resolved_conversation_may_name_no_contact() -> None:
    closed = read(body("conversation.resolved", {"conversation_id": 7}), NOW)
    assert isinstance(closed, HandoffClosed) and (closed.contact, closed.conversation) == ("", "7")
    with pytest.raises(UnreadableEvent, match="neither a contact nor a conversation"):
        read(body("conversation.resolved", {}), NOW)


@pytest.mark.parametrize("event", ["message.edited", "contact.deleted", "conversation.closed", "new"])
def test_other_events_mean_nothing_to_a_session(event: str) -> None:
    assert envelope(body(event, {"from": "49"})).readable
    assert read(body(event, {"from": "49", "body": "x"}), NOW) is None


@pytest.mark.parametrize(
    ("kind", "link", "type_"),
    [
        ("image", "https://gateway.example/f/1.jpg", "image/jpeg"),
        ("image", "https://gateway.example/f/1.JPEG?key=1", "image/jpeg"),
        ("document", "https://gateway.example/f/1.pdf#2", "application/pdf"),
        ("document", "https://gateway.example/f/1.jpg", None),
        ("image", "https://gateway.example/f.jpg/1", None),
        ("image", "https://gateway.example", None),
    ],
)
def test_the_ending_of_its_address_may_say_the_type_of_a_file(kind: str, link: str, type_: str | None) -> None:
    assert inbound(type=kind, media_url=link).media == Media(kind, link, None, type=type_)
