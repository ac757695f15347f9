"""One model's answer while it arrives: each paragraph is moderated and sent as soon as it is complete."""

from collections.abc import Callable, Sequence
from typing import Any

from bot.core.errors import BotError
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import is_blank, json_object, texts_in
from bot.core.values import Usage
from bot.runtime.performers import CallAttempt, Say
from bot.services.ai.ai_client import Stream
from bot.services.ai.ai_errors import EmptyAnswer, ServiceTimedOut
from bot.services.ai.chat_completion import FILTERED, ChatRequest, Completion, ToolCall

_CHARACTERS = 8  # the most characters of a token, on average: a longer answer ignores its `max_tokens`


class AnswerStopped(BotError):
    """Reading an answer was stopped, although the model has not failed. ``outcome``: ``unsafe`` or ``timeout``."""

    def __init__(self, outcome: str, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome


class AnswerReader:
    """Reads an answer's stream. The first ``most`` paragraphs are sent when each is complete; the rest is the
    answer's text.

    A model may end thoughts that it has not begun: then all text before was thoughts. The paragraphs that were not sent
    are dropped, and no further paragraph is sent. ``thoughts_sent`` counts the paragraphs of thoughts that were.

    ``judge`` gets each text before it is sent or returned, including the texts in calls, and then the whole answer so
    far; it raises `AnswerStopped` if that may not be sent. ``is_late`` says whether the time for the whole answer is
    over.
    """

    def __init__(
        self, request: ChatRequest, most: int, say: Say, judge: Callable[[str], None], is_late: Callable[[], bool]
    ) -> None:
        self.request = request
        self.said = 0
        self.thoughts_sent = 0
        self.unopened = 0
        self._most = most
        self._say = say
        self._judge = judge
        self._is_late = is_late
        self._judged: list[str] = []
        self._paragraphs = Paragraphs()
        self._rest: list[str] = []
        self._characters = 0
        self._stream: Stream | None = None

    def read(self, stream: Stream) -> CallAttempt:
        """Read the answer to its end, or as far as it may be read. Raises `bot.services.ai.ai_errors.CompletionError`
        and `AnswerStopped`.
        """
        self._stream = stream
        for piece in stream:
            self._take(piece)
            if self._characters > _CHARACTERS * self.request.max_tokens:
                return self._done((), "length", stream.usage)
        completion = stream.completion
        if completion.finish == FILTERED:  # the part that came may say the opposite of the whole
            raise AnswerStopped("unsafe", "content filter: the service has cut the answer")
        return self._done(completion.calls, _finish(completion), completion.usage)

    @property
    def remark(self) -> str:
        """The remark about this answer in the trace; empty if there is nothing to say."""
        return (
            f"paragraphs that were sent and turned out to be thoughts: {self.thoughts_sent}"
            if self.thoughts_sent
            else ""
        )

    @property
    def begun(self) -> bool:
        """True if anything of an answer has come, even if it is only reasoning or a call."""
        return self._stream is not None and self._stream.begun

    def used(self) -> Usage:
        """The tokens used so far: at least those of the request, once it was sent."""
        return self.request.estimate("") if self._stream is None else self._stream.usage

    def _take(self, piece: str) -> None:
        if self._is_late():
            raise ServiceTimedOut("the answer takes too long")
        self._characters += len(piece)
        self._drop_thoughts()
        for paragraph in self._paragraphs.feed(piece):
            if is_blank(paragraph):
                continue
            if self.said < self._most:
                self._send(paragraph)
            else:
                self._rest.append(paragraph)

    def _drop_thoughts(self) -> None:
        """Drop what turned out to be thoughts."""
        if self._stream is not None and self._stream.unopened > self.unopened:
            self.unopened, self.thoughts_sent, self._most = self._stream.unopened, self.said, 0
            self._paragraphs, self._rest = Paragraphs(), []

    def _send(self, paragraph: str) -> None:
        self._check(paragraph)
        if not self._say(paragraph):
            raise AnswerStopped("timeout", "nobody waits for the answer any more")
        self.said += 1

    def _check(self, text: str) -> None:
        """Have a text moderated alone, and together with all texts before it: parts may be harmless only when they are
        alone.
        """
        if not text:
            return
        self._judge(text)
        self._judged.append(text)
        if len(self._judged) > 1:
            self._judge("\n\n".join(self._judged))

    def _done(self, calls: Sequence[ToolCall], finish: str, usage: Usage) -> CallAttempt:
        self._drop_thoughts()
        text = "\n\n".join([*self._rest, self._paragraphs.rest()]).strip()
        if is_blank(text):
            text = ""
        if text:
            self._check(text)
        elif not calls and not self.said:
            raise EmptyAnswer("the model has answered nothing")
        self._check(_given(calls))
        called = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
        return CallAttempt(
            "done", answer_value(self.request.model, text, self.said, finish, called, usage), usage=(usage,)
        )


def answer_value(
    model: str, text: str, said: int, finish: str, calls: Sequence[dict[str, str]] = (), usage: Usage | None = None
) -> dict[str, Any]:
    """The value of the `bot.core.events.CallEnded` of a model.

    ``text`` is the text that was not sent as paragraphs. ``finish``: ``stop``, ``length`` (cut at its limit),
    ``tool_calls``, or ``cut``: the rest will never come. ``tokens`` is the usage, for the trace; 0 if it is not
    known.
    """
    tokens = 0 if usage is None else usage.prompt_tokens + usage.completion_tokens
    return {"text": text, "said": said, "calls": list(calls), "finish": finish, "model": model, "tokens": tokens}


def _given(calls: Sequence[ToolCall]) -> str:
    """The texts in the arguments of calls. Arguments that are no JSON object are passed to no tool."""
    return "\n".join(texts_in([list(json_object(call.arguments).values()) for call in calls]))


def _finish(completion: Completion) -> str:
    if completion.finish == "length":
        return "length"
    return "tool_calls" if completion.calls else "stop"


_FENCE = ("```", "~~~")
_ITEM = lazy_pattern(r"\s*([-*+•]|\d+[.)])\s")
_HEADING = lazy_pattern(r"#{1,6}\s")


class Paragraphs:
    """Cuts a stream of text at its blank lines. A list, a block of code, and a heading or a line with a colon with
    what follows it stay together.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []  # of the paragraph that is not complete
        self._line: list[str] = []  # the pieces of its last line
        self._in_code = False

    def feed(self, piece: str) -> list[str]:
        """The paragraphs that are complete with this piece of text."""
        first, *rest = piece.split("\n")
        self._line.append(first)
        complete = []
        for start in rest:
            complete += self._take("".join(self._line).rstrip())
            self._line = [start]
        return complete

    def rest(self) -> str:
        """The text that belongs to no complete paragraph."""
        return "\n".join([*self._lines, "".join(self._line)]).strip()

    def _take(self, line: str) -> list[str]:
        """Add a line. Returns the paragraph that is complete before this line or with it, if there is one."""
        complete = []
        if not line and not self._in_code and not self._may_go_on():
            return self._end()
        if line and not self._in_code and self._lines[-1:] == [""] and not self._goes_on(line):
            complete = self._end()
        if line.lstrip().startswith(_FENCE):
            self._in_code = not self._in_code
        self._lines.append(line)
        return complete

    def _end(self) -> list[str]:
        paragraph = "\n".join(self._lines).strip()
        self._lines = []
        return [paragraph] if paragraph else []

    def _last(self) -> str:
        return next((line for line in reversed(self._lines) if line), "")

    def _may_go_on(self) -> bool:
        """True if the paragraph may continue after a blank line."""
        return _introduces(self._last()) or _is_of_list(self._last())

    def _goes_on(self, line: str) -> bool:
        return _introduces(self._last()) or _is_of_list(line)


def _introduces(line: str) -> bool:
    return line.endswith(":") or bool(_HEADING.match(line))


def _is_of_list(line: str) -> bool:
    return bool(_ITEM.match(line)) or line.startswith("  ")
