"""`send-message`: every type, field and limit, and the codes of the table "Send-message errors"."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.testing.emulator import Emulator
from tests.testing.emulator.conftest import Caller

TO = "491510000001"
Refused = Callable[..., dict[str, Any]]


def message(kind: str, **fields: Any) -> dict[str, Any]:
    return {"to": TO, "type": kind, kind: fields}


def test_the_type_must_be_there(refused: Refused) -> None:
    found = refused({"to": TO, "text": {"body": "Hi"}})
    assert (found["status"], found["code"], found["field"]) == (422, "VALIDATION_MISSING_TYPE", "type")


@pytest.mark.parametrize("kind", ["sticker", "TEXT", 5, ["text"], {"a": 1}])
def test_the_type_must_be_a_known_one(refused: Refused, kind: Any) -> None:
    found = refused({"to": TO, "type": kind, "text": {"body": "Hi"}})
    assert (found["status"], found["code"]) == (422, "VALIDATION_INVALID_TYPE")


@pytest.mark.parametrize("endpoint", ["/inbox/send-message", "/chat/messages"])
def test_an_endpoint_can_be_made_to_refuse_a_type(emulator: Emulator, refused: Refused, endpoint: str) -> None:
    emulator.behaviour.send_message_refuses = emulator.behaviour.chat_messages_refuses = frozenset({"interactive"})
    assert refused({"to": TO, "type": "interactive"}, endpoint)["code"] == "VALIDATION_INVALID_TYPE"


@pytest.mark.parametrize("number", ["491510000001", "+491510000001", "1234567", "123456789012345"])
def test_a_number_is_digits_with_or_without_a_plus(api: Caller, emulator: Emulator, number: str) -> None:
    emulator.behaviour.window = "open"
    assert api.text(to=number).json()["data"]["to"] == number.lstrip("+")


@pytest.mark.parametrize(
    "number",
    [
        *("01510000001", "49 151 0000001", "49-151-0000001", "+0491510000001", "++491510000001", "00491510000001"),
        *("123", "1234567890123456", "49151000000a", "٤٩١٥١٠٠٠٠٠٠١", "491510000001\n", "+", "chat:1", 491510000001, []),
    ],
)
def test_any_other_number_is_refused(refused: Refused, number: Any) -> None:
    found = refused({"to": number, "type": "text", "text": {"body": "Hi"}})
    assert (found["status"], found["code"], found["field"]) == (422, "VALIDATION_INVALID_PHONE", "to")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"type": "text", "text": {"body": "Hi"}}, "to"),
        ({"to": TO, "type": "text"}, "text"),
        (message("text"), "text.body"),
        (message("text", body=""), "text.body"),
        (message("text", body=" \n"), "text.body"),
        ({"to": TO, "type": "image"}, "image"),
        (message("image", caption="c"), "image.link"),
        (message("audio"), "audio.link"),
        (message("video"), "video.link"),
        (message("document", filename="a.pdf"), "document.link"),
        (message("location", longitude=1), "location.latitude"),
        (message("location", latitude=1), "location.longitude"),
        ({"to": TO, "type": "template"}, "template"),
        ({"to": TO, "type": "interactive"}, "interactive"),
    ],
)
def test_a_required_field_must_be_there(refused: Refused, body: dict[str, Any], field: str) -> None:
    found = refused(body)
    assert (found["status"], found["code"], found["field"]) == (422, "VALIDATION_MISSING_FIELD", field)


@pytest.mark.parametrize(
    ("body", "field", "maximum"),
    [
        (message("text", body="x" * 4097), "text.body", 4096),
        (message("image", link="https://a.example/b.png", caption="x" * 1025), "image.caption", 1024),
        (message("video", link="https://a.example/b.mp4", caption="x" * 1025), "video.caption", 1024),
        (message("document", link="https://a.example/b.pdf", caption="x" * 1025), "document.caption", 1024),
    ],
)
def test_texts_have_a_greatest_length(refused: Refused, body: dict[str, Any], field: str, maximum: int) -> None:
    found = refused(body)
    assert (found["status"], found["field"]) == (422, field)
    assert (found["max"], found["received"]) == (maximum, maximum + 1)


@pytest.mark.parametrize(
    "body",
    [
        message("text", body="x" * 4096),
        message("text", body="é" * 4096, preview_url=True),
        message("image", link="https://a.example/b.JPG?size=1", caption="x" * 1024),
        message("image", link="http://a.example/picture"),
        message("audio", link="https://a.example/b.ogg"),
        message("video", link="https://a.example/b.mp4"),
        message("document", link="https://a.example/b.docx", filename="b.docx"),
        message("location", latitude=-90, longitude=180, name="Pole", address="South"),
        message("location", latitude=0.5, longitude=-180),
    ],
)
def test_what_is_within_the_limits_is_accepted(api: Caller, emulator: Emulator, body: dict[str, Any]) -> None:
    assert api.send(body).status_code == 200
    assert emulator.sent[0].body == body


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (message("text", body=5), "text.body"),
        (message("text", body="Hi", preview_url="yes"), "text.preview_url"),
        ({"to": TO, "type": "text", "text": "Hi"}, "text"),
        (message("location", latitude=90.1, longitude=0), "location.latitude"),
        (message("location", latitude=0, longitude=-180.1), "location.longitude"),
        (message("location", latitude="1", longitude=0), "location.latitude"),
        (message("location", latitude=True, longitude=0), "location.latitude"),
        (message("location", latitude=1, longitude=0, name=5), "location.name"),
        (message("image", link="https://a.example/b.png", caption=5), "image.caption"),
        (message("document", link="https://a.example/b.pdf", filename=5), "document.filename"),
    ],
)
def test_a_field_has_its_type_and_range(refused: Refused, body: dict[str, Any], field: str) -> None:
    found = refused(body)
    assert (found["status"], found["code"], found["field"]) == (422, "VALIDATION_INVALID_FIELD", field)


@pytest.mark.parametrize(
    "link",
    [
        *("a.example/b.png", "ftp://a.example/b.png", "https://", "https:///b.png", "https://a b.example/c.png", 5),
        *("https://localhost/b.png", "http://127.0.0.1/b.png", "http://10.0.0.1/b.png", "http://[::1]/b.png"),
        *(
            "https://intranet/b.png",
            "https://a.local/b.png",
            "https://a.example:port/b.png",
            "https://a..example/b.png",
        ),
    ],
)
def test_a_media_link_is_a_public_address(refused: Refused, link: Any) -> None:
    found = refused(message("image", link=link))
    assert (found["status"], found["code"], found["field"]) == (422, "VALIDATION_INVALID_URL", "image.link")


@pytest.mark.parametrize(
    ("kind", "name"),
    [("image", "a.gif"), ("image", "a.pdf"), ("audio", "a.wav"), ("video", "a.mov"), ("document", "a.doc")],
)
def test_a_media_link_is_of_the_right_kind_of_file(refused: Refused, kind: str, name: str) -> None:
    assert refused(message(kind, link=f"https://a.example/{name}"))["code"] == "VALIDATION_INVALID_URL"


def test_a_media_link_that_cannot_be_reached_is_refused(emulator: Emulator, refused: Refused) -> None:
    emulator.files["https://a.example/gone.png"] = None
    assert refused(message("image", link="https://a.example/gone.png"))["code"] == "VALIDATION_INVALID_URL"


@pytest.mark.parametrize(
    ("kind", "suffix", "megabytes"),
    [("image", "png", 5), ("audio", "mp3", 16), ("video", "mp4", 16), ("document", "pdf", 100)],
)
def test_a_file_has_a_greatest_size(
    api: Caller, emulator: Emulator, refused: Refused, kind: str, suffix: str, megabytes: int
) -> None:
    link = f"https://a.example/file.{suffix}"
    emulator.files[link] = megabytes * 1024 * 1024
    assert api.send(message(kind, link=link)).ok
    emulator.files[link] = megabytes * 1024 * 1024 + 1
    found = refused(message(kind, link=link))
    assert (found["status"], found["code"]) == (422, "VALIDATION_FILE_TOO_LARGE")
    assert found["received"] == found["max"] + 1


def test_the_window_is_open_for_24_hours_after_the_newest_inbound(api: Caller, clock: MovableClock) -> None:
    clock.move(timedelta(hours=24))
    assert api.text().ok
    clock.move(timedelta(seconds=1))
    response = api.text()
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "WHATSAPP_TEMPLATE_REQUIRED"


def test_the_window_runs_from_the_events_own_time(api: Caller, emulator: Emulator, clock: MovableClock) -> None:
    emulator.receive("491510000002", "late", at=clock.now() - timedelta(hours=23))
    emulator.receive("491510000002", "older still", at=clock.now() - timedelta(hours=30))
    assert api.text(to="491510000002").ok
    clock.move(timedelta(hours=1, seconds=1))
    assert api.text(to="491510000002").status_code == 400


def test_a_contact_that_never_wrote_has_no_window(api: Caller) -> None:
    assert api.text(to="491510000009").json()["error"]["code"] == "WHATSAPP_TEMPLATE_REQUIRED"


def test_all_windows_can_be_switched_open(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.window = "open"
    assert api.text(to="491510000009").ok


def test_an_unknown_channel_is_not_found(api: Caller, emulator: Emulator) -> None:
    body = {**message("text", body="Hi"), "channel_id": "channel-9"}
    response = api.send(body)
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "WHATSAPP_CHANNEL_NOT_FOUND"
    assert api.send({**body, "channel_id": 1}).status_code == 404


@pytest.mark.parametrize("named", [{"channel_id": "channel-1"}, {}])
def test_an_inactive_channel_is_not_found(api: Caller, emulator: Emulator, named: dict[str, str]) -> None:
    emulator.inactive_channels.add("channel-1")
    assert api.send({**message("text", body="Hi"), **named}).status_code == 404


def test_with_several_channels_one_must_be_named() -> None:
    with Emulator(channels={"a": "15550000001", "b": "15550000002"}) as emulator:
        emulator.open_window(TO)
        caller = Caller(emulator)
        response = caller.text()
        assert (response.status_code, response.json()["error"]["details"]["field"]) == (422, "channel_id")
        named = caller.send({**message("text", body="Hi"), "channel_id": "b"})
        assert named.json()["data"]["channelId"] == "b"
