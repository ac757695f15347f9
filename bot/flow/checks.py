"""What can only be checked when all flows are known: targets, names, values, words."""

from collections.abc import Iterable, Iterator, Mapping

from bot.flow.definition import BotDefinition, Flow, Step
from bot.flow.loops import check_loops
from bot.flow.uses import uses_of_bot, uses_of_flow
from bot.lang.problems import Problems, did_you_mean
from bot.lang.source import Mark
from bot.lang.templates import FUNCTIONS
from bot.lang.variables import Mismatch, Variable
from bot.lang.words import normalise
from bot.steps.ask import Ask
from bot.steps.choices import Choices, FixedChoice
from bot.steps.doors import AGAIN, BACK, NEXT, RESERVED, ROUTE, Assignment, Door, Target, evaluate, templates_in
from bot.steps.kind import Used
from bot.steps.riders import Defaults
from bot.steps.run import Run
from bot.steps.template import TemplateStep

CONTACT_FIELDS = ("id", "name", "tags")
BUILT_INS = ("contact", "now", "today", "came_from")


def check(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Hold the bot and its flows against each other."""
    _Targets(flows, problems).check(bot)
    _check_uses(uses_of_bot(bot), {}, problems)
    _check_bot_assignments(bot, flows, problems)
    for flow in flows.values():
        _check_uses(uses_of_flow(flow), flow.variables, problems)
        _check_assignments(flow, problems)
        _check_saves(flow, problems)
        _check_runs(flow, flows, problems)
        _check_titles(flow, problems)
    check_loops(flows, problems)
    _check_triggers(bot, flows, problems)


class _Targets:
    """Every target leads to something that is there."""

    def __init__(self, flows: Mapping[str, Flow], problems: Problems) -> None:
        self._flows = flows
        self._problems = problems

    def check(self, bot: BotDefinition) -> None:
        for word, door in bot.words.items():
            self._refuse(f'word "{word}"', door, (NEXT,), "a word stands at no step")
        for door in (*bot.words.values(), *(door for _, door in bot.defaults.doors())):
            if door.then is not None:
                self._check_target(door.then, None)
        self._check_defaults(bot.defaults)
        for flow in self._flows.values():
            self._check_defaults(flow.defaults)
            for step in flow.steps.values():
                self._check_defaults(step.riders.defaults)
            for target in _targets_of(flow):
                self._check_target(target, flow)

    def _check_defaults(self, defaults: Defaults) -> None:
        for name, door in defaults.doors():
            if name in ("remind", "timeout"):
                self._refuse(name, door, (ROUTE,), "there is no message to hand on")
            elif name == "gone":
                self._refuse(name, door, (NEXT, AGAIN, BACK, ROUTE), "the step is not there any more")

    def _refuse(self, what: str, door: Door, targets: tuple[str, ...], why: str) -> None:
        """Reserved words that mean nothing at this door."""
        if door.then is not None and door.then.text in targets:
            self._problems.add(
                "E110",
                door.then.mark,
                f'{what}: "{door.then.text}" leads nowhere here, {why}',
                "write /flow, /flow/step or end",
            )

    def _check_target(self, target: Target, flow: Flow | None) -> None:
        if target.text in RESERVED:
            return
        if target.text.startswith("/"):
            self._check_absolute(target)
        elif flow is None:
            self._problems.add(
                "E112",
                target.mark,
                f'"{target.text}" is a step, and bot.yml belongs to no flow',
                f"write /flow/{target.text}",
            )
        elif target.text not in flow.steps:
            elsewhere = next((f"/{f.name}" for f in self._flows.values() if f.name == target.text), "")
            fix = did_you_mean(target.text, flow.steps, f"add the step to flow {flow.name}")
            self._problems.add(
                "E102", target.mark, f'no step "{target.text}"', f"for the flow write {elsewhere}" if elsewhere else fix
            )

    def _check_absolute(self, target: Target) -> None:
        name, _, step = target.text[1:].partition("/")
        flow = self._flows.get(name)
        if flow is None:
            fix = did_you_mean(name, self._flows, "add a flow of this name")
            self._problems.add("E103", target.mark, f'no flow "{name}"', fix)
        elif step and step not in flow.steps:
            fix = did_you_mean(step, flow.steps, f"add the step to flow {name}")
            self._problems.add("E102", target.mark, f'no step "{step}" in flow {name}', fix)


def _targets_of(flow: Flow) -> Iterator[Target]:
    doors = [door for step in flow.steps.values() for door in _doors_of(step)]
    doors += [door for _, door in flow.defaults.doors()]
    yield from (door.then for door in doors if door.then is not None)


def _doors_of(step: Step) -> Iterator[Door]:
    """Every door that is written on a step."""
    riders = step.riders
    visited = None if riders.visits is None else riders.visits.otherwise
    doors = (*(outcome.door for outcome in step.kind.outcomes().values()), riders.then, visited)
    yield from (door for door in doors if door is not None)
    yield from (door for _, door in riders.defaults.doors())


def _check_uses(uses: Iterable[Used], variables: Mapping[str, Variable], problems: Problems) -> None:
    """Every name in a template or an expression is declared."""
    for used in uses:
        known = {*variables, *BUILT_INS, *used.extra}
        for name in sorted(used.text.names - known - FUNCTIONS.keys()):
            fix = did_you_mean(name, known, f"declare it under vars: {name}: {{type: text}}")
            problems.add("E301", used.text.mark, f'no variable "{name}"', fix)
        for path in sorted(used.text.paths):
            if path[0] == "contact" and len(path) > 1 and path[1] not in CONTACT_FIELDS:
                fix = did_you_mean(path[1], CONTACT_FIELDS, f"a contact has {', '.join(CONTACT_FIELDS)}")
                problems.add("E302", used.text.mark, f'a contact has no "{path[1]}"', fix)


def _assignments_of(flow: Flow) -> Iterator[Assignment]:
    for step in flow.steps.values():
        yield from step.riders.set
        for door in _doors_of(step):
            yield from door.set
    for _, door in flow.defaults.doors():
        yield from (item for item in door.set if item.mark.path == flow.mark.path)  # the rest is inherited


def _check_bot_assignments(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """What bot.yml sets is some flow's variable."""
    known = {name: None for flow in flows.values() for name in flow.variables}
    for door in (*bot.words.values(), *(door for _, door in bot.defaults.doors())):
        for item in door.set:
            if item.name not in known:
                fix = did_you_mean(item.name, known, "declare it under vars of the flows that read it")
                problems.add("E301", item.mark, f'no flow has a variable "{item.name}"', fix)


def _check_assignments(flow: Flow, problems: Problems) -> None:
    for item in _assignments_of(flow):
        variable = _declared(item.name, item.mark, flow, problems)
        if variable is not None and all(text.constant for text in item.uses()):
            _check_value(variable, item.evaluate({}), item.mark, problems)


def _check_saves(flow: Flow, problems: Problems) -> None:
    for step in flow.steps.values():
        if step.riders.save is None:
            continue
        variable = _declared(step.riders.save, step.riders.save_mark, flow, problems)
        if variable is not None and isinstance(step.kind, Ask) and step.kind.choices is not None:
            for choice in step.kind.choices.fixed:
                if choice.saves and all(text.constant for text in templates_in(choice.value)):
                    _check_value(variable, evaluate(choice.value, {}), choice.mark, problems)


def _declared(name: str, mark: Mark, flow: Flow, problems: Problems) -> Variable | None:
    variable = flow.variables.get(name)
    if variable is None:
        fix = did_you_mean(name, flow.variables, f"declare it under vars: {name}: {{type: text}}")
        problems.add("E301", mark, f'no variable "{name}" in flow {flow.name}', fix)
    return variable


def _check_value(variable: Variable, value: object, mark: Mark, problems: Problems) -> None:
    """A value that is written out fits its variable, as far as that can be known without the time."""
    if variable.type == "date":
        return
    try:
        variable.coerce(value, None)
    except Mismatch as mismatch:
        problems.add("E303", mark, f'"{value}" does not fit {variable.name}: {mismatch}', "change one of them")


def _check_runs(flow: Flow, flows: Mapping[str, Flow], problems: Problems) -> None:
    for step in flow.steps.values():
        if not isinstance(step.kind, Run):
            continue
        run = step.kind
        other = flows.get(run.flow)
        if other is None:
            problems.add(
                "E103", run.mark, f'no flow "{run.flow}"', did_you_mean(run.flow, flows, "add a flow of this name")
            )
            continue
        for item in run.inputs:
            _declared(item.name, item.mark, other, problems)
        for ours, theirs in run.outputs.items():
            _declared(ours, step.riders.save_mark, flow, problems)
            _declared(theirs, step.riders.save_mark, other, problems)


def _check_titles(flow: Flow, problems: Problems) -> None:
    """Two answers of one question that take the same word."""
    for step in flow.steps.values():
        taken: dict[str, str] = {}
        for word, owner, mark in _answers_of(step):
            first = taken.setdefault(normalise(word), owner)
            if first != owner:
                problems.add(
                    "E311",
                    mark,
                    f'step "{step.name}": "{word}" is an answer of "{first}" and of "{owner}"',
                    "keep it in one of them",
                )
        if isinstance(step.kind, Ask) and step.kind.choices is not None:
            _check_unique_titles(step, step.kind.choices, problems)


def _check_unique_titles(step: Step, choices: Choices, problems: Problems) -> None:
    seen: set[str] = set()
    for choice in choices.fixed:
        if choice.title.source in seen:
            problems.add(
                "E406",
                choice.mark,
                f'step "{step.name}": a second "{choice.title.source}"',
                "titles of one message differ",
            )
        seen.add(choice.title.source)


def _answers_of(step: Step) -> Iterator[tuple[str, str, Mark]]:
    kind = step.kind
    if isinstance(kind, TemplateStep):
        for reply in kind.replies:
            for word in (reply.title, *reply.words):
                yield word, reply.title, reply.door.mark
    if isinstance(kind, Ask):
        for word in kind.skip_words:
            yield word, "skip", step.mark
        for choice in () if kind.choices is None else kind.choices.fixed:
            for word in _words_of(choice):
                yield word, choice.title.source, choice.mark


def _words_of(choice: FixedChoice) -> tuple[str, ...]:
    return (choice.title.source, *choice.words) if choice.title.constant else choice.words


def _check_triggers(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """A word that two take: of the bot, of two flows' starts, or of the bot and of a question's choices."""
    taken = {normalise(word): f'the bot\'s word "{word}"' for word in bot.words}
    everything_else: Flow | None = None
    for flow in flows.values():
        if flow.start is None:
            continue
        for word, mark in flow.start.words:
            owner = f"the start of flow {flow.name}"
            first = taken.setdefault(normalise(word), owner)
            if first != owner:
                problems.add("E312", mark, f'"{word}" is taken: {first}', "choose another word for one of them")
        if flow.start.otherwise and everything_else is not None:
            problems.add(
                "E313", flow.start.mark, f"flow {everything_else.name} starts `otherwise` already", "keep one of them"
            )
        everything_else = flow if flow.start.otherwise else everything_else
    words = {normalise(word): word for word in bot.words}
    for step in (step for flow in flows.values() for step in flow.steps.values() if isinstance(step.kind, Ask)):
        for word, owner, mark in _answers_of(step):
            if normalise(word) in words:
                problems.add(
                    "E312",
                    mark,
                    f'step "{step.name}": "{word}" of "{owner}" is a word of the bot, which is heard first',
                    "choose another word for one of them",
                )
