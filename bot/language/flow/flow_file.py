"""A flow's document: its keys, how its steps are read, what starts it, and where its outcomes lead."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import lru_cache
from itertools import pairwise

from bot.core.events import EVENTS
from bot.core.messages import BUTTON_TITLE
from bot.core.session import BUSY
from bot.language.answers.topics import TOPICS
from bot.language.flow.bot_file import SPOKEN
from bot.language.flow.definition import (
    CONTACTS,
    FIRST,
    BotDefinition,
    Flow,
    ResolvedTransition,
    Step,
    Trigger,
    form_signal,
)
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
from bot.language.keys.fields import Fields, entries_of, name_of, refuse_no_map
from bot.language.keys.key_schemas import ANY, Schema, by_key, record
from bot.language.keys.patterns import MATCH, PATTERN, PAYLOAD_PATTERN
from bot.language.keys.text_shapes import TEXT
from bot.language.python.gathered import Extensions
from bot.language.source.problems import Mark, Problems, called_here, did_you_mean, nearest
from bot.language.source.wall_clock import in_zone
from bot.language.source.word_matching import load_slips, normalise
from bot.language.source.yaml_tree import List, Map, Node, Scalar, digest, fingerprint
from bot.language.steps import KINDS, step_options
from bot.language.steps.control_steps import OPTION_STEPS, UnreadStep
from bot.language.steps.custom_steps import all_kinds
from bot.language.steps.draft_step import DRAFTS, WHICH, WhichDraftStep
from bot.language.steps.intent_step import A_WHILE, INTENTS, PICK, Intent, IntentStep
from bot.language.steps.slot_step import LOOK, SLOT_FILLING, SlotStep
from bot.language.steps.step_facts import DefaultTarget, Outcome, StepFacts
from bot.language.steps.step_kind import ReadContext, StepKind
from bot.language.steps.step_options import (
    DEFAULTS,
    SAVE,
    SOME_HAVE,
    STEP_OPTIONS,
    Defaults,
    StepOptions,
    Timed,
    read_defaults,
    read_step_options,
    signal_outcomes,
)
from bot.language.steps.transition import AGAIN, END, NEXT, RESERVED, STAY, TRANSITION, WORDS, Target, Transition, Word
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
    steps = _read_steps(fields, defaults, reading)
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
        key for key, item in node.entries if key.text == _STEPS.name and isinstance(item, Scalar) and not item.text
    ]
    below = tuple(
        (key, item) for key, item in node.entries if isinstance(item, Map) and key.text not in FLOW_KEYS.names
    )
    if not steps or not below:
        return node
    fix = f"indent the steps further: {', '.join(key.text for key, _ in below)}"
    problems.add("E106", steps[0].mark, f'{what}: nothing stands below "{_STEPS.name}"', fix)
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
    steps = replace(_STEPS, form=raw_node(key_schemas.map_of(step_schema(kinds))))
    return KeySet(*(key for key in FLOW_KEYS if key is not _STEPS), steps).schema()


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
    if _UNLESS.written(fields) and not (_START_WORDS.written(fields) or trigger.intent is not None):
        _UNLESS.report(fields, "E105", '"unless" is for words and about', "add one of them, or remove it")
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
_STEPS = KeySpec("steps", raw_node(ANY), "Its steps, in order: it begins with the first.", required=True)
FLOW_KEYS = KeySet(_NAME, _ABOUT, _START, _SHARED, _INTERRUPTED, _SLOTS, _WORDS, _VARS, DEFINE, _DEFAULTS, _STEPS)
"""The keys of a flow. The values under `steps` depend on the kinds of step that the bot has."""


def _read_slots(fields: Fields) -> tuple[Mapping[str, Mark], Mark | None]:
    """Read `slots`: the questions, and where it says that a model fills them, too."""
    slots = _SLOTS.read(fields)
    if not isinstance(slots, Fields):
        return slots or {}, None
    return _FILL.read(slots) or {}, _MODEL.mark(slots) if _MODEL.read(slots) else None


# -- its steps --------------------------------------------------------------------------------------


def _read_steps(fields: Fields, defaults: Defaults, reading: ReadContext) -> dict[str, Step]:
    """The steps; one that cannot be read is replaced by a placeholder."""
    node = _STEPS.read(fields)
    if node is None:
        return {}
    form = "{name: {say: ...}}"
    if isinstance(node, List) and any(isinstance(item, Map) and _is_step(item, reading) for item in node.items):
        form += ", with a name for each step in place of its dash"
        node = List(node.mark, ())
    entries = entries_of(node, fields.problems, f"{fields.what}: {_STEPS.name}", form)
    found = {
        key.text: _read_step(key, item, defaults, reading) or placeholder_step(key.text, key.mark)
        for key, item in _steps_in(entries, reading)
    }
    if isinstance(node, Map) and not node.entries:
        fields.problems.add("E105", node.mark, f"{fields.what} has no steps", "add the first one")
    return found


def _is_step(node: Node, reading: ReadContext) -> bool:
    """True if it is a map with a verb."""
    return isinstance(node, Map) and any(key.text in reading.kinds for key, _ in node.entries)


def _own_keys(step: Node, reading: ReadContext) -> set[str]:
    verbs = [key.text for key, _ in step.entries if key.text in reading.kinds] if isinstance(step, Map) else []
    return {name for verb in verbs for name in reading.kinds[verb].keys.names}


def _split(entries: Iterable[tuple[Scalar, Node]], reading: ReadContext) -> Iterator[tuple[Scalar, Node]]:
    """The steps, without those that stand among the keys of another one: a name without a value, and then a verb."""
    for key, item in entries:
        below = item.entries if isinstance(item, Map) else ()
        names = [
            number
            for number, ((name, value), (verb, _)) in enumerate(pairwise(below))
            if isinstance(value, Scalar) and not value.text and not value.quoted
            if verb.text in reading.kinds
            and name.text not in (*reading.kinds, *STEP_OPTIONS.names, *_own_keys(item, reading))
        ]
        for first, end in pairwise((-1, *names, len(below))):
            step = key if first < 0 else below[first][0]
            if first >= 0:
                what = f'step "{step.text}" stands among the keys of step "{key.text}"'
                reading.problems.add("E106", step.mark, what, "indent its name like that one's")
            yield step, Map(below[first + 1][0].mark, below[first + 1 : end]) if names and first + 1 < end else item


def _steps_in(entries: Iterable[tuple[Scalar, Node]], reading: ReadContext) -> list[tuple[Scalar, Node]]:
    """The steps, each with the keys that stand beside it and not below it."""
    known, found, misplaced = {*reading.kinds, *STEP_OPTIONS.names}, list[tuple[Scalar, Node]](), False
    for key, item in _split(entries, reading):
        of_step = key.text in known or (bool(found) and key.text in _own_keys(found[-1][1], reading))
        # a step's name may be that of a verb
        named = isinstance(item, Map) and key.text in reading.kinds and key.text not in STEP_OPTIONS.names
        if not of_step or named or _is_step(item, reading):
            found.append((key, item))
            misplaced = False
            continue
        step, above = found[-1] if found else (None, None)
        if step is None:
            fix = f"give the step a name, and indent what belongs to it: first: {{{key.text}: ...}}"
            reading.problems.add("E106", key.mark, f'"{key.text}" stands where the name of a step is expected', fix)
            return []
        if not misplaced:
            fix = f'indent it further: it belongs to step "{step.text}"'
            what = f'"{key.text}" stands beside step "{step.text}", and not below it'
            reading.problems.add("E106", key.mark, what, fix)
            misplaced = True
        if (key.mark.path, key.mark.line) in reading.problems.emptied:
            found[-1] = step, item
            continue
        entries_above = above.entries if isinstance(above, Map) else ()
        found[-1] = step, Map(item.mark if above is None else above.mark, (*entries_above, (key, item)))
    return found


def _read_step(key: Scalar, node: Node, inherited: Defaults, reading: ReadContext) -> Step | None:
    problems = reading.problems
    name = name_of(key, problems, "step")
    if name is None:
        return None
    if name in RESERVED:
        what = f'"{name}" cannot be a step\'s name: `then: {name}` already leads elsewhere'
        problems.add("E108", key.mark, what, "choose another name")
        return None
    what = f'step "{name}"'
    if not isinstance(node, Map):
        refuse_no_map(node, problems, what, "key: value")
        return None
    verbs = _verbs(node, problems, what, reading.kinds)
    if len(verbs) != 1:
        return None
    kind_class = reading.kinds[verbs[0]]
    keys = _step_keys(kind_class, tuple(reading.kinds.values()))  # type: ignore[arg-type]  # a class has a hash
    fields = keys.open(node, problems, what)
    options = read_step_options(fields, saves=SAVE.name in kind_class.options)
    defaults = options.defaults.inheriting_from(inherited)
    instead = options.defaults.window_closed if options.brings_later else None
    read = replace(reading, step=name, save=options.save, errors=defaults.errors or {}, instead=instead)
    kind = kind_class.read(fields, read)
    facts = kind.facts()
    if facts.form is not None:
        options = _hearing_form(options, form_signal(reading.flow, name), facts.form.filled)
        defaults = options.defaults.inheriting_from(inherited)
    _refuse_options(fields, facts)
    if facts.gathers_files and defaults.gather is None:
        defaults = replace(defaults, gather=step_options.FILES_GATHER)
    if facts.waits:
        step_options.check_reminder(fields, options.defaults.remind, defaults.timeout)
    said = fingerprint(node, without=("renamed_from", "report"))  # for a new name alone nobody is asked anew
    step = Step(name, key.mark, kind, facts, options, defaults, said, written=_in_a_line(node.get(kind_class.verb)))
    return _with_definitions(step) if problems.definitions else step


def _hearing_form(options: StepOptions, signal: str, filled: Transition) -> StepOptions:
    """The options of a question that hears the signal of its form as well."""
    signals = {**(options.defaults.signals or {}), signal: (Word(signal, filled.mark, filled),)}
    return replace(options, defaults=replace(options.defaults, signals=signals))


def _with_definitions(step: Step) -> Step:
    """The step, which is an edited one as well where a definition that it uses was edited."""
    used = sorted({(each.name, each.expression.source) for use in step.uses for each in use.text.definitions})
    return replace(step, fingerprint=digest([step.fingerprint, used])) if used else step


def placeholder_step(name: str, mark: Mark) -> Step:
    """A step that replaces another one which could not be read."""
    options = read_step_options(Fields(Map(mark, ()), Problems(), name), saves=False)
    kind = UnreadStep()
    return Step(name, mark, kind, kind.facts(), options, Defaults(), "")


def _in_a_line(node: Node | None) -> str:
    """A node in one line, for people: of a map the keys and their values, of a list nothing."""
    match node:
        case Scalar(text=text):
            return text
        case Map(entries=entries):
            return ", ".join(f"{key.text}: {value.text}" for key, value in entries if isinstance(value, Scalar))
    return ""


_OPTION_VERBS = tuple(kind.verb for kind in OPTION_STEPS)


def _verbs(node: Map, problems: Problems, what: str, kinds: Mapping[str, type[StepKind]]) -> list[str]:
    """The verbs of a step: none and two are a problem. A verb that is an option, too, is one beside another verb."""
    keys = {key.text: key for key, _ in node.entries}
    verbs = [name for name in keys if name in kinds]
    for option in _OPTION_VERBS:
        if len(verbs) > 1 and option in verbs:
            verbs.remove(option)
    verbs = [name for name in verbs if name in KINDS] or verbs  # a built-in verb's key may be a verb of the bot's own
    first = next(iter(keys), None)
    if len(verbs) == 1 and verbs[0] in _OPTION_VERBS:
        known = (*kinds, *STEP_OPTIONS.names)
        misspelt = next((key for key in keys if key not in known and nearest(key, known) in kinds), None)
        if misspelt is not None and misspelt != first:
            fix = did_you_mean(misspelt, kinds, "")
            problems.add("E107", keys[misspelt].mark, f'{what}: "{misspelt}" is no verb', fix)
            return []
        if misspelt is not None:
            verbs = []  # the option stands beside the verb that is misspelt
    if not verbs:
        found = f'{what} has no verb, it begins with "{first}"' if first else f"{what} is empty"
        own = () if first in STEP_OPTIONS.names else kinds.items()
        has_it = [f"{verb}:" for verb, kind in own if first in kind.keys.names]
        fix = f'add {" or ".join(has_it)} to which "{first}" belongs' if has_it else f"write one of {', '.join(kinds)}"
        if [*keys] == ["then"]:
            fix = "leave it out, and lead there from the steps before it"
        problems.add("E107", node.mark, found, did_you_mean(first or "", kinds, fix))
    for extra in verbs[1:]:
        found = f'{what} has two verbs, "{verbs[0]}" and "{extra}"'
        inner = next(
            (one for one, other in ((verbs[0], extra), (extra, verbs[0])) if other in kinds[one].takes_below), ""
        )
        fix = f"write {inner}: {{..., {({verbs[0], extra} - {inner}).pop()}: ...}}" if inner else "make two steps of it"
        problems.add("E107", keys[extra].mark, found, fix)
    return verbs


@lru_cache(maxsize=128)
def _step_keys(kind: type[StepKind], kinds: tuple[type[StepKind], ...]) -> KeySet:
    """The keys that a step of a kind may have, where there are these kinds.

    An unwritten outcome is no missing key: it is reported as one that leads nowhere.
    """

    def elsewhere(key: str) -> str:
        has_it = [each for each in kinds if key in each.keys.names or key in each.options]
        verbs = [each.verb for each in has_it]
        if not verbs and (verb := called_here(key, [each.verb for each in kinds])) is not None:
            return f"there is {verb}, a step of its own"
        return f"it belongs to {', '.join(verbs)}, not to {kind.verb}" if verbs else ""

    own = (replace(key, required=False) if key.form is TRANSITION else key for key in kind.keys)
    general = (
        key for key in STEP_OPTIONS if key.name not in kind.keys.names and (key is not SAVE or key.name in kind.options)
    )
    return KeySet(*own, *general, elsewhere=elsewhere)


def _refuse_options(fields: Fields, facts: StepFacts) -> None:
    """Report the options that have no effect on a step of this facts."""
    waits_for = "an agent, not for the contact" if facts.ignores_messages else "no answer"
    nobody = f"the step waits for {waits_for}", "put it on a step that waits for an answer"
    anything = "the step takes every reply", "remove it"
    nowhere = "every outcome has a target of its own", "remove it"
    refused = {}
    if not facts.waits:
        timeout = () if facts.ignores_messages else (step_options.TIMEOUT,)
        refused = {key.name: nobody for key in (step_options.RETRY, step_options.REMIND, *timeout)}
    if not facts.hears_signals:
        refused[step_options.SIGNALS_HERE.name] = "the step waits for nothing that lasts", "put it on a step that waits"
    if facts.ignores_messages or not facts.hears_signals:
        refused[step_options.WORDS_HERE.name] = nobody
    if not facts.can_gather:
        free = "only files and what the contact writes in its own words are gathered"
        refused[step_options.GATHER.name] = free, "put it on a question for a text or a list of files, or on an ai step"
    if (
        not facts.waits or facts.takes_pending_input or facts.can_bring_later
    ):  # which waits while the window is closed only
        only = "only the answer to a question has visits counted anew"
        refused[step_options.RESET.name] = only, "put it on a question"
    if facts.takes_pending_input or (facts.can_bring_later and facts.waits):
        refused[step_options.RETRY.name] = anything
    if not any(outcome.falls is DefaultTarget.THEN for outcome in facts.outcomes.values()):
        refused[step_options.THEN.name] = nowhere
    for key, (why, fix) in refused.items():
        if fields.has(key):
            fields.report("E123", fields.mark_of(key), f'"{key}" has no effect: {why}', fix)
    _refuse_wait(fields, facts)


def _refuse_wait(fields: Fields, facts: StepFacts) -> None:
    """Report a `wait` in the `window_closed` of a step that has no message to bring later, or brings it anyway."""
    closed, key = fields.raw(step_options.WINDOW_CLOSED_HERE.name), step_options.WAIT.name
    if facts.can_bring_later or not isinstance(closed, Map) or closed.get(key) is None:
        return
    why, fix = "only the message of a `say` can wait", "remove it, or put it on a `say`"
    if facts.asks and facts.needs_window:
        why, fix = "a question is asked again anyway, when the contact answers the template", "remove it"
    fields.report("E123", closed.key_mark(key), f'window_closed: "{key}" has no effect: {why}', fix)


def step_schema(kinds: Mapping[str, type[StepKind]]) -> Schema:
    """A step of one of these kinds. A key that is a verb and an option too is a verb where no other verb is."""
    verbs = sorted(kinds, key=lambda verb: verb in STEP_OPTIONS.names)
    records = {verb: _step_of(kinds[verb]) for verb in verbs}
    return by_key(records, f"a step has one verb: {', '.join(kinds)}")


def _step_of(kind: type[StepKind]) -> Schema:
    options = {name: schema for name, schema in STEP_OPTIONS.schemas.items() if name not in SOME_HAVE - kind.options}
    keys = kind.keys.schemas
    return record({**keys, **options, kind.verb: keys[kind.verb]}, *dict.fromkeys((kind.verb, *kind.keys.required)))


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


# -- where the outcomes of its steps lead -----------------------------------------------------------


def with_transitions(flow: Flow, problems: Problems) -> Flow:
    """The flow with the transitions of each step; an outcome that leads nowhere is a problem."""
    steps = {}
    for step in flow.steps.values():
        resolved = _Resolver(step, flow.following[step.name], problems).transitions()
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
        if step.facts.waits and "other" not in own:
            yield from self._retry()
        elif step.facts.waits and step.options.defaults.retry is not None:
            fix = "keep one: `other` takes every reply that is no answer"
            mark = step.options.defaults.retry.mark
            self._problems.add("E124", mark, f'step "{step.name}": "retry" has no effect beside "other"', fix)
        remind = step.defaults.remind
        if step.facts.waits and remind is not None:
            if remind.after is None:
                self._problems.add("E130", remind.mark, "remind has no `after`", "add after: and a duration")
            yield self._repeating("remind", remind.transition)
        if (step.facts.waits and not step.waits_for_ever) or step.timeout is not None:
            yield self._timeout()
        for name, heard in signal_outcomes(step.signals):
            transition = heard.transition
            if transition.then is None:
                yield ResolvedTransition(step.name, name, None, transition.mark, transition, success=False)
            else:
                yield self._leading(name, transition)

    def _own(self, name: str, outcome: Outcome) -> ResolvedTransition:
        """An outcome of the step's kind: what is written for it, else what such an outcome falls back to."""
        transition, success = outcome.transition, outcome.success
        if transition is not None and (transition.then is not None or outcome.falls is DefaultTarget.WRITTEN):
            return self._leading(name, transition, success=success)
        then = self._step.options.then
        if (
            outcome.falls is DefaultTarget.THEN
            and then is not None
            and then.then is not None
            and then.then.text == STAY
        ):
            return self._leading(name, replace(transition or then, then=then.then), success=success)
        mark = self._step.mark if transition is None else transition.mark
        target: str | None = None
        match outcome.falls:
            case DefaultTarget.THEN:
                target = self._following if then is None or then.then is None else self._named(then.then.text)
                transition = transition or then
            case DefaultTarget.ERRORS if "else" not in (self._step.defaults.errors or {}):
                fix = "add errors: {else: end}, or another target"
                self._missing("errors.else", "a failure of this step leads nowhere", fix)
            case DefaultTarget.WRITTEN:
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
        written = self._step.name, name, target, transition.mark, transition
        if transition.then is None or transition.then.text != STAY:
            return ResolvedTransition(*written, success=success)
        facts = self._step.facts
        by_answer = name in self._step.outcomes or name.startswith("errors.")
        if not facts.waits or facts.takes_pending_input or not by_answer:
            what = f'step "{self._step.name}": {name}: "stay" leads nowhere, because no answer was given'
            fix = "write it where an answer leads, or a failure, of a step that waits for one; or write another target"
            self._problems.add("E110", transition.then.mark, what, fix)
        return ResolvedTransition(*written[:2], None, *written[3:], success=False, stays=True)

    def _repeating(self, name: str, transition: Transition | None) -> ResolvedTransition:
        """An outcome that may stay at the step: where nothing is written, the question is put again."""
        if transition is None or not transition.speaks:
            return ResolvedTransition(self._step.name, name, AGAIN, self._step.mark, transition, success=False)
        if transition.then is None:
            return ResolvedTransition(self._step.name, name, None, transition.mark, transition, success=False)
        return self._leading(name, transition)

    def _named(self, target: str) -> str:
        return self._following if target == NEXT else target

    def _missing(self, outcome: str, what: str, fix: str) -> None:
        self._problems.add("E130", self._step.mark, f'step "{self._step.name}" has no `{outcome}`: {what}', fix)
