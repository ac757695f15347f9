"""The wheel, built as for a release and installed where nothing else of this folder is, with each version of Python
that is on this machine: ``make wheel``.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen
from zipfile import ZipFile

import pytest

from bot.cli.new import STARTERS
from tests.release import build

ROOT = Path(__file__).parent.parent


ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
"""Nothing in it leads to this folder."""


def read(address: str) -> str:
    """The content at an address."""
    with urlopen(address, timeout=60) as answer:
        return str(answer.read().decode())


def run(*command: str | Path, at: Path, stdin: str = "") -> str:
    """A command's output."""
    done = subprocess.run(command, cwd=at, env=ENVIRONMENT, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script's background job, whose processes would ignore it, too
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module", params=["3.11", "3.12", "3.13", "3.14"])
def bot(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `bot`, in an environment of a version of Python that has the wheel and what it depends on, and
    nothing else.
    """
    version = ".".join(map(str, sys.version_info[:2]))
    python = sys.executable if request.param == version else shutil.which(f"python{request.param}")
    if python is None or subprocess.run([python, "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no Python {request.param} on this machine")
    folder = tmp_path_factory.mktemp("venv")
    run(python, "-m", "venv", folder, at=folder)
    install = (folder / "bin" / "python", "-m", "pip", "install", "--quiet")
    run(*install, "--require-hashes", "-r", ROOT / "requirements" / "bot.txt", at=folder)
    run(*install, "--no-deps", wheel, at=folder)
    run(folder / "bin" / "python", "-m", "pip", "check", at=folder)
    return folder / "bin" / "bot"


def test_it_holds_each_file_of_the_package_and_no_other(wheel: Path) -> None:
    files = [path for path in (ROOT / "bot").rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    package = {path.relative_to(ROOT).as_posix() for path in files}
    package |= {f"bot/cli/{path.relative_to(ROOT)}" for path in (ROOT / "docs").rglob("*.md")}
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == package


@pytest.mark.parametrize("starter", STARTERS)
def test_a_new_bot_is_checked_tested_and_talked_to(starter: str, bot: Path, tmp_path: Path) -> None:
    assert "bot chat shop" in run(bot, "new", "shop", "--starter", starter, at=tmp_path)
    assert run(bot, "check", "shop", at=tmp_path).startswith("Shop: no problems in ")
    assert ": all passed, in " in run(bot, "test", "shop", at=tmp_path)
    assert "\nbot: " in run(bot, "chat", "shop", at=tmp_path, stdin="hi\n")


def test_bot_dev_serves_its_page_with_scripts_and_styles_and_ends_cleanly(bot: Path, tmp_path: Path) -> None:
    run(bot, "new", "shop", at=tmp_path)
    command = [str(bot), "dev", "shop", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            address = re.search(r"http://\S+(?=/\. Ctrl-C)", process.stdout.readline())
            assert address is not None
            page = read(f"{address[0]}/")
            parts = re.findall(r'(?:href|src)="(/[^"]+\.(?:js|css|svg))"', page)
            scripts = [part for part in parts if part.endswith(".js")]
            assert scripts and len(parts) > len(scripts) and all(read(address[0] + part) for part in parts)
            scripts = [address[0] + script for script in scripts]
            modules = [
                urljoin(script, module) for script in scripts for module in re.findall(r'from "([^"]+)"', read(script))
            ]
            assert modules and all("export" in read(module) for module in modules)
            assert "<svg" in read(f"{address[0]}/map")
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
            assert process.stderr.read() == ""
        finally:
            process.kill()


def test_the_pages_of_the_checks_are_in_it(bot: Path, tmp_path: Path) -> None:
    assert run(bot, "explain", "W501", at=tmp_path) == run(sys.executable, "-m", "bot", "explain", "W501", at=ROOT)
