"""What the named groups of a pattern are certain to have, whatever text it matches."""

from dataclasses import dataclass, field
from typing import Any

import regex

_TOKEN = regex.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?P<(?<name>\w+)>|\?.|)|[)|]", regex.DOTALL)
_PLAIN = ("(?:", "(?P<")  # of those that begin with a question mark; others may match without what stands in them
_OPTIONAL = ("?", "*", "{0", "{,")


@dataclass(slots=True)
class _Bracket:
    """A bracket that is open: the groups in it that take part where it does, as far as it has been read."""

    start: int
    name: str | None = None
    plain: bool = True
    names: list[str] = field(default_factory=list)
    either: bool = False  # it has alternatives


def certain_groups(pattern: Any) -> frozenset[str]:
    """The named groups of a compiled pattern that have some text in every match of it."""
    source: str = pattern.pattern
    open_ = [_Bracket(0)]
    for token in _TOKEN.finditer(source):
        match token[0][0]:
            case "(":
                open_.append(_Bracket(token.end(), token["name"], token[0] == "(" or token[0].startswith(_PLAIN)))
            case "|":
                open_[-1].either = True
            case ")" if len(open_) > 1:
                closed = open_.pop()
                if closed.plain and not source.startswith(_OPTIONAL, token.end()):
                    open_[-1].names += _of(closed, source[closed.start : token.start()])
    return frozenset(_of(open_[0], source))


def _of(bracket: _Bracket, inside: str) -> list[str]:
    """What has some text wherever a bracket takes part: its own group too, unless nothing at all fits it."""
    found = [] if bracket.either else bracket.names
    return [*found, bracket.name] if bracket.name is not None and not _fits_nothing(inside) else found


def _fits_nothing(source: str) -> bool:
    try:
        return regex.fullmatch(source, "") is not None
    except regex.error:
        return True
