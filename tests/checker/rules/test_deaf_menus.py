"""W704: the first question of the bot is deaf to words that start its flows."""

import pytest

from tests.checker.proved import only

BOT = "name: Test\nwords: {staff: /hours}\ndefaults: {timeout: {after: 20h, then: end}}\n"
FLOWS = """
flow: order
start: {words: [hi], otherwise: true}
vars: {drink: text}
steps: {drink: {ask: Which drink?, options: [Coffee, Tea], save: drink}}
---
flow: hours
start: {words: [hours, when are you open, staff]}
steps: {hours: {say: From 9 to 18., then: end}}
"""


def found(flows: str) -> list[str]:
    return [each.what for each in only("W704").findings(flows, bot=BOT)]


def test_a_question_with_choices_alone_hears_no_start() -> None:
    assert found(FLOWS.replace(", staff", "")) == [
        'step "drink": whoever is asked this is not heard with "hours", "when are you open", which start other flows'
    ]


def test_it_hears_no_topic_either() -> None:
    (what,) = found(FLOWS.replace("words: [hours, when are you open, staff]", "topics: [crisis, complaint]"))
    assert '"I want to die", "I have a complaint", which start other flows' in what


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("vars: {drink: text}", "interrupted: drop\nvars: {drink: text}"),
        ("otherwise: true", "match: whole"),
        (", options: [Coffee, Tea]", ""),
        ("options: [Coffee, Tea], save: drink", "options: {Coffee: end, Opening hours: /hours}"),
        ("save: drink", "save: drink, other: {say: One moment., then: route}"),
        ("[Coffee, Tea]", "[Hours, Open]"),
    ],
)
def test_a_question_that_hears_them_or_leads_on_is_fine(before: str, after: str) -> None:
    flows = FLOWS.replace(", staff", "").replace("hours, when are you open", "hours")
    assert found(flows.replace(before, after)) == []
