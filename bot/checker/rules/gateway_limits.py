"""W501 and W601: messages that a customer does not get: the window has closed, or they are too many for a minute."""

from collections.abc import Iterator

from bot.checker.analysis.feasibility import Feasibility
from bot.checker.analysis.loads import TurnLoads
from bot.checker.analysis.longest_paths import UNBOUNDED
from bot.checker.analysis.silent_time import Sender, SilentTimes
from bot.checker.analysis.timed_graph import speaks
from bot.checker.findings import Finding, and_more, rule
from bot.checker.graph import Cause, Edge, Graph
from bot.checker.graph.edges import strongly_connected_components
from bot.core.immutable import immutable
from bot.core.session import SENDING_WINDOW
from bot.language.flow.definition import Flow, Step
from bot.language.source.problems import Mark

_FIX = "declare `window_closed: {template: {name: ..., language: ...}}` here or under `defaults`"
_SOONER = ", or send it sooner"  # where the time is written
_WINDOW = SENDING_WINDOW.total_seconds()


@immutable
class LateMessage:
    """A message that can come too late: of a step, or on an edge."""

    sent_by: Sender
    mark: Mark
    step: str
    what: str
    seconds: float


@rule(W501="a message after the window has closed")
def find_late_messages(graph: Graph) -> Iterator[Finding]:
    """Find messages that the gateway rejects and that no template replaces. Only the first in one silence is reported.

    A text that several steps inherit is one finding.
    """
    silent_times = SilentTimes(graph)
    late = {message.sent_by: message for message in late_messages(graph, silent_times)}
    reported: dict[tuple[Mark, str], list[LateMessage]] = {}
    for sender in dict.fromkeys(silent_times.first(late).values()):
        reported.setdefault((late[sender].mark, late[sender].what), []).append(late[sender])
    for (mark, what), messages in reported.items():
        latest = max(messages, key=lambda message: message.seconds)
        path = silent_times.path_to(latest.sent_by)
        sender = latest.sent_by.source if isinstance(latest.sent_by, Edge) else latest.sent_by
        begun = graph.flow(path[0].source if path else sender)
        yield _finding(mark, what, latest, len({message.step for message in messages}), path, begun)


def late_messages(graph: Graph, silent_times: SilentTimes) -> Iterator[LateMessage]:
    """All messages that may come too late and that no template replaces."""
    failing = graph.analysis(Feasibility).failing
    for place, step in graph.steps.items():
        if step.defaults.window_closed is not None:
            continue
        silent = silent_times.before(place)
        sends = step.facts.needs_window and step.facts.most_messages and place not in failing
        if silent is not None and silent >= _WINDOW and sends:
            yield LateMessage(place, step.mark, step.name, "its message", silent)
        for edge in (timed.edge for timed in silent_times.timed_edges[place] if speaks(timed.edge)):
            silent, what = silent_times.before(edge), _said_on(edge, step)
            if silent is not None and silent >= _WINDOW and what:
                mark = step.mark if edge.transition is None else edge.transition.mark
                yield LateMessage(edge, mark, step.name, what, silent)


def _said_on(edge: Edge, step: Step) -> str:
    """The name of the text that is sent on an edge, or of its reminder; empty if nothing is sent."""
    if edge.messages:
        return f"the text of `{edge.outcome}`"
    again = edge.cause is Cause.REMINDER and edge.enters and edge.target == edge.source
    return "its reminder" if again and step.facts.needs_window else ""


def _finding(mark: Mark, what: str, latest: LateMessage, steps: int, path: tuple[Edge, ...], begun: Flow) -> Finding:
    """``begun`` is the flow in which the path begins: no message of a contact may start it."""
    where = f'step "{latest.step}"{and_more(steps - 1)}'
    text = f"{where}: {what} can be sent {_long(latest.seconds)}: only templates can be sent then"
    fix = _FIX + (_SOONER if latest.seconds < UNBOUNDED else "")
    if begun.trigger is None:
        fix += f"; or add `start` to flow {begun.name}, if contacts begin it"
    return Finding.at("W501", mark, text, fix, path)


def _long(seconds: float) -> str:
    """The time since the contact's last message, in words: ``26 hours after the contact's last message``."""
    if seconds >= UNBOUNDED:
        return "any time after the contact's last message"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} hours{f' and {minutes} minutes' if minutes else ''} after the contact's last message"


PER_MINUTE = 60


@rule(W601="more messages in one turn than a minute allows")
def find_heavy_turns(graph: Graph) -> Iterator[Finding]:
    """Find steps after which a turn can send more messages than a minute allows.

    Only the first step of a cycle is reported.
    """
    turns = TurnLoads(graph)
    most = {place: turns.most(place) for place in graph.steps}
    heavy = {place: found for place, found in most.items() if found > PER_MINUTE}
    order = {place: number for number, place in enumerate(heavy)}
    onward = {place: [after for after in turns.onward(place) if after in heavy] for place in heavy}
    for component in strongly_connected_components(onward):
        cycle = set(component)
        beyond = max((heavy[after] for each in cycle for after in onward[each] if after not in cycle), default=0)
        first = min(cycle, key=order.__getitem__)
        if heavy[first] > beyond + (PER_MINUTE if beyond else 0):
            yield _heavy_finding(graph.steps[first], heavy[first])


def _heavy_finding(step: Step, most: float) -> Finding:
    number = f"{most:.0f} messages" if most < UNBOUNDED else "messages without end"
    what = f'step "{step.name}" can send {number} in one turn, and the gateway takes {PER_MINUTE} a minute'
    if most < UNBOUNDED:
        fix = "loop over fewer elements, put what is said into one message, or wait for the contact in between"
    else:
        fix = "wait for the contact in between, or bound the steps with `visits`"
    return Finding.at("W601", step.mark, what, fix)
