import filecmp
import json
import re
import runpy
import subprocess
from datetime import date
from pathlib import Path

import pytest

from bot.cli import COMMANDS
from bot.cli.new import STARTERS
from bot.cli.shared.new_folder import FILES
from tests.cli.terminal import call, make_bot
from tests.docs.test_docs import ROOT, blocks


@pytest.mark.parametrize("starter", STARTERS)
def test_a_new_bot_passes_check_and_its_tests_which_reach_all_of_it(starter: str, tmp_path: Path) -> None:
    made = call("new", tmp_path / "my-shop", "--starter", starter)
    assert made.code == 0
    assert f"bot chat {tmp_path / 'my-shop'}" in made.out
    checked = call("check", tmp_path / "my-shop")
    assert (checked.code, checked.out.partition(" in ")[0]) == (0, "My shop: no problems")
    tested = call("test", tmp_path / "my-shop", "--min-coverage", "100")
    assert tested.code == 0
    assert any(re.match(r"\d+ tests: all passed", line) for line in tested.lines)


def test_the_help_names_each_starter_that_there_is() -> None:
    assert {path.name for path in FILES.iterdir() if path.is_dir()} == {*STARTERS}
    assert re.findall(r"^ {4}(\w+) {2,}\w", call("new", "--help").out, re.MULTILINE) == [*STARTERS]


def test_without_a_starter_it_is_the_menu(tmp_path: Path) -> None:
    call("new", tmp_path / "a" / "bot")
    call("new", tmp_path / "b" / "bot", "--starter", "menu")
    same = filecmp.dircmp(tmp_path / "a", tmp_path / "b")
    assert (same.left_only, same.right_only, same.diff_files) == ([], [], [])


def test_git_keeps_the_bot_and_leaves_secrets_and_conversations_out(tmp_path: Path) -> None:
    call("new", tmp_path)
    for name in (".env", "bot.db", "bot.db-wal", "bot.db.lock", "bot.inbox.db", "requests.jsonl", "bot.files/a/b.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    kept = subprocess.run(["git", "ls-files"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()
    assert {".env.example", ".gitignore", ".vscode/settings.json", "bot.yml", "flows/main.yml", "handlers.py"} <= {
        *kept
    }
    assert not [name for name in kept if name.endswith((".env", ".jsonl", ".jpg")) or ".db" in name]


def test_the_example_of_settings_is_one_of_going_live(tmp_path: Path) -> None:
    call("new", tmp_path)
    names = re.findall(r"^(?:# )?(BOT_\w+)=", (tmp_path / ".env.example").read_text(), re.MULTILINE)
    (written, *_) = blocks(ROOT / "docs" / "going-live.md", "sh")
    assert [name for name in names if name != "BOT_WEBHOOK_SECRET"] == re.findall(r"^(\w+)=", written, re.MULTILINE)


def mistakes() -> list[tuple[str, str]]:
    """The wrong steps of AGENTS.md, each with its code."""
    rows = re.findall(r"^\| `(.+?)` \| .* \| ([EW]\d{3}) \|$", (FILES / "AGENTS.md").read_text(), re.MULTILINE)
    return [(step, code) for step, code in rows]


def test_assistants_are_told_ten_mistakes_and_commands_that_there_are(tmp_path: Path) -> None:
    call("new", tmp_path)
    told = (tmp_path / "AGENTS.md").read_text()
    assert len(mistakes()) == 10 and {*re.findall(r"`bot (\w+)", told)} < {*COMMANDS}


@pytest.mark.parametrize(("step", "code"), mistakes())
def test_a_mistake_that_assistants_are_told_has_its_code(tmp_path: Path, step: str, code: str) -> None:
    variables = "{name: {type: name}, cups: {type: integer}}"
    flow = (
        f"flow: main\nstart: {{otherwise: true}}\nvars: {variables}\nsteps:\n  cups: {{ask: How many?, save: cups}}\n"
    )
    handlers = 'from bot import handler\n@handler("price")\ndef price() -> int: return 1\n'
    bot = "name: Shop\ndefaults: {retry: {max: 3, else: end}, timeout: {after: 12h, then: end}}\n"
    folder = make_bot(tmp_path, f"{flow}  wrong:\n    {step}\n", handlers, bot=bot)
    assert {found["code"] for found in json.loads(call("check", folder, "--json").out)} == {code}


def test_the_request_of_the_form_is_filed_once_however_often_it_is_called(tmp_path: Path) -> None:
    call("new", tmp_path, "--starter", "form")
    lines = ["hi", "Ann", "ann@shop.example", "advice", "tomorrow", "skip", "send it"]
    said = call("chat", tmp_path, stdin="\n".join(lines))
    (filed,) = (tmp_path / "requests.jsonl").read_text().splitlines()
    assert json.loads(filed) | {"day": None} == {
        "number": json.loads(filed)["number"], "name": "Ann", "email": "ann@shop.example", "topic": "advice", "day": None, "note": None,
    }  # fmt: skip
    assert f"Your request has the number {json.loads(filed)['number']}." in said.out
    handlers = runpy.run_path(str(tmp_path / "handlers.py"))
    request = ("Ben", "ben@shop.example", "repair", date(2030, 5, 6), "The front wheel", "a key")
    assert handlers["file"](*request) == handlers["file"](*request)
    assert len((tmp_path / "requests.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("name", ["a: b", "Müller's # 1", '"quoted"', "[x]"])
def test_any_folders_name_makes_a_bots_name(tmp_path: Path, name: str) -> None:
    assert call("new", tmp_path / name).code == 0
    checked = call("check", tmp_path / name)
    assert (checked.code, checked.out.partition(":")[0].casefold()[:1]) == (0, name[0].casefold())


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert call("new", tmp_path).code == 0
    assert (tmp_path / "bot.yml").is_file()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    refused = call("new", tmp_path)
    assert refused.code == 1
    assert refused.err.startswith(f"{tmp_path} is not empty: nothing was written")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    refused = call("new", tmp_path / "notes.txt")
    assert refused.code == 1
    assert refused.err.startswith(f"{tmp_path / 'notes.txt'} is a file: nothing was written")


def test_a_place_that_cannot_be_written_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = call("new", tmp_path / "file" / "bot")
    assert (refused.code, refused.err) == (1, f"{tmp_path / 'file' / 'bot'} cannot be written: Not a directory\n")
