"""The tutorial does what it says, page by page; its last one with real processes."""

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import requests

from bot.cli import COMMANDS
from tests.browsing import Opens, browser, clear, opens_page  # noqa: F401
from tests.cli.terminal import call
from tests.docs.pictures import FILM, HEIGHT, IMAGES, SCENES, WIDTH, Scene, play, served
from tests.docs.tutorial import FOLDER, PAGES, Block, blocks, chat, printed, write, write_up_to
from tests.ports import reserved_port
from tests.server.process.serving import until

LAST = PAGES[-1]


def follow(block: Block, folder: Path, output: list[str]) -> None:
    """Do what a block says; ``output`` is what the commands of the page have printed so far."""
    if block.name:
        write(block, folder)
    elif block.kind == "sh":
        lines = [line for line in block.text.splitlines() if not line.startswith("bot chat ")]
        output.extend(printed(line) for line in lines)
    elif block.kind == "text":
        assert block.text.rstrip("\n") in "\n".join(output)
    elif block.text.startswith("you: "):
        assert block.text.strip() in chat("salon", block.text)


@pytest.mark.parametrize("page", PAGES[:-1], ids=lambda page: page.stem)
def test_a_page_shows_what_its_files_and_commands_do(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_up_to(page, tmp_path)
    output: list[str] = []
    for block in blocks(page):
        follow(block, tmp_path, output)
    assert any(block.kind == "text" for block in blocks(page))


@pytest.mark.parametrize("page", PAGES[2:-1], ids=lambda page: page.stem)
def test_the_bot_of_a_page_has_no_problems_and_its_tests_pass(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_up_to(PAGES[PAGES.index(page) + 1], tmp_path)
    assert call("check", "salon").code == 0
    assert call("test", "salon").code == 0


def test_a_reminder_without_its_errors_is_found_as_its_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_up_to(PAGES[5], tmp_path)
    reminder = tmp_path / "salon" / "flows" / "reminder.yml"
    written = reminder.read_text(encoding="utf-8")
    reminder.write_text(written.replace("    errors: {else: end}\n", ""), encoding="utf-8")
    assert "W501" in call("check", "salon").out


def test_the_pages_follow_each_other_and_name_commands_that_there_are() -> None:
    entry = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((\d-[a-z0-9-]+\.md)\)", entry) == [page.name for page in PAGES]
    for page, following in pairwise(PAGES):
        assert f"]({following.name})." in page.read_text(encoding="utf-8").splitlines()[-1]
    for page in PAGES:
        lines = [line for block in blocks(page) if block.kind == "sh" for line in block.text.splitlines()]
        assert {line.split()[1] for line in lines if line.startswith("bot ")} <= COMMANDS.keys()


def sends(line: str, port: int) -> str:
    """Do what a line with `curl` does, at this port; the answer's text."""
    words = shlex.split(line)
    url = words[1].replace("localhost:9000", f"127.0.0.1:{port}")
    if "-d" in words:
        return requests.post(f"http://{url}", json=json.loads(words[words.index("-d") + 1]), timeout=10).text
    return requests.get(f"http://{url}", timeout=10).text


def test_the_last_page_leads_to_a_bot_that_answers_over_the_emulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_up_to(LAST, tmp_path)
    salon = tmp_path / "salon"
    monkeypatch.chdir(salon)
    all_blocks = blocks(LAST)
    (settings,) = (block for block in all_blocks if block.name == "salon/.env")
    commands = [line for block in all_blocks if block.kind == "sh" for line in block.text.splitlines()]
    (shown,) = (block.text.strip() for block in all_blocks if block.kind == "text" and not block.name)
    (emulator,) = (block.text.split() for block in all_blocks if block.text.startswith("python -m bot.testing.emul"))
    with reserved_port() as port, reserved_port() as webhook:
        line = [word.replace("9000", str(port)).replace("8000", str(webhook)) for word in emulator]
        gateway = subprocess.Popen([sys.executable, *line[1:]], stdout=subprocess.PIPE, text=True)
        try:
            assert gateway.stdout is not None and gateway.stdout.readline().strip()
            write(Block("text", settings.name, settings.text.replace("9000", str(port))), tmp_path)
            (salon / ".env").chmod(0o600)
            assert call(*commands[1].split()[1:]).code == 0, commands[1]
            approve, receive, sent = (each for each in commands if each.startswith("curl "))
            sends(approve, port)
            monkeypatch.setenv("BOT_PORT", str(webhook))
            assert call("doctor").code == 0
            server = subprocess.Popen([sys.executable, "-m", "bot", "serve"], env=os.environ, stdout=subprocess.DEVNULL)
            try:
                until(lambda: answers(webhook))
                sends(receive, port)
                until(lambda: shown in sends(sent, port))
                assert "main" in call("sessions").out
                assert "menu" in call("trace", "6281234567890").out
                assert call("queue").code == 0
                assert call("doctor").code == 0
            finally:
                server.terminate()
                server.wait(30)
        finally:
            gateway.terminate()
            gateway.wait(30)


def answers(port: int) -> bool:
    """Whether the bot is ready."""
    try:
        return requests.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code == 200
    except requests.ConnectionError:
        return False


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_picture_is_of_what_its_page_leads_to(scene: Scene, opens_page: Opens) -> None:  # noqa: F811
    with served(scene) as url:
        page = opens_page(url, WIDTH, HEIGHT)
        play(scene, page)
        clear(page)
    assert f"../images/{scene.name})" in PAGES[scene.page - 1].read_text(encoding="utf-8")


def test_the_readmes_film_has_a_picture_for_each_message() -> None:
    for look in ("light", "dark"):
        data = (IMAGES / f"dev-{look}.png").read_bytes()
        at = data.index(b"acTL")
        assert int.from_bytes(data[at + 4 : at + 8], "big") == len(FILM) + 1
