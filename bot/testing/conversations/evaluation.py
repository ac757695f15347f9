"""Evaluations: a conversation is run several times with a model, or with recorded answers, and the passed tries are
counted.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

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
from bot.testing.conversations.pass_rates import PassDecision, Tries
from bot.testing.conversations.simulated_contact import SimulatedMove, asking_for_move, read_move
from bot.testing.conversations.spoken_lines import SpokenLine
from bot.testing.conversations.transcript import PersonaLine, Transcript
from bot.testing.conversations.transcript_run import FailedTest, isolated_simulation, play

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
        """How often it is run, and how many tries must pass."""
        assert self.transcript.tries is not None
        return self.transcript.tries

    @property
    def passed(self) -> int:
        """The number of tries that passed."""
        return sum(each.failure is None for each in self.tries)

    @property
    def verdict(self) -> PassDecision:
        """The decision about its tries. A recording has passed once, so it fails where it decides nothing any more."""
        undecided = PassDecision.FAILED if self.recorded else PassDecision.UNSURE
        return self.wanted.verdict(self.passed, len(self.tries)) or undecided

    @property
    def ok(self) -> bool:
        """True if enough tries passed."""
        return not self.stale and self.verdict is PassDecision.PASSED

    @property
    def tokens(self) -> int:
        """The tokens of all tries."""
        return sum(sum(each.tokens) for each in self.tries)

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
    *,
    after_first: Callable[[EvaluationTry], None] = lambda first: None,
    decides: bool = True,
) -> EvaluationResult:
    """Run the conversation until it is decided; all times if it is not to be decided, but compared.

    ``pause`` waits before a try is repeated because the service was busy. ``after_first`` is called with the first try.

    Raises `bot.testing.conversations.model_sources.EvaluationStopped`.
    """
    result = EvaluationResult(transcript, model, ())
    for number in range(result.wanted.times):
        if decides and result.wanted.verdict(result.passed, number) is not None:
            break
        try:
            made = _tried(transcript, program, folder, source, pause)
        except EvaluationStopped as error:
            if not number:
                raise
            raise EvaluationStopped(f"{error}; {result.passed} of {number} tries had passed") from error
        result = replace(result, tries=(*result.tries, made))
        if not number:
            after_first(result.tries[0])
    return result


def replay(
    transcript: Transcript, program: Program, folder: Folder, model: str, recorded: Sequence[Sequence[AnsweredQuestion]]
) -> EvaluationResult:
    """Run the conversation with the recorded answers of each try, until it is decided."""
    result = EvaluationResult(transcript, model, (), recorded=True)
    wanted = result.wanted
    try:
        for number, answers in enumerate(recorded[: wanted.times]):
            if wanted.verdict(result.passed, number) is not None:
                break
            source = RecordedModel(answers)
            result = replace(result, tries=(*result.tries, _try(transcript, program, folder, source)))
            if result.tries[-1].failure is None:
                source.end()
        number = len(result.tries)
        if result.passed == number and wanted.verdict(number, number) is None:
            needed = number + wanted.missing(number, number)
            raise StaleRecording(f"{needed} tries are needed, {number} recorded")
    except StaleRecording as error:
        return replace(result, stale=str(error))
    return result


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
    models = ModelsOfTry(source)
    about = transcript.now, transcript.stub_definitions, transcript.contact
    with isolated_simulation(program, folder, *about, models) as (simulation, player):
        failure = play(transcript, simulation, player)
    if models.trouble is not None:
        raise models.trouble
    return EvaluationTry(failure, tuple(models.answers))


class ModelsOfTry(ModelProxy):
    """The models of one try: see `bot.testing.conversations.player.EvaluationModels`."""

    def judge(self, question: str, conversation: Sequence[SpokenLine]) -> str:
        """Ask the judge, who knows what the models of the bot were told."""
        asked = judging(question, conversation, told_in(self.asked), tool_results_in(self.asked))
        answered = self.evaluate(asked, temperature=0)
        return verdict("" if answered is None else answered.text)

    def move(self, contact: PersonaLine, conversation: Sequence[SpokenLine]) -> SimulatedMove:
        """Ask the model that plays the contact."""
        answered = self.evaluate(asking_for_move(contact, conversation))
        return read_move("" if answered is None or answered.fails else answered.text)


def told_in(requests: Iterable[Mapping[str, Any]]) -> list[str]:
    """The lines of instructions, facts and known values in requests to models, each once."""
    texts = (message["content"] for body in requests for message in body["messages"] if message["role"] == "system")
    return [*dict.fromkeys(line for text in texts for line in str(text).splitlines() if line.strip())]


def tool_results_in(requests: Iterable[Mapping[str, Any]]) -> list[str]:
    """The calls of tools in requests to models, each once with its result: ``find({"number": 7}) -> on its way``."""
    found: dict[str, None] = {}
    for body in requests:
        made: dict[str, str] = {}
        for message in body["messages"]:
            calls = ((call["id"], call["function"]) for call in message.get("tool_calls") or ())
            made |= {name: f"{function['name']}({function['arguments']})" for name, function in calls}
            if message["role"] == "tool":
                found[f"{made.get(message['tool_call_id'], 'a tool')} -> {message['content']}"] = None
    return [*found]


def judging(
    question: str, conversation: Sequence[SpokenLine], told: Sequence[str] = (), tools: Sequence[str] = ()
) -> list[dict[str, str]]:
    """The request to the judge, with the conversation as data, and what the chatbot was told and got from tools."""
    lines = [
        {"who": "chatbot" if spoken.who == "bot" else "contact", "says": spoken.in_words(("user", "bot"))}
        for spoken in conversation
    ]
    return judge_messages(lines, question, told=told, tools=tools)


def verdict(answer: str) -> str:
    """The judge's reason for a no; empty for a yes."""
    said, words = read_verdict(answer)
    if said == NONE:
        return f"neither yes nor no: {words}"
    return "" if said == YES else f"no: {words}".rstrip(" :")
