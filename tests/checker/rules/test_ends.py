"""W101 and W102: steps that nobody reaches, conversations that never end."""

from tests.checker.proved import BOT, only

ENDS = only("W101", "W102")


def codes(*flows: str, bot: str = BOT) -> list[tuple[str, str]]:
    """The codes, and the steps that they are about."""
    return [(each.code, each.what.split('"')[1]) for each in ENDS.findings(*flows, bot=bot)]


def test_a_step_behind_one_that_leads_elsewhere_is_reached_by_nobody() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  b: {say: B, then: end}\n  c: {say: C}\n  d: {say: D}"
    assert ENDS.found(flow) == [
        'flow1.yml:5:3: W101 nobody reaches step "c" (let something lead to it, or take it out)'
    ]


def test_a_detached_ring_is_reported_once() -> None:
    ring = "  c: {ask: C, then: d}\n  d: {ask: D, then: c}"
    assert codes(f"flow: a\nstart: {{words: [a]}}\nsteps:\n  b: {{say: B, then: end}}\n{ring}") == [("W101", "c")]


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
    child = "flow: child\nsteps:\n  q: {ask: Q, then: q, timeout: {after: 1h, then: q}}"
    parent = "flow: a\nstart: {words: [a]}\nsteps:\n  r: {run: /child}\n  b: {say: B}"
    assert codes(parent, child, bot="name: Test\nwords: {stop: end}") == [("W101", "b")]
    assert codes(parent, child.replace("ask: Q,", "ask: Q, words: {stop: end},"), bot="name: Test") == []


def test_what_goes_back_to_a_flow_below_does_not_end_the_flow_above() -> None:
    child = "flow: child\nsteps:\n  q: {ask: Q, then: /a/over, timeout: {after: 1h, then: q}}"
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
    assert codes(flow, bot="name: Test\nwords: {stop: end}") == []
    assert codes(flow.replace("1h, then: q", "1h, then: end")) == []


def test_a_flow_that_is_run_may_end_by_silence_alone() -> None:
    child = "flow: child\nsteps:\n  q: {ask: Q, then: q, timeout: {after: 1h, then: end}}"
    parent = "flow: a\nstart: {words: [a]}\nsteps:\n  r: {run: /child}\n  b: {say: B}"
    assert codes(parent, child) == []


def test_a_hand_over_ends_when_it_is_closed() -> None:
    assert codes("flow: a\nstart: {words: [a]}\nsteps:\n  h: {handoff: team, closed: end}") == []
