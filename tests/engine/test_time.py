"""Flows that are scheduled, waits for a point in time, and starts by programs: the pure engine, by the clock."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.core.events import ConversationAssigned, MessageReceived, TimeReached
from tests.talk import BOT, CONTACT, Talk, problems_of

MOST_DUE = 100
BERLIN = BOT + "timezone: Europe/Berlin\n"
OFFICE = BERLIN + 'hours: {office: {mon-fri: "9:00-17:00", holidays: {2030-05-08: Victory Day}}}\n'
REMINDER = """
---
flow: reminder
vars: {slot: {type: text}}
steps: {say: {say: "Tomorrow: {{ slot }}", then: end}}
"""
ASKS = """
---
flow: survey
interrupted: resume
steps: {q: {ask: How was it?}, thanks: {say: Thanks., then: end}}
"""


def booking(schedule: str, *, more: str = REMINDER, option: str = "", bot: str = BERLIN) -> Talk:
    """A contact who has booked at 12:00 on Monday 6 May 2030, summer time in Berlin: 10:00 in UTC."""
    talk = Talk(
        f"flow: main\nstart: {{otherwise: true}}\nsteps: {{b: {{say: Booked., {schedule}{option}}}}}{more}", bot
    )
    assert talk.user("book") == ["Booked."]
    return talk


def due(talk: Talk) -> datetime | None:
    assert talk.turn is not None
    return talk.turn.wake_at


def names(talk: Talk) -> list[str]:
    return [plan.name for plan in talk.session.plans]


# -- schedule ---------------------------------------------------------------------------------------


def test_a_flow_starts_after_a_duration_with_what_was_known_when_it_was_scheduled() -> None:
    talk = booking('schedule: {flow: reminder, after: 2h, with: {slot: "{{ now | time }}"}}')
    assert talk.at is None
    assert talk.wait("119m") == []
    assert talk.wait("1m") == ["Tomorrow: 12:00"]
    assert talk.session.plans == ()
    assert due(talk) is None


@pytest.mark.parametrize("when", ['"2030-05-07 09:00"', '"2030-05-07T07:00Z"', '"{{ now + hours(21) }}"'])
def test_a_flow_starts_at_a_point_in_time_in_the_bots_zone(when: str) -> None:
    talk = booking(f"schedule: {{flow: reminder, at: {when}}}")
    assert due(talk) == datetime(2030, 5, 7, 7, 0, tzinfo=UTC)


def test_days_go_by_the_calendar_and_hours_by_the_clock() -> None:
    talk = booking("schedule: [{flow: reminder, after: 180d}, {flow: reminder, after: 23h, name: soon}]")
    assert [plan.at.hour for plan in talk.session.plans] == [11, 9]  # it is winter in 180 days


def test_a_point_in_time_that_has_passed_is_a_second_later_or_never() -> None:
    talk = booking('schedule: {flow: reminder, at: "2030-05-06 11:59"}')
    assert talk.wait("1s") == ["Tomorrow: "]
    talk = booking('schedule: {flow: reminder, at: "2030-05-06 12:00", past: skip}')
    assert talk.session.plans == ()


def test_a_day_without_a_time_is_a_failure_and_nothing_of_the_step_stays_done() -> None:
    talk = booking('schedule: {flow: reminder, at: "{{ today }}"}', option=", tag: booked, errors: {else: end}")
    assert talk.session.plans == () and talk.session.tags == ()
    assert talk.turn is not None and "a date is not a date with a time" in talk.turn.trace.notes[0]


def test_scheduling_a_name_again_replaces_it_and_another_name_stands_beside_it() -> None:
    again = "schedule: [{flow: reminder, after: 1h}, {flow: reminder, after: 2h}, {flow: reminder, after: 3h, name: x}]"
    talk = booking(again)
    assert names(talk) == ["reminder", "x"]
    assert due(talk) == talk.now + timedelta(hours=2)


def test_a_name_may_be_worked_out() -> None:
    talk = booking('schedule: {flow: reminder, after: 1h, name: "visit {{ contact.id }}"}')
    assert names(talk) == [f"visit {CONTACT}"]


def test_cancel_takes_away_by_name_and_comes_before_the_same_steps_schedule() -> None:
    flows = """
flow: main
start: {words: [book]}
steps: {b: {say: Booked., schedule: [{flow: reminder, after: 1h}, {flow: reminder, after: 2h, name: late}]}}
---
flow: sorry
start: {words: [cancel]}
steps: {c: {say: Cancelled., cancel: [reminder, late], schedule: {flow: reminder, after: 9h, name: late}}}
"""
    talk = Talk(flows + REMINDER)
    talk.user("book")
    assert names(talk) == ["reminder", "late"]
    assert talk.user("cancel") == ["Cancelled."]
    assert names(talk) == ["late"]
    assert due(talk) == talk.now + timedelta(hours=9)


def test_what_is_scheduled_outlives_the_conversation_and_its_reset() -> None:
    flow = "steps: {b: {say: Booked., schedule: {flow: reminder, after: 2d}}, q: {ask: Well?}}"
    talk = Talk(f"flow: main\nstart: {{otherwise: true}}\n{flow}{REMINDER}")
    talk.user("book"), talk.user("Fine.")
    assert talk.at is None and names(talk) == ["reminder"]
    talk.user("book")
    talk.reset()
    assert talk.at is None and names(talk) == ["reminder"]


def test_more_than_a_hundred_scheduled_flows_are_a_failure() -> None:
    flow = 'steps: {b: {say: "{{ contact.id }}", schedule: {flow: reminder, after: 1d, name: "{{ now }}"}}}'
    talk = Talk(f"flow: main\nstart: {{otherwise: true}}\n{flow}{REMINDER}")
    for _ in range(100):
        talk.user("book")
        talk.pass_time(timedelta(minutes=1))
    talk.user("book")
    assert len(talk.session.plans) == 100
    assert talk.turn is not None and "more than 100" in (talk.turn.failure or "")


# -- every ------------------------------------------------------------------------------------------


def test_what_comes_again_comes_at_the_same_time_of_day_across_daylight_saving() -> None:
    talk = booking("schedule: {flow: reminder, every: mon-fri at 9:00}")
    talk.now = datetime(2030, 10, 24, 12, 0, tzinfo=UTC)
    talk.wait("1s")
    seen = []
    for _ in range(3):
        at = due(talk)
        assert at is not None
        seen.append(f"{at:%a %d %H:%M}")
        talk.wait("3d" if at.weekday() == 4 else "1d")
    assert seen == ["Fri 25 07:00", "Mon 28 08:00", "Tue 29 08:00"]


def test_what_comes_again_ends_with_its_last_day() -> None:
    talk = booking('schedule: {flow: reminder, every: day at 9:00, until: "2030-05-08"}')
    assert talk.wait("5d") == ["Tomorrow: "] * 2
    assert talk.session.plans == ()


def test_what_comes_again_may_cancel_itself() -> None:
    more = "\n---\nflow: daily\nsteps: {s: {say: Good morning., cancel: daily, then: end}}"
    talk = booking("schedule: {flow: daily, every: day at 9:00}", more=more)
    assert talk.wait("5d") == ["Good morning."]


def test_after_a_long_silence_of_the_engine_it_comes_once() -> None:
    talk = booking("schedule: {flow: reminder, every: day at 9:00}")
    talk.pass_time(timedelta(days=30))
    assert talk.wait("1s") == ["Tomorrow: "]
    assert due(talk) == datetime(2030, 6, 6, 7, 0, tzinfo=UTC)


# -- busy -------------------------------------------------------------------------------------------


def busy(policy: str, more: str = ASKS) -> Talk:
    """A contact with a flow that is due in an hour, who is asked something by then."""
    start = f"schedule: {{flow: reminder, after: 1h, busy: {policy}}}"
    flows = f"flow: main\nstart: {{otherwise: true}}\nsteps: {{b: {{say: Booked., {start}, then: /survey}}}}"
    talk = Talk(flows + REMINDER + more, BERLIN)
    assert talk.user("book") == ["Booked.", "How was it?"]
    return talk


def test_skip_leaves_it_out_while_the_contact_is_in_a_flow() -> None:
    talk = busy("skip")
    assert talk.wait("2h") == []
    assert talk.session.plans == ()
    assert talk.at == "survey/q"


def test_after_waits_until_the_contact_is_in_no_flow_and_starts_as_a_turn_of_its_own() -> None:
    talk = busy("after")
    assert talk.wait("2h") == []
    assert talk.user("Good.") == ["Thanks."]
    assert due(talk) is not None
    assert talk.wait("1s") == ["Tomorrow: "]


def test_after_waits_for_a_time_out_too() -> None:
    talk = busy("after")
    assert talk.wait("20h") == ["Tomorrow: "]
    assert talk.at is None


def test_interrupt_cuts_in_and_the_question_is_put_again() -> None:
    talk = busy("interrupt")
    assert talk.wait("1h") == ["Tomorrow: ", "How was it?"]
    assert talk.user("Good.") == ["Thanks."]


def test_interrupt_cuts_in_on_a_flow_that_no_word_may_interrupt() -> None:
    talk = busy("interrupt", ASKS.replace("interrupted: resume\n", ""))
    assert talk.wait("1h") == ["Tomorrow: ", "How was it?"]


def test_nothing_cuts_in_on_a_hand_over_an_agent_or_a_call() -> None:
    more = "\n---\nflow: survey\nsteps: {q: {ask: How was it?}, p: {handoff: desk, closed: end}}"
    talk = busy("interrupt", more)
    talk.user("Bad.")
    assert talk.wait("2h") == []
    talk.closed()
    assert talk.wait("1s") == ["Tomorrow: "]
    talk = busy("interrupt")
    talk.take(ConversationAssigned(talk.next_id(), CONTACT, talk.now))
    assert talk.wait("2h") == []
    assert talk.closed() == []
    assert talk.wait("1s") == ["Tomorrow: ", "How was it?"]


def test_several_that_are_due_start_in_their_order_one_a_turn() -> None:
    more = "\n---\nflow: b\nsteps: {s: {say: B.}}\n---\nflow: c\nsteps: {s: {say: C.}}"
    talk = booking("schedule: [{flow: c, after: 2h}, {flow: b, after: 1h}]", more=more)
    talk.pass_time(timedelta(hours=3))
    assert talk.wait("1s") == ["B.", "C."]


def test_a_reminder_or_a_time_out_comes_before_what_is_scheduled_for_the_same_time() -> None:
    flow = """
flow: main
start: {otherwise: true}
steps: {q: {ask: Well?, timeout: {after: 1h, say: Bye., then: end}}}
"""
    talk = Talk(flow + REMINDER)
    talk.user("a")
    talk.start("reminder", slot="9:00")
    assert talk.wait("1h") == ["Bye.", "Tomorrow: 9:00"]


# -- storms -----------------------------------------------------------------------------------------

ROUND = [
    'flow: a\nsteps: {s: {say: A., schedule: {flow: a, at: "{{ now - hours(1) }}", past: now}, then: end}}',
    "flow: a\nsteps: {s: {say: A., schedule: {flow: a, after: 1s, busy: interrupt}, then: end}}",
    "flow: a\nsteps: {s: {say: A., schedule: {flow: b, after: 1s}, then: end}}\n---\n"
    "flow: b\nsteps: {s: {say: A., schedule: {flow: a, after: 1s}, then: end}}",
]


@pytest.mark.parametrize("flows", ROUND)
def test_flows_that_schedule_themselves_round_and_round_are_stopped_and_the_operator_is_told(flows: str) -> None:
    talk = Talk(flows)
    assert talk.start("a") == ["A."]
    assert talk.wait("1h") == ["A."] * MOST_DUE
    assert talk.session.plans == () and due(talk) is None
    assert talk.turn is not None and "look for a flow that schedules itself" in (talk.turn.failure or "")
    assert talk.turn.trace.notes == [talk.turn.failure]


@pytest.mark.parametrize("said", [["Hello."], []])
def test_a_word_from_the_contact_or_the_next_hour_lets_scheduled_flows_start_again(said: list[str]) -> None:
    talk = Talk(ROUND[1] + "\n---\nflow: hello\nstart: {otherwise: true}\nsteps: {s: {say: Hello.}}")
    talk.start("a")
    talk.wait("30m")
    assert talk.session.plans == ()
    assert (talk.user("hi") if said else talk.wait("31m")) == said
    assert talk.start("a") == ["A."]
    assert talk.wait("3s") == ["A."] * 3


def test_what_comes_every_minute_never_comes_too_often() -> None:
    talk = booking('schedule: {flow: reminder, every: "* * * * *"}')
    talk.checks = False
    assert talk.wait("4h") == ["Tomorrow: "] * 240


# -- edits ------------------------------------------------------------------------------------------


def test_a_scheduled_flow_that_an_edit_took_away_is_left_out_with_a_note() -> None:
    talk = booking("schedule: {flow: reminder, after: 1h}")
    talk.edit("flow: main\nstart: {otherwise: true}\nsteps: {b: {say: Booked.}}", BERLIN)
    assert talk.wait("2h") == []
    assert talk.session.plans == ()
    assert talk.turn is not None and talk.turn.trace.notes == ["reminder: reminder is gone"]
    assert talk.turn.trace.rule == "nothing to start"


def test_values_that_an_edit_took_away_are_left_out_and_those_that_do_not_fit_are_told_to_the_operator() -> None:
    flows = "flow: main\nstart: {otherwise: true}\nsteps: {b: {say: Booked.}}"
    talk = booking("schedule: {flow: reminder, after: 1h, with: {slot: nine}}")
    talk.edit(flows + "\n---\nflow: reminder\nsteps: {say: {say: Tomorrow.}}", BERLIN)
    assert talk.wait("1h") == ["Tomorrow."]
    talk = booking("schedule: {flow: reminder, after: 1h, with: {slot: nine}}")
    talk.edit(flows + REMINDER.replace("text", "integer"), BERLIN)
    assert talk.wait("1h") == []
    assert talk.turn is not None and "slot" in (talk.turn.failure or "")
    assert talk.session.plans == ()


# -- starts by programs -----------------------------------------------------------------------------


def test_a_program_starts_a_flow_at_a_step_too_with_values() -> None:
    talk = Talk("flow: main\nvars: {n: {type: integer}}\nsteps: {a: {say: A.}, b: {say: 'B {{ n }}.', then: end}}")
    assert talk.start("main", n=3) == ["A.", "B 3."]
    assert talk.start("main/b", n=4) == ["B 4."]
    assert talk.turn is not None and talk.turn.trace.rule == "start of main/b: by api"


@pytest.mark.parametrize(
    ("flow", "data", "why"),
    [
        ("mian", {}, 'there is no flow "mian" to start: did you mean "main"?'),
        ("main/c", {}, 'there is no flow "main/c" to start'),
        ("main", {"m": 1}, 'main was not started: no variable "m"'),
        ("main", {"n": "x"}, "main was not started: n: "),
    ],
)
def test_a_start_that_cannot_be_is_told_to_the_operator_and_disturbs_nobody(flow: str, data: object, why: str) -> None:
    talk = Talk("flow: main\nstart: {otherwise: true}\nvars: {n: {type: integer}}\nsteps: {a: {ask: A?}}")
    talk.user("hi")
    assert talk.start(flow, "interrupt", **data) == []  # type: ignore[arg-type]
    assert talk.turn is not None and (talk.turn.failure or "").startswith(why)
    assert talk.at == "main/a"


def test_a_start_keeps_to_what_it_says_of_a_busy_contact() -> None:
    flows = "flow: main\nstart: {otherwise: true}\nsteps: {a: {ask: A?}}\n---\nflow: b\nsteps: {s: {say: B.}}"
    for policy, at_once, later in (("skip", [], []), ("after", [], ["B."]), ("interrupt", ["B.", "A?"], [])):
        talk = Talk(flows)
        talk.user("hi")
        assert talk.start("b", policy) == at_once
        talk.user("x")
        assert talk.wait("1s") == later, policy


def test_two_starts_of_one_flow_that_wait_both_happen() -> None:
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps: {a: {ask: A?}}\n---\nflow: b\nsteps: {s: {say: B.}}")
    talk.user("hi")
    talk.start("b"), talk.start("b")
    talk.user("x")
    assert talk.wait("1s") == ["B.", "B."]


def test_a_start_meets_a_contact_whose_step_an_edit_took_away() -> None:
    flows = "flow: b\nsteps: {s: {say: B.}}"
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps: {a: {ask: A?}}\n---\n" + flows)
    talk.user("hi")
    talk.edit(flows)
    assert talk.start("b") == ["B."]


# -- wait -------------------------------------------------------------------------------------------


def waits(wait: str, bot: str = BERLIN) -> Talk:
    flow = f"flow: main\nstart: {{otherwise: true}}\nvars: {{d: {{type: date, value: 2030-05-08}}}}\nsteps: {{w: {{wait: {wait}}}"
    return Talk(flow + ", s: {say: Now., then: end}}", bot)


@pytest.mark.parametrize(
    ("wait", "until"),
    [
        ("90d", datetime(2030, 8, 4, 10, 0, tzinfo=UTC)),
        ("180d 1h", datetime(2030, 11, 2, 12, 0, tzinfo=UTC)),
        ('"2030-12-24 18:00"', datetime(2030, 12, 24, 17, 0, tzinfo=UTC)),
        ("2030-12-24", datetime(2030, 12, 23, 23, 0, tzinfo=UTC)),
        ('"{{ d }}"', datetime(2030, 5, 7, 22, 0, tzinfo=UTC)),
        ('"{{ now + days(2) }}"', datetime(2030, 5, 8, 10, 0, tzinfo=UTC)),
        ('"{{ hours(3) }}"', datetime(2030, 5, 6, 13, 0, tzinfo=UTC)),
    ],
)
def test_a_wait_ends_at_its_time_by_the_bots_clock(wait: str, until: datetime) -> None:
    talk = waits(wait)
    talk.user("hi")
    assert due(talk) == until
    talk.now = until - timedelta(seconds=1)
    assert talk.wait("1s") == ["Now."]


@pytest.mark.parametrize("wait", ["2030-05-06", '"2030-05-06 12:00"', '"{{ now - hours(1) }}"'])
def test_a_wait_until_a_time_that_has_passed_goes_on_at_once(wait: str) -> None:
    assert waits(wait).user("hi") == ["Now."]


@pytest.mark.parametrize("wait", ['"{{ contact.id }}"', '"{{ none }}"', '"{{ hours(99999999) }}"'])
def test_a_wait_for_what_is_no_time_is_a_failure(wait: str) -> None:
    talk = waits(wait)
    talk.user("hi")
    assert talk.turn is not None and talk.turn.failure is not None


def test_a_wait_goes_on_while_another_flow_has_cut_in_and_ends_when_that_has() -> None:
    flows = """
flow: main
start: {otherwise: true}
interrupted: resume
steps: {w: {wait: 2h}, s: {say: Now., then: end}}
---
flow: other
start: {words: [other]}
steps: {q: {ask: Other?}}
"""
    talk = Talk(flows)
    talk.user("hi")
    assert talk.user("other") == ["Other?"]
    talk.pass_time(timedelta(hours=1))
    assert talk.user("x") == []
    assert talk.wait("59m") == []
    assert talk.wait("1m") == ["Now."]
    talk.user("hi"), talk.user("other")
    talk.pass_time(timedelta(hours=3))
    assert talk.user("x") == ["Now."]


def test_a_wait_for_opening_hours_ends_when_they_open_and_at_once_where_they_are_open() -> None:
    assert waits("{until: office}", OFFICE).user("hi") == ["Now."]
    talk = waits("{until: office}", OFFICE)
    talk.now = datetime(2030, 5, 7, 16, 0, tzinfo=UTC)  # Tuesday evening; Wednesday is a holiday
    talk.user("hi")
    assert due(talk) == datetime(2030, 5, 9, 7, 0, tzinfo=UTC)


def test_a_wait_for_opening_hours_meets_an_edit_that_shuts_them() -> None:
    talk = waits("{until: office}", OFFICE)
    talk.now = datetime(2030, 5, 6, 16, 0, tzinfo=UTC)
    talk.user("hi")
    shut = OFFICE.replace("2030-05-08: Victory Day", "2030-05-07: Inventory, 2030-05-08: Victory Day")
    talk.library = waits("{until: office}", shut).library
    assert talk.wait("1d") == []
    assert due(talk) == datetime(2030, 5, 9, 7, 0, tzinfo=UTC)


# -- opening hours in conditions --------------------------------------------------------------------


def test_conditions_and_texts_ask_for_opening_hours() -> None:
    flow = """
flow: main
start: {otherwise: true}
steps:
  b: {branch: [{if: open("office"), then: a}, {else: s}]}
  a: {say: "Open, and on Wednesday: {{ open('office', now + days(2)) }}, on Thursday: {{ open('office', today + days(3)) }}", then: end}
  s: {say: "{{ opens('office') | date }} at {{ opens('office') | time }}", then: end}
"""
    talk = Talk(flow, OFFICE)
    assert talk.user("hi") == ["Open, and on Wednesday: false, on Thursday: true"]
    talk.now = datetime(2030, 5, 7, 16, 0, tzinfo=UTC)
    assert talk.user("hi") == ["9 May 2030 at 09:00"]


def test_a_word_takes_back_what_is_scheduled() -> None:
    bot = BOT + "words: {stop: {say: No more letters., cancel: [letter, gone_already], then: end}}\n"
    flows = """
flow: main
start: {otherwise: true}
steps:
  plan: {set: {}, schedule: [{flow: letter, after: 7d}, {flow: letter, name: gone_already, after: 1h}], then: end}
---
flow: letter
steps: {letter: {template: {name: letter, language: en}, then: end}}
"""
    talk = Talk(flows, bot)
    talk.user("hi")
    assert talk.wait("2h") == [["letter"]]
    assert [plan.name for plan in talk.session.plans] == ["letter"]
    assert talk.user("stop") == ["No more letters."]
    assert talk.session.plans == ()


def test_a_transition_can_only_cancel_what_is_scheduled_somewhere() -> None:
    flows = """
flow: main
start: {otherwise: true}
steps:
  plan: {ask: When?, schedule: {flow: main, after: 7d}, buttons: {Never: {cancel: mian, then: end}}}
"""
    (problem,) = problems_of(flows)
    assert 'E116 nothing is scheduled as "mian"' in problem


# -- a clock that was set back ----------------------------------------------------------------------


def set_back(talk: Talk, by: timedelta = timedelta(days=1)) -> list[str]:
    """The clock is set back, and the session is woken for that."""
    talk.now -= by
    return talk.take(TimeReached(talk.next_id(), CONTACT, talk.now))


@pytest.mark.parametrize("wait", ["2h", '"{{ hours(2) }}"'])
def test_a_wait_begins_anew_at_the_latest(wait: str) -> None:
    talk = Talk(f"""
        flow: main
        start: {{otherwise: true}}
        steps: {{w: {{wait: {wait}}}, hi: {{say: Hi., then: end}}}}
        """)
    talk.user("hi")
    assert set_back(talk) == []
    assert due(talk) == talk.now + timedelta(hours=2)
    assert talk.wait("2h") == ["Hi."]


def test_a_wait_for_a_point_in_time_keeps_it() -> None:
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps: {w: {wait: 2030-05-06 18:00}, hi: {say: Hi., then: end}}")
    talk.user("hi")
    before = due(talk)
    set_back(talk)
    assert due(talk) == before


def test_a_scheduled_flow_starts_after_its_duration_and_an_appointment_stays() -> None:
    talk = booking("schedule: {flow: reminder, after: 2h, with: {slot: x}}")
    set_back(talk)
    assert due(talk) == talk.now + timedelta(hours=2)
    talk = booking('schedule: {flow: reminder, at: "2030-05-07 09:00", with: {slot: x}}')
    set_back(talk)
    assert due(talk) == datetime(2030, 5, 7, 7, 0, tzinfo=UTC)


def test_a_message_opens_the_window_from_when_it_came_whatever_its_time() -> None:
    talk = booking("then: end")
    talk.take(MessageReceived(talk.next_id(), CONTACT, talk.now, talk.now + timedelta(days=9), "text", "hi"))
    assert talk.session.last_inbound == talk.now
    set_back(talk)
    assert talk.session.last_inbound == talk.now


def test_a_condition_knows_whether_messages_other_than_templates_can_be_sent() -> None:
    flows = """
flow: lesson
start: {words: [hi]}
steps:
  begin: {wait: LONG}
  reach: {branch: [{if: window_open, then: lesson}]}
  knock: {template: {name: ready, language: en}, replies: {Show me: lesson}}
  lesson: {say: Learn., then: end}
"""
    for long, sent in (("23h54m", ["Learn."]), ("23h55m", [["ready"]])):
        talk = Talk(flows.replace("LONG", long))
        talk.user("hi")
        assert talk.wait(long) == sent
    assert talk.user("Show me") == ["Learn."]


# -- notices, and starts that replace -------------------------------------------------------------------

BUSY_FLOWS = """
flow: main
start: {otherwise: true}
%s
steps: {q: {ask: How many?, remind: {after: 1h, say: Still there?}}, r: {ask: Sure?}, done: {say: Done.}}
---
flow: news
start: {busy: notice}
vars: {what: text}
steps: {say: {say: "News: {{ what }}", then: end}}
---
flow: poll
steps: {q: {ask: Was it good?, then: end}}
---
flow: alarm
start: {busy: replace}
steps: {say: {say: Leave the house!, then: end}}
"""


@pytest.mark.parametrize("interrupted", ["", "interrupted: resume", "interrupted: drop", "interrupted: ask"])
def test_a_notice_does_not_ask_the_question_again_whatever_may_interrupt_it(interrupted: str) -> None:
    talk = Talk(BUSY_FLOWS % interrupted)
    assert talk.user("hi") == ["How many?"]
    assert talk.start("news", what="rain") == ["News: rain"]
    assert talk.at == "main/q"
    assert talk.user("3") == ["Sure?"]


def test_the_clock_of_the_question_goes_on_during_a_notice() -> None:
    talk = Talk(BUSY_FLOWS % "")
    talk.user("hi")
    talk.wait("50m")
    talk.start("news", what="rain")
    assert talk.wait("10m") == ["Still there?"]


def test_a_notice_that_asks_something_returns_with_the_question() -> None:
    talk = Talk(BUSY_FLOWS % "")
    talk.user("hi")
    assert talk.start("poll", busy="notice") == ["Was it good?"]
    assert talk.user("yes") == ["How many?"]


@pytest.mark.parametrize(
    ("edited", "said", "at"),
    [
        ("total: {ask: How many?}", ["Done."], None),
        ("q: {say: Three?}", ["Three?", "Sure?"], "main/r"),
        ("q: {ask: How many dogs?}", [], "main/q"),
    ],
)
def test_a_notice_that_ends_meets_an_edit_of_the_question(edited: str, said: list[str], at: str | None) -> None:
    flows = BUSY_FLOWS % "defaults: {gone: done}" + "---\nflow: tip\nsteps: {b: {wait: 2h}, c: {say: A tip.}}\n"
    talk = Talk(flows)
    talk.user("hi")
    talk.start("tip", busy="notice")
    talk.edit(flows.replace("q: {ask: How many?, remind: {after: 1h, say: Still there?}}", edited))
    assert talk.wait("2h") == ["A tip.", *said]
    assert talk.at == at


def test_a_start_may_replace_what_the_contact_is_in() -> None:
    talk = Talk(BUSY_FLOWS % "")
    talk.user("hi")
    assert talk.start("alarm") == ["Leave the house!"]
    assert talk.at is None


def test_who_starts_a_flow_says_otherwise() -> None:
    talk = Talk(BUSY_FLOWS % "")
    talk.user("hi")
    assert talk.start("alarm", busy="skip") == []
    assert talk.start("news", busy="after", what="sun") == []
    assert talk.at == "main/q"
    talk.user("3")
    assert talk.user("yes") == ["Done."]
    assert talk.wait("1s") == ["News: sun"]


def test_a_schedule_has_what_the_flow_says() -> None:
    talk = Talk(
        "flow: main\nstart: {otherwise: true}\nsteps:\n  b: {say: Hi., schedule: {flow: news, after: 1h}}\n"
        "  q: {ask: How many?}\n---\nflow: news\nstart: {busy: notice}\nsteps: {say: {say: News., then: end}}"
    )
    talk.user("hi")
    assert talk.wait("2h") == ["News."]
    assert talk.at == "main/q"


# -- what a start must give ------------------------------------------------------------------------------

NEEDS = """
flow: parcel
vars: {minutes_left: {type: integer, needed: true}, note: text}
steps: {say: {say: "In {{ minutes_left }} minutes.", then: end}}
"""


@pytest.mark.parametrize("data", [{}, {"note": "x"}, {"minutes_left": None}])
def test_a_start_without_what_the_flow_needs_is_refused(data: dict[str, str]) -> None:
    talk = Talk(NEEDS)
    assert talk.start("parcel", **data) == []
    assert talk.turn is not None and talk.turn.failure == "parcel was not started: it needs minutes_left"
    assert talk.start("parcel", minutes_left=3) == ["In 3 minutes."]


def test_who_runs_schedules_or_starts_it_gives_what_it_needs() -> None:
    by = "---\nflow: main\nstart: {otherwise: true}\nsteps: {s: {%s, then: end}}"
    for step in (
        "run: /parcel",
        "say: Hi., schedule: {flow: parcel, after: 1h}",
        "start: /parcel, contact: '6281234567890'",
    ):
        (problem,) = problems_of(NEEDS + by % step)
        assert 'E105 flow parcel needs "minutes_left" (add with: {minutes_left: ...})' in problem
    assert problems_of(NEEDS + by % "run: /parcel, with: {minutes_left: 3}") == []


def test_no_message_gives_what_is_needed_but_a_pattern_does() -> None:
    (problem,) = problems_of(NEEDS.replace("vars:", "start: {words: [parcel]}\nvars:"))
    assert 'E105 flow parcel needs "minutes_left", which no message gives' in problem
    assert problems_of(NEEDS.replace("vars:", "start: {pattern: '(?P<minutes_left>[0-9]+) minutes'}\nvars:")) == []


def test_a_step_can_take_back_the_time_out_that_it_inherits() -> None:
    flows = """
flow: main
start: {words: [hi]}
steps: {a: {ask: A?, timeout: never, remind: {after: 2h, say: Still there?}}, b: {ask: B?}}
---
flow: other
start: {words: [other]}
defaults: {timeout: never}
steps: {a: {ask: A?}, b: {ask: B?, timeout: {after: 1h, say: Bye., then: end}}}
"""
    talk = Talk(flows)
    talk.user("hi")
    assert talk.wait("2h") == ["Still there?"]
    assert talk.turn is not None and talk.turn.wake_at is None
    talk.user("one")
    assert talk.wait("20h") == []
    talk.user("other")
    assert talk.turn is not None and talk.turn.wake_at is None
    talk.user("one")
    assert talk.wait("1h") == ["Bye."]


def test_a_time_out_that_is_no_map_is_never() -> None:
    assert any("E106" in problem for problem in problems_of("flow: main\nsteps: {a: {ask: A?, timeout: none}}"))
    alone = "flow: main\ndefaults: {timeout: never}\nsteps: {a: {ask: A?, timeout: {after: 1h}}}"
    assert any("E131 timeout leads nowhere" in problem for problem in problems_of(alone))


# -- a fixed time-out ------------------------------------------------------------------------------------

PAY = """\
flow: pay
start: {words: [pay]}
interrupted: POLICY
steps:
  link: {ask: Have you paid?, buttons: {"Yes": end}, timeout: {after: 30m, fixed: true, say: It is no longer valid., then: end}}
---
flow: help
start: {words: [hours]}
steps: {hours: {ask: From 9 to 18., buttons: {Thanks: back}}}
"""
PAY_BOT = "name: T\nwords: {help: /help, map: {say: See above.}}\ndefaults: {timeout: {after: 20h, then: end}}\n"


@pytest.mark.parametrize("away", ["help", "hours"])
@pytest.mark.parametrize("interrupted", ["resume", "wait"])
def test_a_fixed_time_out_counts_from_the_first_entry_over_a_word_and_back(away: str, interrupted: str) -> None:
    talk = Talk(PAY.replace("POLICY", interrupted), PAY_BOT)
    talk.user("pay")
    talk.wait("10m")
    talk.user("map")
    talk.user(away)
    talk.wait("10m")
    asked = [] if (away, interrupted) == ("hours", "wait") else [["Have you paid?", "Yes"]]
    assert talk.tap("Thanks") == asked
    assert talk.wait("9m") == []
    assert talk.wait("1m") == ["It is no longer valid."]
    assert talk.at is None


@pytest.mark.parametrize("away", ["help", "hours"])
def test_a_question_whose_fixed_time_is_over_is_not_asked_again(away: str) -> None:
    talk = Talk(PAY.replace("POLICY", "resume"), PAY_BOT)
    talk.user("pay")
    talk.user(away)
    talk.wait("31m")
    assert talk.tap("Thanks") == []
    assert talk.wait("1s") == ["It is no longer valid."]


def test_after_a_fixed_time_out_that_asks_again_the_time_counts_from_there_over_a_word_and_back() -> None:
    talk = Talk(
        PAY.replace("POLICY", "resume").replace("It is no longer valid., then: end", "Well?, then: again"), PAY_BOT
    )
    talk.user("pay")
    assert talk.wait("30m") == ["Well?", ["Have you paid?", "Yes"]]
    talk.wait("10m")
    talk.user("help")
    talk.tap("Thanks")
    assert talk.wait("19m") == []
    assert talk.wait("1m") == ["Well?", ["Have you paid?", "Yes"]]
