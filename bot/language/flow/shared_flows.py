"""Shared flows: flows that run at a record which several contacts share, such as a queue, and not in a conversation.

A run takes place at once and says nothing, so a shared flow can only work with values and reach contacts by signals.
"""

from collections.abc import Iterator, Mapping

from bot.language.flow.definition import Flow, Step, transitions_of_flow
from bot.language.source.problems import Mark, Problems
from bot.language.steps.transition import Transition

VERBS = ("set", "clear", "branch", "signal", "start")
"""The verbs of a shared flow: they neither wait nor send."""


def check_shared(flows: Mapping[str, Flow], problems: Problems) -> None:
    """Report what a shared flow cannot do, and steps that run a flow in the wrong way."""
    for flow in flows.values():
        for step in flow.steps.values():
            for run in step.facts.flows_run:
                other = flows.get(run.flow)
                if other is not None and run.shared is (other.shared is None):
                    _report_run(other, run.mark, problems)
        if flow.shared is not None:
            for what, mark in _impossible(flow):
                fix = f"the verbs of a shared flow are {', '.join(VERBS)}; do the rest where the flow is run"
                problems.add("E121", mark, f"flow {flow.name} is shared, so {what}", fix)


def _report_run(flow: Flow, mark: Mark, problems: Problems) -> None:
    if flow.shared is None:
        problems.add("E123", mark, f'"of" has no effect: flow {flow.name} is not shared', "remove it")
    else:
        what = f'flow {flow.name} is shared: "of" is missing, which says at which {flow.shared} it runs'
        problems.add("E105", mark, what, f'add of: "{{{{ the name of a {flow.shared} }}}}"')


def _impossible(flow: Flow) -> Iterator[tuple[str, Mark]]:
    """Each thing that the flow has and a shared flow cannot do, with its place."""
    if flow.trigger is not None:
        yield "nothing starts it: a step runs it", flow.trigger.mark
    for step in flow.steps.values():
        yield from _at_step(step)
    for transition in transitions_of_flow(flow):
        if transition.mark.path == flow.mark.path and _speaks(transition):
            yield "it can send nothing and has no tags", transition.mark


def _at_step(step: Step) -> Iterator[tuple[str, Mark]]:
    options = step.options
    if step.kind.verb not in VERBS and not step.unread:
        yield f"it cannot `{step.kind.verb}`", step.mark
    elif options.tag or options.untag or options.schedule or options.cancel:
        yield "it has no tags and no schedules", step.mark


def _speaks(transition: Transition) -> bool:
    parts = (transition.say, transition.ask, transition.tag, transition.untag, transition.cancel)
    return any(part is not None and part != () for part in parts)
