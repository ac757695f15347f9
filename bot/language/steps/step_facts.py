"""The facts of a step: known once it has been read, and asked by code that knows no kind of step."""

from collections.abc import Iterator, Mapping
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


class DefaultTarget(Enum):
    """The target of an outcome for which nothing is written."""

    THEN = "then"  # where the step's `then` leads
    STAY = "stay"  # nowhere: the step goes on waiting
    ERRORS = "errors"  # to the inherited `errors.else`: there is no built-in one
    WRITTEN = "written"  # it must be written on the step


class Null(Enum):
    """The effect of a text or an expression that evaluates to null."""

    SHOWN = "shown"  # there is a hole in what is shown
    TAKEN = "taken"  # it is a value like any other
    REFUSED = "refused"  # the step fails
    NEEDED = "needed"  # as `SHOWN`, but the step fails if nothing else is shown

    __hash__ = object.__hash__  # an enum's own is written in Python


class SavedResult(Enum):
    """The value that `save` gets on an outcome, as far as the flow file says."""

    VALUE = "value"  # a value, and never null
    PERHAPS = "perhaps"  # a value, or null
    NULL = "null"
    NOTHING = "nothing"  # `save` does not happen


IT = frozenset({"it"})
"""The name of the value that a text is about, which it may use beside the flow's own names."""


@immutable
class Given:
    """A condition that must be true for something to happen; if ``holds`` is False, it must be false."""

    condition: Expression
    holds: bool = True


def only_if(condition: Expression | None) -> tuple[Given, ...]:
    """The condition as a tuple of `Given`; empty where there is none."""
    return () if condition is None else (Given(condition),)


@immutable
class Saved:
    """A value that a step may save, as `value_of` read it. ``altered`` is as in `Assignment`."""

    value: Any
    mark: Mark
    altered: Scalar | None = None


@immutable
class Outcome:
    """One way in which a step can end. ``success`` says whether `save`, `set` and `tag` happen.

    ``falls`` is the target if no transition is written. The outcome is taken only if all conditions of ``given`` are
    met. ``saves`` is what `save` gets, ``annotation`` its type in Python; ``known`` are the variables that have a value
    then.
    """

    transition: Transition | None
    falls: DefaultTarget
    success: bool = True
    given: tuple[Given, ...] = ()
    saves: SavedResult | Saved = SavedResult.VALUE
    known: frozenset[str] = frozenset()
    annotation: Any = Any


GOES_ON: Mapping[str, Outcome] = {"then": Outcome(None, DefaultTarget.THEN)}
"""The outcome of a step that leads where its `then` does."""
MAY_FAIL: Mapping[str, Outcome] = {"errors.else": Outcome(None, DefaultTarget.ERRORS, success=False)}
"""The outcome of a step whose failures lead where its `errors` say."""


class WaitsFor(Enum):
    """The things that a conversation can wait for at a step."""

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
class Wait:
    """A wait of the conversation at a step. ``longest`` is its longest duration; None: unknown.

    ``over``: it may be over for good, or for hours, so that a conversation which returns to it continues at once.
    """

    what: WaitsFor
    longest: timedelta | None = None
    over: bool = False


@immutable
class Used:
    """A template or an expression of a step, and the names beyond the flow's own that it may use.

    ``null`` is the effect if it evaluates to null. It is evaluated only if all conditions of ``given`` are met, and
    perhaps not even then if it is not ``sure``. ``annotation`` is the Python type of the argument that it gives.
    """

    text: Template | Expression
    extra: frozenset[str] = frozenset()
    null: Null = Null.SHOWN
    given: tuple[Given, ...] = ()
    sure: bool = True
    annotation: Any = Any


def texts_used(*texts: Template | Expression | None, **how: Any) -> Iterator[Used]:
    """The uses of those texts that are there: all are used in the same way."""
    return (Used(text, **how) for text in texts if text is not None)


@immutable
class FlowRun:
    """A flow that a step opens, what goes in, and what comes out: our variable by theirs.

    ``listed``: what comes out are lists. ``most``: the most times in a row. ``shared``: it runs at a shared record.
    """

    flow: str
    mark: Mark
    inputs: tuple[Assignment, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    listed: bool = False
    most: int = 1
    shared: bool = False


@immutable
class FlowStart:
    """A flow that starts for another contact, what goes in, and what becomes of it while that contact is in a flow."""

    target: Target
    inputs: tuple[Assignment, ...]
    busy: str | None


@immutable
class AnswerText:
    """A text that is understood as the answer ``owner``, by an ``outcome``; ``mark`` None: the place is the step's.

    ``before_words``: no word is heard before it. ``always``: it is heard without a condition. ``exact``: no other
    spelling is heard.
    """

    text: str
    owner: str
    outcome: str
    mark: Mark | None = None
    before_words: bool = False
    always: bool = True
    exact: bool = False


class SentPart:
    """The base of what a step sends: texts, files, choices, and the gateway's templates."""

    __slots__ = ()


@immutable
class SentFile(SentPart):
    """A file that is sent, and its kind. ``link`` is its address or, of a file of the bot's ``own``, its path."""

    kind: str
    link: Template
    own: bool = False


@immutable
class SentText(SentPart):
    """A text of a message, and what the gateway takes of it: ``most`` characters, None: nobody knows.

    A longer text is cut, or refused where ``cut`` is False; ``needed``: so is an empty one. ``question``: transitions
    may ask it in other words. ``title``: of those in a message no two are the same. ``parameter``: it is sent on one
    line. It is sent only if all conditions of ``given`` are met.
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


def text_sent(what: str, text: Template | None, most: int | None, **how: Any) -> Iterator[SentText]:
    """The text of a message, if it is there."""
    if text is not None:
        yield SentText(what, text, most, **how)


@immutable
class ChoiceFacts(SentPart):
    """The choices of a question. ``least`` is the number of answers that it takes at least.

    ``fixed`` are the conditions of the choices that stand in the flow file, None where there is none. ``source`` is the
    list from which others are made, if there is one: each with this ``title``, and at most ``room`` of them.
    ``numbered``: they are shown with numbers.
    """

    mark: Mark
    fixed: tuple[Expression | None, ...]
    source: Expression | None
    title: Template | None
    room: int
    least: int = 1
    numbered: bool = False


@immutable
class Need:
    """A variable that must be known before a step can be left by the exit ``exit``."""

    variable: str
    exit: str
    mark: Mark


@immutable
class Spends:
    """The tokens that a step may use. ``contact`` are the tokens of a contact's day, None where there is no bound.

    ``prompt`` and ``answer`` are the most tokens of one question and its answer, ``at_once`` how many questions of a
    contact can be under way, ``calls`` how many calls of tools each of them can lead to.

    In one turn a model is asked ``asks`` times for its answer, one of them to write it again if it ``repeats``, and
    ``searches`` times what to search for. A ``share`` of the answers is judged by ``judges`` requests, with prompts of
    ``judged`` tokens at most.
    """

    contact: int | None
    prompt: int
    answer: int
    at_once: int = 1
    calls: int = 0
    asks: int = 1
    repeats: bool = False
    searches: int = 0
    judges: int = 0
    share: float = 0.0
    judged: int = 0


@immutable
class SentSignal:
    """A signal that a step reports to other contacts: where it is named, and its data."""

    name: str
    mark: Mark
    data: tuple[Assignment, ...]


@immutable
class FormFacts:
    """The form of a question: the variables that its page asks for, each with what it is called there."""

    title: str
    labels: Mapping[str, str]
    marks: Mapping[str, Mark]  # of the variables
    optional: frozenset[str]  # the variables that may be left empty, and are null then
    filled: Transition


@immutable
class UnaskedTool:
    """A tool that changes something outside and runs without the contact's yes; ``fix`` is what to write."""

    name: str
    fix: str
    mark: Mark


@immutable(kw_only=True)
class StepFacts:
    """The facts of a step, which hold in every session. The defaults fit a step that sends nothing and goes on at once.

    `StepKind.facts` computes them when the flow is read; the step keeps them.
    """

    # waiting, and the messages that it takes meanwhile
    waits_for: Wait | None = None  # None: the conversation goes on in the same turn
    takes_pending_input: bool = False  # it answers what the contact wrote last, where no step has taken it
    ignores_messages: bool = False  # it takes nothing that the contact writes, not even the bot's words
    sets_aside: bool = False  # the conversation waits in a draft: the contact is in no flow meanwhile
    texts_before_words: bool = False  # `StepKind.answer_before_words` takes texts, and not only taps
    choices_alone: bool = False  # only its choices answer it
    keeps_files: bool = False  # it keeps the files that its `set` gives to variables that keep files
    wordless: bool = False  # a question that sends nothing
    can_gather: bool = False  # the answer is free text or files, so that several messages can be one answer
    gathers_files: bool = False  # ... and its files are gathered, however many follow
    stays_valid: bool = False  # a tap on it leads on from here, also when the conversation waits here no longer
    tapped_later: frozenset[str] = frozenset()  # the outcomes that only such a tap takes: the step does not wait for it
    answers: tuple[AnswerText, ...] = ()  # texts that it understands as answers, as far as they are written out

    # sending
    sends: tuple[SentPart, ...] = ()
    most_messages: int = 0  # the most messages that entering it sends
    needs_window: bool = True  # its messages go only while the 24-hour window is open
    can_bring_later: bool = False  # it takes `wait` in its `window_closed`
    refusable: bool = False  # a message that the gateway refuses is a failure of the step: its `errors` take over

    # leaving
    outcomes: Mapping[str, Outcome] = field(default_factory=lambda: GOES_ON)
    values_may_fail: bool = False  # a value may not be one that it can work with, such as a list or an address
    names_in_errors: frozenset[str] = frozenset()  # what templates of its `errors` may use beside the rest

    # values
    uses: tuple[Used, ...] = ()  # its own templates and expressions, without those of its step options
    gives: frozenset[str] = frozenset()  # the variables that it sets itself, without `save` or `set`
    gives_any: bool = False  # it may give a value to any variable: nobody knows to which
    saved_values: tuple[Saved, ...] = ()  # the values that it may save, as far as they are written in the flow
    moments: tuple[Template, ...] = ()  # the points in time that it waits for

    # other flows and contacts
    flows_run: tuple[FlowRun, ...] = ()
    flows_started: tuple[FlowStart, ...] = ()
    signals_sent: tuple[SentSignal, ...] = ()

    # models
    asks_models: bool = False
    searched: Mapping[str, int] = field(default_factory=dict)  # folders of documents, with their numbers of passages
    understood_by_model: bool = False  # a model may point at the words of a reply that answer it
    needs: tuple[Need, ...] = ()  # the variables that a model must know to leave it
    unasked: tuple[UnaskedTool, ...] = ()

    form: FormFacts | None = None  # a page that answers it, and other questions with it

    # these follow from the others; they are computed once, because each turn asks them
    waits: bool = field(init=False)  # for the contact: then `retry`, `remind` and `timeout` apply
    asks: bool = field(init=False)  # a question: `back` returns to it if it was left without an answer
    pauses: bool = field(init=False)  # it waits for the contact, for a person, or for time to pass
    takes_words: bool = field(init=False)  # words and triggers take effect while the conversation waits here
    hears_signals: bool = field(init=False)  # a signal can lead on from it, also while it runs a flow

    def __post_init__(self) -> None:
        reason = None if self.waits_for is None else self.waits_for.what
        waits, pauses = reason is WaitsFor.CONTACT, reason in (WaitsFor.CONTACT, WaitsFor.PERSON, WaitsFor.TIME)
        object.__setattr__(self, "waits", waits)
        object.__setattr__(self, "asks", waits and not self.takes_pending_input)
        object.__setattr__(self, "pauses", pauses)
        object.__setattr__(self, "takes_words", pauses and not (self.ignores_messages or self.sets_aside))
        object.__setattr__(self, "hears_signals", (pauses and not self.sets_aside) or reason is WaitsFor.FLOW)

    @property
    def texts(self) -> list[SentText]:
        """The texts that it sends, titles of choices included."""
        return [part for part in self.sends if isinstance(part, SentText)]

    @property
    def titles(self) -> list[SentText]:
        """The titles of its choices."""
        return [text for text in self.texts if text.title]

    @property
    def offers(self) -> list[ChoiceFacts]:
        """The choices that it offers."""
        return [part for part in self.sends if isinstance(part, ChoiceFacts)]

    @property
    def shows_question(self) -> bool:
        """True if it asks in words of its own, which other words can stand above: a template cannot."""
        return any(isinstance(part, SentText) and part.question for part in self.sends)

    @property
    def fails(self) -> bool:
        """True if it may fail although each of its texts can be evaluated."""
        return self.values_may_fail or any(outcome.falls is DefaultTarget.ERRORS for outcome in self.outcomes.values())
