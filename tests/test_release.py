"""The notes of a release. tests/wheel.py tests the files that are built."""

from pathlib import Path

import pytest

from bot import __version__
from tests.release import notes

CHANGES = """# Changes

## 0.2.0 (2030-05-06)

New.

* More.

## 0.2.0.1

Another.

## 0.1.0

First.
"""


@pytest.mark.parametrize(("version", "text"), [("0.2.0", "New.\n\n* More.\n"), ("0.1.0", "First.\n")])
def test_the_notes_are_the_section_of_the_version(version: str, text: str) -> None:
    assert notes(CHANGES, version) == text


@pytest.mark.parametrize("version", ["0.3.0", "0.2", "0x1x0"])
def test_without_a_section_nothing_is_released(version: str) -> None:
    with pytest.raises(SystemExit, match=f"CHANGELOG.md has no section for {version}"):
        notes(CHANGES, version)


def test_this_version_has_notes() -> None:
    changes = (Path(__file__).parents[1] / "CHANGELOG.md").read_text()
    written = notes(changes, __version__)
    assert written in changes and not written.startswith("#")
