"""W501: messages that can come after the 24 hours."""

import pytest

from tests.checker.proved import findings, found

NOTICE = "{template: {name: hello, language: en}}"


def late(*flows: str, bot: str = "name: Test") -> list[tuple[str, str]]:
    """The steps whose messages can come too late, and how late."""
    sorts = [finding for finding in findings(*flows, bot=bot) if finding.code == "W501"]
    return [(each.what.split('"')[1], each.what.split("can come ")[1].split(" after")[0]) for each in sorts]


def test_a_time_out_of_a_day_comes_too_late_to_say_anything() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  q: {ask: How?, timeout: {after: 24h, say: Bye, then: end}}"
    assert found(flow) == [
        'flow1.yml:4:27: W501 step "q": what `timeout` says can come 24 hours after the contact\'s last message, when '
        "only templates may (declare `window_closed` with a template here or under `defaults`, or let it come sooner)"
    ]
    assert late(flow.replace("24h", "1439m")) == []


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
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  q: {ask: How?, remind: {after: 9h, max: 3}, timeout: {after: 1h, then: end}}"
    assert late(flow) == [("q", "27 hours")]


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
    assert late(flow.replace("max: 5", "max: 9")) == [("b", "24 hours")]


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


def test_a_flow_that_only_a_program_starts_may_begin_with_the_window_shut() -> None:
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


def test_the_story_leads_from_a_beginning_to_the_message() -> None:
    child = "flow: child\nsteps:\n  w: {wait: 15h}"
    parent = "flow: a\nstart: {words: [a]}\nsteps:\n  w: {wait: 10h}\n  r: {run: /child}\n  b: {say: B}"
    (finding,) = findings(parent, child, bot="name: Test")
    assert [(edge.source, edge.outcome) for edge in finding.story] == [
        (("a", "w"), "then"), (("child", "w"), "then"), (("a", "r"), "then")
    ]  # fmt: skip
