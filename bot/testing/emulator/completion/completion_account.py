"""The emulated account behind a key: its models, limits, quotas and plugin. The API's lock guards it."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bot.testing.emulator.completion.model_answers import CompletionBehaviour, refuse

PER_MINUTE = 30
"""Requests a minute: the lower end of the specification's 30 to 60."""


class Plugin:
    """The plugin as the service knows it: its newest ``version``, and on how many ``domains`` it may run."""

    def __init__(self) -> None:
        self.version = "2.0.0"
        self.most_domains: int | None = None
        self.minute = Throttle(PER_MINUTE, MINUTE)
        self.day = Throttle(None, DAY)
        self._domains: set[str] = set()

    def take(self, now: datetime) -> None:
        """Count a request to one of the plugin's endpoints. Raises `CompletionRefusal`."""
        self.day.take(now)
        self.minute.take(now)

    def check(self, body: Mapping[str, Any]) -> str:
        """The status of a plugin on a domain. From then on the domain is known. Raises `CompletionRefusal`."""
        domain = required_domain(body)
        version = body.get("version")
        if version is not None and not isinstance(version, str):
            refuse("invalid_request_error", "version must be a string")
        if self.most_domains is not None and len(self._domains | {domain}) > self.most_domains:
            return "domain_limit"
        self._domains.add(domain)
        return "update_required" if version is not None and _order(version) < _order(self.version) else "active"


def required_domain(body: Mapping[str, Any]) -> str:
    """The domain of a request. Raises `CompletionRefusal`."""
    domain = body.get("domain")
    if not isinstance(domain, str) or not domain:
        refuse("invalid_request_error", "domain is required")
    return domain


def _order(version: str) -> list[int]:
    parts = version.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        refuse("invalid_request_error", "version must be numbers divided by dots")
    return [int(part) for part in parts]


MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
WINDOWS = {"5h": timedelta(hours=5), "weekly": timedelta(days=7), "monthly_exhausted": timedelta(days=30)}


class Throttle:
    """A limit of requests in a sliding window; no limit if ``limit`` is None."""

    def __init__(self, limit: int | None, length: timedelta) -> None:
        self.limit = limit
        self._length = length
        self._times: deque[datetime] = deque()

    def take(self, now: datetime) -> None:
        """Count a request. Raises `CompletionRefusal` when there were too many."""
        if self.limit is None:
            return
        while self._times and self._times[0] <= now - self._length:
            self._times.popleft()
        if len(self._times) >= self.limit:
            refuse("rate_limit_exceeded", "too many requests; slow down")
        self._times.append(now)


class Quotas:
    """Quotas of tokens by kind of window (``5h``, ``weekly``, ``monthly_exhausted``).

    A window opens with its first use.
    """

    def __init__(self, tokens: Mapping[str, int]) -> None:
        if strange := tokens.keys() - WINDOWS.keys():
            raise ValueError(f"a quota is one of {', '.join(WINDOWS)}, not {', '.join(strange)}")
        self._tokens = dict(tokens)
        self._used: dict[str, tuple[datetime, int]] = {}

    def check(self, now: datetime) -> None:
        """Raise `CompletionRefusal`, with the time until the window ends, if a quota is used up."""
        for kind, most in self._tokens.items():
            began, used = self._window(kind, now)
            if used >= most:
                left = (began + WINDOWS[kind] - now).total_seconds()
                refuse("quota_exceeded", f"your {kind} quota is used up", kind=kind, reset_in=round(left))

    def use(self, tokens: int, now: datetime) -> None:
        """Deduct what an answer has used."""
        for kind in self._tokens:
            began, used = self._window(kind, now)
            self._used[kind] = (began, used + tokens)

    def _window(self, kind: str, now: datetime) -> tuple[datetime, int]:
        began, used = self._used.get(kind, (now, 0))
        return (began, used) if now < began + WINDOWS[kind] else (now, 0)


EXCLUSIVE = ("plus/", "pro/")
"""The two reserved prefixes. The specification does not show the real ones."""


@dataclass(frozen=True, slots=True)
class EmulatedModel:
    """A model of the list. ``id`` is a slug ``<provider>/<model>``; ``tools``: it can call tools."""

    id: str
    tools: bool = True

    def record(self) -> dict[str, str]:
        """The item of the model list."""
        provider, _, name = self.id.partition("/")
        return {"id": self.id, "object": "model", "owned_by": provider, "name": name.replace("-", " ").title()}


class CompletionAccount:
    """One key and the models that it opens. ``closed`` says why it no longer opens any; ``package`` are the slugs of
    its package.

    Without ``models`` the key opens every slug, and each model can call tools.
    """

    def __init__(
        self,
        behaviour: CompletionBehaviour,
        *,
        key: str,
        models: Iterable[EmulatedModel | str] | None,
        package: Collection[str] | None,
        per_minute: int | None,
        quotas: Mapping[str, int],
    ) -> None:
        self.key = key
        self.closed: str | None = None
        self.models = {m.id: m for m in (EmulatedModel(m) if isinstance(m, str) else m for m in models or ())}
        self._opens_all = models is None
        self.package = package
        self.throttle = Throttle(per_minute, MINUTE)
        self.quotas = Quotas(quotas)
        self.plugin = Plugin()
        self._behaviour = behaviour

    def check_key(self, key: Any) -> None:
        """Raise `CompletionRefusal` for a key that is missing, wrong or closed."""
        if key is None:
            refuse("invalid_request_error", "the API key is missing", 401)
        if key != self.key:
            refuse("invalid_request_error", "the API key is wrong", 401)
        if self.closed is not None:
            refuse("invalid_request_error", self.closed, 401)

    def take(self, endpoint: str, now: datetime) -> None:
        """Count a request to an endpoint. Raises `CompletionRefusal`."""
        if endpoint.startswith("plugin/"):
            self.plugin.take(now)
        else:
            self.throttle.take(now)

    def check_model(self, slug: str, *, with_tools: bool) -> None:
        """Check that a model may be used, and with tools. Raises `CompletionRefusal`."""
        if self._opens_all:
            return
        model = self.models.get(slug)
        if model is None:
            refuse(self._behaviour.unknown_model, f"there is no model {slug}")
        if self.package is None and slug.startswith(EXCLUSIVE):
            refuse("model_requires_package", f"{slug} is only for customers with an active package")
        if self.package is not None and slug not in self.package:
            refuse("model_not_in_package", f"{slug} is not in your package")
        if with_tools and not model.tools:
            refuse("model_no_tool_support", f"{slug} cannot call tools; use a model that can")
