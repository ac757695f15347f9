"""How many messages each flow of a bot can send: in one turn, in one conversation, and to begin with."""

from collections.abc import Iterator
from dataclasses import dataclass

from bot.checker.graph import AFTER_RUN, Cause, Edge, Graph, Place
from bot.checker.paths.longest import Longest
from bot.checker.paths.rests import said, stays
from bot.checker.paths.stages import Stage, Stages
from bot.checker.paths.terms import UNBOUNDED, Node, Term, by_node
from bot.checker.paths.turns import Turns
from bot.core.text import most_tokens
from bot.core.values import LEAST_COUNTED
from bot.flow.definition import Step
from bot.flow.library import Library


@dataclass(frozen=True, slots=True)
class FlowLoad:
    """The most messages of a flow: of the turn that begins it, of any turn from one of its steps on, and of a
    conversation that begins it. None where that goes round and round: a conversation at the step ``circle``.
    """

    flow: str
    first: int | None
    turn: int | None
    conversation: int | None
    circle: Place | None


def loads(library: Library) -> list[FlowLoad]:
    """What each flow can send.

    Of a conversation it is not counted what is sent again in return for a wrong answer or a word.
    """
    graph = Graph(library)
    turns, conversations = Turns(graph), _Conversations(graph)
    found = []
    for flow in library.flows.values():
        begun = (flow.name, flow.first)
        begins = {begun, *(root.place for root in graph.roots if root.place[0] == flow.name)}
        turn = max(*map(turns.most, begins), *(turns.after_rest((flow.name, step)) for step in flow.steps))
        most = conversations.most(begun)
        circle = conversations.circle(begun) if most is None else None
        found.append(FlowLoad(flow.name, _counted(turns.most(begun)), _counted(turn), most, circle))
    return found


@dataclass(frozen=True, slots=True)
class ModelLoad:
    """The most that one contact can cost a day at a step that asks a model: tokens, requests that a model may have read,
    and calls of tools; None where there is no end. ``request`` is what one request counts at most.
    """

    place: Place
    contact: int | None
    request: int
    at_once: int
    each: int  # calls of tools for each request

    @property
    def tokens(self) -> int | None:
        """The contact's budget, and what is under way when it is used up."""
        return None if self.contact is None else self.contact + self.at_once * self.request

    @property
    def requests(self) -> int | None:
        """Each takes `LEAST_COUNTED` tokens of the budget at least."""
        return None if self.contact is None else -(-self.contact // LEAST_COUNTED) + self.at_once - 1

    @property
    def calls(self) -> int | None:
        """A turn begins with a request."""
        return None if self.requests is None else self.requests * self.each


def model_loads(library: Library) -> list[ModelLoad]:
    """What each step can cost that asks a model."""
    found = []
    for flow in library.flows.values():
        for step in flow.steps.values():
            spends = step.kind.spends(flow.variables)
            if spends is not None:
                request = most_tokens(spends.prompt, spends.answer)
                found.append(ModelLoad((flow.name, step.name), spends.contact, request, spends.at_once, spends.calls))
    return found


class _Conversations:
    """The most messages from a step on, by the longest way in messages in place of seconds."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._stages = graph.fact(Stages)
        self._longest = Longest(by_node(self._terms()), dict(self._stages.bounds.items()))
        self._order = {place: number for number, place in enumerate(graph.steps)}

    def most(self, place: Place) -> int | None:
        """The most messages from a step on; None: it goes round and round."""
        return _counted(self._longest.seconds[self._stages.first(place)])

    def circle(self, place: Place) -> Place | None:
        """A step that such a conversation comes to again and again: one that waits, the first of them."""
        node: Node | None = self._stages.first(place)
        while node is not None:
            knot = self._longest.knots.get(node)
            if knot is not None and knot.endless:
                around = {each.place for each in knot.nodes if isinstance(each, Stage)}
                return min(around, key=lambda each: (not self._graph.steps[each].kind.pauses, self._order[each]))
            term = self._longest.best[node] if knot is None else knot.exit
            node = next((each for each in term.counted if self._longest.seconds[each] >= UNBOUNDED), None)
        return None

    def _terms(self) -> Iterator[tuple[Node, Term]]:
        yield from ((entered, Term(onward=put)) for entered, put in self._stages.entered())
        for place, step in self._graph.steps.items():
            put, own = self._stages.put(place), step.kind.most_messages + self._reminders(place, step)
            runs = self._stages.run_at(place)
            yield put, Term(own)
            yield from ((put, Term(own, inner=opened, times=most)) for opened, most in runs)
            for edge in filter(_counts, self._graph.edges[place]):
                here = self._stages.of(edge)
                sent = said(edge) + (own if here.puts else 0)
                inner, times = runs[0] if runs and edge.cause in AFTER_RUN else (None, 1)
                for after in self._stages.after(edge) or (None,):
                    yield here, Term(sent, after, inner, times)

    def _reminders(self, place: Place, step: Step) -> int:
        """What is sent to remind of a question, as often as that may be."""
        remind = step.defaults.remind
        most = 1 if remind is None or remind.most is None else remind.most
        edges = (edge for edge in self._graph.edges[place] if edge.cause is Cause.REMINDER and stays(edge))
        return most * max((said(edge) or step.kind.most_messages for edge in edges), default=0)


def _counts(edge: Edge) -> bool:
    """Whether a way on counts: none that the contact takes again and again, and none on which something fails."""
    goes_round = edge.again and edge.cause is Cause.REPLY
    return not (edge.fails or edge.returns or edge.word is not None or goes_round or stays(edge))


def _counted(messages: float) -> int | None:
    return None if messages >= UNBOUNDED else int(messages)
