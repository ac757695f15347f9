"""Types of variables that a bot declares once, for all flows."""

from decimal import Decimal

import pytest

from tests.talk import Talk, problems_of

BOT = """name: Test
defaults: {timeout: {after: 20h, then: end}, retry: {max: 3, else: end}}
types:
  size: {type: integer, min: 30, max: 50, error: "From 30 to 50, please."}
  shoe: {type: object, fields: {size: size, price: number, sold: {type: boolean, value: false}}}
  pair: {type: shoe}
signals: {paid: {shoe: shoe}}
"""
FLOW = """
flow: main
start: {words: [hi]}
vars:
  size: size
  other: {type: size, value: 40, error: "Thirty to fifty."}
  shoe: pair
  shoes: {type: list, of: shoe, max: 2}
steps:
  size: {ask: Size?, save: size}
  other: {ask: "And?", save: other, errors: {else: end}}
  shoe: {set: {shoe: {size: "{{ size }}", price: "12.50"}, shoes: [{price: 3}]}}
  told: {say: "{{ shoe.size }} {{ shoe.price + 1 }} {{ shoe.sold }} {{ (shoes | first).price * 2 }}", then: end}
"""


def test_a_variable_has_what_its_type_declares() -> None:
    talk = Talk(FLOW, BOT)
    talk.user("hi")
    assert talk.vars["other"] == 40
    assert talk.user("12") == ["From 30 to 50, please."]
    talk.user("42")
    assert talk.user("12") == ["Thirty to fifty."]
    assert talk.user("43") == ["42 13.5 false 6"]


def test_a_signal_has_the_type_too() -> None:
    heard = FLOW.replace("save: other,", "save: other, signals: {paid: {set: {shoe: '{{ event.shoe }}'}, then: told}},")
    talk = Talk(heard.replace("{{ (shoes | first).price * 2 }}", ""), BOT)
    talk.user("hi")
    talk.user("42")
    assert talk.signal("paid", shoe={"size": 41, "price": Decimal(3)}) == ["41 4 false "]


AT = "flows/test.yml:5:9: "


@pytest.mark.parametrize(
    ("declared", "problems"),
    [
        ("sizes", ['E304 variable "size": no type "sizes" (did you mean "size"?)']),
        (
            "{type: size, min: 3}",
            ['E104 variable "size": unknown key "min" (a type\'s settings stand under `types` in bot.yml)'],
        ),
        ("{type: size, value: 7}", ['E303 variable "size": its value does not fit: ']),
        ("{type: shoe, error: No.}", ['E307 variable "size": error where contacts send nothing: its type is']),
        ("{type: list, of: size}", ['E109 variable "size": of: "size" is not known (its type must be object)']),
        ("{type: list, of: shoes}", ['E109 variable "size": of: "shoes" is not known (did you mean "shoe"?)']),
        ("{type: object, fields: {of: {type: size, keep: true}}}", ['E104 variable "size": fields: "of": unknown key']),
    ],
)
def test_a_mistake_at_a_variable_is_reported_there(declared: str, problems: list[str]) -> None:
    flow = f"flow: main\nstart: {{words: [hi]}}\nsteps: {{a: {{say: Hi., then: end}}}}\nvars:\n  size: {declared}\n"
    found = problems_of(flow, BOT)
    assert len(found) == len(problems)
    for problem, expected in zip(found, problems, strict=True):
        assert problem.startswith("flows/test.yml:5:")
        assert expected in problem


@pytest.mark.parametrize(
    ("types", "problem"),
    [
        ("{size: {type: integr}}", 'bot.yml:3:22: E304 type "size": no type "integr" (did you mean "integer"?)'),
        ("{size: {type: integer, mn: 3}}", 'bot.yml:3:31: E104 type "size": unknown key "mn"'),
        (
            "{a: {type: object, fields: {b: size}}, size: text}",
            'bot.yml:3:39: E304 type "a": fields: "b": no type "size" (declare "size" further above: a type',
        ),
        ("{size: size}", 'bot.yml:3:15: E304 type "size": no type "size"'),
        ("{text: {type: text, max: 3}}", 'bot.yml:3:9: E306 type "text": this type is built in'),
        ("{Size: text}", 'bot.yml:3:9: E108 type: "Size" is no name'),
    ],
)
def test_a_mistake_in_a_type_is_reported_once_where_it_stands(types: str, problem: str) -> None:
    bot = f"name: Test\ndefaults: {{timeout: {{after: 20h, then: end}}}}\ntypes: {types}\n"
    flow = "flow: {0}\nvars: {{a: size, b: size}}\nstart: {{words: [{0}]}}\nsteps: {{a: {{say: Hi., then: end}}}}\n"
    found = problems_of("---\n".join(flow.format(name) for name in ("one", "two")), bot)
    assert found[0].startswith(problem)
    assert [each for each in found if each.startswith("bot.yml")] == found[:1]


def test_a_faulty_type_makes_no_further_problems() -> None:
    bot = "name: Test\ndefaults: {timeout: {after: 20h, then: end}}\ntypes: {size: {type: integr}}\n"
    flow = "flow: one\nvars: {a: size, b: size}\nstart: {words: [one]}\nsteps: {a: {say: Hi., then: end}}\n"
    assert len(problems_of(flow, bot)) == 1
