"""Requests to a store that is divided into shards: whose engines are asked, and how their answers become one.

A request about one contact goes to the engine of its shard, and each recipient of a broadcast to that of theirs. What concerns the whole
store all engines are asked (`_JOINED`), and what each of them knows, the first that answers (`_ANY`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from bot.core.errors import BotError
from bot.store.database import StoreAddress, shard_number, shards_of

Request = dict[str, Any]
Answer = dict[str, Any]
Ask = Callable[[StoreAddress, Request], Answer]

SILENT = "engine-silent"
"""The name of the alarm of a shard whose engine does not answer."""

ONLY_TELL = "status", "metrics"
"""Requests that change nothing: how engines are, and what they count."""

_ANY = "gateway", "flows", "judge"


class _Refused(BotError):
    """An engine has answered with an error."""


def ask_shards(store: StoreAddress, request: Request, ask: Ask) -> Answer:
    """Have a request answered by the engines that it concerns, of one shard each by ``ask``; by this alone if a store is not divided.

    ``status`` and ``metrics`` tell of the engines that answer, and ``silent`` has the numbers of the others' shards. Any other
    request that is not done in each shard that it concerns is answered with ``error``, which says where it is done. Raises as ``ask`` where
    no engine answers.
    """
    shards = shards_of(store)
    if len(shards) == 1:
        return ask(store, request)
    do = request.get("do")
    if do in _ANY and "contact" not in request:
        return ask(_one_that_answers(shards, ask), request)
    if do == "edit" and (silent := _silent(shards, ask)):  # else these would later go on with what is to be corrected
        return {"error": f"{silent_in_words(silent)}: nothing is done"}
    parts = _parts(request, len(shards))
    if len(parts) == 1:
        ((number, part),) = parts.items()
        return ask(shards[number], part)
    return _joined(request, _asked(shards, parts, ask))


def silent_in_words(shards: Collection[int]) -> str:
    """Says of shards that their engines do not answer."""
    numbers = ", ".join(map(str, shards))
    if len(shards) == 1:
        return f"the engine of shard {numbers} does not answer"
    return f"the engines of shards {numbers} do not answer"


def why_it_waits(store: StoreAddress, contact: str, silent: Collection[int]) -> str | None:
    """Says of what is to be sent to a contact that it waits for an engine, if that of its shard is one of the ``silent``; else None."""
    number = shard_number(contact, len(shards_of(store)))
    return f"it waits until the engine of shard {number} runs" if number in silent else None


def _parts(request: Request, shards: int) -> dict[int, Request]:
    """What is asked in each shard that a request concerns."""
    match request:
        case {"do": "broadcast" | "correct", "recipients": list(recipients)}:
            divided: dict[int, list[Any]] = {}
            for each in recipients:
                divided.setdefault(_shard_of(each, shards), []).append(each)
            parts = {number: {**request, "recipients": divided[number]} for number in sorted(divided)}
            return {number: _of_edit(part, number) for number, part in (parts or {0: request}).items()}
        case {"do": str(do)} if do in _JOINED:
            return {number: _of_edit(request, number) for number in range(shards)}
    return {_shard_of(request, shards): request}


def _shard_of(about: object, shards: int) -> int:
    match about:
        case {"contact": str(contact)}:
            return shard_number(contact, shards)
    return 0


def _of_edit(request: Request, shard: int) -> Request:
    """The request with the number of a broadcast's correction in a shard, which is another one in each (`_edits`)."""
    match request:
        case {"edit": list(edits)}:
            return {**request, "edit": edits[shard]}
    return request


def _one_that_answers(shards: Iterable[StoreAddress], ask: Ask) -> StoreAddress:
    """The first shard whose engine answers. It is asked how it is, so that nothing can be done twice. Raises as ``ask`` if none does."""
    failures = list[BotError]()
    for shard in shards:
        found = _answer_of(shard, {"do": "status"}, ask)
        if not isinstance(found, BotError):
            return shard
        failures.append(found)
    raise failures[0]


def _silent(shards: Sequence[StoreAddress], ask: Ask) -> list[int]:
    """The numbers of the shards whose engines do not answer."""
    found = _asked(shards, _parts({"do": "status"}, len(shards)), ask)
    return [number for number, each in found.items() if isinstance(each, BotError)]


def _asked(shards: Sequence[StoreAddress], parts: Mapping[int, Request], ask: Ask) -> dict[int, Answer | BotError]:
    """What engines answer who are asked at once, so that one that is silent holds up no other; or why one has not."""
    from concurrent.futures import ThreadPoolExecutor  # most stores are not divided

    with ThreadPoolExecutor(len(parts)) as threads:
        waiting = {number: threads.submit(_answer_of, shards[number], part, ask) for number, part in parts.items()}
        return {number: each.result() for number, each in waiting.items()}


def _answer_of(shard: StoreAddress, request: Request, ask: Ask) -> Answer | BotError:
    try:
        answer = ask(shard, request)
    except BotError as error:
        return error
    return _Refused(str(answer["error"])) if "error" in answer else answer


def _joined(request: Request, found: Mapping[int, Answer | BotError]) -> Answer:
    done = {number: each for number, each in found.items() if not isinstance(each, BotError)}
    failed = {number: each for number, each in found.items() if isinstance(each, BotError)}
    why = "; ".join(dict.fromkeys(map(str, failed.values())))
    if not done:
        if any(isinstance(each, _Refused) for each in failed.values()):
            return {"error": why}
        raise next(iter(failed.values()))
    answer = _JOINED.get(request["do"], _sums)(request, [*done.values()])
    if request["do"] in ONLY_TELL:
        if "alarms" in answer:
            answer["alarms"] += [_alarm(number, error) for number, error in failed.items()]
        return {**answer, "silent": [*failed]}
    if failed and answer.get("missing", failed):  # all dead letters may be in shards whose engines answer
        where = f"shard{'s' if len(done) > 1 else ''} {', '.join(map(str, done))}"
        return {"error": f"{why} (it is done in {where}: do it again for the rest)"}
    return answer


def _alarm(shard: int, error: BotError) -> dict[str, str]:
    """The alarm of a shard whose engine does not answer, which nobody else can report: since now, as far as is known."""
    from bot.core.alarms import Alarm  # not above: each command would load it, and its clock

    return Alarm(SILENT, str(shard), silent_in_words([shard]), str(error), datetime.now(UTC)).as_json()


# How the answers of several engines become one


def _sums(request: Request, answers: Sequence[Answer]) -> Answer:
    return {key: sum(answer[key] for answer in answers) for key in answers[0]}


def _edits(request: Request, answers: Sequence[Answer]) -> Answer:
    """A correction has a number in each shard: what is asked about it has all of them."""
    return {**_sums(request, answers), "edit": [answer["edit"] for answer in answers]}


def _status(request: Request, answers: Sequence[Answer]) -> Answer:
    """All engines together keep the gateway's limits, so each one knows what is left. Of an alarm that several have, one is shown."""
    left = {window: min(answer["left"][window] for answer in answers) for window in answers[0]["left"]}
    alarms = dict[tuple[str, ...], dict[str, str]]()
    for alarm in sorted((each for answer in answers for each in answer["alarms"]), key=itemgetter("since")):
        alarms.setdefault((alarm["name"], alarm["about"], alarm["what"]), alarm)
    counts = {key: sum(answer[key] for answer in answers) for key in ("waiting", "in_flight")}
    waits = (
        {"waits": {id: wait for answer in answers for id, wait in answer["waits"].items()}} if "ids" in request else {}
    )
    return {**counts, "left": left, "alarms": [*alarms.values()], **waits}


def _metrics(request: Request, answers: Sequence[Answer]) -> Answer:
    from bot.runtime.metrics import joined_text

    return {"text": joined_text([answer["text"] for answer in answers])}


def _letters(request: Request, answers: Sequence[Answer]) -> Answer:
    """Each engine was asked for all dead letters, and knows its own."""
    found = {key: {name for answer in answers for name in answer[key]} for key in answers[0]}
    known = {id for key, ids in found.items() if key not in ("missing", "held") for id in ids}
    missing = [id for id in request["ids"] if id not in known]
    return {**{key: sorted(names) for key, names in found.items()}, "missing": missing}


def _reloaded(request: Request, answers: Sequence[Answer]) -> Answer:
    return {"reloaded": all(answer["reloaded"] for answer in answers)}


_JOINED: Mapping[str, Callable[[Request, Sequence[Answer]], Answer]] = {
    "status": _status,
    "metrics": _metrics,
    "retry": _letters,
    "drop": _letters,
    "erase": _sums,
    "stop": _sums,
    "resume": _sums,
    "edit": _edits,
    "end_edit": _sums,
    "reload": _reloaded,
}
