"""What the world answers to what a bot asks: handlers, services, models, and who keeps files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.checker.exploring.phrases import short

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Returns:
    """A handler, or a verb of the bot's own, returns a value, or it ends with an error by its name.

    ``value`` is as a test writes it: text, numbers, lists, maps.
    """

    name: str
    value: Any = None
    fails: str | None = None

    @property
    def result(self) -> Line:
        """What a test says of it under `handlers`."""
        return {"returns": self.value} if self.fails is None else {"fails": self.fails}

    @property
    def sentence(self) -> str:
        """The same for people."""
        if self.fails is not None:
            return f"{self.name} fails: {self.fails}"
        return f"{self.name} returns {short(self.value)}"


@dataclass(frozen=True, slots=True)
class Responds:
    """A service answers a request: a status with JSON or a text, or it fails."""

    request: str
    status: int = 200
    json: Any = None
    text: str | None = None
    fails: str | None = None

    @property
    def line(self) -> Line:
        """The line of a test."""
        if self.fails is not None:
            return {"http": {self.request: {"fails": self.fails}}}
        content = {} if self.json is None else {"json": self.json}
        content |= {} if self.text is None else {"text": self.text}
        return {"http": {self.request: {"status": self.status, **content} if content else self.status}}

    @property
    def sentence(self) -> str:
        """The same for people."""
        if self.fails is not None:
            return f"{self.request} fails: {self.fails}"
        said = self.json if self.text is None else self.text
        return f"{self.request} answers {self.status}" + ("" if said is None else f": {short(said)}")


@dataclass(frozen=True, slots=True)
class Speaks:
    """A model says something, calls tools by their names, or fails."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    fails: str | None = None

    @property
    def line(self) -> Line:
        """The line of a test."""
        if self.fails is not None:
            return {"model": {"fails": self.fails}}
        says = {"says": self.text} if self.text else {}
        calls = {"calls": [{name: dict(arguments)} for name, arguments in self.calls]} if self.calls else {}
        return {"model": {**says, **calls}}

    @property
    def sentence(self) -> str:
        """The same for people."""
        if self.fails is not None:
            return f"the model fails: {self.fails}"
        return f"the model says {short(self.text)}" if self.text else f"the model calls {self.calls[0][0]}"


@dataclass(frozen=True, slots=True)
class Keeps:
    """The file that the contact sent is kept."""

    sentence: str = "the file is kept"


Answer = Returns | Responds | Speaks | Keeps
