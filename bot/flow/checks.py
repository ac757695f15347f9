"""What can only be checked when all flows are known: targets, names, values, words, loops."""

from collections.abc import Iterable, Iterator, Mapping

from bot.flow.definition import BotDefinition, Flow, Step
from bot.flow.uses import uses_of_bot, uses_of_flow
from bot.lang.problems import Problems, did_you_mean
from bot.lang.source import Mark
from bot.lang.templates import FUNCTIONS
from bot.lang.variables import Mismatch, Variable
from bot.lang.words import normalise
from bot.steps.ask import Ask
from bot.steps.choices import Choices, FixedChoice
from bot.steps.doors import RESERVED, Assignment, Door, Target
from bot.steps.kind import Used
from bot.steps.run import Run
from bot.steps.template import TemplateStep

CONTACT_FIELDS = ("id", "name", "tags")
BUILT_INS = ("contact", "now", "today", "came_from")


def check(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Hold the bot and its flows against each other."""
    _Targets(flows, problems).check(bot)
    _check_uses(uses_of_bot(bot), {}, problems)
    for flow in flows.values():
        _check_uses(uses_of_flow(flow), flow.variables, problems)
        _check_assignments(flow, problems)
        _check_saves(flow, problems)
        _check_runs(flow, flows, problems)
        _check_titles(flow, problems)
        _check_loops(flow, problems)
    _check_triggers(bot, flows, problems)


class _Targets:
    """Every target leads to something that is there."""

    def __init__(self, flows: Mapping[str, Flow], problems: Problems) -> None:
        self._flows = flows
        self._problems = problems

    def check(self, bot: BotDefinition) -> None:
        for door in (*bot.words.values(), *(door for _, door in bot.defaults.doors())):
            if door.then is not None:
                self._check_target(door.then, None)
        for flow in self._flows.values():
            for target in _targets_of(flow):
                self._check_target(target, flow)

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
    for step in flow.steps.values():
        doors: list[Door | None] = [outcome.door for outcome in step.kind.outcomes().values()]
        doors += [step.riders.then, *(door for _, door in step.riders.defaults.doors())]
        if step.riders.visits is not None:
            doors.append(step.riders.visits.otherwise)
        yield from (door.then for door in doors if door is not None and door.then is not None)
    yield from (door.then for _, door in flow.defaults.doors() if door.then is not None)


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
        doors = [outcome.door for outcome in step.kind.outcomes().values()]
        for door in (*doors, *(door for _, door in step.riders.defaults.doors())):
            if door is not None:
                yield from door.set


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
                if choice.saves:
                    _check_value(variable, choice.value, choice.mark, problems)


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


def _check_loops(flow: Flow, problems: Problems) -> None:
    """Steps that lead in a circle without waiting for anybody, and without a bound on visits."""
    onward = {step.name: _goes_on_to(step, flow) for step in flow.steps.values()}
    done: set[str] = set()
    for name in onward:
        path: list[str] = []
        circle = _circle_from(name, onward, path, done)
        if circle:
            problems.add(
                "E140",
                flow.steps[circle[0]].mark,
                f"these steps go round without waiting: {' -> '.join([*circle, circle[0]])}",
                "let one of them wait for an answer, or bound its visits",
            )
            return


def _goes_on_to(step: Step, flow: Flow) -> list[str]:
    if step.kind.pauses or step.riders.visits is not None:
        return []
    names = [way.target for way in step.ways.values() if way.target is not None]
    return [name for name in names if name in flow.steps]


def _circle_from(name: str, onward: Mapping[str, list[str]], path: list[str], done: set[str]) -> list[str]:
    """Depth-first search with its own stack: a flow of 10,000 steps must not overflow Python's."""
    stack = [(name, iter(onward[name]))] if name not in done else []
    if stack:
        path.append(name)
    while stack:
        current, following = stack[-1]
        for step in following:
            if step in path:
                return path[path.index(step) :]
            if step not in done:
                path.append(step)
                stack.append((step, iter(onward[step])))
                break
        else:
            done.add(current)
            path.pop()
            stack.pop()
    return []
