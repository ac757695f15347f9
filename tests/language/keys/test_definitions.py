"""`define`: names for expressions of a flow and of all flows; what is wrong with one is reported where it stands."""

import pytest

from bot import function
from tests.talk import BOT, Talk, problems_of

FLOW = """
flow: main
start: {otherwise: true}
vars:
  basket: {type: list, value: [{name: Tea, count: 2, price: 3}, {name: Cake, count: 1, price: 4}]}
  rate: {type: integer, value: 10}
define: {%s}
steps:
  ask: {ask: "%s", buttons: {"Yes": end}}
"""


@function("free")
def free(day: str) -> bool:
    return True


def objections(define: str, text: str = "Yes?", bot: str = BOT) -> list[str]:
    """The problems of a flow with these definitions, without its path."""
    found = problems_of(FLOW.strip() % (define, text), bot, {"free": free})
    return [each.removeprefix("flows/test.yml:") for each in found]


def with_all(define: str) -> str:
    return f"{BOT}define: {{{define}}}\n"


def test_a_definition_may_stand_before_the_one_that_it_uses() -> None:
    talk = Talk(FLOW % ('due: "goods * (100 - rate) / 100", goods: basket | sum(it.count * it.price)', "{{ due }}?"))
    assert talk.user("hi") == [["9?", "Yes"]]


def test_a_definition_of_all_flows_is_used_by_flows_words_and_other_definitions() -> None:
    bot = with_all('goods: "basket | sum(it.count)", who: \'contact.name | default("you")\'')
    bot += 'words: {bye: {say: "Bye, {{ who }}!", then: end}}\n'
    talk = Talk(FLOW % ("twice: goods * 2", "{{ goods }}, {{ twice }}, {{ who }}?"), bot)
    assert talk.user("hi") == [["3, 6, you?", "Yes"]]
    assert talk.user("bye") == ["Bye, you!"]


def test_a_definition_may_be_a_constant() -> None:
    assert Talk(FLOW % ("most: 3, kind: \"'tea'\"", "{{ most }} {{ kind }}")).user("hi") == [["3 tea", "Yes"]]


def test_it_is_evaluated_anew_at_each_use() -> None:
    flow = """
flow: main
start: {otherwise: true}
vars: {count: {type: integer, value: 1}}
define: {twice: count * 2}
steps:
  first: {say: "{{ twice }}", set: {count: "{{ twice + 1 }}"}}
  then: {say: "{{ twice }}", then: end}
"""
    assert Talk(flow).user("hi") == ["2", "6"]


@pytest.mark.parametrize(
    ("define", "what"),
    [
        ("off: rate * ", "6:15: E202 this expression cannot be read: "),
        ("off: 'rate * {{ 2 }}'", "6:15: E202 an expression stands here without {{ }} (leave the braces out)"),
        ("off: rat * 2", '6:15: E301 no variable "rat" (did you mean "rate"?)'),
        ("off: contact.nam", '6:15: E302 a contact has no "nam" (did you mean "name"?)'),
        ("off: rate | rond", '6:15: E204 no filter "rond" (did you mean "round"?)'),
        ("off: free(rate) and free(1; 2)", "6:15: E202 this expression cannot be read: "),
        ("off: 'free(rate, 2)'", '6:15: E203 function "free": '),
        ('off: open("shop")', '6:15: E115 no opening hours "shop" '),
        ("off: it.price", '6:15: E301 no variable "it" (only filters such as where(it.price > 3), checks, '),
        ("off: secret.KEY", '6:15: E301 no variable "secret" (only the services of bot.yml know secrets'),
        ("off: [1, 2]", '6:15: E106 definition "off": a text is expected, YAML reads a list here'),
        ("off: ", '6:15: E105 definition "off": a text is missing'),
        ("Off: rate", '6:10: E108 definition: "Off" is no name'),
        ("now: rate", '6:15: E306 definition "now": the name "now" is reserved (choose another name: reserved are and'),
        (
            "rate: 3",
            '6:16: E306 definition "rate": flows/test.yml:5:9 declares a variable of this name (choose another',
        ),
        ("free: rate", '6:16: E306 definition "free": the bot\'s Python has a function of this name (choose another'),
    ],
)
def test_what_is_wrong_with_a_definition_is_reported_there_and_nowhere_else(define: str, what: str) -> None:
    (found,) = objections(define, "{{ off }}" if define.startswith("off: ") else "Yes?")
    assert found.startswith(what)


def test_a_circle_is_reported_once_with_the_place_of_each_name() -> None:
    assert objections("one: three + 1, two: one + 1, three: two * rate, four: one", "{{ four }} {{ one }}") == [
        '6:15: E308 definition "one" reads itself: one -> three (flows/test.yml:6:47) -> two (flows/test.yml:6:31) -> one '
        "(write one of them without the others, or save a value in a variable)"
    ]
    assert objections("one: one + 1", "{{ one }}")[0].startswith(
        '6:15: E308 definition "one" reads itself: one -> one ('
    )


def test_two_circles_are_two_problems() -> None:
    found = objections("a: b, b: a, c: d, d: c, e: a + c")
    assert [each.partition(" reads")[0] for each in found] == ['6:13: E308 definition "a"', '6:25: E308 definition "c"']


def test_a_definition_of_a_flow_has_not_the_name_of_one_of_all_flows() -> None:
    assert objections("off: rate", bot=with_all("off: 3")) == [
        '6:15: E306 definition "off": bot.yml:3:15 defines it for all flows (choose another name for the definition)'
    ]


def test_a_definition_of_all_flows_has_not_the_name_of_a_variable_of_some_flow() -> None:
    assert objections("", bot=with_all("rate: 3")) == [
        'bot.yml:3:16: E306 definition "rate": flows/test.yml:5:9 declares a variable of this name '
        "(choose another name for the definition)"
    ]


OTHER = """---
flow: other
start: {words: [other]}
steps:
  a: {say: "{{ off }}"}
  b: {say: "{{ off }}", then: end}
"""


def test_a_flow_that_uses_a_definition_of_all_flows_has_what_it_reads() -> None:
    flows = FLOW.strip() % ("", "{{ off }}?") + "\n" + OTHER
    assert problems_of(flows, with_all("off: rate / 2")) == [
        'bot.yml:3:15: E301 definition "off": it is used at flows/test.yml:13:12, where there is no variable "rate" '
        "(declare rate under vars there, or define off only in the flows that have it)"
    ]
    assert problems_of(flows, with_all("off: rates / 2")) == [
        'bot.yml:3:15: E301 no variable "rates" (did you mean "rate"?)'
    ]


def test_a_text_of_all_flows_uses_no_definition_that_reads_a_variable() -> None:
    bot = with_all("off: rate / 2") + 'words: {bye: {say: "{{ off }}", then: end}}\n'
    assert problems_of(FLOW.strip() % ("", "Yes?"), bot) == [
        'bot.yml:3:15: E301 definition "off": it is used at bot.yml:4:20, where there is no variable "rate" '
        "(the texts of bot.yml know no variables: write this one in the flows)"
    ]


@pytest.mark.parametrize(
    "step",
    [
        "{ask: Q?, save: off}",
        "{say: Q, set: {off: 3}, then: end}",
        "{run: /other, save: {off: rate}}",
        "{run: /takes, with: {off: 3}}",
        "{http: GET https://x.example/, save: {off: answer.a}, errors: {else: end}}",
        "{ai: Talk., fill: {off: what it is}, exits: {done: end}, errors: {else: end}}",
        "{ask: Q, words: {w: {set: {off: 3}, then: end}}}",
    ],
)
def test_nothing_gives_a_definition_a_value(step: str) -> None:
    other = "---\nflow: other\nvars: {rate: integer}\nsteps: {a: {say: A}}\n"
    other += "---\nflow: takes\ndefine: {off: 3}\nsteps: {a: {say: '{{ off }}'}}\n"
    flows = FLOW.strip() % ("off: rate", "{{ off }}") + f"\n  b: {step}\n" + other
    (found,) = problems_of(flows)
    assert ': E301 "off" is a definition, which nothing can give a value (give one to what it reads, or' in found


def test_what_a_name_means_at_one_place_is_no_definition() -> None:
    bot = f"{BOT}signals: {{paid: {{amount: number}}}}\n"
    flows = """
flow: main
start: {otherwise: true}
vars: {rate: number}
define: {event: rate}
steps:
  ask: {ask: Q?, buttons: {"Yes": end}, signals: {paid: {set: {rate: "{{ event.amount }}"}, then: end}}}
"""
    (found,) = problems_of(flows.strip(), bot)
    assert found.startswith('flows/test.yml:4:17: E306 definition "event": at flows/test.yml:6:')
    assert found.endswith('"event" means something else (choose another name for the definition)')


def test_a_misspelt_key_is_read_so_that_its_names_are_no_problem_too() -> None:
    flows = (FLOW.strip() % ("off: rate", "{{ off }}")).replace("define:", "defin:")
    assert problems_of(flows) == ['flows/test.yml:6:1: E104 flow "main": unknown key "defin" (did you mean "define"?)']


def test_services_know_no_definitions() -> None:
    bot = with_all('version: "2"') + 'http: {shop: {base: "https://shop.example/{{ version }}"}}\n'
    (found,) = objections("", bot=bot)
    assert 'E301 service "shop": "version" means nothing here' in found


def test_an_edited_definition_is_an_edit_of_the_steps_that_use_it() -> None:
    flow = FLOW % ("goods: basket | sum(it.count), dear: goods > rate", "{{ goods }}?")
    for edited, said in (
        (flow.replace("it.count)", "it.price)"), [["7?", "Yes"]]),
        (flow.replace("> rate", "> 3"), []),
    ):
        talk = Talk(flow)
        assert talk.user("hi") == [["3?", "Yes"]]
        talk.edit(edited)
        assert talk.user("hm") == (said or [["Sorry, I didn't understand that.\n\n3?", "Yes"]])
        assert bool(talk.turn and any(note.endswith("was edited") for note in talk.turn.trace.notes)) is bool(said)


def test_a_trace_shows_what_the_definitions_of_a_condition_stand_for() -> None:
    flow = """
flow: main
start: {otherwise: true}
vars: {count: {type: integer, value: 1}}
define: {many: count > 3}
steps:
  which: {branch: [{if: many or count == 1, then: end}, {else: end}]}
"""
    talk = Talk(flow)
    talk.user("hi")
    assert talk.turn is not None
    assert talk.turn.trace.steps[0].conditions == [("many or count == 1 (many: count > 3)", True)]


def test_nothing_follows_from_a_name_that_is_taken() -> None:
    flow = """
flow: main
start: {otherwise: true}
vars: {days: number, rows: list}
define: {it: 5, hours: 3, long: rows | length}
steps:
  a: {say: "{{ it }} {{ long }} {{ days }}"}
  b: {branch: [{if: days > 3, then: end}, {if: hours > long, then: end}]}
  c: {set: {days: "{{ days + 1 }}", it: 4}, then: end}
"""
    assert [problem.partition(" ")[2].partition(":")[0] for problem in problems_of(flow)] == [
        'E306 variable "days"',
        'E306 definition "it"',
        'E306 definition "hours"',
    ]
