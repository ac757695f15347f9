"""A running service on a clock that stands still, and a caller of it that knows nothing but HTTP."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import requests

from bot.core.clock import MovableClock
from bot.testing.emulator.completion import CompletionService

NOON = datetime(2030, 5, 12, 12, 0, tzinfo=UTC)
HELLO = [{"role": "user", "content": "Hello"}]


class Caller:
    """Calls the service as any client would."""

    def __init__(self, service: CompletionService) -> None:
        self.base = service.url
        self.headers = {"Authorization": f"Bearer {service.key}"}

    def post(self, path: str, body: Any, **options: Any) -> requests.Response:
        return requests.post(f"{self.base}/{path}", **{"json": body, "headers": self.headers, "timeout": 10, **options})

    def get(self, path: str, **options: Any) -> requests.Response:
        return requests.get(f"{self.base}/{path}", **{"headers": self.headers, "timeout": 10, **options})

    def chat(self, messages: Any = HELLO, model: str = "acme/swift", **fields: Any) -> requests.Response:
        return self.post("chat/completions", {"model": model, "messages": messages, **fields})

    def error(self, messages: Any = HELLO, **fields: Any) -> dict[str, Any]:
        response = self.chat(messages, **fields)
        body = response.json()
        assert set(body) <= {"error", "reset_in"}
        assert body["error"]["message"]
        return {"http": response.status_code, **body["error"]}

    def streaming(self, body: dict[str, Any] | None = None, **options: Any) -> requests.Response:
        """A stream whose body has not been read."""
        asked = {"model": "acme/swift", "messages": HELLO, "stream": True, **(body or {})}
        return self.post("chat/completions", asked, stream=True, **options)

    def stream(self, **fields: Any) -> list[dict[str, Any]]:
        """The chunks of a stream that ends as it should."""
        events = events_of(self.chat(stream=True, **fields).content)
        assert events.pop() == "[DONE]"
        return [json.loads(event) for event in events]


def events_of(body: bytes) -> list[str]:
    """The data of a stream's events; comments are passed over."""
    lines = body.decode().replace("\r\n", "\n").split("\n")
    return [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOON)


@pytest.fixture
def service(clock: MovableClock) -> Iterator[CompletionService]:
    with CompletionService(clock) as running:
        yield running


@pytest.fixture
def api(service: CompletionService) -> Caller:
    return Caller(service)
