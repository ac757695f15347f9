"""Faults that a test can switch on in the emulator."""

import random
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.testing.emulator.request_rules import CODES

REFUSALS = tuple(code for code in CODES if code not in ("unauthorized", "RATE_LIMIT_EXCEEDED"))
"""The codes with which a test can refuse a message. The other two codes are faults with names of their own."""

REQUEST_FAULTS = (
    "slow",
    "timeout",
    "reset_before",
    "reset_after",
    "rate_limited",
    "error_before",
    "error_after",
    "send_failed",
    "refused_type",
    "unauthorized",
    "truncated",
    "garbage",
    "headers",
    *REFUSALS,
)
DELIVERY_FAULTS = ("double_delivery", "double_event")


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the gateway, as predicates see it. ``query`` is that of a GET."""

    endpoint: str
    method: str = "POST"
    body: dict[str, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None

    @property
    def to(self) -> Any:
        """The recipient of a send, as it was submitted."""
        return self.body.get("to")

    @property
    def type(self) -> Any:
        """The type of a send."""
        return self.body.get("type") or ("template" if self.endpoint == "send-template-message" else None)


@dataclass(eq=False)
class InjectedFault:
    """A fault that is switched on; ``hits`` counts how often it happened."""

    kind: str
    probability: float = 1.0
    count: int | None = None
    when: Callable[[Any], bool] | None = None
    seconds: float = 0.0
    status: int = 500
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
    hits: int = 0

    @property
    def details(self) -> dict[str, str]:
        """The ``error.details`` of a refusal."""
        return {"hint": self.hint} if self.hint else {}


class Faults:
    """The faults of an emulator; safe to change while it runs.

    On requests: ``slow`` (``seconds`` late), ``timeout`` (accepted, then no answer for ``seconds``), ``reset_before``
    and ``reset_after`` (accepting), ``rate_limited`` (429, ``Retry-After`` of ``seconds``), ``error_before`` and
    ``error_after`` (accepting: a bare ``status``, or an envelope with it and a ``code``), ``send_failed`` (502
    ``WHATSAPP_SEND_FAILED``), ``refused_type`` (``VALIDATION_INVALID_TYPE``), ``unauthorized``, ``truncated`` and
    ``garbage`` (accepted, but the answer is cut short or no JSON), ``headers`` (as it would be, but for its headers),
    and any of `REFUSALS`: a message that the code can be about (an interactive one, a template, or any) is refused with
    it. ``headers`` go in place of the emulator's own, whatever the kind is, and ``hint`` into the details of a refusal.
    On events: ``double_delivery`` (twice under one delivery id) and ``double_event`` (twice under two).
    """

    def __init__(self, seed: int, lock: threading.RLock) -> None:
        self._random = random.Random(seed)
        self._lock = lock  # the account's, because a predicate may look at what was sent
        self._active: list[InjectedFault] = []
        self._hits: dict[str, int] = {}

    def add(
        self,
        kind: str,
        *,
        probability: float = 1.0,
        count: int | None = None,
        when: Callable[[Any], bool] | None = None,
        seconds: float = 0.0,
        status: int = 500,
        code: str = "",
        headers: Mapping[str, str] | None = None,
        hint: str = "",
    ) -> InjectedFault:
        """Switch a fault on: with a probability, at most ``count`` times, when ``when`` is true.

        ``when`` gets the `Request`, or the `bot.testing.emulator.event_payloads.Event` that is delivered. Raises
        `ValueError` for an unknown kind.
        """
        if kind not in REQUEST_FAULTS + DELIVERY_FAULTS:
            raise ValueError(f"there is no fault {kind!r}, but these: {', '.join(REQUEST_FAULTS + DELIVERY_FAULTS)}")
        fault = InjectedFault(kind, probability, count, when, seconds, status, code, headers or {}, hint)
        with self._lock:
            self._active.append(fault)
        return fault

    def remove(self, fault: InjectedFault) -> None:
        """Switch a fault off."""
        with self._lock:
            self._active.remove(fault)

    def clear(self) -> None:
        """Switch all faults off. The counts stay."""
        with self._lock:
            self._active.clear()

    @property
    def hits(self) -> dict[str, int]:
        """The number of times that each kind happened."""
        with self._lock:
            return dict(self._hits)

    def draw(self, kinds: Iterable[str], subject: Any) -> list[InjectedFault]:
        """The faults that happen this time: all that are ``slow``, and at most one other. They are counted."""
        if not self._active:
            return []
        with self._lock:
            drawn: list[InjectedFault] = []
            taken = False
            for fault in self._active:
                if fault.kind not in kinds or (taken and fault.kind != "slow") or not self._hits_now(fault, subject):
                    continue
                taken = taken or fault.kind != "slow"
                fault.hits += 1
                self._hits[fault.kind] = self._hits.get(fault.kind, 0) + 1
                drawn.append(fault)
            return drawn

    def _hits_now(self, fault: InjectedFault, subject: Any) -> bool:
        if fault.count is not None and fault.hits >= fault.count:
            return False
        if fault.when is not None and not fault.when(subject):
            return False
        if fault.kind in REFUSALS and not _can_be_about(fault.kind, subject):
            return False
        return fault.probability >= 1 or self._random.random() < fault.probability


def _can_be_about(code: str, request: Request) -> bool:
    """True if a code can answer a request: one of the specification's error tables for it has the code."""
    if code.startswith("INTERACTIVE_"):
        return bool(request.type == "interactive")
    if code.isdecimal():
        return bool(request.type == "template")
    return request.type is not None
