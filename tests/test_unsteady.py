"""A few tests that failed are run again alone."""

import json
from pathlib import Path

import pytest

from tests.unsteady import MOST, run_again


@pytest.fixture
def once(tmp_path: Path) -> Path:
    """A test that fails the first time, and one that always fails."""
    path = tmp_path / "test_once.py"
    path.write_text(
        "from pathlib import Path\n"
        "def test_once():\n    seen = Path(__file__).with_name('seen')\n    was = seen.exists()\n    seen.touch()\n    assert was\n"
        "def test_never():\n    assert False\n"
    )
    return path


def failed(once: Path, *tests: str) -> Path:
    cache = once.with_name("lastfailed")
    cache.write_text(json.dumps({f"{once}::{test}": True for test in tests}))
    return cache


def test_a_test_that_passes_when_it_is_alone_is_named_and_the_run_goes_on(
    once: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    once.with_name("seen").touch()
    cache = failed(once, "test_once")
    assert run_again(cache) == "" and not cache.exists()
    assert "Unsteady, to be mended" in (said := capfd.readouterr().out) and "test_once" in said


def test_a_test_that_fails_again_fails_the_run(once: Path) -> None:
    assert run_again(failed(once, "test_once")) == run_again(failed(once, "test_never")) == "they failed again"


def test_many_failures_or_a_run_that_broke_off_are_no_accident(once: Path, tmp_path: Path) -> None:
    assert "tests failed" in run_again(failed(once, *map(str, range(MOST + 1))))
    assert run_again(tmp_path / "no such file").startswith("0 tests failed")
