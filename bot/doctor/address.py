"""The webhook's address as the gateway sees it: https, a certificate that holds, and our own bot behind it."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from bot.doctor.check_results import CheckResult, fail, ok, warn
from bot.http_client import CERTIFICATE_REFUSED, HttpClient, HttpError, Response

PATIENCE = 5.0  # seconds
RENEWED_BEFORE = timedelta(days=14)
ABOUT = "webhook"
NOT_REACHED = "does `bot serve` run, and does the proxy lead to it?"
RENEW = "have it replaced by one for this very name, from an authority that the gateway knows"


def public_address(url: str, path: str, now: datetime) -> Iterator[CheckResult]:
    """Look at the bot from outside. ``url`` is its public base address, ``path`` the webhook's."""
    if urlsplit(url).scheme != "https":
        yield fail(ABOUT, f"{url} is not https", "put a proxy with a certificate before the bot (docs/going-live.md)")
    unsigned = {"Content-Type": "application/json"}
    try:
        with closing(HttpClient(url, seconds=PATIENCE, connections=1, own=True)) as http:
            with http.stream("POST", path, b"{}", unsigned, idle_seconds=PATIENCE, seconds=PATIENCE) as answer:
                if (ends := answer.certificate_ends()) is not None:
                    yield certificate(ends, now)
                whole = Response(answer.status, answer.headers, b"".join(answer.chunks))
            if whole.status >= 500:  # the proxy's own
                yield fail(ABOUT, f"{url}{path} answers {whole.status}: the bot is not reached", NOT_REACHED)
                return
            yield _webhook(f"{url}{path}", whole)
            yield _ready(http.get("/readyz", {}))
    except HttpError as error:
        refused = CERTIFICATE_REFUSED in str(error)
        yield fail(ABOUT, str(error), RENEW if refused else error.advice or NOT_REACHED)


def certificate(ends: datetime, now: datetime) -> CheckResult:
    """How long the certificate, which has been accepted, still holds."""
    left = ends - now
    what = f"its certificate holds for {left.days} more days"
    return ok(ABOUT, what) if left > RENEWED_BEFORE else warn(ABOUT, what, "see why it is not renewed")


def _webhook(url: str, answer: Response) -> CheckResult:
    """An unsigned request is to be refused in our own words."""
    if answer.status == 401 and "X-Service-Timestamp" in _message(answer):
        return ok(ABOUT, f"{url} is the bot")
    what = f"{url} answers {answer.status} to what should be a 401 of the bot's"
    return fail(ABOUT, what, "see where the proxy leads to, and BOT_WEBHOOK_PATH")


def _ready(answer: Response) -> CheckResult:
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
