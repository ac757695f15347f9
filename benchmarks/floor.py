"""The floor: the same server and the same group commit, with nothing in between but a check of the signature.

``python -m benchmarks.floor STORE`` prints its address.
"""

import hashlib
import hmac
import signal
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path

from flask import Flask, request

from benchmarks.load import SECRET
from bot.clock import SystemClock
from bot.store.inbox import InboxWriter
from bot.store.store_schema import migrate
from bot.web.web_server import WebServer


def main() -> None:
    """Serve until interrupted."""
    store = Path(sys.argv[1])
    migrate(store)
    inbox = InboxWriter(store, SystemClock())
    app = Flask("floor")

    @app.post("/webhook")
    def webhook() -> str:
        body, headers = request.get_data(cache=False), request.headers
        signed = headers["X-Service-Timestamp"].encode() + b"." + body
        digest = "sha256=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(digest, headers["X-Service-Signature"])
        delivery = headers["X-Service-Delivery-Id"]
        inbox.append(delivery, delivery, "message.inbound", None, datetime.now(UTC), body, True)
        return "ok"

    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = WebServer(app, listener)
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    server.run()
    inbox.close()


if __name__ == "__main__":
    main()
