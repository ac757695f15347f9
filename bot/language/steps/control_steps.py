"""Steps that say nothing and lead the flow: ``branch``, ``wait``, ``run``, and lone step options such as ``set``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Self

from bot.core.effects import KEEPING_ERRORS, KEPT_WITHIN, NOT_FETCHED, EmitEvent
from bot.core.events import CallEnded, SharedRunRequested
from bot.core.immutable import immutable
from bot.core.values import Media, files_in, with_media
from bot.core.waits import ForTime
from bot.language.expressions.list_filters import PLACE, loop_at
from bot.language.expressions.opening_hours import Hours, no_hours
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.expressions.templates import Expression, Template
from bot.language.keys.declared_keys import (
    DURATION,
    EXPRESSION,
    NAME,
    NAMES,
    STRING,
    TEMPLATE,
    Form,
    KeySet,
    KeySpec,
    as_fields,
    either,
    map_of,
    mapped,
)
from bot.language.keys.fields import NAME_PATTERN, Fields, entries_of, items_of, template_of, text_of
from bot.language.keys.key_schemas import ANY_TEXT, NEVER, list_of, pattern, record, with_key
from bot.language.source.problems import Mark, Problems
from bot.language.source.wall_clock import minutes_in, read_iso
from bot.language.source.yaml_tree import Map, Node
from bot.language.steps.message_parts import SETTING, check_error_names
from bot.language.steps.schedule import CLOCK, duration_of, in_time, start_of
from bot.language.steps.step_facts import (
    GOES_ON,
    MAY_FAIL,
    DefaultTarget,
    FlowRun,
    Given,
    Null,
    Outcome,
    StepFacts,
    StepFailed,
    Used,
    Wait,
    WaitsFor,
    texts_used,
)
from bot.language.steps.step_kind import (
    Awaited,
    FlowEnded,
    LeaveStep,
    ReadContext,
    RunFlow,
    StepContext,
    StepKind,
    StepResult,
    WaitForEffect,
    WaitUntil,
)
from bot.language.steps.step_options import CANCEL, CLEAR, SCHEDULES, SET, TAG, UNTAG
from bot.language.steps.transition import ASSIGNMENTS, TARGET_FORM, TRANSITION, Assignment, Target, Transition
from bot.language.types.structured_types import FileVariable

_ITEMS = "- {if: condition, then: step}, and - {else: step} at its end"
_IF = KeySpec("if", EXPRESSION, "The condition.", required=True)
_THEN = KeySpec("then", TARGET_FORM, "Where it leads if this is true.", required=True)
_ELSE = KeySpec("else", TARGET_FORM, "Where it leads if none is true; only as the last of the list.")
_CONDITION = KeySet(_IF, _THEN, _ELSE)
_LAST = KeySet(replace(_IF, required=False), replace(_THEN, required=False), _ELSE)
_LAST_ALONE = record({**_CONDITION.schemas, _IF.name: NEVER, _THEN.name: NEVER})
_BRANCH: KeySpec[tuple[Node, ...]] = KeySpec(
    "branch",
    Form(
        list_of(with_key(_ELSE.name, _LAST_ALONE, _CONDITION.schema())),
        partial(items_of, fix=f"write a list: {_ITEMS}"),
        absent=(),
    ),
    "Conditions in order: the first that is true leads on.",
    required=True,
)


@immutable
class BranchStep(StepKind):
    """Conditions in order, each with its target; the last may be an ``else``."""

    conditions: tuple[tuple[Expression, Target], ...]
    otherwise: Target | None
    verb = "branch"
    keys = KeySet(_BRANCH)

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read the list of ``{if, then}`` and ``{else}``."""
        conditions: list[tuple[Expression, Target]] = []
        otherwise: Target | None = None
        for index, node in enumerate(_BRANCH.read(fields)):
            what = f"{fields.what}: branch {index + 1}"
            if otherwise is not None:
                reading.problems.add("E122", node.mark, f"{what} comes after `else`", "put `else` last")
            alone = isinstance(node, Map) and node.get(_ELSE.name) is not None
            inner = (_LAST if alone else _CONDITION).open(node, reading.problems, what, _ITEMS)
            condition, target = _IF.read(inner), _THEN.read(inner)
            if alone and (_IF.written(inner) or _THEN.written(inner)):
                fix = "write {if: ..., then: step} or {else: step}"
                inner.report("E121", inner.mark, "a condition beside `else`", fix)
            if alone:
                otherwise = _ELSE.read(inner)
            elif condition is not None and target is not None:
                conditions.append((condition, target))
        return cls(tuple(conditions), otherwise)

    def facts(self) -> StepFacts:
        """Return the facts: an outcome for each condition."""
        return StepFacts(outcomes=self._outcomes(), uses=tuple(self._uses()))

    def _outcomes(self) -> dict[str, Outcome]:
        """One outcome for each condition, named by it. If no condition is true: ``else``, or the step's `then`."""
        found = {}
        for index, (condition, target) in enumerate(self.conditions):
            given = (*self._untrue(index), Given(condition))
            found[self._name(index)] = Outcome(Transition(target.mark, then=target), DefaultTarget.STAY, given=given)
        none = self._untrue(len(self.conditions))
        if self.otherwise is not None:
            found["else"] = Outcome(
                Transition(self.otherwise.mark, then=self.otherwise), DefaultTarget.STAY, given=none
            )
        else:
            found["then"] = Outcome(None, DefaultTarget.THEN, given=none)
        return found

    def _untrue(self, index: int) -> tuple[Given, ...]:
        """The conditions before this one, which are false when it is evaluated."""
        return tuple(Given(condition, holds=False) for condition, _ in self.conditions[:index])

    def _name(self, index: int) -> str:
        return f"if {index + 1}: {self.conditions[index][0].source}"

    def _uses(self) -> Iterator[Used]:
        """The conditions."""
        for index, (condition, _) in enumerate(self.conditions):
            yield Used(condition, given=self._untrue(index))

    def enter(self, context: StepContext) -> StepResult:
        """Evaluate conditions until one is true."""
        seen: list[tuple[str, Any]] = []
        for index, (condition, _) in enumerate(self.conditions):
            value = condition.evaluate(context.scope)
            seen.append((condition.explained, value))
            if value:
                return LeaveStep(self._name(index), conditions=tuple(seen))
        return LeaveStep("then" if self.otherwise is None else "else", conditions=tuple(seen))


@immutable
class _OptionStep(StepKind):
    """A step that is nothing but step options, which every step can have: its verb is one of them."""

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read nothing: `read_step_options` reads the option."""
        return cls()

    def enter(self, context: StepContext) -> StepResult:
        """Leave at once; the option is carried out on leaving."""
        return LeaveStep("then")


_LEFT, _VALUES = "left", "values"  # of a `set`: the files that are not kept yet, and its values by their names


@immutable
class SetStep(_OptionStep):
    """A step that only sets variables. Files for ``keeping``, variables that keep files, are kept before it is left."""

    keeping: Mapping[str, FileVariable] = field(default_factory=dict)
    values: tuple[Assignment, ...] = ()  # of the `set`, if one of its variables keeps files
    verb = "set"
    keys = KeySet(SET)

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read the values a second time, without their problems, if a variable keeps files."""
        node = fields.raw(SET.name)
        names = {key.text for key, _ in node.entries} if isinstance(node, Map) else set()
        known = {name: reading.variables.get(name) for name in names}
        files = {name: each for name, each in known.items() if isinstance(each, FileVariable) and each.keeps_files}
        if node is None or not files:
            return cls()
        values = SET.form.read(node, Problems(), "")
        keeping = {item.name: files[item.name] for item in values if item.name in files and any(item.uses())}
        if keeping:
            fix = f"write {', '.join((*KEEPING_ERRORS, *SETTING))}, else"
            check_error_names(fields, (*KEEPING_ERRORS, *SETTING), "keeping a file has no error", fix)
        return cls(keeping, values if keeping else ())

    def facts(self) -> StepFacts:
        """Return the facts: that a file is kept may fail."""
        if not self.keeping:
            return StepFacts()
        return StepFacts(
            waits_for=Wait(WaitsFor.RESULT, KEPT_WITHIN),
            outcomes={**GOES_ON, **MAY_FAIL},
            keeps_files=True,
        )

    def enter(self, context: StepContext) -> StepResult:
        """Leave at once, or keep the files first that are not kept yet."""
        if not self.keeping:
            return LeaveStep("then")
        scope = context.scope
        values = {item.name: item.evaluate(scope) for item in self.values}
        values |= {name: each.coerce(values[name], context.now) for name, each in self.keeping.items()}
        return self._keep_next(
            values, [file for name in self.keeping for file in files_in(values[name]) if file.file is None]
        )

    def _keep_next(self, values: Mapping[str, Any], left: Sequence[Media]) -> StepResult:
        """Keep the next file; leave the step if no file is left to keep."""
        for name, variable in self.keeping.items():
            if left and left[0] in files_in(values.get(name)):
                return WaitForEffect(effect=variable.fetch(left[0]), step_state={_VALUES: values, _LEFT: [*left]})
        return LeaveStep("then", sets=values, as_set=True)

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """The file is kept, or could not be. An edit may have made another step of it."""
        if not isinstance(event, CallEnded):
            return None
        if event.outcome != "done":
            raise StepFailed(event.outcome if event.outcome in KEEPING_ERRORS else NOT_FETCHED, event.detail)
        known, (kept, *left) = context.step_state.get(_VALUES, {}), context.step_state.get(_LEFT) or (None,)
        values = {
            name: with_media(value, lambda file: event.value if file == kept else file) for name, value in known.items()
        }
        return self._keep_next(values, [file for file in left if file != kept])

    def after_failure(self, step_state: Mapping[str, Any]) -> Mapping[str, Any]:
        """Forget the values: where a file cannot be kept, none of them is set."""
        return {}


@immutable
class ClearStep(_OptionStep):
    """A step that only clears variables."""

    verb = "clear"
    keys = KeySet(CLEAR)


@immutable
class TagStep(_OptionStep):
    """A step that only adds tags to the contact."""

    verb = "tag"
    keys = KeySet(TAG)


@immutable
class UntagStep(_OptionStep):
    """A step that only removes tags from the contact."""

    verb = "untag"
    keys = KeySet(UNTAG)


@immutable
class ScheduleStep(_OptionStep):
    """A step that only schedules flows, for example ``later: {schedule: {then: /visit, after: 2d}, then: end}``."""

    verb = "schedule"
    keys = KeySet(SCHEDULES)


@immutable
class CancelStep(_OptionStep):
    """A step that only cancels flows that are scheduled."""

    verb = "cancel"
    keys = KeySet(CANCEL)


OPTION_STEPS: tuple[type[StepKind], ...] = (ScheduleStep, CancelStep, UntagStep, TagStep, ClearStep, SetStep)
"""The kinds whose verbs are step options beside another verb. The last that a step has is its verb."""


SHORTEST = timedelta(seconds=1)
_WEEK = [datetime(2030, 5, day, 12, tzinfo=UTC) for day in range(6, 13)]
_UNTIL = KeySpec("until", STRING, "The name of opening hours: it waits until they begin.", required=True)


def _read_wait(node: Node, problems: Problems, what: str) -> timedelta | Template | None:
    """A duration, or a point in time."""
    text = template_of(node, problems, what)
    if text is None or (text.constant and read_iso(text.source) is None):
        return DURATION.read(node, problems, what)
    return text


_WAIT = KeySpec(
    "wait",
    either(Form(ANY_TEXT, _read_wait), as_fields(KeySet(_UNTIL))),
    "A duration, a point in time, or until which hours.",
    required=True,
)


_OTHER = KeySpec("other", TRANSITION, "Where a message leads that comes meanwhile; without a target the wait goes on.")


@immutable
class WaitStep(StepKind):
    """A duration from the moment the step is entered, a point in time, or until an office is open.

    ``other`` is what a message of the contact leads to meanwhile; None: it is not heard.
    """

    until: timedelta | Template | Hours
    other: Transition | None = None
    past: bool = False  # it may be over on arrival: a fixed day, or a text such as {{ today }}
    verb = "wait"
    keys = KeySet(_WAIT, _OTHER)
    options = frozenset({"then", "words"})

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``wait: 2h``, ``wait: "{{ slot.starts }}"`` or ``wait: {until: office}``."""
        written, other = _WAIT.read(fields), _OTHER.read(fields)
        if isinstance(written, Fields):
            return cls(_read_hours(written, reading) or SHORTEST, other)
        if isinstance(written, Template):
            return cls(written, other, written.constant or _always_past(written))
        return cls(written or SHORTEST, other)

    def facts(self) -> StepFacts:
        """Return the facts. It may fail: a value may be no point in time, or the office may never open again."""
        moments = (self.until,) if isinstance(self.until, Template) else ()
        outcomes = {**GOES_ON}
        if self.other is not None:
            outcomes["other"] = Outcome(self.other, DefaultTarget.STAY, success=False)
        return StepFacts(
            waits_for=self._waits_for(),
            outcomes=outcomes,
            values_may_fail=not isinstance(self.until, timedelta),
            uses=tuple(texts_used(*moments, null=Null.REFUSED)),
            moments=moments,
        )

    def _waits_for(self) -> Wait:
        """Time that passes; how long is known only for a duration that is written out."""
        if isinstance(self.until, timedelta):
            return Wait(WaitsFor.TIME, self.until)
        return Wait(WaitsFor.TIME, over=isinstance(self.until, Hours) or self.past)

    def enter(self, context: StepContext) -> StepResult:
        """Wait, and go on once the time has come; the engine wakes the step then."""
        until = self._until(context)
        if until <= context.now:
            return LeaveStep("then")
        return WaitUntil(until=until, lasts=self._lasts(context))

    def _lasts(self, context: StepContext) -> timedelta | None:
        """The duration, if the step has one: it waits no longer than this, whatever happens to the clock."""
        if isinstance(context.waits, ForTime) and context.waits.lasts is not None:
            return context.waits.lasts
        if isinstance(self.until, Template):
            return duration_of(self.until, context.scope)
        return self.until if isinstance(self.until, timedelta) else None

    def _until(self, context: StepContext) -> datetime:
        """When the wait is over, in UTC. Opening hours are looked at anew: an edit may have closed the office."""
        if isinstance(self.until, Hours):
            opens = self.until.opens(context.now)
            if opens is None:
                raise StepFailed("failed", f"{self.until.name} never opens again")
            return opens
        if isinstance(context.waits, ForTime):
            return context.waits.until
        if isinstance(self.until, timedelta):
            return in_time(context.now, self.until)
        return start_of(self.until, context.scope, context.now)


def _always_past(text: Template) -> bool:
    """True if a time that depends on ``now`` alone is in the past on some day of a week."""
    if text.calls or not text.names or not text.names <= CLOCK:
        return False
    try:
        return any(start_of(text, {"now": now, "today": now.date()}, now) <= now for now in _WEEK)
    except (TemplateFailed, StepFailed):
        return False


def _read_hours(fields: Fields, reading: ReadContext) -> Hours | None:
    """The opening hours that are named under `until`."""
    name = _UNTIL.read(fields)
    if name is not None and name not in reading.hours:
        what, fix = no_hours(name, reading.hours)
        if minutes_in(name) is not None:
            fix = f"for a time of day write wait: '{{{{ today | at(\"{name}\") }}}}'"
        reading.problems.add("E115", _UNTIL.mark(fields), what, fix)
    return None if name is None else reading.hours.get(name)


MOST_ELEMENTS = 100
ELEMENT = frozenset(PLACE)
"""The names of an element and of its place."""
_LIST, _RESULTS = "each", "results"  # what is remembered while the elements are gone through


def _read_pairs(node: Node, problems: Problems, what: str) -> dict[str, str]:
    """``save: {ours: theirs}``."""
    names = ((ours.text, NAME.read(theirs, problems, what)) for ours, theirs in entries_of(node, problems, what))
    return {ours: theirs for ours, theirs in names if theirs is not None}


_RUN = KeySpec(
    "run",
    Form(pattern(f"/?{NAME_PATTERN}", "write a flow: /flow"), text_of),
    "The flow that runs, and returns here.",
    required=True,
)
_EACH = KeySpec("each", EXPRESSION, "A list: the flow runs once for each of its elements, which is called it.")
FLOW_INPUTS = KeySpec("with", ASSIGNMENTS, "Values for that flow's variables.")
_SAVE = KeySpec(
    "save",
    either(mapped(NAMES, lambda names: dict(zip(names, names, strict=True))), map_of(NAME, _read_pairs)),
    "Variables that come back: names, or ours with theirs.",
)
_BREAK = KeySpec("break", EXPRESSION, "When this is true after an element, the flow runs for no further one.")
_OF = KeySpec("of", TEMPLATE, "The shared record at which the flow runs, by its name.")
_EXPIRED = KeySpec("expired", TRANSITION, "Where it leads if silence ended that flow; by default where `then` leads.")


LONGEST_RECORD = 64
SET_LATER = datetime(1, 1, 1, tzinfo=UTC)  # the engine sets an id and the time


@immutable
class RunStep(StepKind):
    """Run another flow: its name, the values that go in, and which of our variables get which of its own.

    With ``each``, an expression for a list, the flow runs once an element: ``it``, and ``loop`` as in templates. The
    outputs are then lists, in the order of the elements. ``until`` is `break`: a condition after each element, which
    sees what the flow brought under its own names. ``of`` is the record at which a shared flow runs: then the step
    waits for the record's turn.
    """

    flow: str
    mark: Mark
    inputs: tuple[Assignment, ...]
    outputs: Mapping[str, str]
    expired: Transition | None
    each: Expression | None = None
    until: Expression | None = None
    of: Template | None = None
    verb = "run"
    keys = KeySet(_RUN, _OF, _EACH, _BREAK, FLOW_INPUTS, _SAVE, _EXPIRED)
    options = frozenset({"then", "words"})

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``run: /flow`` with `each`, `break`, `with` and `save`."""
        flow = (_RUN.read(fields) or "").removeprefix("/")
        inputs, outputs = FLOW_INPUTS.read(fields), _SAVE.read(fields) or {}
        each, until = _EACH.read(fields), _BREAK.read(fields)
        if until is not None and each is None:
            what = '"break" has no effect: the flow runs once'
            _BREAK.report(fields, "E123", what, "write each: and a list, or remove it")
        of, expired = _OF.read(fields), _EXPIRED.read(fields)
        for key in (_EACH, _EXPIRED) if of is not None else ():
            if key.written(fields):
                what = f'"{key.name}" and "of" exclude each other: a shared flow runs once, and ends at once'
                key.report(fields, "E121", what, "remove one of them")
        return cls(flow, _RUN.mark(fields), inputs, outputs, expired, each, until, of)

    def facts(self) -> StepFacts:
        """Return the facts. It may fail: a value may not be a list, or not fit the flow's variable.

        ``expired`` leads where `then` does unless it is written.
        """
        listed, most = (False, 1) if self.each is None else (True, MOST_ELEMENTS)
        shared = self.of is not None
        outcomes = {**GOES_ON}
        if not shared:
            outcomes["expired"] = Outcome(self.expired, DefaultTarget.THEN, success=False)
        return StepFacts(
            waits_for=Wait(WaitsFor.FLOW),
            outcomes=outcomes,
            values_may_fail=listed or any(text.single for item in self.inputs for text in item.uses()),
            uses=tuple(self._uses()),
            gives=frozenset(self.outputs),
            flows_run=(FlowRun(self.flow, self.mark, self.inputs, self.outputs, listed, most, shared),),
        )

    def _uses(self) -> Iterator[Used]:
        """The list, the record, and the templates among the inputs."""
        yield from texts_used(self.each)
        yield from texts_used(self.of, null=Null.REFUSED)
        extra = frozenset() if self.each is None else ELEMENT
        for item in self.inputs:
            yield from texts_used(*item.uses(), extra=extra, null=Null.TAKEN, sure=self.each is None)
        yield from texts_used(self.until, extra=ELEMENT.union(self.outputs.values()), null=Null.TAKEN, sure=False)

    def enter(self, context: StepContext) -> StepResult:
        """Open the flow's frame, for the first element where there are several."""
        if self.of is not None:
            record = "" if (named := self.of.value(context.scope)) is None else str(named)
            if not 0 < len(record) <= LONGEST_RECORD:
                raise StepFailed("mismatch", f"{self.of.mark}: a record's name has 1 to {LONGEST_RECORD} characters")
            event = SharedRunRequested("", record, SET_LATER, self.flow, self._inputs(context.scope))
            return WaitForEffect(effect=EmitEvent(event))
        if self.each is None:
            return RunFlow(flow=self.flow, inputs=self._inputs(context.scope))
        return self._open_for(context, elements_of(self.each, context.scope), [])

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """The flow came to its end: take what it brought, and go on with the next element."""
        if isinstance(event, CallEnded) and self.of is not None:
            if event.outcome != "done":
                raise StepFailed("failed", f"flow {self.flow} has failed: {event.detail}")
            return LeaveStep("then", sets={ours: event.value.get(theirs) for ours, theirs in self.outputs.items()})
        if not isinstance(event, FlowEnded):
            return None
        if event.expired:
            return LeaveStep("expired")
        if event.failed:
            raise StepFailed("failed", f"flow {self.flow} has failed")
        if self.each is None or _LIST not in context.step_state:
            return LeaveStep("then", sets={ours: event.vars.get(theirs) for ours, theirs in self.outputs.items()})
        brought = {theirs: event.vars.get(theirs) for theirs in self.outputs.values()}
        elements, before = context.step_state[_LIST], context.step_state[_RESULTS]
        results = [*before, brought]
        scope = {**within(context.scope, elements, len(before)), **brought}
        if self.until is not None and self.until.evaluate(scope):
            return self._leave(results)
        return self._open_for(context, elements, results)

    def _open_for(self, context: StepContext, elements: Sequence[Any], results: list[dict[str, Any]]) -> StepResult:
        """Run the flow for the first element that has no result yet; when all have one, they are the outcome."""
        done = len(results)
        if done == len(elements):
            return self._leave(results)
        state = {_LIST: list(elements), _RESULTS: results}
        return RunFlow(flow=self.flow, inputs=self._inputs(within(context.scope, elements, done)), step_state=state)

    def _leave(self, results: list[dict[str, Any]]) -> LeaveStep:
        """Earlier results have nothing of what only an edit has added to `save`."""
        found = {ours: [each.get(theirs) for each in results] for ours, theirs in self.outputs.items()}
        return LeaveStep("then", sets=found)

    def _inputs(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        return {item.name: item.evaluate(scope) for item in self.inputs}


def within(scope: Mapping[str, Any], elements: Sequence[Any], done: int) -> dict[str, Any]:
    """The scope at one of the elements; ``loop`` is its place."""
    return {**scope, "it": elements[done], "loop": loop_at(done, len(elements))}


def elements_of(each: Expression, scope: Mapping[str, Any]) -> Sequence[Any]:
    """The list that an expression gives; null is an empty one. Raises `StepFailed`."""
    elements = each.evaluate(scope)
    if elements is None:
        return ()
    if not isinstance(elements, list | tuple):
        raise StepFailed("mismatch", f"{each.source} is no list to go through")
    if len(elements) > MOST_ELEMENTS:
        raise StepFailed("mismatch", f"{each.source} has more than {MOST_ELEMENTS} elements")
    return elements


@immutable
class UnreadStep(StepKind):
    """A step that leads nowhere and says nothing, never entered: what becomes of a conversation there is unknown."""

    verb = ""

    def facts(self) -> StepFacts:
        """Return the facts of a step without any outcome."""
        return StepFacts(outcomes={})

    def enter(self, context: StepContext) -> StepResult:
        """Raise an error: a bot with such a step is not served."""
        raise AssertionError(f"{context.flow}/{context.step} has a problem")
