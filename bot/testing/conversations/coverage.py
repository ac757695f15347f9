"""The coverage of a bot by its tests: which steps and outcomes they take.

Everything written in the files counts: each step, each outcome of it that a file mentions (an option, a reply, an
error, a reminder, a time-out, `then`), and each word. An inherited outcome counts once, where it is written, whichever
step takes it first. `errors` counts only for steps that can fail. Anything that happens without an outcome of its own
counts with the step that it leads to. Each event that `events_to` names counts when it is delivered.
"""

from collections.abc import Iterable, Iterator

from bot.core.effects import Effect, Publish
from bot.core.immutable import immutable
from bot.language.flow.definition import ResolvedTransition, Step
from bot.language.flow.library import Library
from bot.language.source.problems import Mark
from bot.language.source.word_matching import normalise
from bot.language.steps.transition import Words
from bot.store.trace_rows import TurnTraced

_STEP, _TRANSITION, _EVENT = "step", "transition", "event"
_WORD = 'word "'
CoverageKey = tuple[str, Mark]
Passed = tuple[str, str, str | None]
"""A flow, one of its steps, and the outcome by which it was left."""


@immutable
class Uncovered:
    """A step, an outcome, a word or an event that no test reaches."""

    mark: Mark
    what: str


class Coverage:
    """Collects what tests of a bot take."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._places = dict(_places_of(library))
        self._taken: set[CoverageKey] = set()

    def note(self, turns: Iterable[TurnTraced]) -> None:
        """Note what turns have taken."""
        for turn in turns:
            passed = [(step["flow"], step["step"], step["outcome"]) for step in turn.steps]
            self._taken.update(self.taken_by(turn.rule, passed, turn.effects))

    def take_in(self, other: "Coverage") -> None:
        """Add what another coverage of the same bot has collected."""
        self._taken |= other._taken

    def taken_by(self, rule: str, passed: Iterable[Passed], effects: Iterable[Effect] = ()) -> Iterator[CoverageKey]:
        """The keys that a turn covers, by the rule that took its event, the steps that it passed, and its effects."""
        for step in passed:
            yield from self._passed(*step)
        if rule.startswith(_WORD):
            yield from _word_in(rule, self._library.bot.words)
        receiver = self._library.bot.events_to
        if receiver is not None:
            delivered = (effect.name for effect in effects if isinstance(effect, Publish))
            yield from ((_EVENT, receiver.on[name]) for name in delivered if name in receiver.on)

    def name_of(self, key: CoverageKey) -> str:
        """The name of something that a turn takes; empty if it does not count."""
        return self._places.get(key, "")

    @property
    def total(self) -> int:
        """The number of steps, outcomes and words that count."""
        return len(self._places)

    @property
    def taken(self) -> int:
        """The number of those that were taken."""
        return len(self._places.keys() & self._taken)

    @property
    def percent(self) -> int:
        """The share that was taken, in whole per cents: 100 only if nothing is missed."""
        return 100 * self.taken // self.total

    def missed(self) -> list[Uncovered]:
        """The places that were not taken, by file and line. Outcomes of a step that no test enters are not listed."""
        left = self._places.keys() - self._taken
        never = {(self._places[kind, mark]) for kind, mark in left if kind == _STEP}
        found = [
            Uncovered(mark, self._places[kind, mark])
            for kind, mark in left
            if kind == _STEP or self._places[kind, mark].partition(": ")[0] not in never
        ]
        return sorted(found, key=lambda missed: (missed.mark.position, missed.what))

    def _passed(self, flow_name: str, step_name: str, left_by: str | None) -> Iterator[CoverageKey]:
        """The keys that a step of a turn's path covers."""
        flow = self._library.flows.get(flow_name)
        step = None if flow is None else flow.steps.get(step_name)
        if flow is None or step is None:
            return
        outcome = left_by or ""
        yield _STEP, step.mark
        if outcome.startswith(_WORD):
            yield from _word_in(outcome, flow.words)
            yield from _word_in(outcome, step.options.words)
        elif outcome in step.transitions:
            yield from _transitions_of(step, step.transitions[outcome])


def _places_of(library: Library) -> Iterator[tuple[CoverageKey, str]]:
    """Everything that counts, with its name.

    If several share a transition, the first that is not inherited names it.
    """
    yield from _of_words(library.bot.words, "bot")
    if library.bot.events_to is not None:
        yield from (((_EVENT, mark), f"events_to: {name}") for name, mark in library.bot.events_to.on.items())
    named: set[CoverageKey] = set()
    for flow in library.flows.values():
        yield from _of_words(flow.words, flow.name)
        inherited = {(_TRANSITION, transition.mark) for _, transition in flow.defaults.transitions()}
        for step in flow.steps.values():
            yield (_STEP, step.mark), f"{flow.name}/{step.name}"
            yield from _of_words(step.options.words, f"{flow.name}/{step.name}")
            for key, outcome in _outcomes_of(step, inherited):
                where = "defaults" if key in inherited else f"{flow.name}/{step.name}"
                if key not in named:
                    named.add(key)
                    yield key, f"{where}: {outcome}"


def _of_words(words: Words, where: str) -> Iterator[tuple[CoverageKey, str]]:
    for word in words.values():
        yield (_TRANSITION, word.mark), f'{where}: word "{word.text}"'


def _outcomes_of(step: Step, inherited: set[CoverageKey]) -> Iterator[tuple[CoverageKey, str]]:
    can_fail = "errors.else" in step.outcomes
    for resolved in step.transitions.values():
        if resolved.written is None:
            continue
        key = (_TRANSITION, resolved.written.mark)
        own = key not in inherited or not resolved.outcome.startswith("errors.")
        if can_fail or own or resolved.outcome == step.refusal:
            yield key, resolved.outcome
    if step.options.then is not None:
        yield (_TRANSITION, step.options.then.mark), "then"


def _transitions_of(step: Step, resolved: ResolvedTransition) -> Iterator[CoverageKey]:
    """The transitions that an outcome takes: its own, and the step's `then` if that has the target."""
    if resolved.written is not None:
        yield _TRANSITION, resolved.written.mark
    if (
        resolved.success
        and step.options.then is not None
        and (resolved.written is None or resolved.written.then is None)
    ):
        yield _TRANSITION, step.options.then.mark


def _word_in(rule: str, words: Words) -> Iterator[CoverageKey]:
    word = words.get(normalise(rule.removeprefix(_WORD).rpartition('"')[0]))
    if word is not None:
        yield _TRANSITION, word.mark
