"""What a kind of step declares of itself, so that a bot is checked by code that knows no kind."""

from collections.abc import Mapping
from dataclasses import field
from datetime import timedelta
from enum import Enum
from typing import Any

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.language.expressions.templates import Expression, Template
from bot.language.source.problems import Mark
from bot.language.source.yaml_tree import Scalar
from bot.language.steps.transition import Assignment, Target, Transition

REFUSED_WITHIN = timedelta(minutes=15)
"""How long a reply is tried again. A step that waits for the gateway's answer waits as long."""


class DefaultTarget(Enum):
    """Where an outcome leads when nothing is written for it."""

    THEN = "then"  # where the step's `then` leads
    STAY = "stay"  # nowhere: the step goes on waiting
    RETRY = "retry"  # to the step's `retry`
    TIMEOUT = "timeout"  # to the inherited `timeout`: there is no built-in one
    ERRORS = "errors"  # to the inherited `errors.else`: there is no built-in one
    WRITTEN = "written"  # it must be written on the step


class Null(Enum):
    """What happens where a text or an expression evaluates to null."""

    SHOWN = "shown"  # there is a hole in what is shown
    TAKEN = "taken"  # it is a value like any other
    REFUSED = "refused"  # the step fails
    NEEDED = "needed"  # there is a hole in what is shown, and where nothing else stands the step fails


class SavedResult(Enum):
    """What `save` gets on an outcome, as far as the flow file says."""

    VALUE = "value"  # a value, and never null
    PERHAPS = "perhaps"  # a value, or null
    NULL = "null"
    NOTHING = "nothing"  # it does not happen


@immutable
class Given:
    """A condition that must have been true for something to happen; false, where ``holds`` is False."""

    condition: Expression
    holds: bool = True


def only_if(condition: Expression | None) -> tuple[Given, ...]:
    """The condition as a tuple of `Given`; empty where there is none."""
    return () if condition is None else (Given(condition),)


@immutable
class Saved:
    """What a step may save, as `bot.language.steps.transition.value_of` read it. ``altered`` is as in `bot.language.steps.transition.Assignment`."""

    value: Any
    mark: Mark
    altered: Scalar | None = None


@immutable
class Outcome:
    """One way in which a step can end. ``success`` says whether `save`, `set` and `tag` happen.

    It is taken only where all of ``given`` has come about. ``saves`` is what `save` gets, and ``annotation`` what Python
    says of it; ``known`` are variables that have a value then.
    """

    transition: Transition | None
    falls: DefaultTarget
    success: bool = True
    given: tuple[Given, ...] = ()
    saves: SavedResult | Saved = SavedResult.VALUE
    known: frozenset[str] = frozenset()
    annotation: Any = Any


class RestFor(Enum):
    """What a conversation waits for at a step."""

    CONTACT = "contact"  # a reply, a reminder or a time-out
    RESULT = "result"  # the end of a call, of a request, of a send
    TIME = "time"  # for time to pass
    PERSON = "person"  # for somebody to close a hand-over
    FLOW = "flow"  # for a flow that the step runs


class StepFailed(BotError):
    """A step could not do its work: its ``outcome`` (``mismatch``, ``failed``) takes over.

    ``known`` is what templates of the transition that it leads through see beside the rest.
    """

    def __init__(self, outcome: str, reason: str, known: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.known = known or {}


@immutable
class Rest:
    """What the conversation waits for at a step, and how long at most; ``longest`` None: unknown.

    ``over``: it may be over for good, or for hours, so that a conversation which returns to it continues at once.
    """

    what: RestFor
    longest: timedelta | None = None
    over: bool = False


@immutable
class Used:
    """A template or an expression of a step, and the names beyond the flow's own that it may use.

    ``null`` is what becomes of null. It is worked out only where all of ``given`` has come about, and perhaps not even
    then where it is not ``sure``. ``annotation`` is what Python says of the argument that it is.
    """

    text: Template | Expression
    extra: frozenset[str] = frozenset()
    null: Null = Null.SHOWN
    given: tuple[Given, ...] = ()
    sure: bool = True
    annotation: Any = Any


@immutable
class FlowRun:
    """A flow that a step opens, what goes in, and what comes out: our variable by theirs.

    ``listed``: what comes out are lists. ``most``: the most times in a row.
    """

    flow: str
    mark: Mark
    inputs: tuple[Assignment, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    listed: bool = False
    most: int = 1


@immutable
class FlowStart:
    """A flow that starts for another contact, what goes in, and what becomes of it while that contact is in a flow."""

    target: Target
    inputs: tuple[Assignment, ...]
    busy: str | None


@immutable
class AnswerText:
    """A text that is understood as the answer ``owner``, by an ``outcome``; ``mark`` None: it stands where the step does.

    ``before_words``: no word is heard before it. ``always``: it is heard without a condition.
    ``exact``: no other spelling is heard.
    """

    text: str
    owner: str
    outcome: str
    mark: Mark | None = None
    before_words: bool = False
    always: bool = True
    exact: bool = False


@immutable
class SentFile:
    """A file that is sent by its address, and its kind."""

    kind: str
    link: Template


@immutable
class SentText:
    """A text of a message, and what the gateway takes of it: ``most`` characters, None: nobody knows.

    What is longer is cut, or refused where it is not ``cut``; ``needed``: so is an empty one. ``question``: transitions may
    ask it in other words. ``title``: of those in a message no two are the same. ``parameter``: it is sent on one line. It is
    sent where all of ``given`` has come about.
    """

    what: str
    text: Template
    most: int | None
    cut: bool = True
    needed: bool = False
    question: bool = False
    title: bool = False
    parameter: bool = False
    given: tuple[Given, ...] = ()


@immutable
class ChoiceFacts:
    """How much a question offers to choose from, and ``least`` how many answers it takes.

    ``fixed`` are the conditions of the choices that stand in the flow file, None where there is none. ``source`` is the
    list of which others are made, if there is one: all with this ``title``, and with ``room`` for so many.
    """

    mark: Mark
    fixed: tuple[Expression | None, ...]
    source: Expression | None
    title: Template | None
    room: int
    least: int = 1


@immutable
class Need:
    """A variable that must be known before a step can be left by the exit ``exit``."""

    variable: str
    exit: str
    mark: Mark


@immutable
class Spends:
    """What a step may ask of a model. ``contact`` are the tokens of a contact's day, None where there is no bound.

    ``prompt`` and ``answer`` are the most tokens of one question and its answer, ``at_once`` how many questions of a
    contact can be under way, ``calls`` how many calls of tools each of them can lead to.
    """

    contact: int | None
    prompt: int
    answer: int
    at_once: int = 1
    calls: int = 0
