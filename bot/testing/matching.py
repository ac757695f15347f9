"""Which request a test means: ``GET crm:/orders/*`` for all orders, whatever their query."""

import re


def is_meant(written: str, request: str) -> bool:
    """Whether what is written stands for a request. ``*`` is anything; where it has no query, any query fits."""
    if "?" not in written:
        request = request.partition("?")[0]
    return re.fullmatch(re.escape(written).replace(r"\*", ".*"), request) is not None
