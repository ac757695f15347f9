"""The floor of `benchmarks.conversation`: one loop, by hand, that keeps each event and each reply before it answers.

``python -m benchmarks.floor FOLDER PORT GATEWAY``. All events that are read in one turn of the loop are one commit
(synchronous=FULL) with their sessions and replies; only then are they acknowledged and the replies sent.
"""

import asyncio
import hashlib
import hmac
import json
import signal
import sqlite3
import sys
from collections import deque
from pathlib import Path
from typing import Any

from benchmarks.conversation import SECRET, Requests

MOST_CONNECTIONS = 256
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
_SEEN = "INSERT OR IGNORE INTO inbox VALUES (?, ?)"
_SESSION = "INSERT INTO sessions VALUES (?, ?) ON CONFLICT (contact) DO UPDATE SET state = excluded.state"


class Floor:
    """The store, the conversation, and the connections to the gateway."""

    def __init__(self, folder: Path, gateway: int) -> None:
        self._gateway = gateway
        self._store = sqlite3.connect(folder / "floor.db", isolation_level=None)
        self._store.execute("PRAGMA journal_mode = WAL")
        self._store.execute("PRAGMA synchronous = FULL")
        self._store.execute("CREATE TABLE inbox (delivery TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID")
        self._store.execute("CREATE TABLE sessions (contact TEXT PRIMARY KEY, state TEXT) WITHOUT ROWID")
        self._store.execute("CREATE TABLE outbox (id INTEGER PRIMARY KEY, body BLOB)")
        self._sessions: dict[str, dict[str, Any]] = {}
        self._events: list[tuple[asyncio.Transport, str, bytes]] = []
        self._sent: list[tuple[int]] = []
        self._free: list[Reply] = []
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._connecting: list[asyncio.Task[Any]] = []
        self._id = 0

    def receive(self, transport: asyncio.Transport, delivery: str, body: bytes) -> None:
        """Take an event; what has come in this turn of the loop is committed at its end."""
        if not self._events:
            asyncio.get_running_loop().call_soon(self._commit)
        self._events.append((transport, delivery, body))

    def free(self, reply: "Reply") -> None:
        """A connection to the gateway can be used."""
        if self._waiting:
            reply.send(*self._waiting.popleft())
        else:
            self._free.append(reply)

    def sent(self, id: int) -> None:
        """A reply has reached the gateway."""
        self._sent.append((id,))

    def _commit(self) -> None:
        events, self._events = self._events, []
        sent, self._sent = self._sent, []
        replies: list[tuple[int, bytes]] = []
        self._store.execute("BEGIN IMMEDIATE")
        for _, delivery, body in events:
            if self._store.execute(_SEEN, (delivery, body)).rowcount:
                self._id += 1
                contact, state, message = self._turn(json.loads(body)["data"])
                self._store.execute(_SESSION, (contact, json.dumps(state)))
                replies.append((self._id, json.dumps({"to": contact, **message}).encode()))
        self._store.executemany("INSERT INTO outbox VALUES (?, ?)", replies)
        self._store.executemany("DELETE FROM outbox WHERE id = ?", sent)
        self._store.execute("COMMIT")
        for transport, _, _ in events:
            transport.write(OK)
        for reply in replies:
            self._send(*reply)

    def _turn(self, data: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """The contact's new state and the reply."""
        contact = data["from"]
        state = self._sessions.get(contact, {})
        tapped = data.get("interactive", {}).get("button", {}).get("title")
        match state.get("at"), tapped:
            case "colour", str():
                state, message = {"at": "count", "colour": tapped}, _text("quantity 1-99?")
            case "count", None if data["body"].isdigit() and 1 <= int(data["body"]) <= 99:
                state = {**state, "at": "confirm", "count": int(data["body"])}
                message = _buttons(f"Confirm-{state['count']}x{state['colour']}", "Yes", "No")
            case "count", None:
                message = _text("invalid number, quantity 1-99?")
            case "confirm", str():
                state, message = {}, _text(f"Done-{state['count']}x{state['colour']}")
            case _:
                state, message = {"at": "colour"}, _buttons("Welcome! Pick a colour", "Red", "Blue", "Green")
        self._sessions[contact] = state
        return contact, state, message

    def _send(self, id: int, body: bytes) -> None:
        if self._free:
            self._free.pop().send(id, body)
            return
        self._waiting.append((id, body))
        if len(self._connecting) < MOST_CONNECTIONS:
            loop = asyncio.get_running_loop()
            connecting = loop.create_connection(lambda: Reply(self), "127.0.0.1", self._gateway)
            self._connecting.append(loop.create_task(connecting))


def _text(body: str) -> dict[str, Any]:
    return {"type": "text", "text": {"body": body}}


def _buttons(body: str, *titles: str) -> dict[str, Any]:
    buttons = [{"type": "reply", "reply": {"id": title.lower(), "title": title}} for title in titles]
    return {
        "type": "interactive",
        "interactive": {"type": "button", "body": {"text": body}, "action": {"buttons": buttons}},
    }


class Hook(Requests):
    """A connection of the gateway's."""

    def __init__(self, floor: Floor) -> None:
        super().__init__()
        self._floor = floor

    def message(self, head: bytes, body: bytes) -> None:
        headers = {}
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        signed = headers[b"x-service-timestamp"] + b"." + body
        signature = b"sha256=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest().encode()
        assert hmac.compare_digest(signature, headers[b"x-service-signature"])
        self._floor.receive(self.transport, headers[b"x-service-delivery-id"].decode(), body)


class Reply(Requests):
    """A connection to the gateway."""

    def __init__(self, floor: Floor) -> None:
        super().__init__()
        self._floor = floor
        self._id = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._floor.free(self)

    def send(self, id: int, body: bytes) -> None:
        """Send a reply."""
        self._id = id
        head = "POST /external-api/inbox/send-message HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer key\r\n"
        self.transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def message(self, head: bytes, body: bytes) -> None:
        self._floor.sent(self._id)
        self._floor.free(self)


async def serve(folder: Path, port: int, gateway: int) -> None:
    """Serve until a signal comes."""
    floor, loop, stopped = Floor(folder, gateway), asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    await loop.create_server(lambda: Hook(floor), "127.0.0.1", port, backlog=1024)
    await stopped.wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
