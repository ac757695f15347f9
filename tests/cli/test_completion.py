"""What a real bash completes."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import call
from tests.patience import PATIENCE
from tests.searches import over

ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "INPUTRC": os.devnull}
COMPLETE = """
eval "$1"; shift
compopt() { echo "$2"; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_bot_completion bot
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words. ``dirnames``: the folders that there are."""
    done = subprocess.run(
        ["bash", "--norc", "-c", COMPLETE, "bash", call("completion", "bash").out, *words],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two bots, one of them in a folder with another folder."""
    folder = tmp_path_factory.mktemp("work")
    for name in ("shop", "many/first", "many/nothing"):
        (folder / name).mkdir(parents=True)
    for name in ("shop", "many/first"):
        (folder / name / "bot.yml").write_text("name: Shop\n")
    return folder


@over(
    6,
    "words, offered",
    [
        (["bot", "ch"], ["check", "chat"]),
        (["bot", "--v"], ["--version"]),
        (["bot", "check", "--wr"], ["--write-tests"]),
        (["bot", "check", "--format", "s"], ["short", "sarif"]),
        (["bot", "new", "mine", "--starter", ""], ["menu", "form", "survey", "assistant"]),
        (["bot", "completion", ""], ["bash", "zsh", "fish"]),
        (["bot", "webhook", "r"], ["register"]),
        (["bot", "test", ""], ["shop"]),
        (["bot", "sessions", "--bot", "sh"], ["shop"]),
        (["bot", "test", "many/"], ["many/first"]),
        (["bot", "test", "ma"], ["dirnames"]),
    ],
)
def test_commands_options_their_values_and_the_folders_of_bots(
    folder: Path, words: list[str], offered: list[str]
) -> None:
    assert completed(folder, *words) == offered


def test_the_tab_key_completes() -> None:
    shell, terminal = pty.openpty()
    command = ["bash", "--norc", "--noprofile", "-i"]
    bash = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=ENVIRONMENT)
    os.close(terminal)
    try:
        os.write(shell, b'eval "$(bot completion bash)"; echo rea"d"y\n')
        read_until("ready", shell)
        os.write(shell, b"bot completion fi\t\n")
        read_until("complete --no-files --command bot", shell)
    finally:
        bash.kill()
        bash.wait()
        os.close(shell)


def read_until(text: str, terminal: int) -> None:
    """Read what a terminal shows until this text. Fails with what it shows instead."""
    shown = ""
    while text not in shown:
        assert select.select([terminal], [], [], PATIENCE)[0], shown
        shown += os.read(terminal, 4096).decode()


@pytest.mark.parametrize(("shell", "line"), [("zsh", "#compdef bot"), ("fish", "complete --no-files --command bot")])
def test_other_shells_have_scripts_too(shell: str, line: str) -> None:
    assert line in call("completion", shell).out
