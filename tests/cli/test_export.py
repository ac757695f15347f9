"""`bot export`: a bot as one JSON document, from which the bot can be made again."""

import json
from itertools import groupby
from pathlib import Path

from jsonschema import Draft7Validator

from bot.cli.export import exported
from bot.language.flow.documents import Source
from bot.loading.folder import Folder, read_folder
from bot.testing.conversations.transcript_reader import load_with_tests
from tests.cli.terminal import BOT, call, make_bot
from tests.own_bots import own_bots
from tests.searches import over

FLOWS = """\
flow: main
start: {otherwise: true}
steps:
  many: {ask: How many?, options: [007, 1.10, 12], then: end}
---
test: asks
talk: [{user: hi}, {bot: {says: How many?, buttons: ["007", "1.10", "12"]}}]
"""


def again(folder: Folder) -> Folder:
    """The bot with YAML files that are made of what was exported."""
    documents = sorted(exported(folder), key=lambda each: str(each["file"]))
    files = {file: [each["content"] for each in some] for file, some in groupby(documents, lambda each: each["file"])}
    texts = {
        file: "\n---\n".join(json.dumps(each, ensure_ascii=False) for each in contents)
        for file, contents in files.items()
    }
    return Folder(
        folder.path, tuple(Source(file, text.encode()) for file, text in texts.items()), folder.code, folder.documents
    )


def test_each_document_has_its_file_and_its_kind(tmp_path: Path) -> None:
    folder = make_bot(tmp_path, FLOWS, bot=f"{BOT}languages: [en, de]\n")
    (folder / "locales").mkdir()
    (folder / "locales" / "de.yml").write_text("main: {many: {ask: Wie viele?}}\n")
    documents = json.loads(call("export", folder).out)["documents"]
    assert [(each["file"], each["kind"]) for each in documents] == [
        ("bot.yml", "bot"), ("flows/main.yml", "flow"), ("flows/main.yml", "test"), ("locales/de.yml", "locale"),
    ]  # fmt: skip
    assert documents[3]["content"] == {"main": {"many": {"ask": "Wie viele?"}}}


def test_a_number_that_yaml_would_alter_is_what_was_written(tmp_path: Path) -> None:
    (_, flow, _) = exported(read_folder(make_bot(tmp_path, FLOWS)))
    assert flow["content"]["steps"]["many"]["options"] == ["007", "1.10", 12]


@over(8, "folder", own_bots())
def test_a_bot_can_be_made_of_it_again(folder: Folder) -> None:
    made = again(folder)
    assert sorted(exported(made), key=str) == sorted(exported(folder), key=str)
    before, after = load_with_tests(folder), load_with_tests(made)
    assert len(after.transcripts) == len(before.transcripts)
    assert [(each.path, each.code) for each in after.problems] == [(each.path, each.code) for each in before.problems]


def test_its_schema_describes_each_document(tmp_path: Path) -> None:
    exported = json.loads(call("export", make_bot(tmp_path, FLOWS)).out)
    schema = Draft7Validator(exported["schema"])
    assert [[*schema.iter_errors(each["content"])] for each in exported["documents"]] == [[], [], []]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    told = call("export", make_bot(tmp_path, "flow: [\n"))
    assert told.code == 1 and "flows/main.yml:1:7: E002" in told.err and told.out == ""
