"""W401 to W405: texts that are too long or empty or on several lines, choices that are too many, too few or the same."""

import pytest

from bot.checker.rules.text_lengths import notes
from tests.checker.proved import library, only

TEXTS = only("W303", "W401", "W402", "W403", "W404", "W405", "W301")

BEGIN = """
flow: a
start: {words: [a]}
vars:
  city: {type: text, max: 30, value: Ubud}
  size: {type: choice, of: [Small, Large], value: Small}
  other: {type: choice, of: [Large, Huge], value: Huge}
  vip: {type: boolean, value: false}
  count: {type: integer, min: 1, max: 2000, value: 1}
  day: {type: date, value: 2030-01-01}
  name: {type: text, value: Ana}
  picked: {type: list, value: []}
  few: {type: list, max: 2, value: []}
  lots: {type: list, max: 150, value: []}
steps:
"""


def found(
    *steps: str, bot: str = "name: T\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}"
) -> list[str]:
    lines = "".join(f"  {step}\n" for step in steps)
    return [f"{finding.code} {finding.what}" for finding in TEXTS.findings(BEGIN + lines, bot=bot)]


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (
            'b: {ask: Which?, buttons: {"To {{ city }}": end, Other: end}}',
            'step "b": title may have 33 characters with city = a text of 30, 20 are allowed: it is cut',
        ),
        (
            'b: {ask: Which?, options: {"For {{ count }} people and two more": end, Other: end}}',
            'step "b": title may have 28 characters with count = "2000", 24 are allowed: it is cut',
        ),
        (
            'b: {ask: Which?, many: true, save: picked, options: ["{{ city | truncate(24) }}", Other]}',
            'step "b": title may have 24 characters with city = a text of 30, 22 are allowed: it is cut',
        ),
        (
            'b: {say: Look, link: {title: "{{ day | date("full") }}", url: "https://a.example"}}'.replace('"full"', "'full'"),
            'step "b": title may have 27 characters with day = "2030-09-25", 20 are allowed: it is cut',
        ),
        (
            f'b: {{say: Look, link: {{title: Go, url: "https://a.example/{"x" * 1970}{{{{ city | truncate(20) }}}}"}}}}',
            'step "b": url may have 2008 characters with city = a text of 30, 2000 are allowed: it is refused',
        ),
        (
            f'b: {{ask: Which?, header: "{"x" * 40}{{{{ city if vip else size }}}}", buttons: [A, B], save: name}}',
            'step "b": header may have 70 characters with city = a text of 30, size = "Small", vip = "true", 60 are allowed: it is cut',
        ),
        (
            'b: {ask: Well?, retry: {max: 1, say: "' + "x" * 4097 + '", else: end}}',
            'step "b": retry: say may have 4097 characters, 4096 are allowed: it is cut',
        ),
        (
            'b: {ask: Well?, words: {x: {ask: "' + "x" * 1020 + '{{ size }}"}}, buttons: [A, B], save: name}',
            'step "b": word "x": ask may have 1025 characters with size = "Small", 1024 are allowed: it is cut',
        ),
    ],
)  # fmt: skip
def test_the_longest_value_that_is_declared_does_not_fit(step: str, what: str) -> None:
    assert found(step) == [f"W401 {what}"]


@pytest.mark.parametrize(
    "step",
    [
        'b: {ask: Which?, buttons: {"To {{ city | truncate(17) }}": end, Other: end}}',
        'b: {ask: Which?, buttons: {"{{ name }}": end, Other: end}}',
        'b: {ask: Which?, options: {"For {{ count }} and two more": end, Other: end}}',
        'b: {ask: Which?, show: numbers, options: {"For {{ count }} people, and then two more": end, Other: end}}',
        'b: {ask: Which?, options: {from: few, title: "{{ it.name }}"}, save: name}',
        'b: {say: "Look at {{ contact.name }}, {{ city }} and {{ name }}"}',
        f"b: {{ask: Which?, header: \"{'x' * 40}{{{{ city if size == 'Tiny' else size }}}}\", buttons: [A, B], save: name}}",
    ],
)
def test_what_fits_or_is_not_known_is_none(step: str) -> None:
    assert found(step) == []


def test_a_check_of_a_variable_bounds_it() -> None:
    flow = """
flow: a
start: {words: [a]}
vars: {city: {type: text, max: 90, value: Ubud, check: {if: "it | truncate(9) == it"}}}
steps:
  b: {ask: Which?, buttons: {"{{ city }}": end, Other: end}}
"""
    assert TEXTS.findings(flow) == []
    assert [finding.code for finding in TEXTS.findings(flow.replace("(9)", "(90)"))] == ["W401"]


def test_a_conditions_choice_is_as_long_as_it_is_where_it_is_shown() -> None:
    short = (
        'b: {ask: Which?, buttons: {"{{ size }} and {{ city }}": {if: size == "Tiny", then: end}, Other: end, C: end}}'
    )
    assert [each[:4] for each in found(short)] == ["W303"]


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (
            "b: {ask: Which?, options: {from: lots}, save: name}",
            'step "b": lots may have 150 elements, 100 can be shown',
        ),
        (
            "b: {ask: Which?, options: {from: few}, many: {min: 3}, save: picked}",
            'step "b": 3 answers are asked for, and there may be 2 to choose from',
        ),
        (
            "b: {ask: Which?, options: {A: {value: a}, B: {value: b, if: vip}}, many: {min: 2}, save: picked}",
            'step "b": 2 answers are asked for, and there may be 1 to choose from with vip = "false"',
        ),
    ],
)
def test_there_are_too_many_choices_or_too_few(step: str, what: str) -> None:
    assert found(step) == [f"W402 {what}"]


@pytest.mark.parametrize(
    "step",
    [
        "b: {ask: Which?, options: {from: picked}, save: name}",
        "b: {ask: Which?, options: {from: picked}, many: {min: 3}, save: picked}",
        "b: {ask: Which?, options: {from: few, extra: {X: {value: x}}}, many: {min: 3}, save: picked}",
        "b: {ask: Which?, options: {A: {value: a, if: not vip}, B: {value: b, if: vip}, C: {value: c}}, many: {min: 2}, save: picked}",
    ],
)
def test_there_are_choices_enough(step: str) -> None:
    assert found(step) == []


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (
            'b: {ask: Which?, buttons: {"{{ size }}": end, "{{ other }}": end}}',
            'step "b": "{{ other }}" reads like "{{ size }}" with other = "Large", size = "Large"',
        ),
        (
            'b: {ask: Which?, buttons: {"{{ size }}": end, Large: end}}',
            'step "b": "Large" reads like "{{ size }}" with size = "Large"',
        ),
        (
            "b: {ask: Which?, options: {from: few, title: One of them}, save: name}",
            'step "b": each choice reads "One of them", whatever it stands for',
        ),
    ],
)
def test_titles_may_be_the_same(step: str, what: str) -> None:
    assert found(step) == [f"W403 {what}"]


@pytest.mark.parametrize(
    "step",
    [
        'b: {ask: Which?, buttons: {"{{ size }}": end, Huge: end}}',
        'b: {ask: Which?, buttons: {"{{ size }}": end, Large: {if: size == "Small", then: end}, C: end}}'.replace('"Small"', "'Small'"),
        'b: {ask: Which?, buttons: {"{{ name }}": end, Large: end}}',
    ],
)  # fmt: skip
def test_titles_that_differ_or_are_not_known_are_none(step: str) -> None:
    assert found(step) == []


@pytest.mark.parametrize(
    ("step", "what"),
    [
        ('b: {ask: "{% if vip %}Which?{% endif %}"}', 'step "b": ask is empty with vip = "false"'),
        (
            "b: {template: {name: t, language: en, body: [\"{{ size if vip else '' }}\"]}}",
            'step "b": text is empty with size = "Small", vip = "false"',
        ),
        (
            'b: {say: See, image: "{% if vip %}https://a.example/a.png{% endif %}"}',
            'step "b": image is empty with vip = "false"',
        ),
    ],
)
def test_what_is_needed_may_be_empty(step: str, what: str) -> None:
    assert found(step) == [f"W404 {what}, and the gateway refuses the message"]


@pytest.mark.parametrize(
    "step",
    [
        'b: {say: "{% if vip %}Which?{% endif %}", then: c}\n  c: {wait: 1h}',
        'b: {ask: "{% if vip %}Which?{% else %}What?{% endif %}"}',
        "b: {template: {name: t, language: en, body: [\"{{ contact.name | default('there') }}\"]}}",
        'b: {ask: "Well, {% if vip %}which?{% endif %}"}',
    ],
)
def test_what_may_be_empty_or_is_not_is_none(step: str) -> None:
    assert found(step) == []


def test_what_null_leaves_open_is_told_once() -> None:
    flow = """
flow: a
start: {words: [a]}
vars: {link: {type: text}}
steps:
  b: {say: See, link: {title: Go, url: "{{ link }}"}}
"""
    assert [finding.code for finding in TEXTS.findings(flow)] == ["W301"]


def test_what_nobody_can_bound_is_noted() -> None:
    steps = '  b: {ask: "Well, {{ name }}?", buttons: {"{{ name }}": end, "{{ size }}": end, "{{ name | truncate(9) }}": end}}\n'
    found = [f"{note.mark}: {note.what}" for note in notes(library(BEGIN + steps))]
    assert found == [
        'flow1.yml:16:12: step "b": ask: at most 1024 characters are sent',
        'flow1.yml:16:43: step "b": title: at most 20 characters are sent',
    ]


@pytest.mark.parametrize(
    ("body", "broken"),
    [
        ("one\\ntwo", True),
        ("one\\ttwo", True),
        ("one     two {{ city }}", True),
        ("one    two", False),
        ("{{ city }}", False),
        ("one\\n", False),
    ],
)
def test_a_parameter_of_a_template_has_one_line_and_no_run_of_spaces(body: str, broken: bool) -> None:
    codes = [
        line.split()[0] for line in found(f'  a: {{template: {{name: t, language: en, body: ["{body}"]}}, then: end}}')
    ]
    assert codes == (["W405"] if broken else [])


@pytest.mark.parametrize(
    ("steps", "empty"),
    [
        ("b: {ask: '{% for p in picked %}{{ p }}{% endfor %}'}", "picked = null"),
        ("b: {ask: '{% for p in picked %}{{ p }} {{ city }} {{ day }} {{ size }} {{ count }} {{ other }}{% endfor %}'}",
         'city = a text of 30, count = "2000", day = "2030-09-20", other = "Large", picked = null, size = "Small"'),
        ("b: {ask: '{% for row in order.rows %}{{ row.name }}{% endfor %}'}", 'order = {"rows": []}'),
        ("b: {branch: [{if: picked, then: c}, {else: end}]}\n  c: {ask: '{% for p in picked %}{{ p }}{% endfor %}'}", ""),
        ("b: {ask: '{% for p in picked %}{{ p }}{% else %}None.{% endfor %}'}", ""),
        ("b: {ask: '{% for row in order.rows %}{{ row.name }}{% else %}None.{% endfor %}'}", ""),
    ],
)  # fmt: skip
def test_a_loop_that_may_go_through_nothing(steps: str, empty: str) -> None:
    begun = BEGIN.replace("steps:", "  order: {type: object, value: {x: 1}}\nsteps:")
    texts = [each for each in TEXTS.findings(f"{begun}  {steps}") if each.code == "W404"]
    assert [each.what.partition(" with ")[2].partition(", and the")[0] for each in texts] == [empty] * bool(empty)
