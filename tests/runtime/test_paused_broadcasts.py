"""A broadcast that goes wrong burns nobody: one message goes first, refusals pause it, a correction goes to the rest."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.engine_answers import (
    BroadcastResumed,
    BroadcastStopped,
    CorrectionBegun,
    CorrectionEnded,
    RecipientsAdded,
    RecipientsCorrected,
)
from bot.core.engine_requests import (
    AddRecipients,
    BeginCorrection,
    CorrectRecipients,
    EndCorrection,
    EraseContact,
    RetryDeadLetters,
)
from bot.runtime.batch import RequestRefused
from bot.runtime.broadcasting import ALARM, is_about_text, is_enough
from bot.store.rows import OutboxRow
from tests.postgres import about_files
from tests.runtime.broadcasting import SALE, ask, continued, done, letters, people, resume, stop
from tests.runtime.engine_kit import START, World, open_world

AHEAD = 100
CANARY_WAITS = timedelta(minutes=10)
OTHER = {"name": "better", "language": "en"}
MISMATCH = "132000"
SECOND = timedelta(seconds=1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = open_world(tmp_path / "bot.db")
    yield made
    made.close()


def refuse(world: World, row: OutboxRow, code: str = MISMATCH) -> None:
    world.delivery.rows.remove(row)
    world.report(row, "failed", f"{code}: no", code=code, message_ids=())


def running(world: World, number: int) -> list[OutboxRow]:
    """A broadcast whose first message was taken: the others."""
    ask(world, *people(number))
    done(world, list(world.delivery.wait_for(1)))
    return list(world.delivery.wait_for(min(number - 1, AHEAD)))


def edit(world: World, *contacts: str, template: dict[str, Any] = OTHER, name: str = "spring") -> dict[str, int]:
    number = begin_edit(world, template, name).edit
    answer = correct(world, number, *contacts, name=name)
    return asdict(answer) | asdict(end_edit(world, number, name))


def begin_edit(world: World, template: dict[str, Any] = OTHER, name: str = "spring") -> CorrectionBegun:
    return world.turns.operate(BeginCorrection(name, template))


def correct(world: World, number: int | Sequence[int], *contacts: str, name: str = "spring") -> RecipientsCorrected:
    recipients = [{"contact": contact, "body": [f"better for {contact}"]} for contact in contacts]
    return world.turns.operate(CorrectRecipients(name, number, recipients))


def end_edit(world: World, number: int | Sequence[int], name: str = "spring") -> CorrectionEnded:
    answer = world.turns.operate(EndCorrection(name, number))
    world.settle()
    return answer


def wait(world: World, time: timedelta) -> None:
    world.clock.move(time)
    world.say("491", "hello")  # a pass
    world.delivery.rows = [row for row in world.delivery.rows if row.contact != "491"]


def texts(world: World) -> dict[str, str]:
    return {row.contact: row.effect.message.body[0]["text"] for row in world.delivery.rows}


def send_all(world: World) -> list[str]:
    """Everything that waits is sent; who got it, in order."""
    got = []
    while rows := list(world.delivery.rows):
        got += [row.contact for row in rows]
        done(world, rows)
    return got


# -- the first message goes alone


def test_the_first_message_goes_alone_and_the_rest_once_the_gateway_has_taken_it(world: World) -> None:
    ask(world, *people(3))
    (first,) = world.delivery.wait_for(1)
    assert world.reader.broadcasts.outcomes("spring") == {"waiting": 3}
    done(world, [first])
    assert [row.contact for row in world.delivery.rows] == people(2, 1)


@pytest.mark.parametrize("code", ["132000", "132001", "132006", "132007", "132008", "132012", "132015", "132999"])
def test_a_first_message_that_is_refused_for_its_template_costs_one_contact(world: World, code: str) -> None:
    ask(world, *people(300))
    refuse(world, world.delivery.wait_for(1)[0], code)
    assert world.delivery.rows == []
    assert world.reader.broadcasts.outcomes("spring") == {f"failed ({code})": 1, "paused": 299}


def test_a_first_message_to_somebody_who_cannot_be_reached_is_followed_by_the_next_one_alone(world: World) -> None:
    ask(world, *people(4))
    first = world.delivery.wait_for(1)[0]
    refuse(world, first, "VALIDATION_INVALID_PHONE")
    (second,) = world.delivery.wait_for(1)
    world.delivery.rows.remove(second)
    world.report(second, "opted_out")
    (third,) = world.delivery.wait_for(1)
    done(world, [third])
    assert [row.contact for row in world.delivery.rows] == people(1, 3)


def test_a_first_message_whose_contact_is_erased_is_followed_by_the_next_one(world: World) -> None:
    ask(world, *people(3))
    world.turns.operate(EraseContact(world.delivery.wait_for(1)[0].contact))
    world.settle()
    assert send_all(world) == people(2, 1)


@about_files
def test_a_kill_while_the_first_message_is_sent_leaves_it_unknown_and_the_next_one_goes_alone(
    world: World, tmp_path: Path
) -> None:
    ask(world, *people(3))
    world.turns.claim(world.delivery.wait_for(1)[0])
    killed = shutil.copytree(tmp_path, tmp_path / "killed")
    with continued(killed, world) as restarted:
        (second,) = restarted.delivery.wait_for(1)
        restarted.settle()
        assert restarted.reader.broadcasts.outcomes("spring") == {"unknown": 1, "waiting": 2}
        done(restarted, [second])
        assert send_all(restarted) == people(1, 2)


def test_another_broadcast_is_not_held_up_by_one_that_begins(world: World) -> None:
    ask(world, *people(3))
    ask(world, *people(3), name="summer")
    spring, summer = world.delivery.wait_for(2)
    done(world, [summer])
    assert len(world.delivery.rows) == 3 and spring in world.delivery.rows


def test_a_first_message_that_cannot_go_lets_another_contact_be_the_first(world: World) -> None:
    ask(world, *people(3))
    (held,) = world.delivery.wait_for(1)  # its channel is held, say, or the contact's share is used up
    wait(world, CANARY_WAITS - SECOND)
    assert world.delivery.rows == [held]
    wait(world, SECOND)
    (second,) = world.delivery.rows
    assert [held.contact, second.contact] == people(2)
    assert world.reader.broadcasts.outcomes("spring") == {"waiting": 3}
    done(world, [second])
    assert send_all(world) == [*people(1, 2), held.contact]


def test_a_first_message_that_may_have_been_sent_is_waited_for(world: World) -> None:
    ask(world, *people(2))
    (first,) = world.delivery.wait_for(1)
    world.delivery.in_flight = {first.id}
    wait(world, CANARY_WAITS)
    assert world.delivery.rows == [first]


def test_the_only_message_of_a_broadcast_is_left_where_it_waits(world: World) -> None:
    ask(world, *people(1))
    (only,) = world.delivery.wait_for(1)
    wait(world, CANARY_WAITS)
    assert world.delivery.rows == [only]


def test_first_messages_beside_a_full_outbox_bring_in_none_of_those_that_wait(world: World) -> None:
    running(world, AHEAD + 50)
    ask(world, *people(3), name="summer")
    ask(world, *people(3), name="autumn")
    assert len(world.delivery.rows) == AHEAD + 2


# -- refusals pause it


def test_a_template_that_stops_working_in_the_middle_takes_the_rest_back_and_says_so(world: World) -> None:
    rows = running(world, 300)
    world.delivery.in_flight = {rows[1].id}
    refuse(world, rows[0], "132006")
    assert world.delivery.rows == [rows[1]]
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 1, "failed (132006)": 1, "waiting": 1, "paused": 297}
    (alarm,) = world.alarms.current()
    assert (alarm.name, alarm.about) == (ALARM, "spring")
    assert alarm.what == 'the broadcast "spring" is paused: the gateway refuses its messages with 132006'
    assert '--edit "spring"' in alarm.advice and 'resume "spring"' in alarm.advice
    assert rows[0].contact not in alarm.what + alarm.advice


@about_files
def test_a_pause_is_told_again_after_a_restart_and_ends_with_the_resumption(world: World, tmp_path: Path) -> None:
    ask(world, *people(3))
    refuse(world, world.delivery.wait_for(1)[0])
    killed = shutil.copytree(tmp_path, tmp_path / "killed")
    with continued(killed, world) as restarted:
        restarted.settle()
        assert restarted.delivery.rows == []
        assert [alarm.about for alarm in restarted.alarms.current()] == ["spring"]
        resume(restarted)
        assert restarted.alarms.current() == []


T, P, S, X = "132000", "VALIDATION_INVALID_PHONE", "WHATSAPP_SEND_FAILED", "VALIDATION_INVALID_URL"


@pytest.mark.parametrize(
    ("recent", "enough"),
    [
        ([T], True),
        (["", "", T], True),
        ([X, X], False),
        ([X, X, X], True),
        ([X, "", X, "", X], True),
        ([X, "", "", X, "", X], False),
        (["A", "B", "C", "D"], False),
        ([P] * 8, False),
        ([P] * 9, True),
        (["", *[S] * 9], True),
        (["", "", *[S] * 8], False),
    ],
)
def test_how_many_refusals_are_enough(recent: list[str], enough: bool) -> None:
    assert is_enough(recent) is enough


FIELD = "template.components[0].parameters"


@pytest.mark.parametrize(
    ("code", "detail", "about_text"),
    [
        ("132005", "132005: Template text too long", True),
        ("132018", "132018: (#132018) Parameter cannot have new-line/tab characters", True),
        ("132001", f"132001: Template missing parameters (field: {FIELD}[1].text; hint: empty)", True),
        ("132000", f"132000: Template param mismatch (field: {FIELD}[0].text)", True),
        ("132001", "132001: Template missing parameters (hint: parameter 2 is empty)", True),
        ("132001", "132001: {{2}} is empty", True),
        ("132001", f"132001: Template missing parameters (field: {FIELD}[0].type; hint: one of image)", False),
        ("132001", f"132001: Template missing parameters (field: {FIELD}[0].image)", False),
        ("132000", f"132000: Template param mismatch (field: {FIELD}; hint: 1 wanted, 2 received)", False),
        ("132000", "132000: Template param mismatch (send as many parameters as the template has placeholders)", False),
        ("132012", "132012: Template does not exist (field: template.name)", False),
        ("VALIDATION_INVALID_URL", f"VALIDATION_INVALID_URL: no (field: {FIELD}[0].text)", False),
    ],
)
def test_a_refusal_is_about_one_text_if_it_names_a_parameter_or_cannot_be_about_anything_else(
    code: str, detail: str, about_text: bool
) -> None:
    assert is_about_text(code, detail) is about_text


def test_the_log_says_why_messages_are_given_up_without_a_line_for_each(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    ask(world, *people(14))
    for _ in range(11):
        (row,) = world.delivery.wait_for(1)
        world.delivery.rows.remove(row)
        world.report(row, "failed", f"132005: {row.contact} is secret", code="132005", message_ids=())
    said = [record.getMessage() for record in caplog.records if "given up" in record.message]
    assert said == [
        "messages given up with 132005 since the start: 1 (shorten the value)",
        "messages given up with 132005 since the start: 10 (shorten the value)",
    ]


@pytest.mark.parametrize(
    ("code", "told"),
    [("", "no code"), ("unclear", "unclear"), ("NEW_CODE", "another code")],
)
def test_the_log_leads_to_the_queue_where_the_gateways_table_has_no_advice(
    world: World, caplog: pytest.LogCaptureFixture, code: str, told: str
) -> None:
    ask(world, *people(1))
    (row,) = world.delivery.wait_for(1)
    world.report(row, "failed", "given up after 9 tries: no connection", code=code, message_ids=())
    said = [record.getMessage() for record in caplog.records if "given up" in record.message]
    assert said == [f"messages given up with {told} since the start: 1 (`bot queue` says why)"]


def test_the_log_has_no_advice_of_ours_where_the_gateway_has_said_what_to_do(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    ask(world, *people(2))
    (row,) = world.delivery.wait_for(1)
    detail = "VALIDATION_MISSING_FIELD: no (hint: name it)"
    world.report(row, "failed", detail, code="VALIDATION_MISSING_FIELD", message_ids=())
    said = [record.getMessage() for record in caplog.records if "given up" in record.message]
    why = "`bot queue` says why"
    assert said == [f"messages given up with VALIDATION_MISSING_FIELD since the start: 1 ({why})"]


def test_a_refused_text_of_one_recipient_never_pauses_the_others(world: World) -> None:
    ask(world, *people(14))
    for _ in range(12):
        (row,) = world.delivery.wait_for(1)
        world.delivery.rows.remove(row)
        world.report(row, "failed", f"132001: no (field: {FIELD}[0].text)", code="132001", message_ids=())
    assert world.alarms.current() == []
    assert send_all(world) == people(2, 12)
    assert world.reader.broadcasts.outcomes("spring") == {"failed (132001)": 12, "sent": 2}


def test_messages_that_fail_after_the_gateway_took_them_count(world: World) -> None:
    ask(world, *people(9))
    first = world.delivery.wait_for(1)[0]
    done(world, [first])
    world.tell("message.failed", message_id=f"m{first.id}", error={"code": "132007", "message": "rejected"})
    assert world.reader.broadcasts.outcomes("spring") == {"failed (132007)": 1, "paused": 8}


def test_messages_of_which_nobody_knows_pause_it_before_there_are_many(world: World) -> None:
    rows = running(world, 20)
    for row in rows[:3]:
        world.delivery.rows.remove(row)
        world.report(row, "unknown", "timed out", code="unclear", message_ids=())
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 1, "unknown": 3, "paused": 16}
    assert "nobody can tell" in world.alarms.current()[0].what
    assert resume(world) == BroadcastResumed(16, 0)
    assert send_all(world) == people(16, 4)


# -- a correction goes to the rest


def test_a_corrected_broadcast_goes_on_with_everybody_who_did_not_get_it(world: World) -> None:
    rows = running(world, 6)
    world.delivery.rows.remove(rows[0])
    world.report(rows[0], "unknown", "timed out")
    world.delivery.rows.remove(rows[1])
    world.report(rows[1], "opted_out")
    refuse(world, rows[2])
    key = rows[2].key
    assert edit(world, *people(7)) == {
        "corrected": 3, "added": 1, "had_it": 1, "unknown": 1, "opted_out": 1, "left_out": 0
    }  # fmt: skip
    assert world.delivery.rows == []
    assert resume(world) == BroadcastResumed(4, 0)
    (first,) = world.delivery.wait_for(1)
    assert (first.effect.message.name, texts(world)) == ("better", {first.contact: f"better for {first.contact}"})
    done(world, [first])
    assert key not in {row.key for row in world.delivery.rows}
    assert {first.contact, *send_all(world)} == {*people(4, 3)}
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 5, "unknown": 1, "opted_out": 1}
    assert len(letters(world)) == 1  # what nobody knows of stays for an operator
    assert world.alarms.current() == []


def test_refused_ones_go_again_without_a_correction_where_the_template_was_put_right(world: World) -> None:
    ask(world, *people(3))
    refuse(world, world.delivery.wait_for(1)[0], "132006")
    assert resume(world) == BroadcastResumed(3, 0)
    assert send_all(world) == [*people(2, 1), *people(1)]
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 3}
    assert letters(world) == []


def test_what_failed_for_no_word_of_the_gateways_stays_given_up_when_a_stopped_broadcast_goes_on(world: World) -> None:
    rows = running(world, 4)
    world.delivery.rows.remove(rows[0])
    world.report(rows[0], "failed", "given up after 9 tries: no connection", message_ids=())
    stop(world)
    assert resume(world) == BroadcastResumed(2, 0)
    assert send_all(world) == people(2, 2)
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 3, "failed": 1}
    assert len(letters(world)) == 1


def test_a_stop_of_what_is_paused_says_who_does_not_get_it(world: World) -> None:
    ask(world, *people(3))
    refuse(world, world.delivery.wait_for(1)[0])
    assert stop(world) == BroadcastStopped(2, 0)
    assert stop(world) == BroadcastStopped(0, 0)


def test_a_wrong_correction_costs_one_contact_and_is_corrected_once_more(world: World) -> None:
    ask(world, *people(5))
    refuse(world, world.delivery.wait_for(1)[0])
    keys = set()
    for _ in range(3):
        edit(world, *people(5))
        resume(world)
        (row,) = world.delivery.wait_for(1)
        keys.add(row.key)
        refuse(world, row)
    assert len(keys) == 3
    assert sum(world.reader.broadcasts.outcomes("spring").values()) == 5
    edit(world, *people(5))
    edit(world, *people(5))
    resume(world)
    assert resume(world) == BroadcastResumed(0, 0)
    assert sorted(send_all(world)) == people(5)
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 5}
    assert letters(world) == []


def test_a_message_in_flight_is_not_corrected_but_ends_as_it_ends(world: World) -> None:
    rows = running(world, 4)
    world.delivery.in_flight = {row.id for row in rows[:2]}
    assert begin_edit(world) == CorrectionBegun(1, 2)
    correct(world, 1, *people(4))
    end_edit(world, 1)
    resume(world)
    (alone,) = [row for row in world.delivery.rows if row.id not in world.delivery.in_flight]
    done(world, [rows[0]])  # in time
    assert [row.contact for row in world.delivery.rows] == [rows[1].contact, alone.contact]
    refuse(world, rows[1])  # with the old parameters: no word on the new ones
    assert world.alarms.current() == []
    done(world, [alone])
    (again,) = world.delivery.wait_for(1)
    assert (again.contact, again.key != rows[1].key) == (rows[1].contact, True)
    assert texts(world) == {again.contact: f"better for {again.contact}"}
    done(world, [again])
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 4}
    assert letters(world) == []


def test_who_is_not_in_the_corrected_file_does_not_get_it_until_another_correction(world: World) -> None:
    ask(world, *people(4))
    refuse(world, world.delivery.wait_for(1)[0])
    assert edit(world, *people(2, 2))["left_out"] == 1
    resume(world)
    assert send_all(world) == people(2, 2)
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 2, "left_out": 1, "failed (132000)": 1}
    edit(world, *people(4))
    resume(world)
    assert sorted(send_all(world)) == people(2)


def test_a_correction_that_is_broken_off_sends_nothing_until_it_is_made_anew(world: World) -> None:
    ask(world, *people(3))
    refuse(world, world.delivery.wait_for(1)[0])
    number = begin_edit(world).edit
    correct(world, number, *people(1))
    with pytest.raises(RequestRefused, match="was broken off: write it again"):
        resume(world)
    with pytest.raises(RequestRefused, match="was broken off"):
        ask(world, *people(3), template=OTHER)
    stop(world)
    edit(world, *people(3))
    with pytest.raises(RequestRefused, match="by somebody else meanwhile"):
        correct(world, number, *people(1))
    resume(world)
    assert sorted(send_all(world)) == people(3)


def test_a_running_broadcast_is_stopped_by_a_correction(world: World) -> None:
    running(world, 4)
    edit(world, *people(4))
    assert world.delivery.rows == []
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 1, "stopped": 3}
    resume(world)
    assert send_all(world) == people(3, 1)


@about_files
def test_a_kill_between_any_two_steps_gives_it_to_everybody_once(world: World, tmp_path: Path) -> None:
    kills: list[Path] = []

    def killed() -> None:
        world.settle()
        ignored = shutil.ignore_patterns("killed*")
        kills.append(shutil.copytree(tmp_path, tmp_path / f"killed {len(kills)}", ignore=ignored))

    rows = running(world, 6)
    killed()
    refuse(world, rows[0])
    killed()
    begin_edit(world)
    killed()
    correct(world, 1, *people(6))
    killed()
    end_edit(world, 1)
    killed()
    resume(world)
    killed()
    for number, path in enumerate(kills):
        with continued(path, world) as restarted:
            restarted.settle()
            if 0 < number < 5:
                edit(restarted, *people(6))
                resume(restarted)
            assert sorted(send_all(restarted)) == people(5, 1), number
            assert restarted.reader.broadcasts.outcomes("spring") == {"sent": 6}


# -- what was given up


def test_a_retry_uses_the_corrected_parameters(world: World) -> None:
    rows = running(world, 3)
    for row in rows:
        refuse(world, row, "VALIDATION_INVALID_PHONE")
    edit(world, *people(3))
    answer = world.turns.operate(RetryDeadLetters(letters(world)))
    assert answer.held == ["spring"]
    world.settle()
    assert world.delivery.rows == []
    resume(world)
    assert set(texts(world).values()) == {f"better for {people(2, 1)[0]}"}
    assert sorted(send_all(world)) == people(2, 1)


def test_a_retry_of_what_may_have_been_sent_is_the_same_message_under_the_same_key(world: World) -> None:
    (row,) = running(world, 2)
    world.delivery.rows.remove(row)
    world.report(row, "unknown", "timed out", key_helps=True)
    edit(world, *people(2))
    resume(world)
    world.turns.operate(RetryDeadLetters(letters(world), True))
    world.settle()
    stop(world)
    resume(world)
    (again,) = world.delivery.wait_for(1)
    assert (again.key, again.ref, again.effect, again.repeated) == (row.key, row.ref, row.effect, True)
    refuse(world, again, "VALIDATION_INVALID_PHONE")  # now it is certain that it was not sent
    (corrected,) = world.delivery.wait_for(1)
    assert corrected.key != row.key and texts(world) == {row.contact: f"better for {row.contact}"}


def test_a_retry_to_somebody_whom_a_correction_left_out_is_the_message_that_was_refused(world: World) -> None:
    (row,) = running(world, 2)
    refuse(world, row)
    edit(world, *people(1))
    resume(world)
    assert world.delivery.rows == []
    world.turns.operate(RetryDeadLetters(letters(world)))
    world.settle()
    (again,) = world.delivery.wait_for(1)
    assert again.effect == row.effect and again.key != row.key


def test_other_parameters_under_the_same_name_are_counted(world: World) -> None:
    ask(world, *people(2))
    recipients = [{"contact": contact, "body": ["other"]} for contact in people(2)]
    again = AddRecipients("spring", recipients, SALE)
    assert world.turns.operate(again) == RecipientsAdded(0, 2, 2, 0)


# -- later


def later(world: World, **by: int) -> None:
    at = (world.clock.now() + timedelta(**by)).isoformat()
    recipients = [{"contact": contact, "body": [f"for {contact}"], "at": at} for contact in people(3)]
    request = AddRecipients("spring", recipients, SALE, at="10:00")
    world.turns.operate(request)
    world.settle()


def test_nothing_is_sent_before_the_time_of_a_broadcast_and_then_its_first_message_goes_alone(world: World) -> None:
    later(world, hours=1)
    wait(world, timedelta(minutes=59))
    assert (world.delivery.rows, world.reader.broadcasts.outcomes("spring")) == ([], {"scheduled": 3})
    assert world.turns.next_wake() == START + timedelta(hours=1)
    wait(world, timedelta(minutes=1))
    assert [row.contact for row in world.delivery.rows] == people(1)
    assert send_all(world) == people(3)


@about_files
def test_the_time_of_a_broadcast_outlives_a_restart(world: World, tmp_path: Path) -> None:
    later(world, hours=1)
    killed = shutil.copytree(tmp_path, tmp_path / "killed")
    with continued(killed, world) as restarted:
        restarted.settle()
        assert restarted.delivery.rows == []
        wait(restarted, timedelta(hours=1))
        assert send_all(restarted) == people(3)


def test_a_broadcast_that_is_stopped_before_its_time_stays_stopped_and_is_resumed_for_it(world: World) -> None:
    later(world, hours=1)
    assert stop(world) == BroadcastStopped(3, 0)
    assert world.reader.broadcasts.outcomes("spring") == {"stopped": 3}
    resume(world)
    assert world.reader.broadcasts.outcomes("spring") == {"scheduled": 3}
    stop(world)
    wait(world, timedelta(hours=2))
    assert world.delivery.rows == []
    resume(world)
    assert send_all(world) == people(3)
