"""Transitions and where they lead: every target is there, and means something where it stands."""

from collections.abc import Collection, Iterator, Mapping

from bot.flow.definition import BotDefinition, Flow
from bot.lang.nodes import Mark
from bot.lang.problems import Problems, did_you_mean
from bot.lang.scalars import is_name
from bot.steps.step_options import Defaults
from bot.steps.transition import AGAIN, BACK, NEXT, RESERVED, ROUTE, Target, Transition


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
        for word in bot.words.values():
            self._refuse(f'word "{word.text}"', word.transition, (NEXT,), "a word of the bot stands at no step")
        for transition in transitions_of_bot(bot):
            if transition.then is not None:
                self._check_target(transition.then, None)
            self._check_correction(transition, None)
        self._check_defaults(bot.defaults)
        for flow in self._flows.values():
            self._check_defaults(flow.defaults)
            for step in flow.steps.values():
                self._check_defaults(step.options.defaults)
            for transition in transitions_of_flow(flow):
                if transition.mark.path == bot.mark.path:
                    continue  # inherited
                if transition.then is not None:
                    self._check_target(transition.then, flow)
                self._check_correction(transition, flow)
            for schedule in (item for step in flow.steps.values() for item in step.options.schedule):
                self._check_target(schedule.target, flow)

    def _check_defaults(self, defaults: Defaults) -> None:
        for name, transition in defaults.transitions():
            if name in ("remind", "timeout"):
                self._refuse(name, transition, (ROUTE,), "there is no message to hand on")
            elif name == "gone":
                self._refuse(name, transition, (NEXT, AGAIN, BACK, ROUTE), "the step is not there any more")

    def _check_correction(self, transition: Transition, flow: Flow | None) -> None:
        """Only an answer of the same flow can be corrected: by the step that asks for it."""
        if (
            not transition.corrects
            or transition.then is None
            or (flow is not None and transition.then.text in flow.unreadable)
        ):
            return
        step = None if flow is None else flow.steps.get(transition.then.text)
        if step is None or not step.kind.asks:
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
                "write /flow, /flow/step or end",
            )

    def _check_target(self, target: Target, flow: Flow | None) -> None:
        if target.text in RESERVED:
            return
        if target.text.startswith("/"):
            self._check_absolute(target)
        elif flow is None:
            what = f'"{target.text}" is a step, and bot.yml belongs to no flow'
            fix = did_you_mean(target.text, RESERVED, f"write /flow/{target.text}")
            if target.text in self._flows:
                fix = f"for the flow write /{target.text}"
            self._problems.add("E112", target.mark, what, fix)
        elif self._lacks(flow, target.text):
            if is_name(target.text):
                fix = did_you_mean(target.text, [*flow.steps, *RESERVED], f"add the step to flow {flow.name}")
            else:
                value = f"steps have names in small letters; for a value to be saved write {{value: {target.text}}}"
                fix = did_you_mean(target.text, flow.steps, value)
            if target.text in self._flows:
                fix = f"for the flow write /{target.text}"
            self._problems.add("E102", target.mark, f'no step "{target.text}"', fix)

    def _check_absolute(self, target: Target) -> None:
        name, _, step = target.text[1:].partition("/")
        flow = self._flows.get(name)
        if flow is None:
            self.check_flow(name, target.mark)
        elif step and self._lacks(flow, step):
            fix = did_you_mean(step, flow.steps, f"add the step to flow {name}")
            self._problems.add("E102", target.mark, f'no step "{step}" in flow {name}', fix)

    def _lacks(self, flow: Flow, step: str) -> bool:
        """Whether it is certain that a flow has no step of this name."""
        return step not in (*flow.steps, *flow.unreadable) and flow.mark.path not in self._unread

    def check_flow(self, name: str, mark: Mark) -> None:
        """A flow of this name is there."""
        if not self._unread and name not in self._flows:
            fix = did_you_mean(name, self._flows, "add a flow of this name")
            self._problems.add("E103", mark, f'no flow "{name}"', fix)


def transitions_of_bot(bot: BotDefinition) -> Iterator[Transition]:
    """Every transition that is written in ``bot.yml``."""
    yield from (word.transition for word in bot.words.values())
    yield from (transition for _, transition in bot.defaults.transitions())


def transitions_of_flow(flow: Flow) -> Iterator[Transition]:
    """Every transition of a flow: of its steps, its words and its defaults, inherited ones included."""
    for step in flow.steps.values():
        yield from step.written_transitions
    yield from (word.transition for word in flow.words.values())
    yield from (transition for _, transition in flow.defaults.transitions())
