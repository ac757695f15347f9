"""Random contacts meet every bot of `examples/` and `flows/` and those that `bot new` makes, by the real path and on a
clock that is moved.

Whatever a contact does, and whatever a service, a model or the gateway does at the same time: nothing goes wrong that
is the bot's doing, nobody is stuck, and what the store has recorded comes out the same when it is done again.
"""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from logging import ERROR, LogRecord
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bot.core.events import HandoffClosed, MessageReceived, StartRequested, Tapped
from bot.core.session import Session
from bot.core.values import dumps, loads
from bot.engine.advance import advance
from bot.loading.folder import read_folder
from bot.runtime.sending import WINDOW_CLOSED
from bot.services.gateway.gateway_answers import BY_CODE
from bot.store.dead_letter_rows import DeadLetter
from bot.testing.conversations.coverage import Coverage
from bot.testing.conversations.transcript_reader import load_with_tests
from tests.random_contact import ACTS, Contact
from tests.searches import over, tries
from tests.tried_bot import TriedBot

ROOT = Path(__file__).parent.parent
BOTS = sorted(
    file.parent for at in ("examples/*", "flows", "bot/cli/starters/*") for file in ROOT.glob(f"{at}/bot.yml")
)
CONTACTS = tries(1, 4)  # that each bot meets, at once
ROUNDS = tries(0, 8)  # of others, where those have seen little of it
LEAST_PERCENT = tries(0, 50)  # of a bot's steps and outcomes that they take together
OFTEN = {"answer": 8, "tap": 8, "title": 2, "text": 3, "word": 2, "junk": 2, "minutes": 2, "resolved": 2}
KINDS = [kind for kind in ACTS for _ in range(OFTEN.get(kind, 1))]
TALKS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 1 << 32)), min_size=45, max_size=60)

FAULTS_CODES = {
    "rate_limited": "RATE_LIMIT_EXCEEDED",
    "send_failed": "WHATSAPP_SEND_FAILED",
    "refused_type": "VALIDATION_INVALID_TYPE",
    **{code: code for code in BY_CODE},
}
"""Requests that the gateway refuses because of an injected fault, with the code of the refusal."""

UNCLEAR = ("error_before", "error_after", "reset_before", "reset_after", "truncated", "garbage")
"""The faults after which nobody can tell whether a message was sent."""

OTHERS_LOGS = ("bot.runtime.model_calls", "bot.core.alarms")
"""These log as errors what a model has done, and that the gateway has refused the key."""

AS_WRITTEN = re.compile(
    r"\S+ is not scheduled: its time has passed|.+: the contact has opted out|the contact has gone elsewhere since"
    r"|\S+: the answer may mean several values|\S+: the contact confirms the value"
    r"|(message \w+: )?(waits for the contact: \d+ messages?|.+: sent now)|(\w+: )?\S+: only the first \d+ files are taken"
    r"|\S+/\S+: failed: flow \w+ has failed|\S+: there is nothing to set aside"
    r'|\S+: set aside as ".+"|\S+: (the time of )?the draft ".+" is (over|continued)'
    r"|\S+: \S+ is not noted: the conversation does not say it|\S+: found in \S+: .+"
    r"|\S+: (\".+ has no source in|no approved text): .+"
)
FAILED = re.compile(r"\S+/\S+: (\w+): (?!flow \w+ has failed)")  # that flow's own failure is looked at
OWN_FAILURES = ("failed", "mismatch", "error")
"""How a step ends that could not do its work; else it ended as its service, model or handler says."""


@over(6, "path", BOTS)
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_whatever_contacts_do_nothing_goes_wrong_and_nobody_is_stuck(
    path: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    folder = read_folder(Path(shutil.copytree(path, tmp_path / "bot")))  # the Python of some writes files beside it
    loaded = load_with_tests(folder)
    assert loaded.program is not None, "\n".join(map(str, loaded.problems))
    tried = TriedBot.of(folder, loaded.program, loaded.transcripts)
    coverage = Coverage(loaded.program.library)

    # a talk takes a second: to find a shorter one that fails takes minutes
    @settings(max_examples=CONTACTS, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 1 << 32), TALKS)
    def meet(dice: int, talk: list[tuple[str, int]]) -> None:
        caplog.clear()
        with Contact(tried, dice) as contact:
            for kind, detail in talk:
                contact.act(kind, detail)
                assert list(wrong_with(contact, caplog.records)) == []
            contact.leave()
            assert list(wrong_with(contact, caplog.records)) == []
            assert contact.session.frames == (), "stuck"
            assert_replays(contact)
        coverage.note(contact.turns)

    meet()
    for others in range(ROUNDS):
        if coverage.percent < LEAST_PERCENT:
            seed(others)(meet)()
    assert coverage.percent >= LEAST_PERCENT, "\n".join(f"{missed.mark}: {missed.what}" for missed in coverage.missed())


def wrong_with(contact: Contact, records: list[LogRecord]) -> Iterator[str]:
    """Everything that has gone wrong, but for what somebody else than the bot has done."""
    for letter in contact.simulation.stored.dead_letters():
        if not _is_others(letter, contact):
            yield f"{letter.reason}: {letter.body!r}"
    for turn in (turn for turn in contact.turns if turn.rule != "retry"):
        yield from (f"{turn.rule}: {note}" for note in turn.notes if not _is_right(note, turn.event, contact))
    yield from (record.getMessage() for record in records if record.levelno >= ERROR and record.name not in OTHERS_LOGS)
    yield from _refused_by_gateway(contact)
    service = contact.simulation.service
    yield from sorted(service.unknown_fields)
    if "refused invalid_request_error" in service.counts:
        yield "a model's service was asked nonsense"


def _is_others(letter: DeadLetter, contact: Contact) -> bool:
    """A program's start that does not fit; a message that the gateway lost or refused by a fault of its own, or that
    comes too late since somebody has kept the conversation.
    """
    if letter.what == "turn":
        return _is_unfit(loads(str(letter.body)), letter.reason)
    assert isinstance(letter.body, dict)
    hits, sent = contact.simulation.emulator.faults.hits, letter.body
    if sent["outcome"] == "unknown":
        return any(hits.get(kind) for kind in UNCLEAR)
    if letter.reason.startswith(WINDOW_CLOSED):
        return "WHATSAPP_TEMPLATE_REQUIRED" in hits or _was_kept(sent["ref"], contact)
    refused = any(hits.get(kind) and letter.reason.startswith(code) for kind, code in FAULTS_CODES.items())
    return refused or (contact.message_failed and "The message was not delivered" in letter.reason)


def _was_kept(ref: str, contact: Contact) -> bool:
    """True if a person, whom the bot had not called, gave the conversation back after the contact wrote last."""
    until = [turn.event_id for turn in contact.turns].index(ref.rpartition("#")[0])
    for turn in reversed(contact.turns[: until + 1]):
        if isinstance(turn.event, HandoffClosed):
            return all(step["outcome"] != "closed" for step in turn.steps)
        if isinstance(turn.event, MessageReceived | Tapped):
            return False
    return False


def _is_unfit(event: object, words: str) -> bool:
    """True if the trace says that the data of a program's start does not fit."""
    return isinstance(event, StartRequested) and " was not started: " in words


def _is_right(note: str, event: object, contact: Contact) -> bool:
    """True for a problem that may occur: a flow reports it, or a service, a model or a handler has ended with it.

    If a service has answered nonsense, any problem may occur.
    """
    found = FAILED.match(note)
    if found is None:
        return AS_WRITTEN.fullmatch(note) is not None or _is_unfit(event, note)
    return contact.world.nonsense or found[1] not in OWN_FAILURES


def _refused_by_gateway(contact: Contact) -> Iterator[str]:
    """Messages that the gateway has not taken, except those that its injected faults refused."""
    emulator = contact.simulation.emulator
    excused: Counter[str] = Counter()
    for kind, code in FAULTS_CODES.items():
        excused[code] += emulator.faults.hits.get(kind, 0)
    for name, count in emulator.counts.items():
        what, _, code = name.partition(" ")
        if what == "refused" and count > excused[code]:
            yield f"the gateway refused: {code}"
    yield from sorted(emulator.unknown_fields)
    yield from (f"a key was used again: {key}" for key in emulator.reused_keys)
    # one that comes once more after a long time is refused as a replay
    yield from (f"never taken: {event}" for event in {*emulator.webhooks.given_up} - {*emulator.acknowledged})


def assert_replays(contact: Contact) -> None:
    """The recorded events give the recorded effects once more, and lead to the same session."""
    session = Session(contact.simulation.contact)
    for turn in contact.turns:
        if isinstance(turn.event, dict):  # a line about something that was no turn
            continue
        again = advance(contact.library, loads(dumps(session)), turn.event)
        assert dumps(list(again.effects)) == dumps(turn.effects)
        assert (again.trace.rule, again.trace.notes) == (turn.rule, turn.notes)
        session = again.session
    assert dumps(session) == dumps(contact.session)
