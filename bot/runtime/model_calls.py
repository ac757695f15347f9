"""Performs the calls of AI steps: asks a model within a budget, and the next model if that one fails."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any

from bot.core.alarms import Alarms
from bot.core.clock import Clock
from bot.core.effects import AskModel, JudgeAnswer
from bot.core.immutable import immutable, mutable
from bot.core.values import Usage
from bot.runtime.model_answer import AnswerReader, AnswerStopped, answer_value
from bot.runtime.performers import CallAttempt, Say
from bot.services.ai.ai_client import Completions
from bot.services.ai.ai_errors import (
    CompletionError,
    ContentRefused,
    CutStream,
    EmptyAnswer,
    ExcessiveCalls,
    InvalidRequest,
    ModelNotInPackage,
    NoToolSupport,
    NotTheService,
    PackageRequired,
    PromptTooLong,
    ProviderError,
    QuotaExceeded,
    ServerError,
    ServiceNotReached,
    ServiceRateLimited,
    ServiceTimedOut,
    ServiceUnauthorized,
)
from bot.services.ai.chat_completion import ChatRequest
from bot.store.files import StoreUnavailable
from bot.store.rows import CallRow

MOST_FAILURES = 3  # of different contacts' questions in a row, until a model is left alone
PAUSE = timedelta(seconds=30)


@mutable
class _Trouble:
    contacts: set[str] = field(default_factory=set)  # whose questions failed since the last answer
    until: float | None = None  # by `Clock.elapsed`, the model is left alone until then


class ModelBreaker:
    """Says which models may be asked. Safe to use from many threads.

    However often one contact's questions fail, they count once, so one contact alone cannot close a model to the
    others. A probe that never comes back blocks nobody: giving it out begins another pause.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._troubles: dict[str, _Trouble] = {}

    def allows(self, model: str) -> bool:
        """True if the model may be asked now. After a pause one caller may ask, and the others wait until it reports
        the result.
        """
        with self._lock:
            trouble = self._troubles.get(model)
            if trouble is None or trouble.until is None:
                return True
            now = self._clock.elapsed()
            if now < trouble.until:
                return False
            trouble.until = now + PAUSE.total_seconds()
            return True

    def failed(self, model: str, contact: str, pause: timedelta | None = None) -> None:
        """The model failed at a contact's question. With ``pause`` it is not asked for so long."""
        with self._lock:
            now = self._clock.elapsed()
            trouble = self._troubles.setdefault(model, _Trouble())
            if len(trouble.contacts) < MOST_FAILURES:
                trouble.contacts.add(contact)
            if pause is None and len(trouble.contacts) >= MOST_FAILURES:
                pause = PAUSE
            if pause is not None:
                trouble.until = max(now + pause.total_seconds(), trouble.until or 0.0)

    def succeeded(self, model: str) -> None:
        """The model answered."""
        with self._lock:
            self._troubles.pop(model, None)


LONGEST_WAIT = timedelta(seconds=30)
"""How long a contact may wait for a service that says when it will answer again."""

USED_UP = "model-budget-used-up"
_MORE = "it is renewed at midnight (UTC); see `bot usage --by contact`, and raise `budget: {all: ...}` if this is as it should be"
REFUSED = "model-refused"
_UNOPENED = 'model "%s" closes thoughts that it has not opened (</think>): its answers are sent whole from now on'

log = logging.getLogger(__name__)


@immutable
class _Failure:
    """The meaning of an error: the step's ``outcome``, and who has to act.

    ``counts``: the service fails whatever it is asked. Only that counts for the circuit breaker, and only before the
    answer has begun: nobody can leave all other contacts without the model by what they write. ``mend``: the operator
    has to do something, so it is an error in the log. ``others``: another model may fare better. ``costs``: a model may
    have read the question, so its tokens are counted, be it by estimate.
    """

    outcome: str
    counts: bool
    mend: bool
    others: bool
    costs: bool


FAILURES: Mapping[type[CompletionError], _Failure] = {
    #                              outcome  counts  mend  others  costs
    ServiceNotReached: _Failure("down", True, False, False, False),
    ServiceRateLimited: _Failure("down", True, False, False, False),
    ServerError: _Failure("down", True, False, True, True),
    ProviderError: _Failure("down", True, False, True, True),
    NotTheService: _Failure("down", True, False, True, True),
    CutStream: _Failure("down", True, False, True, True),
    ServiceTimedOut: _Failure("timeout", True, False, True, True),
    ServiceUnauthorized: _Failure("refused", True, True, False, False),
    PackageRequired: _Failure("refused", True, True, True, False),
    ModelNotInPackage: _Failure("refused", True, True, True, False),
    QuotaExceeded: _Failure("quota", True, True, True, False),
    InvalidRequest: _Failure("refused", False, True, True, True),
    PromptTooLong: _Failure("refused", False, False, True, True),
    ContentRefused: _Failure("unsafe", False, False, True, True),
    NoToolSupport: _Failure("no_tools", False, False, False, True),  # the same model is to be asked otherwise
    EmptyAnswer: _Failure("empty", False, False, True, True),
    ExcessiveCalls: _Failure("down", False, False, True, True),
}
"""The meaning of each error of a request."""

_REFUSALS: Mapping[type[CompletionError], str] = {
    ServiceUnauthorized: "the service refuses the key",
    PackageRequired: "only customers with an active package may use it",
    ModelNotInPackage: "it is not in the account's package",
    QuotaExceeded: "its quota is used up",
}
"""The refusals that the operator has to put right, or wait for: each is an alarm until the model answers."""


class ModelCalls:
    """Performs `AskModel`. Safe to use from many threads.

    ``models`` are those of a bot whose steps name none. ``used`` gives the tokens of a contact, or of all, since a
    time; ``call`` calls a handler by name: one that judges texts. A budget is
    looked at before each request: an answer that has begun is not stopped by it. Among ``alarms`` there is one while
    the budget of all contacts is used up, and one for each model that the account may not ask now (`_REFUSALS`).
    Outcomes beside ``done`` (see `bot.runtime.model_answer.answer_value`): ``over_budget``, ``timeout``, ``down``,
    ``quota``, ``refused``, ``no_tools``, ``unsafe`` (a moderator or the service's filter did not let a text through),
    ``empty``.
    """

    def __init__(
        self,
        service: Completions,
        breaker: ModelBreaker,
        models: Sequence[str],
        used: Callable[[str | None, datetime], int],
        call: Callable[[str, Mapping[str, Any], str], CallAttempt | None],
        clock: Clock,
        alarms: Alarms,
    ) -> None:
        self._service = service
        self._breaker = breaker
        self._models = models
        self._used = used
        self._call = call
        self._clock = clock
        self._alarms = alarms
        self._failures: dict[str, str] = {}  # by model, the outcome of the last one
        self._whole: set[str] = set()  # models whose answers may turn out to be thoughts

    def __call__(self, row: CallRow, say: Say) -> CallAttempt:
        """Ask for an answer. Raises nothing."""
        effect = row.effect
        assert isinstance(effect, AskModel)
        if row.said:  # the process ended in the middle of an answer: another one would not go on with it
            models = effect.models or self._models
            used = tuple(_request(effect, model, effect.messages).estimate("") for model in models[:1])
            return CallAttempt("done", answer_value("", "", row.said, "cut"), usage=used)
        return self._ask_in_turn(row, effect, say)

    def judge(self, row: CallRow, say: Say) -> CallAttempt:
        """Perform `JudgeAnswer`. A model that has not answered is asked first. Raises nothing."""
        effect = row.effect
        assert isinstance(effect, JudgeAnswer)
        models = sorted(effect.by.models or self._models, key=lambda model: model == effect.answered_by)
        return self(replace(row, effect=replace(effect.by, models=tuple(models))), say)

    def _over_budget(self, contact: str, effect: AskModel, used: tuple[Usage, ...]) -> CallAttempt | None:
        """The end of a call whose budget is used up; None if it is not. ``used`` is what the store does not
        know yet.
        """
        midnight = self._clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
        budget, just = effect.budget, sum(usage.counted for usage in used)
        try:
            if budget.turn is not None and self._used(contact, budget.since or midnight) + just >= budget.turn:
                return CallAttempt("over_budget", detail=f"the {budget.turn} tokens of one turn are used up")
            if budget.contact is not None and self._used(contact, midnight) + just >= budget.contact:
                return CallAttempt("over_budget", detail=f"the contact's {budget.contact} tokens of today are used up")
            if budget.all is not None and self._used(None, midnight) + just >= budget.all:
                what = f"today's {budget.all} tokens of all contacts are used up"
                self._alarms.report(USED_UP, f"flow {effect.flow}: {what}", _MORE, about=effect.flow)
                return CallAttempt("over_budget", detail=what)
        except StoreUnavailable as error:
            return CallAttempt("down", detail=str(error), again=True)
        self._alarms.clear(USED_UP, effect.flow)
        return None

    def _ask_in_turn(self, row: CallRow, effect: AskModel, say: Say) -> CallAttempt:
        """Ask the first model that may be asked, and the next ones while nothing has been said."""
        until = self._clock.elapsed() + effect.seconds
        models = effect.models or self._models
        try:
            for place in effect.fresh:
                self._judge(row, effect.heard, "the model was to read", effect.messages[place]["content"])
        except AnswerStopped as stopped:
            return CallAttempt(stopped.outcome, detail=str(stopped))
        result = self._none_asked(models)
        used: tuple[Usage, ...] = ()
        failures: tuple[tuple[str, str], ...] = ()
        details: list[str] = []
        left = deque((model, effect.messages) for model in models)
        while left:
            over = self._over_budget(row.contact, effect, used)
            if over is not None:
                result = over
                break
            model, messages = left.popleft()
            if not self._breaker.allows(model):
                continue
            judge = partial(self._judge, row, effect.said, "the model said")
            request = _request(effect, model, messages)
            most = 0 if model in self._whole else effect.paragraphs
            answer = AnswerReader(request, most, say, judge, lambda: self._clock.elapsed() >= until)
            try:
                others = sum(other != model for other, _ in left)
                ended = self._ask(answer, until, others)
            except CompletionError as error:
                failure = self._failure(row, answer, error)
                used += failure.usage
                failures += ((model, FAILURES[type(error)].outcome),)
                details += [failure.detail, answer.remark]
                if answer.said or not result.again:
                    result = replace(failure, detail="")
                if answer.said or not FAILURES[type(error)].others or self._clock.elapsed() >= until:
                    break
                if isinstance(error, PromptTooLong) and effect.history and messages is effect.messages:
                    left.appendleft((model, _without_history(effect)))
            else:
                used += ended.usage
                details.append(answer.remark)
                result = ended
                break
        detail = "; ".join(filter(None, [*details, result.detail]))
        return replace(result, detail=detail, usage=used, failures=failures)

    def _ask(self, answer: AnswerReader, until: float, others: int) -> CallAttempt:
        """Ask one model. Until it begins to answer, a share of the time stays reserved for the ``others``, which can be
        asked in its place.
        """
        seconds = max(until - self._clock.elapsed(), 0.1)
        first = seconds / (others + 1)
        try:
            with self._service.stream(answer.request, patient=not others, seconds=seconds, first=first) as stream:
                ended = answer.read(stream)
        except AnswerStopped as stopped:
            ended = CallAttempt(stopped.outcome, detail=str(stopped), usage=(answer.used(),))
        finally:
            if answer.unopened and answer.request.model not in self._whole:
                self._whole.add(answer.request.model)
                log.warning(_UNOPENED, answer.request.model)
        self._breaker.succeeded(answer.request.model)
        self._alarms.clear(REFUSED, answer.request.model)
        return ended

    def _judge(self, row: CallRow, moderator: str | None, what: str, text: str) -> None:
        """Raise `AnswerStopped` unless the moderator says True. A moderator that fails lets nothing through."""
        if moderator is None:
            return
        verdict = self._call(moderator, {"text": text}, f"{row.key}.{sha256(text.encode()).hexdigest()[:16]}")
        if verdict is None:
            raise AnswerStopped("unsafe", f'moderate: there is no handler "{moderator}" to judge what {what}')
        if verdict.outcome != "done":
            raise AnswerStopped("unsafe", f'moderate: "{moderator}" failed to judge what {what}: {verdict.detail}')
        if verdict.value is not True:
            raise AnswerStopped("unsafe", f'moderate: "{moderator}" refused what {what}')

    def _failure(self, row: CallRow, answer: AnswerReader, error: CompletionError) -> CallAttempt:
        """The result of a failed answer. Once something was sent, the call is done: nobody gets the same text twice."""
        model = answer.request.model
        self._note(row, answer, error)
        used = (error.usage or answer.used(),) if FAILURES[type(error)].costs else ()
        detail = f'model "{model}": {error}'
        if answer.said:
            return CallAttempt("done", answer_value(model, "", answer.said, "cut"), detail, usage=used)
        again = error.retry and (error.reset_in is None or error.reset_in <= LONGEST_WAIT)
        return CallAttempt(FAILURES[type(error)].outcome, None, detail, again, error.reset_in, used)

    def _note(self, row: CallRow, answer: AnswerReader, error: CompletionError) -> None:
        """Log a failure, and count it if the service fails whatever it is asked."""
        model, failure = answer.request.model, FAILURES[type(error)]
        level = logging.ERROR if failure.mend else logging.WARNING
        log.log(level, 'model "%s": %s: %s', model, type(error).__name__, error.advice)
        if not failure.counts or (answer.begun and not isinstance(error, QuotaExceeded)):
            self._breaker.succeeded(model)
            return
        renewed_in = error.reset_in if isinstance(error, QuotaExceeded) else None
        if type(error) in _REFUSALS:
            until = f" until {self._clock.now() + renewed_in:%Y-%m-%d %H:%M} UTC" if renewed_in is not None else ""
            self._alarms.report(REFUSED, f'model "{model}": {_REFUSALS[type(error)]}{until}', error.advice, about=model)
        self._breaker.failed(model, row.contact, renewed_in)
        self._failures[model] = failure.outcome

    def _none_asked(self, models: Sequence[str]) -> CallAttempt:
        if not models:
            log.error("no model is named: set BOT_AI_MODEL")
            return CallAttempt("refused", detail="no model is named: set BOT_AI_MODEL")
        outcome = self._failures.get(models[0], "down")
        return CallAttempt(outcome, detail="each model failed lately and is left alone for a while")


def _request(effect: AskModel, model: str, messages: Sequence[Mapping[str, Any]]) -> ChatRequest:
    return ChatRequest(
        model, messages, effect.max_tokens, effect.temperature, effect.tools, reasoning_split=effect.reasoning_split
    )


def _without_history(effect: AskModel) -> tuple[dict[str, Any], ...]:
    return (effect.messages[0], *effect.messages[1 + effect.history :])
