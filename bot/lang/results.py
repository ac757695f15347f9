"""What a stand-in's value is to whoever called: what is written in a test, as the handler's annotation has it."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from bot.core import codec
from bot.core.values import plain
from bot.lang.extensions import Extensions
from bot.lang.handlers import HandlerSpec

Read = Callable[[Any], Any]


class Results:
    """Reads values in place of the results of a bot's handlers and verbs, by their names."""

    def __init__(self, extensions: Extensions) -> None:
        self._calls: Mapping[str, HandlerSpec] = extensions.calls
        self._verbs = {verb.outside.name for verb in extensions.verbs.values() if verb.outside is not None}
        self._readers: dict[str, Read] = {}

    def of(self, name: str, value: Any) -> Any:
        """The value as a conversation has it after such a call."""
        if name in self._verbs:
            return {"outcome": "then", "value": copy.deepcopy(value), "say": codec.dumps([]), "set": {}}
        spec = self._calls.get(name)
        if spec is None:
            return copy.deepcopy(value)
        if name not in self._readers:
            self._readers[name] = reader(spec.returns)
        return plain(self._readers[name](value))


def reader(annotation: Any) -> Read:
    """Make values of an annotation: dates of texts, dataclasses of maps. What does not fit stays as it is."""
    if annotation is Any:
        return copy.deepcopy
    from pydantic import (
        PydanticUserError,
        TypeAdapter,
        ValidationError,
    )  # 100 ms, which bots without stand-ins need not spend

    try:
        adapter = TypeAdapter(annotation)
    except PydanticUserError:  # a class that nothing is known of
        return copy.deepcopy

    def read(value: Any) -> Any:
        try:
            return adapter.validate_python(copy.deepcopy(value))
        except ValidationError:
            return copy.deepcopy(value)

    return read
