"""`bot import` of Typebot's exports: damaged files, the command, and the exports beside the project."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from bot.cli.importing.export_files import read_export
from bot.cli.importing.imported import ExportFile, Fate, UnreadableExport
from bot.cli.importing.typebot import recognises
from tests.cli.importing.typebot.exports import block, buttons, custom, export, imported, proved, text
from tests.cli.terminal import call

SHARED = Path(__file__).parents[5] / "shared" / "imports" / "typebot"
SHOP = export(
    ("Hello", [text("Hi!"), text("Tea or cake?"), buttons("Tea", "Cake", variable="What", edges={"Tea": "Tea"})]),
    ("Tea", [text("One {{What}}.")]),
    variables="What",
)


def nested(document: Any, *path: str | int, value: Any) -> Any:
    """The document with another value at a path."""
    copy = json.loads(json.dumps(document))
    part = copy
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (nested(SHOP, "version", value="2"), "0.json: $.version: it has version 2, not 3 to 6"),
        (nested(SHOP, "groups", 0, "blocks", value="x"), "0.json: $.groups[0].blocks: a list is expected, not 'x'"),
        (nested(SHOP, "groups", 0, "blocks", 1, "id", value=7), "$.groups[0].blocks[1].id: a text is expected, not 7"),
        (nested(SHOP, "edges", 0, "to", value="x"), "0.json: $.edges[0].to: an object is expected, not 'x'"),
        (nested(SHOP, "variables", value="x"), "0.json: $.variables: a list is expected, not 'x'"),
    ],
)
def test_a_damaged_export_is_refused_by_its_place(damaged: Any, message: str) -> None:
    with pytest.raises(UnreadableExport) as refused:
        imported(damaged)
    assert message in str(refused.value)


def test_the_command_writes_a_bot_with_a_test_of_each_conversation(tmp_path: Path) -> None:
    file = tmp_path / "shop.json"
    file.write_text(json.dumps(SHOP))
    assert recognises(read_export([file]))
    written = call("import", file, tmp_path / "shop", "--verify")
    assert (written.code, written.out.splitlines()[0]) == (0, "4 nodes of Typebot: 4 the same, 0 nearly, 0 lost.")
    assert "3 conversations of the export: 3 the same" in written.out
    assert (tmp_path / "shop/tests/test_imported.yml").read_text().count("test:") == 3
    assert "no problems" in written.out and f"`bot dev {tmp_path / 'shop'}`" in written.out


@pytest.mark.parametrize("version", ["3", None])
def test_up_to_version_5_a_block_is_the_start(version: str | None, tmp_path: Path) -> None:
    edge = SHOP["events"][0]["outgoingEdgeId"]
    begin = {"id": "g 0", "title": "Start", "blocks": [{"id": "b 0", "type": "start", "outgoingEdgeId": edge}]}
    old = SHOP | {"version": version, "events": None, "groups": [begin, *SHOP["groups"]]}
    bot, proof = proved(tmp_path, old)
    assert bot.flows["shop"] == imported(SHOP).flows["shop"]
    assert (proof.conversations, proof.alike) == (3, 3)


def test_the_oldest_exports_say_block_and_step(tmp_path: Path) -> None:
    edge = SHOP["events"][0]["outgoingEdgeId"]
    begin = {"id": "g 0", "title": "Start", "blocks": [{"id": "b 0", "type": "start", "outgoingEdgeId": edge}]}
    new = {"groups": [begin, *SHOP["groups"]], "edges": SHOP["edges"]}
    words = json.dumps(new).replace('"blocks"', '"steps"').replace('"groups"', '"blocks"')
    words = words.replace('"blockId"', '"stepId"').replace('"groupId"', '"blockId"')
    old = {"name": "Shop", "variables": SHOP["variables"], "settings": {}, **json.loads(words)}
    assert recognises([ExportFile(tmp_path / "old.json", old)])
    bot, proof = proved(tmp_path, old)
    assert bot.flows["shop"] == imported(SHOP).flows["shop"]
    assert (proof.conversations, proof.alike) == (3, 3)


def test_a_redirect_without_an_address_says_nothing(tmp_path: Path) -> None:
    bot, proof = proved(tmp_path, export(("Hello", [text("Hi!"), block("Redirect"), text("Bye.")])))
    assert (proof.messages, proof.differences) == (2, ()) and "―" not in str(bot.flows)


def test_a_request_that_an_old_export_lacks_is_lost() -> None:
    bot = imported(export(("Hello", [block("Webhook") | {"webhookId": "w 1"}, text("Done.")])))
    assert (
        bot.nodes[0].note == "the export of an old version lacks the request of this Webhook: write it as an http step"
    )
    assert bot.nodes[0].fate is Fate.LOST and "call" in bot.flows["shop"]["steps"]["hello"]


def test_what_acts_on_a_web_page_alone_is_left_out(tmp_path: Path) -> None:
    page = [block("Pixel", pixelId="1"), block("Code", content="window.fbq('track')")]
    bot, proof = proved(tmp_path, export(("Hello", [text("Hi!"), *page, text("Bye.")])))
    assert [*bot.flows["shop"]["steps"].values()] == [{"say": "Hi!"}, {"say": "Bye.", "then": "end"}]
    assert {node.note for node in bot.nodes[1:3]} == {
        "it acts on a web page alone: left out, as Typebot does in WhatsApp"
    }
    assert (proof.conversations, proof.alike) == (1, 1)


def test_a_picture_that_the_gateway_does_not_take_is_lost(tmp_path: Path) -> None:
    url = "https://shop.example/a.webp"
    pictures = block("picture choice input", items=[{"pictureSrc": url, "title": "Tea"}])
    bot, _ = proved(tmp_path, export(("Hello", [block("image", content={"url": url}), text("Hi!"), pictures])))
    lost = [node.note for node in bot.nodes if node.fate is Fate.LOST]
    assert len(lost) == 2 and all("the gateway takes no .webp" in note for note in lost)


@pytest.mark.parametrize("question", [buttons("Yes"), block("text input")])
def test_a_question_takes_the_text_above_a_picture_that_is_not_sent(question: Any, tmp_path: Path) -> None:
    picture = block("image", content={"url": "https://shop.example/a.gif"})
    bot, proof = proved(tmp_path, export(("Hello", [text("Ready?"), picture, question])))
    assert [step["ask"] for step in bot.flows["shop"]["steps"].values()] == ["Ready?"] and proof.differences == ()


def test_variables_are_not_called_as_what_a_request_gives(tmp_path: Path) -> None:
    request = block("Webhook", webhook={"url": "https://shop.example/x", "method": "GET"}, responseVariableMapping=[
        {"variableId": "v status", "bodyPath": "data.state"}
    ])  # fmt: skip
    _, proof = proved(tmp_path, export(("Hello", [request, text("{{status}}")]), variables="status"))
    assert proof.differences == ()


def test_buttons_stand_below_a_text_and_not_below_an_address(tmp_path: Path) -> None:
    page = block("embed", content={"url": "https://shop.example/page"})
    _, proof = proved(tmp_path, export(("Hello", [page, buttons("Yes")])))
    assert proof.differences == ()


def test_a_linked_bot_that_is_missing_is_named(tmp_path: Path) -> None:
    bot = imported(export(("Hello", [block("Typebot link", typebotId="other")])))
    assert "the linked bot is not in the export: import its file as well" in bot.nodes[0].note


def test_a_question_takes_the_text_above_it_as_its_words() -> None:
    steps = imported(SHOP).flows["shop"]["steps"]
    assert steps == {
        "hello": {"say": "Hi!"},
        "hello_2": {
            "ask": "Tea or cake?",
            "match": "exact",
            "options": {"Tea": {"value": "Tea", "then": "tea"}, "Cake": {"value": "Cake"}},
            "retry": {"ask": "Invalid message. Please, try again."},
            "save": "what",
            "then": "end",
        },
        "tea": {"say": "One {{ what }}.", "then": "end"},
    }


def test_groups_that_nothing_leads_to_are_a_flow_of_their_own(tmp_path: Path) -> None:
    bot, proof = proved(tmp_path, export(("Hello", [text("Hi!")]), ("Later", [text("Not yet."), text("Bye.")])))
    assert [*bot.flows] == ["shop", "later", "unfinished"]
    assert (proof.conversations, proof.alike) == (2, 2)


def test_another_bot_is_run_with_the_variables_of_the_same_name(tmp_path: Path) -> None:
    main = export(
        ("A", [custom("Name", "'Ann'"), block("Typebot link", typebotId="id of Other"), text("Back, {{Name}}.")]),
        variables="Name",
    )
    other = export(("A", [text("{{Name}}?"), block("text input", "Name")]), name="Other", variables="Name")
    bot, proof = proved(tmp_path, main, other)
    assert bot.flows["shop"]["steps"]["a_2"] == {
        "run": "/other",
        "with": {"name": "{{ name }}"},
        "save": {"name": "name"},
    }
    assert proof.differences == () and proof.messages == 3


def test_lost_code_is_a_handler_that_raises_and_a_failure_leads_to_a_person(tmp_path: Path) -> None:
    made = export(("A", [custom("X", "const a = 1; return a"), text("{{X}}")]), variables="X")
    bot, proof = proved(tmp_path, made)
    assert "const a = 1; return a" in bot.functions["a_x"].doc
    assert bot.settings["defaults"]["errors"]["else"]["then"] == "/unfinished"
    assert [node.fate for node in bot.nodes] == [Fate.LOST, Fate.SAME] and proof.differences == ()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the exports do not lie beside the project")
@pytest.mark.parametrize("file", sorted(SHARED.glob("*.json")), ids=lambda file: file.stem)
def test_an_export_beside_the_project_has_no_difference_without_a_reason(file: Path, tmp_path: Path) -> None:
    begun = time.process_time()
    _, proof = proved(tmp_path, json.loads(file.read_text()))
    assert proof.unexplained == 0 and proof.conversations > 0
    assert proof.same >= 0.9 * proof.messages
    assert time.process_time() - begun < 5
