"""Step options: what any step may say beside its verb."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Self

from bot.expressions.templates import Template
from bot.keys.fields import Fields
from bot.keys.text_shapes import Keys, Part, Shape
from bot.lang.nodes import Mark
from bot.steps.in_full import fields_in_full
from bot.steps.notice import NOTICE_TEXTS, Notice, read_notice
from bot.steps.schedule import Schedule, read_schedules
from bot.steps.transition import (
    END,
    TRANSITION_TEXTS,
    Assignment,
    Target,
    Transition,
    assignments,
    transition_at,
    transition_from,
    transition_of,
)
from bot.steps.words import Words, read_words

DEFAULTS_TEXTS: Mapping[str, Shape] = {
    "retry": {**TRANSITION_TEXTS, "else": TRANSITION_TEXTS},
    "remind": TRANSITION_TEXTS,
    "timeout": TRANSITION_TEXTS,
    "errors": Keys(TRANSITION_TEXTS),
    "window_closed": {"template": NOTICE_TEXTS},
    "gone": TRANSITION_TEXTS,
}
STEP_OPTIONS_TEXTS: Mapping[str, Shape] = {
    **DEFAULTS_TEXTS,
    "then": TRANSITION_TEXTS,
    "visits": {"else": TRANSITION_TEXTS},
    "words": Keys(TRANSITION_TEXTS, Part.WORD),
}


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
        """This one, with what it leaves out taken from the inherited one, key by key."""
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
        """This one, with what it leaves out taken from the inherited one, key by key."""
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
    """What a step does where it says nothing itself. Inherited key by key: step, flow, bot."""

    retry: Retry | None = None
    remind: Timed | None = None
    timeout: Timed | None = None
    errors: Mapping[str, Transition] | None = None
    window_closed: Notice | None = None
    old_taps: str | None = None
    gone: Transition | None = None

    def over(self, inherited: Self) -> Self:
        """These, with what they leave out taken from the inherited ones."""
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
    save = fields.name("save") if saves and fields.has("save") else None
    return StepOptions(
        transition_at(fields, "then"),
        save,
        fields.mark_of("save"),
        fields.templates("tag"),
        assignments(fields, "set"),
        _read_visits(fields),
        Defaults(
            retry=_read_retry(fields),
            remind=_read_timed(fields, "remind"),
            timeout=_read_timed(fields, "timeout"),
            errors=read_errors(fields) if fields.has("errors") else None,
            window_closed=_read_window_closed(fields),
        ),
        fields.name("renamed_from"),
        read_words(fields),
        fields.templates("untag"),
        fields.templates("cancel"),
        read_schedules(fields),
    )


def read_defaults(fields: Fields) -> Defaults:
    """Read the `defaults` of a flow or of the bot."""
    defaults = Defaults(
        _read_retry(fields),
        _read_timed(fields, "remind"),
        _read_timed(fields, "timeout"),
        read_errors(fields) if fields.has("errors") else None,
        _read_window_closed(fields),
        fields.choice("old_taps", ("explain", "reopen", "ignore", "message")),
        transition_at(fields, "gone"),
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


def _read_window_closed(fields: Fields) -> Notice | None:
    form = "template: {name: its_name, language: en}"
    inner = fields.fields("window_closed", f"window_closed: {{{form}}}")
    template = inner.fields("template", form) if inner is not None and inner.require("template") else None
    notice = None if template is None else read_notice(template)
    if inner is not None:
        inner.close()
    return notice
