"""The targets of attacks: the steps of a bot that ask a model, and the moves with which a contact reaches them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from bot.checker.analysis.reachability import Reachability
from bot.checker.exploring.conversation_yaml import CONTACT
from bot.checker.exploring.examples import Examples
from bot.checker.exploring.explorer import ExploredState, Explorer
from bot.checker.exploring.moves import HandlerResult, HttpResult, ModelResult, Move, StartMove, WriteMove
from bot.checker.exploring.proposals import Proposals
from bot.checker.exploring.search import MoveSearch
from bot.checker.graph import Graph
from bot.core.effects import AskModel
from bot.core.immutable import immutable
from bot.core.text import with_texts
from bot.language.flow.library import Library
from bot.language.source.problems import Mark
from bot.language.steps.ai_settings import AiSettings
from bot.language.steps.ai_step import AiStep
from bot.language.steps.brief import Brief, asks_what_to_search
from bot.language.steps.classify_step import ClassifyStep
from bot.language.steps.exits import Exit
from bot.language.steps.tools import Tool
from bot.loading.program import Program
from bot.testing.conversations.transcript_reader import NOW

HARMLESS = "All right."
"""The model's answer before the attack."""

MOST_TURNS = 3000
"""The most turns of the engine for the search of one step: a second or two."""

MoveSequence = tuple[Move, ...]
"""The moves until the model is asked at a step."""


@immutable
class AttackTarget:
    """A step that asks a model."""

    flow: str
    step: str
    mark: Mark
    kind: AiStep | ClassifyStep

    @property
    def name(self) -> str:
        """``flow/step``."""
        return f"{self.flow}/{self.step}"

    @property
    def brief(self) -> Brief | None:
        """The brief of an `ai` step's model; None for a `classify` step."""
        return self.kind.brief if isinstance(self.kind, AiStep) else None

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools that the model may call."""
        return () if self.brief is None else self.brief.tools

    @property
    def plain_tools(self) -> Sequence[Tool]:
        """The tools that are called without asking the contact."""
        return [tool for tool in self.tools if not tool.confirms]

    @property
    def asking_tools(self) -> Sequence[Tool]:
        """The tools that are called when the contact agrees."""
        return [tool for tool in self.tools if tool.confirms]

    @property
    def exits(self) -> Sequence[Exit]:
        """The exits of an `ai` step."""
        return () if self.brief is None else self.brief.exits

    @property
    def settings(self) -> AiSettings:
        """The settings of the step's model."""
        return self.kind.brief.settings if isinstance(self.kind, AiStep) else self.kind.settings

    def is_of(self, flow: str, step: str) -> bool:
        """True if it is this step."""
        return (self.flow, self.step) == (flow, step)


def targets(library: Library) -> list[AttackTarget]:
    """The steps that ask a model, in the order of the files."""
    steps = ((flow.name, step) for flow in library.flows.values() for step in flow.steps.values())
    found = [
        AttackTarget(flow, s.name, s.mark, s.kind) for flow, s in steps if isinstance(s.kind, AiStep | ClassifyStep)
    ]
    return sorted(found, key=lambda target: (target.mark.path, target.mark.line))


class RouteFinder:
    """Finds how a contact gets to steps, with the real engine and without I/O."""

    def __init__(self, program: Program, examples: Examples) -> None:
        self._explorer = Explorer(program.library, program.extensions)
        self._graph = Graph(program.library)
        self._proposals = Proposals(self._graph, examples)

    def to(self, target: AttackTarget) -> MoveSequence | None:
        """The moves until the model is asked at the step; None if none were found."""
        route = self._graph.analysis(Reachability).path_to((target.flow, target.step))
        search = MoveSearch(self._explorer, self._proposals)
        state = search.find([self._begin()], route, lambda state: _asks(state, target) is not None, MOST_TURNS)
        return None if state is None else tuple(each.move for each in state.path() if each.move is not None)

    def stays(self, target: AttackTarget, moves: MoveSequence) -> bool:
        """True if the step waits for the contact once the model has answered."""
        state = self._take((*moves, ModelResult(HARMLESS)))
        frame = None if state is None or state.awaited is not None else state.frame
        return frame is not None and target.is_of(frame.flow, frame.step)

    def filled(self, target: AttackTarget, moves: MoveSequence, text: str) -> MoveSequence | None:
        """The moves with a text in place of something that the contact fills in, if the model then gets it."""
        # the last one may be what is classified
        unread = isinstance(target.kind, ClassifyStep) and target.kind.text is None
        role = None if target.brief is None else "system"
        return self._telling(
            target, text, (_written(moves, number, text) for number in range(len(moves) - unread)), role
        )

    def answered(self, target: AttackTarget, moves: MoveSequence, text: str) -> MoveSequence | None:
        """The moves with a text in the answer of a handler or a service, if the model then gets it."""
        return self._telling(target, text, (_returned(moves, number, text) for number in range(len(moves))), None)

    def read(self, target: AttackTarget, moves: MoveSequence, text: str) -> MoveSequence | None:
        """The moves with a text as the contact's last message, if the model is then to answer or classify it."""
        changed = _written(moves, len(moves) - 1, text)
        return self._telling(target, text, [changed], "user")

    def _telling(
        self, target: AttackTarget, text: str, sequences: Iterable[MoveSequence | None], role: str | None
    ) -> MoveSequence | None:
        for moves in sequences:
            state = None if moves is None else self._take(moves)
            asked = None if state is None else _asks(state, target)
            if asked is not None and any(
                shows(str(message.get("content")), text)
                for message in asked.messages
                if role in (None, message["role"])
            ):
                return moves
        return None

    def _take(self, moves: MoveSequence) -> ExploredState | None:
        return self._explorer.take_all(self._begin(), moves)

    def _begin(self) -> ExploredState:
        return self._explorer.begin(CONTACT, NOW.replace(tzinfo=self._explorer.library.bot.timezone))


def shows(text: str, instruction: str) -> bool:
    """True if an instruction is part of a text, however it is quoted or broken into lines."""
    return _letters(instruction) in _letters(text)


def _letters(text: str) -> str:
    return "".join(char for char in text.replace("\\n", " ") if char.isalnum())


def _asks(state: ExploredState, target: AttackTarget) -> AskModel | None:
    """The request to the model at the step, if it is being asked for an answer."""
    frame, awaited = state.frame, state.awaited
    here = frame is not None and target.is_of(frame.flow, frame.step)
    asked = awaited[1] if here and awaited is not None else None
    return asked if isinstance(asked, AskModel) and not asks_what_to_search(asked.messages) else None


def _written(moves: MoveSequence, number: int, text: str) -> MoveSequence | None:
    """The moves with a text in place of what the contact, or a program, gives in one of them."""
    match moves[number]:
        case WriteMove():
            return (*moves[:number], WriteMove(text), *moves[number + 1 :])
        case StartMove(flow, data) if any(isinstance(value, str) for value in data.values()):
            return (*moves[:number], StartMove(flow, with_texts(data, lambda _: text)), *moves[number + 1 :])
    return None


def _returned(moves: MoveSequence, number: int, text: str) -> MoveSequence | None:
    move: Move
    match moves[number]:
        case HandlerResult(fails=None) as returns:
            move = replace(returns, value=with_texts(returns.value, lambda _: text))
        case HttpResult(fails=None) as responds if responds.json is not None:
            move = replace(responds, json=with_texts(responds.json, lambda _: text))
        case _:
            return None
    return (*moves[:number], move, *moves[number + 1 :])


def texts_in(value: Any) -> Iterator[str]:
    """Each text in a value of maps and lists."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from texts_in(item)
        case list() | tuple():
            for item in value:
                yield from texts_in(item)
