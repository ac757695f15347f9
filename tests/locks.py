"""The lock: which release of each library `make`, CI and the image install, with hashes. ``python -m tests.locks``
(`make lock`) renews it.

Each file in ``requirements`` is for one purpose, and holds for all systems and versions of Python. It is what pip
reads: ``pip install --require-hashes -r requirements/bot.txt``, then the project itself with ``--no-deps``.
"""

import re
import subprocess
import tomllib
import venv
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "requirements"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
OLDEST_PYTHON = PROJECT["project"]["requires-python"].removeprefix(">=")
EXTRAS = {"several-machines": ("postgres", "s3"), "tests": ("dev",), "docs": ("docs",)}
"""The extras that each file adds to ``bot.txt``, which it includes. ``build.txt`` has what builds the project itself.
"""


def requirements(lock: str) -> list[str]:
    """The requirements of the project that a file fulfils."""
    project = PROJECT["project"]
    if lock == "build":
        return list(PROJECT["build-system"]["requires"])
    optional = [project["optional-dependencies"][extra] for extra in EXTRAS.get(lock, ())]
    return [*project["dependencies"], *chain.from_iterable(optional)]


def pinned(text: str) -> list[tuple[str, str]]:
    """Name and version of each release in a file."""
    return re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==([^\s;]+)", text, re.MULTILINE)


def _resolved(uv: Path, wanted: list[str], *options: str) -> str:
    command = [uv, "pip", "compile", "-", "--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes"]
    plain = ["--quiet", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    done = subprocess.run(
        [*command, *plain, *options], input="\n".join(wanted), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return "".join(line for line in done.stdout.splitlines(keepends=True) if not line.startswith("#"))


def renew() -> None:
    """Write all files anew, with the newest releases that go together. The resolver is installed for that, and
    removed.
    """
    with TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        subprocess.run([f"{folder}/bin/pip", "install", "--quiet", "uv"], check=True)
        uv = Path(folder, "bin", "uv")
        everything = Path(folder, "everything.txt")
        everything.write_text(_resolved(uv, [each for lock in EXTRAS for each in requirements(lock)]))
        same = ("--constraint", str(everything))
        locks = {"build": _resolved(uv, requirements("build")), "bot": _resolved(uv, requirements("bot"), *same)}
        in_bot = [option for name, _ in pinned(locks["bot"]) for option in ("--no-emit-package", name)]
        locks |= {lock: "-r bot.txt\n" + _resolved(uv, requirements(lock), *same, *in_bot) for lock in EXTRAS}
    FOLDER.mkdir(exist_ok=True)
    for lock, text in locks.items():
        (FOLDER / f"{lock}.txt").write_text(f"# Made by `make lock` from pyproject.toml.\n{text}")


if __name__ == "__main__":
    renew()
