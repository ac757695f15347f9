"""Every code of a problem stands in a test; of a finding's `tests/docs/test_contributing.py` says so."""

import re
from pathlib import Path

from bot.language.source.problems import CODES


def test_every_code_is_shown_by_a_test() -> None:
    texts = "".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    shown = set(re.findall(r"\bE\d{3}\b", texts))
    assert sorted(CODES.keys() - shown) == []
    assert sorted(shown - CODES.keys()) == []
