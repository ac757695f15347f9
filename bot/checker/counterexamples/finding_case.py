"""The input and the result of a fault test: a finding with its step and its texts, and a visible fault."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bot.checker.exploring.conversation_yaml import YamlLine
from bot.checker.exploring.explorer import ExploredState
from bot.checker.exploring.message_view import message_parts
from bot.checker.exploring.search import is_taken
from bot.checker.findings import Finding
from bot.checker.graph import Edge, StepId
from bot.core.effects import Send
from bot.core.errors import BotError
from bot.core.events import TimeReached
from bot.core.immutable import immutable
from bot.core.turn import StepTaken
from bot.engine.turn_context import TurnContext
from bot.language.expressions.templates import Expression, Template
from bot.language.flow.definition import Flow, Step, uses_of_all
from bot.language.flow.library import Library

SOMETHING = "something"
"""The value that a test expects where any value would be right."""

REFUSED = "a message that the gateway does not take"
"""The beginning of the engine's note about a message that it does not send."""


@immutable
class FindingCase:
    """A finding of a bot, the step at which it shows, if that is known, and the texts at the place of the finding.

    ``edge`` is the edge from the step on which it shows. If the edge fails because of it, the edge is not taken.
    """

    library: Library
    finding: Finding
    place: StepId | None
    edge: Edge | None
    texts: tuple[Template | Expression, ...]

    @classmethod
    def of(cls, library: Library, finding: Finding, place: StepId | None, edge: Edge | None) -> "FindingCase":
        """Look up the texts at the finding's place: those of a step, or those of a flow or the bot that a step
        inherits, or those that use the definition there.
        """
        used = [each.text for each in uses_of_all(library.bot, library.flows)]
        written = ((text, (text, *(each.expression for each in text.definitions))) for text in used)
        texts = {id(text): text for text, parts in written if any(part.mark == finding.mark for part in parts)}
        return cls(library, finding, place, edge, tuple(texts.values()))

    def is_tag(self, text: Template | Expression) -> bool:
        """True if a text is a tag that the step or the edge from it gives."""
        if self.place is None:
            return False
        step = self.library.flows[self.place[0]].steps[self.place[1]]
        return any(
            tag is text
            for tag in (*step.options.tag, *(tag for transition in step.written_transitions for tag in transition.tag))
        )

    def is_of_step(self, note: str) -> bool:
        """True if a turn's note is about the step."""
        return self.place is not None and note.startswith(f"{'/'.join(self.place)}: ")

    def rendered(self, text: Template, state: ExploredState) -> Iterator[str]:
        """The text, evaluated in the state after the last turns, and in the state before."""
        for session in (state.session, *(() if state.before is None else (state.before.session,))):
            event = TimeReached("", session.contact, state.now)
            try:
                yield text.render(TurnContext(self.library, session, event).scope())
            except BotError:
                continue

    def is_passed(self, state: ExploredState) -> bool:
        """True if the last turns pass the step, and take the edge, if there is one."""
        if self.edge is not None:
            return any(is_taken(self.edge, step) for step in state.steps)
        return self.place is None or any((step.flow, step.step) == self.place for step in state.steps)

    def is_given(self, state: ExploredState, name: str) -> bool:
        """True if a step of the finding's flow has assigned the variable in the last turns."""
        flow = None if self.place is None else self.library.flows[self.place[0]]
        return flow is not None and any(
            name in _assigned_by(flow, flow.steps[taken.step], taken.outcome)
            for taken in state.steps
            if taken.flow == flow.name
        )


def _assigned_by(flow: Flow, step: Step, outcome: str | None) -> Iterator[str | None]:
    """The variables that a step assigns when it is left by an outcome."""
    yield from step.facts.gives
    resolved = step.transitions.get(outcome or "")
    if resolved is not None and resolved.success:
        yield step.options.save
        yield from (each.name for each in step.options.assigned(flow.variables))
    if resolved is not None and resolved.written is not None:
        yield from (each.name for each in resolved.written.assigned(flow.variables))


@immutable
class VisibleFault:
    """A fault that shows: a sentence for people, and the lines that a test expects in vain. ``early``: it is expected
    before the last thing that happens.
    """

    sentence: str
    expected: tuple[YamlLine, ...]
    early: bool = False


FaultTest = Callable[[ExploredState, FindingCase], VisibleFault | None]
"""A function that looks for a fault in the last turns of a conversation."""


def messages(state: ExploredState) -> Iterator[Mapping[str, Any]]:
    """All messages of the last turns, as if they had all been sent."""
    for sent in state.sent:
        yield {"bot": message_parts(sent.shown or sent.message)}


def messages_before(state: ExploredState, taken: StepTaken) -> list[Mapping[str, Any]]:
    """The messages that were sent before a turn reached a step."""
    count = 0
    for turn in state.turns:
        here = any(step is taken for step in turn.trace.steps)
        count += sum(isinstance(effect, Send) for effect in turn.effects[: taken.effects if here else None])
        if here:
            break
    return list(messages(state))[:count]
