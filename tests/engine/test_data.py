"""What conversations do with values: flows for each element, wordings by chance, kept variables, corrections, shares."""

import pytest

from bot.language.expressions.filters import drawn
from tests.talk import Talk, library_of, problems_of

MOST_ELEMENTS = 100
FORM = """
flow: main
start: {otherwise: true}
vars:
  questions: {type: list, value: [Name, Age, Town]}
  answers: {type: list}
steps:
  all: {run: /question, each: questions, with: {text: "{{ loop.index }}/{{ loop.length }} {{ it }}?"}, save: {answers: answer}, expired: late}
  done: {say: "{{ answers | join(' ') }}", then: end}
  late: {say: "Too late.", then: end}
---
flow: question
start: {words: [question]}
interrupted: resume
vars: {text: {type: text}, answer: {type: text}}
steps:
  ask: {ask: "{{ text }}", save: answer}
---
flow: help
start: {words: [help]}
steps: {help: {say: Just answer., then: end}}
"""


def test_a_flow_runs_once_an_element_and_its_results_come_back_as_a_list() -> None:
    talk = Talk(FORM)
    assert talk.user("hi") == ["1/3 Name?"]
    assert talk.user("Ann") == ["2/3 Age?"]
    assert talk.user("7") == ["3/3 Town?"]
    assert talk.user("Lisbon") == ["Ann 7 Lisbon"]
    assert talk.at is None


def test_an_interruption_leaves_the_elements_where_they_were() -> None:
    flows = FORM.replace("ask: {ask", "ask: {buttons: [one, two], ask")
    talk = Talk(flows.replace("answer: {type: text}", "answer: {type: choice, of: [one, two]}"))
    talk.user("hi")
    talk.tap("one")
    assert talk.user("help") == ["Just answer.", ["2/3 Age?", "one", "two"]]
    talk.user("two")
    assert talk.user("one") == ["one two one"]


def test_an_element_that_expires_ends_the_whole_run_as_expired() -> None:
    talk = Talk(FORM)
    talk.user("hi")
    talk.user("Ann")
    assert talk.wait("20h") == ["Too late."]


@pytest.mark.parametrize("none", ["[]", "null"])
def test_no_element_is_no_run(none: str) -> None:
    flows = FORM.replace("[Name, Age, Town]", none).replace(
        "{{ answers | join(' ') }}", "{{ answers | length }} answers"
    )
    assert Talk(flows).user("hi") == ["0 answers"]


def test_a_flow_without_a_wait_runs_for_many_elements_in_one_turn() -> None:
    flows = """
flow: main
start: {otherwise: true}
vars: {numbers: {type: list, value: [%s]}, doubled: {type: list}}
steps:
  all: {run: /double, each: numbers, with: {n: "{{ it }}"}, save: {doubled: n}, errors: {mismatch: many}}
  done: {say: "{{ doubled | length }} {{ doubled | last }}", then: end}
  many: {say: Too many., then: end}
---
flow: double
vars: {n: {type: integer}}
steps: {double: {set: {n: "{{ n * 2 }}"}}}
"""
    assert Talk(flows % ", ".join(map(str, range(MOST_ELEMENTS)))).user("hi") == ["100 198"]
    assert Talk(flows % ", ".join(map(str, range(MOST_ELEMENTS + 1)))).user("hi") == ["Too many."]


@pytest.mark.parametrize("until", ["answer == 'enough'", "it == 'Age'", "loop.index == 2"])
def test_a_break_ends_the_run_after_an_element_with_what_it_has(until: str) -> None:
    talk = Talk(FORM.replace("each: questions,", f'each: questions, break: "{until}",'))
    talk.user("hi")
    assert talk.user("Ann") == ["2/3 Age?"]
    assert talk.user("enough") == ["Ann enough"]
    assert talk.at is None


def test_a_break_knows_what_is_saved_and_the_element_and_belongs_to_a_list() -> None:
    unknown, alone = (
        FORM.replace("each: questions,", "each: questions, break: reply,"),
        FORM.replace("each: questions,", "break: answer,"),
    )
    assert any('E301 no variable "reply"' in problem for problem in problems_of(unknown))
    assert any('"break" has no effect: the flow runs once' in problem for problem in problems_of(alone))


def test_a_break_that_cannot_be_evaluated_is_a_failure_of_the_run() -> None:
    talk = Talk(FORM.replace("each: questions,", "each: questions, break: answer > 3, errors: {failed: late},"))
    talk.user("hi")
    assert talk.user("Ann") == ["Too late."]


def test_what_is_no_list_cannot_be_gone_through() -> None:
    flows = FORM.replace("type: list, value: [Name, Age, Town]", "type: text, value: x").replace(
        "expired: late}", "expired: late, errors: {mismatch: late}}"
    )
    assert Talk(flows).user("hi") == ["Too late."]


def test_the_variable_for_the_results_is_a_list() -> None:
    (problem,) = problems_of(FORM.replace("answers: {type: list}", "answers: {type: text}"))
    assert "E303" in problem
    assert 'run with `each` gives lists, and "answers" is of type text' in problem


ANY = """
flow: main
start: {otherwise: true}
steps:
  hi: {say: {any: [Hi!, Hello!, "Hey {{ contact.name }}!"]}}
  name: {ask: {any: [Your name?, Who are you?]}, retry: {say: {any: [Sorry?, Pardon?]}}, buttons: [Ann, Bo]}
"""


def test_chance_takes_one_wording_of_several_and_the_same_when_the_turn_is_done_again() -> None:
    seen = set()
    for number in range(60):
        talk = Talk(ANY, name="Ann")  # it checks that each turn comes out the same a second time
        talk._events = 100 * number
        first, (second, *_) = talk.user("hi")
        (third,) = talk.user("what?")
        seen |= {first, second, third}
    assert seen == {"Hi!", "Hello!", "Hey Ann!", "Your name?", "Who are you?", "Sorry?", "Pardon?"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{any: []}", "any"),
        ("{one: [a]}", 'unknown key "one"'),
        ("{any: [Hi, '{{ nobody }}']}", 'no variable "nobody"'),
        (f"{{any: [Hi, {'x' * 4097}]}}", "4097 characters, 4096 are allowed"),
    ],
)
def test_a_mistake_in_wordings_is_found_by_the_check(text: str, problem: str) -> None:
    flows = f"flow: main\nstart: {{otherwise: true}}\nsteps: {{hi: {{say: {text}}}}}"
    assert any(problem in found for found in problems_of(flows))


KEEP = """
flow: main
start: {words: [name]}
vars: {name: {type: text, keep: true}, times: {type: integer, value: 0}}
steps:
  count: {set: {times: "{{ times + 1 }}"}}
  name: {ask: "Your name? ({{ times }})", save: name}
  bye: {say: "Bye {{ name }}.", then: end}
---
flow: other
start: {otherwise: true}
vars: {name: {type: text, keep: true, value: you}, times: {type: integer, value: 0}}
steps: {hello: {say: "Hello {{ name }} {{ times }}.", then: end}}
"""


def test_a_kept_variable_outlives_the_conversation_and_other_flows_read_it() -> None:
    talk = Talk(KEEP)
    assert talk.user("hi") == ["Hello you 0."]
    talk.user("name")
    talk.user("Ann")
    assert talk.user("hi") == ["Hello Ann 0."]


def test_a_kept_value_that_no_longer_fits_is_left_where_it_is() -> None:
    talk = Talk(KEEP)
    talk.user("name")
    talk.user("Ann")
    talk.edit(KEEP.replace("{type: text, keep: true, value: you}", "{type: integer, keep: true, value: 3}"))
    assert talk.user("hi") == ["Hello 3 0."]
    assert talk.session.kept_variables == {"name": "Ann"}


def test_what_a_failed_step_would_have_kept_is_not_kept() -> None:
    flows = """
flow: main
start: {otherwise: true}
vars: {a: {type: integer, keep: true}, b: {type: integer}}
steps:
  both: {set: {a: 1, b: "{{ contact.id ~ 'x' }}"}, errors: {mismatch: no}}
  yes_: {say: "yes", then: end}
  no: {say: "no {{ a }}", then: end}
"""
    talk = Talk(flows)
    assert talk.user("hi") == ["no "]
    assert talk.session.kept_variables == {}


SUMMARY = """
flow: main
start: {otherwise: true}
vars: {name: {type: text}, town: {type: text}}
steps:
  name: {ask: Name?, save: name, visits: {max: 3, else: end}}
  town: {ask: Town?, save: town, other: {say: Only words.}}
  summary:
    ask: "{{ name }}, {{ town }}?"
    buttons: {Confirm: done, Name: {correct: name}, Town: {correct: town, say: Well then.}}
  done: {say: Thanks., then: end}
"""


def test_an_earlier_answer_is_corrected_and_the_summary_comes_again() -> None:
    talk = Talk(SUMMARY)
    for text in ("hi", "Ann", "Lisbon"):
        talk.user(text)
    assert talk.tap("Name") == ["Name?"]
    assert talk.user("Anne") == [["Anne, Lisbon?", "Confirm", "Name", "Town"]]
    assert talk.user("town") == ["Well then.", "Town?"]
    assert talk.photo() == ["Only words."]
    assert talk.user("Porto") == [["Anne, Porto?", "Confirm", "Name", "Town"]]
    assert talk.user("confirm") == ["Thanks."]


def test_a_question_that_is_not_corrected_goes_on_as_it_is_written() -> None:
    talk = Talk(SUMMARY.replace("Name: {correct: name}", "Name: name"))
    for text in ("hi", "Ann", "Lisbon"):
        talk.user(text)
    talk.tap("Name")
    assert talk.user("Anne") == ["Town?"]


@pytest.mark.parametrize(
    ("transition", "problem"),
    [
        ("{correct: done}", 'E110 "done" asks nothing that could be corrected'),
        ("{correct: nmae}", "E102"),
        ("{correct: name, then: town}", 'E121 step "summary": buttons: "Name": "then" beside "correct"'),
    ],
)
def test_only_a_question_can_be_corrected(transition: str, problem: str) -> None:
    assert any(problem in found for found in problems_of(SUMMARY.replace("{correct: name}", transition)))


def test_a_share_of_contacts_is_as_large_as_it_says_and_stays_the_same() -> None:
    flows = """
flow: main
start: {otherwise: true}
steps:
  split: {branch: [{if: share("greeting") < 20, then: a}, {else: b}]}
  a: {say: A, then: end}
  b: {say: B, then: end}
"""
    library = library_of(flows)
    said = []
    for number in range(500):
        talk = Talk(library)
        talk.checks = False
        talk.session.contact = str(6281234000000 + number)
        said += talk.user("hi")
        assert talk.user("hi") == said[-1:]
    assert 60 <= said.count("A") <= 140


def test_a_draw_is_even_and_depends_on_nothing_but_its_key() -> None:
    numbers = [drawn(f"event/{n}") for n in range(2000)]
    assert 0 <= min(numbers) < 0.01 and 0.99 < max(numbers) < 1
    assert abs(sum(numbers) / len(numbers) - 0.5) < 0.03
    assert numbers[7] == drawn("event/7")


def test_a_way_round_that_no_check_can_see_ends_the_conversation_and_is_told() -> None:
    flows = """
flow: main
start: {otherwise: true}
vars: {n: {type: integer}, m: {type: integer, value: 0}, t: {type: text, value: x}}
steps:
  a: {ask: x, visits: {max: 1, else: {set: {n: "{{ t }}"}, then: b}}, errors: {else: {set: {m: "{{ m + 1 }}"}, then: a}}}
  b: {ask: y, then: a}
"""
    talk = Talk(flows)
    talk.user("hi")
    talk.user("x")
    talk.user("y")
    assert talk.turn is not None
    assert "more than 500 steps without waiting" in str(talk.turn.failure)


def test_a_failure_whose_errors_lead_back_to_it_ends_the_conversation_and_says_little() -> None:
    flows = """
flow: main
start: {otherwise: true}
vars: {n: {type: integer}}
defaults: {errors: {else: /main}}
steps:
  hello: {say: Hello!}
  many: {ask: "{{ n + 1 }} or more?"}
"""
    talk = Talk(flows)
    assert talk.user("hi") == ["Hello!", "Hello!"]
    assert talk.turn is not None
    assert "its errors lead back here, and it fails again" in str(talk.turn.failure)
    assert talk.session.frame is None


def test_a_failure_in_each_of_several_elements_is_none_that_leads_back() -> None:
    flows = """
flow: main
start: {otherwise: true}
vars: {ns: {type: list, value: [x, x, x]}, got: {type: list}}
steps:
  all: {run: /one, each: ns, save: {got: n}}
  told: {say: "{{ got | length }} tried.", then: end}
---
flow: one
vars: {n: {type: integer}, t: {type: text, value: x}}
steps: {try: {set: {n: "{{ t }}"}, errors: {mismatch: over}}, over: {set: {}, then: end}}
"""
    talk = Talk(flows)
    assert talk.user("hi") == ["3 tried."]


def test_a_tag_is_given_and_taken_away_by_steps_and_by_transitions() -> None:
    flows = """
flow: main
start: {otherwise: true}
steps:
  join: {say: Welcome., tag: [member, new]}
  sure: {ask: Stay?, buttons: {"Yes": {untag: new, then: end}, "No": out}}
  out: {say: Bye., untag: "{{ contact.tags[0] }}", tag: former, then: end}
"""
    talk = Talk(flows)
    talk.user("hi")
    assert list(talk.session.tags) == ["member", "new"]
    talk.user("yes")
    assert list(talk.session.tags) == ["member"]
    talk.user("hi")
    talk.user("no")
    assert list(talk.session.tags) == ["new", "former"]


SHARED = """
flow: shop
start: {words: [shop]}
interrupted: resume
vars: {basket: {type: list, keep: true, value: []}, note: {type: choice, of: [cup, jam]}}
steps:
  first: {ask: "Now {{ basket | join('+') }}. What?", save: note, set: {basket: "{{ basket | append(note) }}"}}
  add: {run: /add}
  more: {ask: "Now {{ basket | join('+') }}. More?", options: [jam], save: note, set: {basket: "{{ basket | append(note) }}"}}
  bye: {say: "{{ basket | join('+') }}", then: end}
---
flow: add
vars: {basket: {type: list, keep: true, value: []}}
steps: {tea: {set: {basket: "{{ basket | append('tea') }}"}}}
---
flow: gift
start: {words: [gift], match: anywhere}
vars: {basket: {type: list, keep: true, value: []}}
steps: {put: {say: "A gift!", set: {basket: "{{ basket | append('gift') }}"}, then: end}}
"""


def test_a_flow_goes_on_with_what_the_flow_that_it_ran_has_kept() -> None:
    talk = Talk(SHARED)
    assert talk.user("shop") == ["Now . What?"]
    assert talk.user("cup") == [["Now cup+tea. More?", "jam"]]
    assert talk.user("jam") == ["cup+tea+jam"]
    assert talk.session.kept_variables == {"basket": ["cup", "tea", "jam"]}


def test_a_flow_that_was_cut_in_on_goes_on_with_what_the_other_has_kept() -> None:
    talk = Talk(SHARED)
    talk.user("shop")
    talk.user("cup")
    assert talk.user("a gift") == ["A gift!", ["Now cup+tea+gift. More?", "jam"]]
    assert talk.user("jam") == ["cup+tea+gift+jam"]


ANSWERING = """
flow: choose
start: {words: [choose]}
interrupted: resume
vars: {basket: {type: list, keep: true, value: [tea, jam]}, got: {type: list}}
steps:
  got: {ask: "Which?", options: {from: basket}, many: true, save: got}
  bye: {say: "{{ got | join }} of {{ basket | join('+') }}", then: end}
---
flow: fill
start: {words: [fill]}
vars: {basket: {type: list, keep: true, value: [tea, jam]}}
steps: {all: {set: {basket: [milk, jam, tea]}, then: end}}
"""


def test_an_answer_in_progress_is_not_disturbed_by_what_another_flow_keeps() -> None:
    talk = Talk(ANSWERING)
    talk.user("choose")
    talk.tap("jam")
    assert talk.user("fill") == [["Which?\n\n✓ jam", "milk", "✓ jam", "tea", "Done"]]
    talk.tap("milk")
    assert talk.user("done") == ["jam, milk of milk+jam+tea"]


INPUTS = """
flow: main
start: {words: [main]}
vars: {town: {type: text, keep: true}, asked: {type: text}}
steps:
  town: {ask: Your town?, save: town}
  ride: {run: /ride, with: {town: Oslo}}
  bye: {say: "{{ town }}", then: /next}
---
flow: ride
vars: {town: {type: text, keep: true}}
steps: {go: {say: "To {{ town }}.", then: end}}
---
flow: next
vars: {town: {type: text}}
steps: {other: {ask: "{{ town }}, or?", save: town}, done: {say: "{{ town }}", then: /last}}
---
flow: last
vars: {town: {type: text, keep: true}}
steps: {over: {say: "Last {{ town }}.", then: end}}
"""


def test_an_input_of_a_kept_variable_is_kept_and_a_flow_that_does_not_keep_it_has_a_copy() -> None:
    talk = Talk(INPUTS)
    talk.user("main")
    assert talk.user("Rome") == ["To Oslo.", "Oslo", "Oslo, or?"]
    assert talk.session.kept_variables == {"town": "Oslo"}
    assert talk.user("Bonn") == ["Bonn", "Last Bonn."]
    assert talk.session.kept_variables == {"town": "Bonn"}


def test_an_edit_of_keep_loses_no_value_of_an_open_flow() -> None:
    kept = 'flow: main\nstart: {otherwise: true}\nvars: {a: {type: text, keep: true}, b: {type: text}}\nsteps: {a: {ask: A?, save: a}, b: {ask: B?, save: b}, c: {say: "{{ a }} {{ b }}", then: end}}'
    for before, after in ((kept, kept.replace(", keep: true", "")), (kept.replace(", keep: true", ""), kept)):
        talk = Talk(before)
        talk.user("hi")
        talk.user("one")
        talk.edit(after)
        assert talk.user("two") == ["one two"]


def test_a_time_with_another_offset_is_the_same_moment_by_the_bots_clock_wherever_it_is_kept() -> None:
    talk = Talk(
        """
flow: main
start: {otherwise: true}
vars: {first: {type: datetime, value: "2030-05-12T22:00-05:00"}, answer: datetime, set: datetime, all: list}
steps:
  answer: {ask: When?, save: answer, set: {set: "2030-05-12T22:00-05:00", all: "{{ [first] }}"}}
  told: {say: "{{ first }} {{ answer }} {{ set }} {{ all }} {{ first.hour }} {{ '2030-05-12T22:00-05:00' | as_date }}", then: end}
""",
        "name: T\ntimezone: Europe/Berlin\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}\n",
    )
    talk.user("hi")
    moment = "2030-05-13 05:00"
    assert talk.user("2030-05-12T22:00-05:00") == [f"{moment} {moment} {moment} {moment} 5 2030-05-13"]


def test_a_time_is_shown_by_the_contacts_clock_also_after_the_contact_has_moved() -> None:
    talk = Talk(
        """
flow: main
start: {otherwise: true}
vars: {first: {type: datetime, value: "2030-05-12T22:00-05:00"}, later: datetime}
steps:
  save: {set: {later: "{{ first + hours(1) }}"}}
  there: {ask: "{{ first }}, {{ later }}", set: {timezone: Asia/Makassar}}
  moved: {say: "{{ first }}, {{ later }}, {{ later.hour }}", then: end}
""",
        "name: T\ntimezone: Europe/Berlin\ncontact_timezones: true\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}\n",
    )
    assert talk.user("hi") == ["2030-05-13 10:00, 2030-05-13 11:00"]
    assert talk.user("go") == ["2030-05-13 11:00, 2030-05-13 12:00, 12"]


SET = """
flow: main
start: {otherwise: true}
vars:
  cups: {type: integer, max: 5}
  wish: {type: text}
  town: {type: text, keep: true}
steps:
  wish: {ask: Which drink?, save: wish, then: more}
  more: {run: /more, then: done}
  done: {say: "{{ cups }} {{ wish }} {{ town }}", then: end}
---
flow: more
vars: {cups: {type: integer}, day: {type: date}}
steps: {day: {ask: "Which day, {{ cups or 'nobody' }}?", save: day, retry: {say: "Day, {{ cups }}?"}}}
"""


def test_an_operator_sets_variables_of_the_active_flow_of_another_open_one_and_kept_ones() -> None:
    talk = Talk(SET)
    talk.user("hi")
    assert talk.set(cups="3", town="Rome") == []
    talk.user("tea")
    assert talk.set(cups=8, day="2030-05-07") == []
    assert talk.user("?") == ["Day, 8?"]
    talk.set("main", wish=None)
    assert talk.turn is not None and talk.turn.trace.rule == "set by test" and talk.turn.trace.steps == []
    assert talk.user("2030-05-08") == ["3  Rome"]
    talk.set("main", town="Oslo")
    assert talk.session.kept_variables == {"town": "Oslo"}


@pytest.mark.parametrize(
    ("flow", "values", "why"),
    [
        (None, {"cups": "many"}, "cups is of type integer: it is no number"),
        (None, {"wish": "tea", "cups": 6}, "cups is of type integer: it is more than 5"),
        (None, {"cup": 3}, 'flow main has no variable "cup": did you mean "cups"?'),
        ("maim", {"cups": 3}, 'there is no flow "maim": did you mean "main"?'),
        ("more", {"day": "2030-05-07"}, "day cannot be set: the contact is not in flow more"),
    ],
)
def test_what_an_operator_cannot_set_is_refused_and_changes_nothing(
    flow: str | None, values: dict[str, object], why: str
) -> None:
    talk = Talk(SET)
    talk.user("hi")
    before = talk.session
    assert talk.set(flow, **values) == []
    assert talk.turn is not None and talk.turn.failure == why
    assert talk.session == before


def test_without_a_flow_an_operator_names_the_one_whose_variables_are_set() -> None:
    talk = Talk(SET)
    talk.set(town="Rome")
    assert talk.turn is not None
    assert talk.turn.failure == "the contact is in no flow: name the flow that declares the variables"


def test_an_operator_sets_variables_where_an_edit_leads() -> None:
    talk = Talk("flow: main\nstart: {words: [hi]}\nvars: {cups: integer}\nsteps: {a: {ask: 'A?'}, b: {ask: 'B?'}}\n")
    talk.user("hi")
    talk.edit("flow: main\nvars: {cups: integer}\ndefaults: {gone: b}\nsteps: {b: {ask: 'B?'}}\n")
    assert talk.set(cups=3) == ["B?"]
    assert (talk.at, talk.vars["cups"]) == ("main/b", 3)
