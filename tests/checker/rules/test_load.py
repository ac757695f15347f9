"""W601: turns that send more than a minute allows."""

from bot.checker.analysis.loads import FlowLoad, flow_loads
from bot.checker.graph import Graph
from tests.checker.proved import library, only

BEGIN = "flow: a\nstart: {words: [a]}\n"


def load_of(*flows: str) -> FlowLoad:
    """The load of the first flow."""
    return flow_loads(library(*flows))[0]


def most(*flows: str) -> int | None:
    """The most messages of a turn."""
    return load_of(*flows).turn


def heavy(*flows: str) -> list[str]:
    """The steps that are found to send too much."""
    names = {step.mark: f"{flow}/{step.name}" for (flow, _), step in Graph(library(*flows)).steps.items()}
    marks = {(mark.path, mark.line): name for mark, name in names.items()}
    return [marks[each.path, each.line] for each in only("W601").findings(*flows)]


def test_a_turn_sends_what_its_steps_and_transitions_say_until_one_waits() -> None:
    steps = "steps:\n  b: {say: B}\n  c: {say: C, then: {say: Then, then: q}}\n  q: {ask: Q, then: d}\n  d: {say: D}"
    assert most(BEGIN + steps) == 4
    assert most(BEGIN + "steps:\n  q: {ask: Q, retry: {say: No}}") == 1
    assert most(BEGIN + "steps:\n  b: {say: See, location: {latitude: 1, longitude: 2}}") == 2


def test_a_bound_on_visits_bounds_a_cycle() -> None:
    assert most(BEGIN + "steps:\n  b: {say: B, visits: {max: 7, else: end}}\n  c: {say: C, then: b}") == 14


def test_a_flow_that_is_run_for_each_element_sends_a_hundred_times_as_much() -> None:
    each = (
        BEGIN + "vars: {all: {type: list}}\nsteps:\n  r: {run: /one, each: all, with: {it_: '{{ it }}'}}\n  b: {say: B}"
    )
    one = "flow: one\nvars: {it_: {type: text}}\nsteps:\n  said: {say: '{{ it_ }}'}"
    (finding,) = only("W601").findings(each, one)
    assert finding.what == 'step "r" can send 101 messages in one turn, and the gateway takes 60 a minute'
    asking = one.replace("{say: '{{ it_ }}'}", "{ask: '{{ it_ }}'}")
    assert most(each, asking) == 1


def test_a_flow_that_is_run_counts_where_it_returns_in_the_same_turn() -> None:
    parent = BEGIN + "steps:\n  r: {run: /one}\n  b: {say: B}"
    assert most(parent, "flow: one\nsteps:\n  x: {say: X}\n  y: {say: Y}") == 3
    assert most(parent, "flow: one\nsteps:\n  x: {say: X}\n  y: {wait: 1h}") == 1


def test_bounds_within_cycles_count_each_for_itself() -> None:
    inner = "  b: {say: B, visits: {max: 70, else: d}}\n  c: {branch: [{if: x, then: b}, {else: d}]}\n"
    outer = "  d: {say: D, visits: {max: 2, else: end}, then: b}"
    assert heavy(f"{BEGIN}vars: {{x: {{type: boolean}}}}\nsteps:\n{inner}{outer}") == ["a/b"]


def test_a_step_that_fails_at_once_goes_round_through_its_own_errors() -> None:
    """A text that is no number with a country code fails in the turn that enters the step."""
    to = "vars: {who: {type: text}}\nsteps:\n  b: {start: /two, contact: '{{ who }}', errors: {else: {say: No., then: b}}}"
    assert heavy(BEGIN + to, "flow: two\nsteps:\n  x: {say: X}") == ["a/b"]
    assert heavy(BEGIN + to.replace("{{ who }}", "6281234567890"), "flow: two\nsteps:\n  x: {say: X}") == []


def test_a_point_in_time_may_be_over_when_it_is_waited_for() -> None:
    until = BEGIN + "vars: {day: {type: time}}\nsteps:\n  b: {say: B}\n  w: {wait: '{{ day }}'}\n  c: {say: C}"
    assert most(until) == 2
    assert most(until.replace("'{{ day }}'", "2h")) == 1


CYCLE = """
flow: a
start: {words: [a]}
vars: {day: {type: datetime}}
steps:
  when: {ask: When?, save: day}
  b: {say: B}
  w: {wait: '{{ MOMENT }}'}
  c: {say: C, set: {SET}, then: b}
"""


def cycle(moment: str, **given: str) -> str:
    """A flow that goes round past a wait until a moment, and sets some variables on the way."""
    return CYCLE.replace("MOMENT", moment).replace("SET", ", ".join(f"{name}: '{it}'" for name, it in given.items()))


def test_a_cycle_past_a_point_in_time_that_stays_as_it_is_has_no_end_once_it_is_over() -> None:
    (finding,) = only("W601").findings(cycle("day"))
    assert finding.what == 'step "b" can send messages without end in one turn, and the gateway takes 60 a minute'
    assert load_of(cycle("day")).turn is None


def test_a_cycle_past_a_point_in_time_that_moves_on_is_gone_round_once_in_a_turn() -> None:
    assert heavy(cycle("day", day="{{ day + days(1) }}")) == []
    assert load_of(cycle("day", day="{{ day + days(1) }}")).turn == 4


def test_a_time_that_is_reckoned_from_now_is_in_the_future() -> None:
    assert load_of(cycle("now + hours(1)")).turn == load_of(cycle("today + days(1)")).turn == 2
    assert heavy(cycle("day + (now - now)")) == []


def test_a_duration_is_never_over_when_it_begins() -> None:
    assert load_of(cycle("hours(24)")).turn == 2
    assert load_of(cycle("day - now")).turn == 2


def test_each_that_sends_too_much_is_told_and_of_a_cycle_the_first() -> None:
    each = "vars: {all: {type: list}}\nsteps:\n  r: {run: /one, each: all}\n  b: {say: B}\n  s: {run: /one, each: all}"
    assert heavy(BEGIN + each, "flow: one\nsteps:\n  x: {say: X}") == ["a/r", "a/s"]
    says = "".join(f"\n  s{number}: {{say: S}}" for number in range(100))
    assert heavy(f"{BEGIN}steps:{says}") == ["a/s39"]
