"""The checks that need all flows. `check` is the list."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from bot.language.expressions.filters import TITLE_OF
from bot.language.expressions.opening_hours import no_hours
from bot.language.flow.collision_checks import check_collisions
from bot.language.flow.definition import (
    BotDefinition,
    Flow,
    Step,
    certain_data,
    keepers,
    steps_of,
    transitions_of_bot,
    transitions_of_flow,
    uses_of_all,
    uses_of_bot,
    uses_of_flow,
)
from bot.language.flow.documents import BOT_FILE
from bot.language.flow.name_checks import check_definitions, check_loop_names, check_python_names, check_uses, form_of
from bot.language.flow.shared_flows import check_shared
from bot.language.flow.target_checks import Targets, check_loops, failing_flows
from bot.language.keys.definitions import refuse_defined
from bot.language.python.decorators import FunctionSpec
from bot.language.source.problems import Mark, Problems, did_you_mean, nearest
from bot.language.steps.step_facts import SavedResult, Used
from bot.language.steps.step_options import STEP_OPTIONS
from bot.language.steps.tools import STRUCTURES
from bot.language.steps.transition import ALL, Assignment, Cleared, evaluate, templates_in
from bot.language.types.structured_types import FileVariable
from bot.language.types.type_registry import check_written, to_fit
from bot.language.types.variable import TypeMismatch, Variable


def check(
    bot: BotDefinition,
    flows: Mapping[str, Flow],
    own: Mapping[str, FunctionSpec],
    problems: Problems,
    unread: Collection[str] = (),
) -> None:
    """Check the bot, its flows and its ``own`` Python against each other.

    ``unread`` are the files that could not be read in full.
    """
    check_python_names(bot, flows, own, problems)
    check_definitions(bot, flows, own, problems, unread)
    targets = Targets(flows, problems, unread)
    targets.check(bot)
    flows = {name: _with_common(flow, bot, problems) for name, flow in flows.items()}
    check_uses(uses_of_bot(bot), bot.common, problems)
    if not unread:
        _check_bot_assignments(bot, flows, problems)
        _check_timing(bot, flows, problems)
    kept, failing = keepers(flows), failing_flows(flows, bot.words)
    for flow in flows.values():
        FlowChecks(flow, bot, flows, kept, failing, targets, problems).check()
    check_shared(flows, problems)
    if BOT_FILE not in unread:
        _check_signals(bot, flows, problems)
        for flow in flows.values():
            _check_started_by_signals(bot, flow, problems)
    _check_needs(bot, flows, problems)
    check_collisions(bot, flows, problems)


def check_sound(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Check flows from which all parts with problems were taken: for circles, unsaved values and slots.

    In a flow with problems these checks would be wrong: a mended target may be in no circle, and a mended choice may
    have a value.
    """
    check_loops(flows, failing_flows(flows, bot.words), problems)
    for flow in flows.values():
        _check_unsaved(flow, problems)
        _check_slots(flow, problems)


def _with_common(flow: Flow, bot: BotDefinition, problems: Problems) -> Flow:
    """The flow with what all flows of the bot have beside their own variables."""
    for name in bot.common.keys() & flow.variables.keys():
        what = f'variable "{name}": the name means something else: bot.yml gives it to every contact'
        problems.add("E306", flow.variables[name].mark, what, "choose another name")
    definitions = {**bot.definitions, **flow.definitions}
    return replace(flow, variables={**flow.variables, **bot.common}, definitions=definitions)


def _assignments_of(flow: Flow) -> Iterator[Assignment]:
    for step in flow.steps.values():
        yield from step.options.set
    for transition in transitions_of_flow(flow):
        yield from (item for item in transition.set if item.mark.path == flow.mark.path)  # the rest is inherited


@dataclass(frozen=True)
class FlowChecks:
    """The checks of one flow."""

    flow: Flow
    bot: BotDefinition
    flows: Mapping[str, Flow]
    kept: Mapping[str, str]
    """The variables that flows keep with the contact, each with the name of such a flow."""
    failing: Collection[str]
    """The flows that can end because a step failed."""
    targets: Targets
    problems: Problems

    def check(self) -> None:
        """Report what is wrong in the flow."""
        uses = [*uses_of_flow(self.flow)]
        check_uses(uses, self.flow.variables, self.problems, kept=self._kept_elsewhere)
        check_loop_names(uses, self.flow, self.problems)
        for item in _assignments_of(self.flow):
            self._check_given(item)
        self._check_cleared()
        self._check_kept_files()
        self._check_saves()
        self._check_reports()
        self._check_forms()
        self._check_resets()
        self._check_runs()
        self._check_failing_runs()
        self._check_schedules()
        self._check_needed_by_triggers()
        self._check_slot_names()

    @property
    def _kept_elsewhere(self) -> Mapping[str, str]:
        """The variables that an unknown name may be meant for; a shared flow keeps none."""
        return self.kept if self.flow.shared is None else {}

    def _check_given(self, item: Assignment) -> None:
        """Check that an input of a flow is one of its variables, and fits it."""
        variable = self._declared(item.name, item.mark)
        if variable is not None:
            _check_constant(variable, item, self.problems, self.flow.variables)

    def _check_cleared(self) -> None:
        """Check that `clear` names variables of the flow, and none to which the same step has just given a value."""
        own = {name: variable for name, variable in self.flow.variables.items() if name not in self.bot.common}
        for step in self.flow.steps.values():
            self._check_saved_and_cleared(step, own)
        inherited = (item for transition in transitions_of_flow(self.flow) for item in transition.clear)
        written = (item for item in inherited if item.mark.path == self.flow.mark.path)
        for item in (*written, *(item for step in self.flow.steps.values() for item in step.options.clear)):
            if item.name in self.bot.common:
                _refuse_common(item, self.problems)
            elif item.name is not None:
                self._declared(item.name, item.mark)
            elif ALL in own:
                what = f'variable "{ALL}": at {item.mark} "{ALL}" means every variable'
                self.problems.add("E306", own[ALL].mark, what, "choose another name for the variable")

    def _check_saved_and_cleared(self, step: Step, variables: Mapping[str, Variable]) -> None:
        """A value that a step saves would be lost at once."""
        options = step.options
        lost = {options.save, *step.facts.gives} & {item.name for item in options.assigned(variables)}
        lost -= {item.name for item in options.set}
        for name in sorted(each for each in lost if each is not None):
            what = f'step "{step.name}": "clear" takes back what the step gives to "{name}"'
            fix = f'list the others under `clear`, or keep the value: set: {{{name}: "{{{{ {name} }}}}"}}'
            self.problems.add("E123", options.clear[0].mark, what, fix)

    def _check_kept_files(self) -> None:
        """Only a `set` that is a step waits until the file of a message is kept."""
        beside = [item for step in self.flow.steps.values() if not step.facts.keeps_files for item in step.options.set]
        for item in (*beside, *(item for transition in transitions_of_flow(self.flow) for item in transition.set)):
            variable = self.flow.variables.get(item.name)
            read = {path[:2] for text in item.uses() for path in text.paths}
            if isinstance(variable, FileVariable) and variable.keeps_files and ("message", "file") in read:
                what = f'"{item.name}" keeps files, and nothing waits here until the file of the message is kept'
                fix = f"set it in a step of its own: {{set: {{{item.name}: ...}}, errors: {{else: ...}}}}"
                self.problems.add("E303", item.mark, what, fix)

    def _check_saves(self) -> None:
        for step in self.flow.steps.values():
            if step.options.save is None:
                continue
            variable = self._declared(step.options.save, step.options.save_mark)
            for saved in step.facts.saved_values:
                if variable is None or (saved.altered and not check_written(variable, saved.altered, self.problems)):
                    continue
                if all(text.constant for text in templates_in(saved.value)):
                    _check_value(variable, evaluate(saved.value, {}), saved.mark, self.problems)

    def _check_reports(self) -> None:
        """A step's `report` is no other step's name: both would be counted as one."""
        for step in self.flow.steps.values():
            name = step.options.report
            if name is not None and name != step.name and name in self.flow.steps:
                what = f'step "{step.name}": "report: {name}" is the name of another step'
                fix = f'choose another name: without one the step is counted as "{step.name}"'
                self.problems.add("E121", step.mark, what, fix)

    def _check_forms(self) -> None:
        """Check that forms ask for variables of the flow that somebody can write."""
        for step in self.flow.steps.values():
            if step.facts.form is None:
                continue
            for name, mark in step.facts.form.marks.items():
                variable = self._declared(name, mark)
                if variable is not None and not (variable.answered and variable.written):
                    what = f'form: no page asks for "{name}": it is of type {variable.type}'
                    self.problems.add("E303", mark, what, "ask for it in a question of its own")
                elif name in self.bot.common:
                    what = f'form: "{name}" is no variable of flow {self.flow.name}'
                    self.problems.add("E303", mark, what, "declare it in the flow, and `set` it from there")

    def _check_resets(self) -> None:
        """Check that `reset` names steps of the flow that have `visits`."""
        for step in self.flow.steps.values():
            for item in step.options.reset:
                other = self.flow.steps.get(item.text)
                if other is None:
                    fix = did_you_mean(item.text, self.flow.steps, "write a step of this flow that has `visits`")
                    self.problems.add("E102", item.mark, f'no step "{item.text}" in flow {self.flow.name}', fix)
                elif other.options.visits is None:
                    what = f'step "{step.name}": "reset" has no effect: step "{item.text}" has no `visits`'
                    self.problems.add("E123", item.mark, what, "remove it, or bound that step")

    def _check_runs(self) -> None:
        for step in self.flow.steps.values():
            for run in step.facts.flows_run:
                other = self.flows.get(run.flow)
                if other is None:
                    self.targets.check_flow(run.flow, run.mark)
                    continue
                inside = replace(self, flow=other)
                for item in run.inputs:
                    inside._check_given(item)
                _check_needed(f"flow {other.name}", other.variables, run.inputs, run.mark, self.problems)
                for ours, theirs in run.outputs.items():
                    inside._declared(theirs, step.options.save_mark)
                    variable = self._declared(ours, step.options.save_mark)
                    if run.listed and variable is not None and variable.type != "list":
                        what = f'run with `each` gives lists, and "{ours}" is of type {variable.type}'
                        self.problems.add("E303", run.mark, what, f"declare it as {ours}: {{type: list}}")

    def _check_failing_runs(self) -> None:
        """A flow that is run and fails is the failure of the step that runs it, which leads somewhere."""
        for step in self.flow.steps.values():
            for run in step.facts.flows_run:
                if run.flow in self.failing and not step.transitions.keys() & {"errors.failed", "errors.else"}:
                    what = f'step "{step.name}" has no `errors.else`: a failure that ends flow {run.flow} leads nowhere'
                    fix = "add errors: {else: ...}; errors: {failed: next} goes on all the same"
                    self.problems.add("E130", run.mark, what, fix)

    def _check_schedules(self) -> None:
        """Check the inputs of flows that start later, or for another contact."""
        for step in self.flow.steps.values():
            later = ((schedule.target, schedule.inputs) for schedule in step.options.schedule)
            elsewhere = ((start.target, start.inputs) for start in step.facts.flows_started)
            for target, inputs in (*later, *elsewhere):
                if (other := self.flows.get(target.flow)) is not None:
                    _check_needed(f"flow {other.name}", other.variables, inputs, target.mark, self.problems)
                    for item in inputs:
                        replace(self, flow=other)._check_given(item)

    def _check_needed_by_triggers(self) -> None:
        """A message or an event gives only what its pattern and its payload have, a signal what it needs itself."""
        start = self.flow.trigger
        if start is None:
            return
        without = start.words or start.events or start.otherwise or start.intent is not None
        ways = [] if start.pattern is None else [{*start.pattern.groupindex}]
        ways += [] if start.payload is None else [{*start.payload.names}]
        if not ways and not without:
            return
        given = set() if without else set.intersection(*ways)
        for name in sorted({*self.flow.required} - given):
            fix = "start it by a program alone, or leave `needed` out"
            self.problems.add("E105", start.mark, f'flow {self.flow.name} needs "{name}", which no message gives', fix)

    def _check_slot_names(self) -> None:
        """A slot is a step of its flow."""
        for name, mark in self.flow.slots.items():
            if name not in self.flow.steps:
                questions = [each for each, step in self.flow.steps.items() if step.facts.asks] or ["a question"]
                fix = did_you_mean(name, self.flow.steps, f"flow {self.flow.name} asks {', '.join(questions)}")
                self.problems.add("E102", mark, f'slots: no step "{name}" in flow {self.flow.name}', fix)

    def _declared(self, name: str, mark: Mark) -> Variable | None:
        """The variable of the flow with this name."""
        variable = self.flow.variables.get(name)
        if self.flow.mark.path in self.problems.unread | self.problems.undeclared:
            return variable
        known = variable is not None or self.problems.is_taken(mark, name)
        if not known and not refuse_defined(name, mark, self.flow.definitions, self.problems):
            fix = f"declare it in flow {self.flow.name} under vars{form_of(name, self._kept_elsewhere, 'text')}"
            if name in STEP_OPTIONS.names:
                fix = f"write it beside these values, not among them, as in set: {{count: 1}}, then: end; or {fix}"
            else:
                fix = did_you_mean(name, () if name in self.kept else self.flow.variables, fix)
            self.problems.add("E301", mark, f'no variable "{name}" in flow {self.flow.name}', fix)
        return variable


def _check_bot_assignments(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Check that bot.yml sets and clears only variables of some flow."""
    known = {name: None for flow in flows.values() for name in flow.variables}
    for cleared in (item for transition in transitions_of_bot(bot) for item in transition.clear):
        if cleared.name in bot.common:
            _refuse_common(cleared, problems)
        elif cleared.name is not None and cleared.name not in known:
            fix = did_you_mean(cleared.name, known, "remove it, or declare it under vars of the flows that read it")
            problems.add("E301", cleared.mark, f'no flow has a variable "{cleared.name}"', fix)
    for item in (item for transition in transitions_of_bot(bot) for item in transition.set):
        if item.name in bot.common:
            _check_constant(bot.common[item.name], item, problems)
        elif item.name in known:
            _check_in_all(item, flows, problems)
        elif not refuse_defined(item.name, item.mark, bot.definitions, problems):
            fix = did_you_mean(item.name, known, "declare it under vars of the flows that read it")
            problems.add("E301", item.mark, f'no flow has a variable "{item.name}"', fix)


def _check_in_all(item: Assignment, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Check a value that may be a number or a text against the variable of each flow that has it."""
    variables = (flow.variables[item.name] for flow in flows.values() if item.name in flow.variables)
    if item.altered is not None:
        all(check_written(variable, item.altered, problems) for variable in variables)


def _refuse_common(item: Cleared, problems: Problems) -> None:
    what = f'clear: "{item.name}" is the contact\'s, and no flow declares a first value for it'
    problems.add("E301", item.mark, what, f"write set: {{{item.name}: ...}} with the value that is meant")


def _check_constant(variable: Variable, item: Assignment, problems: Problems, known: Collection[str] = ()) -> None:
    if item.altered is not None and not check_written(variable, item.altered, problems):
        return
    if all(text.constant for text in item.uses()):
        _check_value(variable, item.evaluate({}), item.mark, problems, known)


def _check_unsaved(flow: Flow, problems: Problems) -> None:
    """A `save` that no outcome has a value for: a question whose choices only lead somewhere."""
    for step in flow.steps.values():
        saves = [outcome.saves for outcome in step.outcomes.values() if outcome.success]
        if step.options.save is not None and all(each in (SavedResult.NOTHING, SavedResult.NULL) for each in saves):
            what = f'step "{step.name}": "save": no choice has a value'
            problems.add("E123", step.options.save_mark, what, "give them a `value`, or write `accepts: text`")


def _check_value(
    variable: Variable, value: object, mark: Mark, problems: Problems, known: Collection[str] = ()
) -> None:
    """A constant value fits its variable, as far as that can be known without the time."""
    if variable.type == "date":
        return
    try:
        variable.coerce(value, None)
    except TypeMismatch as mismatch:
        problems.add(
            "E303", mark, f'"{value}" does not fit {variable.name}: {mismatch}', to_fit(variable, value, known)
        )


def _check_needed(
    what: str, declared: Mapping[str, Variable], inputs: Iterable[Assignment], mark: Mark, problems: Problems
) -> None:
    """Check that every variable that a flow or a signal requires is given."""
    given = {item.name for item in inputs}
    given |= {nearest(name, declared) or name for name in given - declared.keys()}  # misspelt
    for name in sorted({name for name, variable in declared.items() if variable.required} - given):
        problems.add("E105", mark, f'{what} needs "{name}"', f"add with: {{{name}: ...}}")


def _check_slots(flow: Flow, problems: Problems) -> None:
    """A slot is a question whose answer can be told from other words, and which has a variable for it."""
    for step in (flow.steps[name] for name in flow.slots if not flow.steps[name].unread):
        name, variable = step.name, flow.saved_by(step)
        if not step.facts.asks or variable is None:
            what = f'slots: step "{name}" asks nothing that is saved'
            problems.add("E110", step.mark, what, "name a question with save")
        elif name in flow.free_slots and flow.model_slots is None:
            fix = "let a model fill it, slots: {fill: [...], model: true}, give its variable a type or a pattern, or leave it out of slots"
            problems.add("E110", step.mark, f'slots: question "{name}" takes every text', fix)


def _check_signals(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Every signal that a step can hear or report, and each of its data, is declared in ``bot.yml``."""
    steps = steps_of(flows)
    defaults = (bot.defaults, *(flow.defaults for flow in flows.values()), *(step.options.defaults for step in steps))
    written = (found for each in defaults for found in (each.signals or {}).items() if found[1])
    heard = {(name, several[0].transition.mark): several for name, several in written}  # inherited ones once
    for (name, mark), several in heard.items():
        declared = _declared_signal(bot, name, mark, problems)
        for text in (text for each in several for text in each.uses()):
            for path in sorted(path for path in text.paths if path[0] == "event" and path[1:2]):
                if declared is not None and path[1] not in declared:
                    there = ", ".join(declared) or "no data"
                    fix = did_you_mean(path[1], declared, f"it has {there}: declare more in bot.yml")
                    problems.add("E301", text.mark, f'signal "{name}" has no "{path[1]}"', fix)
    for sent in (sent for step in steps for sent in step.facts.signals_sent if sent.name):  # else it was not read
        declared = _declared_signal(bot, sent.name, sent.mark, problems)
        if declared is None:
            continue
        _check_needed(f'signal "{sent.name}"', declared, sent.data, sent.mark, problems)
        for item in sent.data:
            if item.name in declared:
                _check_constant(declared[item.name], item, problems)
            else:
                fix = did_you_mean(item.name, declared, "declare it in bot.yml")
                problems.add("E301", item.mark, f'signal "{sent.name}" has no "{item.name}"', fix)


def _check_started_by_signals(bot: BotDefinition, flow: Flow, problems: Problems) -> None:
    """The signals that start a flow are declared, and their data fit its variables."""
    start = flow.trigger
    for name in () if start is None else start.signals:
        declared = None if start is None else _declared_signal(bot, name, start.mark, problems)
        if declared is None:
            continue
        for needed in sorted({*flow.required} - certain_data(bot, name)):
            fix = f"declare it in bot.yml: signals: {{{name}: {{{needed}: {{type: ..., needed: true}}}}}}"
            problems.add("E105", flow.variables[needed].mark, f'signal "{name}" may come without "{needed}"', fix)
        for field, variable in declared.items():
            ours = flow.variables.get(field)
            wider = ("text", "number") if variable.type == "integer" else ("text",)
            if ours is None or ours.type in (variable.type, *wider):
                continue
            what = f'variable "{field}" is of type {ours.type}, and signal "{name}" gives {variable.type}'
            problems.add("E303", ours.mark, what, "declare the same type in both places, or use another name")


def _declared_signal(bot: BotDefinition, name: str, mark: Mark, problems: Problems) -> Mapping[str, Variable] | None:
    if name not in bot.signals:
        fix = did_you_mean(name, bot.signals, f"declare it in bot.yml: signals: {{{name}: {{}}}}")
        problems.add("E109", mark, f'no signal "{name}"', fix)
    return bot.signals.get(name)


def _check_needs(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """An exit that nobody can take: it needs a value that no model can note and that nothing else gives."""
    steps = steps_of(flows)
    if any(step.unread for step in steps):
        return
    given = {item.name for flow in flows.values() for item in _assignments_of(flow)}
    given |= {item.name for transition in transitions_of_bot(bot) for item in transition.set}
    for step in steps:
        given |= {step.options.save or "", *step.facts.gives}
        given |= {item.name for run in step.facts.flows_run for item in run.inputs}
    for flow in flows.values():
        for step in flow.steps.values():
            for need in step.facts.needs:
                variable = flow.variables[need.variable]
                if isinstance(variable, STRUCTURES) and variable.value is None and variable.name not in given:
                    what = (
                        f'step "{step.name}": exit "{need.exit}" needs "{variable.name}", which nothing gives a value'
                    )
                    problems.add("E303", need.mark, what, "let a step before it save one, or leave it out")


def _check_timing(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Report every name that is written out and that nothing has."""
    asking = (step for flow in flows.values() for step in flow.steps.values())
    asked = {step.options.save for step in asking if step.facts.offers}
    declared = {name for flow in flows.values() for name in flow.variables}
    defined = (*bot.definitions.values(), *(each for flow in flows.values() for each in flow.definitions.values()))
    for used in (*uses_of_all(bot, flows), *(Used(each.expression) for each in defined)):
        for name in sorted(used.text.hours - bot.hours.keys()):
            problems.add("E115", used.text.mark, *no_hours(name, bot.hours))
        for name in sorted((used.text.titles & declared) - asked):
            fix = "show the value itself, or let a question with choices save it"
            problems.add("E203", used.text.mark, f'{TITLE_OF}: no question saves a choice in "{name}"', fix)
    _check_cancelled(bot, flows, problems)


def _check_cancelled(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> None:
    """Check that a name that is cancelled is scheduled somewhere; a name known only at run time may be any."""
    steps = steps_of(flows)
    names = [schedule.name for step in steps for schedule in step.options.schedule]
    if not all(name.constant for name in names) or any(step.unread for step in steps):
        return
    known = {name.source for name in names}
    transitions = (*transitions_of_bot(bot), *chain.from_iterable(map(transitions_of_flow, flows.values())))
    cancelled = (*(step.options.cancel for step in steps), *(transition.cancel for transition in transitions))
    for name in dict.fromkeys(chain.from_iterable(cancelled)):
        if name.constant and name.source not in known:
            fix = did_you_mean(name.source, known, "write the name that a step schedules it by, or remove it")
            problems.add("E116", name.mark, f'nothing is scheduled as "{name.source}"', fix)
