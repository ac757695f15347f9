"""Conversations of ordinary people with a model: `ordinary/` has what each side says."""

import re
from pathlib import Path

import pytest

from tests.cli.terminal import call

FOLDER = Path(__file__).parent / "ordinary"
NAMES = re.findall(r"^test: (.+)$", (FOLDER / "talks.yml").read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_ordinary_people_are_answered(name: str) -> None:
    ended = call("test", FOLDER, "-k", name)
    assert ended.code == 0, ended.out


def test_there_are_eight_of_them() -> None:
    assert len(NAMES) == 8
