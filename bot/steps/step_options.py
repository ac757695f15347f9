"""Step options: what any step may say beside its verb."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Self

from bot.expressions.templates import Template
from bot.keys.declared_keys import NAME, Form, KeySet, KeySpec, one_of
from bot.keys.fields import Fields
from bot.keys.key_schemas import BOOLEAN, DURATION, Schemas, integer, map_of, record, shared, takes
from bot.keys.text_shapes import Keys, Part
from bot.lang import wall_clock
from bot.lang.problems import Mark
from bot.lang.source import Map, Node, Scalar
from bot.lang.writing import flow_style
from bot.steps.schedule import SCHEDULE, Schedule, read_schedules
from bot.steps.step_facts import Outcome, Used
from bot.steps.step_kind import StepKind
from bot.steps.template_message import TEMPLATE_MESSAGE, TEMPLATE_TEXTS, TemplateToSend, read_template_message
from bot.steps.transition import (
    EFFECTS,
    END,
    TRANSITION,
    TRANSITION_FORM,
    TRANSITION_KEYS,
    TRANSITION_TEXTS,
    WORDS,
    Assignment,
    Target,
    Transition,
    Words,
    read_words,
    transition_at,
    transition_from,
    transition_of,
)


@dataclass(frozen=True, slots=True)
class Retry:
    """What follows a reply that is no answer. ``most`` counts the times the question is put again.

    ``mark`` is where that is written.
    """

    mark: Mark
    most: int | None = None
    otherwise: Transition | None = None
    transition: Transition | None = None

    def over(self, inherited: Self | None) -> Self:
        """This one, with missing keys taken from the inherited one."""
        if inherited is None:
            return self
        return replace(
            self,
            mark=inherited.mark if self.most is None else self.mark,
            most=inherited.most if self.most is None else self.most,
            otherwise=self.otherwise or inherited.otherwise,
            transition=inherited.transition if self.transition is None else self.transition.over(inherited.transition),
        )


@dataclass(frozen=True, slots=True)
class Timed:
    """`remind` and `timeout`: after which silence, how often, and what then."""

    mark: Mark
    after: timedelta | None = None
    most: int | None = None  # reminders; one where nothing is said
    fixed: bool | None = None  # time-outs: counted from entry, not from the last sign of life
    transition: Transition | None = None

    def over(self, inherited: Self | None) -> Self:
        """This one, with missing keys taken from the inherited one."""
        if inherited is None:
            return self
        return replace(
            self,
            after=inherited.after if self.after is None else self.after,
            most=inherited.most if self.most is None else self.most,
            fixed=inherited.fixed if self.fixed is None else self.fixed,
            transition=inherited.transition if self.transition is None else self.transition.over(inherited.transition),
        )


@dataclass(frozen=True, slots=True)
class Visits:
    """How often a step may be entered, and where the next entry leads instead."""

    most: int
    otherwise: Transition


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a step does where it has no option of its own. Inherited key by key: step, flow, bot."""

    retry: Retry | None = None
    remind: Timed | None = None
    timeout: Timed | None = None
    errors: Mapping[str, Transition] | None = None
    window_closed: TemplateToSend | None = None
    old_taps: str | None = None
    gone: Transition | None = None

    def over(self, inherited: Self) -> Self:
        """These, with missing keys taken from the inherited ones."""
        if self == _NOTHING:  # as on most steps
            return inherited
        return replace(
            self,
            retry=inherited.retry if self.retry is None else self.retry.over(inherited.retry),
            remind=inherited.remind if self.remind is None else self.remind.over(inherited.remind),
            timeout=inherited.timeout if self.timeout is None else self.timeout.over(inherited.timeout),
            errors={**(inherited.errors or {}), **(self.errors or {})},
            window_closed=self.window_closed or inherited.window_closed,
            old_taps=self.old_taps or inherited.old_taps,
            gone=self.gone or inherited.gone,
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


_NOTHING = Defaults()


@dataclass(frozen=True, slots=True)
class StepOptions:
    """The options of one step. Of its ``defaults``, `old_taps` and `gone` are the bot's and the flow's only."""

    then: Transition | None
    save: str | None
    save_mark: Mark
    tag: tuple[Template, ...]
    set: tuple[Assignment, ...]
    visits: Visits | None
    defaults: Defaults
    renamed_from: str | None
    words: Words
    untag: tuple[Template, ...]
    cancel: tuple[Template, ...]  # the names of what is not to start any more
    schedule: tuple[Schedule, ...]


def read_step_options(fields: Fields, *, saves: bool) -> StepOptions:
    """Read a step's options. ``saves`` is False where the kind has no `save`, or reads it in its own way."""
    return StepOptions(
        THEN.read(fields),
        SAVE.read(fields) if saves else None,
        fields.mark_of("save"),
        TAG.read(fields),
        SET.read(fields),
        VISITS.read(fields),
        Defaults(
            retry=RETRY.read(fields),
            remind=REMIND.read(fields),
            timeout=TIMEOUT.read(fields),
            errors=ERRORS.read(fields),
            window_closed=WINDOW_CLOSED.read(fields),
        ),
        RENAMED_FROM.read(fields),
        WORDS_HERE.read(fields),
        UNTAG.read(fields),
        CANCEL.read(fields),
        SCHEDULES.read(fields),
    )


def read_defaults(fields: Fields) -> Defaults:
    """Read the `defaults` of a flow or of the bot."""
    DEFAULTS.declared_in(fields)
    defaults = Defaults(
        RETRY.read(fields),
        REMIND.read(fields),
        TIMEOUT.read(fields),
        ERRORS.read(fields),
        WINDOW_CLOSED.read(fields),
        OLD_TAPS.read(fields),
        GONE.read(fields),
    )
    fields.close()
    return defaults


def read_errors(fields: Fields) -> dict[str, Transition]:
    """Read `errors`: a transition for each name."""
    inner = fields_in_full(fields, "errors")
    if inner is None:
        return {}
    if inner.node.get("then") is not None:
        what = f'{inner.what}: "then" is the name of no failure'
        fields.problems.add("E104", inner.node.key_mark("then"), what, "write errors: {else: {..., then: ...}}")
        return {"else": Transition(inner.mark, then=Target(END, inner.mark))}
    return {name.text: transition_of(node, fields.problems, f"{fields.what}: errors") for name, node in inner.entries()}


def _named(*transitions: tuple[str, Transition | None]) -> Iterator[tuple[str, Transition]]:
    for name, transition in transitions:
        if transition is not None:
            yield name, transition


def _read_retry(fields: Fields) -> Retry | None:
    inner = fields_in_full(fields, "retry")
    if inner is None:
        return None
    retry = Retry(inner.mark, inner.integer("max", 0, 100), transition_at(inner, "else"), transition_from(inner))
    inner.close()
    return retry


def _read_timed(fields: Fields, key: str) -> Timed | None:
    inner = fields_in_full(fields, key)
    if inner is None:
        return None
    reminds = key == "remind"
    inner.declare(_REMIND if reminds else _TIMEOUT)
    timed = Timed(
        inner.mark,
        inner.duration("after"),
        inner.integer("max", 1, 100) if reminds else None,
        inner.boolean("fixed") if not reminds and inner.has("fixed") else None,
        transition_from(inner),
    )
    inner.close()
    return timed


def _read_visits(fields: Fields) -> Visits | None:
    inner = fields_in_full(fields, "visits")
    if inner is None:
        return None
    given = inner.require("max") and inner.require("else")
    most, otherwise = inner.integer("max", 1), transition_at(inner, "else")
    inner.close()
    return Visits(most, otherwise) if given and most is not None and otherwise is not None else None


def _read_window_closed(fields: Fields) -> TemplateToSend | None:
    form = "template: {name: its_name, language: en}"
    inner = fields.fields("window_closed", f"window_closed: {{{form}}}")
    template = inner.fields("template", form) if inner is not None and inner.require("template") else None
    notice = None if template is None else read_template_message(template)
    if inner is not None:
        inner.close()
    return notice


_RETRY: Schemas = {
    "max": takes(integer(0, 100), "How often the question is put again before else is taken; for ever without it."),
    "else": takes(TRANSITION, "Where the wrong reply after that leads."),
    **TRANSITION_KEYS,
}
_AFTER: Schemas = {"after": takes(DURATION, "After how long a silence."), **TRANSITION_KEYS}
_REMIND: Schemas = {"max": takes(integer(1, 100), "How often; once where nothing is said."), **_AFTER}
_TIMEOUT: Schemas = {"fixed": takes(BOOLEAN, "Counted from entry, and not from the last sign of life."), **_AFTER}
_ERRORS: Schemas = {
    "else": takes(TRANSITION, "Where every failure leads that is not named."),
    "failed": takes(TRANSITION, "Where it leads that an expression cannot be worked out."),
    "mismatch": takes(TRANSITION, "Where it leads that a value does not fit its variable."),
    "timeout": takes(TRANSITION, "Where it leads that something outside takes too long."),
}
_VISITS: Schemas = {
    "max": takes(integer(1), "How often the step may be entered in one conversation."),
    "else": takes(TRANSITION, "Where the next entry leads instead."),
}
THEN = KeySpec(
    "then", TRANSITION_FORM, "Where the step leads when it says nothing else; the next step where nothing is said."
)
SAVE = KeySpec("save", NAME, "The variable that takes the answer or the result.")
RETRY = KeySpec(
    "retry",
    Form(
        shared("map-of-retry", record(_RETRY)),
        lambda fields, _: _read_retry(fields),
        {**TRANSITION_TEXTS, "else": TRANSITION_TEXTS},
    ),
    "What follows a reply that is no answer; the question again.",
)
REMIND = KeySpec(
    "remind",
    Form(shared("map-of-remind", record(_REMIND)), lambda fields, key: _read_timed(fields, key), TRANSITION_TEXTS),
    "What follows a silence; nothing where nothing is said.",
)
TIMEOUT = KeySpec(
    "timeout",
    Form(shared("map-of-timeout", record(_TIMEOUT)), lambda fields, key: _read_timed(fields, key), TRANSITION_TEXTS),
    "What follows a longer silence: where it leads must be written.",
)
ERRORS = KeySpec(
    "errors",
    Form(
        shared("map-of-errors", map_of(TRANSITION, _ERRORS)),
        lambda fields, key: None if fields.raw(key) is None else read_errors(fields),
        Keys(TRANSITION_TEXTS),
    ),
    "Where failures lead, by their names.",
)
WINDOW_CLOSED = KeySpec(
    "window_closed",
    Form(
        record({"template": takes(TEMPLATE_MESSAGE, "The template.")}, "template"),
        lambda fields, _: _read_window_closed(fields),
        {"template": TEMPLATE_TEXTS},
    ),
    "What is sent instead of a message that comes when the 24 hours are over.",
)
OLD_TAPS = KeySpec(
    "old_taps",
    one_of("explain", "reopen", "ignore", "message"),
    "What a tap on an earlier question does; explain, or message at a step with other, where nothing is said.",
)
GONE = KeySpec(
    "gone",
    TRANSITION_FORM,
    "Where those are led who wait at a step that an edit removed; else their flow ends as expired.",
)
SET, UNTAG, TAG, CANCEL = EFFECTS
SCHEDULES = KeySpec(
    "schedule", Form(SCHEDULE, lambda fields, _: read_schedules(fields)), "Flows that start for the contact later."
)
VISITS = KeySpec(
    "visits",
    Form(record(_VISITS, "max", "else"), lambda fields, _: _read_visits(fields), {"else": TRANSITION_TEXTS}),
    "A bound on how often the step is entered.",
)
RENAMED_FROM = KeySpec("renamed_from", NAME, "The step's name before an edit, so that who waits there stays.")
WORDS_HERE = KeySpec(
    "words",
    Form(WORDS, lambda fields, _: read_words(fields), Keys(TRANSITION_TEXTS, Part.WORD)),
    "Words that are understood at this step, before any answer.",
)
_COMMON = (RETRY, REMIND, TIMEOUT, ERRORS, WINDOW_CLOSED)
DEFAULTS = KeySet(*_COMMON, OLD_TAPS, GONE)
STEP_OPTIONS = KeySet(THEN, SAVE, *_COMMON, SET, UNTAG, TAG, CANCEL, SCHEDULES, VISITS, RENAMED_FROM, WORDS_HERE)
SOME_HAVE = frozenset({"then", "save", "retry", "remind", "timeout", "words"})
"""The options that not every kind of step has."""


Value = str | int
_EXAMPLES: Mapping[str, Value] = {"duration": "20h", "number": 3, "target": "end", "text": "Please try again."}
"""The short forms that authors write by mistake, each with an example."""
_FULL_FORMS: Mapping[str, Mapping[str, Callable[[Value], Mapping[str, Value]]]] = {
    "retry": {
        "text": lambda it: {"say": it},
        "target": lambda it: {"then": it},
        "number": lambda it: {"max": it, "else": "end"},
    },
    "remind": {
        "duration": lambda it: {"after": it},
        "text": lambda it: {"after": "2h", "say": it},
    },
    "timeout": {
        "duration": lambda it: {"after": it, "then": "end"},
        "target": lambda it: {"after": "20h", "then": it},
        "text": lambda it: {"after": "20h", "say": it, "then": "end"},
    },
    "visits": {
        "number": lambda it: {"max": it, "else": "end"},
        "target": lambda it: {"max": 3, "else": it},
    },
    "errors": {"target": lambda it: {"else": it}},
}
"""What a value of each sort means to an option, in full. What is none of these is meant like the first."""
_LIKE_A_TARGET = re.compile(r"/?[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)?")


def fields_in_full(fields: Fields, key: str) -> Fields | None:
    """The map under an option's key. Where it is no map, a problem says the full form, and that form is returned."""
    node = fields.raw(key)
    if node is None or isinstance(node, Map):
        return fields.fields(key)
    full = _in_full(node, _FULL_FORMS[key])
    what = f"{fields.what}: {key}: a map of keys is expected"
    fields.problems.add("E106", node.mark, what, f"write {flow_style({key: full})}")
    entries = tuple((_scalar(node, name), _scalar(node, value)) for name, value in full.items())
    return Fields(Map(node.mark, entries), fields.problems, f"{fields.what}: {key}")


def _in_full(node: Node, forms: Mapping[str, Callable[[Value], Mapping[str, Value]]]) -> Mapping[str, Value]:
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


def transitions_of(outcomes: Iterable[Outcome], options: StepOptions) -> Iterator[Transition]:
    """Every transition of a step: of its kind's outcomes, and of its options."""
    visited = None if options.visits is None else options.visits.otherwise
    transitions = (*(outcome.transition for outcome in outcomes), options.then, visited)
    yield from (transition for transition in transitions if transition is not None)
    yield from (word.transition for word in options.words.values())
    yield from (transition for _, transition in options.defaults.transitions())


def uses_of(kind: StepKind, outcomes: Iterable[Outcome], options: StepOptions) -> Iterator[Used]:
    """Every template and expression of a step: its kind's, its transitions' and its options'."""
    yield from kind.uses()
    for outcome in outcomes:
        if outcome.transition is not None:
            yield from _used_by(outcome.transition)
    yield from map(Used, uses_on_leaving(options))
    if options.visits is not None:
        yield from _used_by(options.visits.otherwise)
    if options.then is not None:
        yield from _used_by(options.then)
    yield from uses_of_words(options.words)
    yield from uses_of_defaults(options.defaults, kind.names_in_errors)


def uses_on_leaving(options: StepOptions) -> Iterator[Template]:
    """Those of what a step gives when it is left with success: tags, values, plans."""
    yield from (*options.tag, *options.untag, *options.cancel)
    for item in options.set:
        yield from item.uses()
    for schedule in options.schedule:
        yield from schedule.uses()


def uses_of_words(words: Words) -> Iterator[Used]:
    """Those of words."""
    for word in words.values():
        yield from map(Used, word.uses())


def uses_of_defaults(defaults: Defaults, extra: frozenset[str] = frozenset()) -> Iterator[Used]:
    """Those of defaults. ``extra`` are the names that the transitions of `errors` may use beside the rest."""
    for name, transition in defaults.transitions():
        yield from _used_by(transition, extra if name.startswith("errors.") else frozenset())
    if defaults.window_closed is not None:
        yield from defaults.window_closed.uses()


def _used_by(transition: Transition, extra: frozenset[str] = frozenset()) -> Iterator[Used]:
    for text in transition.uses():
        yield Used(text, extra)
