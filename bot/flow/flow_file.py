"""From documents to definitions."""

from collections.abc import Mapping
from dataclasses import replace

from bot.extensions.gathered import Extensions
from bot.flow.definition import BotDefinition, Flow, Step
from bot.flow.triggers import TRIGGER_KEYS, read_trigger
from bot.keys.fields import Fields, name_of
from bot.keys.key_schemas import ANY_TEXT, NAME, Schema, Schemas, by_key, choice, map_of, record, takes
from bot.lang.nodes import List, Map, Node, Scalar, fingerprint, one_or_more
from bot.lang.problems import Problems, did_you_mean
from bot.steps import KINDS
from bot.steps.custom_steps import all_kinds
from bot.steps.step_facts import Falls
from bot.steps.step_kind import ReadContext, StepKind
from bot.steps.step_options import DEFAULTS, SOME_HAVE, STEP_OPTIONS, Defaults, read_defaults, read_step_options
from bot.steps.transition import RESERVED, WORDS, read_words
from bot.types.text_types import TextVariable
from bot.types.type_registry import VARIABLE, Variable, read_variable

INTERRUPTED = ("resume", "drop", "ask")


def flow_schema(kinds: Mapping[str, type[StepKind]]) -> Schema:
    """A flow with steps of these kinds."""
    keys: Schemas = {
        "flow": takes(NAME, "The flow's name."),
        "about": takes(ANY_TEXT, "What it is for, for whoever reads it."),
        "start": takes(record(TRIGGER_KEYS), "What starts it."),
        "interrupted": takes(choice(*INTERRUPTED), "What becomes of it when another flow cuts in; else none can."),
        "words": takes(WORDS, "Words that are understood in all of it."),
        "vars": takes(map_of(VARIABLE), "Its variables."),
        "defaults": takes(DEFAULTS, "What its steps do where they say nothing; over the bot's defaults."),
        "steps": takes(map_of(step_schema(kinds)), "Its steps, in order: it begins with the first."),
    }
    return record(keys, "flow", "steps")


def step_schema(kinds: Mapping[str, type[StepKind]]) -> Schema:
    """A step of one of these kinds. A key that is a verb and an option too is a verb where no other verb is."""
    verbs = sorted(kinds, key=lambda verb: verb in STEP_OPTIONS)
    records = {verb: _step_of(kinds[verb]) for verb in verbs}
    return by_key(records, f"a step has one verb: {', '.join(kinds)}")


def _step_of(kind: type[StepKind]) -> Schema:
    options = {name: schema for name, schema in STEP_OPTIONS.items() if name not in SOME_HAVE - kind.options}
    return record({**kind.keys, **options, kind.verb: kind.keys[kind.verb]}, kind.verb, *kind.needed)


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
    start = read_trigger(fields, variables)
    inner = fields.fields_meant("defaults")
    defaults = bot.defaults if inner is None else read_defaults(inner).over(bot.defaults)
    known, handlers, kinds = {**bot.common, **variables}, extensions.handlers, all_kinds(extensions.verbs)
    reading = ReadContext("", problems, known, handlers, None, {}, documents, bot.ai, bot.services, bot.hours, kinds)
    steps, unreadable = _read_steps(fields, defaults, reading)
    interrupted = fields.choice("interrupted", INTERRUPTED)
    words = read_words(fields)
    fields.close()
    mark = fields.mark_of("flow")
    return Flow(name, mark, about, start, variables, defaults, words, steps, interrupted, unreadable)


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
    options = read_step_options(fields, saves=kind_class.saves)
    defaults = options.defaults.over(inherited)
    kind = kind_class.read(fields, replace(reading, step=name, save=options.save, errors=defaults.errors or {}))
    _refuse_options(fields, kind)
    fields.close()
    said = fingerprint(node, without="renamed_from")  # who waits there is asked nothing anew for a new name alone
    return Step(name, key.mark, kind, options, defaults, said, written=_in_a_line(fields.node.get(verb)))


def _in_a_line(node: Node | None) -> str:
    """What a node says, as far as that goes into a line: of a map its values with their keys, of a list nothing."""
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
    """Step options that would never be taken."""
    nobody = "where nobody is waited for", "put it on a step that waits for an answer"
    anything = "where every reply is taken", "leave it out"
    nowhere = "where every way out has a target of its own", "write the target there"
    refused = {} if kind.waits else dict.fromkeys(("retry", "remind", *(() if kind.deaf else ("timeout",))), nobody)
    if not kind.hears:
        refused["words"] = nobody
    if kind.takes_pending_input:
        refused["retry"] = anything
    if not any(outcome.falls is Falls.THEN for outcome in kind.outcomes().values()):
        refused["then"] = nowhere
    for key, (why, fix) in refused.items():
        if fields.has(key):
            fields.problems.add("E123", fields.mark_of(key), f'{fields.what}: "{key}" {why}', fix)
