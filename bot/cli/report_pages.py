"""The pages on the codes, which are installed with the program: they are those of docs/checks."""

import re
from pathlib import Path

from bot.checker.findings import RULES
from bot.lang.problems import CODES

TITLES = CODES | RULES
"""What each code is about, in a few words."""
_PAGES = Path(__file__).with_name("checks")  # a link to docs/checks


def page(code: str) -> str:
    """What there is to read about a code: the page of a finding's, the section of a problem's."""
    if code in RULES:
        return (_PAGES / f"{code}.md").read_text("utf-8")
    sections = re.split(r"^#(?=# )", (_PAGES / f"{code[:2]}.md").read_text("utf-8"), flags=re.MULTILINE)
    return next(section for section in sections if section.startswith(f"# {code}:"))
