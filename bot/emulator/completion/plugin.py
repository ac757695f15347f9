"""The plugin's endpoints: domains and versions, with a throttle of their own (spec: "POST /plugin/check", "Limits")."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bot.emulator.completion.answers import refuse
from bot.emulator.completion.limits import DAY, MINUTE, Throttle

PER_MINUTE = 30
"""The stricter end of the specification's 30 to 60."""


class Plugin:
    """The plugin as the service knows it: its newest ``version``, and on how many ``domains`` it may run."""

    def __init__(self) -> None:
        self.version = "2.0.0"
        self.most_domains: int | None = None
        self.minute = Throttle(PER_MINUTE, MINUTE)
        self.day = Throttle(None, DAY)
        self._domains: set[str] = set()

    def take(self, now: datetime) -> None:
        """Count a request to one of the plugin's endpoints. Raises `Refusal`."""
        self.day.take(now)
        self.minute.take(now)

    def check(self, body: Mapping[str, Any]) -> str:
        """The status of a plugin on a domain, which is known from then on. Raises `Refusal`."""
        domain = required_domain(body)
        version = body.get("version")
        if version is not None and not isinstance(version, str):
            refuse("invalid_request_error", "version must be a string")
        if self.most_domains is not None and len(self._domains | {domain}) > self.most_domains:
            return "domain_limit"
        self._domains.add(domain)
        return "update_required" if version is not None and _order(version) < _order(self.version) else "active"


def required_domain(body: Mapping[str, Any]) -> str:
    """The domain of a request. Raises `Refusal`."""
    domain = body.get("domain")
    if not isinstance(domain, str) or not domain:
        refuse("invalid_request_error", "domain is required")
    return domain


def _order(version: str) -> list[int]:
    parts = version.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        refuse("invalid_request_error", "version must be numbers divided by dots")
    return [int(part) for part in parts]
