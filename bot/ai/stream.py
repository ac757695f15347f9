"""A streamed answer: Server-Sent Events, however they are cut into chunks (spec: Stream chunk)."""

from collections.abc import Iterator

from bot.ai.assembly import Assembly
from bot.ai.chat import ChatRequest, Completion
from bot.ai.errors import CompletionError, CutStream, NotTheService
from bot.ai.refusals import failure, read_object
from bot.core.text import json_object
from bot.core.values import Usage
from bot.http_client import Ambiguous, Streamed

EVENT_BYTES = 1 << 20
_DONE = "[DONE]"


class Events:
    """Takes the ``data`` of events out of bytes, which may be cut anywhere. Lines end with LF, CRLF or CR."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[str] = []
        self._size = 0  # of the event so far
        self._after_cr = False

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The events that are complete with this chunk. Raises `NotTheService` for one of more than 1 MiB."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        for part in chunk.splitlines(keepends=True):
            self._line += part
            self._size += len(part)
            if self._size > EVENT_BYTES:
                raise NotTheService(f"an event of the stream has more than {EVENT_BYTES} bytes")
            if part.endswith((b"\r", b"\n")):
                yield from self._end_line()
        if chunk:
            self._after_cr = chunk.endswith(b"\r")

    def end(self) -> Iterator[str]:
        """What has come of an event that the end of the stream has cut."""
        for _ in range(2):  # the line, and the empty one that ends an event
            yield from self._end_line()

    def _end_line(self) -> Iterator[str]:
        line = self._line.rstrip(b"\r\n").decode(errors="replace").removeprefix("\ufeff")
        self._line.clear()
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
        elif not line:
            if self._data:
                yield "\n".join(self._data)
            self._data.clear()
            self._size = 0


class Stream:
    """A model's answer while it comes. Iterating gives its text, piece by piece, and can be done once.

    ``completion`` is there after the end; ``begun`` tells whether anything has come. An answer has ended with ``[DONE]`` or with a ``finish_reason``: whatever
    fails after the latter matters to nobody. Iterating raises the tree of `bot.ai.errors`.
    """

    completion: Completion

    def __init__(self, streamed: Streamed, request: ChatRequest) -> None:
        self._streamed = streamed
        self._assembly = Assembly(request)
        self.begun = False
        self._done = False

    @property
    def usage(self) -> Usage:
        """What has been used up so far."""
        return self._assembly.usage()

    def __iter__(self) -> Iterator[str]:
        try:
            for text in self._texts():
                if text:
                    yield text
            self.completion = self._assembly.completion()
        except CompletionError as error:
            error.usage = self.usage if self.begun else None
            raise

    def _texts(self) -> Iterator[str]:
        if "event-stream" in self._streamed.headers.get("Content-Type", ""):
            yield from self._events()
        else:  # it came whole, although a stream was asked for
            yield self._take(read_object(self._streamed.status, self._streamed.headers, b"".join(self._chunks())))
        yield self._assembly.end()

    def _events(self) -> Iterator[str]:
        events = Events()
        for chunk in self._chunks():
            for data in events.feed(chunk):
                yield self._event(data)
                if self._done:
                    return
        for data in events.end():
            if data == _DONE or json_object(data):
                yield self._event(data)
        if not self._done and not self._assembly.finish:
            raise CutStream("the answer has no end")

    def _event(self, data: str) -> str:
        if not data.strip():  # a sign of life
            return ""
        if data.strip() == _DONE:
            self._done = True
            return ""
        piece = json_object(data)
        if not piece:
            raise NotTheService("an event of the stream is no JSON object")
        return self._take(piece)

    def _take(self, piece: dict[str, object]) -> str:
        text = self._assembly.take(piece)
        self.begun = True
        return text

    def _chunks(self) -> Iterator[bytes]:
        try:
            yield from self._streamed.chunks
        except Ambiguous as error:
            if not self._assembly.finish:
                raise failure(error) from error
