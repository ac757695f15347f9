"""Answers in JSON."""

import json
from functools import lru_cache

from flask import Response
from werkzeug.exceptions import HTTPException

_REFUSED = {
    404: "there is nothing at this address",
    405: "this method is not taken at this address",
    413: "the body is too large",
}
RETRY_AFTER = "5"  # seconds


def say(status: int, text: str, retry_after: str | None = None) -> Response:
    """An answer in JSON: ``ok`` says whether it went well, ``message`` what happened."""
    response = Response(_body(status < 400, text), status, content_type="application/json")
    if retry_after is not None:
        response.headers["Retry-After"] = retry_after
    return response


def refused(error: HTTPException) -> Response:
    """The answer to a request that reaches nobody, in the same form."""
    status = error.code or 400
    response = say(status, _REFUSED.get(status, error.name.lower()))
    response.headers.extend((name, value) for name, value in error.get_headers() if name == "Allow")
    return response


@lru_cache(64)
def _body(ok: bool, text: str) -> bytes:
    return json.dumps({"ok": ok, "message": text}).encode()
