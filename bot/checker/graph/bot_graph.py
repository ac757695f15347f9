"""A bot as a graph: its steps, the edges between them, and the roots at which frames begin."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import timedelta
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from bot.checker.graph.edges import Cause, Edge, StepId, reachable
from bot.core.immutable import immutable
from bot.language.expressions.abstract_texts import AbstractText
from bot.language.expressions.abstract_values import LOST, AbstractValues
from bot.language.expressions.templates import Expression, Template
from bot.language.flow.definition import Flow, ResolvedTransition, Step
from bot.language.flow.documents import Source
from bot.language.flow.library import Library
from bot.language.flow.target_checks import failing_flows
from bot.language.source.problems import Mark
from bot.language.steps.step_facts import WaitsFor
from bot.language.steps.step_options import SIGNAL, uses_on_leaving
from bot.language.steps.transition import AGAIN, BACK, END, NEXT, ROUTE, Assignment

_BY_WAIT = {
    WaitsFor.CONTACT: Cause.REPLY,
    WaitsFor.RESULT: Cause.RESULT,
    WaitsFor.TIME: Cause.TIME,
    WaitsFor.PERSON: Cause.PERSON,
    WaitsFor.FLOW: Cause.FLOW,
}
_IN_ORDER = tuple(Cause)
OTHER = "other"
_BY_OUTCOME = {"remind": Cause.REMINDER, "timeout": Cause.TIMEOUT, "expired": Cause.EXPIRED, "visits.else": Cause.TURN}


TextOrExpression = Template | Expression


class EdgeBuilder:
    """Builds the edges of a bot."""

    def __init__(self, library: Library, steps: Mapping[StepId, Step]) -> None:
        self._library, self._steps = library, steps
        self._failing = FallibleTexts(library)
        self._broken = failing_flows(library.flows, library.bot.words)
        self._breakable = failing_flows(library.flows, library.bot.words, texts=True)

    def edges(self) -> Mapping[StepId, tuple[Edge, ...]]:
        """The edges that lead from each step."""
        found = {
            place: [*self._by_outcomes(place, step), *self._by_words(place, step)]
            for place, step in self._steps.items()
        }
        for edge in OldTaps(self._library, self._steps).edges():
            found[edge.source].append(edge)
        self._lead_back(found)
        self._correct(found)
        return {place: tuple(edges) for place, edges in found.items()}

    def _by_outcomes(self, place: StepId, step: Step) -> Iterator[Edge]:
        wait = step.facts.waits_for
        cause = Cause.TURN if wait is None else _BY_WAIT[wait.what]
        failing = self._failing_at(place, step, cause)
        for resolved in step.transitions.values():
            if not resolved.outcome.startswith("errors."):
                yield from (self._edge(place, resolved, each) for each in self._causes(step, resolved, cause))
        for resolved in step.transitions.values():
            if resolved.outcome.startswith("errors."):
                own = set(self._failures(step, resolved, cause))
                yield from (self._edge(place, resolved, each) for each in _IN_ORDER if each in own)
                for each, can_be in failing.items():
                    if each not in own:
                        yield self._edge(place, resolved, each, fails=True, idle=not can_be)

    def _causes(self, step: Step, resolved: ResolvedTransition, cause: Cause) -> list[Cause]:
        if resolved.outcome.startswith(SIGNAL):
            return [Cause.SIGNAL]
        heard = resolved.outcome in step.facts.tapped_later or (resolved.outcome == OTHER and step.facts.pauses)
        first = Cause.REPLY if heard else _BY_OUTCOME.get(resolved.outcome, cause)
        if first is Cause.REPLY and step.facts.waits_for is not None and step.facts.waits_for.over:
            return [first, Cause.RESULT] if resolved.success else [first]
        return [first, Cause.TURN] if step.facts.takes_pending_input and first is Cause.REPLY else [first]

    def _failing_at(self, place: StepId, step: Step, cause: Cause) -> dict[Cause, bool]:
        """For each cause, whether a text or value that is evaluated then can fail."""
        found: dict[Cause, bool] = {}
        self._note(found, [Cause.TURN], place, tuple(used.text for used in step.facts.uses))
        if found and any(run.listed for run in step.facts.flows_run):
            found[Cause.FLOW] = found[Cause.TURN]
        if any(run.flow in self._breakable for run in step.facts.flows_run):
            found[Cause.FAILED] = True
        for resolved in step.transitions.values():
            if not resolved.outcome.startswith("errors."):
                self._note(found, self._causes(step, resolved, cause), place, tuple(_texts_on(step, resolved)))
        return found

    def _note(
        self, found: dict[Cause, bool], causes: Iterable[Cause], place: StepId, texts: Sequence[TextOrExpression]
    ) -> None:
        if not all(isinstance(text, Template) and text.constant for text in texts):
            can_be = self._failing.any_of(place[0], texts)
            found.update((cause, can_be or found.get(cause, False)) for cause in causes)

    def _failures(self, step: Step, resolved: ResolvedTransition, cause: Cause) -> Iterator[Cause]:
        """The causes by which a step itself can fail: its work fails, or the gateway refuses its message."""
        if "errors.else" in step.outcomes or (step.facts.waits_for is None and step.facts.fails):
            yield cause
            if step.facts.takes_pending_input:
                yield Cause.TURN
        if resolved.outcome == step.refusal:
            yield Cause.RESULT
        named = "errors.failed" if "errors.failed" in step.transitions else "errors.else"
        if resolved.outcome == named and any(run.flow in self._broken for run in step.facts.flows_run):
            yield Cause.FAILED

    def _edge(
        self, place: StepId, resolved: ResolvedTransition, cause: Cause, *, fails: bool = False, idle: bool = False
    ) -> Edge:
        target, enters, ends_all = self._lead(place, resolved.target)
        again, transition = resolved.target == AGAIN, resolved.written
        own = place, target, resolved.outcome, cause, resolved.mark, transition, resolved.success, enters, ends_all
        alone = resolved.of_bot and (resolved.target or "").startswith("/")
        return Edge(*own, fails=fails, idle=idle, again=again, alone=alone)

    def _by_words(self, place: StepId, step: Step) -> Iterator[Edge]:
        """The edges of words: one from each step at which a word is understood, also while it runs a flow.

        The same text may be a word at several levels.
        """
        flow, bot = self._library.flows[place[0]], self._library.bot
        everywhere = (bot.words, flow.words) if step.facts.takes_words else ()
        for words in (*everywhere, step.options.words):
            for said, word in words.items():
                transition = word.transition
                written = transition.target_text
                written = flow.following[step.name] if written == NEXT else written
                target, enters, ends_all = self._lead(place, written)
                ends_all = ends_all or (words is bot.words and written == END)
                name, mark = f"word {word.text}", word.mark
                again, alone = written == AGAIN, words is bot.words and (written or "").startswith("/")
                own = place, target, name, Cause.REPLY, mark, transition, False, enters, ends_all, said
                yield Edge(*own, again=again, alone=alone)

    def _lead(self, place: StepId, target: str | None) -> tuple[StepId | None, bool, bool]:
        """The step that a target leads to, whether its question or message is sent, and whether all frames end."""
        if target is None:
            return place, False, False
        if target == AGAIN:
            return place, True, False
        if target in (END, BACK, ROUTE):
            return None, False, target == ROUTE
        if target.startswith("/"):
            return opened_by(self._library, target), True, False
        return (place[0], target), True, False

    def _lead_back(self, edges: dict[StepId, list[Edge]]) -> None:
        """Add the edges of `back`: it ends the frame, or returns to a question that was left before."""
        returning = [edge for found in edges.values() for edge in found if edge.target_text == BACK]
        if not returning:
            return
        left = [e for found in edges.values() for e in found if self._leaves_question(e)]
        before = _reverse(edges)
        for edge in returning:
            come_from = reachable([edge.source], lambda place: before.get(place, ()))
            for question in dict.fromkeys(e.source for e in left if e.target in come_from):
                edges[edge.source].append(_to(edge, question))

    def _correct(self, edges: dict[StepId, list[Edge]]) -> None:
        """Add the edges of corrected answers: they return to the step at which the contact corrected one."""
        correcting = [
            edge
            for found in edges.values()
            for edge in found
            if edge.transition is not None and edge.transition.corrects
        ]
        for edge in correcting:
            assert edge.target is not None  # the checks at loading guarantee it
            answers = [e for e in edges[edge.target] if e.cause is Cause.REPLY and e.success]
            edges[edge.target] += [_to(answer, edge.source) for answer in answers]

    def _leaves_question(self, edge: Edge) -> bool:
        """True if an edge leaves a step that waits, such as a question, without an answer; `back` returns to it."""
        unanswered = edge.word is not None or edge.cause is Cause.TIMEOUT or edge.outcome in ("other", "retry.else")
        return unanswered and edge.target not in (None, edge.source) and self._steps[edge.source].facts.takes_words


def opened_by(library: Library, target: str) -> StepId:
    """The step at which ``flow``, ``/flow`` or ``/flow/step`` begins."""
    name, _, step = target.removeprefix("/").partition("/")
    return name, step or library.flows[name].first


def _texts_on(step: Step, resolved: ResolvedTransition) -> Iterator[TextOrExpression]:
    """The texts that are evaluated when a step is left by a transition."""
    if resolved.written is not None and resolved.written.acts:
        yield from resolved.written.uses()
    if resolved.success:
        yield from uses_on_leaving(step.options)


def _to(edge: Edge, target: StepId) -> Edge:
    """A copy of the edge that returns to an earlier step."""
    transition, success, word = edge.transition, edge.success, edge.word
    return Edge(edge.source, target, edge.outcome, edge.cause, edge.mark, transition, success, word=word, returns=True)


def _reverse(edges: Mapping[StepId, list[Edge]]) -> dict[StepId, list[StepId]]:
    before: dict[StepId, list[StepId]] = {}
    for place, found in edges.items():
        for edge in found:
            if edge.target is not None:
                before.setdefault(edge.target, []).append(place)
    return before


class FallibleTexts:
    """Finds the texts of a bot's flows that can fail, by the declarations of their variables.

    Each variable may be null.
    """

    def __init__(self, library: Library) -> None:
        self._known: Mapping[str, Mapping[str, AbstractValues]] = {
            flow.name: {name: variable.abstract_values | {LOST} for name, variable in flow.variables.items()}
            for flow in library.flows.values()
        }
        self._found: dict[tuple[str, str, object], bool] = {}

    def any_of(self, flow: str, texts: Iterable[Template | Expression]) -> bool:
        """True if any of a flow's texts and expressions can fail. A text with values can, since each may be null."""
        return any(self._can_fail(text, flow) for text in texts)

    def _can_fail(self, text: Template | Expression, flow: str) -> bool:
        if isinstance(text, Template):
            return not text.constant
        written = flow, text.source, text.definitions
        if written not in self._found:
            reads, known = AbstractText(text), self._known[flow]
            self._found[written] = not reads.never_fails(known) or reads.evaluate(known).fails
        return self._found[written]


REOPEN = "reopen"


class OldTaps:
    """The questions with buttons, if the bot lets contacts open them again (`old_taps: reopen`); else no questions."""

    def __init__(self, library: Library, steps: Mapping[StepId, Step]) -> None:
        self._steps = steps
        self._flows: dict[str, list[StepId]] = {}
        defaults = [library.bot.defaults, *(flow.defaults for flow in library.flows.values())]
        if any(level.old_taps == REOPEN for level in defaults):
            for place, step in steps.items():
                if library.flows[place[0]].can_be_tapped(step):
                    self._flows.setdefault(place[0], []).append(place)
        rings = self._flows.values()
        self._next = {place: (number + 1) % len(ring) for ring in rings for number, place in enumerate(ring)}

    @property
    def questions(self) -> Iterator[StepId]:
        """All questions with buttons. The conversation in which a question was asked may be over."""
        return (place for questions in self._flows.values() for place in questions)

    def edges(self) -> Iterator[Edge]:
        """Enough edges to reach all such questions: if one question can be opened again, so can the next."""
        for place, step in self._steps.items():
            if self._flows and step.facts.takes_words and step.defaults.old_taps == REOPEN:
                for target in self._opened_from(place):
                    yield Edge(place, target, "old tap", Cause.REPLY, step.mark, returns=True)

    def _opened_from(self, place: StepId) -> Iterator[StepId]:
        """The next such question of the same flow. The first one of a flow also leads to the other flows: to their
        first one, or to all if these do not lead to each other.
        """
        own = self._flows.get(place[0], [])
        if own:
            yield own[self._next.get(place, 0)]
        if not own or place == own[0]:
            for flow, questions in self._flows.items():
                if flow != place[0]:
                    yield from questions[:1] if self._steps[questions[0]].defaults.old_taps == REOPEN else questions


class Opening(Enum):
    """The events that open a frame."""

    WORDS = "words"  # a message that starts the flow
    INTERRUPTION = "interruption"  # a message that starts the flow while another flow waits
    WORD = "word"  # a word of the bot's, while the contact is in no flow
    EVENT = "event"  # an event of the gateway
    RUN = "run"  # a step that runs the flow
    PLAN = "plan"  # the schedule of a step
    TAP = "tap"  # a button of an old question
    PROGRAM = "program"  # nothing in the bot: the command line, an interface or a signal starts the flow


@immutable
class Root:
    """A step at which a frame begins.

    ``by`` is the step that runs or schedules it. ``after`` is the time after that step was left, None if it is not
    known. ``busy`` is what happens while the contact is in a flow, ``inputs`` are the values that it is given.
    ``signal`` is the signal that starts it.
    """

    place: StepId
    opening: Opening
    mark: Mark
    by: StepId | None = None
    after: timedelta | None = None
    busy: str | None = None
    inputs: tuple[Assignment, ...] = ()
    event: str | None = None
    signal: str | None = None


def roots_of(library: Library, steps: Mapping[StepId, Step], edges: Iterable[Edge]) -> tuple[Root, ...]:
    """The steps at which frames begin. If nothing in the bot leads to a flow, a program starts it."""
    found = [*_started(library), *_opened_by_words(library), *_opened_by_steps(library, steps)]
    led_to = {root.place[0] for root in found}
    onward = (edge for edge in edges if not edge.returns)  # a question that was left before has begun otherwise
    led_to |= {edge.target[0] for edge in onward if edge.target and edge.target[0] != edge.source[0]}
    if any(step.unread for step in steps.values()):  # which may lead to any flow
        led_to |= library.flows.keys()
    for flow in library.flows.values():
        if flow.name not in led_to and flow.steps:
            found.append(Root((flow.name, flow.first), Opening.PROGRAM, flow.mark))
    found += (Root(place, Opening.TAP, steps[place].mark) for place in OldTaps(library, steps).questions)
    return tuple(found)


def _started(library: Library) -> Iterator[Root]:
    for flow in library.flows.values():
        start, place = flow.trigger, (flow.name, flow.first)
        if start is None:
            continue
        if start.by_text or start.otherwise:
            yield Root(place, Opening.WORDS, start.mark)
        if start.by_text and any(
            other.interrupted is not None and other.name != flow.name for other in library.flows.values()
        ):
            yield Root(place, Opening.INTERRUPTION, start.mark)
        for signal in start.signals:
            busy = library.busy_policy(flow.name, None)
            yield Root(place, Opening.PROGRAM, start.mark, busy=busy, signal=signal)
        for event in start.events:
            yield Root(place, Opening.EVENT, start.mark, event=event)


def _opened_by_words(library: Library) -> Iterator[Root]:
    for word in library.bot.words.values():
        target = word.transition.target_text
        if target is not None and target.startswith("/"):
            yield Root(opened_by(library, target), Opening.WORD, word.mark, inputs=word.transition.set)


def _opened_by_steps(library: Library, steps: Mapping[StepId, Step]) -> Iterator[Root]:
    for place, step in steps.items():
        for run in step.facts.flows_run:
            yield Root(opened_by(library, run.flow), Opening.RUN, run.mark, place, timedelta(0), inputs=run.inputs)
        for start in step.facts.flows_started:
            opened = opened_by(library, start.target.text)
            yield Root(
                opened,
                Opening.PROGRAM,
                start.target.mark,
                place,
                timedelta(0),
                library.busy_policy(start.target.text, start.busy),
                start.inputs,
            )
        for plan in step.options.schedule:
            opened, mark = opened_by(library, plan.target.text), plan.target.mark
            yield Root(
                opened,
                Opening.PLAN,
                mark,
                place,
                plan.after,
                library.busy_policy(plan.target.text, plan.busy),
                plan.inputs,
            )


Analysis = TypeVar("Analysis")


@immutable
class Graph:
    """All steps, edges and roots of a bot.

    ``sources`` are the files that it was loaded from, for rules about their text.
    """

    library: Library
    sources: tuple[Source, ...] = ()
    _analyses: dict[Any, Any] = field(init=False, repr=False, default_factory=dict)

    @cached_property
    def steps(self) -> Mapping[StepId, Step]:
        """All steps."""
        return {(flow.name, step.name): step for flow in self.library.flows.values() for step in flow.steps.values()}

    @cached_property
    def edges(self) -> Mapping[StepId, tuple[Edge, ...]]:
        """The edges that lead from each step."""
        return EdgeBuilder(self.library, self.steps).edges()

    @cached_property
    def edges_to(self) -> Mapping[StepId, tuple[Edge, ...]]:
        """The edges that lead to each step, from other steps and from itself."""
        found: dict[StepId, list[Edge]] = {place: [] for place in self.steps}
        for edges in self.edges.values():
            for edge in edges:
                if edge.target is not None:
                    found[edge.target].append(edge)
        return {place: tuple(edges) for place, edges in found.items()}

    @cached_property
    def roots(self) -> tuple[Root, ...]:
        """The steps at which frames begin."""
        return roots_of(self.library, self.steps, (edge for edges in self.edges.values() for edge in edges))

    @cached_property
    def interrupters(self) -> tuple[StepId, ...]:
        """The steps at which a conversation begins or continues when a message interrupts another one."""
        started = [root.place for root in self.roots if root.opening is Opening.INTERRUPTION]
        return (*started, *(place for place, step in self.steps.items() if step.stays_valid))

    @cached_property
    def _taps_interrupt(self) -> bool:
        """True if a tap on an earlier message may interrupt any step."""
        flows = self.library.flows.values()
        by_payload = any(flow.trigger is not None and flow.trigger.payload is not None for flow in flows)
        return by_payload or any(step.stays_valid for step in self.steps.values())

    def may_be_interrupted(self, place: StepId) -> bool:
        """True if a message may start another flow while a conversation waits at a step. A model takes every text."""
        facts = self.steps[place].facts
        takes_all = facts.waits and facts.takes_pending_input and OTHER not in self.steps[place].transitions
        return facts.takes_words and (self._taps_interrupt or not takes_all)

    @cached_property
    def roots_by(self) -> Mapping[StepId, tuple[Root, ...]]:
        """The roots that a step opens, by the step."""
        found: dict[StepId, list[Root]] = {}
        for root in self.roots:
            if root.by is not None:
                found.setdefault(root.by, []).append(root)
        return {place: tuple(roots) for place, roots in found.items()}

    @cached_property
    def crossed(self) -> Mapping[str, frozenset[str]]:
        """The flows to which the transitions of each flow lead."""
        found: dict[str, set[str]] = {name: set() for name in self.library.flows}
        for (flow, _), edges in self.edges.items():
            found[flow].update(edge.target[0] for edge in edges if edge.target is not None and edge.target[0] != flow)
        return {name: frozenset(others) for name, others in found.items()}

    @cached_property
    def below(self) -> Mapping[str, frozenset[str]]:
        """The flows that are open below each flow on every path to it: its runners, if nothing else leads to it."""
        runners: dict[str, set[str] | None] = {name: set() for name in self.library.flows}
        for root in self.roots:
            found = runners[root.place[0]]
            if root.opening is not Opening.RUN or root.by is None:
                runners[root.place[0]] = None
            elif found is not None:
                found.add(root.by[0])
        runners.update((name, None) for others in self.crossed.values() for name in others)
        below: dict[str, frozenset[str]] = {name: frozenset() for name in runners}
        while True:  # as often as flows run flows
            known = {name: below[name] | {name} for name in runners}
            deeper = {
                n: frozenset.intersection(*(known[r] for r in by)) if by else below[n] for n, by in runners.items()
            }
            if deeper == below:
                return below
            below = deeper

    def analysis(self, make: Callable[["Graph"], Analysis]) -> Analysis:
        """An analysis of the graph, made once for all rules that use it: `graph.analysis(Reachability)`."""
        if make not in self._analyses:
            self._analyses[make] = make(self)
        found: Analysis = self._analyses[make]
        return found

    def flow(self, place: StepId) -> Flow:
        """The flow of a step."""
        return self.library.flows[place[0]]

    def assigned_on(self, edge: Edge) -> tuple[Assignment, ...]:
        """The values that `set` and `clear` give on an edge: those of its step, then those of its transition."""
        variables = self.flow(edge.source).variables
        given = self.steps[edge.source].options.assigned(variables) if edge.success else ()
        return given if edge.transition is None else (*given, *edge.transition.assigned(variables))

    def opened_by(self, target: str) -> StepId:
        """The step at which ``flow``, ``/flow`` or ``/flow/step`` begins."""
        return opened_by(self.library, target)

    def takes_words(self, place: StepId) -> bool:
        """True if words and starts take effect while a conversation waits there."""
        return self.steps[place].facts.takes_words
