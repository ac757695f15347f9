"""Evaluations: a conversation is run several times with a model, or with recorded answers, and the passed tries are
counted.
"""

import time
from collections.abc import Callable, Sequence

from bot.core.immutable import immutable
from bot.language.steps.judging import NONE, YES, judge_messages, read_verdict
from bot.loading.folder import Folder
from bot.loading.program import Program
from bot.testing.conversations.model_sources import (
    AnsweredQuestion,
    AnswerSource,
    EvaluationStopped,
    ModelProxy,
    ModelUnavailable,
    RecordedModel,
    StaleRecording,
)
from bot.testing.conversations.player import SpokenLine
from bot.testing.conversations.transcript import Transcript, Tries
from bot.testing.conversations.transcript_run import FailedTest, isolated_simulation, lines_of, play

PAUSES = (2.0, 10.0, 60.0)  # seconds before a try is repeated because the service was busy
LONGEST_PAUSE = 120.0  # seconds


@immutable
class EvaluationTry:
    """One run of the conversation: why it failed, and all requests to models, including the judge's."""

    failure: FailedTest | None
    answers: tuple[AnsweredQuestion, ...]

    @property
    def tokens(self) -> tuple[int, int]:
        """The tokens of its requests and answers."""
        return sum(answer.tokens[0] for answer in self.answers), sum(answer.tokens[1] for answer in self.answers)

    @property
    def seconds(self) -> float:
        """The time of its answers together."""
        return sum(answer.seconds for answer in self.answers)


@immutable
class EvaluationResult:
    """The result of an evaluation with a model. ``stale`` says why its recording no longer fits; empty if it does."""

    transcript: Transcript
    model: str
    tries: tuple[EvaluationTry, ...]
    recorded: bool = False
    stale: str = ""

    @property
    def wanted(self) -> Tries:
        """The number of tries, and the number that must pass."""
        assert self.transcript.tries is not None
        return self.transcript.tries

    @property
    def passed(self) -> int:
        """The number of tries that passed."""
        return sum(each.failure is None for each in self.tries)

    @property
    def ok(self) -> bool:
        """True if enough tries passed."""
        return not self.stale and 100 * self.passed >= self.wanted.least * self.wanted.times

    def failures(self) -> list[tuple[FailedTest, list[int]]]:
        """The failures with the numbers of their tries. Equal failures at the same place are joined."""
        found: dict[tuple[object, ...], tuple[FailedTest, list[int]]] = {}
        for number, each in enumerate(self.tries, start=1):
            if each.failure is not None:
                names = tuple(difference.what for difference in each.failure.differences)
                key = (each.failure.mark, each.failure.what, names)
                found.setdefault(key, (each.failure, []))[1].append(number)
        return list(found.values())


def evaluate(
    transcript: Transcript,
    program: Program,
    folder: Folder,
    source: AnswerSource,
    model: str,
    pause: Callable[[float], None] = time.sleep,
) -> EvaluationResult:
    """Run the conversation as often as the evaluation says. ``pause`` waits before a try is repeated because the
    service was busy.

    Raises `bot.testing.conversations.model_sources.EvaluationStopped`.
    """
    assert transcript.tries is not None
    tries = [_tried(transcript, program, folder, source, pause) for _ in range(transcript.tries.times)]
    return EvaluationResult(transcript, model, tuple(tries))


def replay(
    transcript: Transcript, program: Program, folder: Folder, model: str, recorded: Sequence[Sequence[AnsweredQuestion]]
) -> EvaluationResult:
    """Run the conversation with the recorded answers of each try."""
    assert transcript.tries is not None
    tries: list[EvaluationTry] = []
    try:
        if len(recorded) < transcript.tries.times:
            raise StaleRecording(f"{transcript.tries.times} tries are needed, {len(recorded)} recorded")
        for answers in recorded[: transcript.tries.times]:
            source = RecordedModel(answers)
            tries.append(_try(transcript, program, folder, source))
            if tries[-1].failure is None:
                source.end()
    except StaleRecording as error:
        return EvaluationResult(transcript, model, tuple(tries), recorded=True, stale=str(error))
    return EvaluationResult(transcript, model, tuple(tries), recorded=True)


def _tried(
    transcript: Transcript,
    program: Program,
    folder: Folder,
    source: AnswerSource,
    pause: Callable[[float], None],
    pauses: Sequence[float] = PAUSES,
) -> EvaluationTry:
    """Run one try, and repeat it if the service was busy: such a run says nothing about the bot."""
    try:
        return _try(transcript, program, folder, source)
    except ModelUnavailable as error:
        if not pauses:
            raise EvaluationStopped(f"the service has failed {len(PAUSES) + 1} times in a row: {error}") from error
        first, *others = pauses
        seconds = first if error.seconds is None else error.seconds
        if seconds > LONGEST_PAUSE:
            raise EvaluationStopped(str(error)) from error
    pause(seconds)
    return _tried(transcript, program, folder, source, pause, others)


def _try(transcript: Transcript, program: Program, folder: Folder, source: AnswerSource) -> EvaluationTry:
    """Run the conversation once. Raises the error of its model, if there was one."""
    proxy = ModelProxy(source)

    def judge(question: str, conversation: Sequence[SpokenLine]) -> str:
        return verdict(proxy.judge(judging(question, conversation)))

    with isolated_simulation(
        program, folder, transcript.now, transcript.stub_definitions, transcript.contact, (proxy.speak, judge)
    ) as (
        simulation,
        player,
    ):
        failure = play(transcript, simulation, player)
    if proxy.trouble is not None:
        raise proxy.trouble
    return EvaluationTry(failure, tuple(proxy.answers))


def judging(question: str, conversation: Sequence[SpokenLine]) -> list[dict[str, str]]:
    """The request to the judge, with the conversation as data."""
    lines = [{"who": "chatbot" if spoken.who == "bot" else "contact", "says": _line(spoken)} for spoken in conversation]
    return judge_messages(lines, question)


def _line(spoken: SpokenLine) -> str:
    if spoken.message is not None:
        return "\n".join(lines_of(spoken.message))
    return spoken.text if spoken.who == "user" else f"({spoken.who}) {spoken.text}".strip()


def verdict(answer: str) -> str:
    """The judge's reason for a no; empty for a yes."""
    said, words = read_verdict(answer)
    if said == NONE:
        return f"neither yes nor no: {words}"
    return "" if said == YES else f"no: {words}".rstrip(" :")
