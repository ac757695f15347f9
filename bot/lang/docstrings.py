"""What docstrings say of single arguments and attributes."""

import re

_NAMED = re.compile(r"^\s*(?::param\s+)?(\w+)\s*(?:\([^)]*\))?:\s*(\S.*)$", re.MULTILINE)


def named_in(doc: str) -> dict[str, str]:
    """What a docstring says of each name: its lines ``name: what it is``."""
    return dict(_NAMED.findall(doc))


def summary(doc: str) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join(doc.partition("\n\n")[0].split())
