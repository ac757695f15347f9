"""What can only be checked when all flows are known: names, values, and what `targets`, `loops` and `collisions` find."""

from collections.abc import Iterable, Iterator, Mapping

from bot.flow.collisions import check_collisions
from bot.flow.definition import BotDefinition, Flow
from bot.flow.loops import check_loops
from bot.flow.targets import Targets, doors_of
from bot.flow.uses import uses_of_bot, uses_of_flow
from bot.lang.nodes import Mark
from bot.lang.problems import Problems, did_you_mean
from bot.lang.templates import FUNCTIONS
from bot.lang.variables import Mismatch, Variable
from bot.steps.ai import Ai
from bot.steps.ask import Ask
from bot.steps.doors import Assignment, evaluate, templates_in
from bot.steps.kind import Used
from bot.steps.notes import STRUCTURES
from bot.steps.run import Run

CONTACT_FIELDS = ("id", "name", "email", "tags")
BUILT_INS = ("contact", "now", "today", "came_from")


def check(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems, *, complete: bool = True) -> None:
    """Hold the bot and its flows against each other. ``complete`` is False where a document could not be read."""
    targets = Targets(flows, problems, complete=complete)
    targets.check(bot)
    _check_uses(uses_of_bot(bot), {}, problems)
    if complete:
        _check_bot_assignments(bot, flows, problems)
    for flow in flows.values():
        _check_uses(uses_of_flow(flow), flow.variables, problems)
        _check_assignments(flow, problems)
        _check_saves(flow, problems)
        _check_runs(flow, flows, targets, problems)
    _check_needs(bot, flows, problems)
    check_loops(flows, problems)
    check_collisions(bot, flows, problems)


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
        for door in doors_of(step):
            yield from door.set
    for _, door in flow.defaults.doors():
        yield from (item for item in door.set if item.mark.path == flow.mark.path)  # the rest is inherited


def _assignments_of_bot(bot: BotDefinition) -> Iterator[Assignment]:
    for door in (*bot.words.values(), *(door for _, door in bot.defaults.doors())):
        yield from door.set


def _check_bot_assignments(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """What bot.yml sets is some flow's variable."""
    known = {name: None for flow in flows.values() for name in flow.variables}
    for item in _assignments_of_bot(bot):
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


def _check_runs(flow: Flow, flows: Mapping[str, Flow], targets: Targets, problems: Problems) -> None:
    for step in flow.steps.values():
        if not isinstance(step.kind, Run):
            continue
        run = step.kind
        other = flows.get(run.flow)
        if other is None:
            targets.check_flow(run.flow, run.mark)
            continue
        for item in run.inputs:
            _declared(item.name, item.mark, other, problems)
        for ours, theirs in run.outputs.items():
            variable = _declared(ours, step.riders.save_mark, flow, problems)
            _declared(theirs, step.riders.save_mark, other, problems)
            if run.each is not None and variable is not None and variable.type != "list":
                what = f'run with `each` gives lists, and "{ours}" is a {variable.type}'
                problems.add("E303", run.mark, what, f"declare it as {ours}: {{type: list}}")


def _check_needs(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """An exit that nobody can take: it needs a value that no model can note and that nothing else gives."""
    given = {item.name for flow in flows.values() for item in _assignments_of(flow)}
    given |= {item.name for item in _assignments_of_bot(bot)}
    steps = [(flow, step) for flow in flows.values() for step in flow.steps.values()]
    for _, step in steps:
        given |= {step.riders.save or ""}
        if isinstance(step.kind, Run):
            given |= {*step.kind.outputs, *(item.name for item in step.kind.inputs)}
    for flow, step in steps:
        for way in step.kind.brief.exits if isinstance(step.kind, Ai) else ():
            for name in way.needs:
                variable = flow.variables[name]
                if isinstance(variable, STRUCTURES) and variable.value is None and name not in given:
                    what = f'step "{step.name}": exit "{way.name}" needs "{name}", which nothing gives a value'
                    problems.add("E303", way.mark, what, "let a step before it save one, or leave it out")
