"""A flow's document: how its steps are read, what starts it, where its outcomes lead, and what its keys take."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bot.core.events import EVENTS
from bot.extensions.gathered import Extensions
from bot.flow.definition import CONTACTS, BotDefinition, Flow, ResolvedTransition, Step, Trigger
from bot.keys.fields import Fields, name_of
from bot.keys.key_schemas import (
    ANY_TEXT,
    BOOLEAN,
    NAME,
    Schema,
    Schemas,
    by_key,
    choice,
    map_of,
    one_or_several,
    record,
    takes,
)
from bot.keys.patterns import MATCH_KEYS, PATTERN_KEYS, read_match, read_pattern
from bot.lang.problems import Mark, Problems, did_you_mean
from bot.lang.source import List, Map, Node, Scalar, fingerprint, one_or_more
from bot.steps import KINDS
from bot.steps.custom_steps import all_kinds
from bot.steps.step_facts import Falls, Outcome
from bot.steps.step_kind import ReadContext, StepKind
from bot.steps.step_options import DEFAULTS, SAVE, SOME_HAVE, STEP_OPTIONS, Defaults, read_defaults, read_step_options
from bot.steps.transition import AGAIN, END, NEXT, RESERVED, WORDS, Transition, read_words
from bot.types.text_types import TextVariable
from bot.types.type_registry import VARIABLE, read_variable
from bot.types.variable import Variable

INTERRUPTED = ("resume", "drop", "ask")
TRIGGER_KEYS: Schemas = {
    "words": takes(one_or_several(ANY_TEXT), "Words that start it."),
    **MATCH_KEYS,
    **PATTERN_KEYS,
    "event": takes(one_or_several(choice(*EVENTS)), "Events of the gateway that start it."),
    "otherwise": takes(BOOLEAN, "Whether it starts when no other flow fits; false where nothing is said."),
    "contact": takes(choice(*CONTACTS), "Who can start it; everybody where nothing is said."),
}


def read_flow(
    node: Map,
    bot: BotDefinition,
    extensions: Extensions,
    documents: Mapping[str, str],
    problems: Problems,
) -> Flow:
    """Read one flow with all its steps. ``documents`` are the bot's text files, by path."""
    fields = Fields(node, problems, "flow")
    name = fields.name("flow") or ""
    fields.what = f'flow "{name}"'
    about = fields.string("about") or ""
    variables = _read_variables(fields)
    trigger = read_trigger(fields, variables)
    inner = fields.fields_meant("defaults")
    defaults = bot.defaults if inner is None else read_defaults(inner).over(bot.defaults)
    known, handlers = {**bot.common, **variables}, extensions.handlers
    kinds = all_kinds(extensions.verbs) if extensions.verbs else KINDS
    reading = ReadContext("", problems, known, handlers, None, {}, documents, bot.ai, bot.services, bot.hours, kinds)
    steps, unreadable = _read_steps(fields, defaults, reading)
    interrupted = fields.choice("interrupted", INTERRUPTED)
    words = read_words(fields)
    fields.close()
    mark = fields.mark_of("flow")
    return Flow(name, mark, about, trigger, variables, defaults, words, steps, interrupted, unreadable)


def _read_variables(fields: Fields) -> dict[str, Variable]:
    """The variables, also those of which something is wrong: what uses them need not be a problem as well."""
    inner = fields.fields_meant("vars", "vars: {name: {type: text}}")
    variables = {}
    for key, node in () if inner is None else inner.entries():
        name_of(key, fields.problems, "variable")
        variables[key.text] = read_variable(key.text, node, fields.problems)
    listed = (item for item in one_or_more(fields.raw("vars")) if not isinstance(item, List))
    named = (key for item in listed for key in ([key for key, _ in item.entries] if isinstance(item, Map) else [item]))
    return {key.text: TextVariable(key.text, key.mark) for key in named} | variables


def _read_steps(fields: Fields, defaults: Defaults, reading: ReadContext) -> tuple[dict[str, Step], frozenset[str]]:
    """The steps, and the names of those of which nothing is left."""
    fields.require("steps")
    inner = fields.fields_meant("steps", "steps: {name: {say: ...}}")
    if inner is None:
        return {}, frozenset()
    found = {key.text: _read_step(key, node, defaults, reading) for key, node in inner.entries()}
    if isinstance(fields.raw("steps"), Map) and not found:
        fields.problems.add("E105", fields.mark_of("steps"), f"{fields.what} has no steps", "add the first one")
    steps = {name: step for name, step in found.items() if step is not None}
    return steps, frozenset(found.keys() - steps.keys())


def _read_step(key: Scalar, node: Node, inherited: Defaults, reading: ReadContext) -> Step | None:
    problems = reading.problems
    name = name_of(key, problems, "step")
    if name is None:
        return None
    if name in RESERVED:
        problems.add(
            "E108", key.mark, f'"{name}" cannot be a step: the word is a target of its own', "choose another name"
        )
        return None
    fields = Fields(node, problems, f'step "{name}"')
    verb = _verb(fields, reading.kinds) if isinstance(node, Map) else None
    if verb is None:
        return None
    kind_class = reading.kinds[verb]
    general = (key.name for key in STEP_OPTIONS if key is not SAVE or kind_class.saves)
    fields.expect((*kind_class.keys.names, *general), ())
    options = read_step_options(fields, saves=kind_class.saves)
    defaults = options.defaults.over(inherited)
    kind = kind_class.read(fields, replace(reading, step=name, save=options.save, errors=defaults.errors or {}))
    _refuse_options(fields, kind)
    fields.close()
    said = fingerprint(node, without="renamed_from")  # who waits there is asked nothing anew for a new name alone
    return Step(name, key.mark, kind, options, defaults, said, written=_in_a_line(fields.node.get(verb)))


def _in_a_line(node: Node | None) -> str:
    """A node in one line, for people: of a map the keys and their values, of a list nothing."""
    match node:
        case Scalar(text=text):
            return text
        case Map(entries=entries):
            return ", ".join(f"{key.text}: {value.text}" for key, value in entries if isinstance(value, Scalar))
    return ""


def _verb(fields: Fields, kinds: Mapping[str, type[StepKind]]) -> str | None:
    """The one verb of a step; none, two or an unknown one is a problem. `set` beside another verb is an option."""
    keys = {key.text: key for key, _ in fields.node.entries}
    verbs = [name for name in keys if name in kinds]
    if len(verbs) > 1 and "set" in verbs:
        verbs.remove("set")
    verbs = [name for name in verbs if name in KINDS] or verbs  # a built-in verb's key may be a verb of the bot's own
    if not verbs:
        first = next(iter(keys), None)
        what = f'{fields.what} has no verb, it begins with "{first}"' if first else f"{fields.what} is empty"
        fields.problems.add(
            "E107", fields.mark, what, did_you_mean(first or "", kinds, f"write one of {', '.join(kinds)}")
        )
        return None
    for extra in verbs[1:]:
        fields.raw(extra)
        what = f'{fields.what} has two verbs, "{verbs[0]}" and "{extra}"'
        fields.problems.add("E107", keys[extra].mark, what, "make two steps of it")
    return verbs[0]


def _refuse_options(fields: Fields, kind: StepKind) -> None:
    """Report the options that have no effect on a step of this kind."""
    waits_for = "an agent, not for the contact" if kind.ignores_messages else "no answer"
    nobody = f"the step waits for {waits_for}", "put it on a step that waits for an answer"
    anything = "the step takes every reply", "remove it"
    nowhere = "every outcome has a target of its own", "remove it"
    refused = (
        {}
        if kind.waits
        else dict.fromkeys(("retry", "remind", *(() if kind.ignores_messages else ("timeout",))), nobody)
    )
    if not kind.takes_words:
        refused["words"] = nobody
    if kind.takes_pending_input:
        refused["retry"] = anything
    if not any(outcome.falls is Falls.THEN for outcome in kind.outcomes().values()):
        refused["then"] = nowhere
    for key, (why, fix) in refused.items():
        if fields.has(key):
            fields.problems.add("E123", fields.mark_of(key), f'{fields.what}: "{key}" has no effect: {why}', fix)


# -- what starts it ---------------------------------------------------------------------------------


def read_trigger(fields: Fields, variables: Mapping[str, Variable]) -> Trigger | None:
    """Read the `start` of a flow with these variables; something must start it."""
    inner = fields.fields("start", "start: {words: [hi, hello]}")
    if inner is None:
        return None
    trigger = Trigger(
        inner.mark,
        _read_words(inner),
        read_match(inner),
        read_pattern(inner),
        _read_events(inner),
        inner.boolean("otherwise"),
        inner.choice("contact", CONTACTS),
    )
    if isinstance(fields.raw("start"), Map) and not (
        inner.has("words") or inner.has("pattern") or inner.has("event") or trigger.otherwise
    ):
        fix = "add words, a pattern, an event or otherwise: true"
        fields.problems.add("E105", inner.mark, f"{inner.what}: there is nothing that starts the flow", fix)
    if inner.has("match") and not inner.has("words"):
        fields.problems.add(
            "E105", inner.mark_of("match"), f'{inner.what}: "match" is for words', "add words, or remove it"
        )
    for name in () if trigger.pattern is None else trigger.pattern.groupindex.keys() - variables.keys():
        fix = did_you_mean(name, variables, f"declare it under vars: {name}: {{type: text}}")
        fields.problems.add("E301", inner.mark_of("pattern"), f'{inner.what}: no variable "{name}"', fix)
    inner.close()
    return trigger


def _read_words(fields: Fields) -> tuple[tuple[str, Mark], ...]:
    marks = (item.mark for item in fields.one_or_more("words"))
    return tuple(zip(fields.strings("words"), marks, strict=False))


def _read_events(fields: Fields) -> tuple[str, ...]:
    events = fields.strings("event")
    for event in events:
        if event not in EVENTS:
            fix = did_you_mean(event, EVENTS, f"write one of {', '.join(EVENTS)}")
            fields.problems.add("E109", fields.mark_of("event"), f'{fields.what}: no event "{event}"', fix)
    return events


# -- where the outcomes of its steps lead -----------------------------------------------------------


def wired(flow: Flow, problems: Problems) -> Flow:
    """The flow with the transitions of each step; an outcome that leads nowhere is a problem."""
    names = list(flow.steps)
    following = dict(zip(names, [*names[1:], END], strict=False))
    steps = {}
    for step in flow.steps.values():
        resolved = _Resolver(step, following[step.name], problems).transitions()
        steps[step.name] = replace(step, transitions={each.outcome: each for each in resolved})
    return replace(flow, steps=steps)


class _Resolver:
    """Resolves the transitions of one step: the target of each of its outcomes, with all defaults applied."""

    def __init__(self, step: Step, following: str, problems: Problems) -> None:
        self._step = step
        self._following = following
        self._problems = problems

    def transitions(self) -> Iterator[ResolvedTransition]:
        """Every outcome, the kind's own first."""
        step, own = self._step, self._step.outcomes
        for name, outcome in own.items():
            yield self._own(name, outcome)
        for name, transition in (step.defaults.errors or {}).items():
            yield self._leading(f"errors.{name}", transition)
        if step.options.visits is not None:
            yield self._leading("visits.else", step.options.visits.otherwise)
        if step.kind.waits and "other" not in own:
            yield from self._retry()
        elif step.kind.waits and step.options.defaults.retry is not None:
            fix = "keep one: `other` takes every reply that is no answer"
            mark = step.options.defaults.retry.mark
            self._problems.add("E124", mark, f'step "{step.name}": "retry" has no effect beside "other"', fix)
        remind = step.defaults.remind
        if step.kind.waits and remind is not None:
            if remind.after is None:
                self._problems.add("E130", remind.mark, "remind has no `after`", "add after: and a duration")
            yield self._repeating("remind", remind.transition)
        if step.kind.waits or step.timeout is not None:
            yield self._timeout()

    def _own(self, name: str, outcome: Outcome) -> ResolvedTransition:
        """An outcome of the step's kind: what is written for it, else what such an outcome falls back to."""
        transition, success = outcome.transition, outcome.success
        if transition is not None and (transition.then is not None or outcome.falls is Falls.WRITTEN):
            return self._leading(name, transition, success=success)
        mark = self._step.mark if transition is None else transition.mark
        target: str | None = None
        match outcome.falls:
            case Falls.THEN:
                then = self._step.options.then
                target = self._following if then is None or then.then is None else self._named(then.then.text)
                transition = transition or then
            case Falls.ERRORS if "else" not in (self._step.defaults.errors or {}):
                fix = "add errors: {else: end}, or another target"
                self._missing("errors.else", "a failure of this step leads nowhere", fix)
            case Falls.WRITTEN:
                key, _, inner = name.partition(".")
                fix = f"write {inner}: and a target under {key}" if inner else f"write {name}: and a target"
                self._missing(name, f'"{name}" leads nowhere', fix)
        return ResolvedTransition(self._step.name, name, target, mark, transition, success=success)

    def _retry(self) -> Iterator[ResolvedTransition]:
        retry = self._step.defaults.retry
        yield self._repeating("retry", None if retry is None else retry.transition)
        if retry is not None and retry.otherwise is not None:
            yield self._leading("retry.else", retry.otherwise)
        elif retry is not None and retry.most is not None:
            self._problems.add("E130", retry.mark, "retry has a `max` and no `else`", "add else: and a target")

    def _timeout(self) -> ResolvedTransition:
        timeout = self._step.timeout
        if timeout is None or timeout.transition is None:
            fix = "add timeout: {after: 20h, then: end} here or under `defaults`"
            self._missing("timeout", "it waits for ever when no answer comes", fix)
            return ResolvedTransition(self._step.name, "timeout", END, self._step.mark, success=False)
        if timeout.after is None:
            self._problems.add("E130", timeout.mark, "timeout has no `after`", "add after: and a duration")
        return self._leading("timeout", timeout.transition)

    def _leading(self, name: str, transition: Transition, *, success: bool = False) -> ResolvedTransition:
        """An outcome whose transition must say where it leads."""
        if transition.then is None:
            self._problems.add("E131", transition.mark, f"{name} leads nowhere", "add `then` with a target")
        target = END if transition.then is None else self._named(transition.then.text)
        return ResolvedTransition(self._step.name, name, target, transition.mark, transition, success=success)

    def _repeating(self, name: str, transition: Transition | None) -> ResolvedTransition:
        """An outcome that may stay at the step: where nothing is written, the question is put again."""
        if transition is None or not transition.speaks:
            return ResolvedTransition(self._step.name, name, AGAIN, self._step.mark, transition, success=False)
        target = None if transition.then is None else self._named(transition.then.text)
        return ResolvedTransition(self._step.name, name, target, transition.mark, transition, success=False)

    def _named(self, target: str) -> str:
        return self._following if target == NEXT else target

    def _missing(self, outcome: str, what: str, fix: str) -> None:
        self._problems.add("E130", self._step.mark, f'step "{self._step.name}" has no `{outcome}`: {what}', fix)


# -- what its keys take, for editors ----------------------------------------------------------------


def flow_schema(kinds: Mapping[str, type[StepKind]]) -> Schema:
    """A flow with steps of these kinds."""
    keys: Schemas = {
        "flow": takes(NAME, "The flow's name."),
        "about": takes(ANY_TEXT, "What it is for, for whoever reads it."),
        "start": takes(record(TRIGGER_KEYS), "What starts it."),
        "interrupted": takes(choice(*INTERRUPTED), "What becomes of it when another flow cuts in; else none can."),
        "words": takes(WORDS.schema, "Words that are understood in all of it."),
        "vars": takes(map_of(VARIABLE), "Its variables."),
        "defaults": takes(DEFAULTS.schema(), "What its steps do where they say nothing; over the bot's defaults."),
        "steps": takes(map_of(step_schema(kinds)), "Its steps, in order: it begins with the first."),
    }
    return record(keys, "flow", "steps")


def step_schema(kinds: Mapping[str, type[StepKind]]) -> Schema:
    """A step of one of these kinds. A key that is a verb and an option too is a verb where no other verb is."""
    verbs = sorted(kinds, key=lambda verb: verb in STEP_OPTIONS.names)
    records = {verb: _step_of(kinds[verb]) for verb in verbs}
    return by_key(records, f"a step has one verb: {', '.join(kinds)}")


def _step_of(kind: type[StepKind]) -> Schema:
    options = {name: schema for name, schema in STEP_OPTIONS.schemas.items() if name not in SOME_HAVE - kind.options}
    keys = kind.keys.schemas
    return record({**keys, **options, kind.verb: keys[kind.verb]}, *dict.fromkeys((kind.verb, *kind.keys.required)))
