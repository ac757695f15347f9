"""The answer to each request: key, limits, body, model, quota, queued answer (spec: "Endpoints", "Authentication")."""

import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from bot.core.clock import Clock, SystemClock
from bot.testing.emulator.completion import completion_requests
from bot.testing.emulator.completion.completion_account import CompletionAccount, required_domain
from bot.testing.emulator.completion.completion_requests import FIELDS, RawCompletionRequest, Received, asked
from bot.testing.emulator.completion.model_answers import (
    CompletionBehaviour,
    CompletionRefusal,
    EmulatedCompletion,
    ErrorAnswer,
    ModelAnswer,
    NoAnswer,
    Piece,
    RawAnswer,
    encode,
    refuse,
)
from bot.testing.emulator.emulator_server import read_object

JSON = "application/json"
EVENT_STREAM = "text/event-stream"

Ending = Literal["whole", "closed", "stalled"]


@dataclass(frozen=True, slots=True)
class Pace:
    """The speed of a model: one piece in so many seconds of a clock, since a point in time."""

    clock: Clock
    seconds: float
    since: float  # by `Clock.elapsed`


@dataclass(frozen=True, slots=True)
class CompletionReply:
    """An answer while it is sent; one without a ``status`` has no head. ``length`` is its ``Content-Length``.

    After its pieces it is ``whole``, or the connection is ``closed`` or ``stalled``. ``error`` is the name of the
    error.
    """

    status: int
    content_type: str = JSON
    pieces: Iterable[Piece] = ()
    length: int | None = None
    ending: Ending = "whole"
    pace: Pace | None = None
    error: str | None = None


def data(body: Any) -> CompletionReply:
    """JSON, with 200."""
    encoded = encode(body)
    return CompletionReply(200, JSON, [Piece(encoded)], len(encoded))


def no_answer(item: ErrorAnswer | RawAnswer | NoAnswer, behaviour: CompletionBehaviour) -> CompletionReply:
    """An answer that is no chat completion: an error, any bytes, or nothing at all."""
    if isinstance(item, NoAnswer):
        return CompletionReply(0, ending="stalled")
    if isinstance(item, RawAnswer):
        return CompletionReply(item.status, item.content_type, [Piece(item.body)], len(item.body))
    body = encode(item.body(behaviour))
    return CompletionReply(item.http, JSON, [Piece(body)], len(body), error=item.name)


def whole(answer: ModelAnswer, completion: EmulatedCompletion, body: Any, pace: Pace | None) -> CompletionReply:
    """A chat's answer in one body, after the time that the model needs."""
    if answer.endless is not None:
        return _ended(answer, CompletionReply(200, JSON, completion.blanks(), pace=pace))
    piece = Piece(encode(body), completion.steps)
    return _ended(answer, CompletionReply(200, JSON, [piece], len(piece.data), pace=pace))


def streamed(answer: ModelAnswer, completion: EmulatedCompletion, pace: Pace | None) -> CompletionReply:
    """A chat's answer as events."""
    return _ended(answer, CompletionReply(200, EVENT_STREAM, completion.events(), pace=pace))


def _ended(answer: ModelAnswer, reply: CompletionReply) -> CompletionReply:
    """The reply, ended where the answer says."""
    if answer.stall_after is not None:
        return replace(reply, pieces=_first(reply.pieces, answer.stall_after), ending="stalled")
    if answer.cut_after is None:
        return reply
    pieces = _first(reply.pieces, answer.cut_after)
    if not answer.cut_cleanly:
        return replace(reply, pieces=pieces, ending="closed")
    length = None if reply.length is None else min(reply.length, answer.cut_after)
    return replace(reply, pieces=pieces, length=length)


def _first(pieces: Iterable[Piece], count: int) -> Iterator[Piece]:
    for piece in pieces:
        if len(piece.data) >= count:
            yield Piece(piece.data[:count], piece.steps)
            return
        yield piece
        count -= len(piece.data)


Item = ModelAnswer | ErrorAnswer | RawAnswer | NoAnswer
Speaker = Callable[[dict[str, Any]], Item | str]

CHATS = ("chat/completions", "plugin/chat")
_QUOTED = 200


def echo(request: dict[str, Any]) -> str:
    """The answer if no other is set: the question again."""
    return f"You asked: {asked(request)[:_QUOTED]}"


class Script:
    """The queued answers. Safe for threads. ``speaker`` answers a chat if no answer is queued."""

    def __init__(self) -> None:
        self.speaker: Speaker = echo
        self._lock = threading.Lock()
        self._queued: defaultdict[str, deque[Item]] = defaultdict(deque)

    def queue(self, endpoint: str, item: Item) -> None:
        """Add an answer at the end. Raises `ValueError` if an endpoint has no such answer."""
        allowed = CHATS if isinstance(item, ModelAnswer) else tuple(FIELDS)
        if endpoint not in allowed:
            raise ValueError(f"{endpoint!r} must be one of {', '.join(allowed)}")
        with self._lock:
            self._queued[endpoint].append(item)

    def next(self, endpoint: str, request: dict[str, Any]) -> Item | None:
        """The answer that was queued first, else the speaker's answer to a chat, on the thread that answers it; else
        None.
        """
        with self._lock:
            if self._queued[endpoint]:
                return self._queued[endpoint].popleft()
        if endpoint not in CHATS:
            return None
        said = self.speaker(request)
        return ModelAnswer(said) if isinstance(said, str) else said

    @property
    def left(self) -> int:
        """The number of answers that are still queued."""
        with self._lock:
            return sum(map(len, self._queued.values()))


Body = dict[str, Any]


class CompletionApi:
    """Answers requests; safe for threads. ``keep`` bounds how many requests are remembered."""

    def __init__(
        self, clock: Clock, account: CompletionAccount, behaviour: CompletionBehaviour, keep: int | None
    ) -> None:
        self.script = Script()
        self.pieces_per_second: float | None = None
        self.received: deque[Received] = deque(maxlen=keep)
        self.counts: Counter[str] = Counter()
        self.changed = threading.Condition(threading.RLock())
        self._clock = clock
        self._account = account
        self._behaviour = behaviour
        self._serial = 0

    def respond(self, incoming: RawCompletionRequest) -> CompletionReply:
        """Answer a request. Everything that is wrong with it becomes an error in the specification's shape."""
        try:
            body, problem = read_object(incoming.raw) if incoming.raw else {}, None
        except (ValueError, RecursionError) as error:
            body, problem = {}, f"the body is no JSON object: {error}"
        key_in, key = completion_requests.find_key(incoming, body)
        try:
            reply = self._reply(incoming, key, body, problem)
        except CompletionRefusal as refusal:
            reply = no_answer(refusal.failure, self._behaviour)
        unknown = tuple(sorted({*completion_requests.unknown(incoming, body)}))
        seen = incoming.endpoint, incoming.method, incoming.headers, incoming.query, body
        received = Received(*seen, key_in, unknown, reply.status, reply.error)
        with self.changed:
            self.received.append(received)
        answered = [f"answered {reply.status}"] if reply.status else []
        self.count("requests", *answered, *([f"refused {reply.error}"] if reply.error else []))
        return reply

    def count(self, *names: str) -> None:
        """Count something, and wake all who wait for it."""
        with self.changed:
            self.counts.update(names)
            self.changed.notify_all()

    def _reply(self, incoming: RawCompletionRequest, key: Any, body: Body, problem: str | None) -> CompletionReply:
        if incoming.endpoint not in ENDPOINTS:
            refuse("invalid_request_error", "there is no such endpoint", 404)
        method, answer = ENDPOINTS[incoming.endpoint]
        if incoming.method != method:
            refuse("invalid_request_error", f"{incoming.method} is not possible here", 405)
        with self.changed:
            self._account.check_key(key)
            self._account.take(incoming.endpoint, self._clock.now())
        if problem is not None:
            refuse("invalid_request_error", problem)
        return answer(self, body)

    def _models(self, body: Body) -> CompletionReply:
        listed = [model.record() for model in self._account.models.values()]
        return self._unless_scripted("models", {"object": "list", "data": listed})

    def _plugin_check(self, body: Body) -> CompletionReply:
        with self.changed:
            return self._unless_scripted("plugin/check", {"status": self._account.plugin.check(body)})

    def _plugin_update(self, body: Body) -> CompletionReply:
        return self._unless_scripted("plugin/update", {"version": self._account.plugin.version})

    def _unless_scripted(self, endpoint: str, body: Body) -> CompletionReply:
        item = self.script.next(endpoint, body)
        if item is None or isinstance(item, ModelAnswer):
            return data(body)
        return no_answer(item, self._behaviour)

    def _chat(self, body: Body) -> CompletionReply:
        completion_requests.check_chat(body, self._behaviour)
        return self._say("chat/completions", body, lambda completion: completion.body())

    def _plugin_chat(self, body: Body) -> CompletionReply:
        required_domain(body)
        completion_requests.check_messages(body.get("messages"))
        completion_requests.check_model(body, required=False)
        model = body.get("model") or next(iter(self._account.models))
        return self._say("plugin/chat", {**body, "model": model, "stream": False}, self._plugin_body)

    def _plugin_body(self, completion: EmulatedCompletion) -> Body:
        text = completion.text
        return {
            "completion": completion.body(),
            "message": {"message": {"role": "assistant", "content": text}},
            "reply": {"reply": text},
            "data": {"data": {"content": text}},
        }[self._behaviour.plugin_chat]

    def _say(self, endpoint: str, body: Body, shape: Callable[[EmulatedCompletion], Body]) -> CompletionReply:
        self._account.check_model(body["model"], with_tools=completion_requests.with_tools(body))
        with self.changed:
            self._account.quotas.check(self._clock.now())
        item = self.script.next(endpoint, body)
        if not isinstance(item, ModelAnswer):
            assert item is not None, "a chat is always answered"
            return no_answer(item, self._behaviour)
        completion = self._completion(item, body)
        pace = self._pace(item)
        if body.get("stream"):
            return streamed(item, completion, pace)
        return whole(item, completion, shape(completion), pace)

    def _completion(self, answer: ModelAnswer, body: Body) -> EmulatedCompletion:
        now = self._clock.now()
        with self.changed:
            self._serial += 1
            completion = EmulatedCompletion(
                answer,
                self._behaviour,
                serial=self._serial,
                model=body["model"],
                created=int(now.timestamp()),
                prompt=completion_requests.text_of(body),
                most_tokens=body.get("max_tokens") or completion_requests.MAX_TOKENS,
            )
            self._account.quotas.use(completion.total_tokens, now)
            return completion

    def _pace(self, answer: ModelAnswer) -> Pace | None:
        if answer.delay:
            return Pace(SystemClock(), answer.delay, SystemClock().elapsed())
        if self.pieces_per_second:
            return Pace(self._clock, 1 / self.pieces_per_second, self._clock.elapsed())
        return None


ENDPOINTS: dict[str, tuple[str, Callable[[CompletionApi, Body], CompletionReply]]] = {
    "chat/completions": ("POST", CompletionApi._chat),
    "models": ("GET", CompletionApi._models),
    "plugin/check": ("POST", CompletionApi._plugin_check),
    "plugin/chat": ("POST", CompletionApi._plugin_chat),
    "plugin/update": ("GET", CompletionApi._plugin_update),
}
"""The endpoints under the base address, each with its method."""
