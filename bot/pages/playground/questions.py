"""The questions to models that a person answers on the page."""

import threading
from collections.abc import Callable
from datetime import timedelta

from bot.checker.exploring.moves import ModelResult
from bot.core.clock import MovableClock
from bot.core.effects import AskModel
from bot.core.session import Session
from bot.language.flow.library import Library
from bot.runtime.performers import CallAttempt
from bot.store.rows import CallRow
from bot.testing.conversations.answers_by_hand import acts_of
from bot.testing.conversations.stubs import spoken
from bot.testing.emulator.completion.completion_api import Speaker

_LOOK_SECONDS = 0.5  # between two looks whether an answer is still awaited
_EXIT, _NONE = "exits.", "none"


class Questions:
    """The questions to models that wait for a person, one for each contact. Safe to use from many threads.

    ``awaited`` says whether anybody waits for the end of a call; ``changed`` is called when a question comes or goes.
    """

    def __init__(self, clock: MovableClock, awaited: Callable[[CallRow], bool], changed: Callable[[], None]) -> None:
        self._clock = clock
        self._awaited = awaited
        self._changed = changed
        self._condition = threading.Condition()
        self._asked: dict[str, CallRow] = {}  # by contact
        self._answers: dict[str, ModelResult] = {}  # by the keys of calls

    def __call__(self, row: CallRow) -> Speaker | CallAttempt:
        """Ask the person, until they answer, time has passed, or nobody waits for it any more."""
        assert isinstance(row.effect, AskModel)
        within = timedelta(seconds=row.effect.seconds)
        deadline = self._clock.elapsed() + within.total_seconds()
        with self._condition:
            self._asked[row.contact] = row
            self._changed()
            while self._is_open(row) and self._clock.elapsed() < deadline and self._awaited(row):
                self._clock.wait(self._condition, deadline, _LOOK_SECONDS)
            late, answer = self._clock.elapsed() >= deadline, self._answers.pop(row.key, None)
            if self._asked.get(row.contact) is row:
                del self._asked[row.contact]
            self._changed()
        if answer is not None:
            return lambda _: spoken(answer, lambda _: self._clock.move(within))
        if late:
            return CallAttempt("timeout", detail=f"nobody has answered within {row.effect.seconds:g} s")
        return CallAttempt("down", detail="nobody has answered", again=self._awaited(row))

    def waits(self, row: CallRow) -> bool:
        """True if this call waits for the person."""
        with self._condition:
            return self._is_open(row)

    def of(self, contact: str) -> CallRow | None:
        """The open question for a contact."""
        with self._condition:
            return self._asked.get(contact)

    def answer(self, row: CallRow, answer: ModelResult) -> None:
        """Answer a question."""
        with self._condition:
            self._answers[row.key] = answer
            self._condition.notify_all()

    def release(self) -> None:
        """Drop all questions: the bot is stopped."""
        with self._condition:
            self._asked.clear()
            self._condition.notify_all()

    def _is_open(self, row: CallRow) -> bool:
        return self._asked.get(row.contact) is row and row.key not in self._answers


def acts_at(library: Library, session: Session, effect: AskModel) -> list[str]:
    """The acts that can be written beside a text: calls of the model's tools, or without tools, the names that it picks
    from.
    """
    frame = session.frame
    flow = None if frame is None else library.flows.get(frame.flow)
    step = None if frame is None or flow is None else flow.steps.get(frame.step)
    if effect.tools or step is None:
        return list(acts_of(effect))
    names = [outcome.removeprefix(_EXIT) for outcome in step.outcomes if outcome.startswith(_EXIT)]
    return [*names, _NONE] if names else []
