"""Texts that are written and empty where one is needed: a problem, because nothing could be sent."""

import pytest

from tests.talk import problems_of

VARS = "vars: {n: integer}\n"


def found(step: str) -> list[str]:
    problems = problems_of(f"flow: main\nstart: {{otherwise: true}}\n{VARS}steps:\n  a: {step}\n")
    return [each.partition(" E105 ")[2] or each for each in problems]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{say: ''}", 'step "a": there is nothing to say (write the text)'),
        ("{say: ' '}", 'step "a": there is nothing to say (write the text)'),
        (
            "{say: '', link: {title: Go, url: 'https://a.example'}}",
            'step "a": there is nothing to say (write the text)',
        ),
        (
            "{say: See, link: {title: '', url: 'https://a.example'}}",
            'step "a": link: the title is empty (write what the button says)',
        ),
        (
            "{ask: How many?, save: n, retry: {say: ''}}",
            'step "a": retry: say: the text is empty (write one, or leave it out)',
        ),
        (
            "{ask: How many?, save: n, retry: {ask: ''}}",
            'step "a": retry: ask: the text is empty (write one, or leave it out)',
        ),
        (
            "{ask: How many?, save: n, retry: {say: {any: [Again., '']}}}",
            'step "a": retry: say: the text is empty (write one, or leave it out)',
        ),
        ("{ask: Well?, buttons: {'': end, B: end}}", "a title is empty (write what the contact chooses)"),
        ("{ask: Well?, options: ['', B]}", "a title is empty (write what the contact chooses)"),
    ],
)
def test_an_empty_text_is_a_problem_where_one_is_needed(step: str, problem: str) -> None:
    assert found(step) == [problem]


@pytest.mark.parametrize(
    "step",
    [
        "{ask: ''}",
        "{ask: , then: end}",
        "{say: '', image: 'https://a.example/x.jpg'}",
        "{say: '', location: {latitude: 38.7, longitude: -9.1}}",
        "{say: {any: ['', Well.]}}",
        "{say: '{% if n %}Many.{% endif %}'}",
    ],
)
def test_a_text_may_be_empty_where_something_else_is_sent_or_nothing_is_meant(step: str) -> None:
    assert found(step) == []


def test_a_text_for_each_language_is_told_where_the_languages_stand() -> None:
    (problem,) = problems_of("flow: main\nsteps: {a: {say: {de: Hallo}}}\n")
    fix = "write one text, in the first of the `languages` of bot.yml; those in de stand in locales/de.yml"
    assert f'E104 step "a": say: unknown key "de" ({fix})' in problem
    (problem,) = problems_of("flow: main\nsteps: {a: {say: {or: Hallo}}}\n")
    assert "known here: any" in problem
