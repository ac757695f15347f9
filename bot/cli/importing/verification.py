"""Plays the conversations of another system on the imported bot, with the real engine, and compares what is said."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from difflib import SequenceMatcher
from typing import Any

from bot.checker.exploring.conversation_yaml import CONTACT, conversation_lines, document
from bot.checker.exploring.explorer import Explorer, ExternalEffect
from bot.checker.exploring.moves import (
    EffectResult,
    FileResult,
    HandlerResult,
    HttpResult,
    ModelResult,
    SendMove,
    StartMove,
    TapMove,
    WaitMove,
    WriteMove,
)
from bot.cli.importing.conversations import SourceConversation, SourceMessage, SourceTurn
from bot.cli.importing.imported import Fate, ImportedNode
from bot.cli.shared.output import counted
from bot.core.effects import AskModel, Call, Fetch, HttpRequest
from bot.core.immutable import immutable
from bot.core.messages import (
    Buttons,
    LinkButton,
    ListMessage,
    LocationMessage,
    MediaMessage,
    Message,
    TemplateMessage,
    TextMessage,
)
from bot.loading.program import Program
from bot.testing.conversations.transcript import is_meant
from bot.testing.conversations.transcript_reader import NOW

SaidPart = tuple[str, str]
"""A part of what is said: ``says``, ``choices`` or ``media``, and its text."""
_MOST_CALLS = 100  # of services and handlers in one turn


@immutable
class Difference:
    """A place where the new bot says something else. ``when`` is the turn, ``what`` both texts.

    ``reasons`` are the nodes of the report that explain it: those that this turn has passed, or else (``earlier``)
    those of the last turn before it that has passed some. Empty: nothing explains it.
    """

    conversation: str
    when: str
    what: str
    reasons: tuple[ImportedNode, ...]
    earlier: bool = False


@immutable
class Verification:
    """The result for all conversations. ``messages`` and ``same`` count parts of messages of the other system.

    ``tests`` are the conversations that are the same, each as the YAML of a test.
    """

    conversations: int = 0
    alike: int = 0
    messages: int = 0
    same: int = 0
    differences: tuple[Difference, ...] = ()
    tests: tuple[str, ...] = ()

    @property
    def unexplained(self) -> int:
        """The number of differences that no node explains."""
        return sum(not each.reasons for each in self.differences)

    @property
    def summary(self) -> str:
        """The numbers in a sentence or two."""
        if not self.conversations:
            return "The export has no conversations to compare."
        numbers = f"{counted(self.conversations, 'conversation')} of the export: {self.alike} the same; "
        numbers += f"{self.same} of {counted(self.messages, 'message')} the same."
        if not self.differences:
            return numbers
        explained = f" {counted(self.unexplained, 'difference')} NOT explained." if self.unexplained else ""
        return f"{numbers} {counted(len(self.differences) - self.unexplained, 'difference')} explained.{explained}"


def verify(
    conversations: Iterable[SourceConversation], nodes: Sequence[ImportedNode], program: Program
) -> Verification:
    """Play each conversation, and compare it turn by turn."""
    by_place: dict[str, list[ImportedNode]] = {}
    for node in nodes:
        if node.fate is not Fate.SAME:
            by_place.setdefault(node.place, []).append(node)
    messages = same = alike = 0
    differences: list[Difference] = []
    tests: list[str] = []
    played = [_PlayedConversation(conversation, program) for conversation in conversations]
    for each in played:
        found = list(each.differences(by_place))
        differences += found
        messages += each.messages
        same += each.same
        alike += not found
        if not found and each.is_writable:
            tests.append(each.written())
    return Verification(len(played), alike, messages, same, tuple(differences), tuple(tests))


class _PlayedConversation:
    def __init__(self, conversation: SourceConversation, program: Program) -> None:
        self._conversation = conversation
        self._program = program
        self._explorer = Explorer(program.library, program.extensions)
        self._draws = deque(conversation.draws)
        if conversation.draws:
            self._explorer.library = self._explorer.library.with_draw(self._draw)
        self._http = list(conversation.http)
        self._models = deque(conversation.models)
        self._handlers = {name: deque(results) for name, results in conversation.handlers.items()}
        self.messages = self.same = 0
        now = conversation.now or NOW
        self._began = now if now.tzinfo is not None else now.replace(tzinfo=program.library.bot.timezone)
        self._state = self._explorer.begin(conversation.contact, self._began)
        known = conversation
        session = replace(
            self._state.session,
            name=known.contact_name,
            tags=known.tags,
            language=known.language,
            kept_variables=dict(known.kept),
        )
        self._state = replace(self._state, session=session)

    def differences(self, by_place: Mapping[str, Sequence[ImportedNode]]) -> Iterator[Difference]:
        """Play all turns; yield each difference. Nodes of earlier turns explain it, too."""
        reasons: tuple[ImportedNode, ...] = ()
        for number, turn in enumerate(self._conversation.turns, start=1):
            wanted = list(_parts_of(turn.said))
            visited = (*turn.visited, *(said.place for said in turn.said))
            passed = tuple(node for place in dict.fromkeys(visited) for node in by_place.get(place, ()))
            reasons = passed or reasons
            problem, found = self._take(turn)
            blocks = SequenceMatcher(None, wanted, found, autojunk=False).get_matching_blocks()
            self.messages += len(wanted)
            self.same += sum(block.size for block in blocks)
            if problem or wanted != found:
                when = f"turn {number} ({turn.kind}{f': {turn.value}' if turn.value else ''})"
                what = problem or f"there {_shown(wanted)}, here {_shown(found)}"
                yield Difference(self._conversation.name, when, what, reasons, not passed)

    @property
    def is_writable(self) -> bool:
        """True if a test can say all that has happened."""
        known = self._conversation
        started = any(turn.kind == "start" for turn in known.turns)
        unsaid = started or known.contact_name or known.tags or known.language or known.kept
        return not unsaid and self._state.move is not None

    def written(self) -> str:
        """The conversation as a test."""
        head: dict[str, Any] = {"test": self._conversation.name, "now": f"{self._began:%Y-%m-%dT%H:%M:%S}"}
        head |= {} if self._conversation.contact == CONTACT else {"contact": self._conversation.contact}
        head |= {"random": list(self._conversation.draws) or 0} if self._explorer.drew else {}
        results: dict[str, list[Any]] = {}
        for state in self._state.path():
            if isinstance(state.move, HandlerResult):
                results.setdefault(state.move.name, []).append(state.move.result)
        head |= {"handlers": results} if results else {}
        return document(head, conversation_lines(self._state))

    def _draw(self, key: str) -> float:
        self._explorer.drew = True
        return self._draws.popleft() if self._draws else 0.0

    def _take(self, turn: SourceTurn) -> tuple[str, list[SaidPart]]:
        """Take a turn. Returns why that is not possible, and what the bot says."""
        before = len(self._state.path())
        match turn.kind:
            case "text":
                self._move(WriteMove(turn.value))
            case "choice":
                tap = next(
                    (each for each in reversed(self._state.options) if _plain(each.title) == _plain(turn.value)), None
                )
                if tap is None:
                    return f"there is nothing to tap with the title {turn.value}", []
                self._move(TapMove(tap.reply, tap.title, tap.picked))
            case "wait":
                self._wait(timedelta(seconds=float(turn.value)))
            case "start":
                session = replace(self._state.session, last_inbound=self._state.now)
                self._state = replace(self._state, session=session)
                self._move(StartMove(self._conversation.flow, self._conversation.data))
            case kind:
                self._move(SendMove(kind))
        said = [sent.shown for state in self._state.path()[before:] for sent in state.sent if sent.shown is not None]
        return "", [part for message in said for part in _parts_in(message)]

    def _wait(self, duration: timedelta) -> None:
        until = self._state.now + duration
        while self._state.now < until:
            self._move(WaitMove(until - self._state.now))

    def _move(self, move: WriteMove | TapMove | WaitMove | StartMove | SendMove) -> None:
        """Take a move, and answer all that the bot calls and asks after it."""
        self._state = self._explorer.take(self._state, move)
        for _ in range(_MOST_CALLS):
            awaited = self._state.awaited
            if awaited is None:
                return
            self._state = self._explorer.take(self._state, self._result_of(awaited[1]))

    def _result_of(self, asked: ExternalEffect) -> EffectResult:
        match asked:
            case Call():
                return self._call(asked)
            case HttpRequest():
                request = f"{asked.method} {asked.address}"
                found = next((answer for answer in self._http if is_meant(answer.request, request)), None)
                if found is None:
                    return HttpResult(request, fails="down")
                self._http.remove(found)
                return replace(found, request=request)
            case AskModel():
                return self._models.popleft() if self._models else ModelResult(fails="server_error")
            case Fetch():
                return FileResult()

    def _call(self, call: Call) -> HandlerResult:
        """The result of a handler: the given one, else that of the function itself."""
        if results := self._handlers.get(call.handler):
            return HandlerResult(call.handler, results.popleft())
        spec = self._program.extensions.calls[call.handler]
        try:
            return HandlerResult(call.handler, spec.function(**call.arguments))
        except Exception as error:
            declared = (name for name, kind in spec.errors.items() if isinstance(error, kind))
            return HandlerResult(call.handler, fails=next(declared, "error"))


def _parts_of(said: Iterable[SourceMessage]) -> Iterator[SaidPart]:
    for each in said:
        yield from (("media", media) for media in each.media)
        if text := _plain(each.text):
            yield "says", text
        if each.choices:
            yield "choices", _titles(each.choices)


def _parts_in(message: Message) -> Iterator[SaidPart]:
    """The parts of a message of the new bot, as `_parts_of` has those of the other system."""
    match message:
        case TextMessage(body):
            yield "says", _plain(body)
        case Buttons(body, buttons):
            yield "says", _plain(body)
            yield "choices", _titles(button.title for button in buttons)
        case ListMessage(body):
            yield "says", _plain(body)
            yield "choices", _titles(row.title for row in message.rows)
        case LinkButton(body=body, url=url):
            yield "says", _plain(body)
            yield "media", f"link {url}"
        case MediaMessage(kind, link, caption):
            yield "media", f"{kind} {link}"
            if caption:
                yield "says", _plain(caption)
        case LocationMessage(latitude, longitude):
            yield "media", f"location {latitude},{longitude}"
        case TemplateMessage(name=name):
            yield "says", f"template {name}"


def _titles(choices: Iterable[str]) -> str:
    return " | ".join(map(_plain, choices))


def _plain(text: str) -> str:
    """A text without the spaces that no reader sees."""
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def _shown(parts: Sequence[SaidPart]) -> str:
    return " + ".join(f'"{text}"' if kind == "says" else f"[{text}]" for kind, text in parts) or "nothing"
