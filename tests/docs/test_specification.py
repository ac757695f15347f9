"""The table of the specifications is complete, and what it points at is there.

What there is comes from the emulators, which were written from the specifications and from nothing of the clients.
"""

import ast
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import requests

from bot.core import messages
from bot.core.clock import MovableClock
from bot.services.ai import ai_errors, chat_completion
from bot.services.gateway import gateway_answers
from bot.testing.emulator import (
    API_KEY,
    Emulator,
    MessageTemplate,
    TemplateButton,
    endpoints,
    gateway_behaviour,
    interactive,
)
from bot.testing.emulator import completion as ai
from bot.testing.emulator import endpoints as emulated_messages
from bot.testing.emulator.completion import completion_requests as ai_requests
from bot.testing.emulator.completion.completion_account import WINDOWS
from bot.testing.emulator.completion.model_answers import EmulatedCompletion
from bot.testing.emulator.endpoints import ENDPOINTS, OF_ENDPOINT, OF_TYPE, QUERY
from bot.testing.emulator.event_payloads import EVENTS
from bot.testing.emulator.request_rules import CODES
from tests.testing.emulator.conftest import NOON, Receiver

ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "tests/specification.md"
ANN = "491510000001"
Names = set[str]


@dataclass(frozen=True)
class Row:
    """A line of a table: what it is about, the tests, and where there is such a column the code."""

    section: str
    names: tuple[str, ...]
    code: tuple[str, ...]
    tests: tuple[str, ...]


def rows() -> Iterator[Row]:
    """`` `a`: `b`, `c` `` in the first column is about ``a: b`` and ``a: c``."""
    part = section = ""
    for line in TABLE.read_text().splitlines():
        if heading := re.fullmatch(r"(##+) (.+)", line):
            part, section = (heading[2], "") if heading[1] == "##" else (part, heading[2])
        elif line.startswith("| ") and not line.startswith(("| What |", "| ---")):
            names, *code, tests = [re.findall(r"`([^`]+)`", cell) for cell in line.strip("| ").split(" | ")]
            assert len(code) <= 1, line
            if re.match(r"\| `[^`]+`: ", line):
                names = [f"{names[0]}: {name}" for name in names[1:]]
            yield Row(f"{part}: {section}" if section else part, tuple(names), tuple(*code), tuple(tests))


ROWS = tuple(rows())


def named(section: str) -> list[str]:
    return [name for row in ROWS if row.section == section for name in row.names]


# -- what it points at


def resolve(reference: str) -> Any:
    parts = reference.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(reference)


@cache
def defined_in(path: str) -> Names:
    tree = ast.parse((ROOT / "tests" / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def missing_in(row: Row) -> Iterator[str]:
    if not row.names or not row.tests:
        yield f"{row.section}: {row}"
    for reference in row.code:
        resolve(reference)
    for reference in row.tests:
        path, _, name = reference.partition("::")
        if not name.startswith("test_") or name not in defined_in(path):
            yield reference


def test_every_line_names_tests_that_there_are() -> None:
    assert len(ROWS) > 250
    assert [missing for row in ROWS for missing in missing_in(row)] == []


# -- what there is


def paths(shape: Any, at: str = "") -> Iterator[str]:
    """The paths of all fields of a shape, or of JSON: an array's are those of its items."""
    if isinstance(shape, list):
        for item in shape or [None]:
            yield from paths(item, f"{at}[]")
    elif isinstance(shape, Mapping) and (shape or not at):
        for name, part in shape.items():
            yield from paths(part, f"{at}.{name}" if at else name)
    else:
        yield at


def prefixed(prefix: str, shape: Any) -> Names:
    return {f"{prefix}: {path}" for path in paths(shape)}


def literals(owner: type, name: str) -> Names:
    return set(get_args(get_type_hints(owner)[name]))


def switches(behaviour: type) -> Names:
    return {switch.name for switch in dataclasses.fields(behaviour)}


def leaves(root: type[Exception]) -> Iterator[type[Exception]]:
    if not root.__subclasses__():
        yield root
    for child in root.__subclasses__():
        yield from leaves(child)


def request_fields() -> Names:
    message = {name for kind, shape in OF_TYPE.items() for name in paths(shape, kind)}
    return {
        *message,
        *("to", "type", "channel_id"),
        *prefixed("contacts", OF_ENDPOINT["upsert-contact"]),
        *prefixed("webhooks", OF_ENDPOINT["webhooks"]),
        *(f"{endpoint}: {name}" for endpoint, found in QUERY.items() for name in found),
    }


MESSAGE = {"to": ANN, "type": "text", "text": {"body": "Hello"}}
TEMPLATE = {"to": ANN, "template": {"name": "order", "language": {"code": "en"}, "components": []}}
BUTTONS = {
    **{"to": ANN, "type": "interactive"},
    "interactive": {
        **{"type": "button", "body": {"text": "Well?"}},
        "action": {"buttons": [{"type": "reply", "reply": {"id": f"id-{n}", "title": f"{n}"}} for n in range(4)]},
    },
}
LIST = {
    **{"to": ANN, "type": "interactive"},
    "interactive": {
        **{"type": "list", "body": {"text": "Well?"}},
        "action": {"button": "Choose", "sections": [{"title": "All", "rows": [{"id": "1", "title": "One"}]}]},
    },
}
ASKED: tuple[tuple[str, str, str, Any], ...] = (
    ("send", "POST", "/inbox/send-message", MESSAGE),
    ("send", "POST", "/inbox/send-message", LIST),
    ("template send", "POST", "/inbox/send-template-message", TEMPLATE),
    ("templates", "GET", "/inbox/template-list", None),
    ("contacts", "POST", "/contacts", {"name": "Ann", "phone": ANN, "email": "ann@a.example", "tags": ["vip"]}),
    ("contacts", "GET", "/contacts", None),
    ("webhooks", "POST", "/v1/webhooks", {"name": "bot", "url": "https://bot.example", "events": ["message.inbound"]}),
    ("refusal", "POST", "/v1/chat/interactive", BUTTONS),
    ("refusal", "POST", "/v1/chat/interactive", {**BUTTONS, "interactive": {"type": "poll"}}),
)


@dataclass
class Seen:
    """What an emulated gateway answered and told of: fields of answers, fields and headers of events, headers of answers."""

    answers: Names
    answer_headers: Names
    events: Names
    event_headers: Names


@pytest.fixture(scope="module")
def seen() -> Seen:
    receiver = Receiver()
    with Emulator(MovableClock(NOON), per_minute=len(ASKED)) as emulator:
        emulator.subscribe(receiver.url)
        emulator.behaviour.companion_events = True
        emulator.templates.add(MessageTemplate("order", "en", "Hi", buttons=(TemplateButton("quick_reply", "Yes"),)))
        emulator.receive(ANN, "Hello")
        emulator.edit(ANN, tags=["vip"])
        answers, headers = _asked(emulator)
        emulator.tap(ANN, title="Yes")
        emulator.tap(ANN, title="One")
        emulator.assign(ANN)
        emulator.resolve(ANN)
        for status in ("sent", "delivered", "read", "failed"):
            emulator.status(emulator.sent[0].message_id, status)
        assert emulator.wait_until(emulator.idle)
        delivered = [(dict(one.headers), json.loads(one.body)) for one in receiver.seen]
    receiver.stop()
    bodies = [body for _, body in delivered]
    assert {body["event"] for body in bodies} == set(EVENTS)
    events = {f"envelope: {name}" for body in bodies for name in body}
    events |= {name for body in bodies for name in prefixed(body["event"], body["data"])}
    return Seen(answers, headers, events, {name for headers_of, _ in delivered for name in headers_of})


def _asked(emulator: Emulator) -> tuple[Names, Names]:
    headers = {"Authorization": f"Bearer {API_KEY}", "Content-Type": "application/json"}
    answers: Names = set()
    for about, method, path, body in ASKED:
        answer = requests.request(method, f"{emulator.url}/external-api{path}", json=body, headers=headers, timeout=10)
        found = answer.json()
        answers |= {f"envelope: {name}" for name in found} | prefixed("meta", found.get("meta", {}))
        answers |= prefixed("error", found["error"]) if "error" in found else set()
        data = found.get("data", {})
        answers |= prefixed(about, data[0] if isinstance(data, list) else data)
    over = requests.get(f"{emulator.url}/external-api/contacts", headers=headers, timeout=10)
    assert over.status_code == 429
    return answers, {name for name in over.headers if name.startswith("X-") or name == "Retry-After"}  # in any case


def ai_answers() -> Names:
    answer = ai.ModelAnswer("Hi", calls=[("find", {})])
    said = EmulatedCompletion(
        answer, ai.CompletionBehaviour(), serial=1, model="a/b", created=1, prompt="Hi", most_tokens=9
    )
    chunks = [json.loads(piece.data.removeprefix(b"data: ")) for piece in said.events() if b"[DONE]" not in piece.data]
    body = {"list": {"object": "list", "data": [ai.MODELS[0].record()]}, "answer": said.body()}
    of_quota = ai.failure("quota_exceeded", reset_in=9).body(ai.CompletionBehaviour())
    return {
        *prefixed("answer", body["answer"]),
        *(name for chunk in chunks for name in prefixed("chunk", chunk)),
        *prefixed("models", body["list"]),
        *prefixed("error", of_quota["error"]),
        "plugin/check: status",
    }


def test_every_endpoint_is_in_the_table() -> None:
    assert named("The gateway: Endpoints") == [f"{method} /external-api{path}" for method, path in ENDPOINTS]
    assert named("Chat completion: Endpoints") == [f"{method} /{path}" for path, (method, _) in ai.ENDPOINTS.items()]


def test_every_field_of_a_request_is_in_the_table() -> None:
    assert sorted(named("The gateway: Fields of requests")) == sorted(request_fields())
    fields = {f"{endpoint}: {name}" for endpoint, known in ai_requests.FIELDS.items() for name in known}
    assert sorted(named("Chat completion: Fields of requests")) == sorted(fields)


def test_every_field_of_an_answer_is_in_the_table(seen: Seen) -> None:
    assert sorted(named("The gateway: Fields of answers")) == sorted(seen.answers)
    assert sorted(named("Chat completion: Fields of answers")) == sorted(ai_answers())


def test_every_event_with_its_fields_is_in_the_table(seen: Seen) -> None:
    of_sample_code = {"message.received", "message.status", "interactive_response"}
    assert sorted(named("The gateway: Events")) == sorted({*EVENTS, *of_sample_code})
    assert sorted(named("The gateway: Fields of events")) == sorted(seen.events)


def test_every_header_is_in_the_table(seen: Seen) -> None:
    of_http = {"Host", "Accept-Encoding", "Content-Length"}
    found = {f"event: {name}" for name in seen.event_headers - of_http}
    found |= {f"answer: {name}" for name in seen.answer_headers}
    found |= {f"request: {name}" for name in ("Authorization", "Content-Type", "Idempotency-Key")}
    assert sorted(map(str.lower, named("The gateway: Headers"))) == sorted(map(str.lower, found))
    places = ["Authorization", "x-api-key", "apiKey"]
    assert named("Chat completion: Authentication") == places


def test_every_error_is_in_the_table_with_its_class() -> None:
    for section, known in (
        ("The gateway: Errors", {**gateway_answers.BY_CODE}),
        ("Chat completion: Errors", {**ai_errors.BY_CODE}),
    ):
        for row in (row for row in ROWS if row.section == section):
            (code,) = row.names
            assert resolve(row.code[0]) is known[code.partition(" ")[0]].raises or code == "invalid_request_error 401"
    assert named("The gateway: Errors") == list(CODES)
    statuses = {f"{name} {status}" for name, found in ai.ERRORS.items() for status in found}
    assert sorted(named("Chat completion: Errors")) == sorted(statuses)


@pytest.mark.parametrize(
    ("part", "root"), [("The gateway", gateway_answers.GatewayError), ("Chat completion", ai_errors.CompletionError)]
)
def test_every_class_of_an_error_is_in_the_table(part: str, root: type[Exception]) -> None:
    listed = [row for row in ROWS if row.section.startswith(f"{part}: Errors")]
    pointed = [resolve(reference) for row in listed for reference in row.code]
    assert [leaf for leaf in leaves(root) if leaf not in pointed] == []


def test_every_limit_is_in_the_table() -> None:
    ours = {name for name, value in vars(messages).items() if name.isupper() and isinstance(value, int | dict)}
    limits = {f"{messages.__name__}.{name}" for name in ours if not name.startswith("_")}
    emulators = (endpoints, emulated_messages, interactive, ai_requests)
    limits |= {f"{module.__name__}.{name}" for module in emulators for name in vars(module) if name.endswith("_MAX")}
    limits |= {f"{chat_completion.__name__}.{name}" for name in vars(chat_completion) if name.startswith("MAX_")}
    pointed = {reference for row in ROWS if row.section.endswith(": Limits") for reference in row.code}
    assert sorted(limits - pointed) == []


def test_every_state_is_in_the_table() -> None:
    assert sorted(named("The gateway: States")) == sorted({
        *(f"message: {status}" for status in ("queued", "sent", "delivered", "read", "failed")),
        *(f"template: {status}" for status in literals(MessageTemplate, "status")),
        *(f"category: {category}" for category in literals(MessageTemplate, "category")),
        *("conversation: open", "webhook: active", "webhook: inactive"),
    })  # fmt: skip
    assert sorted(named("Chat completion: States")) == sorted({
        *(f"plugin: {status}" for status in ("active", "update_required", "domain_limit")),
        *("finish_reason: stop", "finish_reason: null"),
        *(f"quota: {kind}" for kind in WINDOWS),
        *(f"role: {role}" for role in ai_requests.ROLES),
    })  # fmt: skip


def test_everything_that_is_left_open_is_in_the_table() -> None:
    assert sorted(named("The gateway: Left open")) == sorted(switches(gateway_behaviour.Behaviour))
    assert sorted(named("Chat completion: Left open")) == sorted(switches(ai.CompletionBehaviour))


def test_every_decision_is_in_the_table() -> None:
    page = (ROOT / "docs/decisions.md").read_text()
    decided = re.findall(r"^\*\*([A-Z][A-Za-z -]+)\.\*\*", page, re.MULTILINE)
    sections = [row.section.removeprefix("Decisions: ") for row in ROWS if row.section.startswith("Decisions: ")]
    assert list(dict.fromkeys(sections)) == decided
