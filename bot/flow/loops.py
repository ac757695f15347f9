"""Loops that wait for nobody: steps that lead in a circle, within one flow or over several."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from bot.flow.definition import Flow, ResolvedTransition, Step
from bot.lang.problems import Problems
from bot.steps.transition import AGAIN, BACK, END

Place = tuple[str, str]  # a flow and one of its steps


def check_loops(flows: Mapping[str, Flow], failing: Collection[str], problems: Problems) -> None:
    """Report the first circle that a turn could go round in for ever. ``failing`` are the flows that can fail."""
    onward = _onward(flows, failing)
    done: set[Place] = set()
    for place in onward:
        circle = _circle_from(place, onward, done)
        if circle:
            names = [step if flow == place[0] else f"/{flow}/{step}" for flow, step in (*circle, circle[0])]
            flow, step = circle[0]
            problems.add(
                "E140",
                flows[flow].steps[step].mark,
                f"these steps go round without waiting: {' -> '.join(names)}",
                "let one of them wait for an answer, or bound its visits",
            )
            return


class _Leads(NamedTuple):
    """Where a turn can go on to from a step: into the flows that it runs, past them and its own work, and past its bound
    on visits. `None` is the end of the flow. ``freely``: those past its work that no bound on visits counts.
    """

    runs: list[Place]
    past: list[Place | None]
    freely: list[Place | None]
    used_up: list[Place | None]

    def on(self, past: list[Place | None], through: Collection[Place]) -> list[Place | None]:
        """Where a turn goes on to in the flow: ``past`` where the step can be, as the flows can that begin at ``through``."""
        passes = not self.runs or any(first in through for first in self.runs)
        return [*self.used_up, *(past if passes else ())]


def _onward(flows: Mapping[str, Flow], failing: Collection[str]) -> dict[Place, list[Place]]:
    """Where a turn can go on to from each step, again and again: by its ways, into a flow that it runs, and past that."""
    steps = {(flow.name, step.name): step for flow in flows.values() for step in flow.steps.values()}
    leads = {place: _leads(place, step, flows, failing) for place, step in steps.items()}
    through = _through(leads)
    return {
        place: [*each.runs, *(found for found in each.on(each.freely, through) if found in steps)]
        for place, each in leads.items()
    }


def _leads(place: Place, step: Step, flows: Mapping[str, Flow], failing: Collection[str]) -> _Leads:
    """A bound on visits counts them in each frame; `again` is none.

    A failure leads on where it comes from outside, again and again: of calls, refusals and flows that fail, not of texts.
    """

    def places(transitions: Iterable[ResolvedTransition]) -> list[Place | None]:
        return [_place(resolved.target, place, flows) for resolved in transitions if resolved.target is not None]

    bounded = step.options.visits is not None and step.transitions["visits.else"].target != AGAIN
    passes = not step.kind.pauses or (step.kind.rest is not None and step.kind.rest.over)
    run_fails = any(run.flow in failing for run in step.kind.flows_run())
    fails = run_fails or "errors.else" in step.outcomes or step.refusal is not None
    past = [
        resolved for name, resolved in step.transitions.items() if passes and (fails or not name.startswith("errors."))
    ]
    runs = (flows[run.flow] for run in step.kind.flows_run() if run.flow in flows and flows[run.flow].steps)
    return _Leads(
        [(flow.name, flow.first) for flow in runs],
        places(past),
        places(resolved for resolved in past if resolved.target == AGAIN or not bounded),
        places([step.transitions["visits.else"]] if bounded else []),
    )


def _place(target: str, place: Place, flows: Mapping[str, Flow]) -> Place | None:
    if target in (END, BACK):
        return None
    if target == AGAIN:
        return place
    if not target.startswith("/"):
        return place[0], target
    name, _, step = target[1:].partition("/")
    return name, step or next(iter(flows[name].steps), "") if name in flows else ""


def _through(leads: Mapping[Place, _Leads]) -> set[Place]:
    """The steps from which a turn can reach the end of their flow without a wait."""
    before: dict[Place | None, list[Place]] = {}
    for place, each in leads.items():
        for found in (*each.runs, *each.past, *each.used_up):
            before.setdefault(found, []).append(place)
    through: set[Place] = set()
    waiting = list(before.get(None, ()))
    while waiting:
        place = waiting.pop()
        led = leads[place].on(leads[place].past, through)
        if place not in through and any(found is None or found in through for found in led):
            through.add(place)
            waiting += before.get(place, ())
    return through


def _circle_from(place: Place, onward: Mapping[Place, list[Place]], done: set[Place]) -> list[Place]:
    """Depth-first search with its own stack: a flow of 10,000 steps must not overflow Python's."""
    path: dict[Place, Iterator[Place]] = {} if place in done else {place: iter(onward[place])}
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
