"""Transitions and where they lead: every target is there, and means something where it stands."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from bot.language.flow.definition import (
    BotDefinition,
    Flow,
    ResolvedTransition,
    Step,
    steps_of,
    transitions_of_bot,
    transitions_of_flow,
)
from bot.language.keys.fields import is_name
from bot.language.source.problems import Mark, Problems, did_you_mean
from bot.language.steps.step_options import SIGNAL, Defaults
from bot.language.steps.transition import AGAIN, BACK, END, NEXT, RESERVED, ROUTE, STAY, Target, Transition, Words


class Targets:
    """Every target leads to something that is there.

    ``unread`` are the files of which something could not be read: any flow may be there, and any step of their flows.
    """

    def __init__(self, flows: Mapping[str, Flow], problems: Problems, unread: Collection[str]) -> None:
        self._flows = flows
        self._problems = problems
        self._unread = unread

    def check(self, bot: BotDefinition) -> None:
        """Report every target that leads nowhere."""
        steps = steps_of(self._flows)
        for word in bot.words.values():
            self._refuse(f'word "{word.text}"', word.transition, (NEXT,), "a word of the bot stands at no step")
        levels = (*(flow.words for flow in self._flows.values()), *(step.options.words for step in steps))
        for word in (word for words in (bot.words, *levels) for word in words.values()):
            what, why = f'word "{word.text}"', "a word is no wrong answer: without a target the contact stays"
            self._refuse(what, word.transition, (STAY,), why)
        for transition in transitions_of_bot(bot):
            if transition.then is not None:
                self._check_target(transition.then, None)
            self._check_correction(transition, None)
        self._check_defaults(bot.defaults)
        for flow in self._flows.values():
            self._check_defaults(flow.defaults)
            for step in flow.steps.values():
                self._check_defaults(step.options.defaults)
            beside_save = _targets_beside_save(flow)
            for transition in transitions_of_flow(flow):
                if transition.mark.path == bot.mark.path:
                    continue  # inherited
                if transition.then is not None:
                    self._check_target(transition.then, flow, transition.then.mark in beside_save)
                self._check_correction(transition, flow)
            for step in flow.steps.values():
                for schedule in step.options.schedule:
                    self._check_target(schedule.target, flow)
                for start in step.facts.flows_started:
                    self._check_target(start.target, flow)

    def _check_defaults(self, defaults: Defaults) -> None:
        for name, transition in defaults.transitions():
            if name in ("remind", "timeout"):
                self._refuse(name, transition, (ROUTE,), "there is no message to hand on")
            elif name == "gone":
                self._refuse(name, transition, (NEXT, AGAIN, STAY, BACK, ROUTE), "the step is not there any more")

    def _check_correction(self, transition: Transition, flow: Flow | None) -> None:
        """Only an answer of the same flow can be corrected: by the step that asks for it."""
        if not transition.corrects or transition.then is None:
            return
        step = None if flow is None else flow.steps.get(transition.then.text)
        if step is None and flow is not None and is_name(transition.then.text) and transition.then.text not in RESERVED:
            return  # which is a problem of the target
        if step is None or not (step.facts.asks or step.unread):
            what = f'"{transition.then.text}" asks nothing that could be corrected'
            fix = "write `then`" if flow is None else f"name a step of flow {flow.name} with a question"
            self._problems.add("E110", transition.then.mark, what, fix)

    def _refuse(self, what: str, transition: Transition, targets: tuple[str, ...], why: str) -> None:
        """Reserved words that mean nothing at this transition."""
        if transition.then is not None and transition.then.text in targets:
            self._problems.add(
                "E110",
                transition.then.mark,
                f'{what}: "{transition.then.text}" leads nowhere here, {why}',
                "leave the target out" if transition.then.text == STAY else "write /flow, /flow/step or end",
            )

    def _check_target(self, target: Target, flow: Flow | None, may_be_value: bool = False) -> None:
        if target.text in RESERVED:
            return
        if target.text.startswith("/"):
            self._check_absolute(target, flow)
        elif flow is None:
            what = f'"{target.text}" is a step, and bot.yml belongs to no flow'
            owner = next((name for name, each in self._flows.items() if target.text in each.steps), None)
            fix = f"write /{owner}/{target.text}"
            if owner is None:
                fix = f"write /{target.text} for a flow, /flow/{target.text} for a step of one"
            fix = did_you_mean(target.text, [*RESERVED, *map("/{}".format, self._flows)], fix)
            if target.text in self._flows:
                fix = f"for the flow write /{target.text}"
            self._problems.add("E112", target.mark, what, fix)
        elif self._lacks(flow, target.text):
            if is_name(target.text):
                fix = f"add the step to flow {flow.name}"
                if may_be_value:
                    fix = f"where it is the value to be saved, write {{value: {target.text}}}; else {fix}"
                fix = did_you_mean(target.text, [*flow.steps, *RESERVED], fix)
            else:
                meant = "value: " if may_be_value else "say: "
                fix = f"write the name of a step, in small letters; where a text is meant, {{{meant}{target.text}}}"
                fix = did_you_mean(target.text, [*flow.steps, *RESERVED], fix)
            if target.text in self._flows:
                fix = f"for the flow write /{target.text}"
            self._problems.add("E102", target.mark, f'no step "{target.text}"', fix)

    def _check_absolute(self, target: Target, own: Flow | None) -> None:
        """``own`` is the flow in which the target is written."""
        name, _, step = target.text[1:].partition("/")
        flow = self._flows.get(name)
        if flow is None:
            is_step = own is not None and not step and name in own.steps
            self.check_flow(name, target.mark, f"for the step of this flow write {name}" if is_step else "")
        elif flow.shared is not None:
            fix = f"write run: /{name} with of:"
            self._problems.add("E110", target.mark, f"/{name} is no target: flow {name} is shared", fix)
        elif step and self._lacks(flow, step):
            fix = did_you_mean(step, flow.steps, f"add the step to flow {name}")
            self._problems.add("E102", target.mark, f'no step "{step}" in flow {name}', fix)

    def _lacks(self, flow: Flow, step: str) -> bool:
        """True if it is certain that a flow has no step of this name."""
        return step not in flow.steps and flow.mark.path not in self._unread

    def check_flow(self, name: str, mark: Mark, fix: str = "") -> None:
        """Check that a flow of this name exists. ``fix`` replaces the usual fix, where more than the name is known."""
        if name and not self._unread and name not in self._flows:
            fix = fix or did_you_mean(name, self._flows, "add a flow of this name")
            self._problems.add("E103", mark, f'no flow "{name}"', fix)


# -- steps that lead in a circle without waiting ----------------------------------------------------
StepId = tuple[str, str]  # a flow and one of its steps


def check_loops(flows: Mapping[str, Flow], failing: Collection[str], problems: Problems) -> None:
    """Report the first circle that a turn could go round in for ever. ``failing`` are the flows that can fail."""
    onward = _onward(flows, failing)
    done: set[StepId] = set()
    for place in onward:
        circle = _circle_from(place, onward, done)
        if circle:
            names = [step if flow == place[0] else f"/{flow}/{step}" for flow, step in (*circle, circle[0])]
            flow, step = circle[0]
            what = f"these steps go round without waiting: {' -> '.join(names)}"
            fix = "let one of them wait for an answer, or bound its visits"
            problems.add("E140", flows[flow].steps[step].mark, what, fix)
            return


class _Leads(NamedTuple):
    """The places to which a turn can go on from a step: into the flows that it runs, past them and its own work, and
    past its bound on visits. `None` is the end of the flow. ``freely``: those past its work that no bound on visits
    counts.
    """

    runs: list[StepId]
    past: list[StepId | None]
    freely: list[StepId | None]
    used_up: list[StepId | None]

    def on(self, past: list[StepId | None], through: Collection[StepId]) -> list[StepId | None]:
        """``past`` if the flows that begin at ``through`` let a turn pass the step, and the places past its bound."""
        passes = not self.runs or any(first in through for first in self.runs)
        return [*self.used_up, *(past if passes else ())]


def _onward(flows: Mapping[str, Flow], failing: Collection[str]) -> dict[StepId, list[StepId]]:
    """The steps to which a turn can go on from each step again and again: past it, or into a flow that it runs."""
    steps = {(flow.name, step.name): step for flow in flows.values() for step in flow.steps.values()}
    leads = {place: _leads(place, step, flows, failing) for place, step in steps.items()}
    through = _through(leads)
    return {
        place: [*each.runs, *(found for found in each.on(each.freely, through) if found in steps)]
        for place, each in leads.items()
    }


def _leads(place: StepId, step: Step, flows: Mapping[str, Flow], failing: Collection[str]) -> _Leads:
    """The places to which a step leads in the same turn. Visits are counted in each frame; `again` is no visit.

    A failure leads on if it comes from outside and can repeat: from calls, refusals and flows that fail, not from
    texts.
    """

    def places(transitions: Iterable[ResolvedTransition]) -> list[StepId | None]:
        return [_place(resolved.target, place, flows) for resolved in transitions if resolved.target is not None]

    bounded = step.options.visits is not None and step.transitions["visits.else"].target != AGAIN
    passes = not step.facts.pauses or (step.facts.waits_for is not None and step.facts.waits_for.over)
    run_fails = any(run.flow in failing for run in step.facts.flows_run)
    fails = run_fails or "errors.else" in step.outcomes or step.refusal is not None
    past = [
        resolved
        for name, resolved in step.transitions.items()
        if passes
        and name not in step.facts.tapped_later
        and (fails or not name.startswith("errors."))
        and not (step.facts.pauses and _is_later(name))
    ]
    runs = (flows[run.flow] for run in step.facts.flows_run if run.flow in flows and flows[run.flow].steps)
    return _Leads(
        [(flow.name, flow.first) for flow in runs],
        places(past),
        places(resolved for resolved in past if resolved.target == AGAIN or not bounded),
        places([step.transitions["visits.else"]] if bounded else []),
    )


def _is_later(outcome: str) -> bool:
    """True if a step at which a conversation waits is left so by a message, by silence or by a signal alone."""
    return outcome in ("other", "retry", "retry.else", "remind", "timeout") or outcome.startswith(SIGNAL)


def _place(target: str, place: StepId, flows: Mapping[str, Flow]) -> StepId | None:
    if target in (END, BACK):
        return None
    if target == AGAIN:
        return place
    if not target.startswith("/"):
        return place[0], target
    name, _, step = target[1:].partition("/")
    return name, step or next(iter(flows[name].steps), "") if name in flows else ""


def _through(leads: Mapping[StepId, _Leads]) -> set[StepId]:
    """The steps from which a turn can reach the end of their flow without a wait."""
    before: dict[StepId | None, list[StepId]] = {}
    for place, each in leads.items():
        for found in (*each.runs, *each.past, *each.used_up):
            before.setdefault(found, []).append(place)
    through: set[StepId] = set()
    waiting = list(before.get(None, ()))
    while waiting:
        place = waiting.pop()
        led = leads[place].on(leads[place].past, through)
        if place not in through and any(found is None or found in through for found in led):
            through.add(place)
            waiting += before.get(place, ())
    return through


def _circle_from(place: StepId, onward: Mapping[StepId, list[StepId]], done: set[StepId]) -> list[StepId]:
    """Depth-first search with its own stack: a flow of 10,000 steps must not overflow Python's."""
    path: dict[StepId, Iterator[StepId]] = {} if place in done else {place: iter(onward[place])}
    while path:
        current, following = next(reversed(path.items()))
        step = next((step for step in following if step not in done), None)
        if step is None:
            done.add(current)
            del path[current]
        elif step in path:
            places = list(path)
            return places[places.index(step) :]
        else:
            path[step] = iter(onward[step])
    return []


def _targets_beside_save(flow: Flow) -> frozenset[Mark]:
    """The places of targets of choices whose question saves something: a value may be meant."""
    saving = (step.outcomes.items() for step in flow.steps.values() if step.options.save is not None)
    choices = (outcome.transition for outcomes in saving for name, outcome in outcomes if name.startswith("["))
    return frozenset(each.then.mark for each in choices if each is not None and each.then is not None)


# -- flows that end because a step failed -----------------------------------------------------------


def failing_flows(flows: Mapping[str, Flow], words: Words, *, texts: bool = False) -> frozenset[str]:
    """The flows that can end because a step failed: by its request, or by a flow that it runs; with ``texts`` also by a
    text.

    A flow ends like the flow to which a transition of it leads; ``words`` are those of the bot.
    """
    failing: set[str] = set()
    while more := {name for name in flows.keys() - failing if _can_fail(flows[name], failing, words, texts)}:
        failing |= more
    return frozenset(failing)


def _can_fail(flow: Flow, failing: Collection[str], words: Words, texts: bool) -> bool:
    over = [resolved.target or "" for step in flow.steps.values() for resolved in step.transitions.values()]
    heard = (words, flow.words, *(step.options.words for step in flow.steps.values()))
    over += [word.transition.then.text for each in heard for word in each.values() if word.transition.then is not None]
    if any(target.startswith("/") and target[1:].partition("/")[0] in failing for target in over):
        return True
    return any(_ends_failed(step, failing, texts) for step in flow.steps.values())


def _ends_failed(step: Step, failing: Collection[str], texts: bool) -> bool:
    runs = any(run.flow in failing for run in step.facts.flows_run)
    fails = texts or runs or "errors.else" in step.outcomes or step.refusal is not None
    return fails and any(
        resolved.target == END for name, resolved in step.transitions.items() if name.startswith("errors.")
    )
