"""Another flow cuts in, and the interrupted one goes on as it declares."""

import pytest

from tests.talk import Talk

BOT = "name: T\nwords: {stop: end}\ndefaults: {timeout: {after: 20h, then: end}}\n"
FLOWS = """\
flow: order
start: {words: [order]}
interrupted: POLICY
vars: {cups: {type: integer}}
steps:
  cups: {ask: How many?, save: cups, retry: {say: A number please., max: 2, else: end}, timeout: {after: 1h, then: end}}
  done: {say: "{{ cups }} cups.", then: end}
---
flow: hours
start: {words: [hours]}
interrupted: resume
steps:
  day: {ask: Which day?, buttons: {Today: open, Tomorrow: open}}
  open: {say: From 9 to 18., then: end}
---
flow: parking
start: {words: [parking]}
steps:
  a: {say: Behind the house., then: end}
"""


def talk(policy: str = "resume") -> Talk:
    return Talk(FLOWS.replace("POLICY", policy), BOT)


def test_a_flow_that_does_not_declare_it_is_not_interrupted() -> None:
    chat = Talk(FLOWS.replace("interrupted: POLICY\n", ""), BOT)
    chat.user("order")
    assert chat.user("parking") == ["A number please."]


def test_the_question_is_put_once_more_on_return() -> None:
    chat = talk()
    chat.user("order")
    assert chat.user("parking") == ["Behind the house.", "How many?"]
    assert chat.user("3") == ["3 cups."]


def test_an_interruption_may_ask_and_its_answers_are_its_own() -> None:
    chat = talk()
    chat.user("order")
    assert chat.user("hours") == [["Which day?", "Today", "Tomorrow"]]
    assert chat.at == "hours/day"
    assert chat.tap("Today") == ["From 9 to 18.", "How many?"]


def test_retries_are_untouched_by_a_digression() -> None:
    chat = talk()
    chat.user("order")
    chat.user("many")
    chat.user("parking")
    assert chat.user("many") == ["A number please."]
    chat.user("many")
    assert chat.at is None


def test_with_drop_nobody_returns() -> None:
    chat = talk("drop")
    chat.user("order")
    assert chat.user("parking") == ["Behind the house."]
    assert chat.at is None


def test_the_covered_clock_stops_and_starts_anew() -> None:
    chat = talk()
    chat.user("order")
    chat.wait("50m")
    chat.user("hours")
    chat.wait("10h")
    assert chat.tap("Today") == ["From 9 to 18.", "How many?"]
    chat.wait("59m")
    assert chat.at == "order/cups"
    chat.wait("1m")
    assert chat.at is None


def test_a_flows_own_trigger_never_interrupts_it() -> None:
    chat = talk()
    chat.user("order")
    assert chat.user("order") == ["A number please."]


def test_cutting_in_again_drops_the_older_copy() -> None:
    flows = FLOWS.replace("POLICY", "resume").replace("flow: parking\nstart: {words: [parking]}\n",
        "flow: parking\nstart: {words: [parking]}\ninterrupted: resume\n").replace(
        "  a: {say: Behind the house., then: end}", "  a: {ask: By car?, buttons: {Yes: end}}")  # fmt: skip
    chat = Talk(flows, BOT)
    chat.user("order")
    chat.user("hours")
    chat.user("parking")
    assert chat.user("hours") == [["Which day?", "Today", "Tomorrow"]]
    assert [frame.flow for frame in chat.session.frames] == ["order", "parking", "hours"]


def test_a_flow_that_asks_is_gone_on_with_after_a_yes() -> None:
    chat = talk("ask")
    chat.user("order")
    assert chat.user("parking") == ["Behind the house.", ["Go on with order?", "Yes", "No"]]
    assert chat.tap("Yes") == ["How many?"]
    assert chat.user("3") == ["3 cups."]


@pytest.mark.parametrize("text", ["yes", "Yes!", "ok"])
def test_it_may_be_agreed_to_in_words(text: str) -> None:
    chat = talk("ask")
    chat.user("order")
    chat.user("parking")
    assert chat.user(text) == ["How many?"]


def test_after_a_no_the_flow_is_over() -> None:
    chat = talk("ask")
    chat.user("order")
    chat.user("parking")
    assert chat.tap("No") == []
    assert chat.session.frames == ()


def test_anything_else_is_taken_as_if_it_had_gone_on() -> None:
    chat = talk("ask")
    chat.user("order")
    chat.user("parking")
    assert chat.user("3") == ["3 cups."]
    chat.user("order")
    chat.user("parking")
    assert chat.user("many") == ["A number please."]
    assert chat.user("yes") == ["A number please."], "the question whether to go on is over"


def test_a_word_leaves_that_question_open() -> None:
    chat = Talk(FLOWS.replace("POLICY", "ask"), BOT.replace("{stop: end}", "{stop: end, help: {say: Just answer.}}"))
    chat.user("order"), chat.user("parking")
    assert chat.user("help") == ["Just answer."]
    assert chat.tap("Yes") == ["How many?"]


def test_while_it_is_asked_the_clocks_run_anew() -> None:
    chat = talk("ask")
    chat.user("order")
    chat.wait("50m")
    chat.user("parking")
    assert chat.wait("50m") == []
    assert chat.at == "order/cups"
    chat.wait("10m")
    assert chat.at is None


def test_an_old_yes_goes_on_with_nothing() -> None:
    chat = talk("ask")
    chat.user("order")
    chat.user("parking")
    chat.user("many")
    assert chat.tap("Yes") == ["That was an earlier question.", "How many?"]


def test_an_interrupted_interruption_is_dropped_where_it_says_so() -> None:
    chat = Talk(FLOWS.replace("POLICY", "resume").replace("interrupted: resume\nsteps:\n  day", "interrupted: drop\nsteps:\n  day"), BOT)  # fmt: skip
    chat.user("order")
    chat.user("hours")
    assert chat.user("parking") == ["Behind the house.", "How many?"]
    assert [frame.flow for frame in chat.session.frames] == ["order"]


def test_an_interruption_of_an_interruption_that_expires_ends_all_three() -> None:
    asks = FLOWS.replace("POLICY", "resume").replace("a: {say: Behind the house., then: end}", "a: {ask: Which house?}")
    chat = Talk(asks, BOT)
    chat.user("order")
    chat.user("hours")
    chat.user("parking")
    assert len(chat.session.frames) == 3
    assert chat.wait("20h") == []
    assert not chat.session.frames


def test_an_interruption_that_expires_takes_the_interrupted_flow_with_it() -> None:
    chat = talk()
    chat.user("order")
    chat.user("hours")
    chat.wait("20h")
    assert chat.at is None
    assert chat.session.frames == ()


def test_the_bots_words_end_everything() -> None:
    chat = talk()
    chat.user("order")
    chat.user("hours")
    chat.user("stop")
    assert chat.session.frames == ()


@pytest.mark.parametrize("answer", ["1", "12"])
def test_an_answer_comes_before_any_trigger(answer: str) -> None:
    chat = Talk(FLOWS.replace("POLICY", "resume").replace("words: [parking]", f"words: ['{answer}']"), BOT)
    chat.user("order")
    assert chat.user(answer) == [f"{answer} cups."]


STACKED = """\
flow: order
start: {words: [order]}
interrupted: resume
steps:
  size: {ask: Which size?, options: [Small, Large]}
  extras: {run: /extras}
  done: {say: Done., then: end}
---
flow: extras
start: {words: [extras]}
interrupted: POLICY
steps: {milk: {ask: With milk?, options: ["Yes", "No"]}}
---
flow: hours
start: {words: [hours]}
interrupted: resume
steps:
  intro: {say: Our hours.}
  day: {run: /day}
---
flow: day
interrupted: resume
steps: {day: {ask: Which day?, options: [Today]}}
---
flow: parking
start: {words: [parking]}
interrupted: resume
steps: {a: {ask: By car?, options: [Car]}}
"""


def stacked(policy: str = "resume") -> Talk:
    return Talk(STACKED.replace("POLICY", policy), BOT)


def flows_of(chat: Talk) -> list[str]:
    return [frame.flow for frame in chat.session.frames]


def test_a_flow_that_is_open_below_is_gone_back_to_by_its_words() -> None:
    chat = stacked()
    chat.user("order"), chat.user("hours"), chat.user("parking")
    assert chat.user("order") == [["Which size?", "Small", "Large"]]
    assert flows_of(chat) == ["order"]
    assert chat.user("large") == [["With milk?", "Yes", "No"]]


def test_one_that_would_ask_whether_to_go_on_is_not_asked_after_its_own_word() -> None:
    chat = stacked("ask")
    chat.user("order"), chat.user("small"), chat.user("parking")
    assert chat.user("extras") == [["With milk?", "Yes", "No"]]
    assert flows_of(chat) == ["order", "extras"]
    assert chat.user("no") == ["Done."]


def test_one_that_waits_for_a_flow_that_it_runs_runs_it_anew() -> None:
    chat = stacked()
    chat.user("order"), chat.user("small")
    assert chat.user("order") == [["With milk?", "Yes", "No"]]
    assert flows_of(chat) == ["order", "extras"]
    assert chat.user("no") == ["Done."]
    assert chat.at is None


def test_cutting_in_again_drops_the_older_copy_with_what_it_runs() -> None:
    chat = stacked()
    chat.user("order"), chat.user("hours")
    assert flows_of(chat) == ["order", "hours", "day"]
    assert chat.user("hours") == ["Our hours.", ["Which day?", "Today"]]
    assert flows_of(chat) == ["order", "hours", "day"]
    chat.user("parking"), chat.user("hours")
    assert flows_of(chat) == ["order", "parking", "hours", "day"]
    assert chat.user("today") == [["By car?", "Car"]]
    assert chat.user("car") == [["Which size?", "Small", "Large"]]


def test_where_a_flow_is_dropped_those_that_ran_it_are_too() -> None:
    chat = stacked("drop")
    chat.user("order"), chat.user("small")
    assert chat.user("parking") == [["By car?", "Car"]]
    assert flows_of(chat) == ["parking"]


def test_back_in_an_interruption_resumes_what_lies_below() -> None:
    chat = Talk(STACKED.replace("POLICY", "drop").replace("[Car]", "{Car: back}"), BOT)
    chat.user("hours"), chat.user("parking")
    assert chat.user("car") == [["Which day?", "Today"]]


def test_of_too_many_interruptions_the_one_that_was_interrupted_first_is_given_up() -> None:
    flows = "---\n".join(
        f"flow: f{n}\nstart: {{words: [w{n}]}}\ninterrupted: resume\nsteps: {{a: {{ask: q{n}?, options: [yes]}}}}\n"
        for n in range(13)
    )
    chat = Talk(flows, BOT)
    for n in range(13):
        assert chat.user(f"w{n}") == [[f"q{n}?", "yes"]]
    assert flows_of(chat) == [f"f{n}" for n in range(3, 13)]
    for n in range(11, 2, -1):
        assert chat.user("yes") == [[f"q{n}?", "yes"]]
    assert chat.user("yes") == []
    assert chat.at is None


def test_reminders_and_retries_of_the_interrupted_question_are_kept() -> None:
    flows = FLOWS.replace("POLICY", "resume").replace("timeout: {after: 1h", "remind: {after: 10m, max: 1, say: Still?}, timeout: {after: 1h")  # fmt: skip
    chat = Talk(flows, BOT)
    chat.user("order"), chat.user("many")
    assert chat.wait("10m") == ["Still?"]
    chat.user("hours"), chat.tap("Today")
    assert chat.wait("30m") == [], "it was reminded of before"
    assert chat.user("many") == ["A number please."]
    chat.user("many")
    assert chat.at is None


def test_each_wrong_reply_is_objected_to_and_counted_across_an_interruption() -> None:
    flows = FLOWS.replace("POLICY", "resume").replace(
        "{type: integer}", "{type: integer, error: 'No number: {{ it }}.'}"
    )
    chat = Talk(flows, BOT)
    chat.user("order")
    assert chat.user("many") == ["No number: many."]
    assert chat.user("parking") == ["Behind the house.", "How many?"]
    assert chat.user("lots") == ["No number: lots."]
    assert chat.user("lots") == []
    assert chat.at is None


def test_where_other_takes_what_is_no_answer_nothing_is_objected() -> None:
    chat = Talk("""
flow: f
start: {otherwise: true}
vars: {n: {type: integer, error: Not so.}}
steps: {q: {ask: n?, save: n, other: {say: Other.}}}
""")
    chat.user("x")
    assert chat.user("y") == ["Other."]


def test_an_objection_that_cannot_be_worked_out_takes_the_steps_errors() -> None:
    chat = Talk("""
flow: f
start: {otherwise: true}
vars: {o: {type: object}, n: {type: integer, error: "{{ o.a.b }}"}}
steps: {q: {ask: n?, save: n, errors: {else: sorry}}, sorry: {ask: Sorry.}}
""")
    chat.user("x")
    assert chat.user("y") == ["Sorry."]


@pytest.mark.parametrize(("word", "flow"), [("parkin", "close"), ("so, parking please", "anywhere")])
def test_a_word_that_is_matched_more_widely_cuts_in_too(word: str, flow: str) -> None:
    flows = FLOWS.replace("POLICY", "resume").replace("{words: [parking]}", f"{{words: [parking], match: {flow}}}")
    chat = Talk(flows, BOT)
    chat.user("order")
    assert chat.user(word) == ["Behind the house.", "How many?"]


def test_what_starts_flows_for_first_contacts_alone_never_cuts_in() -> None:
    chat = Talk(FLOWS.replace("POLICY", "resume").replace("[parking]}", "[parking], contact: first}"), BOT)
    chat.user("order")
    assert chat.user("parking") == ["A number please."]


def test_a_question_for_free_text_takes_every_flows_words_and_no_word_of_the_bots() -> None:
    chat = Talk(FLOWS.replace("POLICY", "resume").replace("type: integer", "type: text"), BOT)
    chat.user("order")
    assert chat.user("parking") == ["parking cups."]
    chat.user("order")
    assert chat.user("stop") == []
    assert chat.at is None


# -- a flow that waits on -------------------------------------------------------------------------------


def test_with_wait_the_question_is_not_asked_again() -> None:
    chat = talk("wait")
    chat.user("order")
    assert chat.user("hours") == [["Which day?", "Today", "Tomorrow"]]
    assert chat.tap("Today") == ["From 9 to 18."]
    assert chat.at == "order/cups"
    assert chat.user("3") == ["3 cups."]


def test_with_wait_silence_ends_only_the_flow_above() -> None:
    chat = Talk(FLOWS.replace("POLICY", "wait"), BOT.replace("20h", "30m"))
    chat.user("order")
    chat.user("hours")
    assert chat.wait("30m") == []
    assert chat.at == "order/cups"
    assert chat.user("3") == ["3 cups."]


def test_with_wait_the_clock_begins_anew_when_the_flow_above_has_ended() -> None:
    chat = talk("wait")
    chat.user("order")
    chat.wait("50m")
    chat.user("hours")
    chat.wait("50m")
    chat.tap("Today")
    chat.wait("59m")
    assert chat.at == "order/cups"
    chat.wait("1m")
    assert chat.at is None


def test_with_wait_the_question_comes_when_the_contact_asks_for_its_flow() -> None:
    chat = talk("wait")
    chat.user("order")
    chat.user("hours")
    assert chat.user("order") == ["How many?"]


def test_with_wait_a_question_that_was_edited_meanwhile_is_asked() -> None:
    chat = talk("wait")
    chat.user("order")
    chat.user("hours")
    chat.edit(FLOWS.replace("POLICY", "wait").replace("How many?", "How many cups?"), BOT)
    assert chat.tap("Today") == ["From 9 to 18.", "How many cups?"]


def test_with_wait_a_step_that_an_edit_removed_is_left_in_any_case() -> None:
    chat = Talk(FLOWS.replace("POLICY", "wait"), BOT.replace("20h", "30m"))
    chat.user("order")
    chat.user("hours")
    edited = FLOWS.replace("POLICY", "wait").replace("  cups:", "  amount:")
    chat.edit(edited, BOT.replace("20h", "30m"))
    chat.wait("30m")
    assert chat.at is None


def test_with_wait_a_pause_that_is_over_goes_on_after_the_interruption() -> None:
    flows = FLOWS.replace("POLICY", "resume") + "---\nflow: roast\nstart: {words: [roast]}\ninterrupted: wait\n"
    chat = Talk(flows + "steps:\n  oven: {wait: 2h}\n  ready: {say: Ready., then: end}\n", BOT)
    chat.user("roast")
    chat.user("hours")
    assert chat.wait("3h") == []
    assert chat.tap("Today") == ["From 9 to 18."]
    assert chat.wait("1s") == ["Ready."]


def test_with_wait_a_flow_that_a_program_starts_leaves_the_question_alone() -> None:
    chat = talk("wait")
    chat.user("order")
    assert chat.start("hours", busy="interrupt") == [["Which day?", "Today", "Tomorrow"]]
    chat.wait("20h")
    assert chat.at == "order/cups"


def test_whether_to_go_on_is_not_asked_about_a_wait_that_is_over() -> None:
    flows = """
flow: nap
start: {words: [nap]}
interrupted: ask
steps: {nap: {wait: WAIT}, up: {say: Up., then: end}}
---
flow: visit
start: {words: [visit]}
steps: {visit: {wait: 1h}, here: {say: Here., then: end}}
"""
    talk = Talk(flows.replace("WAIT", "10m"))
    talk.user("nap"), talk.user("visit")
    assert talk.wait("1h") == ["Here.", "Up."]
    talk = Talk(flows.replace("WAIT", "2h"))
    talk.user("nap"), talk.user("visit")
    assert talk.wait("1h") == ["Here.", ["Go on with nap?", "Yes", "No"]]
