"""What an assistant can do with a bot: look, write flows and tests, check and test."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.cli.assistant.workbench import Workbench
from bot.cli.export import exported
from bot.core.errors import BotError
from bot.language.flow import documents
from bot.language.source import yaml_tree
from bot.language.source.yaml_tree import Node
from bot.loading.folder import NotSaved, read_folder
from bot.loading.program import FaultyBot
from tests.cli.keeping import CONTACT, kept
from tests.cli.terminal import BOT, make_bot
from tests.docs.test_docs import ROOT

FLOW = """\
flow: main
about: Greets people.
start: {otherwise: true}
vars: {name: {type: name}}
steps:
  name: {ask: Your name?, save: name}
  bye: {say: "Hello {{ name }}.", then: end}
"""
TEST = "test: greets\ntalk: [{user: hi}, {bot: Your name?}]\n"
EVALUATION = "evaluate: is kind\ntalk: [{user: hi}, {bot: Your name?}]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_bot(tmp_path / "shop", FLOW, tests=TEST)


@pytest.fixture
def bench(folder: Path) -> Iterator[Workbench]:
    bench = Workbench(folder)
    yield bench
    bench.close()


def test_a_check_reads_only_what_has_changed(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()

    def counted(path: str, *others: Any) -> tuple[Node, ...]:
        read.append(path)
        return yaml_tree.read(path, *others)

    monkeypatch.setattr(documents, "read", counted)
    assert "E107" in bench.write_file("flows/main.yml", FLOW.replace("say:", "sya:"))
    assert len(read) == len({*read}) > 1
    read.clear()
    bench.write_file("flows/main.yml", FLOW)
    assert read == ["flows/main.yml"]


def test_flows_are_listed_with_what_starts_them(bench: Workbench) -> None:
    assert bench.list_flows().splitlines() == [
        "main (flows/main.yml:1) Greets people.",
        "  starts: any other message",
        "  steps: name, bye",
    ]


def test_flows_of_a_bot_with_problems_are_listed(bench: Workbench) -> None:
    bench.write_file("flows/more.yml", "flow: more\nsteps:\n  a: {say: Hi, then: nowhere}\n")
    assert "more (flows/more.yml:1)" in bench.list_flows()


def test_each_write_returns_the_check(bench: Workbench, folder: Path) -> None:
    found = bench.write_file(
        "flows/more.yml", "flow: more\nsteps:\n  a: {say: Hi, then: b}\n  c: {say: Hi, then: end}\n"
    )
    assert 'flows/more.yml:3:22: E102 no step "b"' in found and "\n1 problem\n" in found
    assert bench.write_file("flows/more.yml", "").endswith("no problems in 1 flow, 2 steps and 1 test.")
    assert (folder / "flows" / "more.yml").read_text() == ""


def test_a_finding_comes_with_the_conversation_that_shows_it(bench: Workbench) -> None:
    late = FLOW.replace("save: name}", "save: name, timeout: {after: 25h, say: Too late., then: end}}")
    found = bench.write_file("flows/main.yml", late)
    assert "flows/main.yml:6" in found and "W501" in found and "How to get there:" in found


@pytest.mark.parametrize(
    "path",
    [
        *("handlers.py", "bot.yml", ".env", "notes.yml", "locales/de.yml", "flows/handlers.py", "flows/a.yaml"),
        *("flows/bot.yml", "flows/.hidden.yml", "flows/.git/a.yml", "flows/__pycache__/a.yml", "flows"),
        *("../flows/a.yml", "flows/../bot.yml", "flows/../../a.yml", "/tmp/a.yml", "flows\\..\\a.yml", ""),
    ],
)
def test_only_flows_and_tests_are_written(bench: Workbench, folder: Path, path: str) -> None:
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(BotError, match="cannot be written here: write flows/NAME"):
        bench.write_file(path, FLOW)
    assert sorted(folder.parent.rglob("*")) == before


def test_a_link_out_of_the_folder_is_not_followed(bench: Workbench, folder: Path) -> None:
    outside = folder.parent / "outside.yml"
    outside.write_text("mine")
    (folder / "flows" / "out.yml").symlink_to(outside)
    (folder / "tests").symlink_to(folder.parent, target_is_directory=True)
    for path in ("flows/out.yml", "tests/outside.yml"):
        with pytest.raises(NotSaved, match="is a link out of the bot's folder"):
            bench.write_file(path, FLOW)
    assert outside.read_text() == "mine"


def test_a_file_is_read_from_a_line_on(bench: Workbench) -> None:
    assert bench.read_file("flows/main.yml", 7) == '7   bye: {say: "Hello {{ name }}.", then: end}'


@pytest.mark.parametrize("path", ["handlers.py", "../outside.yml", ".env", "flows/mian.yml"])
def test_only_the_yaml_of_the_bot_is_read(bench: Workbench, path: str) -> None:
    with pytest.raises(BotError, match="there is no file"):
        bench.read_file(path)


def test_tests_are_run_with_what_none_reaches(bench: Workbench) -> None:
    ran = bench.run_tests().splitlines()
    assert ran[0] == "1 test: all passed" and "  never: flows/main.yml:7 main/bye" in ran


def test_a_test_that_fails_shows_both_sides(bench: Workbench) -> None:
    bench.write_file("tests/more.yml", "test: fails\ntalk: [{user: hi}, {bot: Who?}]\n")
    ran = bench.run_tests("fails")
    assert ran.startswith("1 test: 1 failed\nFAIL fails\n  tests/more.yml:2: the bot says something else")
    assert "Who?" in ran and "Your name?" in ran


def test_evaluations_are_left_to_the_person_who_pays_for_models(bench: Workbench) -> None:
    bench.write_file("tests/more.yml", EVALUATION)
    with pytest.raises(BotError, match="there is no such test"):
        bench.run_tests("is kind")


def test_tests_of_a_bot_with_problems_are_not_run(bench: Workbench) -> None:
    bench.write_file("flows/main.yml", FLOW.replace("then: end", "then: nowhere"))
    with pytest.raises(FaultyBot, match="E102"):
        bench.run_tests()


def test_a_conversation_is_kept_as_a_test_behind_those_of_the_file(bench: Workbench, folder: Path) -> None:
    bench.talk("- user: hi\n- user: Ann")
    assert bench.keep_test("tests/kept.yml", "says hello") == "1 test: all passed"
    assert bench.keep_test("tests/kept.yml", "says it again") == "1 test: all passed"
    assert (folder / "tests" / "kept.yml").read_text().count("- bot: Hello Ann.") == 2


def test_a_conversation_of_several_contacts_is_kept_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "dispatch"
    shutil.copytree(ROOT / "examples" / "dispatch", folder)
    written = next(each["content"] for each in exported(read_folder(folder)) if each["kind"] == "test")
    acts = [line for line in written["talk"] if not {"bot", "expect"} & {*line}]
    assert any("as" in act for act in acts)
    bench = Workbench(folder)
    bench.talk(json.dumps({**written, "talk": acts}))
    assert bench.keep_test("tests/kept.yml", "kept as it was") == "1 test: all passed"
    bench.close()


def test_a_code_is_explained_with_its_places(bench: Workbench) -> None:
    assert "Right:" in bench.explain("W501")
    bench.write_file("flows/main.yml", FLOW.replace("then: end", "then: ned"))
    assert 'flows/main.yml:7:41: E102 no step "ned"' in bench.explain("E102")


def test_a_code_that_is_unknown_is_corrected(bench: Workbench) -> None:
    with pytest.raises(BotError, match='there is no code "W999"'):
        bench.explain("W999")


def test_a_drawing_is_text(bench: Workbench) -> None:
    assert bench.graph().startswith("flowchart TD") and "Your name?" in bench.graph("main")


def test_a_replay_hides_who_wrote_what(tmp_path: Path) -> None:
    with kept(tmp_path) as running:
        running.user("hello")
    flows = tmp_path / "flows" / "main.yml"
    flows.write_text(flows.read_text().replace("say: Hello}", "say: Welcome}"))
    found = Workbench(tmp_path).replay()
    assert "1 of 1 conversation differ" in found and "Welcome" in found and CONTACT not in found


def test_secrets_of_the_bot_stay_out_of_the_environment(bench: Workbench, folder: Path) -> None:
    (folder / ".env").write_text("SHOP_KEY=secret\n")
    (folder / "bot.yml").write_text(f"{BOT}secrets: [SHOP_KEY]\n")
    with pytest.raises(BotError, match="there is no store"):
        bench.replay()
    assert "SHOP_KEY" not in os.environ
