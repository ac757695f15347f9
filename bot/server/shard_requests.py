"""Requests to a store that is divided into shards: whose engines are asked, and how their answers become one.

`bot.core.engine_requests.Shards` says which engines a request concerns. `_JOINED` has the function that joins the
answers of several.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from bot.core.engine_answers import (
    CorrectionBegun,
    DeadLettersEnded,
    EngineAnswer,
    EngineRefused,
    FilesLoaded,
    Metrics,
    Status,
)
from bot.core.engine_requests import (
    A,
    AddRecipients,
    AnyRequest,
    AskMetrics,
    AskStatus,
    BeginCorrection,
    CheckSignal,
    CheckStart,
    ContactAct,
    CorrectRecipients,
    DropDeadLetters,
    EndCorrection,
    EngineRequest,
    EraseContact,
    OpenForm,
    Reload,
    ResumeBroadcast,
    RetryDeadLetters,
    Shards,
    StopBroadcast,
    answer_to,
)
from bot.core.errors import BotError
from bot.store.database import StoreAddress, shard_number, shards_of

Ask = Callable[[StoreAddress, AnyRequest], EngineAnswer]

SILENT = "engine-silent"
"""The name of the alarm of a shard whose engine does not answer."""


def ask_shards(store: StoreAddress, request: EngineRequest[A], ask: Ask) -> A:
    """Have a request answered by the engines that it concerns, of one shard each by ``ask``; by this alone if a store
    is not divided.

    ``status`` and ``metrics`` tell of the engines that answer, and ``silent`` has the numbers of the others' shards.
    For any other request that is not done in each shard that it concerns, `EngineRefused` is raised, which says where
    it is done. Raises as ``ask`` where no engine answers.
    """
    return answer_to(request, _answer(store, request, ask))


def _answer(store: StoreAddress, request: AnyRequest, ask: Ask) -> EngineAnswer:
    shards = shards_of(store)
    if len(shards) == 1:
        return ask(store, request)
    if request.concerns is Shards.ANY:
        return ask(_one_that_answers(shards, ask), request)
    if isinstance(request, BeginCorrection) and (
        silent := _silent(shards, ask)
    ):  # else these would later go on with what is to be corrected
        raise EngineRefused(f"{silent_in_words(silent)}: nothing is done")
    parts = _parts(request, len(shards))
    if len(parts) == 1:
        ((number, part),) = parts.items()
        return ask(shards[number], part)
    return _joined(request, _asked(shards, parts, ask))


def silent_in_words(shards: Collection[int]) -> str:
    """A sentence: the engines of these shards do not answer."""
    numbers = ", ".join(map(str, shards))
    if len(shards) == 1:
        return f"the engine of shard {numbers} does not answer"
    return f"the engines of shards {numbers} do not answer"


def why_it_waits(store: StoreAddress, contact: str, silent: Collection[int]) -> str | None:
    """A sentence if messages to a contact wait because the engine of its shard is ``silent``; else None."""
    number = shard_number(contact, len(shards_of(store)))
    return f"it waits until the engine of shard {number} runs" if number in silent else None


def _parts(request: AnyRequest, shards: int) -> dict[int, AnyRequest]:
    """The requests to the shards, by number."""
    match request:
        case AddRecipients() | CorrectRecipients():
            divided: dict[int, list[Any]] = {}
            for each in request.recipients:
                divided.setdefault(_shard_of(each, shards), []).append(each)
            parts: dict[int, AnyRequest] = {
                number: replace(request, recipients=divided[number]) for number in sorted(divided)
            }
            return {number: _of_edit(part, number) for number, part in (parts or {0: request}).items()}
        case EngineRequest(concerns=Shards.ALL):
            return {number: _of_edit(request, number) for number in range(shards)}
        case (
            ContactAct(contact=contact)
            | CheckStart(contact=contact)
            | CheckSignal(contact=contact)
            | OpenForm(contact=contact)
        ):
            return {shard_number(contact, shards): request}
    return {0: request}


def _shard_of(recipient: object, shards: int) -> int:
    match recipient:
        case {"contact": str(contact)}:
            return shard_number(contact, shards)
    return 0


def _of_edit(request: AnyRequest, shard: int) -> AnyRequest:
    """The request with the number that a broadcast's correction has in this shard: each shard has its own
    (`_edits`).
    """
    match request:
        case CorrectRecipients(edit=[*edits]) | EndCorrection(edit=[*edits]):
            return replace(request, edit=edits[shard])
    return request


def _one_that_answers(shards: Iterable[StoreAddress], ask: Ask) -> StoreAddress:
    """The first shard whose engine answers. It is asked how it is, so that nothing can be done twice. Raises as ``ask``
    if no engine does.
    """
    failures = list[BotError]()
    for shard in shards:
        found = _answer_of(shard, AskStatus(), ask)
        if not isinstance(found, BotError):
            return shard
        failures.append(found)
    raise failures[0]


def _silent(shards: Sequence[StoreAddress], ask: Ask) -> list[int]:
    """The numbers of the shards whose engines do not answer."""
    found = _asked(shards, _parts(AskStatus(), len(shards)), ask)
    return [number for number, each in found.items() if isinstance(each, BotError)]


def _asked(
    shards: Sequence[StoreAddress], parts: Mapping[int, AnyRequest], ask: Ask
) -> dict[int, EngineAnswer | BotError]:
    """The answers of engines, or the reasons why there is none. All are asked at once, so that a silent engine holds up
    no other.
    """
    from concurrent.futures import ThreadPoolExecutor  # most stores are not divided

    with ThreadPoolExecutor(len(parts)) as threads:
        waiting = {number: threads.submit(_answer_of, shards[number], part, ask) for number, part in parts.items()}
        return {number: each.result() for number, each in waiting.items()}


def _answer_of(shard: StoreAddress, request: AnyRequest, ask: Ask) -> EngineAnswer | BotError:
    try:
        return ask(shard, request)
    except BotError as error:
        return error


def _joined(request: AnyRequest, found: Mapping[int, EngineAnswer | BotError]) -> EngineAnswer:
    done = {number: each for number, each in found.items() if not isinstance(each, BotError)}
    failed = {number: each for number, each in found.items() if isinstance(each, BotError)}
    why = "; ".join(dict.fromkeys(map(str, failed.values())))
    if not done:
        if any(isinstance(each, EngineRefused) for each in failed.values()):
            raise EngineRefused(why)
        raise next(iter(failed.values()))
    match answer := _JOINED.get(type(request), _sums)(request, [*done.values()]):
        case Status():
            silent = [_alarm(number, error) for number, error in failed.items()]
            return replace(answer, alarms=[*answer.alarms, *silent], silent=[*failed])
        case Metrics():
            return replace(answer, silent=[*failed])
        case DeadLettersEnded(missing=[]):
            return answer  # all dead letters may be in shards whose engines answer
    if failed:
        where = f"shard{'s' if len(done) > 1 else ''} {', '.join(map(str, done))}"
        raise EngineRefused(f"{why} (it is done in {where}: do it again for the rest)")
    return answer


def _alarm(shard: int, error: BotError) -> dict[str, str]:
    """The alarm of a shard whose engine does not answer and so cannot report it. It begins now, as far as is known."""
    from bot.core.alarms import Alarm  # not above: each command would load it, and its clock

    return Alarm(SILENT, str(shard), silent_in_words([shard]), str(error), datetime.now(UTC)).as_json()


# How the answers of several engines become one


def _sums(request: AnyRequest, answers: Sequence[EngineAnswer]) -> EngineAnswer:
    return type(answers[0])(
        **{each.name: sum(getattr(answer, each.name) for answer in answers) for each in fields(answers[0])}
    )


def _begun(request: BeginCorrection, answers: Sequence[CorrectionBegun]) -> CorrectionBegun:
    """The result has the correction's number in each shard: later requests about it name all of them."""
    edits = [edit for answer in answers if isinstance(edit := answer.edit, int)]
    return CorrectionBegun(edits, sum(answer.in_flight for answer in answers))


def _status(request: AskStatus, answers: Sequence[Status]) -> Status:
    """All engines together keep the gateway's limits, so each one knows what is left. If several engines report an
    alarm, it is shown once.
    """
    alarms = dict[tuple[str, ...], dict[str, str]]()
    for alarm in sorted((each for answer in answers for each in answer.alarms), key=itemgetter("since")):
        alarms.setdefault((alarm["name"], alarm["about"], alarm["what"]), alarm)
    return Status(
        waiting=sum(answer.waiting for answer in answers),
        in_flight=sum(answer.in_flight for answer in answers),
        left={window: min(answer.left[window] for answer in answers) for window in answers[0].left},
        alarms=[*alarms.values()],
        waits={id: wait for answer in answers for id, wait in answer.waits.items()},
    )


def _metrics(request: AskMetrics, answers: Sequence[Metrics]) -> Metrics:
    from bot.runtime.metrics import joined_text

    return Metrics(joined_text([answer.text for answer in answers]))


def _letters(request: RetryDeadLetters | DropDeadLetters, answers: Sequence[DeadLettersEnded]) -> DeadLettersEnded:
    """Each engine was asked for all dead letters, and knows its own."""
    found = {
        each.name: sorted({id for answer in answers for id in getattr(answer, each.name)})
        for each in fields(DeadLettersEnded)
    }
    joined = DeadLettersEnded(**found)
    known = {*joined.done, *joined.opted_out, *joined.unclear}
    return replace(joined, missing=[id for id in request.ids if id not in known])


def _reloaded(request: Reload, answers: Sequence[FilesLoaded]) -> FilesLoaded:
    return FilesLoaded(all(answer.reloaded for answer in answers))


_JOINED: Mapping[type[AnyRequest], Callable[[Any, Sequence[Any]], EngineAnswer]] = {
    AskStatus: _status,
    AskMetrics: _metrics,
    RetryDeadLetters: _letters,
    DropDeadLetters: _letters,
    EraseContact: _sums,
    StopBroadcast: _sums,
    ResumeBroadcast: _sums,
    BeginCorrection: _begun,
    EndCorrection: _sums,
    Reload: _reloaded,
}
