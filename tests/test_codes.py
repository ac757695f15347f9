"""Every code stands in a test that shows it: a problem in any, a finding in the tests of the rules."""

import re
from pathlib import Path

from bot.checker.rules import TITLES
from bot.lang.problems import CODES


def test_every_code_is_shown_by_a_test() -> None:
    texts = "".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    shown = set(re.findall(r"\bE\d{3}\b", texts))
    assert sorted(CODES.keys() - shown) == []
    assert sorted(shown - CODES.keys()) == []


def test_every_rule_has_a_test_of_its_own() -> None:
    files = (Path(__file__).parent / "checker").rglob("test_*.py")
    own = (path for path in files if path.parent.name == "rules" or path.stem == "test_allowances")
    shown = set(re.findall(r"\bW\d{3}\b", "".join(path.read_text() for path in own)))
    assert sorted(TITLES.keys() - shown) == []
