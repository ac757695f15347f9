"""HTTP requests to services, over real connections: what is sent, what is followed, and who is never told what."""

import logging
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import pytest

from bot.core.effects import HttpRequest
from bot.core.values import Media
from bot.language.steps.http_services import HttpService
from bot.services.outgoing import TO_ALLOW, ServiceRequester
from bot.services.request_errors import (
    AnswerCut,
    AnswerTooLarge,
    NotAllowed,
    RequestFailed,
    RequestTimedOut,
    Unreachable,
)
from tests.runtime.test_download import names, redirect
from tests.services.gateway.peer import Answer, Peer, answer, hang_up, peer, raw, reset, too_late
from tests.talk import library_of

MOST_REDIRECTS = 3
MOST_BYTES = 1024 * 1024
KEY = "key-of-the-request"
SECRETS = {"CRM_KEY": "sk-of-the-crm", "OTHER": "sk-of-another"}
FLOW = "flow: main\nsteps: {a: {say: Hi, then: end}}\n"


def services(base: str, *, private: bool = True, more: str = "") -> dict[str, HttpService]:
    bot = f"""
name: Test
secrets: [CRM_KEY, CRM_URL]
http:
  crm:
    base: "{base}"
    headers: {{Authorization: "Bearer {{{{ secret.CRM_KEY }}}}"}}
    query: {{token: "{{{{ secret.CRM_KEY }}}}"}}
    allow_private: true
{more}
"""
    return {
        name: replace(service, allow_private=private) for name, service in library_of(FLOW, bot).bot.services.items()
    }


@pytest.fixture
def crm() -> Iterator[Peer]:
    with peer() as running:
        running.by_default = answer(200, {"ok": True}, {"Content-Type": "application/json"})
        yield running


@pytest.fixture
def elsewhere() -> Iterator[Peer]:
    with peer() as running:
        running.by_default = answer(200, {"there": True})
        yield running


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loopback interface counts as the Internet."""
    monkeypatch.setattr("bot.services.public_addresses.is_public", lambda address: address == "127.0.0.1")


def sent(crm: Peer, method: str = "GET", path: str = "/x", **more: Any) -> Any:
    return ServiceRequester(services(crm.url + "/v1"), SECRETS)(HttpRequest(method, f"crm:{path}", **more), KEY)


def failure(crm: Peer, url: str | None = None, **more: Any) -> RequestFailed:
    with pytest.raises(RequestFailed) as error:
        ServiceRequester(services(crm.url), SECRETS)(HttpRequest("GET", url or "crm:/x", **more), KEY)
    return error.value


# What is sent


def test_a_service_adds_its_base_address_and_its_secrets(crm: Peer) -> None:
    assert sent(crm, path="/orders/17?a=1").body == b'{"ok": true}'
    (request,) = crm.requests
    assert (request.method, request.path) == ("GET", "/v1/orders/17?a=1&token=sk-of-the-crm")
    assert request.headers["authorization"] == "Bearer sk-of-the-crm"
    assert request.headers["host"] == crm.url.removeprefix("http://")


def test_a_base_address_may_come_from_the_environment(crm: Peer) -> None:
    outgoing = ServiceRequester(services("{{ secret.CRM_URL }}"), {**SECRETS, "CRM_URL": f"{crm.url}/v2/"})
    outgoing(HttpRequest("GET", "crm:/x"), KEY)
    assert crm.requests[0].path == "/v2/x?token=sk-of-the-crm"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_body_goes_with_every_other_method(crm: Peer, method: str) -> None:
    sent(crm, method, headers={"Content-Type": "application/json"}, body='{"a": 1}')
    (request,) = crm.requests
    assert (request.method, request.body, request.headers["content-type"]) == (method, {"a": 1}, "application/json")


def test_a_form_with_files_is_sent_in_parts(crm: Peer, tmp_path: Path) -> None:
    (tmp_path / "1.pdf").write_bytes(b"%PDF-\r\n--\x00\xff")
    media = Media("document", "https://gateway.example/1", None, str(tmp_path / "1.pdf"), "application/pdf")
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    sent(crm, "POST", headers=headers, body="number=A+17&note=%C3%A4", files={"report": media})
    (request,) = crm.requests
    message = BytesParser().parsebytes(
        f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode() + request.raw
    )
    parts = [(part.get_param("name", header="content-disposition"), part) for part in message.get_payload()]  # type: ignore[union-attr]
    assert [(name, part.get_payload(decode=True)) for name, part in parts] == [  # type: ignore[union-attr]
        ("number", b"A 17"),
        ("note", "ä".encode()),
        ("report", b"%PDF-\r\n--\x00\xff"),
    ]
    file: Any = parts[-1][1]
    assert (file.get_filename(), file.get_content_type()) == ("1.pdf", "application/pdf")


def test_a_file_that_is_gone_is_not_sent(crm: Peer) -> None:
    media = Media("document", "https://gateway.example/1", None, "/no/such/file.pdf", "application/pdf")
    error = failure(crm, body="", files={"report": media})
    assert (type(error), str(error)) == (NotAllowed, "the file report cannot be read: No such file or directory")
    assert crm.requests == []


def test_what_is_done_twice_when_it_is_sent_twice_carries_a_key(crm: Peer) -> None:
    for method in ("POST", "PATCH", "PUT", "GET", "DELETE"):
        sent(crm, method)
    assert [request.headers.get("idempotency-key") for request in crm.requests] == [KEY, KEY, None, None, None]


def test_the_steps_headers_stand_over_the_services_and_ours(crm: Peer) -> None:
    sent(crm, "POST", headers={"idempotency-KEY": "own", "user-agent": "me", "AUTHORIZATION": "none"})
    headers = crm.requests[0].headers
    assert [headers[name] for name in ("idempotency-key", "user-agent", "authorization")] == ["own", "me", "none"]


def test_an_answer_of_any_status_is_an_answer(crm: Peer) -> None:
    crm.answers(answer(404, {"message": "no"}, {"X-Reason": "gone"}), answer(500, b""))
    first, second = sent(crm), sent(crm)
    assert (first.status, first.headers["x-reason"], first.body) == (404, "gone", b'{"message": "no"}')
    assert (second.status, second.body) == (500, b"")


# Redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_on_the_same_host_takes_the_headers_along(crm: Peer, status: int) -> None:
    crm.answers(redirect("/two", status))
    assert sent(crm).status == 200
    assert [request.path.partition("?")[0] for request in crm.requests] == ["/v1/x", "/two"]
    assert crm.requests[1].headers["authorization"] == "Bearer sk-of-the-crm"


@pytest.mark.usefixtures("public")
def test_a_redirect_to_another_host_takes_no_header_along_and_none_comes_back(crm: Peer, elsewhere: Peer) -> None:
    crm.answers(redirect(f"{elsewhere.url}/there"))
    elsewhere.answers(redirect(f"{crm.url}/back"))
    outgoing = ServiceRequester(services(crm.url, private=False), SECRETS)
    outgoing(HttpRequest("GET", "crm:/x", {"X-Own": "1"}), KEY)
    assert elsewhere.requests[0].path == "/there"
    for request in (elsewhere.requests[0], crm.requests[1]):
        assert not {"authorization", "x-own"} & request.headers.keys()


def test_another_port_is_another_host(crm: Peer, elsewhere: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    crm.answers(redirect(f"{elsewhere.url}/there"))
    assert str(failure(crm)) == f"127.0.0.1 is no public address: {TO_ALLOW}"
    assert elsewhere.requests == []


def test_nobody_leads_back_in_from_outside(crm: Peer, elsewhere: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter([True, False])
    monkeypatch.setattr("bot.services.public_addresses.is_public", lambda address: next(asked))
    crm.answers(redirect(f"{elsewhere.url}/there"))
    elsewhere.answers(redirect(f"{crm.url}/internal"))
    assert isinstance(failure(crm), NotAllowed)
    assert len(crm.requests) == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_what_changes_something_follows_nobody(crm: Peer, method: str) -> None:
    crm.answers(redirect("/two", 307))
    assert sent(crm, method).status == 307
    assert len(crm.requests) == 1


def test_a_redirect_to_nowhere_is_an_answer(crm: Peer) -> None:
    crm.answers(answer(304, b""), answer(302, b""))
    assert [sent(crm).status, sent(crm).status] == [304, 302]


def test_redirects_in_a_circle_end(crm: Peer) -> None:
    crm.by_default = redirect("/round")
    assert isinstance(failure(crm), AnswerCut)
    assert len(crm.requests) == 1 + MOST_REDIRECTS


@pytest.mark.parametrize("to", ["file:///etc/passwd", "http://[", "http://169.254.169.254/latest", "//[::1]:80/"])
def test_a_redirect_to_anything_but_the_web_is_not_followed(crm: Peer, to: str) -> None:
    crm.answers(redirect(to))
    assert isinstance(failure(crm), NotAllowed)


@pytest.mark.parametrize("host", ["exa mple", "exa%6dple", "*", "exam|ple", "größe.example"])
def test_a_host_that_is_none_is_not_asked_wherever_it_may_lie(host: str) -> None:
    outgoing = ServiceRequester(services("{{ secret.CRM_URL }}"), {**SECRETS, "CRM_URL": f"http://{host}/"})
    with pytest.raises(NotAllowed):
        outgoing(HttpRequest("GET", "crm:/x"), KEY)


# Nobody is led into our own network


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.0.0.5", "169.254.169.254", "0x7f000001", "0"])
def test_an_address_inside_is_not_connected_to(crm: Peer, host: str) -> None:
    error = failure(crm, f"http://{host}:{crm.url.rpartition(':')[2]}/x")
    assert isinstance(error, NotAllowed | Unreachable)
    assert crm.requests == []


def test_a_service_lies_inside_only_where_that_is_allowed_by_name(crm: Peer) -> None:
    with pytest.raises(NotAllowed, match=r"no public address: .* allow_private: true"):
        ServiceRequester(services(crm.url, private=False), SECRETS)(HttpRequest("GET", "crm:/x"), KEY)
    assert crm.requests == []


def test_a_name_is_looked_up_once_and_only_its_public_address_connected_to(
    crm: Peer, monkeypatch: pytest.MonkeyPatch, public: None
) -> None:
    port = crm.url.rpartition(":")[2]
    with names({"crm.example": ["10.0.0.1", "127.0.0.1"]}) as looked_up:
        ServiceRequester({}, {})(HttpRequest("GET", f"http://crm.example:{port}/x"), KEY)
    assert looked_up.count("crm.example") == 1
    assert crm.requests[0].headers["host"] == f"crm.example:{port}"


# What goes wrong


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (reset, AnswerCut), (hang_up, AnswerCut), (raw(b"x"), AnswerCut),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), AnswerCut),
        (answer(200, b"x" * (MOST_BYTES + 1)), AnswerTooLarge),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_has_a_name(crm: Peer, trouble: Answer, kind: type[RequestFailed]) -> None:
    crm.answers(trouble)
    error = failure(crm)
    assert (type(error), error.may_have_arrived) == (kind, True)


def test_nobody_there_means_that_nothing_was_sent(crm: Peer) -> None:
    crm.close()
    error = failure(crm)
    assert (type(error), error.outcome, error.may_have_arrived) == (Unreachable, "unreachable", False)


def test_a_host_that_nobody_knows_means_that_nothing_was_sent(crm: Peer) -> None:
    with names({}, unknown=True):
        assert isinstance(failure(crm, "https://gone.example/x"), Unreachable)


def test_the_time_covers_redirects_and_an_answer_that_drips(crm: Peer) -> None:
    ended = threading.Event()

    def dripping(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
        while not ended.wait(0.02):
            connection.sendall(b"x")
        return False

    def redirected(connection: socket.socket) -> bool:
        return (dripping if crm.requests[-1].path == "/drip" else redirect("/drip"))(connection)

    def ask() -> None:
        ServiceRequester(services(crm.url), SECRETS)(HttpRequest("GET", "crm:/x", seconds=0.3), KEY)

    crm.by_default = redirected
    try:
        assert isinstance(too_late(ask, Unreachable), RequestTimedOut)
    finally:
        ended.set()


# Secrets


def test_a_secret_that_is_not_set_is_named_and_nothing_is_sent(crm: Peer) -> None:
    with pytest.raises(NotAllowed) as error:
        ServiceRequester(services(crm.url), {"OTHER": "x"})(HttpRequest("GET", "crm:/x"), KEY)
    assert str(error.value) == "the service crm needs CRM_KEY: set it, in the environment or in .env"
    assert crm.requests == []


@pytest.mark.parametrize("secret", ["sk\r\nX-Evil: 1", "sk\n", "skü"])
def test_a_secret_that_no_header_can_hold_is_not_sent_and_not_told(crm: Peer, secret: str) -> None:
    with pytest.raises(NotAllowed) as error:
        ServiceRequester(services(crm.url), {"CRM_KEY": secret})(HttpRequest("GET", "crm:/x"), KEY)
    assert "sk" not in str(error.value)
    assert crm.requests == []


def test_a_base_address_that_is_none_is_not_told(crm: Peer) -> None:
    outgoing = ServiceRequester(
        services("{{ secret.CRM_URL }}"), {**SECRETS, "CRM_URL": "sk-pasted-at-the-wrong-place"}
    )
    with pytest.raises(NotAllowed) as error:
        outgoing(HttpRequest("GET", "crm:/x"), KEY)
    assert str(error.value) == "it has no http or https address"


def test_a_service_is_told_no_secret_that_it_does_not_name(crm: Peer) -> None:
    bot = (
        "http: {crm: {base: '"
        + crm.url
        + "', headers: {A: 'x{{ secret }}'}, allow_private: true}}\nsecrets: [CRM_KEY]\n"
    )
    found = library_of(FLOW, f"name: Test\n{bot}").bot.services
    ServiceRequester(found, SECRETS)(HttpRequest("GET", "crm:/x"), KEY)
    assert crm.requests[0].headers["a"] == "x"


def test_no_secret_is_in_a_log_or_in_the_words_of_an_error(crm: Peer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    troubles = (
        reset,
        hang_up,
        answer(200, b"x" * (MOST_BYTES + 1)),
        redirect("http://[sk"),
        redirect("http://10.0.0.1/"),
    )
    for trouble in troubles:
        crm.answers(trouble)
        error = failure(crm)
        assert "sk-of" not in f"{error} {error!r}"
    assert "sk-of" not in caplog.text


def test_a_service_that_an_edit_removed_is_not_guessed(crm: Peer) -> None:
    outgoing = ServiceRequester(services(crm.url), SECRETS)
    outgoing.use({})
    with pytest.raises(NotAllowed, match='there is no service "crm"'):
        outgoing(HttpRequest("GET", "crm:/x"), KEY)
