"""Whatever comes from outside: no secret in any output, no number and no text in a log, nothing that a terminal obeys."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.store.store_reader import StoreReader
from tests.cli.terminal import call
from tests.patience import PATIENCE
from tests.server.process.serving import BOT, CONTACT, SECRET, Serve, body_of, until
from tests.server.process.test_publish import published
from tests.server.test_local_socket import raw as ask_raw
from tests.services.gateway.peer import Answer, Peer, answer, peer, refused

KEYS = ("key-of-the-gateway", "sk-of-the-models", SECRET)
WORD = "Zwiebelkuchen"
TEXT = f"{WORD} \x1b]0;obeyed\x07\x1b[2J\u202e <b>{{{{ 2 ** 46 }}}}</b>\nsecond line"
QUOTING = f"{CONTACT} wrote {WORD} with {KEYS[0]} \x1b]0;obeyed\x07"
HANDLERS = """\
from bot import handler

@handler("crash")
def crash(text: str) -> str:
    raise ValueError(text)
"""
FLOW = """\
flow: main
start: {otherwise: true}
vars: {note: {type: text}}
steps:
  ask: {ask: What?, save: note}
  crash: {call: crash, with: {text: "{{ note }}"}, errors: {else: next}}
  echo: {say: "You wrote {{ note }}"}
  talk: {ai: "Help {{ contact.name }}.", exits: {done: {when: they are done, then: end}}, errors: {else: end}}
"""
COMMANDS = (
    ["queue"], ["queue", "--json"], ["sessions"], ["sessions", CONTACT], ["trace", CONTACT], ["usage"], ["doctor"],
    ["webhook", "show"], ["templates"], ["contacts", "list"], ["contacts", "export", CONTACT], ["models"], ["ai", "hello?"],
    ["check"], ["queue", "retry", "1"], ["sessions", "reset", CONTACT],
)  # fmt: skip


def quoting(status: int, code: str) -> Answer:
    return refused(code, status, QUOTING, field=QUOTING, hint=CONTACT)


@pytest.fixture
def gateway() -> Iterator[Peer]:
    with peer() as running:
        yield running


@pytest.fixture
def models() -> Iterator[Peer]:
    with peer() as running:
        running.by_default = answer(
            401, {"error": {"message": QUOTING.replace(*KEYS[:2]), "type": "invalid_request_error"}}
        )
        yield running


def hostile_events() -> Iterator[bytes]:
    def event(event: Any, event_id: Any, /, **data: Any) -> bytes:
        return json.dumps({"id": event_id, "event": event, "timestamp": 1, "data": {"from": CONTACT, **data}}).encode()

    yield event("contact.created", "e1", phone=CONTACT, name=TEXT, email=TEXT, tags=[TEXT, 7, None])
    yield event("message.inbound", "e2", type="image", body=TEXT, media_url=f"file:///{WORD}")
    yield event("message.inbound", "e3", type=TEXT, body={"text": TEXT})
    yield event("message.inbound", CONTACT, type="text", body=TEXT)
    yield event(
        "message.interactive_reply", "e5", interactive={"type": "list", "list_reply": {"id": TEXT, "title": TEXT}}
    )
    yield event("message.interactive_reply", "e6", interactive=[TEXT])
    yield event("message.failed", "e7", message_id=TEXT, to=CONTACT, error={"message": TEXT})
    yield event("conversation.assigned", "e8", conversation_id=TEXT, agent={"name": TEXT})
    yield event("conversation.resolved", "e9", conversation_id=TEXT)
    yield event({"name": TEXT}, [TEXT], body=TEXT)
    yield event("message.inbound", "e11", type="text", body=TEXT, **{"from": [CONTACT]})


@pytest.mark.parametrize(
    "refusal",
    [quoting(502, "WHATSAPP_SEND_FAILED"), quoting(401, "unauthorized"), quoting(400, QUOTING)],
    ids=["failed", "key", "code"],
)  # fmt: skip
def test_no_output_holds_a_secret_and_no_log_a_number_or_a_text(
    serve: Serve, folder: Path, gateway: Peer, models: Peer, refusal: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.by_default = refusal
    (folder / "bot.yml").write_text("name: Test\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}\n")
    (folder / "main.yml").write_text(FLOW)
    (folder / "handlers.py").write_text(HANDLERS)
    account = {"BOT_GATEWAY_URL": gateway.url, "BOT_GATEWAY_KEY": KEYS[0], "BOT_GATEWAY_PER_MINUTE": "6000"}
    account |= {"BOT_AI_URL": f"{models.url}/api/v1", "BOT_AI_KEY": KEYS[1], "BOT_AI_MODEL": "acme/large"}
    for name, value in (account | {"BOT_WEBHOOK_SECRET": SECRET}).items():
        monkeypatch.setenv(name, value)
    serving = serve(**account).up()
    assert serving.post("m1") == 200
    assert serving.post("m2", TEXT) == 200
    for number, raw in enumerate(hostile_events()):
        assert serving.post_raw(raw, f"{CONTACT}-{WORD}-{number}") == 200
        serving.post_raw(raw, f"stale-{number}", age=400)
        serving.post_raw(raw, f"forged-{number}", secret="guessed")
    serving.post_raw(body_of(f"stale {CONTACT}", TEXT), "d-stale", age=400)
    assert serving.get(f"/{CONTACT}?text={WORD}&key={KEYS[0]}") == 404
    for request in ({"do": TEXT}, {"do": "send", "contact": CONTACT, "text": [TEXT]}, {"do": ["x"]}, {"do": "erase"},
                    {"do": "put_contact", "phone": CONTACT, "tags": [TEXT], "name": {"x": 1}},
                    {"do": "broadcast", "name": TEXT, "recipients": TEXT}, {"do": "reset", "contact": {"x": TEXT}}):  # fmt: skip
        assert "error" in json.loads(ask_raw(serving.store, json.dumps(request).encode() + b"\n"))
    serving.settle(13)
    reader = StoreReader(serving.store)
    until(lambda: reader.counts()["outbox"] == 0 or gateway.requests)
    reader.close()

    for running in (True, False):
        for arguments in COMMANDS:
            place = [folder] if arguments[0] in ("check", "doctor") else ["--bot", folder]
            outcome = call(*arguments, *place)
            said = outcome.out + outcome.err
            assert outcome.code < 2 and "Traceback" not in said, (arguments, said)
            assert not any(key in said for key in KEYS), (arguments, running)
            assert "\x1b]0" not in said and "\x07" not in said, (arguments, running)
        if running:
            serving.end()
    assert serving.seen
    for line in serving.seen:
        assert not any(key in line for key in KEYS), line
        assert CONTACT not in line and WORD not in line and "obeyed" not in line, line
        assert "defect" not in line and "its log says why" not in line and "a local request failed" not in line, line


TELLS = """\
import logging
import os

logging.getLogger("crm").warning("its key is %s", os.environ["CRM_KEY"])
"""


def test_the_log_shows_no_secret_that_only_an_edit_or_a_version_names(
    serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRM_KEY", "sk-of-the-crm")
    serving = serve().up()
    (folder / "handlers.py").write_text(TELLS)
    (folder / "bot.yml").write_text(f"{BOT}secrets: [CRM_KEY]\n")
    serving.line_with("its key is [secret]")
    assert call("publish", folder).code == 0
    (folder / "bot.yml").write_text(BOT)
    os.kill(serving.child("engine"), signal.SIGKILL)
    serving.line_with("its key is [secret]")
    serving.end()
    again = serve()
    again.line_with("its key is [secret]")
    again.up().end()
    assert not any("sk-of-the-crm" in line for line in (*serving.seen, *again.seen))


def test_the_secrets_that_are_needed_are_those_of_what_is_served(
    serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(folder)
    (folder / "bot.yml").write_text(f"{BOT}secrets: [CRM_KEY]\n")
    serve().up().end()
    published(folder)
    (folder / "bot.yml").write_text(BOT)
    serving = serve()
    assert serving.process.wait(PATIENCE) == 1
    serving.line_with("CRM_KEY is missing: set it, in the environment or in .env, since bot.yml names it")
