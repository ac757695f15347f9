"""SIGKILL between any two steps of the inbox: what was acknowledged is there, and is there once."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_wherever_it_is_killed_what_was_acknowledged_is_kept_and_a_second_try_is_a_duplicate(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.store.killed_inbox", str(tmp_path)], capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 15
