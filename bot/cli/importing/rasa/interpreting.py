"""The rules of CALM flows: runs a flow as Rasa does, for every branch, and notes what it says."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.cli.importing.branch_runs import BranchRun, Key, branch_runs
from bot.cli.importing.conversations import SourceMessage
from bot.cli.importing.rasa.expressions import (
    Predicate,
    PredicateError,
    evaluated,
    literals_in,
    parse_predicate,
    slots_in,
)
from bot.cli.importing.rasa.reading import END, RasaAssistant, RasaFlow, RasaStep, RasaTest, RasaVariation

_MOST_TURNS = 20
_MOST_STEPS = 200
_DEFAULT_COMPLETED = RasaVariation("What else can I help you with?")


@dataclass
class CalmRun(BranchRun):
    """A run of a CALM flow."""

    utters: list[list[str]] = field(default_factory=list)  # the names of the responses of each turn
    results: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # of custom actions


def calm_runs(assistant: RasaAssistant, flow: RasaFlow, begins: tuple[str, str]) -> Iterator[CalmRun]:
    """Runs of a flow that together take each branch that can be taken; ``begins`` is what starts it."""
    return branch_runs(lambda given: _CalmExecution(assistant, given, begins).run(flow))


def run_of_test(runs: list[CalmRun], test: RasaTest, assistant: RasaAssistant) -> CalmRun | None:
    """The run that says what an end-to-end test expects, in that order; other questions may come between."""
    wanted = [said for _, listed in test.turns for said in listed]
    for run in runs:
        said = iter([name for listed in run.utters for name in listed])
        if wanted and all(any(_is_meant(name, each, assistant) for each in said) for name in wanted):
            return run
    return None


def _is_meant(wanted: str, said: str, assistant: RasaAssistant) -> bool:
    return wanted == said or any(each.text == wanted for each in assistant.responses.get(said, ()))


class _CalmExecution:
    def __init__(self, assistant: RasaAssistant, given: Mapping[Key, Any], begins: tuple[str, str]) -> None:
        self.assistant = assistant
        self.out = CalmRun(given, happened=begins)
        self.slots: dict[str, Any] = {name: slot.initial for name, slot in assistant.slots.items()}
        self.sources: dict[str, Key] = {}  # what has decided the value of a slot
        self.asked: dict[str, int] = {}
        self.names: list[str] = []
        self.steps = 0

    def run(self, flow: RasaFlow) -> CalmRun:
        """Run a flow, and those that it leads to, until nothing is left to do."""
        following: RasaFlow | None = flow
        while following is not None:
            flow, following = following, self._flow(following)
        if self._is_too_long:
            return self.out  # what follows the last answer is not known
        if flow.says_completed and self.assistant.mentions_completed and not self._handed_over:
            listed = self.assistant.responses.get("utter_can_do_something_else", (_DEFAULT_COMPLETED,))
            self._say("utter_can_do_something_else", listed, f"flow {flow.id}")
        self._end_turn(("", ""))
        return self.out

    _handed_over = False

    @property
    def _is_too_long(self) -> bool:
        return len(self.out.turns) >= _MOST_TURNS or self.steps >= _MOST_STEPS

    def _flow(self, flow: RasaFlow) -> RasaFlow | None:
        """Run a flow. Returns the one that it links to."""
        target = flow.first
        while target != END and not self._is_too_long:
            self.steps += 1
            step = flow.steps[target]
            place = flow.place(step)
            self.out.passed.append(place)
            if step.kind == "link":
                self._forget(flow)
                self._handed_over = step.value == "pattern_human_handoff"
                return self.assistant.flows.get(step.value)
            if step.kind == "collect":
                self._collect(step, place)
            elif step.kind == "action":
                self._action(flow, step, place)
            elif step.kind == "call" and step.value in self.assistant.flows:
                self._flow(self.assistant.flows[step.value])
            for name, value in step.slots:
                self.slots[name] = self._typed(name, value)
                self.sources.pop(name, None)
            target = self._next(flow, step)
        return None

    def _forget(self, flow: RasaFlow) -> None:
        for step in flow.steps.values():
            if step.kind == "collect" and step.value not in flow.persisted:
                self.slots[step.value] = self.assistant.slot(step.value).initial

    def _collect(self, step: RasaStep, place: str) -> None:
        if self.slots.get(step.value) is not None and not step.ask_before_filling:
            return
        listed = self.assistant.responses.get(step.question, ())
        rejections = [(predicate, utter) for text, utter in step.rejections if (predicate := _parsed(text)) is not None]
        while not self._is_too_long:
            self._say(step.question, listed, place)
            titles = self._titles(step, listed)
            number = self.asked[step.value] = self.asked.get(step.value, 0) + 1
            key = ("collect", step.value, number)
            candidates = [*titles.values(), *self._candidates(step.value, [each for each, _ in rejections])]
            candidates = [each for each in candidates if each is not None and each != ""] or ["anything"]
            rejected = {repr(each): self._rejection(step, rejections, each) for each in candidates}
            usual = next((each for each in candidates if rejected[repr(each)] < 0), candidates[0])
            value = self.out.given.get(key, usual)
            for each in candidates:
                if number < 3 and (each in titles.values() or rejected[repr(each)] >= 0):
                    self.out.others.append(((place, rejected[repr(each)], repr(each)), key, each))
            self.slots[step.value], self.sources[step.value] = value, key
            title = next((title for title, each in titles.items() if each == value), None)
            self._end_turn(("text", _written(value)) if title is None else ("choice", title))
            self.out.passed.append(place)
            index = self._rejection(step, rejections, value)
            self.out.edges.append((place, index, repr(value)))
            if index < 0:
                return
            utter = rejections[index][1]
            self._say(utter, self.assistant.responses.get(utter, ()), place, value)
            self.slots[step.value] = None

    def _rejection(self, step: RasaStep, rejections: list[tuple[Predicate, str]], value: Any) -> int:
        slots = {**self.slots, step.value: value}
        return next((index for index, (each, _) in enumerate(rejections) if evaluated(each, slots)), -1)

    def _titles(self, step: RasaStep, listed: tuple[RasaVariation, ...]) -> dict[str, Any]:
        buttons = next((each.buttons for each in listed if each.buttons), ())
        return {
            button.title: self._typed(step.value, button.sets.get(step.value, button.payload))
            for button in buttons
            if step.value in button.sets or not button.payload.startswith("/")
        }

    def _action(self, flow: RasaFlow, step: RasaStep, place: str) -> None:
        if step.value in self.assistant.responses or step.value.startswith("utter_"):
            self._say(step.value, self.assistant.responses.get(step.value, ()), place)
            return
        result = {}
        for name in sorted(_slots_read(self.assistant, flow) - self.assistant.set_by(flow)):
            key = ("action", step.value, name)
            result[name] = self.out.given.get(key, self._candidates(name, [])[0])
            self.sources[name] = key
        self.slots.update(result)
        self.out.results.setdefault(step.value, []).append(result)

    def _next(self, flow: RasaFlow, step: RasaStep) -> str:
        branches = [(None if text is None else _parsed(text), target) for text, target in step.branches]
        if len(branches) == 1:
            return branches[0][1]
        taken = self._branch(branches, self.slots)
        predicates = [predicate for predicate, _ in branches if predicate is not None]
        for name in dict.fromkeys(name for each in predicates for name in slots_in(each)):
            key = self.sources.get(name)
            for value in self._candidates(name, predicates) if key is not None else ():
                index = self._branch(branches, {**self.slots, name: value})
                if index != taken and key is not None and (value is not None or key[0] == "action"):
                    self.out.others.append(((flow.place(step), "next", index), key, value))
        self.out.edges.append((flow.place(step), "next", taken))
        return branches[taken][1]

    def _branch(self, branches: list[tuple[Predicate | None, str]], slots: Mapping[str, Any]) -> int:
        holding = (index for index, (each, _) in enumerate(branches) if each is None or evaluated(each, slots))
        return next(holding, len(branches) - 1)

    def _candidates(self, name: str, predicates: list[Predicate]) -> list[Any]:
        """Values that a slot may get, the usual one first."""
        slot = self.assistant.slot(name)
        found: list[Any] = []
        numbers: list[Any] = []
        for value in (value for each in predicates for value in literals_in(each)):
            if isinstance(value, int | float) and not isinstance(value, bool):
                numbers += [value + 1.5, value - 1.5, value]
            elif value:
                found += [value, *re.findall(r"\w+", str(value))]
        if slot.kind == "bool":
            return [True, False]
        if slot.kind == "float":
            return [12.5, *map(float, numbers)]
        if slot.kind == "categorical" and slot.values:
            return list(slot.values)
        return [f"some {name.replace('_', ' ')}", *(str(each) for each in found), *(f"{each:g}" for each in numbers)]

    def _typed(self, name: str, value: Any) -> Any:
        kind = self.assistant.slot(name).kind
        if value is None or (isinstance(value, str) and value.lower() in ("null", "none", "undefined")):
            return None
        if kind == "bool":
            return str(value).lower() in ("true", "yes", "1")
        if kind == "float":
            try:
                return float(value)
            except ValueError:
                return None
        return value if kind in ("list", "any") else str(value)

    def _say(self, name: str, listed: tuple[RasaVariation, ...], place: str, value: Any = None) -> None:
        self.names.append(name)
        fitting = [each for each in listed if each.conditions and self._fits(each)]
        chosen = next(iter(fitting or [each for each in listed if not each.conditions and not each.channel]), None)
        if chosen is not None:
            titles = tuple(button.title for button in chosen.buttons)
            media = (f"image {chosen.image}",) if chosen.image else ()
            self.out.said.append(SourceMessage(self._rendered(chosen, value), titles, media, place))

    def _fits(self, variation: RasaVariation) -> bool:
        return not variation.channel and all(self.slots.get(name) == value for name, value in variation.conditions)

    def _rendered(self, variation: RasaVariation, value: Any) -> str:
        """The text with the values of slots; `{value}` is a value that is rejected."""
        values = self.slots if value is None else {"value": value, **self.slots}
        return variation.places.sub(lambda found: str(values.get(found[1], found[0])), variation.text)

    def _end_turn(self, happens: tuple[str, str]) -> None:
        self.out.end_turn(happens)
        self.out.utters.append(self.names)
        self.names = []


def _slots_read(assistant: RasaAssistant, flow: RasaFlow) -> set[str]:
    """The slots that conditions and responses of a flow read."""
    found: set[str] = set()
    for step in flow.steps.values():
        trees = (tree for text in step.predicates if (tree := _parsed(text)) is not None)
        found |= {name for tree in trees for name in slots_in(tree)}
        responses = [step.value, step.utter, f"utter_ask_{step.value}", *(utter for _, utter in step.rejections)]
        found |= {name for response in responses for name in assistant.slots_of(response)}
    return found


def _parsed(text: str) -> Predicate | None:
    try:
        return parse_predicate(text)
    except PredicateError:
        return None


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
