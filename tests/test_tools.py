"""A run on a machine that lacks programs, such as Chromium: its tests are skipped, with one line that says how many and
what to do.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import tools

ROOT = Path(__file__).parents[1]
NEEDS_OPENSSL = "tests/services/test_network.py::test_authorities_may_stand_in_a_folder"


def run_without_programs(**variables: str) -> subprocess.CompletedProcess[str]:
    """Two tests that need a program, where no program is found."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", NEEDS_OPENSSL]
    environment = {name: value for name, value in os.environ.items() if name not in ("REQUIRE_ALL", "STORE")}
    environment |= {"PATH": "/nowhere", **variables}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_tests_whose_program_is_missing_are_skipped_with_one_line_that_has_the_cure() -> None:
    run = run_without_programs()
    assert run.returncode == 0
    line = "2 skipped tests, because these are missing: OpenSSL (2). To run them: install OpenSSL, then `make tools`"
    closing, figures = run.stdout.splitlines()[-2:]
    assert closing == line and figures.startswith("2 skipped in ")


def test_where_all_is_required_they_fail() -> None:
    run = run_without_programs(REQUIRE_ALL="1")
    assert run.returncode == 1
    assert "OpenSSL is missing: install OpenSSL, then `make tools`" in run.stdout


def test_tests_that_are_skipped_for_another_reason_are_not_counted() -> None:
    assert tools.closing_line(["this is about files of SQLite"]) is None


def test_the_cure_names_the_packages_of_this_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    reasons = [tools.AXE.missing, tools.MERMAID.missing, tools.POSTGRES.missing, tools.POSTGRES.missing]
    assert tools.closing_line(reasons) == (
        "4 skipped tests, because these are missing: PostgreSQL 15 or newer (2), Mermaid (1), axe (1). "
        "To run them: `sudo apt-get install postgresql nodejs npm && make tools`"
    )
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert str(tools.closing_line([tools.AXE.missing])).endswith("To run them: `make tools`")


def test_no_test_looks_for_a_program_by_itself() -> None:
    """It would be skipped unseen, also where all is required. (rclone comes with Python's packages; the wheel is tried
    with any Python.)
    """
    looking = {path.name for path in ROOT.glob("tests/**/*.py") if "shutil.which" in path.read_text()}
    assert looking == {"tools.py", "test_tools.py", "s3_store.py", "wheel.py"}
