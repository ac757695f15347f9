"""The table of docs/language/routing.md, "Who gets a reply": who hears a message while the conversation waits for something."""

import re

import pytest

from bot import handler
from tests.docs.test_docs import ROOT
from tests.talk import Talk

ROWS = re.findall(
    r"^\| (at|in|for) ", (ROOT / "docs/language/routing.md").read_text().partition("| it waits |")[2], re.M
)
BOT = """
name: T
words: {menu: {say: Menu.}}
defaults: {timeout: {after: 20h, then: end}, retry: {max: 9, say: Again., else: end}, errors: {else: end}}
"""
WAITING = """
flow: waiting
start: {words: [begin]}
interrupted: resume
words: {why: {say: Because.}}
steps:
  a: {STEP, then: end}
---
flow: inner
words: {how: {say: So.}}
steps: {a: {ask: Inner?, options: [A, B], then: end}}
---
flow: hours
start: {words: [hours]}
steps: {a: {say: Nine to six., then: end}}
"""
ASK, TEMPLATE = "ask: Outer?, options: [A, B]", "template: {name: x, language: en}, replies: {A: end}"
AI = "ai: Talk., turns: {max: 3, else: end}, exits: {x: {when: bye, then: end}}"
TOLD = {"menu": "Menu.", "why": "Because.", "hours": "Nine to six.", "how": "So.", "hm": "Again."}
HEARD = {
    ASK: {"menu", "why", "hours", "hm"},
    TEMPLATE: {"menu", "why", "hours", "hm"},
    AI: {"menu", "why"},
    "wait: 1h": {"menu", "why", "hours"},
    "run: /inner": {"menu", "how", "hm"},
    "handoff: team, closed: end": set(),
}


@handler("look")
def look() -> int:
    return 1


@pytest.mark.parametrize(("step", "heard"), HEARD.items())
def test_who_hears_a_message_while_the_step_waits(step: str, heard: set[str]) -> None:
    flows = (
        WAITING.replace("STEP", step).replace("}}, then: end", "}}").replace("closed: end, then: end", "closed: end")
    )
    for word, answer in TOLD.items():
        talk = Talk(flows, BOT, {"look": look})
        talk.user("begin")
        if talk.asked:
            talk.model("Hello.")
        assert ((talk.user(word) or [""])[0] == answer) is (word in heard), (step, word)


def test_in_no_flow_the_bots_words_and_starts_are_heard() -> None:
    talk = Talk(WAITING.replace("STEP", ASK), BOT)
    assert [talk.user(word) for word in ("menu", "why", "hm", "hours")] == [["Menu."], [], [], ["Nine to six."]]


def test_each_row_is_tried_here() -> None:
    assert len(ROWS) == 7
