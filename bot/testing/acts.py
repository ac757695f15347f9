"""Reading what happens in a talk: what the contact does, time, events, programs, and the gateway's faults."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from bot.core.events import EVENTS
from bot.core.messages import MEDIA_KINDS
from bot.core.session import BUSY
from bot.gateway.gateway_answers import BY_CODE
from bot.keys.fields import Fields, plain_of
from bot.lang.nodes import Map, Mark, Scalar
from bot.lang.problems import did_you_mean
from bot.simulation.happenings import HAPPENINGS
from bot.testing.known import Known
from bot.testing.transcript import Fault, Happens, Line, Pick, Send, Start, Tap, User, Wait

LATEST = timedelta(minutes=5)  # what was on its way for longer is refused, as the gateway's specification says
FAULTS = (
    "rate_limited", "send_failed", "refused_type", "unauthorized", "error_before", "error_after", "reset_before",
    "reset_after", "truncated", "garbage", "double_delivery", "double_event",
    *(code for code in BY_CODE if code not in ("unauthorized", "RATE_LIMIT_EXCEEDED")),
)  # fmt: skip
"""The emulated gateway's faults, but for those that take real time: among them the codes of its refusals."""

Reader = Callable[[Fields, Known], Line | None]


def _read_contact(make: Callable[[Mark, str, timedelta], Line], key: str) -> Reader:
    def read(fields: Fields, known: Known) -> Line | None:
        text, late = fields.string(key), _read_late(fields)
        return None if text is None else make(fields.mark, text, late)

    return read


def _read_late(fields: Fields) -> timedelta:
    late = fields.duration("late") or timedelta()
    if late > LATEST:
        fix = "write 5m at most: the bot refuses what was sent before"
        fields.problems.add("E106", fields.mark_of("late"), "talk: late: nothing can be as late as that", fix)
    return late


def _read_wait(fields: Fields, known: Known) -> Line | None:
    duration = fields.duration("wait")
    return None if duration is None else Wait(fields.mark, duration)


def _read_send(fields: Fields, known: Known) -> Line | None:
    late = _read_late(fields)
    if not isinstance(fields.raw("send"), Map):
        kind = fields.choice("send", (*MEDIA_KINDS, "sticker")) if fields.has("send") else None
        return None if kind is None else Send(fields.mark, kind, late=late)
    inner = fields.fields("send")
    assert inner is not None
    inner.what = "send"
    kinds = [kind for kind in (*MEDIA_KINDS, "location") if inner.has(kind)]
    caption = inner.string("caption")
    location = _read_location(inner) if kinds == ["location"] else None
    content = _read_file(inner, kinds[0], known.folder) if len(kinds) == 1 and location is None else None
    inner.close()
    if len(kinds) != 1:
        fix = f"write one of {', '.join(MEDIA_KINDS)} or location"
        inner.problems.add("E601", inner.mark, "send: it is not said what", fix)
        return None
    return Send(fields.mark, kinds[0], caption, content, location, late)


def _read_location(fields: Fields) -> Mapping[str, Any] | None:
    inner = fields.fields("location")
    if inner is None or not (inner.require("latitude") and inner.require("longitude")):
        return None
    place = {
        "latitude": inner.number("latitude", -90, 90),
        "longitude": inner.number("longitude", -180, 180),
        "name": inner.string("name"),
        "address": inner.string("address"),
    }
    inner.close()
    return place


def _read_file(fields: Fields, key: str, folder: Path) -> bytes | None:
    """The bytes of a file of the bot's folder; None where none is named."""
    name = None if fields.null(key) else fields.string(key)
    if name is None:
        return None
    try:
        return (folder / name).read_bytes()
    except OSError:
        fields.problems.add("E113", fields.mark_of(key), f'no file "{name}"', "write its path in the bot's folder")
        return None


def _read_event(fields: Fields, known: Known) -> Line | None:
    node = fields.raw("event")
    event = node.entries[0][0] if isinstance(node, Map) and len(node.entries) == 1 else node
    if not isinstance(event, Scalar) or event.text not in HAPPENINGS:
        text = event.text if isinstance(event, Scalar) else "this"
        fix = did_you_mean(text, HAPPENINGS, f"there are {', '.join(HAPPENINGS)}")
        if text in EVENTS:
            fix = "that is what the contact does: write user:, send:, tap: or pick:"
        fields.problems.add("E109", fields.mark_of("event"), f"event: {text} is none that can be told of", fix)
        return None
    return Happens(fields.mark, event.text, _read_data(fields, event.text) if isinstance(node, Map) else {})


def _read_data(fields: Fields, event: str) -> Mapping[str, Any]:
    """What is said about an event: texts, and tags."""
    outer = fields.fields("event")
    inner = None if outer is None else outer.fields(event)
    if inner is None:
        return {}
    inner.what = event
    data = {key: inner.strings(key) if key == "tags" else inner.string(key) for key in HAPPENINGS[event].keys}
    inner.close()
    return {key: value for key, value in data.items() if inner.has(key)}


def _read_fault(fields: Fields, known: Known) -> Line | None:
    if not isinstance(fields.raw("fault"), Map):
        kind = fields.choice("fault", FAULTS) if fields.require("fault") else None
        return None if kind is None else Fault(fields.mark, kind)
    inner = fields.fields("fault")
    assert inner is not None
    inner.what = "fault"
    times = {kind: inner.integer(kind, 1, 1000) for kind in FAULTS if inner.has(kind)}
    inner.close()
    if len(times) != 1:
        inner.problems.add("E601", inner.mark, "fault: one is expected", "write one like {rate_limited: 2}")
        return None
    ((kind, number),) = times.items()
    return Fault(fields.mark, kind, number or 1)


def _read_start(fields: Fields, known: Known) -> Line | None:
    if not isinstance(fields.raw("start"), Map):
        return _start(fields, "start", known, {}, "after")
    inner = fields.fields("start")
    assert inner is not None
    inner.what = "start"
    data, busy = inner.fields("data"), inner.choice("busy", BUSY, "after") or "after"
    given = {} if data is None else plain_of(Map(data.mark, data.entries()), fields.problems)
    line = _start(inner, "flow", known, given, busy) if inner.require("flow") else None
    inner.close()
    return line


def _start(fields: Fields, key: str, known: Known, data: Mapping[str, Any], busy: str) -> Line | None:
    target = fields.string(key)
    if target is None:
        return None
    name, _, step = target.partition("/")
    flow = known.flows.get(name)
    if flow is None and known.complete:
        fix = did_you_mean(name, known.flows, f"there are {', '.join(known.flows)}")
        fields.problems.add("E103", fields.mark_of(key), f'no flow "{name}"', fix)
    elif flow is not None and step and step not in flow.steps:
        fix = did_you_mean(step, flow.steps, f"there are {', '.join(flow.steps)}")
        fields.problems.add("E102", fields.mark_of(key), f'no step "{step}" in flow {name}', fix)
    return Start(fields.mark, target, data, busy)


ACTS: dict[str, Reader] = {
    "user": _read_contact(User, "user"),
    "tap": _read_contact(Tap, "tap"),
    "pick": _read_contact(Pick, "pick"),
    "send": _read_send,
    "wait": _read_wait,
    "event": _read_event,
    "start": _read_start,
    "fault": _read_fault,
}
"""The lines by which something happens, by the word that each begins with."""
