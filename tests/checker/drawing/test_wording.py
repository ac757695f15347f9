"""Texts of flows, made short for a drawing."""

import pytest

from bot.checker.drawing.drawing_model import listed, outcome_label, plain, short


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hi {{ contact.name | default('there') }}!", "Hi {contact.name}!"),
        ("{{ 1 + 2 }} and {{- it -}}.", "{1} and {it}."),
        ("{{ 'x' if y else 'z' }}", "{…}"),
        ("One\n\n  two\t{% if x %}three{% endif %}", "One two three"),
        ("A\u202eB\x07", "A B"),
        ("👨‍👩‍👧", "👨‍👩‍👧"),
    ],
)
def test_a_text_is_one_line_with_the_names_of_its_values(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [("Which day suits you?", "Which day…"), ("Whichdaysuitsyou", "Whichdaysui…"), ("Short", "Short"), ("", "")],
)
def test_a_long_text_ends_at_a_word_where_there_is_one_near(text: str, shown: str) -> None:
    assert short(text, 12) == shown


def test_a_text_is_cut_between_whole_characters() -> None:
    assert short("👨‍👩‍👧" * 9, 12) == "👨‍👩‍👧" * 2 + "…"


def test_many_labels_are_two_and_a_number() -> None:
    assert listed(["Mon"]) == "Mon"
    assert listed(["Mon", "Tue"]) == "Mon, Tue"
    assert listed(["Mon", "Tue", "Wed", "Thu", "Fri"]) == "Mon, Tue, +3"


@pytest.mark.parametrize(
    ("outcome", "label"),
    [
        ("then", ""),
        ("[Our shop]", "Our shop"),
        ("exits.person", "person"),
        ("if 2: size == 'S'", "if size == 'S'"),
        ("errors.404", "errors.404"),
        ("timeout", "timeout"),
    ],
)
def test_an_outcome_has_its_name_without_what_is_made_up(outcome: str, label: str) -> None:
    assert outcome_label(outcome) == label
