"""The most messages that each flow of a bot can send."""

from bot.checker.analysis.loads import FlowLoad, ModelLoad, flow_loads, model_loads
from tests.checker.proved import BOT, library

BEGIN = "flow: a\nstart: {words: [a]}\n"


def load_of(*flows: str, bot: str = BOT) -> FlowLoad:
    """The load of the first flow."""
    return flow_loads(library(*flows, bot=bot))[0]


def most(steps: str, *flows: str) -> int | None:
    """The most messages of one conversation."""
    return load_of(f"{BEGIN}steps:\n{steps}", *flows).conversation


def test_the_first_turn_is_what_a_start_sends_at_once() -> None:
    load = load_of(BEGIN + "steps:\n  b: {say: B}\n  q: {ask: Q}\n  c: {say: C}\n  d: {say: D}\n  e: {say: E}")
    assert (load.first, load.turn, load.conversation) == (2, 3, 5)


def test_a_conversation_takes_the_way_on_which_most_is_said() -> None:
    branch = "  q: {ask: Q, buttons: {One: {say: One it is., then: end}, Two: {then: two}}}\n  two: {say: B}\n  three: {say: C}"
    assert most(branch) == 3


def test_reminders_count_as_often_as_they_come() -> None:
    assert (
        most(
            "  q: {ask: Q, remind: {after: 10m, max: 3, say: Still there?}, timeout: {after: 1h, say: Bye, then: end}}"
        )
        == 5
    )


def test_flows_that_are_run_count_once_for_each_element() -> None:
    one = "flow: one\nsteps:\n  x: {ask: X}\n  y: {say: Y}"
    assert most("  r: {run: /one}\n  b: {say: B}", one) == 3
    each = BEGIN + "vars: {all: {type: list}}\nsteps:\n  r: {run: /one, each: all}\n  b: {say: B}"
    assert load_of(each, one).conversation == 201


def test_a_conversation_that_can_be_led_round_and_round_has_no_end() -> None:
    steps = "  b: {say: B}\n  q: {ask: Q, buttons: {Again: b, Enough: end}}"
    load = load_of(f"{BEGIN}steps:\n{steps}")
    assert (load.conversation, load.cycle) == (None, ("a", "q"))
    assert most(steps.replace("{say: B}", "{say: B, visits: {max: 3, else: end}}")) == 6


def test_what_answers_a_word_or_a_wrong_reply_is_not_counted() -> None:
    assert most("  q: {ask: Q, retry: {say: No.}, words: {why: {say: So., then: again}}}") == 1


def test_a_flow_that_nothing_starts_is_begun_where_others_go_over_to_it() -> None:
    load, other = flow_loads(
        library(BEGIN + "steps:\n  b: {say: B, then: /other}", "flow: other\nsteps:\n  c: {say: C}")
    )
    assert (load.turn, other.turn) == (2, 1)


# What one contact can cost


def model_load(ai: str = "", keys: str = "") -> ModelLoad:
    step = f"  talk:\n    ai: You help.\n    exits: {{done: {{when: all is said, then: end}}}}\n{keys}"
    (load,) = model_loads(library(f"{BEGIN}steps:\n{step}", bot=f"{BOT}\nai: {{{ai}}}\n"))
    return load


def test_the_judges_that_may_be_asked_at_once_count_beside_a_contacts_budget() -> None:
    alone = model_load("budget: {contact: 9000}")
    judged = model_load("budget: {contact: 9000}, judge: {share: 2%, questions: [Is it polite?, Is it true?]}")
    assert (alone.judges, alone.judging) == (0, 0)
    assert (judged.judges, judged.tokens, judged.requests) == (4, alone.tokens, alone.requests)


def test_a_judge_is_given_what_the_model_was_given_and_what_it_said() -> None:
    load = model_load("judge: {share: 2%, questions: [Is it polite?]}")
    assert load.judging > 4 * 4 * 40_000  # four at once, each of a turn of 40,000 characters


def test_a_model_is_asked_as_often_in_one_turn_as_its_rounds_allow() -> None:
    plain = model_load().spends
    assert (plain.asks, plain.repeats, plain.searches, plain.judges) == (8, False, 0, 0)
    held = model_load("unsupported: {prices: retry}", "    while_busy: merge\n").spends
    assert (held.asks, held.repeats) == (13, True)
    led = model_load(keys="    unsupported: {prices: {then: end}}\n").spends
    assert not led.repeats
