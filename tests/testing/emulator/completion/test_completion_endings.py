"""How answers end, and when they come: cut anywhere, stalled, endless, paced by a clock."""

import http.client
import json
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
import requests

from bot.core.clock import MovableClock
from bot.testing.emulator.completion import CompletionService
from tests.testing.emulator.completion.conftest import HELLO, Caller, events_of

BROKEN = (requests.exceptions.ChunkedEncodingError, requests.exceptions.ConnectionError)


def whole_stream(api: Caller, service: CompletionService) -> bytes:
    service.say("Good morning.")
    return api.chat(stream=True).content


@pytest.mark.parametrize("cut", [0, 1, 200])
def test_a_cut_stream_ends_without_an_end(api: Caller, service: CompletionService, cut: int) -> None:
    whole = whole_stream(api, service)
    service.say("Good morning.", cut_after=cut)
    came, chunks = b"", api.streaming().iter_content(chunk_size=1)
    with pytest.raises(BROKEN):
        for byte in chunks:
            came += byte
    assert came.replace(b"chatcmpl-2", b"chatcmpl-1") == whole[:cut]
    assert service.wait_until(lambda: service.counts.get("cut") == 1)


@pytest.mark.parametrize("cut", [0, 1, 200])
def test_a_stream_can_be_cut_as_if_that_were_all(api: Caller, service: CompletionService, cut: int) -> None:
    whole = whole_stream(api, service)
    service.say("Good morning.", cut_after=cut, cut_cleanly=True)
    assert api.chat(stream=True).content.replace(b"chatcmpl-2", b"chatcmpl-1") == whole[:cut]


def test_a_cut_after_the_end_is_none(api: Caller, service: CompletionService) -> None:
    whole = whole_stream(api, service)
    service.say("Good morning.", cut_after=len(whole), cut_cleanly=True)
    assert events_of(api.chat(stream=True).content)[-1] == "[DONE]"


def test_a_whole_answer_can_be_cut_too(api: Caller, service: CompletionService) -> None:
    service.say("Good morning.", cut_after=20)
    service.say("Good morning.", cut_after=20, cut_cleanly=True)
    with pytest.raises(BROKEN):
        api.chat()
    response = api.chat()
    assert (response.headers["Content-Length"], len(response.content)) == ("20", 20)


def hung_up(api: Caller, service: CompletionService) -> None:
    """Ask, and go without an answer once the service holds the request."""
    connection = http.client.HTTPConnection(api.base.split("/")[2], timeout=10)
    body = json.dumps({"model": "acme/swift", "messages": HELLO, "stream": True})
    connection.request("POST", "/api/v1/chat/completions", body, api.headers)
    assert service.wait_until(lambda: service.counts.get("requests") == 1)
    connection.close()


def test_nobody_is_answered_while_it_hangs(api: Caller, service: CompletionService) -> None:
    service.hang()
    hung_up(api, service)
    assert service.wait_until(lambda: service.counts.get("abandoned") == 1)
    assert service.requests()[0].status == 0


def test_clients_that_gave_up_hold_no_thread() -> None:
    with CompletionService(threads=1) as service:
        service.hang()
        hung_up(Caller(service), service)
        assert Caller(service).chat().status_code == 200


@pytest.mark.parametrize("bytes_sent", [0, 200])
def test_a_stalled_stream_has_begun_and_never_goes_on(api: Caller, service: CompletionService, bytes_sent: int) -> None:
    service.say("Good morning.", stall_after=bytes_sent)
    response = api.streaming()
    came = response.iter_content(chunk_size=1)
    assert (response.status_code, len([next(came) for _ in range(bytes_sent)])) == (200, bytes_sent)
    assert not {"ended", "cut"} & service.counts.keys()
    response.close()
    assert service.wait_until(lambda: service.counts.get("abandoned") == 1)


@pytest.mark.parametrize("text", ["drip ", ""])
def test_a_drip_goes_on_until_the_client_goes(api: Caller, service: CompletionService, text: str) -> None:
    service.drip(text, delay=0.001)
    response = api.streaming()
    lines = response.iter_lines()
    came = [next(lines) for _ in range(40)]
    assert all(line in (b"", b": keep-alive") or json.loads(line.removeprefix(b"data: ")) for line in came)
    response.close()
    assert service.wait_until(lambda: service.counts.get("abandoned") == 1)


def test_a_flood_stops_when_nobody_reads_it(api: Caller, service: CompletionService) -> None:
    service.drip(delay=0)
    response = api.streaming()
    next(response.iter_content(100_000))
    response.close()
    assert service.wait_until(lambda: service.counts.get("abandoned") == 1)


def test_a_drip_that_is_no_stream_never_becomes_an_answer(api: Caller, service: CompletionService) -> None:
    service.drip(delay=0.001)
    response = api.post(
        "chat/completions", {"model": "acme/swift", "messages": [{"role": "user", "content": "?"}]}, stream=True
    )
    assert next(response.iter_content(20)).strip() == b""
    response.close()


def pieces_of(response: requests.Response) -> Iterator[str]:
    for line in response.iter_lines(chunk_size=1):
        if line.startswith(b"data: {"):
            yield json.loads(line.removeprefix(b"data: "))["choices"][0]["delta"].get("content", "")


def test_a_stream_takes_its_time_by_the_clock(api: Caller, service: CompletionService, clock: MovableClock) -> None:
    service.pieces_per_second = 10
    service.say("one two three four")
    pieces = pieces_of(api.streaming())
    came: list[str] = []
    for part, words in [(0.1, ["one "]), (0.2, ["two ", "three "]), (0.1, ["four", ""])]:
        clock.move(timedelta(seconds=part))
        came = [next(pieces) for _ in words]
        assert came == words


def test_a_whole_answer_takes_as_long_as_its_pieces(
    api: Caller, service: CompletionService, clock: MovableClock
) -> None:
    service.pieces_per_second = 1
    service.say("one two three four")
    answers: list[requests.Response] = []
    asking = threading.Thread(target=lambda: answers.append(api.chat()))
    asking.start()
    assert service.wait_until(lambda: service.counts.get("requests") == 1)
    clock.move(timedelta(seconds=3.9))
    assert not service.counts.get("ended")
    clock.move(timedelta(seconds=0.2))
    asking.join()
    assert answers[0].json()["choices"][0]["message"]["content"] == "one two three four"


def test_a_delay_is_in_real_seconds(api: Caller, service: CompletionService) -> None:
    service.say("one two three", delay=0.01)
    assert "".join(pieces_of(api.streaming())) == "one two three"


def test_connections_are_kept_after_whole_answers(api: Caller, service: CompletionService) -> None:
    connection = http.client.HTTPConnection(api.base.split("/")[2], timeout=10)
    for _ in range(3):
        connection.request("GET", "/api/v1/models", headers=api.headers)
        answer = connection.getresponse()
        assert (answer.read()[:1], answer.will_close) == (b"{", False)
    connection.close()


def test_stopping_breaks_off_what_is_held_and_ends_every_thread() -> None:
    before = set(threading.enumerate())
    service = CompletionService(threads=2).start()
    service.hang()
    service.drip(delay=60)
    api = Caller(service)
    ended: list[str] = []

    def ask(streamed: bool) -> None:
        with pytest.raises(BROKEN):
            list(api.streaming({"stream": streamed}).iter_content())
        ended.append("broken")

    clients = [threading.Thread(target=ask, args=(streamed,)) for streamed in (False, True)]
    for client in clients:
        client.start()
    assert service.wait_until(lambda: service.counts.get("requests") == 2)
    service.stop()
    for client in clients:
        client.join()
    assert ended == ["broken", "broken"]
    assert {thread for thread in threading.enumerate() if thread.name.startswith("emulator")} <= before


def test_it_has_an_address_only_while_it_runs() -> None:
    service = CompletionService()
    with pytest.raises(RuntimeError, match="not running"):
        _ = service.url
    with service:
        assert service.url.endswith("/api/v1")
    service.stop()
