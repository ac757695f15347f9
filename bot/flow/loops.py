"""Loops that wait for nobody: steps that lead in a circle, within one flow or over several."""

from collections.abc import Iterator, Mapping

from bot.flow.definition import Flow, Step, Way
from bot.lang.problems import Problems
from bot.steps.doors import AGAIN, BACK, END

Place = tuple[str, str]  # a flow and one of its steps


def check_loops(flows: Mapping[str, Flow], problems: Problems) -> None:
    """Report the first circle that a turn could go round in for ever."""
    onward = _onward(flows)
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


def _onward(flows: Mapping[str, Flow]) -> dict[Place, list[Place]]:
    """Where a turn can go on to from each step without a wait: by its ways, into a flow that it runs, and past that."""
    steps = {(flow.name, step.name): step for flow in flows.values() for step in flow.steps.values()}
    runs = {
        place: [
            (run.flow, flows[run.flow].first)
            for run in step.kind.flows_run()
            if run.flow in flows and flows[run.flow].steps
        ]
        for place, step in steps.items()
    }
    ways = {place: [way.target for way in _passing(step) if way.target is not None] for place, step in steps.items()}
    leads = {place: [_place(target, place, flows) for target in targets] for place, targets in ways.items()}
    ending = {place for place, targets in ways.items() if END in targets or BACK in targets}
    through = _through(leads, runs, ending)
    onward = {}
    for place, led in leads.items():
        passes = not runs[place] or any(first in through for first in runs[place])
        onward[place] = [*runs[place], *(found for found in led if passes and found in steps)]
    return onward


def _passing(step: Step) -> Iterator[Way]:
    """The ways that a turn can take through a step at once. Past its bound on visits there is but one.

    A failure counts where it comes from outside, again and again: of calls and templates, not of texts.
    """
    visits = step.riders.visits
    if visits is not None and step.ways["visits.else"].target != AGAIN:
        yield step.ways["visits.else"]
    elif not step.kind.pauses or (step.kind.rest is not None and step.kind.rest.over):
        fails = "errors.else" in step.outcomes
        yield from (way for name, way in step.ways.items() if fails or not name.startswith("errors."))


def _place(target: str, place: Place, flows: Mapping[str, Flow]) -> Place:
    if target == AGAIN:
        return place
    if not target.startswith("/"):
        return place[0], target
    name, _, step = target[1:].partition("/")
    return name, step or next(iter(flows[name].steps), "") if name in flows else ""


def _through(leads: Mapping[Place, list[Place]], runs: Mapping[Place, list[Place]], ending: set[Place]) -> set[Place]:
    """The steps from which a turn can reach the end of their flow without a wait."""
    before: dict[Place, list[Place]] = {}
    for place, led in leads.items():
        for found in led:
            before.setdefault(found, []).append(place)
        for first in runs[place]:
            before.setdefault(first, []).append(place)
    through: set[Place] = set()
    reached = list(ending)
    while reached:
        place = reached.pop()
        if place in through or not (
            (not runs[place] or any(first in through for first in runs[place]))
            and (place in ending or any(found in through for found in leads[place]))
        ):
            continue
        through.add(place)
        reached += before.get(place, ())
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
