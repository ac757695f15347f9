"""The way of every request: key, limits, body, model, quota, script (spec: "Endpoints", "Authentication")."""

import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from bot.clock import Clock, SystemClock
from bot.emulator.completion import replies, requests
from bot.emulator.completion.account import Account
from bot.emulator.completion.answers import Answer, Refusal, refuse
from bot.emulator.completion.behaviour import Behaviour
from bot.emulator.completion.completion import Completion
from bot.emulator.completion.plugin import required_domain
from bot.emulator.completion.replies import Pace, Reply
from bot.emulator.completion.requests import Incoming, Received
from bot.emulator.completion.script import Script

Body = dict[str, Any]


class Api:
    """Answers requests; safe for threads. ``keep`` bounds how many requests are remembered."""

    def __init__(self, clock: Clock, account: Account, behaviour: Behaviour, keep: int | None) -> None:
        self.script = Script()
        self.pieces_per_second: float | None = None
        self.received: deque[Received] = deque(maxlen=keep)
        self.counts: Counter[str] = Counter()
        self.changed = threading.Condition(threading.RLock())
        self._clock = clock
        self._account = account
        self._behaviour = behaviour
        self._serial = 0

    def respond(self, incoming: Incoming) -> Reply:
        """Answer a request; everything that is wrong with it ends in an error of the specification's shape."""
        try:
            body, problem = requests.read_json(incoming.raw), None
        except (ValueError, RecursionError) as error:
            body, problem = {}, f"the body is no JSON object: {error}"
        key_in, key = requests.find_key(incoming, body)
        try:
            reply = self._reply(incoming, key, body, problem)
        except Refusal as refusal:
            reply = replies.no_answer(refusal.failure, self._behaviour)
        received = requests.received(incoming, body, key_in, reply.status, reply.error)
        with self.changed:
            self.received.append(received)
        answered = [f"answered {reply.status}"] if reply.status else []
        self.count("requests", *answered, *([f"refused {reply.error}"] if reply.error else []))
        return reply

    def count(self, *names: str) -> None:
        """Count something, and wake everybody who waits for it."""
        with self.changed:
            self.counts.update(names)
            self.changed.notify_all()

    def _reply(self, incoming: Incoming, key: Any, body: Body, problem: str | None) -> Reply:
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

    def _models(self, body: Body) -> Reply:
        listed = [model.record() for model in self._account.models.values()]
        return self._unless_scripted("models", {"object": "list", "data": listed})

    def _plugin_check(self, body: Body) -> Reply:
        with self.changed:
            return self._unless_scripted("plugin/check", {"status": self._account.plugin.check(body)})

    def _plugin_update(self, body: Body) -> Reply:
        return self._unless_scripted("plugin/update", {"version": self._account.plugin.version})

    def _unless_scripted(self, endpoint: str, body: Body) -> Reply:
        item = self.script.next(endpoint, body)
        if item is None or isinstance(item, Answer):
            return replies.data(body)
        return replies.no_answer(item, self._behaviour)

    def _chat(self, body: Body) -> Reply:
        requests.check_chat(body, self._behaviour)
        return self._say("chat/completions", body, lambda completion: completion.body())

    def _plugin_chat(self, body: Body) -> Reply:
        required_domain(body)
        requests.check_messages(body.get("messages"))
        requests.check_model(body, required=False)
        model = body.get("model") or next(iter(self._account.models))
        return self._say("plugin/chat", {**body, "model": model, "stream": False}, self._plugin_body)

    def _plugin_body(self, completion: Completion) -> Body:
        text = completion.text
        return {
            "completion": completion.body(),
            "message": {"message": {"role": "assistant", "content": text}},
            "reply": {"reply": text},
            "data": {"data": {"content": text}},
        }[self._behaviour.plugin_chat]

    def _say(self, endpoint: str, body: Body, shape: Callable[[Completion], Body]) -> Reply:
        self._account.check_model(body["model"], with_tools=requests.with_tools(body))
        with self.changed:
            self._account.quotas.check(self._clock.now())
        item = self.script.next(endpoint, body)
        if not isinstance(item, Answer):
            assert item is not None, "a chat is always answered"
            return replies.no_answer(item, self._behaviour)
        completion = self._completion(item, body)
        pace = self._pace(item)
        if body.get("stream"):
            return replies.streamed(item, completion, pace)
        return replies.whole(item, completion, shape(completion), pace)

    def _completion(self, answer: Answer, body: Body) -> Completion:
        now = self._clock.now()
        with self.changed:
            self._serial += 1
            completion = Completion(
                answer,
                self._behaviour,
                serial=self._serial,
                model=body["model"],
                created=int(now.timestamp()),
                prompt=requests.text_of(body),
                most_tokens=body.get("max_tokens") or requests.MAX_TOKENS,
            )
            self._account.quotas.use(completion.total_tokens, now)
            return completion

    def _pace(self, answer: Answer) -> Pace | None:
        if answer.delay:
            return Pace(SystemClock(), answer.delay, SystemClock().elapsed())
        if self.pieces_per_second:
            return Pace(self._clock, 1 / self.pieces_per_second, self._clock.elapsed())
        return None


ENDPOINTS: dict[str, tuple[str, Callable[[Api, Body], Reply]]] = {
    "chat/completions": ("POST", Api._chat),
    "models": ("GET", Api._models),
    "plugin/check": ("POST", Api._plugin_check),
    "plugin/chat": ("POST", Api._plugin_chat),
    "plugin/update": ("GET", Api._plugin_update),
}
"""The endpoints under the base address, each with its method."""
