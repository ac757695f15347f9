"""The scripted hostile model: it obeys an instruction as soon as its prompt contains it."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from bot.checker.exploring.sample_values import value_for_schema
from bot.language.steps.tools import Tool
from bot.testing.conversations.attack_target import HARMLESS, AttackTarget, shows, texts_in
from bot.testing.conversations.transcript_reader import NOW
from bot.testing.emulator.completion import ModelAnswer
from bot.testing.emulator.completion.completion_api import Item, Speaker

MOST_SECONDS = 20.0
"""The longest time for which an answer is held back."""

_SOON = NOW + timedelta(days=6)

RequestBody = Mapping[str, Any]


class Prompt:
    """The newest request to the model, and the step that sent it."""

    def __init__(self, target: AttackTarget, body: RequestBody) -> None:
        self.target = target
        self.body = body

    @property
    def system(self) -> str:
        """All texts in the role of the instructions."""
        return "\n\n".join(str(each["content"]) for each in self.body["messages"] if each["role"] == "system")

    @property
    def offered(self) -> dict[str, Any]:
        """The tools of the request, each with its properties."""
        functions = (tool["function"] for tool in self.body.get("tools") or ())
        return {each["name"]: each["parameters"].get("properties", {}) for each in functions}

    @property
    def heard(self) -> str:
        """The text of the newest message: the contact's message, or the result of a tool."""
        return str(self.body["messages"][-1].get("content") or "")

    def arguments(self, tool: Tool, text: str) -> dict[str, Any]:
        """Arguments that fit a tool, with a text wherever one fits."""
        named = tool.schema.get("$defs", {})
        return {
            name: value_for_schema(schema, named, _SOON, text) for name, schema in tool.schema["properties"].items()
        }

    def call(self, tool: Tool, text: str = "AB123456", **more: Any) -> tuple[str, dict[str, Any]]:
        """A call of a tool."""
        return tool.name, {**self.arguments(tool, text), **more}


AttackScript = Callable[[Prompt], Iterable[Item]]
"""The model's answers, one for each request, from the first request on that contains the instruction."""


class HostileModel:
    """Answers requests, on many threads. ``on_turned`` is called when it begins to obey.

    Before that, and after the end of its script, it says something harmless. ``first`` is the call of the tool that
    brings the instruction, so it comes before. ``real``: another model answers in place of the script. While
    ``may_go_on`` is not set, no request is answered.
    """

    def __init__(
        self,
        target: AttackTarget,
        order: str | None,
        script: AttackScript,
        first: AttackScript | None,
        real: Speaker | None,
        on_turned: Callable[[], None],
    ) -> None:
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.turned = False
        self.requests: list[RequestBody] = []
        self.answers: list[Item] = []
        self._target = target
        self._order = order
        self._script = script
        self._first = first
        self._real = real
        self._on_turned = on_turned
        self._items: Iterator[Item] = iter(())
        self._prompt: Prompt | None = None
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Item:
        """Answer a request."""
        self.may_go_on.wait(MOST_SECONDS)
        with self._lock:
            self.requests.append(body)
            if self._prompt is None:
                self._prompt = Prompt(self._target, body)
            self._prompt.body = body
            answer = self._next(self._prompt)
            self.answers.append(answer)
            return answer

    def _next(self, prompt: Prompt) -> Item:
        if not self.turned and self._is_told(prompt):
            self.turned = True
            self._items = iter(self._script(prompt))
            self._on_turned()
        elif not self.turned and self._first is not None:
            first, self._first = self._first, None
            return next(iter(first(prompt)))
        if self.turned and self._real is not None:
            item = self._real(dict(prompt.body))
            return ModelAnswer(item) if isinstance(item, str) else item
        return next(self._items, ModelAnswer(HARMLESS))

    def _is_told(self, prompt: Prompt) -> bool:
        return self._order is None or any(shows(text, self._order) for text in texts_in(prompt.body["messages"]))


def written_call(name: str, arguments: Any) -> str:
    """A call as some models write it into their text."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"
