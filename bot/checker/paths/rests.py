"""How long a conversation rests at a step before it is left by an edge, as the engine's clock has it."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.checker.graph import AFTER_RUN, Cause, Edge, Graph, Place
from bot.checker.paths.terms import UNBOUNDED
from bot.flow.definition import Step
from bot.steps.declared import RestFor


@dataclass(frozen=True, slots=True, eq=False)
class Lead:
    """An edge, and the seconds for which the contact is silent meanwhile, at most.

    ``runs`` are the steps at which flows begin that run first, each with the most times in a row.
    """

    edge: Edge
    seconds: float
    runs: tuple[tuple[Place, int], ...] = ()


def leads(graph: Graph) -> Mapping[Place, tuple[Lead, ...]]:
    """What leads on from each step, but for edges that make no difference to the silence: one answer is like another."""
    return {place: _different(graph, place, step) for place, step in graph.steps.items()}


def said(edge: Edge) -> int:
    """How many messages are sent on the way through a transition."""
    return 0 if edge.transition is None else (edge.transition.say is not None) + (edge.transition.ask is not None)


def speaks(edge: Edge) -> bool:
    """Whether something is said on an edge, or by a reminder."""
    return said(edge) > 0 or edge.cause is Cause.REMINDER


def stays(edge: Edge) -> bool:
    """Whether the conversation goes on waiting where it is: its clock is not put back."""
    return (edge.target is not None and not edge.puts) or (edge.cause is Cause.REMINDER and edge.again)


def _different(graph: Graph, place: Place, step: Step) -> tuple[Lead, ...]:
    runs = tuple((graph.opened_by(run.flow), run.most) for run in step.kind.flows_run())
    reminders = _reminders(step, any(edge.cause is Cause.REMINDER and stays(edge) for edge in graph.edges[place]))
    plans = bool(step.options.schedule)
    found: dict[tuple[object, ...], Lead] = {}
    for edge in graph.edges[place]:
        if edge.idle or (edge.cause is Cause.REMINDER and not reminders):
            continue
        own = edge if edge.cause is not Cause.REPLY and speaks(edge) else None
        puts = edge.ends_all, stays(edge), edge.again or edge.returns
        alike = edge.cause, edge.target, *puts, edge.success and plans, edge.outcome in _APART, edge.breaks, own
        if alike not in found:
            found[alike] = Lead(edge, _seconds(step, edge, reminders), runs if edge.cause in AFTER_RUN else ())
    return tuple(found.values())


_APART = ("timeout", "visits.else")
"""Outcomes that are no others of the same cause: by one a flow expires, by the other its step has not been entered."""


def _reminders(step: Step, stays: bool) -> int:
    """How many reminders come one after the other: none after the time-out, which wins where it comes first."""
    remind, timeout = step.defaults.remind if step.kind.waits else None, step.defaults.timeout
    if remind is None or remind.after is None:
        return 0
    most = (remind.most or 1) if stays else 1
    if timeout is None or timeout.after is None:
        return most
    if timeout.fixed:
        return min(most, timeout.after // remind.after)
    return most if remind.after <= timeout.after else 0


def _seconds(step: Step, edge: Edge, reminders: int) -> float:
    """The longest time at a step until it is left in silence by an edge (docs/language/time.md)."""
    rest, remind = step.kind.rest, step.defaults.remind
    reminded = 0.0 if remind is None or remind.after is None else remind.after.total_seconds() * reminders
    match edge.cause:
        case Cause.REMINDER:
            return reminded
        case Cause.TIMEOUT:
            timeout = step.defaults.timeout if step.kind.waits else step.options.defaults.timeout
            after = 0.0 if timeout is None or timeout.after is None else timeout.after.total_seconds()
            return after if timeout is not None and timeout.fixed else after + reminded
        case Cause.TIME | Cause.RESULT:
            if rest is None or rest.what is RestFor.CONTACT:  # a question is refused as soon as it is put
                return 0.0
            return UNBOUNDED if rest.longest is None else rest.longest.total_seconds()
        case Cause.PERSON:
            return UNBOUNDED
    return 0.0
