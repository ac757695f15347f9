"""Step options: what any step may say beside its verb."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Self, TypeVar

from bot.core.immutable import immutable, with_defaults_from
from bot.core.lazy_patterns import lazy_pattern
from bot.language.expressions.templates import Template
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import (
    BOOLEAN,
    DURATION,
    NAME,
    UNREAD_DURATION,
    Form,
    KeySet,
    KeySpec,
    either,
    integer,
    map_of,
    nested,
    one_of,
    one_or_several,
    shared,
)
from bot.language.keys.fields import Fields, entries_of, map_in, refuse
from bot.language.source import wall_clock
from bot.language.source.problems import Mark, Problems
from bot.language.source.writing import flow_style
from bot.language.source.yaml_tree import List, Map, Node, Scalar
from bot.language.steps.schedule import SCHEDULE, Schedule
from bot.language.steps.step_facts import Given, Outcome, StepFacts, Used, only_if, texts_used
from bot.language.steps.template_message import TEMPLATE_MESSAGE, TemplateToSend
from bot.language.steps.transition import (
    EFFECTS,
    END,
    SIGNALS,
    TRANSITION,
    TRANSITION_KEYS,
    WORDS,
    Assignment,
    Cleared,
    Signals,
    Target,
    Transition,
    Word,
    Words,
    assigned,
    transition_from,
)
from bot.language.types.variable import Variable

T = TypeVar("T")


Inherits = TypeVar("Inherits", Transition, "Retry", "Timed")


def _inheriting(own: Inherits | None, inherited: Inherits | None) -> Inherits | None:
    """The written value, with missing keys taken from the inherited one."""
    return inherited if own is None else own.inheriting_from(inherited)


@immutable
class Retry:
    """The reaction to a reply that is no answer. ``most`` counts the times the question is put again.

    ``mark`` is where that is written.
    """

    mark: Mark
    most: int | None = None
    otherwise: Transition | None = None
    transition: Transition | None = None

    def inheriting_from(self, inherited: Self | None) -> Self:
        """These options. Missing keys are taken from the inherited options."""
        if inherited is None:
            return self
        mark = inherited.mark if self.most is None else self.mark
        return with_defaults_from(
            self, inherited, mark=mark, transition=_inheriting(self.transition, inherited.transition)
        )


@immutable
class Timed:
    """`remind` or `timeout`: after how long a silence, how often, and what follows.

    ``never``: there is no reminder or time-out, not even an inherited one.
    """

    mark: Mark
    after: timedelta | None = None
    most: int | None = None  # reminders; one by default
    fixed: bool | None = None  # time-outs: counted from entry, not from the last sign of life
    transition: Transition | None = None
    never: bool = False

    def inheriting_from(self, inherited: Self | None) -> Self:
        """These options. Missing keys are taken from the inherited options."""
        if inherited is None or self.never or inherited.never:
            return self
        return with_defaults_from(self, inherited, transition=_inheriting(self.transition, inherited.transition))


SIGNAL = "signals."
"""The prefix of the outcomes by which signals lead on from a step: see `signal_outcomes`."""
EVENT = frozenset({"event"})
"""The further names in the transition of a signal and its condition: the signal's data."""


def signal_outcomes(signals: Signals) -> Iterator[tuple[str, Word]]:
    """The outcome of each transition of signals: ``signals.paid``, then ``signals.paid 2`` for the second of a list."""
    for name, several in signals.items():
        for number, heard in enumerate(several, 1):
            yield f"{SIGNAL}{name}" if number == 1 else f"{SIGNAL}{name} {number}", heard


def signal_given(signals: Signals, outcome: str) -> tuple[Given, ...]:
    """The conditions under which such an outcome is taken: its own is true, and all before it are false."""
    name, _, number = outcome.removeprefix(SIGNAL).partition(" ")
    *before, heard = signals[name][: int(number or 1)]
    untrue = (Given(each.condition, holds=False) for each in before if each.condition is not None)
    return (*untrue, *only_if(heard.condition))


@immutable
class Visits:
    """The bound on how often a step may be entered, and where the next entry leads instead."""

    most: int
    otherwise: Transition


@immutable
class WindowClosed:
    """The template that a step sends while the window is closed. ``waits``: an answer to it brings the message."""

    template: TemplateToSend | None
    waits: bool


@immutable
class Defaults:
    """The options that are inherited, key by key: from the bot by the flow, from the flow by the step."""

    retry: Retry | None = None
    remind: Timed | None = None
    timeout: Timed | None = None
    errors: Mapping[str, Transition] | None = None
    window_closed: TemplateToSend | None = None
    old_taps: str | None = None
    gone: Transition | None = None
    signals: Signals | None = None
    gather: timedelta | None = None  # how long a text or a file waits for further ones; no time at all: it does not

    def inheriting_from(self, inherited: Self) -> Self:
        """These defaults, with missing keys taken from the inherited ones."""
        if self == _NOTHING:  # as on most steps
            return inherited
        return with_defaults_from(
            self,
            inherited,
            retry=_inheriting(self.retry, inherited.retry),
            remind=_inheriting(self.remind, inherited.remind),
            timeout=_inheriting(self.timeout, inherited.timeout),
            errors={**(inherited.errors or {}), **(self.errors or {})},
            signals={**(inherited.signals or {}), **(self.signals or {})},
        )

    def transitions(self) -> Iterator[tuple[str, Transition]]:
        """Every transition among the defaults, with its name."""
        if self.retry is not None:
            yield from _named(("retry", self.retry.transition), ("retry.else", self.retry.otherwise))
        if self.remind is not None:
            yield from _named(("remind", self.remind.transition))
        if self.timeout is not None:
            yield from _named(("timeout", self.timeout.transition))
        for name, transition in (self.errors or {}).items():
            yield f"errors.{name}", transition
        yield from _named(("gone", self.gone))
        for name, heard in signal_outcomes(self.signals or {}):
            yield name, heard.transition


_NOTHING = Defaults()


@immutable
class StepOptions:
    """The options of one step. `old_taps` and `gone` in its ``defaults`` come from the bot and the flow only."""

    then: Transition | None
    save: str | None
    save_mark: Mark
    tag: tuple[Template, ...]
    clear: tuple[Cleared, ...]
    set: tuple[Assignment, ...]
    visits: Visits | None
    defaults: Defaults
    renamed_from: str | None
    report: str | None  # the name under which its results are counted, where that is not the step's
    words: Words
    untag: tuple[Template, ...]
    cancel: tuple[Template, ...]  # the names of what is not to start any more
    schedule: tuple[Schedule, ...]
    reset: tuple[Target, ...]  # the steps whose visits are counted from the beginning after an answer
    brings_later: bool = False  # an answer to the template of its own `window_closed` brings the message

    @property
    def changes_something(self) -> bool:
        """True if something besides `save` happens when the step ends with success."""
        return bool(self.clear or self.set or self.tag or self.untag or self.cancel or self.schedule or self.reset)

    def assigned(self, variables: Mapping[str, Variable]) -> tuple[Assignment, ...]:
        """The values that `clear` and `set` give, in a flow with these variables."""
        return assigned(self.clear, self.set, variables)


def read_step_options(fields: Fields, *, saves: bool) -> StepOptions:
    """Read a step's options. ``saves`` is False where the kind has no `save`, or reads it in its own way."""
    closed = WINDOW_CLOSED_HERE.read(fields)
    own = _INHERITED.all_values(fields)
    return StepOptions(
        save=SAVE.read(fields) if saves else None,
        save_mark=SAVE.mark(fields),
        defaults=Defaults(**own, window_closed=None if closed is None else closed.template),
        brings_later=closed is not None and closed.waits,
        **_ALONE.all_values(fields),
    )


def check_reminder(fields: Fields, remind: Timed | None, timeout: Timed | None) -> None:
    """Report a reminder that is written here and comes after the time-out; at the same time, it comes first."""
    if remind is None or timeout is None or remind.after is None or timeout.after is None:
        return
    if remind.after > timeout.after and not any(after is UNREAD_DURATION for after in (remind.after, timeout.after)):
        what = (
            f'"{REMIND.name}" has no effect: the time-out comes first, after {wall_clock.duration_words(timeout.after)}'
        )
        fields.report("E123", remind.mark, what, "write a shorter `after` there, or a longer one at the time-out")


def read_defaults(fields: Fields) -> Defaults:
    """Read the `defaults` of a flow or of the bot."""
    defaults = Defaults(**DEFAULTS.all_values(fields))
    check_reminder(fields, defaults.remind, defaults.timeout)
    return defaults


def _named(*transitions: tuple[str, Transition | None]) -> Iterator[tuple[str, Transition]]:
    for name, transition in transitions:
        if transition is not None:
            yield name, transition


_NEVER = "never"
Value = str | int
_EXAMPLES: Mapping[str, Value] = {"duration": "20h", "number": 3, "target": "end", "text": "Please try again."}
"""The short forms that authors write by mistake, each with an example."""
_FULL_FORMS: Mapping[str, Mapping[str, Callable[[Value], Mapping[str, Value]]]] = {
    "retry": {
        "text": lambda it: {"say": it},
        "target": lambda it: {"then": it},
        "number": lambda it: {"max": it, "else": "end"},
    },
    "remind": {"duration": lambda it: {"after": it}, "text": lambda it: {"after": "2h", "say": it}},
    "timeout": {
        "duration": lambda it: {"after": it, "then": "end"},
        "target": lambda it: {"after": "20h", "then": it},
        "text": lambda it: {"after": "20h", "say": it, "then": "end"},
    },
    "visits": {"number": lambda it: {"max": it, "else": "end"}, "target": lambda it: {"max": 3, "else": it}},
    "errors": {"target": lambda it: {"else": it}},
}
"""The full form of an option that is written as a value of each sort. A value of any other sort counts as the first."""
_LIKE_A_TARGET = lazy_pattern(r"/?[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)?")


def _option(name: str, form: Form[T], about: str, word: str | None = None) -> KeySpec[T]:
    """An option whose short form is a common mistake: it is reported with the full form, and read; but not ``word``."""

    def read(node: Node, problems: Problems, what: str) -> T:
        if isinstance(node, List) and any(isinstance(item, Map) for item in node.items):
            node = map_in(node, problems, what) or Map(node.mark, ())
        elif not isinstance(node, Map) and not (isinstance(node, Scalar) and word is not None and node.text == word):
            full = _full_form(node, _FULL_FORMS[name])
            problems.add("E106", node.mark, f"{what}: a map of keys is expected", f"write {flow_style({name: full})}")
            node = Map(node.mark, tuple((_scalar(node, key), _scalar(node, value)) for key, value in full.items()))
        return form.read(node, problems, what)

    return KeySpec(name, replace(form, read=read), about)


def _full_form(node: Node, forms: Mapping[str, Callable[[Value], Mapping[str, Value]]]) -> Mapping[str, Value]:
    sort = _sort_of(node) if isinstance(node, Scalar) else ""
    if isinstance(node, Scalar) and sort in forms:
        return forms[sort](node.value if isinstance(node.value, int) else node.text)
    usual, form = next(iter(forms.items()))
    return form(_EXAMPLES[usual])


def _sort_of(node: Scalar) -> str:
    if wall_clock.parse_duration(node.text) is not None:
        return "duration"
    if isinstance(node.value, int):
        return "number"
    if _LIKE_A_TARGET.fullmatch(node.text):
        return "target"
    return "text" if node.text[:1].isalpha() else ""


def _scalar(node: Node, value: Value) -> Scalar:
    return Scalar(node.mark, value, str(value))


def _read_retry(fields: Fields) -> Retry:
    return Retry(fields.mark, _AGAIN.read(fields), _RETRY_ELSE.read(fields), transition_from(fields))


def _read_remind(fields: Fields) -> Timed:
    return Timed(fields.mark, _AFTER.read(fields), most=_REMINDERS.read(fields), transition=transition_from(fields))


def _read_timeout(fields: Fields) -> Timed:
    fixed = _FIXED.read(fields) if _FIXED.written(fields) else None
    return Timed(fields.mark, _AFTER.read(fields), fixed=fixed, transition=transition_from(fields))


def _read_window_closed(fields: Fields) -> WindowClosed:
    return WindowClosed(_TEMPLATE.read(fields), WAIT.read(fields))


def _read_visits(fields: Fields) -> Visits | None:
    most, otherwise = _ENTRIES.read(fields), _VISITS_ELSE.read(fields)
    return None if most is None or otherwise is None else Visits(most, otherwise)


def _read_errors(node: Node, problems: Problems, what: str) -> dict[str, Transition]:
    if isinstance(node, Map) and node.get("then") is not None:
        fix = "write errors: {else: {..., then: ...}}"
        problems.add("E104", node.key_mark("then"), f'{what}: "then" is the name of no failure', fix)
        return {"else": Transition(node.mark, then=Target(END, node.mark))}
    found = ((name.text, TRANSITION.read(item, problems, what)) for name, item in entries_of(node, problems, what))
    return {name: transition for name, transition in found if transition is not None}


def _step_named(node: Node, problems: Problems, what: str) -> Target | None:
    name = NAME.read(node, problems, what)
    return None if name is None else Target(name, node.mark)


LONGEST_GATHER = timedelta(seconds=30)
"""The longest that a text waits for further ones, however many follow."""
FILES_GATHER = timedelta(seconds=5)
"""How long a file waits for further ones where no `gather` says it."""
_GATHER_PATTERN, _GATHER_FIX = r"([1-9]|[12][0-9]|30)s", "write 1s to 30s, such as 3s, or never"


def _read_gather(node: Node, problems: Problems, what: str) -> timedelta:
    if isinstance(node, Scalar) and node.text == _NEVER:
        return timedelta()
    if isinstance(node, Scalar) and re.fullmatch(_GATHER_PATTERN, node.text):
        return timedelta(seconds=int(node.text[:-1]))
    refuse(node, problems, what, "a short duration", _GATHER_FIX)
    return LONGEST_GATHER


_AGAIN = KeySpec(
    "max", integer(0, 100), "How often the question is asked again before `else` is taken; without it, always."
)
_RETRY_ELSE = KeySpec("else", TRANSITION, "Where the next wrong reply leads.")
_AFTER = KeySpec("after", DURATION, "After how long a silence, like 2h.")
_REMINDERS = KeySpec("max", integer(1, 100), "How often; once by default.")
_FIXED = KeySpec("fixed", BOOLEAN, "Whether the time counts from the entry of the step, not from the last message.")
_FAILURES = KeySet(
    KeySpec("else", TRANSITION, "Where all failures lead that are not named."),
    KeySpec("failed", TRANSITION, "Where it leads if an expression cannot be evaluated."),
    KeySpec("mismatch", TRANSITION, "Where it leads if a value does not fit its variable."),
    KeySpec("timeout", TRANSITION, "Where it leads if a call takes too long."),
)
_ENTRIES = KeySpec("max", integer(1), "How often the step may be entered in one conversation.", required=True)
_VISITS_ELSE = KeySpec("else", TRANSITION, "Where the next entry leads instead.", required=True)
THEN = KeySpec("then", TRANSITION, "Where the step leads if no other target is given; the next step by default.")
SAVE = KeySpec("save", NAME, "The variable that takes the answer or the result.")
RETRY = _option(
    "retry",
    shared("map-of-retry", nested(KeySet(_AGAIN, _RETRY_ELSE, *TRANSITION_KEYS), _read_retry)),
    "The reaction to a reply that is no answer; by default the question is asked again.",
)
REMIND = _option(
    "remind",
    shared("map-of-remind", nested(KeySet(_REMINDERS, _AFTER, *TRANSITION_KEYS), _read_remind)),
    "The reaction to a silence; nothing by default.",
)
TIMEOUT = _option(
    "timeout",
    either(
        Form(one_of(_NEVER).schema, lambda node, problems, what: Timed(node.mark, never=True)),
        shared("map-of-timeout", nested(KeySet(_FIXED, _AFTER, *TRANSITION_KEYS), _read_timeout)),
    ),
    "Where a longer silence leads; or never.",
    _NEVER,
)
_ERRORS: Form[dict[str, Transition] | None] = map_of(TRANSITION, _read_errors, known=_FAILURES)
ERRORS = _option("errors", shared("map-of-errors", _ERRORS), "Where failures lead, by their names.")
_TEMPLATE = KeySpec("template", TEMPLATE_MESSAGE, "The template.", required=True)
WAIT = KeySpec(
    "wait",
    BOOLEAN,
    "Whether the step waits for an answer to the template, and then sends the message; false by default.",
)
_CLOSED, _CLOSED_ABOUT = (
    "{template: {name: its_name, language: en}}",
    "The template that is sent instead of a message after the window has closed.",
)
WINDOW_CLOSED = KeySpec("window_closed", nested(KeySet(_TEMPLATE), _TEMPLATE.read, _CLOSED), _CLOSED_ABOUT)
WINDOW_CLOSED_HERE = KeySpec(
    "window_closed", nested(KeySet(_TEMPLATE, WAIT), _read_window_closed, _CLOSED), _CLOSED_ABOUT
)
OLD_TAPS = KeySpec(
    "old_taps",
    one_of("explain", "reopen", "ignore", "message"),
    "The reaction to a tap on an earlier question; by default explain, at a step with `other` message.",
)
GONE = KeySpec(
    "gone",
    TRANSITION,
    "Where contacts go who wait at a step that an edit removed; without it their flow ends as expired.",
)
SIGNALS_HERE = KeySpec("signals", SIGNALS, "Where signals lead while the step waits, by name.")
GATHER = KeySpec(
    "gather",
    Form(key_schemas.either(one_of(_NEVER).schema, key_schemas.pattern(_GATHER_PATTERN, _GATHER_FIX)), _read_gather),
    "How long a text or a file waits for further ones that belong to the same answer, 30s at most; or never.",
)
CLEAR, SET, UNTAG, TAG, CANCEL = EFFECTS
SCHEDULES = KeySpec("schedule", SCHEDULE, "Flows that start for the contact later.")
VISITS = _option(
    "visits", nested(KeySet(_ENTRIES, _VISITS_ELSE), _read_visits), "A bound on how often the step is entered."
)
RESET: KeySpec[tuple[Target, ...]] = KeySpec(
    "reset", one_or_several(Form(NAME.schema, _step_named)), "Steps whose `visits` are counted anew after an answer."
)
RENAMED_FROM = KeySpec("renamed_from", NAME, "The step's name before an edit, so that contacts who wait there stay.")
REPORT = KeySpec("report", NAME, "The name under which `bot report` counts the step, instead of its own.")
WORDS_HERE = KeySpec("words", WORDS, "Words that are understood at this step, before any answer.")
_BESIDE: tuple[KeySpec[Any], ...] = (RETRY, REMIND, TIMEOUT, ERRORS)
_HEARD: tuple[KeySpec[Any], ...] = (SIGNALS_HERE, GATHER)
_INHERITED = KeySet(*_BESIDE, *_HEARD)
DEFAULTS = KeySet(*_BESIDE, WINDOW_CLOSED, *_HEARD, OLD_TAPS, GONE)
_ALONE = KeySet(
    THEN, CLEAR, SET, UNTAG, TAG, CANCEL, SCHEDULES, VISITS, RESET, RENAMED_FROM, REPORT, WORDS_HERE,
)  # fmt: skip
"""The keys that nothing is inherited for; each is the field of its name."""
STEP_OPTIONS = KeySet(THEN, SAVE, *_BESIDE, WINDOW_CLOSED_HERE, *_HEARD, *_ALONE.keys[1:])
SOME_HAVE = frozenset({"then", "save", "retry", "remind", "timeout", "words", "gather"})
"""The options that not every kind of step has."""


def transitions_of(outcomes: Iterable[Outcome], options: StepOptions) -> Iterator[Transition]:
    """Every transition of a step: of its kind's outcomes, and of its options."""
    visited = None if options.visits is None else options.visits.otherwise
    transitions = (*(outcome.transition for outcome in outcomes), options.then, visited)
    yield from (transition for transition in transitions if transition is not None)
    yield from (word.transition for word in options.words.values())
    yield from (transition for _, transition in options.defaults.transitions())


def uses_of(facts: StepFacts, options: StepOptions) -> Iterator[Used]:
    """Every template and expression of a step: its kind's, its transitions' and its options'."""
    yield from facts.uses
    for outcome in facts.outcomes.values():
        if outcome.transition is not None:
            yield from _used_by(outcome.transition)
    yield from map(Used, uses_on_leaving(options))
    if options.visits is not None:
        yield from _used_by(options.visits.otherwise)
    if options.then is not None:
        yield from _used_by(options.then)
    yield from uses_of_words(options.words)
    yield from uses_of_defaults(options.defaults, facts.names_in_errors)


def uses_on_leaving(options: StepOptions) -> Iterator[Template]:
    """The templates that are evaluated when a step is left with success: in tags, values and plans."""
    yield from (*options.tag, *options.untag, *options.cancel)
    for item in options.set:
        yield from item.uses()
    for schedule in options.schedule:
        yield from schedule.uses()


def uses_of_words(words: Words) -> Iterator[Used]:
    """The templates of words."""
    for word in words.values():
        yield from map(Used, word.uses())


def uses_of_defaults(defaults: Defaults, extra: frozenset[str] = frozenset()) -> Iterator[Used]:
    """The templates and expressions of defaults. ``extra``: more names that the transitions of `errors` may use."""
    for name, transition in defaults.transitions():
        names = extra if name.startswith("errors.") else EVENT if name.startswith(SIGNAL) else frozenset()
        yield from _used_by(transition, names)
    for _, heard in signal_outcomes(defaults.signals or {}):
        yield from texts_used(heard.condition, extra=EVENT)
    if defaults.window_closed is not None:
        yield from defaults.window_closed.uses()


def _used_by(transition: Transition, extra: frozenset[str] = frozenset()) -> Iterator[Used]:
    return texts_used(*transition.uses(), extra=extra)
