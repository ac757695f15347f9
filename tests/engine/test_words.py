"""Words that are heard before any answer: the bot's, the flow's, the step's."""

import pytest

from tests.talk import BOT, Talk, problems_of

WORDS = BOT + "words: {stop: {say: Bye!, then: end}, menu: /main}\n"
ORDER = """\
flow: main
start: {words: [hi]}
steps: {a: {ask: What?, buttons: {Order: /order}}}
---
flow: order
start: {words: [order]}
interrupted: resume
words:
  prices: {say: A cup is 3 euros.}
  cancel: {say: Cancelled., then: end}
  skip this: next
  help: /help
vars: {cups: {type: integer}, name: {type: text}}
steps:
  cups:
    ask: How many cups?
    save: cups
    words: {why?: {say: So that nobody waits., then: again}, lots: {set: {cups: 9}, then: next}}
    retry: {say: A number please., max: 2, else: person}
  name: {ask: Your name?, save: name}
  done: {say: "{{ cups | default('no') }} cups for {{ name }}.", then: end}
  person: {handoff: sales, closed: end}
---
flow: help
steps:
  topic: {ask: Help with what?, buttons: {Prices: prices, Back: back}}
  prices: {say: See the wall., then: back}
---
flow: prices
start: {words: [prices]}
steps: {a: {say: The price list., then: end}}
"""


def ordering() -> Talk:
    chat = Talk(ORDER, WORDS)
    assert chat.user("order") == ["How many cups?"]
    return chat


def test_a_word_of_a_step_is_heard_at_that_step_alone() -> None:
    chat = ordering()
    assert chat.user("Why?") == ["So that nobody waits.", "How many cups?"]
    chat.user("3")
    assert chat.user("why") == ["3 cups for why."]


def test_a_word_of_a_flow_is_heard_at_each_of_its_steps() -> None:
    chat = ordering()
    assert chat.user("Prices!") == ["A cup is 3 euros."]
    chat.user("3")
    assert chat.user("prices") == ["A cup is 3 euros."]
    assert chat.at == "order/name"


def test_a_word_of_a_flow_is_heard_nowhere_else() -> None:
    chat = Talk(ORDER, WORDS)
    assert chat.user("prices") == ["The price list."]
    chat.user("hi")
    assert chat.user("skip this") == [["Sorry, I didn't understand that.\n\nWhat?", "Order"]]


def test_the_end_of_a_flows_word_ends_this_flow_and_that_of_the_bots_ends_everything() -> None:
    asks, runs = "{a: {ask: What?, buttons: {Order: /order}}}", "{a: {run: /order}, b: {ask: And now?}}"
    flows = ORDER.replace(asks, runs)
    for word, said in (("cancel", ["Cancelled.", "And now?"]), ("stop", ["Bye!"])):
        chat = Talk(flows, WORDS)
        assert chat.user("hi") == ["How many cups?"]
        assert chat.user(word) == said
        assert chat.at == ("main/b" if word == "cancel" else None)


def test_next_is_what_follows_the_step_where_the_contact_is() -> None:
    chat = ordering()
    assert chat.user("skip this") == ["Your name?"]
    assert chat.user("skip this") == ["no cups for ."]
    chat = ordering()
    assert chat.user("lots") == ["Your name?"]
    assert chat.user("Ann") == ["9 cups for Ann."]


def test_a_word_comes_before_the_answer_and_a_bots_before_a_flows() -> None:
    chat = ordering()
    chat.user("3")
    assert chat.user("menu") == [["What?", "Order"]]
    assert chat.at == "main/a"


def test_a_word_does_not_count_as_a_wrong_answer() -> None:
    chat = ordering()
    chat.user("x"), chat.user("why?"), chat.user("prices")
    assert chat.user("x") == ["A number please."]
    chat.user("x")
    assert chat.at == "order/person"


def test_retries_survive_a_word_that_leads_elsewhere_and_back() -> None:
    chat = ordering()
    chat.user("x"), chat.user("x")
    chat.user("help")
    assert chat.tap("Back") == ["How many cups?"]
    chat.user("x")
    assert chat.at == "order/person"


def test_after_help_by_a_person_the_wrong_answers_are_counted_anew() -> None:
    chat = Talk(ORDER.replace("sales, closed: end", "sales, closed: back"), WORDS)
    chat.user("order"), chat.user("x"), chat.user("x"), chat.user("x")
    assert chat.closed() == ["How many cups?"]
    assert chat.user("x") == ["A number please."]


def test_back_leads_to_the_question_that_was_left_also_after_questions_in_between() -> None:
    chat = ordering()
    chat.user("help")
    assert chat.tap("Prices") == ["See the wall.", "How many cups?"]
    assert chat.user("3") == ["Your name?"]


def test_back_as_a_word_leads_to_the_question_that_was_left_and_not_to_the_one_it_is_written_at() -> None:
    chat = Talk(ORDER, WORDS.replace("menu: /main", "go back: back, menu: /main"))
    chat.user("order"), chat.user("help")
    assert chat.user("go back") == ["How many cups?"]
    assert chat.user("go back") == [], "nothing was left, and nothing lies below"
    assert chat.at is None


def test_a_word_at_a_step_that_lets_time_pass() -> None:
    chat = Talk(
        "flow: f\nstart: {otherwise: true}\nsteps: {w: {wait: 3d, words: {now: next}}, d: {say: Done., then: end}}"
    )
    chat.user("x")
    assert chat.user("no") == []
    assert chat.user("now") == ["Done."]


def test_a_word_at_a_template_is_heard_after_its_replies() -> None:
    chat = Talk("""
flow: f
start: {otherwise: true}
steps: {t: {template: {name: n, language: en}, replies: {Yes: end}, words: {why: {say: Because.}}}}
""")
    chat.user("x")
    assert chat.user("why") == ["Because."]
    assert chat.user("yes") == []
    assert chat.at is None


CONDITION = """
flow: f
start: {otherwise: true}
vars: {vip: {type: boolean, value: %s}}
words: {menu: {if: vip, say: The long menu.}}
steps: {q: {ask: q?, words: {menu: {say: The menu.}}}, d: {say: "%s", then: end}}
"""


def test_a_word_with_a_condition_that_does_not_hold_is_not_heard() -> None:
    for vip, expected in (("true", "The long menu."), ("false", "The menu.")):
        chat = Talk(CONDITION % (vip, "d"))
        chat.user("x")
        assert chat.user("menu") == [expected]


def test_a_condition_that_cannot_be_worked_out_takes_the_steps_errors() -> None:
    chat = Talk("""
flow: f
start: {otherwise: true}
vars: {o: {type: object}}
words: {menu: {if: o.a.b, then: end}}
steps: {q: {ask: q?, errors: {else: sorry}}, sorry: {ask: Sorry.}}
""")
    chat.user("x")
    assert chat.user("menu") == ["Sorry."]
    assert chat.at == "f/sorry", "the word is no answer to what is asked then"


def test_one_of_the_bots_that_cannot_be_worked_out_is_told_to_the_operator() -> None:
    chat = Talk(ORDER, BOT + 'words: {menu: {if: "contact.tags[9].x", then: end}}\n')
    assert chat.user("menu") == []
    assert chat.turn is not None and chat.turn.failure


def test_a_word_may_send_back_to_correct_an_answer() -> None:
    chat = Talk("""
flow: f
start: {otherwise: true}
vars: {name: {type: text}}
words: {rename: {correct: name}}
steps:
  name: {ask: Name?, save: name}
  street: {ask: "Street, {{ name }}?"}
""")
    chat.user("x"), chat.user("Ann")
    assert chat.user("rename") == ["Name?"]
    assert chat.user("Bea") == ["Street, Bea?"]


def test_a_word_of_the_routers_hands_the_message_on() -> None:
    chat = Talk(ORDER.replace("help: /help", "hi: route"), WORDS)
    chat.user("order")
    assert chat.user("hi") == [["What?", "Order"]]
    assert len(chat.session.frames) == 1


@pytest.mark.parametrize("step", ["handoff: x, closed: end", "say: x", "set: {}"])
def test_words_where_nobody_is_waited_for_are_a_problem(step: str) -> None:
    (problem,) = problems_of(f"flow: f\nsteps: {{a: {{{step}, words: {{x: end}}}}, b: {{ask: b?}}}}")
    assert 'E123 step "a": "words" has no effect: the step waits for ' in problem


HEARD_FIRST = {
    "a flow's word that is the bot's": ("{Stop: end}", "{}", "ask: x", 'word "Stop" of flow f is a word of the bot'),
    "a step's word that is the bot's": ("{}", "{stop!: end}", "ask: x", 'step "a": word "stop!" is a word of the bot'),
    "a step's word that is the flow's": ("{x: end}", "{X: end}", "ask: x", 'word "X" is a word of the flow'),
    "an answer that is the flow's": ("{yes: end}", "{}", "ask: x, buttons: {Yes: a}", '"Yes" is a word of the flow'),
    "an answer that is the step's": ("{}", "{yes: end}", "ask: x, buttons: {Yes: a}", '"Yes" is a word of the step'),
    "a way to skip that is the step's": ("{}", "{no: a}", "ask: x, skip: [no]", '"no" of "skip" is a word of the step'),
    "a step's word that is a template's reply": ("{}", "{yes: end}", "template: {name: n, language: en}, replies: {Yes: end}", 'word "yes" is a reply to the template'),
}  # fmt: skip


@pytest.mark.parametrize("name", HEARD_FIRST)
def test_what_nobody_ever_hears_is_a_problem(name: str) -> None:
    of_flow, of_step, step, expected = HEARD_FIRST[name]
    text = f"flow: f\nwords: {of_flow}\nsteps: {{a: {{{step}, words: {of_step}}}}}\n"
    (problem,) = problems_of(text, BOT + "words: {stop: end}\n")
    assert expected in problem
    assert "E312" in problem and problem.endswith("which comes first (choose another word for one of them)")


@pytest.mark.parametrize(
    ("word", "button", "options"),
    [("b", "b", ""), ("next", "b", ""), ("end", "end", ""), ("/f", "{then: /f}", ""), ("b", "{words: [si]}", "then: b"),
     ("{then: b, if: v}", "end", "set: {v: x}")],  # the last one is heard only at times
)  # fmt: skip
def test_a_word_of_a_button_that_does_the_same_is_no_problem(word: str, button: str, options: str) -> None:
    assert problems_of(worded(word, button, options)) == []


@pytest.mark.parametrize(
    ("word", "button", "options"),
    [("b", "end", ""), ("b", "b", "set: {v: x}"), ("b", "{value: x, then: b}", "save: v"), ("b", "{say: Fine, then: b}", ""),
     ("{say: Fine, then: b}", "b", ""), ("{set: {v: x}, then: b}", "b", ""), ("{say: Fine}", "b", ""), ("{correct: q}", "q", "")],
)  # fmt: skip
def test_a_word_of_a_button_that_does_something_else_is_a_problem(word: str, button: str, options: str) -> None:
    (problem,) = problems_of(worded(word, button, options))
    assert '"Yes!" is a word of the flow' in problem


def worded(word: str, button: str, options: str) -> str:
    steps = f"q: {{ask: q, save: v}}, a: {{ask: x, buttons: {{'Yes!': {button}, No: end}}, {options}}}, b: {{ask: b}}"
    return f"flow: f\nvars: {{v: text}}\nwords: {{'yes': {word}}}\nsteps: {{{steps}}}\n"


def test_a_bots_word_that_ends_everything_is_not_a_button_that_ends_the_flow() -> None:
    flow = "flow: f\nsteps: {a: {ask: x, buttons: {Stop: end, Menu: /f}}}\n"
    (problem,) = problems_of(flow, BOT + "words: {stop: end, menu: /f}\n")
    assert '"Stop" is a word of the bot' in problem


def test_a_reply_to_a_template_may_be_a_word_of_the_bots() -> None:
    text = "flow: f\nwords: {no: end}\nsteps: {a: {template: {name: n, language: en}, replies: {Stop: end, No: end}}}\n"
    assert problems_of(text, BOT + "words: {stop: end}\n") == []


def test_two_words_of_one_place_that_mean_the_same_are_a_problem() -> None:
    (problem,) = problems_of("flow: f\nwords: {a b: end, A-B: end}\nsteps: {a: {ask: x}}\n")
    assert 'E312 "A-B" is taken: the word "a b" means the same (keep one of them)' in problem


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("{x: pya}", 'E102 no step "pya"'),
        ("{x: {set: {n: 1}}}", 'E301 no variable "n"'),
        ("{x: {say: '{{ n }}'}}", 'E301 no variable "n"'),
        ("{x: {if: n, then: end}}", 'E301 no variable "n"'),
        ("{x: {correct: b}}", 'E110 "b" asks nothing'),
        ("{x: {then: end, whne: 1}}", 'E104 word "x": unknown key "whne"'),
    ],
)
@pytest.mark.parametrize("where", ["flow", "step"])
def test_a_mistake_in_a_words_transition_is_found(where: str, words: str, expected: str) -> None:
    of_flow, of_step = (words, "{}") if where == "flow" else ("{}", words)
    text = f"flow: f\nwords: {of_flow}\nsteps: {{a: {{ask: x, words: {of_step}}}, b: {{say: y, then: end}}}}\n"
    (problem,) = problems_of(text)
    assert expected in problem


def test_the_bot_has_no_answers_to_correct() -> None:
    (problem,) = problems_of("flow: f\nsteps: {a: {ask: x}}\n", BOT + "words: {x: {correct: /f/a}}\n")
    assert 'E110 "/f/a" asks nothing that could be corrected (write `then`)' in problem


def test_a_question_that_was_left_after_its_last_retry_is_retried_anew_when_back_leads_there() -> None:
    talk = Talk("""
flow: f
start: {otherwise: true}
vars: {n: integer}
steps:
  q: {ask: How many?, save: n, retry: {say: A number please., max: 1, else: help}}
  help: {say: Count them., then: back}
""")
    assert talk.user("hi") == ["How many?"]
    for _ in range(2):
        assert talk.user("lots") == ["A number please."]
        assert talk.user("many") == ["Count them.", "How many?"]


RUNS = """
flow: main
start: {words: [hi]}
steps:
  menu: {ask: Menu, options: {Order: order}}
  order: {run: /order}
  after: {say: The order is done., then: end}
---
flow: order
start: {words: [order]}
interrupted: resume
vars: {cup: {type: choice, of: [big]}}
steps:
  size: {run: /size}
  paid: {say: Pay., then: end}
---
flow: size
start: {words: [size]}
interrupted: resume
vars: {cup: {type: choice, of: [big]}}
steps:
  cup: {ask: Which cup?, save: cup, retry: {max: 0}}
---
flow: help
steps: {topic: {ask: Help with what?, options: {Nothing: back, All: end}}}
---
flow: desk
steps: {hello: {ask: Desk here., then: end}}
---
flow: hours
start: {words: [hours]}
steps: {day: {ask: Which day?, then: end}}
"""
RUNS_BOT = """
name: T
words: {menu: /main, help: /help, away: /desk}
defaults: {retry: {else: /desk}, timeout: {after: 20h, then: /desk}}
"""


def test_a_word_of_the_bot_that_leads_to_a_flow_ends_the_flows_that_ran_this_one() -> None:
    talk = Talk(RUNS, RUNS_BOT)
    talk.user("order")
    assert talk.user("away") == ["Desk here."]
    assert [frame.flow for frame in talk.session.frames] == ["desk"]
    assert (talk.user("thanks"), talk.at) == ([], None)


def test_a_word_of_the_bot_that_leads_to_an_open_flow_ends_what_ran_that_one() -> None:
    talk = Talk(RUNS.replace("flow: order\n", "flow: order\nwords: {main: /main}\n"), RUNS_BOT)
    talk.user("hi")
    talk.user("Order")
    assert talk.user("menu") == [["Menu", "Order"]]
    assert [frame.flow for frame in talk.session.frames] == ["main"]


def test_a_word_of_the_bot_that_leads_to_a_flow_ends_what_it_interrupted() -> None:
    talk = Talk(RUNS, RUNS_BOT)
    talk.user("size")
    assert talk.user("hours") == ["Which day?"]
    assert talk.user("away") == ["Desk here."]
    assert (talk.user("thanks"), talk.at) == ([], None)


def test_a_digression_comes_back_to_its_question_with_all_that_waited_below() -> None:
    talk = Talk(RUNS, RUNS_BOT)
    talk.user("hi")
    talk.user("Order")
    assert talk.user("help") == [["Help with what?", "Nothing", "All"]]
    assert talk.tap("Nothing") == ["Which cup?"]
    assert talk.user("hours") == ["Which day?"]
    talk.user("help")
    assert talk.user("Nothing") == ["Which day?"]
    assert talk.user("Monday") == ["Which cup?"]
    assert talk.user("big") == ["Pay.", "The order is done."]
    talk.user("order")
    talk.user("help")
    assert (talk.user("All"), talk.at) == ([], None)


@pytest.mark.parametrize("leave", ["wrong", "silent"])
def test_a_default_of_the_bot_that_leads_to_a_flow_ends_the_flows_that_ran_this_one(leave: str) -> None:
    talk = Talk(RUNS, RUNS_BOT)
    talk.user("order")
    assert (talk.user("huge") if leave == "wrong" else talk.wait("20h")) == ["Desk here."]
    assert (talk.user("thanks"), talk.at) == ([], None)


def test_a_flow_that_leads_to_another_one_goes_on_for_the_flow_that_ran_it() -> None:
    talk = Talk(RUNS.replace("retry: {max: 0}", "retry: {max: 0, else: /desk}"), RUNS_BOT)
    talk.user("order")
    assert talk.user("huge") == ["Desk here."]
    assert talk.user("thanks") == ["Pay."]


def test_a_word_that_fails_has_set_nothing() -> None:
    order = "flow: main\nstart: {words: [hi]}\nvars: {n: {type: integer, value: 1}, day: date}\nsteps:\n"
    order += "  a: {ask: What?, words: {now: {set: {n: 2, day: \"{{ 'x' ~ n }}\"}, then: b}}, errors: {else: b}}\n  b: {say: 'It is {{ n }}.', then: end}"
    chat = Talk(order, BOT)
    chat.user("hi")
    assert chat.user("now") == ["It is 1."]


@pytest.mark.parametrize("left_by", ["help", "How long?"])
def test_back_returns_to_a_wait_which_goes_on(left_by: str) -> None:
    flows = """\
flow: roast
start: {words: [roast]}
steps:
  oven: {wait: 2h, other: /help}
  ready: {say: Ready., then: end}
---
flow: help
steps: {hours: {ask: From 9 to 18., buttons: {Thanks: back}}}
"""
    chat = Talk(flows, "name: T\nwords: {help: /help}\ndefaults: {timeout: {after: 20h, then: end}}\n")
    chat.user("roast")
    chat.wait("30m")
    assert chat.user(left_by) == [["From 9 to 18.", "Thanks"]]
    chat.wait("30m")
    assert chat.tap("Thanks") == []
    assert chat.at == "roast/oven"
    assert chat.wait("59m") == []
    assert chat.wait("1m") == ["Ready."]


def test_back_returns_to_a_wait_that_is_over_and_to_what_runs_it() -> None:
    flows = """\
flow: order
start: {words: [order]}
steps:
  bake: {run: /oven}
  thanks: {say: Thank you., then: end}
---
flow: oven
steps: {oven: {wait: 2h}, ready: {say: Ready., then: end}}
---
flow: help
steps: {hours: {ask: From 9 to 18., buttons: {Thanks: back}}}
"""
    chat = Talk(flows, "name: T\nwords: {help: /help}\ndefaults: {timeout: {after: 20h, then: end}}\n")
    chat.user("order")
    chat.user("help")
    chat.wait("3h")
    assert chat.tap("Thanks") == ["Ready.", "Thank you."]


BALANCE = ORDER.replace(
    "  skip this: next\n", "  balance: {pattern: '(?i)(what is )?my balance.*', say: You have 3 euros.}\n"
)
PARCELS = (
    BOT
    + "words: {track: {pattern: '[A-Z]{2}[0-9]{4}', say: 'Parcel {{ message.text }} is on its way.'}, AB0000: {say: None.}}\n"
)


def test_a_word_may_be_a_pattern_as_well() -> None:
    talk = Talk(BALANCE, PARCELS)
    assert talk.user("AB1234") == ["Parcel AB1234 is on its way."], "also in no flow"
    talk.user("order")
    assert talk.user("What is my balance, please?") == ["You have 3 euros."]
    assert talk.user("balance") == ["You have 3 euros."]
    assert talk.user("XY1234") == ["Parcel XY1234 is on its way."]
    assert talk.at == "order/cups"
    assert talk.turn is not None
    assert talk.turn.trace.rule == 'word "track"'
    assert talk.user("XY12345")[0].startswith("A number please.")


def test_a_word_that_is_written_out_comes_before_any_pattern() -> None:
    assert Talk(BALANCE, PARCELS).user("ab0000") == ["None."]


def test_a_pattern_with_a_condition_counts_while_it_is_true() -> None:
    talk = Talk(BALANCE.replace("balance: {", "balance: {if: cups, "), PARCELS)
    talk.user("order")
    assert talk.user("my balance")[0].startswith("A number please.")
    talk.user("3")
    assert talk.user("my balance") == ["You have 3 euros."]


@pytest.mark.parametrize(
    ("bot", "flow", "problem"),
    [
        ("words: {track: {pattern: '(?P<no>[0-9]+)', say: Hi}}", ORDER, "E305 word \"track\": a word's pattern gives no values"),
        ("words: {track: {pattern: '[', say: Hi}}", ORDER, "E305"),
        ("words: {track: {pattern: '(?i)ord.*', say: Hi}}", ORDER, 'E312 step "a": "Order" is a word of the bot, "track", which comes first'),
        ("words: {track: {pattern: 'ord.*', say: Hi}}", ORDER, 'E312 "order" is taken: it is a word of the bot, "track"'),
        ("signals: {paid: {}}\ndefaults: {signals: {paid: {pattern: a, say: Hi}}}", ORDER, 'E104'),
    ],
)  # fmt: skip
def test_a_pattern_that_does_harm_is_found(bot: str, flow: str, problem: str) -> None:
    found = problems_of(flow, f"name: Test\n{bot}\n")
    assert any(problem in each for each in found), found


RUNNING = """
flow: order
start: {words: [order]}
vars: {town: text, n: {type: integer, value: 1}}
steps:
  where:
    run: /town
    save: {town: town}
    words:
      cancel: {say: Cancelled., then: end}
      why?: {say: So that it arrives.}
      as usual: {set: {town: Rome}, then: next}
      broken: {set: {n: "{{ 1 // (n - 1) }}"}}
    errors: {else: sorry}
  done: {say: "To {{ town }}.", then: end}
  sorry: {say: Sorry., then: end}
---
flow: town
vars: {town: text}
words: {cancel: {say: Not here.}}
steps:
  q: {ask: Which town?, options: [Rome, Oslo], save: town}
---
flow: help
start: {words: [help]}
steps: {q: {ask: What with?}}
"""


def test_words_of_a_step_that_runs_a_flow_work_there_as_well() -> None:
    talk = Talk(RUNNING.replace("words: {cancel: {say: Not here.}}\n", ""))
    talk.user("order")
    assert talk.user("why?") == ["So that it arrives."]
    assert talk.at == "town/q"
    assert talk.user("as usual") == ["To Rome."]
    assert talk.at is None
    talk.user("order")
    assert talk.user("Oslo") == ["To Oslo."]
    talk.user("order")
    assert talk.user("cancel") == ["Cancelled."]
    assert (talk.at, talk.session.frames) == (None, ())


def test_the_words_of_the_flow_that_is_run_come_first() -> None:
    talk = Talk(RUNNING)
    talk.user("order")
    assert talk.user("cancel") == ["Not here."]


def test_a_word_of_a_running_step_that_fails_takes_its_errors() -> None:
    talk = Talk(RUNNING)
    talk.user("order")
    assert talk.user("broken") == ["Sorry."]
    assert talk.session.frames == ()


def test_an_interruption_knows_no_words_of_what_it_interrupts() -> None:
    talk = Talk(RUNNING.replace("vars: {town: text}\nwords", "vars: {town: text}\ninterrupted: resume\nwords"))
    talk.user("order")
    assert talk.user("help") == ["What with?"]
    assert talk.user("as usual") == [["Which town?", "Rome", "Oslo"]]


def test_again_at_a_running_step_begins_the_flow_anew() -> None:
    talk = Talk(RUNNING.replace("{say: So that it arrives.}", "{say: So that it arrives., then: again}"))
    talk.user("order")
    assert talk.user("why?") == ["So that it arrives.", ["Which town?", "Rome", "Oslo"]]
    assert (talk.at, len(talk.session.frames)) == ("town/q", 2)
    assert talk.user("Rome") == ["To Rome."]
