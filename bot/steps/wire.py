"""Values as other programs read them: JSON, and the texts of queries, forms and headers."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from bot.core.values import Location, Media
from bot.expressions.formats import shown
from bot.steps.kind import StepFailed


def json_text(value: Any) -> str:
    """A value as JSON: times as in ISO 8601, durations in seconds. Raises `StepFailed` for what JSON has no form for."""
    try:
        return json.dumps(value, default=jsonable, allow_nan=False)  # ASCII alone: halves of characters go through
    except (ValueError, RecursionError):
        raise StepFailed("mismatch", "a value that has no form in JSON") from None


def word(value: Any, what: str) -> str:
    """One value as a text; null is an empty one. Raises `StepFailed` for a list or a record: ``what`` says where."""
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return shown(value.total_seconds())
        case list() | tuple() | Mapping():
            raise StepFailed("mismatch", f"{what} is one value, not several")
    return shown(value)


def encoded(pairs: Iterable[tuple[str, Any]], what: str) -> str:
    """Names and values as a query or a form has them: null is left out, a list is its name several times."""
    words = []
    for name, value in pairs:
        several = value if isinstance(value, list | tuple) else () if value is None else (value,)
        words += [(name, word(item, f'{what}: "{name}"')) for item in several]
    return urlencode(words, errors="replace")


def jsonable(value: Any) -> Any:
    """What stands in JSON for a value that it has no form for."""
    match value:
        case Mapping():
            return dict(value)
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case timedelta():
            return value.total_seconds()
        case Media():
            return {"kind": value.kind, "url": value.url, "caption": value.caption}
        case Location():
            return asdict(value)
    return str(value)
