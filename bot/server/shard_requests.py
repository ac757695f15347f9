"""Requests to a store that is divided into shards: whose engines are asked, and how their answers become one.

`bot.core.engine_requests.Shards` says which engines a request concerns. `_JOINED` has the function that joins the
answers of several.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from bot.core.engine_requests import (
    AddRecipients,
    Answer,
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
    Reload,
    ResumeBroadcast,
    RetryDeadLetters,
    Shards,
    StopBroadcast,
)
from bot.core.errors import BotError
from bot.store.database import StoreAddress, shard_number, shards_of

Ask = Callable[[StoreAddress, EngineRequest], Answer]

SILENT = "engine-silent"
"""The name of the alarm of a shard whose engine does not answer."""


class _Refused(BotError):
    """An engine has answered with an error."""


def ask_shards(store: StoreAddress, request: EngineRequest, ask: Ask) -> Answer:
    """Have a request answered by the engines that it concerns, of one shard each by ``ask``; by this alone if a store
    is not divided.

    ``status`` and ``metrics`` tell of the engines that answer, and ``silent`` has the numbers of the others' shards.
    Any other request that is not done in each shard that it concerns is answered with ``error``, which says where it is
    done. Raises as ``ask`` where no engine answers.
    """
    shards = shards_of(store)
    if len(shards) == 1:
        return ask(store, request)
    if request.concerns is Shards.ANY:
        return ask(_one_that_answers(shards, ask), request)
    if isinstance(request, BeginCorrection) and (
        silent := _silent(shards, ask)
    ):  # else these would later go on with what is to be corrected
        return {"error": f"{silent_in_words(silent)}: nothing is done"}
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


def _parts(request: EngineRequest, shards: int) -> dict[int, EngineRequest]:
    """The requests to the shards, by number."""
    match request:
        case AddRecipients() | CorrectRecipients():
            divided: dict[int, list[Any]] = {}
            for each in request.recipients:
                divided.setdefault(_shard_of(each, shards), []).append(each)
            parts = {number: replace(request, recipients=divided[number]) for number in sorted(divided)}
            return {number: _of_edit(part, number) for number, part in (parts or {0: request}).items()}
        case EngineRequest(concerns=Shards.ALL):
            return {number: _of_edit(request, number) for number in range(shards)}
        case ContactAct(contact=contact) | CheckStart(contact=contact) | CheckSignal(contact=contact):
            return {shard_number(contact, shards): request}
    return {0: request}


def _shard_of(recipient: object, shards: int) -> int:
    match recipient:
        case {"contact": str(contact)}:
            return shard_number(contact, shards)
    return 0


def _of_edit(request: EngineRequest, shard: int) -> EngineRequest:
    """The request with the number that a broadcast's correction has in this shard: each shard has its own
    (`_edits`).
    """
    match request:
        case CorrectRecipients(edit=[*edits]) | EndCorrection(edit=[*edits]):
            return replace(request, edit=edits[shard])
    return request


def _one_that_answers(shards: Iterable[StoreAddress], ask: Ask) -> StoreAddress:
    """The first shard whose engine answers. It is asked how it is, so that nothing can be done twice. Raises as ``ask``
    if none does.
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
    shards: Sequence[StoreAddress], parts: Mapping[int, EngineRequest], ask: Ask
) -> dict[int, Answer | BotError]:
    """The answers of engines, or the reasons why there is none. All are asked at once, so that a silent engine holds up
    no other.
    """
    from concurrent.futures import ThreadPoolExecutor  # most stores are not divided

    with ThreadPoolExecutor(len(parts)) as threads:
        waiting = {number: threads.submit(_answer_of, shards[number], part, ask) for number, part in parts.items()}
        return {number: each.result() for number, each in waiting.items()}


def _answer_of(shard: StoreAddress, request: EngineRequest, ask: Ask) -> Answer | BotError:
    try:
        answer = ask(shard, request)
    except BotError as error:
        return error
    return _Refused(str(answer["error"])) if "error" in answer else answer


def _joined(request: EngineRequest, found: Mapping[int, Answer | BotError]) -> Answer:
    done = {number: each for number, each in found.items() if not isinstance(each, BotError)}
    failed = {number: each for number, each in found.items() if isinstance(each, BotError)}
    why = "; ".join(dict.fromkeys(map(str, failed.values())))
    if not done:
        if any(isinstance(each, _Refused) for each in failed.values()):
            return {"error": why}
        raise next(iter(failed.values()))
    answer = _JOINED.get(type(request), _sums)(request, [*done.values()])
    if request.only_tells:
        if "alarms" in answer:
            answer["alarms"] += [_alarm(number, error) for number, error in failed.items()]
        return {**answer, "silent": [*failed]}
    if failed and answer.get("missing", failed):  # all dead letters may be in shards whose engines answer
        where = f"shard{'s' if len(done) > 1 else ''} {', '.join(map(str, done))}"
        return {"error": f"{why} (it is done in {where}: do it again for the rest)"}
    return answer


def _alarm(shard: int, error: BotError) -> dict[str, str]:
    """The alarm of a shard whose engine does not answer and so cannot report it. It begins now, as far as is known."""
    from bot.core.alarms import Alarm  # not above: each command would load it, and its clock

    return Alarm(SILENT, str(shard), silent_in_words([shard]), str(error), datetime.now(UTC)).as_json()


# How the answers of several engines become one


def _sums(request: EngineRequest, answers: Sequence[Answer]) -> Answer:
    return {key: sum(answer[key] for answer in answers) for key in answers[0]}


def _edits(request: EngineRequest, answers: Sequence[Answer]) -> Answer:
    """A correction has a number in each shard: what is asked about it has all of them."""
    return {**_sums(request, answers), "edit": [answer["edit"] for answer in answers]}


def _status(request: AskStatus, answers: Sequence[Answer]) -> Answer:
    """All engines together keep the gateway's limits, so each one knows what is left. If several engines report an
    alarm, it is shown once.
    """
    left = {window: min(answer["left"][window] for answer in answers) for window in answers[0]["left"]}
    alarms = dict[tuple[str, ...], dict[str, str]]()
    for alarm in sorted((each for answer in answers for each in answer["alarms"]), key=itemgetter("since")):
        alarms.setdefault((alarm["name"], alarm["about"], alarm["what"]), alarm)
    counts = {key: sum(answer[key] for answer in answers) for key in ("waiting", "in_flight")}
    waits = (
        {"waits": {id: wait for answer in answers for id, wait in answer["waits"].items()}}
        if request.ids is not None
        else {}
    )
    return {**counts, "left": left, "alarms": [*alarms.values()], **waits}


def _metrics(request: EngineRequest, answers: Sequence[Answer]) -> Answer:
    from bot.runtime.metrics import joined_text

    return {"text": joined_text([answer["text"] for answer in answers])}


def _letters(request: RetryDeadLetters | DropDeadLetters, answers: Sequence[Answer]) -> Answer:
    """Each engine was asked for all dead letters, and knows its own."""
    found = {key: {name for answer in answers for name in answer[key]} for key in answers[0]}
    known = {id for key, ids in found.items() if key not in ("missing", "held") for id in ids}
    missing = [id for id in request.ids if id not in known]
    return {**{key: sorted(names) for key, names in found.items()}, "missing": missing}


def _reloaded(request: EngineRequest, answers: Sequence[Answer]) -> Answer:
    return {"reloaded": all(answer["reloaded"] for answer in answers)}


_JOINED: Mapping[type[EngineRequest], Callable[[Any, Sequence[Answer]], Answer]] = {
    AskStatus: _status,
    AskMetrics: _metrics,
    RetryDeadLetters: _letters,
    DropDeadLetters: _letters,
    EraseContact: _sums,
    StopBroadcast: _sums,
    ResumeBroadcast: _sums,
    BeginCorrection: _edits,
    EndCorrection: _sums,
    Reload: _reloaded,
}
