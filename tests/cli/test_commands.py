import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import COMMANDS, bot
from tests.cli.terminal import call, make_bot
from tests.searches import over

FLOWS = Path(__file__).parent.parent.parent / "flows"
CAFE = "flow: main\nstart: {otherwise: true}\nsteps:\n  a: {say: Hi, then: end}\n"


def test_help_names_every_command_and_imports_none() -> None:
    code = """
import sys
from click.testing import CliRunner
from bot.cli import bot
print(CliRunner().invoke(bot, ["--help"]).output)
print("imported:", sorted({"flask", "jinja2", "orjson", "yaml", "sqlite3"} & set(sys.modules)))
"""
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert all(f"  {name} " in output for name in COMMANDS)
    assert "imported: []" in output


def test_a_check_imports_no_http_client() -> None:
    code = "import sys, bot.cli.check, bot.cli.shared.check_report; sys.exit('pycurl' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("arguments", [["nonsense"], ["serve", "--nonsense"], ["serve", "a", "b"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(bot, arguments).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("report --csv --json", "--csv and --json exclude each other: leave one of them out"),
        ("graph --svg --mermaid", "--svg and --mermaid exclude each other"),
        ("graph --mermaid -o bot.svg", "--mermaid and bot.svg are two formats: leave --mermaid out, or give the file"),
        ("check --json --format sarif", "--format and --json exclude each other"),
        ("check --live --cuts", "--live goes with --json, --store and --version only"),
        ("serve --web --engine", "--web and --engine exclude each other"),
        ("doctor --server --url https://bot.example", "--url and --server exclude each other"),
        ("send 6281234567890 Hello --body 17", "--body and --header are parameters of a template: add --template NAME"),
    ],
)
def test_options_of_which_one_would_do_nothing_are_refused(arguments: str, words: str) -> None:
    refused = call(*arguments.split())
    assert refused.code == 2
    assert words in " ".join(refused.err.split())


def test_a_command_that_is_misspelt_is_guessed() -> None:
    assert 'there is no command "sned" (did you mean "send"?)' in CliRunner().invoke(bot, ["sned"]).output


def test_a_folder_without_a_bot_is_exit_code_1_in_words() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from bot.cli import main; main()", "serve", "/nowhere"], capture_output=True, text=True
    )
    assert run.returncode == 1
    assert run.stderr.startswith("there is no folder /nowhere: ")
    assert "Traceback" not in run.stderr


def test_a_misspelt_setting_is_named_beside_the_one_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("BOT_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "BOT_GATEWAY_ULR": "https://gateway.example",
        "BOT_GATEWAY_KEY": "k",
        "BOT_WEBHOOK_SECRET": "s" * 32,
    }.items():
        monkeypatch.setenv(name, value)
    served = call("serve", make_bot(tmp_path, "flow: main\nstart: {otherwise: true}\nsteps: {hello: {say: Hello}}\n"))
    missing, unknown = served.err.splitlines()
    assert (served.code, missing.split(":")[0]) == (1, "BOT_GATEWAY_URL is missing")
    assert unknown == 'there is no setting BOT_GATEWAY_ULR (did you mean "BOT_GATEWAY_URL"?)'


@pytest.mark.parametrize("content", [b"# Schl\xfcssel\nBOT_STORE=other.db\n", b"BOT_STORE=a\0b\n"])
def test_settings_that_cannot_be_read_are_named(tmp_path: Path, content: bytes) -> None:
    folder = make_bot(tmp_path, "flow: main\nstart: {otherwise: true}\nsteps: {hello: {say: Hello}}\n")
    (folder / ".env").write_bytes(content)
    for arguments in (["doctor"], ["chat"], ["sessions", "--bot"], ["serve"]):
        refused = call(*arguments, folder)
        assert (refused.code, refused.err) == (
            1,
            f"{folder}/.env cannot be read: save it as UTF-8, without NUL characters\n",
        )


@pytest.mark.parametrize(
    "arguments",
    [
        ("versions",),
        ("rollback",),
        ("versions", "-n"),
        ("trace", "6281234567890", "-n"),
        ("queue", "-n"),
        ("sessions", "-n"),
        ("check", "--live", "--version"),
    ],
)
def test_a_number_that_no_store_can_hold_is_wrong_usage(arguments: tuple[str, ...]) -> None:
    refused = CliRunner().invoke(bot, [*arguments, str(2**63)])
    assert (refused.exit_code, "is not in the range 1<=x<=" in refused.output) == (2, True)


def test_a_full_disk_is_exit_code_1_in_words() -> None:
    code = "from bot.cli import main; main()"
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-c", code, "check", FLOWS], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (run.returncode, run.stderr) == (1, "bot: No space left on device\n")


@over(2, "arguments", [("check",), ("check", "--format", "json"), ("chat",), ("check", "--format", "sarif")])
def test_a_name_or_a_line_that_is_no_unicode_is_shown_as_well_as_can_be(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    named = tmp_path / os.fsdecode(b"caf\xe9")
    make_bot(named, CAFE)
    if "check" in arguments:
        (named / "flows" / "wrong.yml").write_text("flow: wrong")
    run = strictly(*arguments, os.fsencode(named), stdin=b"caf\xe9\n")
    assert b"Traceback" not in run.stderr and b"caf" in run.stdout.lower()


def test_a_bot_gets_a_name_that_is_no_unicode(tmp_path: Path) -> None:
    made = strictly("new", os.fsencode(tmp_path) + b"/caf\xe9")
    assert made.returncode == 0, made.stderr


def strictly(*arguments: str | bytes, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A command as in every locale but C."""
    command = [sys.executable, "-c", "from bot.cli import main; main()", *arguments]
    strict = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    return subprocess.run(command, env=strict, capture_output=True, input=stdin)


@pytest.mark.parametrize("arguments", [("queue", "rerty"), ("broadcast", "send", "sale", "nowhere.csv")])
def test_an_argument_is_named_as_it_is_written(arguments: tuple[str, ...]) -> None:
    refused = CliRunner().invoke(bot, arguments).output
    assert re.search(r"Invalid value for '\[[^][]+\]': ", refused)


def test_serves_help_names_the_settings_that_are_needed() -> None:
    output = CliRunner().invoke(bot, ["serve", "--help"]).output
    assert all(name in output for name in ("BOT_GATEWAY_URL", "BOT_GATEWAY_KEY", "BOT_WEBHOOK_SECRET"))
