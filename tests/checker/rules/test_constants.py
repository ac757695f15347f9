"""W302 and W303: conditions that are always true, or never."""

import pytest

from bot.checker.graph import Graph
from bot.checker.rules.constant_conditions import find_constants
from tests.checker.proved import library

HEAD = """
flow: a
start: {words: [a]}
vars:
  size: {type: choice, of: [S, M, L]}
  n: integer
  name: text
  sure: boolean
  day: date
  stage: {type: text, value: new}
  order: object
steps:
  q: {ask: Q, save: size, set: {stage: paid}}
"""


def reported(
    steps: str, *flows: str, bot: str = "name: Test\ndefaults: {timeout: {after: 1h, then: end}}"
) -> list[str]:
    """The findings about the conditions of these steps."""
    found = find_constants(Graph(library(f"{HEAD}  {steps}", *flows, bot=bot)))
    return [f"{finding.code} {finding.what.partition(': ')[2]} ({finding.fix})" for finding in found]


def branch(*conditions: str) -> list[str]:
    """The codes and conditions that are found in a branch with these."""
    lines = "".join(f"\n    - {{if: '{condition}', then: end}}" for condition in conditions)
    return ["".join(what.split("`")[:2]) for what in reported(f"b:\n   branch:{lines}")]


def test_a_choice_is_compared_with_what_is_none() -> None:
    assert reported('b: {branch: [{if: size == "XL", then: end}]}') == [
        'W303 `size == "XL"` is never true: "size" is L, M or S (did you mean "L"?)'
    ]
    assert reported('b: {branch: [{if: size != "tall", then: end}]}') == [
        'W302 `size != "tall"` is always true: "size" is L, M or S (leave the condition out, or compare something else)'
    ]


def test_a_condition_is_what_its_definitions_stand_for() -> None:
    flow = HEAD.replace("steps:", 'define: {large: size == "XL", number: n < "3"}\nsteps:')
    steps = "  b: {branch: [{if: large, then: end}, {if: not large, then: end}, {if: number, then: end}]}"
    found = list(find_constants(Graph(library(flow + steps))))
    assert [(finding.code, finding.line, finding.what) for finding in found] == [
        ("W303", 15, 'step "b": `large` is never true: "size" is L, M or S'),
        ("W302", 15, 'step "b": `not large` is always true: "size" is L, M or S'),
        ("W303", 12, 'step "b": definition "number" always fails: "n" is a number'),
    ]
    assert found[0].fix == 'did you mean "L"?'


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ('n == "3"', "W303"),
        ('n < "3"', "W303"),
        ("name == 3", "W303"),
        ('day > "2030-01-01"', "W303"),
        ('size in ["XL", "XXL"]', "W303"),
        ('size == "S" and size == "M"', ""),
        ("1 > 2", "W303"),
        ("true", "W302"),
        ('n != "3"', "W302"),
        ('stage == "payed"', "W303"),
        ('stage == "paid"', ""),
        ("not name", ""),
        ("size is none", ""),
        ('name == "x"', ""),
        ("n > 3", ""),
        ('open("x")', ""),
        ('share("x") < 20', ""),
        ('came_from == "x"', ""),
        ("message.text | length > 3", ""),
        ("message.tapped", ""),
        ('message.kind == "image"', ""),
        ('message.kind == "photo"', "W303"),
        ("order.total > 5", ""),
        ('order.state == "paid"', ""),
        ('order.state != "paid"', ""),
        ("order.lines", ""),
    ],
)
def test_a_condition_alone(condition: str, code: str) -> None:
    hours = "name: Test\nhours: {x: {mon: '9:00-10:00'}}\ndefaults: {timeout: {after: 1h, then: end}}"
    found = reported(f"b:\n   branch:\n    - if: '{condition}'\n      then: end", bot=hours)
    assert [each.split()[0] for each in found] == ([code] if code else [])


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        (["size", 'size == "S"'], ['W303 size == "S"']),
        (['size == "S"', 'size == "S"'], ['W303 size == "S"']),
        (["n > 3", "n > 3"], ["W303 n > 3"]),
        (["n > 3", "n > 5"], []),
        (['size == "S"', 'size == "M"', 'size == "L"'], []),
        (['size == "S"', 'size == "M"', 'size == "L"', "not size", 'size != "S"'], ['W303 size != "S"']),
        (["sure", "not sure", "sure is none"], ["W303 sure is none"]),
        (["random() < 1", "random() < 1"], []),
        (["not name", "name"], []),
    ],
)
def test_a_condition_behind_others(conditions: list[str], found: list[str]) -> None:
    assert branch(*conditions) == found


@pytest.mark.parametrize(
    "step",
    ["b: {ask: B, options: {A: {if: n == 'x', then: end}, B: end}}", "b: {ask: B, words: {w: {if: n == 'x', say: W}}}",
     "b: {template: {name: t, language: en}, replies: {A: {if: n == 'x', then: end}, B: end}}",
     "b: {classify: C, exits: {a: {if: n == 'x', then: end}}, other: end, errors: {else: end}}"],
)  # fmt: skip
def test_options_words_replies_and_exits_have_conditions_too(step: str) -> None:
    assert len(reported(step)) == 1


def test_a_word_of_the_flow_is_found_once() -> None:
    flow = HEAD.replace("steps:", "words: {w: {if: n == 'x', say: W}}\nsteps:") + "  p: {ask: P}"
    assert len(list(find_constants(Graph(library(flow))))) == 1


@pytest.mark.parametrize(
    "gift",
    ["b: {http: 'GET https://x.example/', save: stage}", "b: {set: {stage: '{{ name }}'}}", "b: {ask: B, save: stage}",
     "b: {ai: Talk., fill: {stage: what it is}, exits: {a: end}, errors: {else: end}}",
     "b: {ask: B, options: {A: {value: '{{ name }}'}}, save: stage}"],
)  # fmt: skip
def test_a_variable_that_may_get_anything_is_anything(gift: str) -> None:
    bot = "name: Test\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}"
    assert reported(f'{gift}\n  c: {{branch: [{{if: stage == "sent", then: end}}]}}', bot=bot) == []


def test_what_other_flows_give_a_variable_of_this_name_counts() -> None:
    condition = 'b: {branch: [{if: stage == "sent", then: end}]}'
    assert reported(condition)
    assert (
        reported(condition, "flow: z\nstart: {words: [z]}\nvars: {stage: text}\nsteps: {s: {set: {stage: sent}}}") == []
    )


def test_a_program_may_give_anything_to_what_only_it_starts() -> None:
    flow = 'flow: p\nvars: {stage: {type: text, value: new}}\nsteps: {b: {branch: [{if: stage == "sent", then: end}]}}'
    assert list(find_constants(Graph(library(flow)))) == []


def test_the_languages_of_a_bot_are_the_values_of_language() -> None:
    bot = "name: Test\nlanguages: [en, id]\ndefaults: {timeout: {after: 1h, then: end}}"
    flow = 'flow: a\nstart: {words: [a]}\nsteps: {b: {branch: [{if: language == "fr", then: end}, {if: language == "id", then: end}]}}'
    (finding,) = find_constants(Graph(library(flow, bot=bot)))
    assert finding.what == 'step "b": `language == "fr"` is never true: "language" is en or id'


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("open(n)", True), ("open('desk', name ~ 'x')", True), ("open(order)", True), ("now + hours(name) > now", True),
        ("open(name)", False), ("open('desk', day)", False), ("open('desk', order.at)", False),
    ],
)  # fmt: skip
def test_a_function_fails_for_certain_with_values_of_another_kind(condition: str, found: bool) -> None:
    bot = "name: Test\nhours: {desk: {mon-fri: '9:00-17:00'}}\ndefaults: {timeout: {after: 1h, then: end}}"
    lines = reported(f'b: {{branch: [{{if: "{condition}", then: end}}, {{else: end}}]}}', bot=bot)
    assert any("always fails" in line for line in lines) is found
