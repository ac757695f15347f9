"""What a kind of step declares of itself, so that a bot is checked by code that knows no kind."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from bot.lang.nodes import Mark
from bot.lang.templates import Expression, Template
from bot.steps.doors import Assignment, Door


class Falls(Enum):
    """Where an outcome leads when nothing is written for it."""

    THEN = "then"  # where the step's `then` leads
    STAY = "stay"  # nowhere: the step goes on waiting
    RETRY = "retry"  # to the step's `retry`
    TIMEOUT = "timeout"  # to the inherited `timeout`: there is no built-in one
    ERRORS = "errors"  # to the inherited `errors.else`: there is no built-in one
    WRITTEN = "written"  # it must be written on the step


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way in which a step can end. ``success`` says whether `save`, `set` and `tag` happen."""

    door: Door | None
    falls: Falls
    success: bool = True


@dataclass(frozen=True, slots=True)
class Used:
    """A template or an expression of a step, and the names beyond the flow's own that it may use."""

    text: Template | Expression
    extra: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FlowRun:
    """A flow that a step opens, what goes in, and what comes out: our variable by theirs.

    ``listed``: what comes out are lists.
    """

    flow: str
    mark: Mark
    inputs: tuple[Assignment, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    listed: bool = False


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A text that is understood as the answer ``owner``; ``mark`` None: it stands where the step does.

    ``before_words``: no word is heard before it. ``always``: it is heard without a condition.
    """

    text: str
    owner: str
    mark: Mark | None = None
    before_words: bool = False
    always: bool = True


@dataclass(frozen=True, slots=True)
class Saved:
    """What a step may save, as `bot.steps.doors.value_of` read it."""

    value: Any
    mark: Mark


@dataclass(frozen=True, slots=True)
class Need:
    """A variable that must be known before a step can be left by the exit ``way``."""

    variable: str
    way: str
    mark: Mark
