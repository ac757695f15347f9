"""W301 and W308: variables that are read where they may be null."""

import pytest

from bot.checker.graph import Graph
from bot.checker.rules.uninitialised import find_uninitialised
from bot.language.python.decorators import handler
from bot.language.python.gathered import extensions_in
from tests.checker.proved import BOT, library
from tests.talk import library_of

VARS = "vars: {name: text, size: text, n: {type: integer, value: 1}, day: date, items: list, order: object}"
HEAD = f"flow: a\nstart: {{words: [a]}}\n{VARS}\nsteps:\n"
HOLE = "the text has a gap then"
FAILS = "this fails then"


def reported(*flows: str, bot: str = BOT) -> list[str]:
    """The findings about variables, without their marks and fixes."""
    return [finding.what for finding in find_uninitialised(Graph(library(*flows, bot=bot)))]


def read(steps: str, **more: str) -> list[str]:
    """The step and the variable of each finding, in one flow with these steps."""
    found = reported(HEAD + steps, **more)
    return [" ".join(what.split('"')[1:4:2]) for what in found]


def way(steps: str) -> list[str]:
    """The outcomes on the way to the only finding, in one flow with these steps."""
    (finding,) = find_uninitialised(Graph(library(HEAD + steps)))
    return [edge.outcome for edge in finding.route]


def test_what_nothing_has_set_on_the_way_is_null() -> None:
    why = "nothing has given it a value on the way from /a/b"
    assert reported(HEAD + '  b: {say: "{{ name }}"}') == [f'step "b": "name" may be null, and {HOLE}: {why}']


def test_it_says_what_to_do() -> None:
    text, expression = '  b: {say: "{{ name }}", then: end}\n', "  c: {branch: [{if: n < day, then: end}]}"
    fixes = [finding.fix for finding in find_uninitialised(Graph(library(HEAD + text)))]
    assert fixes == ["give it a value before, or write {{ name | default('...') }}"]
    fixes = [finding.fix for finding in find_uninitialised(Graph(library(HEAD + expression)))]
    assert fixes == ['give it a value before, or test it first, as in "day and ..."']


def test_a_definition_that_reads_it_is_named_with_its_place() -> None:
    defined = HEAD.replace("steps:", "define:\n  half: n / size\n  label: half ~ name\nsteps:")
    found = list(find_uninitialised(Graph(library(defined + '  b: {say: "{{ label }}", then: end}'))))
    assert [finding.what.partition(":")[2].partition(", and")[0] for finding in found] == [
        ' "name" may be null, which the definition "label" reads at flow1.yml:6:10',
        ' "size" may be null, which the definition "half" reads at flow1.yml:5:9',
    ]
    assert {finding.line for finding in found} == {8}
    assert found[1].fix == "give it a value before, or write (size | default(...)) in the definition"


def test_a_condition_within_a_definition_proves_as_much_as_one_that_is_written_out() -> None:
    defined = HEAD.replace("steps:", "define: {known: name and size, both: name ~ size}\nsteps:")
    steps = "  b: {branch: [{if: known, then: c}, {else: end}]}\n  c: {say: '{{ both }}', then: end}\n"
    assert reported(defined + steps) == []


@pytest.mark.parametrize(
    "before",
    ["q: {ask: Q, save: name}", "q: {ask: Q, options: [S, M], save: name}", "q: {set: {name: Ann}}",
     "q: {say: Q, set: {name: '{{ n }}'}}", "q: {branch: [{if: not name, then: end}]}",
     "q: {branch: [{if: name is none, then: end}]}", "q: {branch: [{if: name, then: b}, {else: end}]}",
     'q: {branch: [{if: name == "x", then: b}, {else: end}]}', "q: {branch: [{if: name and n, then: b}, {else: end}]}",
     "q: {branch: [{if: size and name and n, then: b}, {else: end}]}", "q: {branch: [{if: not size or not name or n, then: end}]}",
     "q: {ask: Q, options: {A: {then: b, if: name}, B: end}}", "q: {ask: Q, options: {A: {then: b, set: {name: x}}, B: end}}"],
)  # fmt: skip
def test_what_was_given_a_value_or_asked_for_on_every_way_is_there(before: str) -> None:
    assert read(f'  {before}\n  b: {{say: "{{{{ name }}}}"}}') == []


@pytest.mark.parametrize(
    ("before", "outcomes"),
    [
        ("q: {ask: Q, save: name, skip: [skip]}", ["skip"]),
        ("q: {ask: Q, save: name, timeout: {after: 1h, then: b}}", ["timeout"]),
        ("q: {ask: Q, save: name, retry: {max: 1, else: b}}", ["retry.else"]),
        ("q: {ask: Q, save: name, words: {go on: b}}", ["word go on"]),
        ("q: {ask: Q, save: name, visits: {max: 1, else: b}}", ["visits.else"]),
        ("q: {ask: Q, options: {A: {value: a}, B: b}, save: name}", ["[B]"]),
        ("q: {ask: Q, other: b, save: name}", ["other"]),
        ("q: {branch: [{if: n > 1, then: b}]}", ["if 1: n > 1"]),
        ("q: {set: {name: '{{ size }}'}}", ["then"]),
        ("q: {set: {name: null}}", ["then"]),
    ],
)
def test_what_one_way_leaves_without_a_value_may_be_null(before: str, outcomes: list[str]) -> None:
    steps = f'  {before}\n  z: {{set: {{name: "{{{{ name or 1 }}}}"}}}}\n  b: {{say: "{{{{ name }}}}"}}'
    direct = f'  {before}\n  b: {{say: "{{{{ name }}}}"}}'
    assert way(steps if "then: b" in before else direct) == outcomes


@pytest.mark.parametrize(
    "step",
    ['b: {ask: "{{ name }}"}', 'b: {ask: Q, header: "{{ name }}", buttons: [A]}', 'b: {ask: Q, options: {"{{ name }}": end}}',
     'b: {say: Q, tag: "{{ name }}"}', 'b: {ask: Q, options: {A: {say: "{{ name }}", then: end}}}',
     'b: {ask: Q, timeout: {after: 1h, say: "{{ name }}", then: end}}', 'b: {ask: Q, retry: {say: "{{ name }}"}}',
     'b: {ask: Q, words: {why: {say: "{{ name }}"}}}', 'b: {template: {name: t, language: en, body: ["{{ name }}"]}}',
     'b: {handoff: {team: t, note: "{{ name }}"}, closed: end}', 'b: {set: {size: "Size {{ name }}"}}',
     'b: {say: {any: [Hi, "Hi {{ name }}"]}}', 'b: {say: Q, link: {title: Go, url: "https://x.example/{{ name }}"}}',
     'b: {http: "GET https://x.example/{{ name }}"}', 'b: {ask: Q, remind: {after: 1h, ask: "{{ name }}"}}',
     "b: {ask: Q, window_closed: {template: {name: t, language: en, body: ['{{ name }}']}}}"],
)  # fmt: skip
def test_a_hole_may_be_in(step: str) -> None:
    assert read(f"  {step}") == ["b name"]


@pytest.mark.parametrize(
    "step",
    ['b: {wait: "{{ day }}"}', "b: {say: Q, schedule: {flow: a, at: '{{ day }}'}}", 'b: {say: "{{ day | date }}"}',
     "b: {set: {day: '{{ day + days(1) }}'}}", "b: {branch: [{if: day > today, then: end}]}",
     "b: {ask: Q, options: {A: {then: end, if: day > today}, B: end}}", "b: {ask: Q, words: {w: {if: day > today, say: W}}}"],
)  # fmt: skip
def test_null_may_fail_in(step: str) -> None:
    assert read(f"  {step}") == ["b day"]


def test_a_question_of_which_null_leaves_no_choice_fails() -> None:
    assert read("  b: {ask: Q, options: {from: items}}") == ["b items"]
    assert read("  b: {ask: Q, options: {from: items, extra: {None: end}}}") == []


@pytest.mark.parametrize(
    "step",
    ['b: {say: "{% if name %}{{ name }}{% endif %}"}', "b: {say: \"{{ name | default('you') }}\"}", "b: {set: {name: '{{ size }}'}}",
     "b: {http: 'GET https://x.example/', query: {q: '{{ name }}'}, headers: {A: '{{ name }}'}}",
     "b: {http: 'POST https://x.example/', json: {q: '{{ name }}'}}", "b: {run: /c, each: items, with: {x: '{{ it }}'}}",
     "b: {say: '{{ items | length }}'}", 'b: {say: "{% for i in items %}{{ i }}{% endfor %}"}',
     "b: {ask: Q, options: {'{{ name }}': {then: end, if: name}, B: end}}"],
)  # fmt: skip
def test_null_does_no_harm_in(step: str) -> None:
    assert reported(f"{HEAD}  {step}", "flow: c\nvars: {x: text}\nsteps: {d: {say: D}}") == []


def test_what_has_failed_for_certain_is_there_behind_it() -> None:
    assert read('  b: {say: "{{ day | date }}"}\n  c: {say: "{{ day | weekday }}"}') == ["b day"]


@pytest.mark.parametrize("step", ["start: /a", "signal: paid"])
def test_what_is_read_for_each_element_may_not_be_read_at_all(step: str) -> None:
    to_each = f'  b: {{{step}, contact: "{{{{ name }}}}", each: "[n]", then: c}}\n'
    found = read(to_each + '  c: {say: "{{ name }}", then: end}', bot=f"{BOT}\nsignals: {{paid: {{}}}}")
    assert found == ["b name", "c name"]


def test_a_failure_that_the_step_names_is_expected() -> None:
    assert read('  b: {wait: "{{ day }}", errors: {mismatch: end}}') == []


def test_an_inherited_text_is_found_once() -> None:
    flow = (
        f'flow: a\nstart: {{words: [a]}}\n{VARS}\ndefaults: {{remind: {{after: 1h, say: "{{{{ name }}}}?"}}}}\nsteps:\n'
    )
    assert len(reported(f"{flow}  b: {{ask: B}}\n  c: {{ask: C}}")) == 1


def test_failures_lead_on_only_where_something_can_fail() -> None:
    plain = '  q: {set: {name: Ann}, errors: {else: b}}\n  b: {say: "{{ name }}"}'
    assert read(plain) == []
    assert read(plain.replace("Ann", '"{{ order.price or 1 }}"')) == ["q order", "b name"]


@pytest.mark.parametrize(
    ("value", "may_fail"),
    [("n + 1", False), ("n * 2 - 1", False), ("-n", False), ("n", False), ("items | length", False), ("n // 2", True),
     ("n * 2.5 | round", False), ("n * 2.5", True), ("n | round(1)", True), ("2.5", True), ("w", True), ("w | round", False),
     ("n if w > 2 else w", True), ("n if w > 2 else 0", False)],
)  # fmt: skip
def test_a_number_that_may_not_be_whole_may_not_fit_an_integer(value: str, *, may_fail: bool) -> None:
    flow = HEAD.replace("n: ", "w: {type: number, value: 1}, n: ", 1).replace(
        "items: list", "items: {type: list, value: []}"
    )
    flow += f'  q: {{set: {{n: "{{{{ {value} }}}}"}}, then: end, errors: {{else: b}}}}\n  b: {{say: "{{{{ name }}}}"}}'
    assert [what.split('"')[3] for what in reported(flow)] == (["name"] if may_fail else [])


def test_a_number_within_bounds_may_not_fit() -> None:
    flow = HEAD.replace("n: {", "w: {type: number, value: 1, max: 9}, n: {min: 0, ", 1)
    for value, variable in (("n + 1", "n"), ("w * 2", "w"), ("n", "w")):
        steps = f'  q: {{set: {{{variable}: "{{{{ {value} }}}}"}}, then: end, errors: {{else: b}}}}\n  b: {{say: "{{{{ name }}}}"}}'
        assert [what.split('"')[3] for what in reported(flow + steps)] == ["name"]


def test_a_question_that_is_refused_leads_on_without_its_answer() -> None:
    flow = '  q: {ask: Q, save: name, errors: {refused: b}}\n  b: {say: "{{ name }}"}'
    assert read(flow) == ["b name"]
    assert read(flow.replace("refused", "failed")) == []


def test_a_check_of_an_answer_reads_other_variables() -> None:
    flow = "flow: a\nstart: {words: [a]}\nvars: {least: integer, n: {type: integer, check: it > least}}\n"
    (what,) = reported(flow + "steps: {b: {ask: B, save: n}}")
    assert what.startswith('step "b": "least" may be null')


# -- other flows -------------------------------------------------------------------------------------------------------

PICK = "flow: pick\nvars: {shade: text, colour: text}\nsteps: {q: {ask: Q, save: colour}, z: {say: Z}}"
RUN = "flow: a\nstart: {words: [a]}\nvars: {mine: text, shade: text}\nsteps:\n"


def test_a_flow_that_is_run_has_what_goes_in_and_gives_what_comes_out() -> None:
    child = PICK.replace("ask: Q", 'ask: "{{ shade }}?"')
    assert reported(f'{RUN}  r: {{run: /pick, with: {{shade: dark}}, save: {{mine: colour}}, expired: end}}\n  b: {{say: "{{{{ mine }}}}"}}',
                child) == []  # fmt: skip


def test_a_flow_that_was_not_given_what_the_one_below_it_has_is_a_rule_of_its_own() -> None:
    child = PICK.replace("ask: Q", 'ask: "{{ shade }}?"')
    (finding,) = find_uninitialised(Graph(library(f"{RUN}  q: {{ask: Q, save: shade}}\n  r: {{run: /pick}}", child)))
    assert finding.code == "W308"
    assert finding.what.endswith('flow pick has variables of its own, and step "r" does not pass this one on')
    assert finding.fix == 'pass it on, with: {shade: "{{ shade }}"}'
    assert [edge.source for edge in finding.route] == [("a", "q")]


def test_a_flow_that_was_not_given_what_has_a_value_below_may_have_the_same_value() -> None:
    run = "flow: a\nstart: {words: [a]}\nvars: {tax: {type: integer, value: 19}}\nsteps:\n  r: {run: /sum}\n"
    child = 'flow: sum\nvars: {tax: integer}\nsteps: {q: {ask: "{{ tax }} %?"}}'
    (finding,) = find_uninitialised(Graph(library(run, child)))
    fix = 'give it the same `value` here as in flow a; or, if that can change, pass it on, with: {tax: "{{ tax }}"}'
    assert (finding.code, finding.fix) == ("W308", fix)


@pytest.mark.parametrize(
    ("heard", "found"),
    [
        ('{if: name, say: "Thanks, {{ name }}."}', []),
        ('[{if: name, then: end}, {say: "Thanks, {{ name }}."}]', ["b name"]),
        ('[{if: not name, then: end}, {say: "Thanks, {{ name }}."}]', []),
        ('[{if: event.amount > 5, then: end}, {say: "Thanks, {{ name }}."}]', ["b name"]),
        ('[{if: event.amount > n and name, say: "{{ name }}"}, {say: "Thanks."}]', []),
    ],
)
def test_a_condition_of_a_signal_and_those_before_it_prove_what_is_null(heard: str, found: list[str]) -> None:
    bot = BOT + "\nsignals: {paid: {amount: {type: number, needed: true}}}\n"
    assert read(f"  b: {{ask: B?, signals: {{paid: {heard}}}}}", bot=bot) == found


def test_null_goes_into_a_flow_in_place_of_what_its_variable_starts_at() -> None:
    child = 'flow: pick\nvars: {shade: {type: text, value: dark}}\nsteps: {q: {say: "{{ shade }}"}}'
    assert reported(f"{RUN}  r: {{run: /pick}}", child) == []
    (what,) = reported(f'{RUN}  r: {{run: /pick, with: {{shade: "{{{{ shade }}}}"}}}}', child)
    assert what.startswith('step "q": "shade" may be null')


@pytest.mark.parametrize(
    ("child", "expired", "found"),
    [
        (PICK, "b", True),  # silence brings nothing
        (PICK, "end", False),
        (PICK.replace("save: colour", "save: colour, skip: [no]"), "end", True),
        (PICK.replace("save: colour", "save: colour, retry: {max: 1, else: end}"), "end", True),
        (PICK.replace("save: colour", "save: colour, words: {stop: end}"), "end", True),
        (PICK.replace("colour: text", "colour: {type: text, value: red}"), "b", True),
        (PICK.replace("colour: text", "colour: {type: text, value: red}").replace("save: c", "words: {s: end}, save: c"), "end",
         False),
    ],
)  # fmt: skip
def test_what_comes_out_may_be_null_where_the_flow_may_end_without_it(child: str, expired: str, *, found: bool) -> None:
    run = f'{RUN}  r: {{run: /pick, save: {{mine: colour}}, expired: {expired}}}\n  b: {{say: "{{{{ mine }}}}"}}'
    assert bool(reported(run, child)) is found


def test_the_story_of_what_did_not_come_out_goes_through_the_flow() -> None:
    child = PICK.replace("save: colour", "save: colour, retry: {max: 1, else: end}")
    run = f'{RUN}  r: {{run: /pick, save: {{mine: colour}}, expired: end}}\n  b: {{say: "{{{{ mine }}}}"}}'
    (finding,) = find_uninitialised(Graph(library(run, child)))
    assert finding.what.endswith('flow pick may end without "colour"')
    assert [(edge.source[0], edge.outcome) for edge in finding.route] == [("pick", "retry.else"), ("a", "then")]


def test_what_comes_out_of_each_run_is_a_list_and_never_null() -> None:
    child = PICK.replace("save: colour", "save: colour, skip: [no]")
    run = "flow: a\nstart: {words: [a]}\nvars: {all: list}\nsteps:\n  r: {run: /pick, each: '[1, 2]', save: {all: colour}, expired: end}\n"
    assert reported(f"{run}  b: {{say: '{{{{ all | length }}}} {{{{ all[0] }}}}'}}", child) == []


def test_what_goes_through_a_flow_comes_out_as_it_went_in() -> None:
    child = "flow: pick\nvars: {x: text}\nsteps: {q: {say: Q}}"
    other = "flow: other\nstart: {words: [o]}\nsteps: {r: {run: /pick}}"
    run = f'{RUN}  r: {{run: /pick, with: {{x: red}}, save: {{mine: x}}}}\n  b: {{say: "{{{{ mine }}}}"}}'
    assert reported(run, child, other) == []
    assert reported(run.replace("with: {x: red}, ", ""), child, other)


def test_going_over_takes_variables_along_as_far_as_they_fit() -> None:
    first = "flow: a\nstart: {words: [a]}\nvars: {x: text, y: text}\nsteps: {q: {ask: Q, save: x}, p: {ask: P, save: y, then: /b}}"
    there = 'flow: b\nvars: {x: text, y: %s, z: {type: text, value: Z}}\nsteps: {s: {say: "{{ x }} {{ y }} {{ z }}"}}'
    assert reported(first, there % "text") == []
    (what,) = reported(first, there % "integer")
    assert what.startswith('step "s": "y" may be null')


def test_a_flow_that_is_gone_back_to_has_its_own_variables() -> None:
    main = "flow: a\nstart: {words: [a]}\nvars: {x: text}\nsteps: {r: {run: /b}, s: {say: S, then: end}, t: {say: '{{ x }}'}}"
    child = "flow: b\nvars: {x: text}\nsteps: {q: {ask: Q, save: x, then: /a/t}}"
    (what,) = reported(main, child)
    assert what.endswith("where flow a is open already, /a/t leads back to it, and to its own variables")
    assert reported(main.replace("r: {run: /b}", "r: {say: R, set: {x: X}}, r2: {run: /b}"), child) == []


def test_a_flow_that_starts_later_has_what_goes_in() -> None:
    later = 'flow: later\nvars: {name: text}\nsteps: {s: {say: "{{ name }}"}}'
    plan = "schedule: {flow: later, after: 1h, with: {name: '{{ name }}'}}"
    assert reported(f"{HEAD}  q: {{ask: Q, save: name, {plan}}}", later) == []
    (what,) = reported(f"{HEAD}  q: {{ask: Q, save: name, skip: [no], {plan}}}", later)
    assert what.startswith('step "s": "name" may be null')


def test_a_variable_that_is_kept_comes_along_where_both_flows_keep_it() -> None:
    child = 'flow: pick\nvars: {x: {type: text, keep: true}}\nsteps: {q: {say: "{{ x }}"}}'
    flow = "flow: a\nstart: {words: [a]}\nvars: {x: {type: text%s}}\nsteps:\n  q: {ask: Q, save: x}\n  r: {run: /pick}"
    assert reported(flow % ", keep: true", child) == []
    assert reported(flow % "", child)


def test_coming_back_finds_what_was_there() -> None:
    flow = 'words: {help: /desk}\nsteps:\n  q: {ask: Q, save: name}\n  b: {ask: "{{ name }}?", buttons: {"Yes": end, Name: {correct: q}}}'
    desk = "flow: desk\nstart: {words: [desk]}\nsteps: {d: {ask: D, then: back}}"
    assert reported(f"flow: a\nstart: {{words: [a]}}\n{VARS}\n{flow}", desk) == []


def test_a_pattern_gives_what_its_groups_have() -> None:
    flow = 'flow: a\nstart: {pattern: %s}\nvars: {x: text}\nsteps: {b: {say: "{{ x }}"}}'
    assert reported(flow % r"'order (?P<x>\w+)'") == []
    assert reported(flow % r"'order(?P<x> \w+)?'")
    assert reported(flow % r"'order (?P<x>\w*)'")
    assert reported((flow % r"'order (?P<x>\w+)'").replace("{pattern", "{words: [order], pattern"))


def test_a_program_gives_what_nothing_in_the_flow_does() -> None:
    flow = 'flow: a\nvars: {x: text, y: text}\nsteps: {h: {say: H}, b: {say: "{{ x }} {{ y }}"}, c: {ask: C, save: y}}'
    (what,) = reported(flow)
    assert what.startswith('step "b": "y" may be null')


def test_a_program_gives_what_its_first_step_needs() -> None:
    flow = 'flow: a\nvars: {x: text, y: text}\nsteps: {b: {say: "{{ x }}{% if y %}!{% endif %}"}, c: {say: "{{ y }}"}, d: {ask: X, save: x}, e: {ask: Y, save: y, then: b}}'
    (what,) = reported(flow)  # the first step can do without y, so a program need not give it
    assert what.startswith('step "c": "y" may be null')
    assert reported(flow.replace("flow: a", "flow: a\nstart: {words: [a]}"))[0].startswith('step "b": "x" may be null')


def test_a_handlers_annotations_say_what_null_is() -> None:
    @handler("find")
    def find(name: str, note: str | None = None) -> str | None:
        return None

    flow = (
        HEAD
        + "  q: {ask: Q, save: name, skip: [no]}\n"
        + "  f: {call: find, with: {name: '{{ name }}', note: '{{ size }}'}, save: name}\n  b: {say: '{{ name }}'}"
    )
    lines = [finding.what for finding in find_uninitialised(Graph(library_of(flow, BOT, {"find": find})))]
    assert lines == [
        f'step "f": "name" may be null, and {FAILS}: step "q" may leave it so, by `skip`',
        f'step "b": "name" may be null, and {HOLE}: step "f" may leave it so, by `then`',
    ]
    assert extensions_in([{"find": find}]).handlers["find"].gives_null


def test_a_model_leaves_by_an_exit_with_what_it_needs() -> None:
    ai = "  t: {ai: Talk., exits: {a: {needs: [name], then: b}, c: d}}\n  b: {say: '{{ name }}', then: end}\n  d: {say: '{{ name }}'}"
    assert read(ai) == ["d name"]


def test_variables_of_one_name_in_interruptions_are_their_own() -> None:
    main = f'{HEAD}  q: {{ask: Q, save: name}}\n  b: {{say: "{{{{ name }}}}"}}'.replace(
        "steps:", "interrupted: resume\nsteps:"
    )
    other = 'flow: o\nstart: {words: [o]}\nvars: {name: text}\nsteps: {b: {ask: B, save: name}, c: {say: "{{ name }}"}}'
    assert reported(main, other) == []


def test_where_nothing_but_null_would_be_asked_the_step_fails_and_nobody_comes_past_it() -> None:
    assert reported(HEAD + '  b: {ask: "{{ name }}"}\n  c: {say: "Hi {{ name }}."}') == [
        f'step "b": "name" may be null, and {FAILS}: nothing has given it a value on the way from /a/b'
    ]
    assert read('  b: {ask: "Hi {{ name }}."}\n  c: {say: "{{ name }}"}') == ["b name", "c name"]
    assert read('  b: {ask: Q, then: {say: "{{ name }}", then: next}}\n  c: {say: "{{ name }}"}') == ["b name"]
    assert read('  b: {say: Q, cancel: "{{ name }}"}\n  c: {say: "{{ name }}"}') == ["b name"]
    assert read('  b: {ask: "{{ name }} {{ size }}"}\n  c: {say: "{{ name }}"}') == ["b name", "b size"]


def test_values_that_are_handed_round_in_a_circle_are_followed_to_where_null_came_first() -> None:
    variables = (
        "vars: {a: {type: text, value: x}, b: {type: text}, t: {type: text, value: x}, n: {type: integer, value: 1}}"
    )
    round_and_round = (
        '  p: {ask: P?, save: n, set: {t: "{{ a if n > 1 else b }}"}}\n'
        '  q: {ask: "Is it {{ t }}?", set: {a: "{{ t }}"}, then: p}'
    )
    (finding,) = find_uninitialised(
        Graph(library(f"flow: a\nstart: {{words: [a]}}\n{variables}\nsteps:\n{round_and_round}"))
    )
    assert finding.code == "W301"
    assert [(edge.source, edge.target) for edge in finding.route] == [(("a", "p"), ("a", "q"))]


EMPTIES = """flow: pick
start: {words: [pick]}
vars: {x: {type: text, keep: true}}
steps: {q: {ask: Q, save: x, skip: [no]}}"""
KEEPS = "flow: a\nstart: {words: [a]}\nvars: {x: {type: text, keep: true}}\nsteps:\n"


def test_what_a_flow_that_is_run_keeps_is_known_afterwards() -> None:
    assert (
        reported(KEEPS + '  r: {run: /pick, expired: end}\n  s: {say: "{{ x }}"}', EMPTIES.replace(", skip: [no]", ""))
        == []
    )


def test_what_a_flow_that_is_run_sets_to_null_is_null_afterwards() -> None:
    (what,) = reported(KEEPS + '  q: {ask: Q, save: x}\n  r: {run: /pick}\n  s: {say: "{{ x }}"}', EMPTIES)
    assert what.endswith('flow pick may end without "x"')
    deep = "flow: deep\nsteps: {r: {run: /pick}}"
    (what,) = reported(KEEPS + '  q: {ask: Q, save: x}\n  r: {run: /deep}\n  s: {say: "{{ x }}"}', EMPTIES, deep)
    assert what.startswith('step "s": "x" may be null')


def test_what_an_interruption_sets_to_null_is_null_at_the_question_and_after_it() -> None:
    lines = KEEPS + '  q: {ask: Q, save: x}\n  s: {ask: "{{ x }}?"}\n  t: {say: "{{ x }}"}'
    assert reported(lines, EMPTIES) == []
    found = reported(lines.replace("vars", "interrupted: resume\nvars"), EMPTIES)
    assert [what[:8] for what in found] == ['step "s"', 'step "t"']
    assert found[0].endswith("""step "q" of flow pick may leave it so, by `skip`""")
    planned = "flow: p\nstart: {words: [p]}\nsteps: {s: {say: S, schedule: {flow: pick, after: 1h, busy: interrupt}}}"
    assert reported(lines, EMPTIES, planned)


def test_an_interruption_that_ends_a_flow_empties_nothing_of_it() -> None:
    lines = KEEPS + '  q: {ask: Q, save: x}\n  s: {ask: "{{ x }}?"}\n  t: {say: "{{ x }}"}'
    lines = lines.replace("vars", "interrupted: drop\nvars")
    assert reported(lines, EMPTIES) == []
    planned = "flow: p\nstart: {words: [p]}\nsteps: {s: {say: S, schedule: {flow: pick, after: 1h, busy: notice}}}"
    assert reported(lines, EMPTIES, planned)


def test_an_input_that_is_null_is_null_in_all_flows_that_keep_the_variable() -> None:
    gives = "flow: g\nstart: {words: [g]}\nvars: {x: {type: text, keep: true}}\nsteps: {s: {ask: S, save: x}, r: {run: /a, with: {x: null}}, e: {say: '{{ x }}'}}"
    (what,) = reported(gives, KEEPS + "  s: {say: S}")
    assert what.startswith('step "e": "x" may be null')


def test_a_flow_of_the_bots_words_and_defaults_is_no_end_of_the_flow_that_was_run() -> None:
    runs = "flow: a\nstart: {words: [a]}\nvars: {x: text}\nsteps:\n  r: {run: /pick, save: x, expired: end}\n  s: {say: '{{ x }}'}"
    pick = "flow: pick\nvars: {x: text}\nsteps: {q: {ask: Q, save: x%s}}"
    desk = "flow: desk\nsteps: {d: {say: D, then: end}}"
    bot = BOT + "\nwords: {help: /desk}\n"
    assert reported(runs, pick % "", desk, bot=bot) == []
    assert reported(runs, pick % ", words: {help me: /desk}", desk, bot=bot)
    shut = bot.replace("{timeout:", "{retry: {max: 1, else: /desk}, timeout:")
    assert reported(runs, pick % ", options: [A]", desk, bot=shut) == []


def test_a_default_of_the_bot_leads_back_to_no_flow_that_waits_below() -> None:
    main = "flow: a\nstart: {words: [a]}\nvars: {x: text}\nsteps:\n  p: {ask: P, save: x, retry: {else: end}}\n  r: {run: /b}\n  t: {say: '{{ x }}'}"
    child = "flow: b\nvars: {x: text}\nsteps: {q: {ask: Q, options: [A]}}"
    over = "flow: c\nvars: {x: text}\nsteps: {q: {ask: Q, then: /a/t}}"
    assert reported(main, child, over, bot=BOT.replace("{timeout:", "{retry: {max: 1, else: /c}, timeout:"))


TOGETHER = """flow: a
start: {words: [a]}
vars: {x: {type: text, keep: true}, y: {type: text, keep: true}, z: text}
steps:
  q: {branch: [{if: x, then: t}, {else: n}]}
  n: {ask: N, save: z}
  o: {set: {x: "{{ z }}", y: "{{ z }}"}}
  t: {say: "{{ y }}", then: end}
  u: {say: "{% if x %}{{ y }}{% endif %}", then: end}
"""


def test_a_kept_value_proves_another_that_is_always_set_with_it() -> None:
    assert reported(TOGETHER) == []
    assert reported(TOGETHER.replace("if: x,", "if: y and 1,").replace('"{{ y }}"', '"{{ x }}"')) == []
    in_text = TOGETHER.replace(
        'o: {set: {x: "{{ z }}", y: "{{ z }}"}}', 'o: {set: {x: "{{ z }}", y: "{{ z }}"}, then: u}'
    )
    assert reported(in_text) == []


@pytest.mark.parametrize(
    "more",
    ["v: {set: {x: a}}", "v: {set: {y: null}}", "v: {ask: V, save: x}", "v: {ask: V, save: y, skip: [no]}", "v: {run: /b, with: {x: a}}",
     "v: {ask: V, words: {w: {set: {x: a}}}}", "v: {say: V, schedule: {flow: b, after: 1h, with: {x: a}}}", "v: {run: /b, save: {x: x}}",
     'v: {set: {x: "{{ z }}", y: "{{ w }}"}}'],
)  # fmt: skip
def test_a_kept_value_that_is_set_alone_anywhere_proves_no_other(more: str) -> None:
    flow = (
        TOGETHER.replace("steps:", "steps:\n  h: {branch: [{if: x, then: q}, {if: today, then: v}, {else: q}]}", 1)
        + f"  {more}\n"
    )
    other = "flow: b\nstart: {words: [b]}\nvars: {x: {type: text, keep: true}, y: {type: text, keep: true}}\nsteps: {s: {say: S}}"
    flow = flow.replace("z: text}", "z: text, w: text}")
    assert [what for what in reported(flow, other) if 'step "t": "y"' in what]
    assert reported(flow.replace(more, "v: {set: {x: a, y: b}}"), other) == []
    assert reported(flow.replace(more, "v: {set: {x: null, y: null}}"), other) == []


def test_a_value_that_a_program_or_a_message_gives_alone_proves_no_other() -> None:
    assert reported(TOGETHER.replace("start: {words: [a]}\n", ""))
    assert reported(TOGETHER.replace("words: [a]", "pattern: (?P<x>.*)"))


def test_what_was_cleared_is_null_or_what_it_was_declared_with() -> None:
    steps = '  b: {set: {name: Ann, n: 3}}\n  c: {clear: all}\n  d: {say: "{{ name }} {{ n }}"}'
    assert read(steps) == ["d name"]
    assert read(steps.replace("clear: all", "clear: [n]")) == []
    assert read(steps.replace("clear: all", 'clear: all, set: {name: "{{ name }}"}')) == []
    (what,) = reported(HEAD + steps)
    assert what.endswith('step "c" may leave it so, by `then`')


GUARDED = """
flow: order
start: {words: [order]}
vars: {deliver: {type: boolean, value: false}, street: text, how: {type: choice, of: [Ship, Fetch]}, n: integer}
steps:
  how: {ask: How?, save: how, buttons: [Ship, Fetch]}
  which: {branch: [{if: how == "Ship", then: street}, {else: last}]}
  street: {ask: Street?, save: street, set: {deliver: true}}
  last: LAST
  bye: {say: Bye., then: end}
"""


@pytest.mark.parametrize(
    "last",
    [
        '{say: "{% if deliver %}To {{ street }}{% else %}Fetch it.{% endif %}"}',
        '{say: "{{ street | upper if deliver else 1 }}"}',
        '{say: "{% if how == \'Ship\' %}To {{ street }}{% endif %}"}',
        '{say: "{% if how != \'Fetch\' %}To {{ street }}{% endif %}"}',
        '{branch: [{if: not deliver, then: end}]}\n  so: {say: "To {{ street }}."}',
        '{branch: [{if: how == "Fetch", then: end}]}\n  so: {say: "To {{ street }}."}',
        '{ask: Fine?, buttons: {To the street: {if: deliver, say: "To {{ street }}.", then: end}, "No": end}}',
        '{say: Fine., then: /send}\n---\nflow: send\nvars: {deliver: boolean, street: text}\n'
        'steps:\n  go: {say: "{% if deliver %}To {{ street }}{% endif %}"}\n  x: {ask: Sure?}',
        '{run: /send, with: {deliver: "{{ deliver }}", street: "{{ street }}"}}\n  x: {say: Bye., then: end}\n---\n'
        'flow: send\nvars: {deliver: boolean, street: text}\nsteps:\n  go: {say: "{% if deliver %}To {{ street }}{% endif %}"}'
        "\n  x: {ask: Sure?}",
    ],
)  # fmt: skip
def test_a_flag_that_is_set_beside_a_variable_proves_it(last: str) -> None:
    assert reported(GUARDED.replace("LAST", last)) == []


@pytest.mark.parametrize(
    "last",
    [
        '{say: "{% if not deliver %}To {{ street }}{% endif %}"}',
        '{say: "{% if how %}To {{ street }}{% endif %}"}',
        '{set: {deliver: true}}\n  so: {say: "{% if deliver %}To {{ street }}{% endif %}"}',
        '{ask: Again?, save: how, buttons: [Ship, Fetch]}\n  so: {say: "{% if how == \'Ship\' %}{{ street }}{% endif %}"}',
        '{ask: Sure?, save: deliver}\n  if: {branch: [{if: not deliver, then: end}]}\n  so: {say: "To {{ street }}."}',
        '{run: /send, with: {deliver: true, street: "{{ street }}"}}\n  x: {say: Bye., then: end}\n---\n'
        'flow: send\nvars: {deliver: boolean, street: text}\nsteps:\n  go: {say: "{% if deliver %}To {{ street }}{% endif %}"}'
        "\n  x: {ask: Sure?}",
    ],
)  # fmt: skip
def test_a_flag_that_may_be_true_without_a_variable_proves_nothing(last: str) -> None:
    (what,) = reported(GUARDED.replace("LAST", last))
    assert '"street" may be null' in what


def test_the_way_to_a_finding_does_not_contradict_itself() -> None:
    last = (
        '{branch: [{if: deliver, then: done}]}\n  what: {ask: Fetch it?, then: done}\n  done: {say: "To {{ street }}."}'
    )
    (finding,) = find_uninitialised(Graph(library(GUARDED.replace("LAST", last))))
    assert [edge.outcome for edge in finding.route] == ["[Fetch]", "else", "then", "then"]


def test_what_both_flows_keep_is_passed_on() -> None:
    kept = "vars: {size: {type: text, keep: true}}\nsteps:\n"
    order = (
        f"flow: a\nstart: {{words: [a]}}\n{kept}  size: {{ask: Size?, save: size, skip: [skip]}}\n  e: {{run: /extras}}"
    )
    (finding,) = find_uninitialised(
        Graph(library(order, f'flow: extras\n{kept}  milk: {{ask: "Milk in your {{{{ size }}}} cup?"}}'))
    )
    assert (finding.code, finding.fix) == ("W301", "give it a value before, or write {{ size | default('...') }}")
    assert 'step "size" of flow a may leave it so, by `skip`' in finding.what


LETTER = """
flow: apply
start: {words: [apply]}
vars: {status: {type: choice, of: [new, sent, seen], keep: true, value: new}, letter: {type: text, keep: true}}
steps:
  where: {branch: [{if: status == "sent", then: sent}, {else: ask}]}
  ask: {ask: Why you?, save: letter, set: {status: sent}}
  thanks: {say: Thank you., then: end}
  sent: {say: "We read it: {{ letter }}", then: end}
"""
TAKEN = """
flow: withdraw
start: {words: [withdraw]}
vars: {status: {type: choice, of: [new, sent, seen], keep: true, value: new}, letter: {type: text, keep: true}}
steps: {gone: {CLEARED, then: end}}
"""


def test_a_kept_flag_tells_that_there_is_what_was_saved_with_it() -> None:
    assert reported(LETTER) == []
    assert reported(LETTER, TAKEN.replace("CLEARED", "clear: [status, letter]")) == []
    assert reported(LETTER, TAKEN.replace("CLEARED", "set: {status: seen}")) == []
    assert reported(LETTER, TAKEN.replace("CLEARED", "clear: letter, set: {status: seen}")) == []
    kept = LETTER.replace('status == "sent"', "status").replace(
        "{type: choice, of: [new, sent, seen], keep: true, value: new}", "{type: boolean, keep: true}"
    )
    assert reported(kept.replace("status: sent", "status: true")) == []


@pytest.mark.parametrize(
    "others",
    [
        [LETTER.replace("save: letter", "skip: {words: [none], then: thanks}")],
        [LETTER.replace('status == "sent"', 'status == "new"')],
        [
            LETTER.replace(", set: {status: sent}", "")
            .replace("thanks: {", "thanks: {set: {status: sent}, ")
            .replace("save: letter", "save: letter, timeout: {after: 1h, then: thanks}")
        ],
        [LETTER, TAKEN.replace("CLEARED", "clear: letter")],
        [LETTER, TAKEN.replace("CLEARED", "set: {status: sent}")],
        [LETTER, TAKEN.replace("CLEARED", 'clear: letter, set: {status: "{{ status }}"}')],
        [LETTER, TAKEN.replace("CLEARED", "say: Gone").replace("start: {words: [withdraw]}", "start: {busy: skip}")],
    ],
)
def test_a_kept_flag_that_is_set_alone_tells_nothing(others: list[str]) -> None:
    assert any('"letter" may be null' in found for found in reported(*others))


def test_a_draft_whose_title_is_null_has_the_name_of_the_flow() -> None:
    steps = '  b: {ask: B?, save: name, timeout: {after: 2h, then: c}}\n  c: {draft: "{{ name }}", keep: 3d, then: end}'
    assert read(steps) == []
    assert read(steps.replace('"{{ name }}', '"For {{ name }}')) == ["c name"]


PAID = (
    f"{BOT}\nsignals: {{paid: {{sum: {{type: number, needed: true}}, note: text, way: {{type: text, value: card}}}}}}"
)


@pytest.mark.parametrize(
    ("heard", "found"),
    [
        ('{say: "{{ event.note }}, {{ event.sum }}, {{ event.way }}"}', ["b event.note"]),
        ('{if: event.note, say: "{{ event.note }}"}', []),
        ('[{if: not event.note, then: end}, {say: "{{ event.note }}"}]', []),
        ('{say: "{{ event.note | default(1) }}"}', []),
        ("{if: event.sum > 5 and event.note < 5, then: end}", ["b event.note"]),
        ('{set: {name: "{{ event.note }}"}, then: c}', ["c name"]),
        ('{set: {name: "Note: {{ event.note }}"}, then: c}', ["b event.note"]),
        ('{if: event.note, set: {name: "{{ event.note }}"}, then: c}', []),
        ('{set: {name: "{{ event.way }}"}, then: c}', []),
    ],
)
def test_data_that_a_signal_may_come_without_are_null(heard: str, found: list[str]) -> None:
    steps = f'  b: {{ask: B?, signals: {{paid: {heard}}}, then: end}}\n  c: {{say: "{{{{ name }}}}", then: end}}'
    assert read(steps, bot=PAID) == found


def test_a_flow_that_a_signal_starts_has_the_data_that_the_signal_needs() -> None:
    flow = 'flow: a\nstart: {signal: paid}\nvars: {sum: number, note: text, way: text}\nsteps: {b: {say: "{{ sum }} {{ note }} {{ way }}"}}'
    assert [what.split('"')[3] for what in reported(flow, bot=PAID)] == ["note"]


def test_it_says_what_to_do_about_data_that_a_signal_may_come_without() -> None:
    (finding,) = find_uninitialised(
        Graph(library(HEAD + '  b: {ask: B?, signals: {paid: {say: "{{ event.note }}"}}, then: end}', bot=PAID))
    )
    why = 'signal "paid" may come without it'
    assert finding.what == f'step "b": "event.note" may be null, and {HOLE}: {why}'
    assert finding.fix == "declare it in bot.yml with `needed: true`, or write {{ event.note | default('...') }}"


def test_nothing_is_null_behind_a_condition_that_a_variable_without_any_value_never_fulfils() -> None:
    steps = "  b: {branch: [{if: not name, then: q}, {else: c}]}\n  q: {ask: Q, save: size, then: c}\n"
    assert read(steps + '  c: {say: "{{ size }}", then: end}') == []
    assert read(steps.replace("not name", "not n") + '  c: {say: "{{ size }}", then: end}') == ["c size"]


def test_a_variable_without_any_value_spares_what_stands_behind_it_in_a_condition() -> None:
    assert read("  b: {branch: [{if: name and size > 'a', then: end}, {else: end}]}") == []
    assert read("  b: {branch: [{if: n and size > 'a', then: end}, {else: end}]}") == ["b size"]


STARTS = "flow: a\nstart: {words: [a]}\nvars: {x: text, z: {type: text, keep: true}}\nsteps:\n  q: {ask: Z?, save: z}\n"
STARTS += "  s: {start: /b, contact: '6281234567890'%s, then: end}"


@pytest.mark.parametrize(
    ("given", "variable", "code"),
    [
        ("", "text", ["W308"]),
        ("", "{type: text, keep: true}", ["W301"]),  # the other contact's, which nobody can pass on
        (", with: {z: '{{ x }}'}", "text", ["W301"]),
        (", with: {z: '{{ z }}'}", "text", []),
        (", with: {z: Hello}", "text", []),
        ("", "{type: text, value: Ana}", []),
    ],
)
def test_a_flow_that_only_a_step_starts_for_others_has_what_the_step_gives(
    given: str, variable: str, code: list[str]
) -> None:
    started = f"flow: b\nvars: {{z: {variable}}}\nsteps: {{w: {{say: 'Hi {{{{ z }}}}', then: end}}}}"
    assert [each.code for each in find_uninitialised(Graph(library(STARTS % given, started)))] == code
