"""The table of docs/language/routing.md, "Who gets a reply": who hears a message while the conversation waits for something."""

import re

import pytest

from bot.language.flow.documents import Source
from bot.loading.folder import Folder
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import run
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
  a: {STEP}
---
flow: inner
words: {how: {say: So.}}
steps: {a: {ask: Inner?, options: [A, B], then: end}}
---
flow: hours
start: {words: [hours]}
steps: {a: {say: Nine to six., then: end}}
"""
ASK, TEMPLATE = "ask: Outer?, options: [A, B], then: end", "template: {name: x, language: en}, replies: {A: end}"
SAY = "say: Outer., window_closed: {template: {name: x, language: en}, wait: true}, then: end"
AI = "ai: Talk., turns: {max: 3, else: end}, exits: {x: {when: bye, then: end}}"
TOLD = {"menu": "Menu.", "why": "Because.", "hours": "Nine to six.", "how": "So.", "hm": "Again."}
HEARD = {
    ASK: {"menu", "why", "hours", "hm"},
    TEMPLATE: {"menu", "why", "hours", "hm"},
    SAY: {"menu", "why"},
    AI: {"menu", "why"},
    "wait: 1h, then: end": {"menu", "why", "hours"},
    "run: /inner, then: end": {"menu", "how", "hm"},
    "handoff: team, closed: end": set(),
}


@pytest.mark.parametrize(("step", "heard"), HEARD.items())
def test_who_hears_a_message_while_the_step_waits(step: str, heard: set[str]) -> None:
    flows = WAITING.replace("STEP", step)
    for word, answer in TOLD.items():
        talk = Talk(flows, BOT)
        if step is SAY:
            talk.start("waiting")  # while the window is closed
        else:
            talk.user("begin")
        if talk.asked:
            talk.model("Hello.")
        assert ((talk.user(word) or [""])[0] == answer) is (word in heard), (step, word)


def test_in_no_flow_the_bots_words_and_starts_are_heard() -> None:
    talk = Talk(WAITING.replace("STEP", ASK), BOT)
    assert [talk.user(word) for word in ("menu", "why", "hm", "hours")] == [["Menu."], [], [], ["Nine to six."]]


CALL = """
test: a message during a request is handled when the answer has come
talk:
  - user: begin
  - meanwhile: menu
  - http: {"GET https://stock.example/tea": 200}
  - bot: {contains: Outer?}
  - bot: Menu.
"""


def test_during_a_request_a_message_waits() -> None:
    flow = WAITING.replace("STEP", 'http: "GET https://stock.example/tea"}\n  b: {' + ASK)
    files = {"bot.yml": BOT, "a.yml": flow, "b.yml": CALL}
    folder = Folder(ROOT, tuple(Source(name, text.encode()) for name, text in files.items()), ())
    loaded = load_with_tests(folder)
    assert loaded.program is not None, loaded.problems
    assert [run(test, loaded.program, folder) for test in loaded.transcripts] == [None]


def test_each_row_is_tried_here() -> None:
    assert len(ROWS) == 8
