"""The question to a model and its answer (spec: Chat request, Chat response)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.ai.ai_errors import InvalidRequest
from bot.core.text import estimate, estimate_messages, most_tokens
from bot.core.values import Usage

MAX_TOKENS = 100_000
MAX_TEMPERATURE = 2


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question to a model. ``messages``, ``tools`` and ``tool_choice`` are in the wire form.

    ``max_tokens`` is how long the answer may be. What is None is left to the service.
    """

    model: str
    messages: Sequence[Mapping[str, Any]]
    max_tokens: int = 1024
    temperature: float | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: str | Mapping[str, Any] | Sequence[Any] | None = None
    reasoning_split: bool | None = None

    def body(self, *, stream: bool = False) -> dict[str, Any]:
        """The request's body. Raises `InvalidRequest` where it breaks a limit of the service (spec: Limits)."""
        if not self.model or not self.messages:
            raise InvalidRequest("a request needs a model and at least one message")
        if not 1 <= self.max_tokens <= MAX_TOKENS:
            raise InvalidRequest(f"max_tokens is {self.max_tokens}: it must be from 1 to {MAX_TOKENS}")
        if self.temperature is not None and not 0 <= self.temperature <= MAX_TEMPERATURE:
            raise InvalidRequest(f"temperature is {self.temperature}: it must be from 0 to {MAX_TEMPERATURE}")
        body: dict[str, Any] = {"model": self.model, "messages": list(self.messages), "max_tokens": self.max_tokens}
        optional = {
            "temperature": self.temperature,
            "stream": stream or None,
            "tools": list(self.tools) or None,
            "tool_choice": self.tool_choice,
            "reasoning_split": self.reasoning_split,
        }
        return {**body, **{name: value for name, value in optional.items() if value is not None}}

    @property
    def prompt_tokens(self) -> int:
        """About how many tokens the question has."""
        return estimate_messages(self.messages) + (estimate(json.dumps(list(self.tools))) if self.tools else 0)

    @property
    def most_tokens(self) -> int:
        """The most tokens that a service can plausibly report for this question and its answer."""
        return most_tokens(self.prompt_tokens, self.max_tokens)

    def estimate(self, answer: str) -> Usage:
        """What this question and an answer come to, where the service does not say."""
        return Usage(self.model, self.prompt_tokens, min(estimate(answer), self.max_tokens), estimated=True)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for. ``arguments`` are its text, JSON if the model is right."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer. ``finish``: ``stop``, ``length`` (it was cut there), ``tool_calls``, or the service's word."""

    id: str
    model: str
    text: str
    calls: tuple[ToolCall, ...]
    finish: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that can be asked."""

    id: str
    owned_by: str
    name: str


@dataclass(frozen=True, slots=True)
class PluginCheck:
    """What the service says of a plugin's key and domain. ``status`` is ``active``, ``update_required`` or
    ``domain_limit``; ``details`` is all that was said."""

    status: str
    details: Mapping[str, Any]
