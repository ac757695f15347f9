"""The webhook's address as the gateway sees it: https, a certificate that holds, and our own bot behind it."""

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from bot.doctor.finding import Finding, fail, ok, warn
from bot.http import TRUSTED, Http, HttpError, Response

PATIENCE = 10.0  # seconds
RENEWED_BEFORE = timedelta(days=14)
ABOUT = "webhook"
NOT_REACHED = "does `bot serve` run, and does the proxy lead to it?"


def public_address(url: str, path: str, now: datetime) -> Iterator[Finding]:
    """Look at the bot from outside. ``url`` is its public base address, ``path`` the webhook's."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        yield fail(ABOUT, f"{url} is not https", "put a proxy with a certificate before the bot (docs/going-live.md)")
    else:
        yield (held := certificate(parts.hostname or "", parts.port or 443, now))
        if held.state == "fail":
            return
    try:
        with closing(Http(url, seconds=PATIENCE, connections=1)) as http:
            answer = http.post(path, b"{}", {"Content-Type": "application/json"})
            if answer.status >= 500:  # the proxy's own
                yield fail(ABOUT, f"{url}{path} answers {answer.status}: the bot is not reached", NOT_REACHED)
                return
            yield _webhook(f"{url}{path}", answer)
            yield _ready(http.get("/readyz", {}))
    except HttpError as error:
        yield fail(ABOUT, str(error), NOT_REACHED)


def certificate(host: str, port: int, now: datetime, trusted: str = TRUSTED) -> Finding:
    """Whether the certificate holds, and for how long."""
    context = ssl.create_default_context(cafile=trusted)
    try:
        with socket.create_connection((host, port), PATIENCE) as plain:
            with context.wrap_socket(plain, server_hostname=host) as secure:
                (until,) = (value for key, value in (secure.getpeercert() or {}).items() if key == "notAfter")
    except ssl.SSLCertVerificationError as error:
        return fail(ABOUT, f"its certificate is refused: {error.verify_message}", "renew it, for this very name")
    except OSError as error:
        return fail(ABOUT, f"no connection to {host}:{port}: {error.strerror or error}", "check the name and the proxy")
    left = datetime.fromtimestamp(ssl.cert_time_to_seconds(str(until)), UTC) - now
    what = f"its certificate holds for {left.days} more days"
    return ok(ABOUT, what) if left > RENEWED_BEFORE else warn(ABOUT, what, "see why it is not renewed")


def _webhook(url: str, answer: Response) -> Finding:
    """An unsigned request is to be refused in our own words."""
    if answer.status == 401 and "X-Service-Timestamp" in _message(answer):
        return ok(ABOUT, f"{url} is the bot")
    what = f"{url} answers {answer.status} to what should be a 401 of the bot's"
    return fail(ABOUT, what, "see where the proxy leads to, and BOT_WEBHOOK_PATH")


def _ready(answer: Response) -> Finding:
    if answer.status == 200:
        return ok(ABOUT, "the bot says that it is ready")
    if answer.status == 503:
        return fail(ABOUT, f"the bot is not ready: {_message(answer)}", "see its log")
    return ok(ABOUT, f"/readyz is not to be seen from outside ({answer.status})")


def _message(answer: Response) -> str:
    try:
        return str(json.loads(answer.body)["message"])
    except (ValueError, KeyError, TypeError):
        return ""
