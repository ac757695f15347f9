"""The sources of answers in an evaluation: a real model or a recording; and the file format of recordings."""

import hashlib
import json
import threading
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from bot.core.errors import BotError, row_of
from bot.core.immutable import immutable
from bot.core.text import head
from bot.core.values import Usage
from bot.language.steps.ai_settings import ANSWER_TOKENS
from bot.language.steps.judging import THE_QUESTION
from bot.services.ai.ai_client import Completions
from bot.services.ai.ai_errors import (
    ERRORS,
    CompletionError,
    CutStream,
    EmptyAnswer,
    ExcessiveCalls,
    InvalidRequest,
    ProviderError,
    ServerError,
    ServiceRateLimited,
    ServiceTimedOut,
)
from bot.services.ai.chat_completion import ChatRequest
from bot.testing.conversations.transcript import Transcript
from bot.testing.emulator.completion import ErrorAnswer, ModelAnswer, failure
from bot.testing.emulator.completion.completion_requests import asked
from bot.testing.simulation.simulation import STUB_MODEL

BUDGET = 500_000
"""The tokens that a run may use up, unless another number is given."""

_QUOTED = 60  # characters of a question in a message
_PUTS_OFF = (ServiceRateLimited, ProviderError, ServerError, ServiceTimedOut, CutStream)
_OF_THE_MODEL = "server_error"
"""The error that the bot gets if the model's answer is unusable."""


class EvaluationStopped(BotError):
    """A model cannot be asked any more. The text says what to do."""


class ModelUnavailable(BotError):
    """The service could not answer just now, so the try does not count.

    ``seconds``: when it will answer again, if it says so.
    """

    def __init__(self, error: CompletionError) -> None:
        super().__init__(str(error))
        self.seconds = None if error.reset_in is None else error.reset_in.total_seconds()


class StaleRecording(BotError):
    """The bot asks other questions now than those of the recording."""


@immutable
class ModelQuestion:
    """A request to a model in short: fingerprints of its instructions, of its tools and of the exchange so far.

    ``last`` is the beginning of the contact's last message.
    """

    instructions: str
    tools: str
    exchange: str
    last: str


@immutable
class AnsweredQuestion:
    """A request and its answer. ``calls`` are names and arguments, ``fails`` is the service's name of an error.

    ``tokens`` are those of the request and of the answer.
    """

    question: ModelQuestion
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"
    fails: str = ""
    tokens: tuple[int, int] = (0, 0)
    seconds: float = 0.0

    def item(self) -> ModelAnswer | ErrorAnswer:
        """The same answer for the emulated service to give to the bot."""
        if self.fails:
            return failure(self.fails, 500 if self.fails == _OF_THE_MODEL else 400, message=self.text or None)
        return ModelAnswer(self.text, calls=self.calls, finish=self.finish)


class AnswerSource(Protocol):
    """Answers the requests of one try, from several threads."""

    def ask(self, body: Mapping[str, Any], *, evaluates: bool = False) -> AnsweredQuestion:
        """The answer to a request as it is sent. ``evaluates``: it is not the bot's, but the evaluation's.

        Raises `EvaluationStopped`, `ModelUnavailable` and `StaleRecording`.
        """
        ...


class RunBudget:
    """The tokens that a run may use up, and those that it has used. Safe for threads."""

    def __init__(self, most: int) -> None:
        self.used = 0
        self.most = most
        self._lock = threading.Lock()

    def check(self, request: ChatRequest) -> None:
        """Raise `EvaluationStopped` if a request with its longest answer might exceed the budget."""
        self.check_left(request.estimate("").prompt_tokens + request.max_tokens, "the next question")

    def check_left(self, cost: int, need: str) -> None:
        """Raise `EvaluationStopped` if fewer tokens are left than a need may cost."""
        if self.used + cost > self.most:
            left = self.most - self.used
            what = f"{left:,} of {self.most:,} tokens are left, and {need} may cost {cost:,}"
            raise EvaluationStopped(f"{what}: allow more with --budget, or ask less with -k")

    def take(self, usage: Usage | None) -> tuple[int, int]:
        """Count the tokens of a request and its answer."""
        if usage is None:
            return 0, 0
        with self._lock:
            self.used += usage.prompt_tokens + usage.completion_tokens
        return usage.prompt_tokens, usage.completion_tokens


class LiveModel:
    """A model of the chat-completion service. ``judge`` is the model that judges and plays contacts. ``alone``: the
    model also answers for steps that name another one. ``judged_itself``: so far it has judged its own answers.
    """

    def __init__(self, service: Completions, model: str, judge: str, budget: RunBudget, *, alone: bool) -> None:
        self.model = model
        self.judged_itself = False
        self._service = service
        self.judge = judge
        self._budget = budget
        self._alone = alone

    def ask(self, body: Mapping[str, Any], *, evaluates: bool = False) -> AnsweredQuestion:
        """See `AnswerSource`."""
        request = ChatRequest(
            self.judge if evaluates else self.model if self._alone or body["model"] == STUB_MODEL else body["model"],
            body["messages"],
            body.get("max_tokens", ANSWER_TOKENS),
            body.get("temperature"),
            body.get("tools") or (),
            body.get("tool_choice"),
            body.get("reasoning_split"),
        )
        self._budget.check(request)
        self.judged_itself |= evaluates and self.judge == self.model
        question, began = question_of(body, evaluates), perf_counter()
        try:
            completion = self._service.complete(request)
        except CompletionError as error:
            tokens, seconds = self._budget.take(error.usage), perf_counter() - began
            if isinstance(error, EmptyAnswer):  # the bot gets the same, which fails this try at most
                return AnsweredQuestion(question, tokens=tokens, seconds=seconds)
            return AnsweredQuestion(question, error.message, fails=_failing(error), tokens=tokens, seconds=seconds)
        calls = tuple((call.name, call.arguments) for call in completion.calls)
        tokens, seconds = self._budget.take(completion.usage), round(perf_counter() - began, 3)
        return AnsweredQuestion(question, completion.text, calls, completion.finish, tokens=tokens, seconds=seconds)


def _failing(error: CompletionError) -> str:
    """The answer to the bot for an error that the bot handles as in production.

    Raises `ModelUnavailable` or `EvaluationStopped` for other errors.
    """
    if isinstance(error, InvalidRequest):
        return row_of(ERRORS, type(error), error.code).code
    if isinstance(error, ExcessiveCalls):
        return _OF_THE_MODEL
    if isinstance(error, _PUTS_OFF):
        raise ModelUnavailable(error) from error
    raise EvaluationStopped(str(error)) from error


class RecordedModel:
    """The answers of one recorded try, to the same requests in the same order."""

    def __init__(self, answers: Iterable[AnsweredQuestion]) -> None:
        self._left = deque(answers)
        self._lock = threading.Lock()

    def ask(self, body: Mapping[str, Any], *, evaluates: bool = False) -> AnsweredQuestion:
        """See `AnswerSource`."""
        question = question_of(body, evaluates)
        with self._lock:
            if not self._left:
                raise StaleRecording(f'the bot asks more questions than were recorded, first: "{question.last}"')
            answered = self._left.popleft()
        if question != answered.question:
            raise StaleRecording(_changed(answered.question, question))
        return answered

    def end(self) -> None:
        """Raise `StaleRecording` if some of the requests were not made."""
        if self._left:
            raise StaleRecording(
                f'the bot asks fewer questions than were recorded, without: "{self._left[0].question.last}"'
            )


def question_of(body: Mapping[str, Any], evaluates: bool) -> ModelQuestion:
    """A request in short. The name of the model and the ids of calls do not count. ``evaluates``: it is not the
    bot's, and its last message may be a conversation with a question behind it.
    """
    first, *others = body["messages"]
    exchange = [_without_ids(message) for message in others]
    last = " ".join(asked(dict(body)).rpartition(THE_QUESTION if evaluates else "\0")[2].split())
    quoted = last if len(last) <= _QUOTED else f"{head(last, _QUOTED)}…"
    return ModelQuestion(_short(first), _short(body.get("tools") or []), _short(exchange), quoted)


def _without_ids(message: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in message.items() if key != "tool_call_id"}
    if isinstance(kept.get("content"), list):  # the address of a picture is another one each time
        kept["content"] = [part for part in kept["content"] if part["type"] == "text"]
    if calls := message.get("tool_calls"):
        kept["tool_calls"] = [call["function"] for call in calls]
    return kept


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def _changed(then: ModelQuestion, now: ModelQuestion) -> str:
    """The difference between a request and the recorded one, in words."""
    if then.instructions != now.instructions:
        return "the text for the model has changed: its instructions, the facts or the known values"
    if then.tools != now.tools:
        return "the tools or the exits that the model may use have changed"
    if then.last != now.last:
        return f'the conversation differs: the model is asked "{now.last}", and was asked "{then.last}"'
    return f'what came before "{now.last}" has changed: messages, or the results of tools'


class ModelProxy:
    """Answers for the models in one try. ``answers`` are all requests with their answers, ``asked`` those of the bot;
    ``trouble`` is why the try does not count.
    """

    def __init__(self, source: AnswerSource) -> None:
        self.answers: list[AnsweredQuestion] = []
        self.asked: list[Mapping[str, Any]] = []
        self.trouble: BotError | None = None
        self._source = source
        self._lock = threading.Lock()

    def speak(self, body: dict[str, Any]) -> ModelAnswer | ErrorAnswer:
        """Answer the bot: a `bot.testing.emulator.completion.completion_api.Speaker`.

        After a trouble no model is asked any more.
        """
        with self._lock:
            self.asked.append(body)
        answered = self._ask(body)
        return failure("server_error") if answered is None else answered.item()

    def evaluate(
        self, messages: Sequence[Mapping[str, str]], temperature: float | None = None
    ) -> AnsweredQuestion | None:
        """Ask the model that judges and plays contacts. None if there is no answer."""
        return self._ask({"messages": list(messages), "temperature": temperature}, evaluates=True)

    def _ask(self, body: Mapping[str, Any], *, evaluates: bool = False) -> AnsweredQuestion | None:
        if self.trouble is not None:
            return None
        try:
            answered = self._source.ask(body, evaluates=evaluates)
        except (EvaluationStopped, ModelUnavailable, StaleRecording) as error:
            with self._lock:
                self.trouble = self.trouble or error
            return None
        with self._lock:
            self.answers.append(answered)
        return answered


SUFFIX = ".recorded.json"
RecordedTries = list[tuple[AnsweredQuestion, ...]]
"""The answers of each try, in order."""


class UnreadableRecording(BotError):
    """A file is not a recording."""


class Recordings:
    """The recordings of a bot's evaluations: by evaluation and model, the answers of each try."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Path, dict[str, dict[str, RecordedTries]]] = {}

    def of(self, evaluation: Transcript) -> Mapping[str, RecordedTries]:
        """The recorded tries of an evaluation, by model. Raises `UnreadableRecording`."""
        return self._file(self.path(evaluation)).get(evaluation.name, {})

    def keep(self, evaluation: Transcript, model: str, tries: RecordedTries, names: Collection[str]) -> Path:
        """Write an evaluation's tries with a model, in place of the earlier ones. Raises `OSError`.

        ``names`` are those of all evaluations: other recordings in that file are removed.
        """
        path = self.path(evaluation)
        try:
            known = self._file(path)
        except UnreadableRecording:
            known = {}
        known = {name: models for name, models in known.items() if name in names}
        known[evaluation.name] = known.get(evaluation.name, {}) | {model: tries}
        self._files[path] = known
        path.write_text(_written(known), encoding="utf-8")
        return path

    def path(self, evaluation: Transcript) -> Path:
        """The file of its recordings, which need not exist."""
        return (self._folder / evaluation.mark.path).with_suffix(SUFFIX)

    def _file(self, path: Path) -> dict[str, dict[str, RecordedTries]]:
        if path not in self._files:
            self._files[path] = _read(path) if path.exists() else {}
        return self._files[path]


def _read(path: Path) -> dict[str, dict[str, RecordedTries]]:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: {model: [tuple(map(_answered, answers)) for answers in tries] for model, tries in models.items()}
            for name, models in plain.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        advice = "delete it, or write it anew with `bot evaluate --record`"
        raise UnreadableRecording(f"{path} cannot be read as a recording: {advice}") from error


def _written(known: Mapping[str, Mapping[str, RecordedTries]]) -> str:
    """The text of the file: one line for each answer, so that a diff is readable."""
    named = []
    for name, models in sorted(known.items()):
        tried = []
        for model, tries in sorted(models.items()):
            held = ",\n".join(
                "   [\n    " + ",\n    ".join(_json(_plain(each)) for each in answers) + "\n   ]" for answers in tries
            )
            tried.append(f"  {_json(model)}: [\n{held}\n  ]")
        named.append(f" {_json(name)}: {{\n" + ",\n".join(tried) + "\n }")
    return "{\n" + ",\n".join(named) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(answer: AnsweredQuestion) -> dict[str, Any]:
    """An answer as it is written in the file. Usual values are left out."""
    usual = AnsweredQuestion(answer.question)
    return {
        name: value for name, value in asdict(answer).items() if value != getattr(usual, name) or name == "question"
    }


def _answered(plain: Mapping[str, Any]) -> AnsweredQuestion:
    calls = tuple((str(name), str(arguments)) for name, arguments in plain.get("calls", ()))
    asked, answered = plain.get("tokens", (0, 0))
    more = {"question": ModelQuestion(**plain["question"]), "calls": calls, "tokens": (int(asked), int(answered))}
    return AnsweredQuestion(**{**plain, **more})
