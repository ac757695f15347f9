"""The sources of answers in an evaluation: a real model or a recording; and the file format of recordings."""

import hashlib
import json
import threading
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from bot.ai.ai_client import Completions
from bot.ai.ai_errors import (
    ERRORS,
    CompletionError,
    CutStream,
    ExcessiveCalls,
    InvalidRequest,
    ProviderError,
    ServerError,
    ServiceRateLimited,
    ServiceTimedOut,
)
from bot.ai.chat_completion import ChatRequest
from bot.core.errors import BotError, row_of
from bot.core.values import Usage
from bot.emulator.completion import ErrorAnswer, ModelAnswer, failure
from bot.emulator.completion.completion_requests import asked
from bot.simulation.simulation import STUB_MODEL
from bot.steps.ai_settings import ANSWER_TOKENS
from bot.testing.transcript import Transcript

BUDGET = 500_000
"""The tokens of a run where nothing is said."""

THE_QUESTION = "The question: "
"""The text between a conversation and the question about it."""

_QUOTED = 60  # characters of what was asked
_PUTS_OFF = (ServiceRateLimited, ProviderError, ServerError, ServiceTimedOut, CutStream)
_OF_THE_MODEL = "server_error"
"""The error that the bot gets where the model's answer is unusable."""


class EvaluationStopped(BotError):
    """A model cannot be asked any more: what to do is in the text."""


class ModelUnavailable(BotError):
    """The service could not answer just now: the try counts for nothing. ``seconds``: when it says that it can again."""

    def __init__(self, error: CompletionError) -> None:
        super().__init__(str(error))
        self.seconds = None if error.reset_in is None else error.reset_in.total_seconds()


class StaleRecording(BotError):
    """A recording is of other questions than those that the bot asks now."""


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """What a model is asked, in short: fingerprints of its instructions, of its tools and of the exchange so far.

    ``last`` is the beginning of what the contact has said last.
    """

    instructions: str
    tools: str
    exchange: str
    last: str


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question and what came of it. ``calls`` are names and arguments, ``fails`` is the service's name of an error.

    ``tokens`` are those of the question and of the answer.
    """

    question: ModelQuestion
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"
    fails: str = ""
    tokens: tuple[int, int] = (0, 0)
    seconds: float = 0.0

    def item(self) -> ModelAnswer | ErrorAnswer:
        """The answer of the emulated service to the bot."""
        if self.fails:
            return failure(self.fails, 500 if self.fails == _OF_THE_MODEL else 400, message=self.text or None)
        return ModelAnswer(self.text, calls=self.calls, finish=self.finish)


class AnswerSource(Protocol):
    """Answers the questions of one try, from several threads."""

    def ask(self, body: Mapping[str, Any], *, judges: bool = False) -> AnsweredQuestion:
        """The answer to a question in the wire form. Raises `EvaluationStopped`, `ModelUnavailable` and `StaleRecording`."""
        ...


class RunBudget:
    """The tokens that a run may use up, and those that it has. Safe for threads."""

    def __init__(self, most: int) -> None:
        self.used = 0
        self.most = most
        self._lock = threading.Lock()

    def check(self, request: ChatRequest) -> None:
        """Raise `EvaluationStopped` where a question with its longest answer might exceed the budget."""
        cost = request.estimate("").prompt_tokens + request.max_tokens
        if self.used + cost > self.most:
            left = self.most - self.used
            what = f"{left:,} of {self.most:,} tokens are left, and the next question may need {cost:,}"
            raise EvaluationStopped(f"{what}: allow more with --budget, or choose evaluations with -k")

    def take(self, usage: Usage | None) -> tuple[int, int]:
        """Count what was used up: the tokens of the question, and of the answer."""
        if usage is None:
            return 0, 0
        with self._lock:
            self.used += usage.prompt_tokens + usage.completion_tokens
        return usage.prompt_tokens, usage.completion_tokens


class LiveModel:
    """A model of the chat-completion service. ``judge`` is the one that judges.

    ``alone``: steps that name another model are answered by this one, too.
    """

    def __init__(self, service: Completions, model: str, judge: str, budget: RunBudget, *, alone: bool) -> None:
        self.model = model
        self._service = service
        self._judge = judge
        self._budget = budget
        self._alone = alone

    def ask(self, body: Mapping[str, Any], *, judges: bool = False) -> AnsweredQuestion:
        """See `AnswerSource`."""
        request = ChatRequest(
            self._judge if judges else self._named(body["model"]),
            body["messages"],
            body.get("max_tokens", ANSWER_TOKENS),
            body.get("temperature"),
            body.get("tools") or (),
            body.get("tool_choice"),
            body.get("reasoning_split"),
        )
        self._budget.check(request)
        question, began = question_of(body, judges), perf_counter()
        try:
            completion = self._service.complete(request)
        except CompletionError as error:
            tokens, seconds = self._budget.take(error.usage), perf_counter() - began
            return AnsweredQuestion(question, error.message, fails=_failing(error), tokens=tokens, seconds=seconds)
        calls = tuple((call.name, call.arguments) for call in completion.calls)
        tokens, seconds = self._budget.take(completion.usage), round(perf_counter() - began, 3)
        return AnsweredQuestion(question, completion.text, calls, completion.finish, tokens=tokens, seconds=seconds)

    def _named(self, model: str) -> str:
        return self.model if self._alone or model == STUB_MODEL else model


def _failing(error: CompletionError) -> str:
    """The answer to the bot for an error that it handles as in production: an error of its question, or of the answer.

    Raises `ModelUnavailable` or `EvaluationStopped` for others.
    """
    if isinstance(error, InvalidRequest):
        return row_of(ERRORS, type(error), error.code).code
    if isinstance(error, ExcessiveCalls):
        return _OF_THE_MODEL
    if isinstance(error, _PUTS_OFF):
        raise ModelUnavailable(error) from error
    raise EvaluationStopped(str(error)) from error


class RecordedModel:
    """The answers of one try that was recorded, to the same questions in the same order."""

    def __init__(self, answers: Iterable[AnsweredQuestion]) -> None:
        self._left = deque(answers)
        self._lock = threading.Lock()

    def ask(self, body: Mapping[str, Any], *, judges: bool = False) -> AnsweredQuestion:
        """See `AnswerSource`."""
        question = question_of(body, judges)
        with self._lock:
            if not self._left:
                raise StaleRecording(f'the bot asks more questions than were recorded, first: "{question.last}"')
            answered = self._left.popleft()
        if question != answered.question:
            raise StaleRecording(_changed(answered.question, question))
        return answered

    def end(self) -> None:
        """Raise `StaleRecording` where not all has been asked for."""
        if self._left:
            raise StaleRecording(
                f'the bot asks fewer questions than were recorded, without: "{self._left[0].question.last}"'
            )


def question_of(body: Mapping[str, Any], judges: bool = False) -> ModelQuestion:
    """A question in short. Which model is asked, and what the service calls a call, is no part of it.

    ``judges``: it is for the judge, and follows the conversation.
    """
    first, *others = body["messages"]
    exchange = [_without_ids(message) for message in others]
    last = " ".join(asked(dict(body)).rpartition(THE_QUESTION if judges else "\0")[2].split())
    quoted = last if len(last) <= _QUOTED else f"{last[:_QUOTED]}…"
    return ModelQuestion(_short(first), _short(body.get("tools") or []), _short(exchange), quoted)


def _without_ids(message: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in message.items() if key != "tool_call_id"}
    if calls := message.get("tool_calls"):
        kept["tool_calls"] = [call["function"] for call in calls]
    return kept


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def _changed(then: ModelQuestion, now: ModelQuestion) -> str:
    """In what a question differs from the one that was recorded."""
    if then.instructions != now.instructions:
        return "the text for the model has changed: its instructions, the facts or the known values"
    if then.tools != now.tools:
        return "the tools or the exits that the model may use have changed"
    if then.last != now.last:
        return f'the conversation differs: the model is asked "{now.last}", and was asked "{then.last}"'
    return f'what came before "{now.last}" has changed: messages, or the results of tools'


class ModelProxy:
    """Speaks for the model in one try. ``answers`` is all that was asked; ``trouble`` is why the try counts for nothing."""

    def __init__(self, source: AnswerSource) -> None:
        self.answers: list[AnsweredQuestion] = []
        self.trouble: BotError | None = None
        self._source = source
        self._lock = threading.Lock()

    def speak(self, body: dict[str, Any]) -> ModelAnswer | ErrorAnswer:
        """Answer the bot: a `bot.emulator.completion.completion_api.Speaker`. After a trouble nobody is asked any more."""
        answered = self._ask(body)
        return failure("server_error") if answered is None else answered.item()

    def judge(self, messages: Sequence[Mapping[str, str]]) -> str:
        """What the judging model answers. Empty where there is none."""
        answered = self._ask({"messages": list(messages), "temperature": 0}, judges=True)
        return "" if answered is None else answered.text

    def _ask(self, body: Mapping[str, Any], *, judges: bool = False) -> AnsweredQuestion | None:
        if self.trouble is not None:
            return None
        try:
            answered = self._source.ask(body, judges=judges)
        except (EvaluationStopped, ModelUnavailable, StaleRecording) as error:
            with self._lock:
                self.trouble = self.trouble or error
            return None
        with self._lock:
            self.answers.append(answered)
        return answered


SUFFIX = ".recorded.json"
RecordedTries = list[tuple[AnsweredQuestion, ...]]
"""The answers of each try."""


class UnreadableRecording(BotError):
    """A file is no recording."""


class Recordings:
    """The recordings of a bot's evaluations: by evaluation and model, the answers of each try."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Path, dict[str, dict[str, RecordedTries]]] = {}

    def of(self, evaluation: Transcript) -> Mapping[str, RecordedTries]:
        """The recorded tries of an evaluation, by model. Raises `UnreadableTexts`."""
        return self._file(self.path(evaluation)).get(evaluation.name, {})

    def keep(self, evaluation: Transcript, model: str, tries: RecordedTries, names: Collection[str]) -> Path:
        """Write an evaluation's tries with a model in place of those that are there. Raises `OSError`.

        ``names`` are those of all evaluations: what was recorded of others in that file is no longer wanted.
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
        """The file that its recordings stand in, or will."""
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
        advice = "delete it, or write it anew with `bot test --model --record`"
        raise UnreadableRecording(f"{path} cannot be read as a recording: {advice}") from error


def _written(known: Mapping[str, Mapping[str, RecordedTries]]) -> str:
    """The file's text: one line for each answer, so that an edit shows as what it is."""
    named = []
    for name, models in sorted(known.items()):
        tried = []
        for model, tries in sorted(models.items()):
            held = ",\n".join("   [\n    " + ",\n    ".join(map(_line, answers)) + "\n   ]" for answers in tries)
            tried.append(f"  {_json(model)}: [\n{held}\n  ]")
        named.append(f" {_json(name)}: {{\n" + ",\n".join(tried) + "\n }")
    return "{\n" + ",\n".join(named) + "\n}\n"


def _line(answer: AnsweredQuestion) -> str:
    return _json(_plain(answer))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(answer: AnsweredQuestion) -> dict[str, Any]:
    """An answer as it stands in the file: what it leaves out is as usual."""
    usual = AnsweredQuestion(answer.question)
    return {
        name: value for name, value in asdict(answer).items() if value != getattr(usual, name) or name == "question"
    }


def _answered(plain: Mapping[str, Any]) -> AnsweredQuestion:
    calls = tuple((str(name), str(arguments)) for name, arguments in plain.get("calls", ()))
    asked, answered = plain.get("tokens", (0, 0))
    more = {"question": ModelQuestion(**plain["question"]), "calls": calls, "tokens": (int(asked), int(answered))}
    return AnsweredQuestion(**{**plain, **more})
