"""The promises of docs/architecture.md, each held against what was seen from outside: by the gateway, by the people who
were answered, and in the store once nothing is left to do. Each function yields what is broken, in words.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from bot.core import values
from bot.core.effects import Publish, PutContact, Send
from bot.core.session import effect_ref
from bot.runtime.batch import effect_key
from bot.services.gateway import gateway_client
from tests.testing.simulation.world import World

GIVEN_UP = "the engine crashed twice while it took this event"

_WAITING = """
    SELECT contact, broadcast FROM recipients JOIN broadcasts ON name = broadcast
    WHERE outcome IS NULL AND (send_id IS NOT NULL OR state = 'running')
"""

PEOPLE = ("message.inbound", "message.interactive_reply")
"""The events that are a contact's own doing: each is a turn, whatever it is about."""


def nothing_breaks(world: World) -> Iterator[str]:
    """No thread dies, none is busy for ever, and no turn fails; but an event is given up if crashes have hit it twice
    after two that began the quarantine.
    """
    if world.failed is not None:
        yield f"the run ended: {type(world.failed).__name__}: {world.failed}"
    failed = [reason for what, _, reason, _ in world.seen.letters.values() if what == "turn"]
    unlucky = GIVEN_UP in failed and world.crashes >= 4
    yield from (defect for defect in world.machine.defects if not (unlucky and "TurnRefused" in defect))
    yield from (f"a turn failed: {reason}" for reason in failed if not (unlucky and reason == GIVEN_UP))


def taken_once(world: World) -> Iterator[str]:
    """What was acknowledged was taken exactly once."""
    taken = Counter(event_id for _, _, event_id, rule, *_ in world.seen.turns if rule != "late")
    for event in world.delivered.values():
        if event.answered is None or event.name not in PEOPLE or event.contact in world.erased:
            continue
        if taken[event.id] != 1:
            yield f"{event.id} ({event.name}) of {event.contact} was acknowledged and taken {taken[event.id]} times"
    for event_id, (contact, flow) in world.programs_starts.items():
        if contact not in world.erased and taken[event_id] != 1:
            yield f"the start of {flow} for {contact} was acknowledged and taken {taken[event_id]} times"
    for event_id, times in taken.items():
        if times > 1 and not event_id.startswith(("broadcast:", "operator:")):  # those are notes
            yield f"{event_id} was taken {times} times"


def in_order(world: World) -> Iterator[str]:
    """A contact's events were taken in the order in which they were acknowledged."""
    place = {event_id: number for number, (_, _, event_id, *_) in enumerate(world.seen.turns)}
    of_contact = defaultdict(list)
    for event in world.delivered.values():
        if (
            event.answered is not None
            and event.name in PEOPLE
            and event.id in place
            and event.contact not in world.erased
        ):
            of_contact[event.contact].append(event)
    for events in of_contact.values():
        for event in events:
            for other in events:
                if event.answered is not None and event.answered < other.sent and place[event.id] > place[other.id]:
                    yield f"{event.id} was acknowledged before {other.id} came, and taken after it"


def lived_again(world: World) -> Iterator[str]:
    """After a restore that kept the log, contacts have the history again that they had before."""
    again = defaultdict(list)
    for _, contact, event_id, rule, effects, _ in world.seen.turns:
        again[contact].append((event_id, rule, effects))
    for turns in world.lived:
        once = defaultdict(list)
        for _, contact, event_id, rule, effects, _ in turns:
            once[contact].append((event_id, rule, effects))
        for contact, lived in once.items():
            if contact is None or contact in world.other_history | world.erased or world.jumped:
                continue
            if lived[0] not in again[contact]:
                yield f"{contact} has not lived through {lived[0][:2]} again"
                continue
            first = again[contact].index(lived[0])
            for before, now in zip(lived, again[contact][first:], strict=False):
                if before != now:
                    yield f"{contact} had {before} and then, after the restore, {now}"
                    break


def suspicion_ends(world: World) -> Iterator[str]:
    """In the crash quarantine only what may have crashed the engine is taken one by one."""
    yield from (f"{event_id} came after the crash, and was taken alone" for event_id in world.suspected_later)


def sent_once(world: World) -> Iterator[str]:
    """Nothing that was decided once was sent twice, and no key came with two messages."""
    if not world.other_history:  # else a restore may have led an event to another reply, under the same key
        yield from (f"the key {key} came again with another body" for key in world.gateway.reused_keys)
    decided: Counter[tuple[str, str]] = Counter()
    for _, contact, _, _, effects, _ in world.seen.turns:
        for effect in values.loads(effects):
            if isinstance(effect, Send) and contact is not None:
                decided[
                    contact, _content(gateway_client.type_of(effect.message), gateway_client.content(effect.message))
                ] += 1
                if effect.instead is not None:
                    decided[contact, _content("template", gateway_client.content(effect.instead))] += 1
    for contact, text in world.operated:
        decided[contact, _content("text", {"body": text})] += 1
    sends = [s for s in world.gateway.sent if s.key is not None or not world.lived]  # after a restore, those go again
    for sent, times in Counter((s.to, _content(s.type, s.body[s.type])) for s in sends).items():
        contact, content = sent
        unclear = world.plan.world["repeat_unknown"] or contact in world.retried | world.erased | world.other_history
        if not (unclear or '"news"' in content) and times > decided[sent]:
            yield f"{content} was sent to {contact} {times} times, and decided {decided[sent]} times"


def sent_in_order(world: World) -> Iterator[str]:
    """A contact's messages went out in the order in which they were decided, those of one priority; once, if a restore has undone
    some.
    """
    if world.lived:
        return
    rows = {row.key: (id, row) for id, row in world.seen.sent.items()}
    newest: dict[tuple[str, int], int] = {}
    for sent in world.gateway.sent:
        if sent.key is None or sent.key not in rows:
            continue
        id, row = rows[sent.key]
        before = newest.setdefault((row.contact, row.priority), id)
        if id < before:
            yield f"message {id} to {row.contact} went out after message {before}"
        newest[row.contact, row.priority] = max(id, before)


def _content(kind: str, content: object) -> str:
    return f"{kind} {json.dumps(content, sort_keys=True, ensure_ascii=False)}"


def visible(world: World) -> Iterator[str]:
    """Whatever was to be sent was sent, or stands among what was not, with a reason."""
    ends = {row.ref for row in world.seen.sent.values()}
    ends |= {_ref(body) for what, _, _, body in world.seen.letters.values() if what == "send"}
    for _, contact, event_id, _, effects, _ in world.seen.turns:
        if contact in world.erased:
            continue
        for ordinal, effect in enumerate(values.loads(effects)):
            if isinstance(effect, Send | PutContact) and effect_ref(event_id, ordinal) not in ends:
                yield f"{effect_ref(event_id, ordinal)} to {contact} is gone: {type(effect).__name__}"
    keys = {sent.key for sent in world.gateway.sent}
    keyless = {sent.to for sent in world.gateway.sent if sent.key is None}
    for row in world.seen.sent.values():
        is_message = isinstance(values.loads(row.effect), Send)
        if row.outcome == "sent" and is_message and row.key not in keys and row.contact not in keyless:
            yield f"{row.ref} to {row.contact} counts as sent, and the gateway has not seen it"


def _ref(body: str) -> str:
    ref: str = values.loads(body)["ref"]
    return ref


def events_delivered(world: World) -> Iterator[str]:
    """Each event of a turn is taken by the receiver or stands among what was given up, in order; and no other is."""
    store_id = world.reader.one("SELECT store_id FROM meta")[0]
    decided: dict[str, str | None] = {}
    for _, contact, event_id, _, effects, _ in world.seen.turns:
        for ordinal, effect in enumerate(values.loads(effects)):
            if isinstance(effect, Publish):
                decided[effect_key(store_id, effect_ref(event_id, ordinal))] = contact
    given_up = {values.loads(body)["key"] for what, _, _, body in world.seen.letters.values() if what == "event_out"}
    for key, contact in decided.items():
        if contact not in world.erased and key not in world.events_taken and key not in given_up:
            yield f"an event of {contact} is gone: {key}"
    for key, contact in world.events_taken.items():
        if contact not in world.erased | world.other_history and key not in decided:
            yield f"an event of {contact} was delivered that was never decided: {key}"
    for contact in {*decided.values()} - world.erased - world.other_history:
        taken = [key for key, of in world.events_taken.items() if of == contact and key not in given_up]
        if taken != [key for key in decided if decided[key] == contact and key in taken]:
            yield f"the events of {contact} came in another order than they were decided"


def limits_kept(world: World) -> Iterator[str]:
    """The gateway never had to refuse for its limits, but after a crash: nobody knows what was under way then."""
    counts = world.gateway.counts
    refused = counts.get("refused RATE_LIMIT_EXCEEDED", 0) - counts.get("fault rate_limited", 0)
    if refused > world.unknown_requests and not world.lived:  # what the backup did not know had counted, too
        yield f"the gateway's limits were passed {refused} times, with {world.crashes} crashes"


def window_kept(world: World) -> Iterator[str]:
    """The gateway never had to refuse a message because the contact's window was closed."""
    refused = world.gateway.counts.get("refused WHATSAPP_TEMPLATE_REQUIRED", 0)
    if refused and not world.jumped:
        yield f"messages went into a closed window {refused} times"


def quiet(world: World) -> Iterator[str]:
    """In the end nobody waits for anything, and nothing is left to do."""
    if world.failed is not None:
        return
    for table in ("outbox", "calls", "events_out", "parked"):
        for row in world.reader.all(f"SELECT * FROM {table}"):
            yield f"left in {table}: {row}"
    for contact, flow, step, wake_at in world.reader.all("SELECT contact, flow, step, wake_at FROM sessions"):
        if flow is not None:
            yield f"{contact} is still at {flow}/{step}" + ("" if wake_at is None else f", until {wake_at}")
    for contact, broadcast in world.reader.all(_WAITING):
        yield f"{contact} still waits for the broadcast {broadcast}"
    for (contact,) in world.reader.all("SELECT contact FROM erasures"):
        yield f"{contact} is still being erased"
    (cursor,) = world.reader.one("SELECT cursor FROM meta")
    unread = world.inbox_reader.one("SELECT count(*) FROM log WHERE seq > ?", cursor)[0]
    if unread:
        yield f"{unread} events of the log were never read"


PROMISES: tuple[Callable[[World], Iterator[str]], ...] = (
    nothing_breaks,
    taken_once,
    in_order,
    lived_again,
    suspicion_ends,
    sent_once,
    sent_in_order,
    visible,
    events_delivered,
    limits_kept,
    window_kept,
    quiet,
)


def broken(world: World) -> dict[str, list[str]]:
    """What was promised and did not hold, by the promise's name."""
    found = {promise.__name__: list(dict.fromkeys(promise(world))) for promise in PROMISES}
    return {name: what for name, what in found.items() if what}
