"""Run again what failed in the last run, alone: ``python -m tests.unsteady``, for `.ci/run`.

Thousands of tests use real processes, browsers and clocks. One that was late on a busy machine passes when it is
alone. It is named, so that somebody mends it. If more than `MOST` failed, none is run again. A second failure counts.
"""

import json
import subprocess
import sys
from pathlib import Path

FAILED = Path(".pytest_cache", "v", "cache", "lastfailed")
"""Where pytest keeps the ids of the tests that failed in the last run."""
MOST = 3


def run_again(failed: Path = FAILED) -> str:
    """Run the tests that failed again. Returns why the run has failed; nothing if all of them have passed by now."""
    tests = list(json.loads(failed.read_text())) if failed.exists() else []
    if not 0 < len(tests) <= MOST:
        return f"{len(tests)} tests failed: only 1 to {MOST} are run again"
    print(f"Unsteady, to be mended; run again, alone: {', '.join(tests)}", flush=True)
    again = subprocess.run([sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", *tests])
    if again.returncode:
        return "they failed again"
    failed.unlink()
    return ""


if __name__ == "__main__":
    sys.exit(run_again() or 0)
