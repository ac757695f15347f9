"""Finding the hole in a message where a variable is null: a text of a flow held against what was said."""

import re

from bot.expressions.templates import Template

_VALUE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
MARK = "…"


def filled(text: Template, said: str, name: str) -> str | None:
    """What was said with `MARK` where nothing stands for a variable; None where this is not what was said.

    A text with conditions or loops in it is not looked through.
    """
    if "{%" in text.source or "{#" in text.source:
        return None
    constants = _VALUE.split(text.source)[::2]
    values = [_is_of(value, name) for value in _VALUE.findall(text.source)]
    pattern = re.escape(constants[0]) + "".join(
        ("()" if hole else "(.*?)") + re.escape(constant) for hole, constant in zip(values, constants[1:], strict=True)
    )
    found = re.fullmatch(pattern, said, re.DOTALL)
    if found is None or not any(values):
        return None
    parts = [MARK if hole else value for hole, value in zip(values, found.groups(), strict=True)]
    return constants[0] + "".join(part + constant for part, constant in zip(parts, constants[1:], strict=True))


def _is_of(value: str, name: str) -> bool:
    """Whether a value is a variable, or something of it."""
    return re.match(rf"\s*{re.escape(name)}\b", value) is not None
