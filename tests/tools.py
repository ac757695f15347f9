"""The programs that tests use beside Python's packages: whether they are there, what brings them, and what follows if
they are missing.

A test that needs one calls its `Tool.require`, which skips the test, or fails it with ``REQUIRE_ALL=1`` in the
environment. The last lines of a run say how many tests were skipped for it, and what to do. ``python -m tests.tools``
installs what is missing: `make test` does so.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from bot.cli.shared.output import counted

NODE_MODULES = Path(sys.prefix, "lib", "node_modules")
YAML_LANGUAGE_SERVER = Path(sys.prefix, "bin", "yaml-language-server")
_LAUNCH = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    playwright.chromium.launch(args=["--no-sandbox"]).close()
"""
_OLDEST_POSTGRES = 15


def chromium_path() -> str | None:
    """Debian's Chromium, where it can be without windows, which takes half of the CPU; None for the one that Playwright
    has downloaded.
    """
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


def postgres_program(name: str) -> str:
    """The path of one of PostgreSQL's programs: on the PATH, or the newest of Debian's; the name if it is nowhere."""
    debians = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name), reverse=True
    )
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *map(str, debians)])) or name


def _has_postgres() -> bool:
    initdb = postgres_program("initdb")
    if shutil.which(initdb) is None:
        return False
    version = subprocess.run([initdb, "--version"], capture_output=True, text=True, check=True).stdout
    return int(re.findall(r"\d+", version)[0]) >= _OLDEST_POSTGRES


def _has_chromium() -> bool:
    """True if Playwright runs, and starts its own Chromium if there is no other: both may lack libraries of the
    system.
    """
    from playwright._impl._driver import compute_driver_executable

    if chromium_path() is None:
        return _succeeds(sys.executable, "-c", _LAUNCH)
    return _succeeds(compute_driver_executable()[0], "--version")  # `playwright --version` takes 0.7 s of CPU


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _has_node() -> bool:
    return shutil.which("node") is not None


@dataclass(frozen=True)
class Tool:
    """A program, and the packages that bring it: Debian's, and npm's in the virtual environment."""

    name: str
    is_there: Callable[[], bool]
    debian: tuple[str, ...]
    npm: tuple[str, ...] = ()

    @property
    def missing(self) -> str:
        """Why a test is skipped."""
        return f"{self.name} is missing"

    def require(self) -> None:
        """Skip the test that calls this if the tool is missing; fail it with ``REQUIRE_ALL=1``."""
        if _found(self):
            return
        if os.environ.get("REQUIRE_ALL") == "1":
            pytest.fail(f"{self.missing}: {_cure([self])}", pytrace=False)
        pytest.skip(self.missing)


@cache
def _found(tool: Tool) -> bool:
    return tool.is_there()


_NODE = ("nodejs", "npm")
CHROMIUM = Tool("Chromium", _has_chromium, ("chromium-headless-shell", "fonts-noto-color-emoji", "libatomic1"))
POSTGRES = Tool(f"PostgreSQL {_OLDEST_POSTGRES} or newer", _has_postgres, ("postgresql",))
CADDY = Tool("Caddy", lambda: shutil.which("caddy") is not None, ("caddy",))
OPENSSL = Tool("OpenSSL", lambda: shutil.which("openssl") is not None, ("openssl",))
LANGUAGE_SERVER = Tool(
    "the YAML language server",
    lambda: _has_node() and YAML_LANGUAGE_SERVER.exists(),
    _NODE,
    npm=("yaml-language-server@1.25.0",),
)
MERMAID = Tool(
    "Mermaid",
    lambda: _has_node() and all((NODE_MODULES / name).exists() for name in ("@mermaid-js", "linkedom")),
    _NODE,
    npm=("@mermaid-js/tiny@11.17.2", "linkedom@0.18.12"),
)
AXE = Tool("axe", lambda: (NODE_MODULES / "axe-core").exists(), _NODE, npm=("axe-core@4.10.3",))
TOOLS = (CHROMIUM, POSTGRES, CADDY, OPENSSL, LANGUAGE_SERVER, MERMAID, AXE)


def closing_line(reasons: Iterable[str]) -> str | None:
    """How many tests were skipped for which tools, and what to do; None if none was. ``reasons`` are those of all
    skipped tests.
    """
    counts = Counter(reasons)
    skipped = {tool: counts[tool.missing] for tool in TOOLS if counts[tool.missing]}
    if not skipped:
        return None
    listed = ", ".join(f"{tool.name} ({count})" for tool, count in skipped.items())
    return f"{counted(sum(skipped.values()), 'skipped test')}, because these are missing: {listed}. To run them: {_cure(skipped)}"


def _cure(missing: Iterable[Tool]) -> str:
    packages = [name for group in _debian(missing) for name in group]
    if not packages:
        return "`make tools`"
    if shutil.which("apt-get") is None:
        return f"install {', '.join(dict.fromkeys('npm' if tool.npm else tool.name for tool in missing))}, then `make tools`"
    return f"`{'' if os.geteuid() == 0 else 'sudo '}apt-get install {' '.join(packages)} && make tools`"


def _debian(tools: Iterable[Tool]) -> list[tuple[str, ...]]:
    """The packages of Debian that are needed. A tool of npm needs Node.js, which may be there from elsewhere."""
    has_npm = _has_node() and shutil.which("npm") is not None
    return list(dict.fromkeys(tool.debian for tool in tools if not (tool.npm and has_npm)))


def install() -> None:
    """Install what is missing, and say so before: Debian's packages as root, those of npm, and a Chromium by Playwright
    where Debian's is not to be had. Tools that are still missing are named.
    """
    missing = [tool for tool in TOOLS if not tool.is_there()]
    groups = _debian(missing)
    if groups and os.geteuid() == 0 and shutil.which("apt-get"):
        names = " ".join(name for group in groups for name in group)
        print(
            f"For the tests, Debian's packages {names} are installed; PostgreSQL's and Caddy's also start a service.",
            flush=True,
        )
        quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], *(["install", "--yes", "--no-install-recommends", *group] for group in groups)):
            subprocess.run(["apt-get", "-qq", *command], env=quietly, stdout=subprocess.DEVNULL, check=False)
    if CHROMIUM in missing and not CHROMIUM.is_there():
        print(
            "For the tests of pages, Playwright downloads a Chromium (about 150 MB, in your cache folder).", flush=True
        )
        subprocess.run(
            [sys.executable, "-m", "playwright", "install", "chromium"], stdout=subprocess.DEVNULL, check=False
        )
    npm = [package for tool in missing for package in tool.npm]
    if npm and shutil.which("npm"):
        print(f"For the tests, npm installs {' '.join(npm)} in {sys.prefix}.", flush=True)
        subprocess.run(["npm", "install", "--silent", "--global", "--prefix", sys.prefix, *npm], check=False)
    if missing := [tool for tool in missing if not tool.is_there()]:
        print(
            f"{', '.join(tool.name for tool in missing)}: not installed. Tests that need them will be skipped; the cure: {_cure(missing)}"
        )


if __name__ == "__main__":
    install()
