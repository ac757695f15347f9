"""W501: messages that can come after the window has closed."""

import pytest

from tests.checker.proved import BOT, only

LATE = only("W501")

NOTICE = "{template: {name: hello, language: en}}"


def late(*flows: str, bot: str = "name: Test") -> list[tuple[str, str]]:
    """The steps whose messages can come too late, and how late."""
    sorts = LATE.findings(*flows, bot=bot)
    return [(each.what.split('"')[1], each.what.split("can be sent ")[1].split(" after")[0]) for each in sorts]


def test_a_time_out_of_a_day_comes_too_late_to_say_anything() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  q: {ask: How?, timeout: {after: 24h, say: Bye, then: end}}"
    assert LATE.found(flow) == [
        'flow1.yml:4:27: W501 step "q": the text of `timeout` can be sent 24 hours after the contact\'s last message: '
        "only templates can be sent then (declare `window_closed: {template: {name: ..., language: ...}}` here or under `defaults`, or send it sooner)"
    ]


def test_a_flow_that_no_message_starts_may_lack_its_start() -> None:
    (found,) = LATE.found("flow: a\nsteps:\n  b: {say: B}")
    assert found.endswith(" under `defaults`; or add `start` to flow a, if contacts begin it)")


@pytest.mark.parametrize(("after", "found"), [("23h54m", []), ("23h55m", [("q", "23 hours and 55 minutes")])])
def test_the_window_is_closed_five_minutes_early_as_it_is_for_the_delivery(
    after: str, found: list[tuple[str, str]]
) -> None:
    flow = (
        f"flow: a\nstart: {{words: [a]}}\nsteps:\n  q: {{ask: How?, timeout: {{after: {after}, say: Bye, then: end}}}}"
    )
    assert late(flow) == found


def test_reminders_put_the_time_out_off() -> None:
    flow = """
flow: a
start: {words: [a]}
steps:
  q: {ask: How?, remind: {after: 4h, max: 2, say: Still there?}, timeout: {after: 16h, say: Bye, then: end}}"""
    assert late(flow) == [("q", "24 hours")]
    assert late(flow.replace("16h", "15h")) == []
    assert late(flow.replace("16h,", "23h, fixed: true,")) == []


def test_a_reminder_that_puts_the_question_again_may_come_too_late() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  q: {ask: How?, remind: {after: 9h, max: 3}, timeout: {after: 9h, then: end}}"
    assert late(flow) == [("q", "27 hours")]


def test_no_reminder_comes_after_the_time_out() -> None:
    asking = "flow: a\nstart: {words: [a]}\nsteps:\n  q: {ask: How?, remind: {after: 9h, max: 3}, timeout: "
    inherited = "name: Test\ndefaults: {remind: {after: 9h, max: 3}}"
    assert (
        late(asking.replace("remind: {after: 9h, max: 3}, ", "") + "{after: 8h, say: Bye, then: end}}", bot=inherited)
        == []
    )
    assert late(asking + "{after: 26h, fixed: true, then: end}}") == []
    assert late(asking + "{after: 27h, fixed: true, then: end}}") == [("q", "27 hours")]


def test_what_cannot_fail_leads_to_no_errors() -> None:
    flow = """
flow: a
start: {words: [a]}
vars: {paid: {type: boolean}, count: {type: number}}
steps:
  talk: {handoff: {team: desk}, closed: right}
  right: {branch: [{if: paid, then: end}, {else: end}]}
  sorry: {say: Sorry., then: end}"""
    bot = "name: T\ndefaults: {errors: {else: /a/sorry}}"
    assert LATE.findings(flow, bot=bot) == []
    assert late(flow.replace("if: paid", "if: count > 3"), bot=bot) == [("sorry", "any time")]


def test_a_reminder_that_leads_elsewhere_is_the_last_one() -> None:
    flow = """
flow: a
start: {words: [a]}
steps:
  q: {ask: How?, remind: {after: 9h, max: 3, then: b}, timeout: {after: 10h, then: end}}
  b: {say: B}"""
    assert late(flow) == []
    assert late(flow.replace("then: b", "then: q")) == [("q", "any time")]


def test_waits_add_up_over_steps_and_calls_until_the_contact_writes() -> None:
    steps = "  one: {wait: 20h}\n  two: {branch: [{if: now, then: next}]}\n  three: {wait: 5h}\n  said: {say: Hello}"
    begun = f"flow: a\nstart: {{words: [a]}}\ndefaults: {{errors: {{else: end}}}}\nsteps:\n{steps}"
    assert late(begun) == [("said", "25 hours")]
    asked = begun.replace("  three", "  q: {ask: Well?, timeout: {after: 1h, then: end}}\n  three")
    assert late(asked) == []


def test_of_several_messages_in_one_silence_only_the_first_is_reported() -> None:
    assert late("flow: a\nstart: {words: [a]}\nsteps:\n  w: {wait: 25h}\n  b: {say: B}\n  c: {say: C}") == [
        ("b", "25 hours")
    ]


@pytest.mark.parametrize("where", ["step", "flow", "bot"])
def test_a_template_that_stands_in_is_enough_wherever_it_is_declared(where: str) -> None:
    notice = f"window_closed: {NOTICE}"
    step = f", {notice}" if where == "step" else ""
    defaults = f"defaults: {{{notice}}}\n"
    flow = f"flow: a\nstart: {{words: [a]}}\n{defaults if where == 'flow' else ''}"
    flow += f"steps:\n  w: {{wait: 25h}}\n  b: {{say: B{step}}}"
    assert late(flow, bot="name: Test\n" + (defaults if where == "bot" else "")) == []


def test_a_template_may_come_at_any_time() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  w: {wait: 25h}\n  t: {template: {name: hello, language: en}}"
    assert late(flow) == []


def test_a_wait_until_a_moment_that_is_not_written_out_may_be_long() -> None:
    flow = "flow: a\nstart: {words: [a]}\nvars: {day: {type: date, value: 2030-01-01}}\n"
    flow += 'steps:\n  w: {wait: "{{ day }}"}\n  b: {say: B}'
    assert late(flow, bot="name: Test\ndefaults: {errors: {else: end}}") == [("b", "any time")]


def test_a_wait_that_goes_round_without_a_word_grows_without_end() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  b: {say: B}\n  w: {wait: 1h, then: b}"
    assert late(flow) == [("b", "any time")]


def test_a_bound_on_visits_bounds_how_long_it_goes_round() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  b: {say: B, visits: {max: 5, else: end}}\n  w: {wait: 4h, then: b}"
    assert late(flow) == []
    assert late(flow.replace("max: 5", "max: 9")) == [("b", "32 hours")]


COUNTED = """
flow: a
start: {words: [a]}
vars: {asked: {type: integer, value: 0}}
steps:
  q: {ask: How?, timeout: {after: 7h, then: count}}
  thanks: {say: Thanks., then: end}
  count: {set: {asked: "{{ asked + 1 }}"}}
  over: {branch: [{if: asked > 2, then: end}, {else: q}]}"""


def test_a_counter_bounds_how_long_it_goes_round() -> None:
    assert late(COUNTED) == []
    assert late(COUNTED.replace("> 2", "> 4")) == [("q", "28 hours")]
    assert late(COUNTED.replace("asked > 2", "asked == 3")) == []
    on_the_way = COUNTED.replace("then: count}", 'set: {asked: "{{ asked + 1 }}"}, then: over}')
    assert late(on_the_way) == []


def test_a_counter_lies_idle_in_a_flow_that_does_not_declare_it() -> None:
    menu = "flow: menu\nsteps: {m: {ask: What?, options: {Go: /a}, timeout: {after: 2h, then: end}}}"
    assert late(COUNTED, menu, bot="name: Test\nwords: {menu: /menu}") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("asked + 1", "asked - 1"),
        ("asked + 1", "asked * 1"),
        ("asked > 2", "asked == -1"),
        ("else: q", "else: back_to"),
        ("value: 0", "value: 0, keep: true"),
        ("then: count}", "then: count}, remind: {after: 6h, then: again_}"),
        ("{else: q}", "{else: /other}"),
        ("{else: q}", "{else: run}"),
    ],
)
def test_a_counter_that_does_not_end_the_loop_bounds_nothing(before: str, after: str) -> None:
    flow = COUNTED + "\n  back_to: {set: {asked: 0}, then: q}\n  again_: {branch: [{else: q}]}\n  run: {run: /child}"
    other = "flow: other\nvars: {asked: {type: integer}}\nsteps: {zero: {set: {asked: 0}, then: /a}}"
    child = "flow: child\nsteps: {q: {ask: Well?, timeout: {after: 9h, then: /a}}}"
    assert ("q", "any time") in late(flow.replace(before, after), other, child)


def test_what_a_flow_takes_that_is_run_is_counted_where_it_returns() -> None:
    child = "flow: child\nsteps:\n  w: {wait: 15h}"
    parent = "flow: a\nstart: {words: [a]}\nsteps:\n  w: {wait: 10h}\n  r: {run: /child}\n  b: {say: B}"
    assert late(parent, child) == [("b", "25 hours")]
    asking = child.replace("w: {wait: 15h}", "q: {ask: Well?, timeout: {after: 1h, then: end}}\n  w: {wait: 15h}")
    assert late(parent, asking) == []


def test_a_flow_that_two_run_is_late_only_where_its_caller_was() -> None:
    child = "flow: child\nsteps:\n  w: {wait: 10h}"
    soon = "flow: a\nstart: {words: [a]}\nsteps:\n  r: {run: /child}\n  b: {say: B}"
    later = "flow: z\nstart: {words: [z]}\nsteps:\n  w: {wait: 20h}\n  r: {run: /child}\n  late: {say: B}"
    assert late(soon, later, child) == [("late", "30 hours")]


def test_a_flow_that_expired_brings_its_silence_back() -> None:
    child = "flow: child\nsteps:\n  q: {ask: Well?, timeout: {after: 20h, then: end}}"
    parent = "flow: a\nstart: {words: [a]}\nsteps:\n  r: {run: /child, expired: again_}\n  x: {say: X, then: end}\n"
    parent += "  again_: {ask: Still?, timeout: {after: 5h, say: Bye, then: end}}"
    assert late(parent, child) == [("again_", "25 hours")]


def test_a_scheduled_flow_speaks_when_it_is_due() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  s: {say: A, schedule: {flow: later, after: 2d}}\n---\n"
    flow += "flow: later\nsteps:\n  b: {say: B}"
    assert late(flow) == [("b", "48 hours")]
    assert late(flow.replace("2d", "2h")) == []


def test_nobody_knows_when_a_hand_over_is_closed() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  h: {handoff: team, closed: b}\n  b: {say: B}"
    assert late(flow) == [("b", "any time")]


def test_a_flow_that_only_a_program_starts_may_begin_with_the_window_closed() -> None:
    assert late("flow: a\nsteps:\n  b: {say: B}") == [("b", "any time")]
    assert late("flow: a\nstart: {event: contact.created}\nsteps:\n  b: {say: B}") == [("b", "any time")]


def test_a_question_that_is_come_back_to_is_put_when_the_interruption_is_over() -> None:
    asking = (
        "flow: a\nstart: {words: [a]}\ninterrupted: resume\nsteps:\n  q: {ask: How?, timeout: {after: 1h, then: end}}"
    )
    other = "flow: b\nstart: {words: [b]}\nsteps:\n  w: {wait: 30h}"
    assert late(asking, other) == [("q", "30 hours")]
    assert late(asking.replace("resume", "drop"), other) == []


def test_a_flow_does_not_cut_in_on_one_that_it_runs_itself() -> None:
    inner = "flow: a\ninterrupted: resume\nsteps:\n  q: {ask: How?, timeout: {after: 20h, say: Bye, then: end}}"
    outer = "flow: b\nstart: {words: [b]}\nsteps:\n  r: {run: /a, expired: end}"
    assert late(inner, outer) == []


def test_a_step_that_visits_may_lead_past_does_not_stand_for_what_is_said_after_it() -> None:
    steps = "  form: {ask: Form, timeout: {after: 1h, then: w}, visits: {max: 1, else: bye}}\n"
    steps += "  w: {wait: 25h, then: form}\n  bye: {say: Bye}"
    assert late(f"flow: a\nstart: {{words: [a]}}\nsteps:\n{steps}") == [("form", "25 hours"), ("bye", "51 hours")]


def test_a_question_that_is_only_gone_back_to_is_never_put() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  h: {handoff: team, closed: back}\n  q: {ask: Q, other: h}"
    assert late(flow, bot=BOT) == []
    begun = (
        "flow: a\nstart: {words: [a]}\nsteps:\n  q: {ask: Q, other: h, then: end}\n  h: {handoff: team, closed: back}"
    )
    assert late(begun, bot=BOT) == [("q", "any time")]


def test_a_flow_that_runs_for_each_element_takes_as_long_as_all_of_them() -> None:
    each = "flow: a\nstart: {words: [a]}\nvars: {all: {type: list}}\ndefaults: {errors: {else: end}}\n"
    each += "steps:\n  r: {run: /one, each: all}\n  b: {say: B}"
    assert late(each, "flow: one\nsteps:\n  w: {wait: 10m}") == []
    assert late(each, "flow: one\nsteps:\n  w: {wait: 15m}") == [("b", "25 hours")]


def test_what_is_planned_waits_until_the_contact_is_free() -> None:
    asks = "flow: a\nstart: {words: [a]}\nsteps:\n  q: {ask: Q, timeout: {after: 20h, then: w}, schedule: {flow: b, after: 1h}}\n"
    asks += "  again_: {ask: Again, timeout: {after: 20h, then: w}}\n  w: {wait: 5h}"
    plan = "flow: b\nsteps:\n  b: {say: B}"
    assert late(asks, plan) == [("b", "25 hours")]
    assert late(asks.replace("after: 1h}", "after: 1h, busy: skip}"), plan) == []


def test_a_question_is_put_again_when_a_planned_flow_has_cut_in() -> None:
    asks = "flow: a\nstart: {words: [a]}\nsteps:\n  s: {say: S, schedule: {flow: b, after: 23h, busy: interrupt}}\n  q: {ask: Q}"
    plan = "flow: b\nsteps:\n  w: {wait: 2h}"
    bot = "name: Test\ndefaults: {timeout: {after: 50h, then: end}}"
    assert late(asks, plan, bot=bot) == [("q", "25 hours")]


def test_a_tap_on_an_old_button_may_open_a_question_within_a_flow_that_was_run() -> None:
    bot = "name: Test\ndefaults: {old_taps: reopen, timeout: {after: 1h, then: end}}"
    parent = (
        "flow: a\nstart: {words: [a]}\nsteps:\n  o: {ask: O, buttons: [A], then: r}\n  r: {run: /child}\n  b: {say: B}"
    )
    child = "flow: child\nsteps:\n  q: {ask: Q}"
    slow = "flow: slow\nstart: {words: [slow]}\nsteps:\n  p: {ask: P, buttons: [A]}\n  w: {wait: 30h}"
    assert late(parent, child, slow, bot=bot) == [("b", "30 hours")]
    assert late(parent, child, slow, bot=bot.replace("reopen", "explain")) == []


def test_the_story_leads_from_a_beginning_to_the_message() -> None:
    child = "flow: child\nsteps:\n  w: {wait: 15h}"
    parent = "flow: a\nstart: {words: [a]}\nsteps:\n  w: {wait: 10h}\n  r: {run: /child}\n  b: {say: B}"
    (finding,) = LATE.findings(parent, child, bot="name: Test")
    assert [(edge.source, edge.outcome) for edge in finding.route] == [
        (("a", "w"), "then"), (("child", "w"), "then"), (("a", "r"), "then")
    ]  # fmt: skip


LESSON = """
flow: lesson
start: {event: contact.updated}
vars: {n: {type: integer, value: 1}}
steps:
  reach: {branch: [{if: COND, then: lesson}]}
  knock: {template: {name: ready, language: en}, replies: {Show: lesson}, other: lesson, timeout: {after: 20h, then: end}}
  lesson: {say: Learn., then: end}
"""


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("window_open", []),
        ("n > 0 and window_open", []),
        ("n > 0 or window_open", [("lesson", "any time")]),
        ("not window_open", [("lesson", "any time")]),
    ],
)
def test_what_comes_only_while_the_window_is_open_is_not_late(condition: str, found: list[tuple[str, str]]) -> None:
    assert late(LESSON.replace("COND", condition)) == found


SIGNALS = "name: Test\nsignals: {paid: {amount: number}}"


@pytest.mark.parametrize(
    ("waits", "found"),
    [
        ("wait: 5m", []),
        ("wait: 30h", [("w", "30 hours"), ("bye", "30 hours")]),
        ("ask: Paid?, timeout: {after: 20h, then: end}", []),
        ("ask: Paid?, remind: {after: 2h}, timeout: {after: 22h, then: end}", [("w", "24 hours"), ("bye", "24 hours")]),
        ("ask: Paid?, timeout: never", [("w", "any time"), ("bye", "any time")]),
    ],
)
def test_a_signal_comes_while_the_step_waits_and_no_later(waits: str, found: list[tuple[str, str]]) -> None:
    heard = "[{if: event.amount < 5, say: Not enough.}, {then: bye}]"
    flow = f"flow: a\nstart: {{words: [a]}}\nsteps:\n  w: {{{waits}, signals: {{paid: {heard}}}}}\n"
    rest = "  t: {template: {name: gone, language: en}, then: end}\n  bye: {say: Thanks., then: end}"
    assert late(flow + rest, bot=SIGNALS) == found


@pytest.mark.parametrize(
    ("inside", "found"),
    [
        ("a: {ask: A, timeout: {after: 10h, then: end}}\n  b: {wait: 8h}", []),
        ("a: {ask: A, timeout: {after: 10h, then: b}}\n  b: {wait: 20h}", [("bye", "30 hours")]),
        ("a: {ask: A, remind: {after: 2h}, timeout: {after: 23h, then: end}}", [("bye", "25 hours")]),
        ("a: {run: /inner}\n---\nflow: inner\nsteps:\n  a: {wait: 26h}", [("bye", "26 hours")]),
        ("a: {ask: A, timeout: never}", [("bye", "any time")]),
        ("a: {wait: 26h, other: end}", [("bye", "26 hours")]),
    ],
)
def test_a_signal_comes_at_any_step_of_the_flow_that_is_run(inside: str, found: list[tuple[str, str]]) -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  r: {run: /child, signals: {paid: bye}, expired: t}\n"
    rest = "  t: {template: {name: gone, language: en}, then: end}\n  bye: {say: Thanks., then: end}\n---\nflow: child\nsteps:\n  "
    assert late(flow + rest + inside, bot=SIGNALS) == found


@pytest.mark.parametrize(
    ("heard", "found"),
    [
        ("{if: window_open, say: Thanks., then: end}", []),
        ("[{if: window_open and event.amount > 5, say: Thanks.}, {then: t}]", []),
        ("[{if: not window_open, then: t}, {say: Thanks.}]", []),
        ("[{if: window_open, tag: paid, then: t}, {say: Thanks.}]", [("w", "any time")]),
    ],
)
def test_a_signal_that_is_heard_only_while_the_window_is_open_is_not_late(
    heard: str, found: list[tuple[str, str]]
) -> None:
    flow = f"flow: a\nstart: {{words: [a]}}\nsteps:\n  w: {{ask: Paid?, timeout: never, signals: {{paid: {heard}}}}}\n"
    assert late(f"{flow}  t: {{template: {{name: paid, language: en}}, then: end}}", bot=SIGNALS) == found


def test_what_comes_an_hour_after_that_is_late() -> None:
    later = "lesson: {say: Learn.}\n  hour: {wait: 1h}\n  more: {say: More., then: end}"
    flow = LESSON.replace("COND", "window_open").replace("lesson: {say: Learn., then: end}", later)
    assert late(flow) == [("more", "24 hours and 55 minutes")]


@pytest.mark.parametrize(("gather", "found"), [("never", []), ("30s", ["w"])])
def test_an_answer_that_waits_for_further_messages_is_taken_so_much_later(gather: str, found: list[str]) -> None:
    flow = f"""
flow: a
start: {{words: [a]}}
steps:
  q: {{ask: How?, gather: {gather}, timeout: {{after: 1h, then: end}}}}
  p: {{wait: 23h54m45s}}
  w: {{say: Bye, then: end}}"""
    assert [step for step, _ in late(flow)] == found


def test_a_message_that_waits_for_the_contact_does_not_come_too_late() -> None:
    say = f"say: B, window_closed: {{{NOTICE[1:-1]}, wait: true}}"
    flow = f"flow: a\nstart: {{words: [a]}}\ndefaults: {{timeout: {{after: 20h, then: end}}}}\nsteps:\n  w: {{wait: 25h}}\n  b: {{{say}}}"
    assert late(flow) == []
    assert late(flow + "\n  c: {say: C}") == []
    assert late(flow + "\n  w2: {wait: 1h}\n  c: {say: C}") == [("c", "24 hours and 55 minutes")]


def test_of_a_message_that_waits_the_time_out_says_something_too_late_unless_it_has_a_template() -> None:
    flow = f"flow: a\nstart: {{words: [a]}}\nsteps:\n  w: {{wait: 25h}}\n  b: {{say: B, window_closed: {{{NOTICE[1:-1]}, wait: true}}"
    assert late(flow + ", timeout: {after: 20h, then: c}}\n  x: {say: X, then: end}\n  c: {say: C}") == [
        ("c", "45 hours")
    ]


def test_a_flow_that_ends_everything_brings_its_silence_to_no_step_below() -> None:
    run = "flow: a\nstart: {words: [a]}\nsteps:\n  r: {run: /order}\n  b: {say: B}"
    order = "flow: order\nsteps:\n  n: {ask: N, then: end, retry: {max: 1, else: LEADS}}"
    person = "flow: person\nsteps:\n  h: {handoff: team, closed: end}"
    bot = "name: x\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}\nwords: {person: /person}"
    assert late(run, order.replace("LEADS", "end"), person, bot=bot) == []
    assert late(run, order.replace("LEADS", "/person"), person, bot=bot) == [("b", "any time")]


def test_a_flow_that_ends_only_in_the_window_brings_no_silence_that_is_longer() -> None:
    run = "flow: a\nstart: {words: [a]}\nsteps:\n  r: {run: /ring}\n  b: {say: B}"
    ring = "flow: ring\nsteps:\n  w: {wait: 30h}\n  if: {branch: [{if: COND, then: end}]}\n"
    ring += "  t: {template: {name: t, language: en}, replies: {Go: end}, timeout: never, errors: {else: t}}"
    assert late(run, ring.replace("COND", "window_open")) == []
    assert late(run, ring.replace("COND", "not window_open")) == [("b", "30 hours")]


def test_a_flow_that_waits_on_asks_nothing_but_its_reminder_comes_after_the_interruption() -> None:
    asking = (
        "flow: a\nstart: {words: [a]}\ninterrupted: wait\nsteps:\n  q: {ask: How?, timeout: {after: 1h, then: end}}"
    )
    other = "flow: b\nstart: {words: [b]}\nsteps:\n  w: {wait: 30h}"
    assert late(asking, other) == []
    assert late(asking.replace("timeout: {", "timeout: {say: Bye, "), other) == [("q", "31 hours")]
    silent = "flow: b\nstart: {words: [b]}\nsteps:\n  p: {ask: P, timeout: {after: 20h, then: end}}"
    assert late(asking.replace("after: 1h", "after: 5h, say: Bye"), silent) == [("q", "25 hours")]
    assert late(asking.replace("after: 1h", "after: 3h, say: Bye"), silent) == []
    assert late(asking.replace("wait", "resume").replace("after: 1h", "after: 5h, say: Bye"), silent) == []


def test_a_flow_that_waits_on_reminds_after_a_scheduled_flow_that_has_cut_in() -> None:
    asks = "flow: a\nstart: {words: [a]}\ninterrupted: wait\nsteps:\n  s: {say: S, schedule: {flow: b, after: 20h, busy: interrupt}}\n"
    asks += "  q: {ask: Q, remind: {after: 4h, say: Well?}}"
    plan = "flow: b\nsteps:\n  w: {wait: 1h}"
    bot = "name: Test\ndefaults: {timeout: {after: 50h, then: end}}"
    assert late(asks, plan, bot=bot) == [("q", "25 hours")]
    assert late(asks.replace("after: 4h", "after: 2h"), plan, bot=bot) == []


def test_a_text_whose_variables_have_values_leads_to_no_errors() -> None:
    flow = """
flow: a
start: {words: [a]}
vars: {what: text}
steps:
  what: {ask: What is it about?, save: what, timeout: {after: 2h, then: end}}
  later: {wait: 2d}
  talk: {handoff: {team: desk, note: "{{ what + '.' }}"}, closed: end}
  sorry: {say: Sorry., then: end}"""
    bot = "name: T\ndefaults: {errors: {else: /a/sorry}}"
    assert late(flow, bot=bot) == []
    unsaved = flow.replace("save: what, ", "")
    assert late(unsaved, bot=bot) == [("sorry", "48 hours")]
    assert late(unsaved.replace(" + '.'", ""), bot=bot) == []  # a note may be empty


NOTICED = """
flow: order
start: {words: [order]}
vars: {n: integer}
steps:
  q: {ask: How many?, save: n, timeout: {after: 20h, then: end}}
  done: {say: Noted., schedule: {flow: remind, after: 2d}, then: end}
---
flow: remind
start: {busy: notice}
steps:
  which: {branch: [{if: window_open, then: told}, {else: late}]}
  told: {say: Do not forget., then: end}
  late: {template: {name: r, language: en}, then: end}
---
flow: other
start: {words: [other]}
steps: {w: {ask: Well?, timeout: {after: 3d, then: end}}}
"""


def test_the_question_below_a_notice_that_asks_nothing_is_not_asked_again() -> None:
    assert late(NOTICED) == []
    again = {"q", "w"}
    assert {step for step, _ in late(NOTICED.replace("busy: notice", "busy: interrupt"))} == again
    asking = "replies: {Thanks: end}, timeout: {after: 1h, then: over}}\n  over: {untag: due, then: end}"
    assert {step for step, _ in late(NOTICED.replace("language: en}, then: end}", "language: en}, " + asking))} == again


ASSISTED = """
flow: order
start: {words: [order]}
vars: {n: integer, o: object}
defaults: {errors: {else: end}}
steps:
  t: {ai: Sell., fill: {n: how many}, exits: {sold: {when: they want it, needs: [n], then: get}}, timeout: {after: 20h, then: end}}
  get: {http: "GET https://shop.example/{{ n }}", save: o}
  done: {say: Noted., then: t}
"""


def test_a_model_and_short_calls_that_go_round_take_no_day() -> None:
    assert late(ASSISTED) == []
    waiting = ASSISTED.replace("get: {http:", "w: {wait: 4h, then: get}\n  get: {http:").replace(
        "then: get}}", "then: w}}"
    )
    assert late(waiting) == [("done", "any time")]
    slow = ASSISTED.replace("save: o}", "save: o, within: 2m, tries: 4}")
    assert late(slow) == [("done", "any time")]


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("{ai: Sell shoes., exits: {sold: {when: it is sold, then: end}}}", []),
        ("{ask: Which?, options: {A: {then: end}}}", [("q", "any time")]),
    ],
)
def test_no_flow_starts_where_a_model_takes_every_text(step: str, found: list[tuple[str, str]]) -> None:
    flow = f"flow: a\nstart: {{words: [a]}}\ninterrupted: resume\nsteps:\n  q: {step}\n"
    other = "flow: b\nstart: {words: [b]}\nsteps: {h: {handoff: desk, closed: end}}\n"
    bot = "name: T\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}"
    assert late(flow, other, bot=bot) == found


NULL = "flow: a\nstart: {words: [a]}\nvars: {n: integer, name: text, paid: boolean}\nsteps:\n"


@pytest.mark.parametrize(
    "steps",
    [
        "  b: {branch: [{if: n > 3, then: w}, {else: w}]}\n",
        '  b: {say: "{{ n + 1 }}"}\n',
        '  b: {http: "GET https://x.example/{{ n + 1 }}", errors: {404: w, else: end}}\n',
        "  b: {branch: [{if: paid, then: w}, {else: end}]}\n",
        '  b: {set: {name: "{{ name }}", paid: "{{ paid }}"}}\n  c: {branch: [{if: name or paid, then: w}, {else: end}]}\n',
        '  b: {run: /c, with: {n: "{{ n }}"}, then: end}\n',
    ],
)
def test_nothing_is_late_behind_what_no_conversation_gets_past(steps: str) -> None:
    later = "  w: {wait: 2d}\n  t: {say: Late., then: end}\n"
    child = "flow: c\nvars: {n: integer}\nsteps:\n  b: {branch: [{if: n, then: w}, {else: end}]}\n" + later
    children = [child] if "/c" in steps else []
    assert late(NULL + steps + later, *children) == []
    filled = NULL.replace("integer", "{type: integer, value: 5}").replace("boolean", "{type: boolean, value: true}")
    assert late(filled + steps + later, *children) != []


def test_a_flow_that_only_a_step_starts_for_others_may_be_late() -> None:
    starts = "flow: a\nstart: {words: [a]}\nsteps: {s: {start: /b, contact: '6281234567890', then: end}}"
    bot = "name: T\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}"
    assert late(starts, "flow: b\nsteps: {w: {wait: 2d}, t: {say: Late., then: end}}", bot=bot) == [("t", "48 hours")]
