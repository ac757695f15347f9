"""W004: values that are written as in other tools, so that a contact reads the braces."""

import pytest

from tests.checker.proved import only

BEGIN = "flow: a\nstart: {words: [a]}\nvars: {cups: {type: integer, value: 2}, order: {type: object}}\nsteps:\n"


@pytest.mark.parametrize(
    ("text", "found", "name", "fix"),
    [
        ("We bring {cups} cups.", "{cups}", "cups", "{{ cups }}"),
        ("We bring ${cups} cups.", "${cups}", "cups", "{{ cups }}"),
        ("For { contact.name }", "{ contact.name }", "contact", "{{ contact.name }}"),
        ("Number {order.number}, {{ cups }}", "{order.number}", "order", "{{ order.number }}"),
    ],
)
def test_a_variable_in_single_braces_is_found(text: str, found: str, name: str, fix: str) -> None:
    assert only("W004").found(BEGIN + f'  b: {{say: "{text}"}}') == [
        f'flow1.yml:5:12: W004 "{found}" is sent as it stands here, and not the value of "{name}" (write "{fix}")'
    ]


@pytest.mark.parametrize(
    "text", ["{{ cups }}", "{{cups}}", "{%- if cups %}{{cups}}{% endif %}", "{smile}", "{}", "{Cups}"]
)
def test_other_braces_are_not(text: str) -> None:
    assert only("W004").found(BEGIN + f'  b: {{say: "{text}"}}') == []


def test_a_variable_of_another_flow_is_not() -> None:
    other = "flow: c\nstart: {words: [c]}\nsteps:\n  d: {say: '{cups}'}"
    assert only("W004").found(BEGIN + "  b: {say: Hello}", other) == []


def test_each_of_several_wordings_is_looked_at() -> None:
    assert only("W004").found(BEGIN + "  b: {say: {any: [Hello, '{cups} cups']}}") == [
        'flow1.yml:5:26: W004 "{cups}" is sent as it stands here, and not the value of "cups" (write "{{ cups }}")'
    ]
