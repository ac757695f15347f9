"""Flows that a step runs: what they get, what they bring back, and what their caller does when they fail."""

from bot import handler
from tests.talk import Talk, problems_of

RUN = """
flow: main
start: {otherwise: true}
vars: {size: {type: integer, value: 3}, colour: {type: text}}
steps:
  go: {run: /pick, with: {max: "{{ size }}"}, save: {colour: chosen}, expired: gone}
  show: {say: "{{ colour }}", then: end}
  gone: {say: gone, then: end}
---
flow: pick
vars: {max: {type: integer}, chosen: {type: text}}
steps:
  q: {ask: "Colour (of {{ max }})?", save: chosen, timeout: {after: 1h, then: end}}
"""


def test_run_opens_a_frame_of_its_own_and_returns_with_its_results() -> None:
    talk = Talk(RUN)
    assert talk.user("a") == ["Colour (of 3)?"]
    assert talk.at == "pick/q"
    assert talk.user("red") == ["red"]
    assert talk.at is None


def test_a_flow_that_ends_by_a_time_out_is_expired_for_its_caller() -> None:
    talk = Talk(RUN)
    talk.user("a")
    assert talk.wait("1h") == ["gone"]


FLOWS = """\
flow: main
start: {words: [pay]}
vars: {paid: {type: text}}
steps:
  pay: {run: /pay, save: paid, errors: {failed: sorry}}
  thanks: {say: "Paid: {{ paid }}", then: end}
  sorry: {say: Nothing was paid., then: end}
---
flow: pay
vars: {paid: {type: text}}
steps:
  pay: {call: pay, save: paid, errors: {else: {say: It did not work., then: end}}}
"""
AI = """\
flow: main
start: {otherwise: true}
steps:
  talk: {run: /talk, errors: {else: sorry}}
  thanks: {say: We have agreed., then: end}
  sorry: {say: We have not., then: end}
---
flow: talk
steps:
  talk: {ai: Agree on a day., exits: {done: {when: it is agreed, then: end}}, errors: {else: end}}
"""


@handler("pay")
def pay() -> str:
    """Pay."""
    return "5"


def talk(flows: str = FLOWS) -> Talk:
    return Talk(flows, handlers={"pay": pay})


def test_a_caller_does_not_go_on_as_if_done_after_a_flow_that_failed() -> None:
    chat = talk()
    chat.user("pay")
    assert chat.fails("error") == ["It did not work.", "Nothing was paid."]
    chat.user("pay")
    assert chat.returns("5") == ["Paid: 5"]


def test_a_model_that_fails_in_a_flow_that_is_run_is_the_callers_failure() -> None:
    chat = Talk(AI)
    chat.user("hi")
    assert chat.model_ends("down") == ["We have not."]
    chat.user("hi")
    assert chat.model("Agreed.", ("leave_done", {})) == ["Agreed.", "We have agreed."]


def test_a_failure_that_the_flow_makes_good_is_none_of_its_callers() -> None:
    made_good = FLOWS.replace("errors: {else: {say: It did not work., then: end}}", "errors: {else: cash}") + (
        "  done: {say: Done., then: end}\n  cash: {set: {paid: in cash}, then: end}\n"
    )
    chat = talk(made_good)
    chat.user("pay")
    assert chat.fails("error") == ["Paid: in cash"]


def test_going_back_on_purpose_is_no_failure() -> None:
    chat = talk(FLOWS.replace("It did not work., then: end", "It did not work., then: back"))
    chat.user("pay")
    assert chat.fails("error") == ["It did not work.", "Paid: "]


def test_a_failure_goes_up_through_callers_whose_errors_end_them() -> None:
    above = "flow: top\nstart: {words: [top]}\nsteps:\n  a: {run: /main, errors: {else: {say: Up here., then: end}}}\n"
    below = FLOWS.replace("errors: {failed: sorry}", "errors: {else: end}")
    chat = talk(f"{above}---\n{below}".replace("  sorry: {say: Nothing was paid., then: end}\n", ""))
    chat.user("top")
    assert chat.fails("error") == ["It did not work.", "Up here."]


def test_with_each_a_failure_ends_them_all_and_nothing_is_saved() -> None:
    each = FLOWS.replace("run: /pay,", "run: /pay, each: '[1, 2]',").replace("paid: {type: text}}\nsteps:\n  pay: {run", "paid: {type: list}}\nsteps:\n  pay: {run")  # fmt: skip
    chat = talk(each)
    chat.user("pay")
    chat.returns("5")
    assert chat.fails("error") == ["It did not work.", "Nothing was paid."]
    assert len(chat.calls) == 2


def test_a_failure_of_a_run_that_leads_nowhere_is_found() -> None:
    flows = FLOWS.replace(", errors: {failed: sorry}", "").replace("  sorry: {say: Nothing was paid., then: end}\n", "")
    assert [problem.partition(" ")[2] for problem in problems_of(flows, handlers={"pay": pay})] == [
        'E130 step "pay" has no `errors.else`: a failure that ends flow pay leads nowhere '
        "(add errors: {else: ...}; errors: {failed: next} goes on all the same)"
    ]
    assert problems_of(flows.replace("save: paid}\n  thanks", "save: paid, errors: {failed: next}}\n  thanks"), handlers={"pay": pay}) == []  # fmt: skip


def test_a_run_that_fails_and_begins_again_for_ever_is_found() -> None:
    flows = FLOWS.replace("{failed: sorry}", "{failed: again}").replace(
        "  sorry: {say: Nothing was paid., then: end}\n", ""
    )
    (problem,) = problems_of(flows, handlers={"pay": pay})
    assert "E140" in problem


def test_a_caller_that_an_edit_removed_ends_with_what_it_ran() -> None:
    talk = Talk(RUN)
    talk.user("a")
    _, pick = RUN.split("---")
    talk.edit(pick)
    assert talk.user("red") == []
    assert talk.at is None


EACH = """
flow: main
start: {otherwise: true}
vars: {sizes: {type: list}, colours: {type: list}}
steps:
  go: {run: /pick, each: "[1, 2]", save: {sizes: size}}
  show: {say: "{{ sizes | join }}; {{ colours | length }}", then: end}
---
flow: pick
vars: {size: {type: text}, colour: {type: text, value: red}}
steps: {q: {ask: Size?, save: size, timeout: {after: 1h, then: end}}}
"""


def test_an_edit_of_what_comes_back_meets_elements_that_are_done() -> None:
    talk = Talk(EACH)
    talk.user("a")
    talk.user("S")
    talk.edit(EACH.replace("{sizes: size}", "{sizes: size, colours: colour}"))
    assert talk.user("M") == ["S, M; 2"]
