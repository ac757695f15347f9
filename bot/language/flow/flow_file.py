"""A flow's document: its keys, and what starts it; and the flows that the bot makes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, tzinfo

from bot.core.events import EVENTS
from bot.core.messages import BUTTON_TITLE
from bot.core.session import BUSY
from bot.language.answers.topics import TOPICS
from bot.language.flow.bot_file import SPOKEN
from bot.language.flow.definition import CONTACTS, FIRST, BotDefinition, Flow, Step, Trigger
from bot.language.flow.resolved_transitions import with_transitions
from bot.language.flow.step_reader import STEPS_KEY, read_steps, step_schema
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import (
    BOOLEAN,
    LISTED_NAME,
    LITERAL,
    NAME,
    STRING,
    STRINGS,
    Form,
    KeySet,
    KeySpec,
    as_fields,
    either,
    mapped,
    nested,
    one_of,
    one_or_several,
    raw_node,
    with_mark,
)
from bot.language.keys.definitions import DEFINE, read_definitions
from bot.language.keys.fields import Fields
from bot.language.keys.key_schemas import Schema
from bot.language.keys.patterns import MATCH, PATTERN, PAYLOAD_PATTERN
from bot.language.keys.text_shapes import TEXT
from bot.language.python.gathered import Extensions
from bot.language.source.problems import Mark, Problems, did_you_mean
from bot.language.source.wall_clock import in_zone
from bot.language.source.word_matching import load_slips, normalise
from bot.language.source.yaml_tree import Map, Node, Scalar
from bot.language.steps import KINDS
from bot.language.steps.custom_steps import all_kinds
from bot.language.steps.draft_step import DRAFTS, WHICH, WhichDraftStep
from bot.language.steps.intent_step import A_WHILE, INTENTS, PICK, Intent, IntentStep
from bot.language.steps.slot_step import LOOK, SLOT_FILLING, SlotStep
from bot.language.steps.step_kind import ReadContext, StepKind
from bot.language.steps.step_options import DEFAULTS, Defaults, Timed, read_defaults, read_step_options
from bot.language.steps.transition import END, WORDS, Target, Transition
from bot.language.types.type_registry import VARIABLES
from bot.language.types.variable import Variable


def read_flow(
    node: Map, bot: BotDefinition, extensions: Extensions, documents: Mapping[str, str], problems: Problems
) -> Flow:
    """Read one flow with all its steps. ``documents`` are the bot's text files, by path."""
    name = _NAME.read(Fields(node, problems, "this document")) or ""
    fields = FLOW_KEYS.open(
        _indented(node, f'flow "{name}"', problems), problems.defining(bot.definitions), f'flow "{name}"'
    )
    definitions = read_definitions(fields)
    variables = {name: _at_home(variable, bot.timezone) for name, variable in _VARS.read(fields).items()}
    start = _START.read(fields)
    defaults = (_DEFAULTS.read(fields) or Defaults()).inheriting_from(bot.defaults)
    known, handlers = {**bot.common, **variables}, extensions.handlers
    kinds = all_kinds(extensions.verbs) if extensions.verbs else KINDS
    reading = ReadContext(
        name, "", fields.problems, known, handlers, None, {}, documents, bot.ai, bot.services, bot.mcp, bot.hours, kinds
    )
    steps = read_steps(fields, defaults, reading)
    slots, model_slots = _read_slots(fields)
    flow = Flow(
        name,
        fields.mark_of(_NAME.name),
        _ABOUT.read(fields) or "",
        None if start is None else _read_trigger(start, name, variables),
        variables,
        defaults,
        _WORDS.read(fields),
        steps,
        _INTERRUPTED.read(fields),
        slots,
        model_slots,
        definitions,
        _SHARED.read(fields),
    )
    return replace(flow, interrupted="drop") if flow.interrupted is None and flow.is_menu else flow


def _indented(node: Map, what: str, problems: Problems) -> Map:
    """The flow's map, with the steps below `steps` also where they are not indented."""
    steps = [
        key for key, item in node.entries if key.text == STEPS_KEY.name and isinstance(item, Scalar) and not item.text
    ]
    below = tuple(
        (key, item) for key, item in node.entries if isinstance(item, Map) and key.text not in FLOW_KEYS.names
    )
    if not steps or not below:
        return node
    fix = f"indent the steps further: {', '.join(key.text for key, _ in below)}"
    problems.add("E106", steps[0].mark, f'{what}: nothing stands below "{STEPS_KEY.name}"', fix)
    rest = tuple(
        (key, Map(below[0][0].mark, below) if key is steps[0] else item)
        for key, item in node.entries
        if (key, item) not in below
    )
    return Map(node.mark, rest)


def _at_home(variable: Variable, zone: tzinfo) -> Variable:
    """The variable; if its first value is a time, that is in the bot's zone."""
    first = variable.value
    return replace(variable, value=in_zone(first, zone)) if isinstance(first, datetime) else variable


def flow_schema(kinds: Mapping[str, type[StepKind]]) -> Schema:
    """A flow with steps of these kinds."""
    steps = replace(STEPS_KEY, form=raw_node(key_schemas.map_of(step_schema(kinds))))
    return KeySet(*(key for key in FLOW_KEYS if key is not STEPS_KEY), steps).schema()


# -- what starts it ---------------------------------------------------------------------------------


def _read_events(node: Node, problems: Problems, what: str) -> tuple[str, ...]:
    events = STRINGS.read(node, problems, what)
    for event in events:
        if event not in EVENTS:
            fix = did_you_mean(event, EVENTS, f"write one of {', '.join(EVENTS)}")
            problems.add("E109", node.mark, f'{what}: no event "{event}"', fix)
    return events


_START_WORDS = KeySpec("words", SPOKEN, "Words that start it.")
_UNLESS = KeySpec("unless", SPOKEN, "Words that a message must not have to start it, but for its words alone.")
_TOPICS: KeySpec[tuple[str, ...]] = KeySpec(
    "topics",
    replace(one_or_several(one_of(*TOPICS)), absent=()),
    "Kinds of messages that start it, known by their words: a complaint, a question, and so on.",
)
_EVENT = KeySpec(
    "event",
    Form(one_or_several(one_of(*EVENTS)).schema, _read_events, absent=()),
    "Events of the gateway that start it.",
)
_SIGNAL: KeySpec[tuple[str, ...]] = KeySpec(
    "signal", STRINGS, "Signals that start it if no step takes them; its variables get their data by name."
)
_OTHERWISE = KeySpec("otherwise", BOOLEAN, "Whether it starts when no other flow fits; false by default.")
_BUSY = KeySpec(
    "busy",
    one_of(*BUSY),
    "The rule for a start by a program, a schedule or another contact while the contact is in a flow; after by default.",
)
_CONTACT = KeySpec("contact", one_of(*CONTACTS), "The contacts who can start it; everybody by default.")
_MEANT = KeySpec("about", LITERAL, "The subject of messages that start it, in words for the model that is asked.")
_EXAMPLES = KeySpec("examples", SPOKEN, "Messages of this kind, for the model.")
_TITLE = KeySpec("title", LITERAL, 'Its name on the button of "did you mean"; the flow\'s name without it.', texts=TEXT)


def _read_intent(fields: Fields, flow: str) -> Intent | None:
    """Read `about`, `examples` and `title`."""
    about, examples, title = _MEANT.read(fields), _EXAMPLES.read(fields), _TITLE.read(fields)
    if about is None:
        for key in (_EXAMPLES, _TITLE):
            if key.written(fields):
                key.report(fields, "E105", f'"{key.name}" belongs to "about"', "add about, or remove it")
        return None
    load_slips()
    if title is not None and len(title) > BUTTON_TITLE:
        _TITLE.report(fields, "E402", f"title has {len(title)} characters, {BUTTON_TITLE} are allowed", "shorten it")
    named = flow.replace("_", " ").capitalize() if title is None else title
    contact = _CONTACT.read(fields)
    newcomers = None if contact is None else contact == FIRST
    unless = tuple(normalise(word) for word, _ in _UNLESS.read(fields))
    told = tuple(text for text, _ in examples)
    return Intent(flow, fields.mark_of(_MEANT.name), about, told, named, newcomers, unless)


def _read_trigger(fields: Fields, flow: str, variables: Mapping[str, Variable]) -> Trigger:
    """Read what starts a flow with these variables; something must start it."""
    trigger = Trigger(
        fields.mark,
        _START_WORDS.read(fields),
        MATCH.read(fields),
        PATTERN.read(fields),
        _EVENT.read(fields),
        _SIGNAL.read(fields),
        _OTHERWISE.read(fields),
        _CONTACT.read(fields),
        _BUSY.read(fields),
        _read_intent(fields, flow),
        PAYLOAD_PATTERN.read(fields),
        tuple(word for word, _ in _UNLESS.read(fields)),
        _TOPICS.read(fields),
    )
    starts = (_START_WORDS, _TOPICS, PATTERN, PAYLOAD_PATTERN, _EVENT, _SIGNAL, _BUSY, _MEANT)
    if not trigger.otherwise and not any(key.written(fields) for key in starts):
        fix = "add words, topics, a pattern, a payload, an event, a signal, about or otherwise: true"
        fields.report("E105", fields.mark, "there is nothing that starts the flow", fix)
    if _UNLESS.written(fields) and not (trigger.words or trigger.topics or trigger.intent is not None):
        _UNLESS.report(fields, "E105", '"unless" is for words, topics and about', "add one of them, or remove it")
    if MATCH.written(fields) and not _START_WORDS.written(fields):
        fix = "add words, or remove it"
        MATCH.report(fields, "E105", '"match" is for words', fix)
    unknown = () if trigger.pattern is None else trigger.pattern.groupindex.keys() - variables.keys()
    for name in unknown:
        fix = did_you_mean(name, variables, f"declare it under vars: {name}: {{type: text}}")
        PATTERN.report(fields, "E301", f'no variable "{name}"', fix)
    trigger = replace(trigger, pattern=None) if unknown else trigger
    unknown = () if trigger.payload is None else {*trigger.payload.names} - variables.keys()
    for name in sorted(unknown):
        fix = did_you_mean(name, variables, f"declare it under vars: {name}: {{type: text}}")
        PAYLOAD_PATTERN.report(fields, "E301", f'no variable "{name}"', fix)
    return replace(trigger, payload=None) if unknown else trigger


# -- its keys ---------------------------------------------------------------------------------------


_NAME = KeySpec("flow", NAME, "The flow's name.", required=True)
_ABOUT = KeySpec("about", STRING, "Its purpose, for people who read the file.")
_START = KeySpec(
    "start",
    as_fields(
        KeySet(
            _START_WORDS,
            MATCH,
            _UNLESS,
            _TOPICS,
            PATTERN,
            PAYLOAD_PATTERN,
            _EVENT,
            _SIGNAL,
            _MEANT,
            _EXAMPLES,
            _TITLE,
            _OTHERWISE,
            _CONTACT,
            _BUSY,
        ),
        "{words: [hi, hello]}",
    ),
    "The messages and events that start it.",
)
_INTERRUPTED = KeySpec(
    "interrupted",
    one_of("resume", "wait", "ask", "drop"),
    "The rule for an interruption by another flow; without this key, no flow can interrupt it.",
)
_SLOT_NAMES: Form[Mapping[str, Mark] | None] = mapped(one_or_several(with_mark(LISTED_NAME)), dict)
_SHARED = KeySpec(
    "shared",
    NAME,
    "The kind of record that contacts share, such as queue: the flow runs there, and its kept variables are the record's.",
)
_FILL = KeySpec("fill", _SLOT_NAMES, "The questions.", required=True)
_MODEL = KeySpec(
    "model",
    BOOLEAN,
    "Whether a model looks in a message for answers that the questions do not find themselves; false by default.",
)
_SLOTS = KeySpec(
    "slots",
    either(_SLOT_NAMES, as_fields(KeySet(_FILL, _MODEL), "{fill: [size, day], model: true}")),
    "Questions of it that one message can answer together, before they are asked, and correct afterwards.",
)
_WORDS = KeySpec("words", WORDS, "Words that are understood in all of it.")
_VARS = KeySpec("vars", VARIABLES, "Its variables.")
_DEFAULTS = KeySpec(
    "defaults",
    nested(DEFAULTS, read_defaults),
    "Values for its steps that have none of their own; they override the bot's.",
)
FLOW_KEYS = KeySet(_NAME, _ABOUT, _START, _SHARED, _INTERRUPTED, _SLOTS, _WORDS, _VARS, DEFINE, _DEFAULTS, STEPS_KEY)
"""The keys of a flow. The values under `steps` depend on the kinds of step that the bot has."""


def _read_slots(fields: Fields) -> tuple[Mapping[str, Mark], Mark | None]:
    """Read `slots`: the questions, and where it says that a model fills them, too."""
    slots = _SLOTS.read(fields)
    if not isinstance(slots, Fields):
        return slots or {}, None
    return _FILL.read(slots) or {}, _MODEL.mark(slots) if _MODEL.read(slots) else None


# -- the flows that the bot makes -------------------------------------------------------------------------


def intents_flow(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> Flow | None:
    """The flow in which a model says which of these flows a message is about; None if no flow has an `about`."""
    triggers = [flow.trigger for flow in flows.values() if flow.trigger is not None and flow.trigger.intent is not None]
    intents = tuple(trigger.intent for trigger in triggers if trigger.intent is not None)
    if not triggers:
        return None
    mark = triggers[0].mark
    about = "A model says which flow a message is about."
    kind = IntentStep(mark, intents, bot.sure, bot.ai)
    return _generated_flow(INTENTS, about, PICK, kind, mark, _with_timeout(bot, mark), problems)


def slot_flow(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> Flow | None:
    """The flow in which a model looks for answers in messages; None if none of these flows wants it."""
    marks = {flow.name: flow.model_reads for flow in flows.values() if flow.model_reads is not None}
    if not marks:
        return None
    mark = next(iter(marks.values()))
    about = "A model looks for answers in a message."
    return _generated_flow(SLOT_FILLING, about, LOOK, SlotStep(mark, marks, bot.ai), mark, Defaults(), problems)


def drafts_flow(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> Flow | None:
    """The flow that asks which draft is to be continued; None if no step sets a conversation aside."""
    marks = [step.mark for flow in flows.values() for step in flow.steps.values() if step.facts.sets_aside]
    if not marks:
        return None
    about, defaults = "The contact says which draft is to be continued.", _with_timeout(bot, marks[0])
    return _generated_flow(DRAFTS, about, WHICH, WhichDraftStep(marks[0]), marks[0], defaults, problems)


def _with_timeout(bot: BotDefinition, mark: Mark) -> Defaults:
    """The bot's time-out; if it has none, silence ends the flow after a while."""
    timeout = bot.defaults.timeout
    if timeout is None or timeout.after is None or timeout.transition is None:
        timeout = Timed(mark, A_WHILE, transition=Transition(mark, then=Target(END, mark)))
    return Defaults(timeout=timeout)


def _generated_flow(
    name: str, about: str, step: str, kind: StepKind, mark: Mark, defaults: Defaults, problems: Problems
) -> Flow:
    """A flow of one step that is written in no file."""
    options = read_step_options(Fields(Map(mark, ()), problems, name), saves=False)
    steps = {step: Step(step, mark, kind, kind.facts(), options, defaults, fingerprint=name)}
    return with_transitions(Flow(name, mark, about, Trigger(mark, otherwise=True), {}, defaults, {}, steps), problems)
