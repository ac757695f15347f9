"""``transcribe`` in ``bot.yml``: a handler or a service that writes down what voice notes say."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bot.core.effects import SPARE_SECONDS, Call, HttpRequest, Transcribe
from bot.core.events import CallEnded
from bot.core.immutable import immutable
from bot.core.text import KEPT_CHARACTERS, head, without_controls
from bot.core.values import Media
from bot.language.expressions.templates import Expression
from bot.language.keys.declared_keys import (
    EXPRESSION,
    STRING,
    KeySet,
    KeySpec,
    fields_by_key,
    integer,
    read_over,
    seconds,
)
from bot.language.keys.fields import Fields
from bot.language.python.decorators import HandlerSpec
from bot.language.source.problems import did_you_mean
from bot.language.steps.attempts import ATTEMPT_KEYS, TRIES_KEY
from bot.language.steps.call_step import argument_uses, check_known
from bot.language.steps.http_services import HttpService
from bot.language.steps.http_step import ANSWER, ANSWER_NAMES, REQUEST, STATUS, HttpStep, attempts_at
from bot.language.steps.step_facts import StepFailed, Used, texts_used
from bot.language.steps.step_kind import ReadContext
from bot.language.steps.transition import ASSIGNMENTS, Assignment

VOICE = "voice"
"""The name of the voice note: as the handler's argument, and in the request's templates."""
WITHIN, DAILY = 30.0, 50
_VOICE = frozenset({VOICE})

_CALL = KeySpec("call", STRING, "The handler's name; its argument voice gets the voice note as a file.", required=True)
_WITH = KeySpec("with", ASSIGNMENTS, "The handler's other arguments.")
_TEXT = KeySpec("text", EXPRESSION, "The spoken words, in the service's answer; answer.text by default.")
_WITHIN = KeySpec("within", seconds(WITHIN), f"How long one try may take; {WITHIN:.0f}s by default.")
_DAILY = KeySpec(
    "daily",
    integer(1, 10_000),
    f"How many voice notes of a contact are transcribed each day (UTC); {DAILY} by default.",
)
_ALL = (_WITHIN, TRIES_KEY, _DAILY)
_HANDLER_KEYS = KeySet(_CALL, _WITH, *_ALL)
_REQUEST_KEYS = KeySet(*(key for key in REQUEST if key not in ATTEMPT_KEYS), _TEXT, *_ALL)


@immutable
class Transcription:
    """How voice notes become texts: by a handler with its other arguments, or a request. ``text`` reads its answer."""

    by: str | HttpStep
    given: tuple[Assignment, ...] = ()
    spec: HandlerSpec | None = None
    text: Expression | None = None
    within: float = WITHIN
    tries: int = 1
    daily: int = DAILY

    def effect(self, media: Media, scope: Mapping[str, Any]) -> Transcribe:
        """The effect for a voice note. Raises `StepFailed` and `TemplateFailed`."""
        voice = replace(media, file="")  # those who fetch it know where it lies
        call: Call | HttpRequest
        if isinstance(self.by, HttpStep):
            call = self.by.request({**scope, VOICE: voice})
        else:
            given = {item.name: item.evaluate(scope) for item in self.given}
            call = Call(self.by, {**given, VOICE: voice}, self.within)
        return Transcribe(media, call, self.within, self.within + SPARE_SECONDS, self.tries)

    def words(self, ended: CallEnded, scope: Mapping[str, Any]) -> str:
        """The words of the voice note. Raises `StepFailed` and `TemplateFailed` if they are not known."""
        if ended.outcome != "done":
            raise StepFailed(ended.outcome, ended.detail or ended.outcome)
        said = ended.value
        if isinstance(self.by, HttpStep) and isinstance(said, Mapping):  # else it was known without the service
            known = {ANSWER: said.get(ANSWER), STATUS: said.get(STATUS)}  # an edit may have made a request of a handler
            said = known[ANSWER]
            if self.text is not None:
                said = self.text.evaluate({**scope, **known})
            elif isinstance(said, Mapping):
                said = said.get("text")
        if said is not None and not isinstance(said, str):
            raise StepFailed("mismatch", "the transcript is no text")
        text = head(without_controls(said or ""), KEPT_CHARACTERS).strip()
        if not text:
            raise StepFailed("empty", "the transcript is empty")
        return text

    def uses(self) -> Iterator[Used]:
        """The templates that are put in, and what is taken out of the answer."""
        for item in self.given:
            yield from argument_uses(item, self.spec)
        if isinstance(self.by, HttpStep):
            yield from (replace(used, extra=used.extra | _VOICE) for used in self.by.uses())
        yield from texts_used(self.text, extra=ANSWER_NAMES)


def read_transcription(
    fields: Fields, handlers: Mapping[str, HandlerSpec], services: Mapping[str, HttpService]
) -> Transcription:
    """Read the `TRANSCRIBE` of a bot with these handlers and services."""
    within, tries, daily = _WITHIN.read(fields), TRIES_KEY.read(fields) or 1, _DAILY.read(fields) or DAILY
    if fields.has(HttpStep.verb):
        reading = ReadContext("", "", fields.problems, {}, handlers, None, {}, {}, services=services)
        read = HttpStep.read(fields, reading)
        within = read_over(_WITHIN, fields, attempts_at(read.address, services).within)
        sent = replace(read, within=within, tries=1, cache=0.0)
        if sent.address.pieces and not any(VOICE in used.text.names for used in sent.uses()):
            what = "the request does not carry the voice note"
            fields.report("E503", fields.mark, what, 'add it, like form: {file: "{{ voice }}"}')
        return Transcription(sent, text=_TEXT.read(fields), within=within, tries=read.tries, daily=daily)
    name, given = _CALL.read(fields) or "", _WITH.read(fields)
    spec = handlers.get(name)
    if spec is not None:
        _check_arguments(fields, spec, given)
    elif name:
        _CALL.report(fields, "E501", f'no handler "{name}"', did_you_mean(name, handlers, "declare it in handlers.py"))
    return Transcription(name, given, spec, None, within, tries, daily)


def _check_arguments(fields: Fields, spec: HandlerSpec, given: tuple[Assignment, ...]) -> None:
    """Check that the handler takes the voice note, and gets all that it needs."""
    check_known(fields, spec, given)
    has = {VOICE, *(item.name for item in given)}
    if VOICE not in spec.parameters:
        fix = f"add it: {VOICE}: Media (from bot.core.values import Media) gets the voice note as a file"
        _CALL.report(fields, "E502", f'handler "{spec.name}" has no argument "{VOICE}"', fix)
    for parameter in spec.parameters.values():
        if parameter.required and parameter.name not in has:
            fix = f"add it under `with`: {parameter.name}"
            _CALL.report(fields, "E503", f'handler "{spec.name}" needs the argument "{parameter.name}"', fix)


TRANSCRIBE: KeySpec[Fields | None] = KeySpec(
    "transcribe",
    fields_by_key({HttpStep.verb: _REQUEST_KEYS}, _HANDLER_KEYS),
    "A handler or a service that writes down what voice notes say, so that they are answers like texts.",
)
