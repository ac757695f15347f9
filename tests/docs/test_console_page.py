"""docs/console.md: the proxy that it shows passes on the console and what the outside needs of the bot, in a real Caddy."""

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import requests

from tests.patience import PATIENCE
from tests.ports import reserved_port
from tests.server.process.serving import until
from tests.tools import CADDY

PAGE = (Path(__file__).parents[2] / "docs" / "console.md").read_text()


@contextmanager
def server(name: str) -> Iterator[int]:
    """A server that says its name at every path; its port."""

    class Names(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(name)))
            self.end_headers()
            self.wfile.write(name.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Names) as served:
        threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True).start()
        yield served.server_port
        served.shutdown()


def answers_at(address: str, path: str) -> str:
    """The name of the server that is reached; an empty text if none is."""
    try:
        answer = requests.get(f"{address}{path}", timeout=PATIENCE)
    except requests.ConnectionError:
        return "no proxy"
    return answer.text if answer.status_code == 200 else ""


def test_the_proxy_passes_on_the_console_and_the_webhook_and_nothing_that_is_ours_alone(tmp_path: Path) -> None:
    CADDY.require()
    found = re.search(r"```text\n(bot\.example \{.*?\n\})\n```", PAGE, re.DOTALL)
    assert found is not None
    with server("bot") as bot, server("console") as console, reserved_port() as port:
        address = f"http://127.0.0.1:{port}"
        text = found[1].replace("bot.example", address).replace(":8001", f":{console}").replace(":8000", f":{bot}")
        (tmp_path / "Caddyfile").write_text(f"{{\n\tadmin off\n}}\n{text}\n")
        line = ["caddy", "run", "--config", str(tmp_path / "Caddyfile"), "--adapter", "caddyfile"]
        process = subprocess.Popen(
            line, env={"HOME": str(tmp_path)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            until(lambda: answers_at(address, "/webhook") == "bot")
            assert [answers_at(address, path) for path in ("/console", "/console/log-in")] == ["console"] * 2
            assert answers_at(address, "/signals/paid/x") == "bot"
            inside = (
                "/metrics",
                "/api/signals",
                "/api/flows/main/start",
                "/readyz",
                "/healthz",
                "/",
                "/signals/../metrics",
                "//metrics",
            )
            assert [answers_at(address, path) for path in inside] == [""] * len(inside)
        finally:
            process.kill()
            process.wait()
