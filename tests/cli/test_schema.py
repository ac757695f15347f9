"""`bot schema`, and what a real YAML language server makes of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from tests.cli.language_server import LanguageServer
from tests.cli.terminal import call
from tests.docs.test_docs import ROOT, blocks
from tests.own_bots import own_bots
from tests.searches import search, some
from tests.tools import LANGUAGE_SERVER, YAML_LANGUAGE_SERVER

FLOW, TEST, BOT = "flows/*.yml", "tests/*.yml", "bot.yml"
OWN_VERB = '''

from bot import step_kind


@step_kind("stars", outcomes=["low"])
class Stars:
    """Asks how many stars.

    most: How many there are.
    """

    stars: str
    most: int = 5

    def run(self) -> None:
        return None
'''


@pytest.fixture(scope="module")
def bot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new bot with a verb of its own, and with what `bot schema` prints of it where `bot new` has put it."""
    folder = tmp_path_factory.mktemp("editor") / "bot"
    call("new", folder)
    handlers = folder / "handlers.py"
    handlers.write_text(handlers.read_text() + OWN_VERB)
    (folder / ".vscode" / "bot.schema.json").write_text(call("schema", folder).out)
    return folder


@pytest.fixture(scope="module")
def server(bot: Path) -> Iterator[LanguageServer]:
    LANGUAGE_SERVER.require()
    written = json.loads((bot / ".vscode" / "settings.json").read_text())
    of_editor = {"hover": True, "completion": True, "validate": True, "schemaStore": {"enable": False}}
    with LanguageServer(
        YAML_LANGUAGE_SERVER, bot, {"yaml": {**of_editor, "schemas": written["yaml.schemas"]}}
    ) as started:
        yield started


def step(text: str) -> str:
    """A flow whose one step begins in line 4."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return f"flow: main\nsteps:\n  a:\n{lines}"


def test_it_prints_a_schema_of_draft_07() -> None:
    printed = call("schema", "flows")
    assert printed.code == 0
    schema = json.loads(printed.out)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    Draft7Validator.check_schema(schema)


def test_a_bot_whose_python_cannot_be_read_has_none(tmp_path: Path) -> None:
    (tmp_path / "bot.yml").write_text("name: T\n")
    (tmp_path / "handlers.py").write_text("import nothing_of_this_name\n")
    refused = call("schema", tmp_path)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("handlers.py:1:1: E505")


def test_a_new_bot_has_its_schema(tmp_path: Path) -> None:
    call("new", tmp_path / "shop")
    assert (tmp_path / "shop" / ".vscode" / "bot.schema.json").read_text() == call("schema", tmp_path / "shop").out


@pytest.mark.parametrize(
    ("text", "offered", "other"),
    [
        ("ask: Who?\n|", "header", "tries"),
        ("ask: Who?\n|", "retry", "say"),
        ("call: shop.find\n|", "tries", "header"),
        ("say: Hi\nh|", "link", "retry"),
        ("|", "handoff", "header"),
        ("set: {a: 1}\n|", "tag", "query"),
        ("say: Hi\nthen: |", "next", "true"),
        ("say: Hi\nthen:\n  |", "correct", "next"),
        ("ask: Who?\nretry:\n  max: 3\n  |", "else", "after"),
        ("ask: Which?\nbuttons:\n  Tea:\n    v|", "value", "header"),
        ("stars: How was it?\n|", "most", "header"),
    ],
)
def test_the_keys_that_a_place_has_are_offered(server: LanguageServer, text: str, offered: str, other: str) -> None:
    found = server.offered(FLOW, step(text))
    assert offered in found and other not in found


def test_where_a_text_is_to_be_written_nothing_is_offered(server: LanguageServer) -> None:
    assert server.offered(FLOW, step("ask: |")) == []


@pytest.mark.parametrize(
    ("path", "text", "offered", "other"),
    [
        (FLOW, "|", "flow", "talk"),
        (FLOW, "flow: main\n|", "interrupted", "timezone"),
        (FLOW, "flow: main\ninterrupted: |", "resume", "end"),
        (FLOW, "flow: main\nvars:\n  age:\n    type: integer\n    |", "min", "pattern"),
        (FLOW, "flow: main\nvars:\n  age: |", "integer", "min"),
        (FLOW, "flow: a\nsteps: {b: {say: Hi}}\n---\nflow: main\n|", "vars", "flow"),
        (TEST, "test: it works\n|", "talk", "steps"),
        (TEST, "test: it works\ntalk:\n  - |", "pick", "late"),
        (TEST, "test: it works\ntalk:\n  - user: Hi\n    |", "late", "pick"),
        (BOT, "name: T\n|", "timezone", "steps"),
        (BOT, "settings:\n  |", "port", "gateway_key"),
    ],
)
def test_so_are_those_of_each_document(server: LanguageServer, path: str, text: str, offered: str, other: str) -> None:
    found = server.offered(path, text)
    assert offered in found and other not in found


def test_a_key_is_explained(server: LanguageServer) -> None:
    question = step("ask: Who?\nre|try: {max: 3, else: end}")
    assert "The reaction to a reply that is no answer" in server.explained(FLOW, question)
    below = step("ask: Who?\nretry: {m|ax: 3, else: end}")
    assert "How often the question is asked again" in server.explained(FLOW, below)
    own = step("stars: How was it?\nmo|st: 3\nlow: end")
    assert "How many there are." in server.explained(FLOW, own)


COMPLAINTS = {
    "ask: Who?\nretyr: {max: 3}": "5: Property retyr is not allowed.",
    "ask: Who?\nretry: {mx: 3}": "5: Property mx is not allowed.",
    "ask: Who?\nretry: {else: {sya: Hm}}": "5: Property sya is not allowed.",
    "ask: Who?\nretry: 3": '5: Incorrect type. Expected "map-of-retry".',
    "ask: [Who]": '4: Incorrect type. Expected "string | object".',
    "ask: Who?\nremind: {after: soon}": "5: write one like 90s, 10m, 2h30m or 5d",
    "ask: Who?\nthen: pay/now": "5: write a step, /flow, /flow/step, next, again, stay, back, end or route",
    "say: Hi\nask: Who?": "5: Property ask is not allowed.",
    "stars: How was it?\nlow: end\nmost: many": '6: Incorrect type. Expected "integer".',
    "stars: How was it?": '3: Missing property "low".',
    "aks: Who?\nretry: {max: 3}": "4: Property aks is not allowed.",
    "visits: {max: 3, else: end}": "3: a step has one verb: ",
}


def test_what_is_wrong_is_complained_of_at_its_line(server: LanguageServer) -> None:
    found = zip(COMPLAINTS.items(), server.complaints(FLOW, *map(step, COMPLAINTS)), strict=True)
    assert {text: complaints[-1][: len(known)] for (text, known), complaints in found} == COMPLAINTS


@search
def test_every_bot_of_this_project_is_as_it_should_be(server: LanguageServer) -> None:
    files = [file for bot in some(8, own_bots()) if bot.path.stem != "python" for file in bot.sources]
    found = server.complaints(FLOW, *(file.text.decode() for file in files))
    assert [(file.path, each) for file, each in zip(files, found, strict=True) if each] == []


def test_a_file_may_name_its_schema_itself(server: LanguageServer) -> None:
    (text,) = blocks(ROOT / "docs" / "editors.md", "yaml schema")
    right, wrong = server.complaints("other/*.yml", text, f"{text}abuot: Hello\n")
    assert (right, wrong) == ([], ["4: Property abuot is not allowed."])
