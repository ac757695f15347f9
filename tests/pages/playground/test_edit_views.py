"""What the form of texts answers to requests that the page does not make."""

import json
from pathlib import Path

from tests.pages.playground.conftest import FLOWS, Serves
from tests.pages.playground.test_playground_app import CONTACT, DEEP, Served, ask, do

SAY = {"id": '["", "main", "hello", "say", 0]', "was": "Hello *you*", "text": "Mine"}
SAVE = {"do": "save", "flow": "main", "step": "hello", "edits": [SAY]}


def flow_of(folder: Path) -> str:
    return (folder / "flows" / "main.yml").read_text()


def test_only_this_machines_own_page_edits_a_text(served: Served, tmp_path: Path) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}):
        assert ask(served, "/texts", SAVE, headers)[0] == 403
        assert ask(served, "/texts?flow=main&step=hello", headers=headers)[0] == 403
    assert ask(served, "/texts", json.dumps(SAVE).encode(), {"Content-Type": "text/plain"})[0] == 415
    assert flow_of(tmp_path) == FLOWS
    assert ask(served, "/texts", SAVE, {"Origin": served[1].url.rstrip("/")})[0] == 200
    assert flow_of(tmp_path) == FLOWS.replace('"Hello *you*"', '"Mine"')


BODIES = ["[" * 100_000, f'{{"do": {DEEP}}}', f'{{"do": "save", "edits": {DEEP}}}', "{", "[]", "1", "", '{"do": "save"}',
          '{"do": "save", "edits": 7}', '{"do": "try", "edits": ["a"]}', '{"do": "try", "edits": [{"id": 1}]}',
          '{"do": "try", "edits": [{"id": "block", "was": "", "text": "\\ud800"}]}', '{"do": "take_back", "number": 1e400}',
          '{"do": "take_back", "number": -1}', '{"do": "take_back", "number": "9"}',
          json.dumps(SAVE | {"edits": [SAY | {"text": "\ud800"}]}), json.dumps(SAVE | {"edits": [SAY | {"text": "\udcff"}]}),
          json.dumps(SAVE | {"edits": [SAY | {"was": "other"}]}), json.dumps(SAVE | {"edits": [SAY | {"id": "../../x"}]}),
          json.dumps(SAVE | {"edits": [{"id": "block", "was": 'hello: {say: "Hello *you*"}', "text": "\ud800"}]}),
          json.dumps(SAVE | {"edits": [{"id": "block", "was": 'hello: {say: "Hello *you*"}', "text": "a\u0000: ["}]})]  # fmt: skip


def test_no_json_whatever_is_a_failure_of_the_server_or_a_change(served: Served, tmp_path: Path) -> None:
    for body in BODIES:
        status, _, text = ask(served, "/texts", body.encode())
        assert status in (200, 400, 409), (body[:100], text)
        assert flow_of(tmp_path) == FLOWS, body[:100]


def test_what_no_file_says_is_answered_with_a_sentence(served: Served) -> None:
    assert do(served, do="write", text="hi")[0] == 200
    for query, why in (
        ("flow=no&step=no", "the files say nothing here that contacts read"),
        ("bubble=99&contact=15555550100", "there is no such message of the bot's"),
        ("bubble=x&contact=15555550100", "there is no such message of the bot's"),
        ("bubble=1&contact=7", "there is no contact 7"),
    ):
        status, _, text = ask(served, f"/texts?{query}")
        assert (status, json.loads(text)["error"]) == (409, why)


BUILT_IN = """
flow: main
start: {otherwise: true}
vars: {cups: {type: integer}}
steps:
  cups: {ask: How many?, save: cups}
  done: {say: "{{ cups }}!", then: end}
"""


def test_a_message_that_is_built_in_opens_the_step_that_sent_it(serves: Serves) -> None:
    served = serves(BUILT_IN)
    playground = served[0]
    for text in ("hi", "lots"):
        assert do(served, do="write", text=text)[0] == 200
        playground.simulation.settle()
    shown = [bubble for bubble in playground.chats.bubbles(CONTACT) if bubble.message is not None]
    assert shown[-1].message is not None and shown[-1].message.text not in ("How many?", "")
    status, _, form = ask(served, f"/texts?bubble={shown[-1].number}&contact={CONTACT}")
    assert status == 200 and "Texts of main/cups" in form and "data-said" not in form
