"""W101, W102 and W103: steps that nobody reaches, conversations that never end, failures that a success runs into."""

import pytest

from tests.checker.proved import BOT, only

ENDS = only("W101", "W102")
RUN_INTO = only("W103")


def codes(*flows: str, bot: str = BOT) -> list[tuple[str, str]]:
    """The codes, and the steps that they are about."""
    return [(each.code, each.what.split('"')[1]) for each in ENDS.findings(*flows, bot=bot)]


def test_a_step_behind_one_that_leads_elsewhere_is_reached_by_nobody() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  b: {say: B, then: end}\n  c: {say: C}\n  d: {say: D}"
    assert ENDS.found(flow) == [
        'flow1.yml:5:3: W101 nobody reaches step "c" (lead to it from another step, or remove it)'
    ]


def test_a_detached_ring_is_reported_once() -> None:
    ring = "  c: {ask: C, then: d}\n  d: {ask: D, then: c}"
    assert codes(f"flow: a\nstart: {{words: [a]}}\nsteps:\n  b: {{say: B, then: end}}\n{ring}") == [("W101", "c")]


def test_each_of_several_conditions_for_one_event_leads_to_its_step() -> None:
    """A word at three levels, a signal at two, and two replies to one template: none hides another."""
    bot = BOT + "\nsignals: {paid: {amount: number}}\nwords: {pay: {if: \"'vip' in contact.tags\", then: /vip}}\n"
    flow = """
flow: a
start: {words: [a]}
vars: {ok: {type: boolean, value: false}}
words: {pay: {if: ok, then: of_flow}}
defaults: {signals: {paid: {if: event.amount > 9, then: much}}}
steps:
  b: {ask: B?, buttons: {B: c}, words: {pay: {if: not ok, then: of_step}}, signals: {paid: {if: event.amount > 5, set: {ok: true}, then: some}}}
  c: {wait: 2h, then: end}
  of_flow: {say: F, then: end}
  of_step: {say: S, then: end}
  much: {say: M, then: end}
  some: {say: E, then: end}
"""
    vip = """
flow: vip
vars: {ok: {type: boolean, value: false}}
steps:
  b: {template: {name: t, language: en}, replies: {"Yes": {if: ok, then: yes_}, "No": {if: not ok, then: no_}}, other: end}
  yes_: {say: Y, then: end}
  no_: {say: N, then: end}
"""
    assert codes(flow, vip, bot=bot) == []
    assert codes(
        flow.replace("if: event.amount > 9, then: much", "if: event.amount > 9, then: some"), vip, bot=bot
    ) == [("W101", "much")]


def test_words_errors_plans_and_other_flows_lead_to_steps() -> None:
    flow = """
flow: a
start: {words: [a]}
words: {one: one}
steps:
  b: {say: B, then: q, schedule: {flow: /z/three, after: 1h}}
  q: {ask: Q, then: end, timeout: {after: 1h, then: two}}
  one: {say: One, then: end}
  two: {say: Two, then: end}
---
flow: z
start: {words: [z]}
steps:
  b: {say: B, then: end}
  three: {say: Three, then: /a/four_}
---
flow: y
start: {words: [y]}
steps: {b: {say: B, then: /a/one}}
"""
    assert codes(flow.replace("/a/four_", "/a/one")) == []


def test_what_follows_a_flow_that_never_ends_is_reached_by_nobody() -> None:
    child = "flow: child\nsteps:\n  q: {ask: Q, then: q, timeout: {after: 1h, then: q}}"
    parent = "flow: a\nstart: {words: [a]}\nsteps:\n  r: {run: /child}\n  b: {say: B}"
    (lost,) = only("W101").findings(parent, child)
    assert (lost.what, lost.fix) == (
        'nobody reaches step "b"',
        'let flow child, which step "r" runs, end',
    )


def test_a_word_that_ends_everything_does_not_end_a_flow_that_is_run_alone() -> None:
    child = "flow: child\nsteps:\n  q: {ask: Q, then: q, timeout: never}"
    parent = "flow: a\nstart: {words: [a]}\nsteps:\n  r: {run: /child}\n  b: {say: B}"
    assert codes(parent, child, bot="name: Test\nwords: {stop: end}") == [("W101", "b")]
    assert codes(parent, child.replace("ask: Q,", "ask: Q, words: {stop: end},"), bot="name: Test") == []


def test_what_goes_back_to_a_flow_below_does_not_end_the_flow_above() -> None:
    child = "flow: child\nsteps:\n  q: {ask: Q, then: /a/over, timeout: never}"
    parent = "flow: a\nstart: {words: [a]}\nsteps:\n  r: {run: /child}\n  b: {say: B, then: end}\n  over: {say: Over}"
    assert codes(parent, child, bot="name: Test") == [("W101", "b")]


def test_a_way_back_reaches_nothing_that_was_not_reached_before() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  h: {handoff: team, closed: back}\n"
    assert codes(flow + "  q: {ask: Q, other: h}") == [("W101", "q")]
    assert codes(flow.replace("  h:", "  p: {ask: P, then: q, other: h}\n  h:") + "  q: {ask: Q, other: h}") == []


def test_a_circle_of_questions_that_nothing_leads_out_of_never_ends() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  q: {ask: Q, timeout: {after: 1h, then: p}}\n"
    flow += "  p: {ask: P, then: q, timeout: {after: 1h, then: q}}"
    assert ENDS.found(flow, bot="name: Test")[0].startswith(
        'flow1.yml:4:3: W102 a conversation at step "q" never ends: q -> p -> q (let a time-out, an answer or a word'
    )
    assert codes(flow) == [("W102", "q")]
    (finding,) = ENDS.findings(flow, bot="name: Test\nwords: {stop: end}")
    assert finding.what == 'step "q" asks for ever while the contact is silent: q -> p -> q'
    assert codes(flow.replace("1h, then: q", "1h, then: end")) == []


@pytest.mark.parametrize(
    ("leads", "found"),
    [
        ("{then: c}", ["q -> c -> q"]),
        ("{then: again}", ["q -> q"]),
        ("{then: w}", ["q -> w -> q"]),
        ("{then: end}", []),
        ("{then: p}", []),
        ("{then: c}, visits: {max: 3, else: end}", []),
    ],
)
def test_a_time_out_that_comes_back_asks_for_ever(leads: str, found: list[str]) -> None:
    flow = "flow: a\nstart: {words: [a]}\nvars: {n: {type: integer, value: 0}}\nsteps:\n"
    flow += f"  q: {{ask: Q, then: end, timeout: {{after: 1h, {leads[1:]}}}\n  w: {{wait: 5m, then: q}}\n"
    flow += "  c: {branch: [{if: n > 3, then: w}, {else: back}]}\n  p: {handoff: team, closed: c}"
    findings = [each.what for each in ENDS.findings(flow) if each.code == "W102"]
    assert findings == [f'step "q" asks for ever while the contact is silent: {each}' for each in found]


@pytest.mark.parametrize(
    ("n", "guard", "found"),
    [
        ("integer", "{branch: [{if: n > 3, then: back}, {else: end}]}", "true"),
        ("integer", "{branch: [{if: n > 3, then: end}, {else: q}]}", "false"),
        ("{type: integer, value: 0}", "{branch: [{if: n < 3, then: back}, {else: end}]}", "true"),
        ("{type: integer, value: 0}", "{branch: [{if: n < 3, then: q}, {else: end}], visits: {max: 3, else: end}}", ""),
        ("{type: integer, max: 3}", "{branch: [{if: n > 3, then: back}, {else: end}]}", ""),
        ("{type: integer, keep: true}", "{branch: [{if: n > 3, then: back}, {else: end}]}", ""),
        ("integer", "{branch: [{if: n > 3, then: d}, {else: end}]}\n  d: {set: {n: 0}, then: q}", ""),
        ("integer", "{branch: [{if: n > 3 and now, then: back}, {else: end}]}", ""),
        (
            "integer",
            "{branch: [{if: n > 3, then: d}, {else: end}]}\n  d: {branch: [{if: n > 4, then: q}, {else: end}]}",
            "",
        ),
    ],
)
def test_a_guard_that_nothing_changes_keeps_a_loop(n: str, guard: str, found: str) -> None:
    flow = f"flow: a\nstart: {{words: [a]}}\nvars: {{n: {n}}}\nsteps:\n  n: {{ask: N, save: n, timeout: {{after: 1h, then: end}}}}\n"
    flow += f"  q: {{ask: Q, then: end, timeout: {{after: 1h, then: c}}}}\n  c: {guard}"
    findings = [each.what.rpartition(" is ")[2] for each in ENDS.findings(flow) if each.code == "W102"]
    assert findings == [found] * bool(found)


def test_a_guard_whose_value_comes_behind_the_loop_keeps_no_loop() -> None:
    flow = "flow: a\nstart: {words: [a]}\nvars: {n: {type: integer, value: 0}}\nsteps:\n"
    flow += "  q: {ask: N, save: n, then: end, timeout: {after: 1h, then: c}}\n  c: {branch: [{if: n > 3, then: back}, {else: end}]}"
    assert codes(flow) == []


def test_a_flow_that_is_run_may_end_by_silence_alone() -> None:
    child = "flow: child\nsteps:\n  q: {ask: Q, then: q, timeout: {after: 1h, then: end}}"
    parent = "flow: a\nstart: {words: [a]}\nsteps:\n  r: {run: /child}\n  b: {say: B}"
    assert codes(parent, child) == []


def test_a_hand_over_ends_when_it_is_closed() -> None:
    assert codes("flow: a\nstart: {words: [a]}\nsteps:\n  h: {handoff: team, closed: end}") == []


HEAD = "flow: a\nstart: {words: [a]}\nvars: {n: integer, o: object}\nsteps:\n"
PAY = "  pay: {http: 'GET https://x.example', save: o, errors: {else: %s}}\n"


@pytest.mark.parametrize(
    "steps",
    [
        PAY % "sorry" + "  thanks: {say: Thanks!}\n  sorry: {say: Something went wrong.}",
        PAY % "sorry" + "  more: {ask: And more?}\n  sorry: {say: It did not work., then: end}",
        "  q: {ask: N?}\n" + PAY % "sorry" + "  thanks: {say: Thanks!, tag: paid}\n  sorry: {say: Once more., then: q}",
        PAY % "person" + "  thanks: {say: Thanks!}\n  person: {handoff: desk, closed: end}",
        "  n: {ask: N?, save: n, retry: {max: 2, else: sorry}}\n  thanks: {say: Thanks!}\n  sorry: {say: Too bad.}",
        "  n: {ask: N, visits: {max: 2, else: sorry}}\n  more: {ask: Again?, options: {A: n, B: t}}\n  t: {say: T}\n  sorry: {say: S}",
        "  n: {branch: [{if: n, then: thanks}, {else: no_stock}]}\n  thanks: {say: T}\n  no_stock: {say: Sorry!}",
    ],
)
def test_a_success_that_runs_into_a_step_for_failures(steps: str) -> None:
    names = [line.split(":")[0].strip() for line in steps.splitlines()]
    found = [finding.what.split('"')[1:4:2] for finding in RUN_INTO.findings(HEAD + steps)]
    assert found == [names[-2:]]


@pytest.mark.parametrize(
    "steps",
    [
        PAY % "sorry" + "  thanks: {say: Thanks!, then: end}\n  sorry: {say: Something went wrong.}",
        PAY % "sorry" + "  thanks: {say: Thanks!, then: sorry}\n  sorry: {say: Something went wrong.}",
        PAY % "sorry" + "  sorry: {say: On we go.}",
        PAY % "next" + "  thanks: {say: Thanks!}\n  bye: {say: Bye!}",
        PAY % "name" + "  thanks: {say: Thanks!}\n  name: {ask: Your name?}",
        PAY % "later" + "  thanks: {say: Thanks!}\n  later: {say: We go on.}\n  name: {ask: Your name?}",
        PAY % "sorry"
        + "  which: {ask: Well?, options: {A: bye, B: end}}\n  thanks: {say: T}\n  bye: {say: B, then: end}\n  sorry: {say: S}",
        PAY % "person" + "  t: {say: T, then: end}\n  note: {say: N}\n  person: {handoff: desk, closed: end}",
        PAY % "bye" + "  q: {ask: Well?, options: {A: thanks, B: bye}}\n  thanks: {say: T}\n  bye: {say: B}",
        "  n: {branch: [{if: n, then: hint}, {else: bye}]}\n  hint: {say: You have some.}\n  bye: {say: Bye!}",
        PAY % "sorry" + "  ok: {branch: [{if: o, then: end}]}\n  sorry: {say: Sorry.}",
    ],
)
def test_a_step_that_is_not_for_failures_alone_or_that_no_success_runs_into(steps: str) -> None:
    assert RUN_INTO.found(HEAD + steps) == []


def test_a_flow_that_only_programs_start_is_reached_although_a_word_of_the_bot_comes_back_to_it() -> None:
    course = "flow: course\nsteps:\n  lesson: {ask: Ready?, then: end}"
    help_ = "flow: help\nsteps:\n  h: {say: We help., then: back}"
    bot = f"{BOT}\nwords: {{help: /help}}"
    assert ENDS.found(course, help_, bot=bot) == []
    (finding,) = only("W501").findings(course, help_, bot=bot)
    assert (finding.path, finding.line) == ("flow1.yml", 3)
