"""What a check has found."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """How one thing is: ``what`` in words, and what to do where it is not ``ok``."""

    about: str
    state: Literal["ok", "warn", "fail"]
    what: str
    advice: str = ""


def ok(about: str, what: str) -> Finding:
    """It is as it should be."""
    return Finding(about, "ok", what)


def warn(about: str, what: str, advice: str) -> Finding:
    """It may be meant so, or will be trouble later."""
    return Finding(about, "warn", what, advice)


def fail(about: str, what: str, advice: str = "") -> Finding:
    """The bot cannot work like this."""
    return Finding(about, "fail", what, advice)
