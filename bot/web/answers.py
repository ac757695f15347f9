"""Answers in JSON."""

import json
from functools import lru_cache

from flask import Response

RETRY_AFTER = "5"  # seconds


def say(status: int, text: str, retry_after: str | None = None) -> Response:
    """An answer in JSON: ``ok`` says whether it went well, ``message`` what happened."""
    response = Response(_body(status < 400, text), status, content_type="application/json")
    if retry_after is not None:
        response.headers["Retry-After"] = retry_after
    return response


@lru_cache(64)
def _body(ok: bool, text: str) -> bytes:
    return json.dumps({"ok": ok, "message": text}).encode()
