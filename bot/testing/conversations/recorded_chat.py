"""A simulation that records a chat as a test."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from bot.checker.exploring.conversation_yaml import document, place_line
from bot.checker.exploring.explorer import MODEL_OUTCOMES
from bot.core.effects import AskModel, Call, Effect, HttpRequest, Transcribe
from bot.core.events import CallEnded, CallProgressed
from bot.core.immutable import immutable
from bot.language.source.wall_clock import UNITS, duration_words
from bot.loading.program import Program
from bot.services.request_errors import Unreachable
from bot.store.trace_rows import TurnTraced
from bot.testing.conversations.comparison import PARTS, asked_in
from bot.testing.conversations.expectation_reader import written_parts
from bot.testing.conversations.stub_reader import BROKEN_OFF, HTTP_FAILURES
from bot.testing.simulation.phone import NotOnScreen, ShownMessage
from bot.testing.simulation.simulation import FIRST_CONTACT, Operator, Simulation

Line = Mapping[str, Any]


@immutable
class Moment:
    """When the next line of a recorded chat happens. ``due``: the time was skipped, or something came by itself."""

    at: datetime
    due: bool = False


def with_waits(began: datetime, lines: Iterable[Line | Moment]) -> Iterator[Line]:
    """The lines of a test that begins at a time, with a `wait` in place of the moments. The clock of a test moves only
    there, so each act before the last moment that is due happens at its second; later ones need no wait.
    """
    recorded = list(lines)
    last = max((n for n, line in enumerate(recorded) if isinstance(line, Moment) and line.due), default=-1)
    now = began.replace(microsecond=0)
    for number, line in enumerate(recorded):
        if not isinstance(line, Moment):
            yield line
        elif number <= last and (at := line.at.replace(microsecond=0)) > now:
            yield {"wait": duration_words(at - now, len(UNITS))}
            now = at


class RecordedSimulation(Simulation):
    """A simulation that records what happens in it. `written` are tests that repeat it."""

    def __init__(self, program: Program, *arguments: Any, **more: Any) -> None:
        self._documents: list[str] = []
        self._draws: list[float] = []
        super().__init__(self._with_draws(program), *arguments, **more)
        self.operator = _RecordedOperator(self)
        self._begin()

    def user(self, text: str, late: timedelta = timedelta()) -> None:
        """The contact writes."""
        with self.recorded({"user": text}):
            super().user(text, late)

    def speak(self, words: str, late: timedelta = timedelta()) -> None:
        """The contact sends a voice note."""
        with self.recorded({"user": {"voice": words}}):
            super().speak(words, late)

    def send(
        self,
        kind: str,
        caption: str | None = None,
        content: bytes | None = None,
        location: Mapping[str, Any] | None = None,
        late: timedelta = timedelta(),
    ) -> None:
        """The contact sends a file or a place.

        A file's content is not recorded: the test sends a small one of the same kind.
        """
        sent: Any = {kind: None, "caption": caption} if caption else kind
        with self.recorded({"send": sent if location is None else {"location": dict(location)}}):
            super().send(kind, caption, content, location, late)

    def tap(self, title: str, late: timedelta = timedelta(), of: str = "") -> None:
        """The contact taps a button."""
        with self.recorded({"tap": {"title": title, "of": of} if of else title}):
            super().tap(title, late, of)

    def pick(self, title: str, late: timedelta = timedelta(), of: str = "") -> None:
        """The contact picks a row of a list."""
        with self.recorded({"pick": {"title": title, "of": of} if of else title}):
            super().pick(title, late, of)

    def wait(self, duration: timedelta) -> None:
        """Time passes."""
        with self.recorded(Moment(self.clock.now() + duration, due=True)):
            super().wait(duration)

    def become_new_contact(self) -> None:
        """Continue as a new contact, in another test."""
        self._end()
        super().become_new_contact()
        self._begin()

    def swap(self, program: Program) -> None:
        """Use these flows and handlers from the next event on."""
        super().swap(self._with_draws(program))

    def written(self) -> str:
        """The tests, one for each contact, as YAML."""
        self._end()
        return "---\n".join(self._documents)

    def _begin(self) -> None:
        self._lines: list[Line | Moment] = []
        self._seen: set[str] = set()
        self._asked_again: set[str] = set()  # calls of models that failed once, and are made again later
        self._draws.clear()
        self._began = self.clock.now()

    def _end(self) -> None:
        if not self._lines:
            return
        self._catch_up()
        began = self._began.astimezone(self.running.program.library.bot.timezone)
        head: dict[str, Any] = {"test": f"recorded on {began:%Y-%m-%d at %H.%M}", "now": f"{began:%Y-%m-%dT%H:%M:%S}"}
        head |= {"contact": self.contact} if self.contact != FIRST_CONTACT else {}
        head |= {"random": self._draws.copy()} if self._draws else {}
        turns, program = self.stored.all_turns(), self.running.program
        head |= server_stubs(turns, self._outside_in(turns), program)
        self._documents.append(
            document(head, (*with_waits(self._began, self._lines), place_line(self.stored.session())))
        )
        self._lines = []

    def asked(self, line: Line, ask: Callable[[], str]) -> str:
        """Record a request, and that the bot refuses it, if it does. Returns why; empty if it does not."""
        with self.recorded(line):
            refusal = ask()
        self._lines += [{"expect": "refused"}] if refusal else []
        return refusal

    @contextmanager
    def recorded(self, act: Line | Moment) -> Iterator[None]:
        """Record what happens and what follows from it."""
        self._catch_up()
        if not isinstance(act, Moment):
            self._lines.append(Moment(self.clock.now()))
        self._lines.append(act)
        try:
            yield
        except NotOnScreen:
            self._lines.pop()
            raise
        finally:
            self._note_what_came()

    def _catch_up(self) -> None:
        """Record what came by itself while the clock ran: there was a wait."""
        at, now = len(self._lines), self.clock.now()
        if self._note_what_came():
            self._lines.insert(at, Moment(now + timedelta(seconds=1), due=True))

    def _note_what_came(self) -> bool:
        """Record what services, models and the bot have said since the last call.

        Returns whether there was anything.
        """
        known = len(self._lines)
        turns = self.stored.all_turns()
        new = [turn for turn in turns if turn.event_id not in self._seen]
        self._seen.update(turn.event_id for turn in new)
        asked = self._outside_in(turns)
        self._lines.extend(answers_in(new, asked, self._asked_again))
        waiting = {frame.awaited_effect for frame in self.stored.session().frames} - self._asked_again
        again = {name for name in waiting if name is not None and isinstance(asked.get(name), AskModel)}
        self._asked_again |= again
        self._lines.extend([_ASKED_AGAIN] * len(again))
        self._lines.extend({"bot": parts_of(message)} for message in self.phones.heard())
        return len(self._lines) > known

    def _outside_in(self, turns: list[TurnTraced]) -> dict[str, Effect]:
        """The requests to services and models, by their names; a voice note whose words are known needs no request."""
        found: dict[str, Effect] = {}
        for name, effect in asked_in(turns).items():
            if not isinstance(effect, Transcribe):
                found[name] = effect
            elif effect.media.url not in self.voice_notes:
                found[name] = effect.by
        return found

    def _with_draws(self, program: Program) -> Program:
        drawn = program.library.draw

        def draw(key: str) -> float:
            self._draws.append(drawn(key))
            return self._draws[-1]

        return replace(program, library=program.library.with_draw(draw))


class _RecordedOperator(Operator):
    """The requests of programs, recorded."""

    def __init__(self, recording: RecordedSimulation) -> None:
        super().__init__(recording)
        self._recording = recording

    def start(self, flow: str, data: Mapping[str, Any], busy: str | None) -> str:
        """A program starts a flow."""
        more = ({"data": dict(data)} if data else {}) | ({"busy": busy} if busy else {})
        line = {"start": {"flow": flow, **more} if more else flow}
        return self._recording.asked(line, partial(super().start, flow, data, busy))

    def signal(self, name: str, data: Mapping[str, Any]) -> str:
        """A program reports a signal for the contact. One that the bot does not know cannot stand in a test."""
        report = partial(super().signal, name, data)
        if name not in self._recording.running.program.library.bot.signals:
            return report()
        return self._recording.asked({"signal": {"name": name, "data": dict(data)} if data else name}, report)

    def decide(self, agreed: bool, note: str = "") -> str:
        """A colleague decides."""
        return self._recording.asked(colleague_line(agreed, note), partial(super().decide, agreed, note))


def colleague_line(agreed: bool, note: str) -> Line:
    """The line of a test by which a colleague decides."""
    word = "agrees" if agreed else "refuses"
    return {"colleague": {word: note} if note else word}


_ASKED_AGAIN: Mapping[str, Any] = {"model": {"fails": "provider_error"}}
"""The line of a try after which a model is asked again."""


def answers_in(
    turns: list[TurnTraced], asked: Mapping[str, Effect], asked_again: Collection[str] = ()
) -> Iterator[Line]:
    """The answers of services and models, as lines of a test. ``asked_again`` are the calls that have failed once."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    for turn in turns:
        match turn.event:
            case CallProgressed(effect=name, text=text):
                said[name].append(text)
            case CallEnded(effect=name) as ended:
                effect = asked.get(name)
                if isinstance(effect, HttpRequest):
                    yield {"http": {f"{effect.method} {effect.address}": _http(ended)}}
                elif isinstance(effect, AskModel) and (ended.outcome == "done" or ended.outcome in _MODEL_FAILS):
                    if name in asked_again and ended.outcome == "down":
                        yield from [_ASKED_AGAIN] * (effect.tries - 2)  # between the first and the last
                    yield {"model": _model(ended, said[name])}


def server_stubs(turns: list[TurnTraced], asked: Mapping[str, Effect], program: Program) -> dict[str, Any]:
    """The stubs of a test for the tools of MCP servers, with what each has returned one after another."""
    results: defaultdict[str, list[Line]] = defaultdict(list)
    for turn in turns:
        match turn.event:
            case CallEnded(effect=name, outcome=outcome, value=value):
                effect = asked.get(name)
                if isinstance(effect, Call) and effect.handler in program.extensions.tools:
                    results[effect.handler].append({"returns": value} if outcome == "done" else {"fails": outcome})
    return {"handlers": dict(results)} if results else {}


_MODEL_FAILS = {outcome: failure for failure, outcome in reversed(MODEL_OUTCOMES.items())}
"""A model's failures in a test, by the outcome of the call; the first of several.

A call without a request (`over_budget`) is no failure of it.
"""


def _model(event: CallEnded, said: list[str]) -> Mapping[str, Any]:
    if event.outcome != "done":
        return {"fails": _MODEL_FAILS[event.outcome]}
    text = "\n\n".join(part for part in (*said, event.value["text"]) if part)
    if event.value["finish"] == "cut":
        return {"says": text, "fails": BROKEN_OFF}
    calls = [{call["name"]: json.loads(call["arguments"])} for call in event.value["calls"]]
    return ({"says": text} if text else {}) | ({"calls": calls} if calls else {})


def _http(event: CallEnded) -> Mapping[str, Any]:
    if not isinstance(event.value, Mapping):
        return {"fails": event.outcome if event.outcome in HTTP_FAILURES else Unreachable.outcome}
    answer = event.value["answer"]
    content = {} if answer is None else {"text" if isinstance(answer, str) else "json": answer}
    return {"status": event.value["status"], **content}


def parts_of(message: ShownMessage) -> str | Mapping[str, Any]:
    """A message as a test writes it: a text alone if it has no other parts."""
    parts = {key: found for key, part in PARTS.items() if (found := part(message))}
    text = parts.get("says")
    return text if len(parts) == 1 and isinstance(text, str) else written_parts(parts)
