"""The files of a release: ``python -m tests.release`` (`make release`) makes the source distribution, the wheel and
their notes in dist/.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from bot import __version__

ROOT = Path(__file__).parents[1]


def build(to: Path) -> Path:
    """Build in a folder, and return the wheel. It is made from the source distribution, so that this is tried as well;
    and from a copy of the sources, because setuptools takes along what it finds of earlier builds.
    """
    sources = to / "sources"
    left = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "site", "__pycache__")
    shutil.copytree(ROOT, sources, ignore=left)
    command: list[str | Path] = [sys.executable, "-m", "build", "--no-isolation", "--outdir", to, sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    shutil.rmtree(sources)
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    (wheel,) = to.glob("*.whl")
    return wheel


def notes(changes: str, version: str) -> str:
    """The section of a version in CHANGELOG.md, without its heading. Raises `SystemExit` if the version has no
    section.
    """
    found = re.search(rf"^## {re.escape(version)}(?![^ \n])[^\n]*\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise SystemExit(
            f"CHANGELOG.md has no section for {version}, the version in bot/__init__.py: write `## {version}` and what is new"
        )
    return f"{found[1].strip()}\n"


def main() -> None:
    """Make all of it anew in dist/."""
    written = notes((ROOT / "CHANGELOG.md").read_text("utf-8"), __version__)
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    build(dist)
    (dist / f"bot_flows-{__version__}-notes.md").write_text(written, "utf-8")
    print(f"dist/ has {', '.join(sorted(path.name for path in dist.iterdir()))}")


if __name__ == "__main__":
    main()
