"""The account behind a key: its models, what it may use, and its plugin. The API's lock guards all of it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.emulator.completion.answers import refuse
from bot.emulator.completion.behaviour import Behaviour
from bot.emulator.completion.limits import MINUTE, Quotas, Throttle
from bot.emulator.completion.plugin import Plugin

EXCLUSIVE = ("plus/", "pro/")
"""The two reserved prefixes; the specification does not show the real ones."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the list. ``id`` is a slug ``<provider>/<model>``; ``tools`` says whether it can call any."""

    id: str
    tools: bool = True

    def record(self) -> dict[str, str]:
        """The item of the model list."""
        provider, _, name = self.id.partition("/")
        return {"id": self.id, "object": "model", "owned_by": provider, "name": name.replace("-", " ").title()}


class Account:
    """One key and what it opens. ``closed`` says why it no longer does; ``package`` holds the slugs of its package.

    Without ``models`` the key opens every slug, and each can call tools.
    """

    def __init__(
        self,
        behaviour: Behaviour,
        *,
        key: str,
        models: Iterable[Model | str] | None,
        package: Collection[str] | None,
        per_minute: int | None,
        quotas: Mapping[str, int],
    ) -> None:
        self.key = key
        self.closed: str | None = None
        self.models = {m.id: m for m in (Model(m) if isinstance(m, str) else m for m in models or ())}
        self._opens_all = models is None
        self.package = package
        self.throttle = Throttle(per_minute, MINUTE)
        self.quotas = Quotas(quotas)
        self.plugin = Plugin()
        self._behaviour = behaviour

    def check_key(self, key: Any) -> None:
        """Raise `Refusal` for a key that is missing or wrong, or no longer opens anything."""
        if key is None:
            refuse("invalid_request_error", "the API key is missing", 401)
        if key != self.key:
            refuse("invalid_request_error", "the API key is wrong", 401)
        if self.closed is not None:
            refuse("invalid_request_error", self.closed, 401)

    def take(self, endpoint: str, now: datetime) -> None:
        """Count a request to an endpoint. Raises `Refusal`."""
        if endpoint.startswith("plugin/"):
            self.plugin.take(now)
        else:
            self.throttle.take(now)

    def check_model(self, slug: str, *, with_tools: bool) -> None:
        """Whether a model may be used, and with tools. Raises `Refusal`."""
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
