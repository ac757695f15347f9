"""The wheel, built as for a release and installed where nothing else of this folder is: ``make wheel``."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from bot.cli.new import STARTERS

ROOT = Path(__file__).parent.parent


def run(*command: str | Path, at: Path, stdin: str = "") -> str:
    """What a command prints, with nothing in its environment that leads to this folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=at, env=environment, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It is built from the source distribution, so that this is tried as well; and from a copy of the sources, because setuptools
    takes along what it finds of earlier builds.
    """
    folder = tmp_path_factory.mktemp("wheel")
    left = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "__pycache__")
    shutil.copytree(ROOT, folder / "sources", symlinks=True, ignore=left)
    run(sys.executable, "-m", "build", folder / "sources", at=folder)
    (built,) = folder.glob("sources/dist/*.whl")
    return built


@pytest.fixture(scope="module")
def bot(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `bot`, in an environment that has the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "pip", "install", "--quiet", wheel, at=folder)
    return folder / "bin" / "bot"


def test_it_holds_each_file_of_the_package_and_no_other(wheel: Path) -> None:
    found = (Path(folder) / name for folder, _, names in os.walk(ROOT / "bot", followlinks=True) for name in names)
    package = {path.relative_to(ROOT).as_posix() for path in found if path.parent.name != "__pycache__"}
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == package


@pytest.mark.parametrize("starter", STARTERS)
def test_a_new_bot_is_checked_tested_and_talked_to(starter: str, bot: Path, tmp_path: Path) -> None:
    assert "bot chat shop" in run(bot, "new", "shop", "--starter", starter, at=tmp_path)
    assert run(bot, "check", "shop", at=tmp_path).startswith("Shop: no problems in ")
    assert ": all passed, in " in run(bot, "test", "shop", at=tmp_path)
    assert "\nbot: " in run(bot, "chat", "shop", at=tmp_path, stdin="hi\n")


def test_the_pages_of_the_checks_are_in_it(bot: Path, tmp_path: Path) -> None:
    assert run(bot, "check", "--explain", "W501", at=tmp_path) == run(
        sys.executable, "-m", "bot", "check", "--explain", "W501", at=ROOT
    )
