"""What happens in a simulation, as a list that a seed draws: any of it can be left out, and the rest replayed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bot.core.session import BUSY
from tests.testing.simulation.bots import CONTACTS, FLOWS_OF_PROGRAMS, WORDS

Drawn = dict[str, Any]
Contacts = tuple[str, ...]

POINTS = ("commit", "commit", "committed", "answered", "answered", "any")
PROCESSES = ("engine", "engine", "engine", "web")


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens ``after`` seconds. ``kind`` names the method of `tests.testing.simulation.world.World`."""

    after: float
    kind: str
    given: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.given.items())
        return f"+{self.after:g}s {self.kind}({given})"


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run: how its world is from the beginning, and what happens in it."""

    seed: int
    world: dict[str, Any]
    steps: tuple[Step, ...]


def drawn(seed: int) -> Plan:
    """The plan of a seed."""
    random = Random(f"plan {seed}")
    contacts = CONTACTS[: random.choice((1, 2, 3, len(CONTACTS)))]
    faults = random.choices([*FAULTS], [*FAULTS.values()], k=random.choice((0, 1, 2, 2, 3, 4, 5)))
    steps: list[Step] = []
    most = random.randint(6, 24)
    while len(steps) < most:
        if faults and random.random() < 0.3:
            kind = random.choice(faults)
            steps.append(Step(_after(random), kind, DRAWN[kind](random, contacts, len(steps))))
        else:
            steps += _scene(random, contacts, faults, len(steps))
    world = {
        "per_minute": random.choice((5, 12, 60, 60)),
        "per_day": random.choice((60, 300, 10_000)),
        "latency": random.choice((0.0, 0.0, 0.2, 2.0)),
        "behaviour": _behaviour(random),
        "tolerance": random.choice((300, 10_800)),
        "repeat_unknown": random.random() < 0.2,
        "says_limits": random.random() < 0.6,
        "work": random.choice(("fine", "late")),
    }
    return Plan(seed, world, tuple(steps))


def _scene(random: Random, contacts: Contacts, faults: list[str], number: int) -> Iterator[Step]:
    """What people do, with something in between that goes wrong there and then."""
    acts = random.choice((*TALKS, *TALKS, *SINGLE_ACTS))
    if random.random() < 0.5:
        contacts = (random.choice(contacts),)
    for act in acts:
        yield Step(_after(random), *_act(random, act, contacts, number))
        number += 1
        if faults and random.random() < 0.15:
            kind = random.choice((*faults, "reload"))
            yield Step(random.choice((0.0, 0.0, 0.3, 1.0)), kind, DRAWN[kind](random, contacts, number))
            number += 1


def _act(random: Random, act: str, contacts: Contacts, number: int) -> tuple[str, Drawn]:
    """An act by its kind; ``word`` stands for any of the words, and each word, and act of an operator, for itself."""
    if act in WORDS:
        return "says", {"contact": random.choice(contacts), "text": act}
    if act in ("take", "answer", "give_back"):
        return "operator", {"what": act, "contact": random.choice(contacts), "text": f"operator {number}"}
    return "says" if act == "word" else act, DRAWN[act](random, contacts, number)


TALKS = (
    ("says",),
    ("taps",),
    ("says", "taps"),
    ("word", "says"),
    ("word", "says", "says"),
    ("word", "says", "says", "reload", "says"),
)
SINGLE_ACTS = (
    *(("program",), ("broadcast",), ("operator",), ("reload",), ("signal",), ("url",), ("agent",), ("voice",)),
    *(
        ("photo",),
        ("take", "says", "answer", "says", "give_back"),
        ("album", "photo", "photo", "taps"),
        ("vote", "says", "taps"),
        ("line", "line", "taps"),
        ("word", "voice", "says"),
    ),
    *(("word", "says", "says", "says"), ("word", "says", "signal", "url"), ("word", "says", "agent", "says", "agent")),
    ("word", "says", "taps", "taps"),
)


def _after(random: Random) -> float:
    return random.choice(
        (0.0, 0.0, 0.0, 0.1, 1.0, 1.0, random.uniform(0, 10), random.uniform(0, 10), 60.0, 700.0, 4000.0)
    )


def _behaviour(random: Random) -> dict[str, Any]:
    return {
        "statuses": random.choice(((), (), ("sent",), ("sent", "delivered", "read"))),
        "statuses_first": random.random() < 0.1,
        "repeated_key": random.choice(("replay", "replay", "conflict", "refused", "stored_error")),
        "minute_window": random.choice(("sliding", "fixed")),
        "day_window": random.choice(("calendar", "sliding")),
        "restamp": random.random() < 0.7,
        "ordered": random.random() < 0.8,
        "ids_in_results": random.random() < 0.9,
        "companion_events": random.random() < 0.3,
        "contact_name": random.choice(("required", "optional")),
        "retry_after": random.choice(("seconds", "date")),
        **_endpoints(random),
    }


def _endpoints(random: Random) -> dict[str, Any]:
    """Which endpoints take what: where neither of the first two does, a message goes without a key."""
    some, none = frozenset({"interactive", "template"}), frozenset[str]()
    first, second = random.choice(((none, none), (some, none), (some, some), (some, some)))
    return {"send_message_refuses": first, "chat_messages_refuses": second}


def _says(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"contact": random.choice(contacts), "text": f"thing {number}"}


def _word(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"contact": random.choice(contacts), "text": random.choice(WORDS)}


def _taps(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"contact": random.choice(contacts), "which": random.random()}


def _program(random: Random, contacts: Contacts, number: int) -> Drawn:
    flow, busy = random.choice(FLOWS_OF_PROGRAMS), random.choice(BUSY)
    return {
        "contact": random.choice(contacts),
        "flow": flow,
        "busy": busy,
        "id": f"start {number}",
        "twice": random.random() < 0.3,
    }


def _signal(random: Random, contacts: Contacts, number: int) -> Drawn:
    name = random.choice(("paid", "paid", "seen", "early", "found"))
    return {"contact": random.choice(contacts), "name": name, "id": f"signal {number}", "twice": random.random() < 0.3}


def _url(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"which": random.random(), "by": f"payer {number}", "twice": random.random() < 0.5}


def _agent(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"contact": random.choice(contacts), "comes": random.random() < 0.5}


def _voice(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"contact": random.choice(contacts), "name": f"{number}.ogg"}


def _photo(random: Random, contacts: Contacts, number: int) -> Drawn:
    caption = random.choice(("", "", f"thing {number}", "album"))
    return {"contact": random.choice(contacts), "name": f"{number}.jpg", "caption": caption}


def _broadcast(random: Random, contacts: Contacts, number: int) -> Drawn:
    what, sends = random.choice(("add", "add", "add", "stop", "resume")), random.choice(("news", *FLOWS_OF_PROGRAMS))
    return {
        "what": what,
        "name": f"{sends} {random.randint(1, 3)}",
        "later": random.choice((0, 600, 7200)),
        "contacts": random.sample(contacts, random.randint(1, len(contacts))),
    }


def _operator(random: Random, contacts: Contacts, number: int) -> Drawn:
    what = random.choice(("reset", "retry", "drop", "send", "status", "erase", "take", "answer", "give_back", "start"))
    return {"what": what, "contact": random.choice(contacts), "text": f"operator {number}"}


def _reload(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"version": random.randrange(3)}


def _crash(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {
        "process": random.choice(PROCESSES),
        "point": random.choice(POINTS),
        "after": random.choice((0, 0, 1, 2, 5, 12)),
    }


def _crash_loop(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {
        "after": [random.choice((1, 2, 3)) for _ in range(random.choice((2, 2, 3)))],
        "contacts": [random.choice(contacts) for _ in range(random.randint(5, 20))],
        "number": number,
    }


def _restore(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"later": random.choice((5.0, 60.0, 700.0, 4000.0, 9000.0))}


def _stop(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"process": random.choice(("engine", "web"))}


def _disk(random: Random, contacts: Contacts, number: int) -> Drawn:
    file, trouble = random.choice(("engine", "engine", "inbox")), random.choice(("full", "failing"))
    return {"file": file, "trouble": trouble, "commits": random.choice((1, 2, 5, 20))}


def _query(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"after": random.randint(0, 30), "count": random.choice((1, 1, 3))}


def _clock(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"wrong_by": random.choice((0, 0, 0, -86_400, -7200, -600, -30, -1, 1, 30, 600, 7200, 86_400))}


def _webhooks(random: Random, contacts: Contacts, number: int) -> Drawn:
    some = {name: random.choice((0.0, 0.3, 0.8)) for name in ("lost", "unanswered", "late", "doubled", "repeated")}
    return {**some, "wakes_lost": random.random() < 0.3}


def _gateway(random: Random, contacts: Contacts, number: int) -> Drawn:
    kind = random.choice(
        (
            *("slow", "timeout", "reset_before", "reset_after", "rate_limited", "error_before", "error_after"),
            *("send_failed", "refused_type", "unauthorized", "truncated", "garbage", "refused"),
        )
    )
    seconds = random.choice((0.0, 0.5, 5.0, 20.0, 40.0, 300.0, 90_000.0))
    statuses = (
        (500, 502, 503, 504) if kind == "error_after" else (500, 503, 404, 409)
    )  # who accepts says neither of the last two
    status, code = random.choice(statuses), random.choice(("", "", "BUSY"))
    count = random.choice((1, 1, 2, 3, 8))
    return {"kind": kind, "count": count, "seconds": seconds, "status": status, "code": code}


def _rush(random: Random, contacts: Contacts, number: int) -> Drawn:
    """A slow gateway with a full limit: more messages at once than a minute takes, and each answer is late."""
    texts = [f"rush {number}-{n}" for n in range(random.choice((5, 12, 30)))]
    return {"contacts": list(contacts), "texts": texts, "seconds": random.choice((2.0, 10.0, 25.0))}


def _channel(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"active": random.random() < 0.4}


def _model(random: Random, contacts: Contacts, number: int) -> Drawn:
    return {"kinds": [random.choice(MODEL_FAULTS) for _ in range(random.randint(1, 4))]}


MODEL_FAULTS = (
    *("provider_error", "rate_limit_exceeded", "quota_exceeded", "server_error"),
    *("hang", "cut", "stall", "empty", "page"),
)


def _services(random: Random, contacts: Contacts, number: int) -> Drawn:
    http = random.choice(("fine", "404", "500", "unreachable", "broken", "late"))
    work = random.choice(("fine", "busy", "raises", "hangs", "late", "late", "nothing storable"))
    return {"http": http, "work": work}


FAULTS = {
    "crash": 6,
    "crash_loop": 2,
    "defect": 4,
    "gateway": 5,
    "services": 3,
    "webhooks": 3,
    "disk": 2,
    "query": 1,
    "restore": 4,
    "clock": 2,
    "stop": 1,
    "channel": 1,
    "model": 1,
    "rush": 1,
}
"""What goes wrong, and how often: a plan has some of these kinds, each more than once perhaps."""

DRAWN = {
    "says": _says,
    "word": _word,
    "taps": _taps,
    "program": _program,
    "signal": _signal,
    "url": _url,
    "agent": _agent,
    "voice": _voice,
    "photo": _photo,
    "broadcast": _broadcast,
    "operator": _operator,
    "reload": _reload,
    "crash": _crash,
    "crash_loop": _crash_loop,
    "restore": _restore,
    "defect": _crash,
    "stop": _stop,
    "disk": _disk,
    "query": _query,
    "clock": _clock,
    "webhooks": _webhooks,
    "gateway": _gateway,
    "channel": _channel,
    "rush": _rush,
    "model": _model,
    "services": _services,
}
