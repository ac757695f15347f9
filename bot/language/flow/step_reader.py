"""Reading the steps of a flow's document: their names, verbs, keys and options."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from bot.language.flow.definition import Step, form_signal
from bot.language.keys.declared_keys import KeySet, KeySpec, raw_node
from bot.language.keys.fields import Fields, entries_of, name_of, refuse_no_map
from bot.language.keys.key_schemas import ANY, Schema, by_key, record
from bot.language.source.problems import Mark, Problems, called_here, did_you_mean, nearest
from bot.language.source.yaml_tree import List, Map, Node, Scalar, digest, fingerprint
from bot.language.steps import KINDS, step_options
from bot.language.steps.control_steps import OPTION_STEPS, UnreadStep
from bot.language.steps.step_facts import DefaultTarget, StepFacts
from bot.language.steps.step_kind import ReadContext, StepKind
from bot.language.steps.step_options import SAVE, SOME_HAVE, STEP_OPTIONS, Defaults, StepOptions, read_step_options
from bot.language.steps.transition import RESERVED, TRANSITION, Transition, Word

STEPS_KEY = KeySpec("steps", raw_node(ANY), "Its steps, in order: it begins with the first.", required=True)


def read_steps(fields: Fields, defaults: Defaults, reading: ReadContext) -> dict[str, Step]:
    """The steps; one that cannot be read is replaced by a placeholder."""
    node = STEPS_KEY.read(fields)
    if node is None:
        return {}
    form = "{name: {say: ...}}"
    if isinstance(node, List) and any(isinstance(item, Map) and _is_step(item, reading) for item in node.items):
        form += ", with a name for each step in place of its dash"
        node = List(node.mark, ())
    entries = entries_of(node, fields.problems, f"{fields.what}: {STEPS_KEY.name}", form)
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
        if first != "if":
            fix = did_you_mean(first or "", kinds, fix)
        elif "branch" in kinds:
            fix = "write branch: [{if: ..., then: ...}, {else: ...}]"
        problems.add("E107", node.mark, found, fix)
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
    if not STEP_OPTIONS.any_written(fields):
        return
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
