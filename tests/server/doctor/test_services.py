"""The two services and the files that flows name, as the doctor sees them."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.language.flow.library import Library
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.server import doctor
from bot.server.doctor import Check, CheckResult
from bot.settings import ModelService
from bot.testing.emulator.completion import CompletionService
from tests.broken import WORDS, Unforeseen
from tests.cli.terminal import make_bot
from tests.patience import PATIENCE
from tests.services.gateway.peer import Peer, answer, peer

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100
FLOW = """
flow: main
start: {otherwise: true}
steps:
  hello: {say: Hello, image: "%s/menu.png"}
  once_more: {say: Once more, image: "%s/menu.png"}
  yours: {say: Yours, image: "{{ contact.name }}"}
"""


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as running:
        yield running


@pytest.fixture
def models() -> Iterator[CompletionService]:
    with CompletionService() as service:
        yield service


def shown(findings: Iterator[CheckResult]) -> list[str]:
    return [f"{one.state}: {one.what}" for one in findings]


def now() -> datetime:
    return datetime.now(UTC)


def library(folder: Path, url: str) -> Library:
    return load_program(read_folder(make_bot(folder, FLOW % (url, url)))).library


@pytest.mark.parametrize(
    ("off", "state"), [(timedelta(0), "ok"), (timedelta(minutes=2), "warn"), (timedelta(minutes=-6), "fail")]
)
def test_a_clock_that_is_wrong_is_noticed(server: Peer, off: timedelta, state: str) -> None:
    date = f"{now():%a, %d %b %Y %H:%M:%S} GMT"
    server.answers(answer(404, {}, {"Date": date}))
    *_, clock = doctor.reach("gateway", "BOT_GATEWAY_URL", server.url, lambda: now() + off)
    assert clock.state == state and "its clock and ours differ by" in clock.what


@pytest.mark.parametrize("date", [None, "yesterday", "Mon, 06 May 2030 10:00:00 -0000"])
def test_a_service_that_does_not_tell_the_time_is_none_the_worse(server: Peer, date: str | None) -> None:
    server.answers(answer(404, {}, {} if date is None else {"Date": date}))
    assert [one.state for one in doctor.reach("gateway", "BOT_GATEWAY_URL", server.url, now)] == ["ok"]


def test_a_key_in_the_clear_is_warned_of() -> None:
    first, *_ = doctor.reach("gateway", "BOT_GATEWAY_URL", "http://gateway.invalid", now)
    assert first.state == "warn" and "is not https" in first.what


def test_models_that_are_there_and_one_that_is_not(models: CompletionService) -> None:
    with_key = ModelService(models.url, "sk-emulated", (), "authorization")
    (fine,) = shown(doctor.models(with_key))
    assert fine.startswith("ok: the key is accepted; ")
    unheard_of = ModelService(models.url, "sk-emulated", ("acme/unheard-of",), "authorization")
    assert shown(doctor.models(unheard_of)) == ['fail: "acme/unheard-of" is not in the list']


def test_a_key_that_the_models_refuse_fails_without_being_shown(models: CompletionService) -> None:
    (refused,) = shown(doctor.models(ModelService(models.url, "sk-wrong", (), "authorization")))
    assert refused.startswith("fail: ") and "sk-wrong" not in refused


def test_each_literal_address_is_got_once(tmp_path: Path, server: Peer) -> None:
    server.answers(answer(200, PNG))
    (fine,) = shown(doctor.reachable(library(tmp_path, server.url), server.url, 20))
    assert fine == f"ok: flows/main.yml:5:30: {server.url}/menu.png"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, b"", "127.0.0.1 answered 404"),
        (
            200,
            b"%PDF-1.7 a menu",
            "is not of a type that the gateway takes as image: by its content it is application/pdf",
        ),
        (200, b"\0\0\0", "is not of a type that the gateway takes as image"),
        (200, PNG + b"\0" * (5 << 20), "is too large"),
    ],
)
def test_a_file_that_the_gateway_would_not_take_fails(
    tmp_path: Path, server: Peer, status: int, body: bytes, words: str
) -> None:
    server.answers(answer(status, body))
    (found,) = shown(doctor.reachable(library(tmp_path, server.url), server.url, 20))
    assert found.startswith("fail: flows/main.yml:5:30: ") and words in found


def test_a_private_address_is_none_that_the_gateway_reaches(tmp_path: Path, server: Peer) -> None:
    (found,) = shown(doctor.reachable(library(tmp_path, server.url), "http://gateway.example", 20))
    assert "is no public address" in found and server.requests == []


PAGE = b"<!DOCTYPE html><title>Sign in</title>"


@pytest.mark.parametrize(
    ("base", "given", "what", "cure"),
    [
        ("", answer(200, PAGE), "answers 200 with a page for people", "pass without a login"),
        (
            "",
            answer(302, b"", {"Location": "https://login.example/?next=x"}),
            "redirects to https://login.example/ (302)",
            "set BOT_GATEWAY_URL to where",
        ),
        ("", answer(502, b"<h1>Bad Gateway</h1>"), "answers 502 with a page of a proxy", "ask who runs it"),
        ("", answer(503, b""), "answers 503 with a page of a proxy", "ask who runs it"),
        ("", answer(200, gzip.compress(b"{}")), "with gzip and does not say so", "Content-Encoding"),
        ("/external-api", answer(404, {"success": False}), "ends in the path /external-api", "take the path out"),
        ("/external-api", answer(404, PAGE), "ends in the path /external-api", "take the path out"),
        ("", answer(404, PAGE), "answers 404 with a page for people", "check BOT_GATEWAY_URL"),
    ],
)
def test_what_answers_in_place_of_a_service_is_named_with_its_cure(
    server: Peer, base: str, given: Any, what: str, cure: str
) -> None:
    server.answers(given)
    key = {"Authorization": "Bearer k3y"}
    (found,) = doctor.reach("gateway", "BOT_GATEWAY_URL", server.url + base, now, "/external-api/x", key)
    assert found.state == "fail" and what in found.what and cure in found.what + found.advice
    assert server.requests[0].headers["authorization"] == "Bearer k3y"
    assert "k3y" not in found.what + found.advice


@pytest.mark.parametrize(
    "given", [answer(200, {"success": True}), answer(401, {"success": False}), answer(502, {"error": {}})]
)
def test_what_the_service_says_itself_is_left_to_it(server: Peer, given: Any) -> None:
    server.answers(given)
    assert [one.state for one in doctor.reach("gateway", "BOT_GATEWAY_URL", server.url, now, "/x")] == ["ok"]


def test_the_list_of_models_is_asked_for_with_the_key_where_the_service_wants_it() -> None:
    service = ModelService("https://m.example", "k+y", (), "authorization")
    assert doctor.models_request(service) == ("/models", {"Authorization": "Bearer k+y"})
    assert doctor.models_request(replace(service, key_in="x-api-key")) == ("/models", {"x-api-key": "k+y"})
    assert doctor.models_request(replace(service, key_in="query")) == ("/models?apiKey=k%2By", {})


def test_what_a_check_raises_reaches_the_command() -> None:
    def look() -> Iterator[CheckResult]:
        yield doctor.ok("gateway", "answers")
        raise Unforeseen(WORDS)

    late = doctor.fail("gateway", "does not answer")
    results = doctor.together([Check(look, late)], PATIENCE)
    assert next(results).state == "ok"
    with pytest.raises(Unforeseen):
        next(results)
