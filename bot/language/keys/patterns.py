"""The keys `match` and `pattern`: how a text is matched. Patterns are bounded in size and in time."""

import re
from dataclasses import field
from functools import partial
from typing import Any

from bot.core.immutable import mutable
from bot.language.keys.declared_keys import Form, KeySpec, one_of
from bot.language.keys.fields import text_of
from bot.language.keys.key_schemas import ANY_TEXT
from bot.language.source.problems import Problems
from bot.language.source.text_patterns import BadPattern, compiled
from bot.language.source.word_matching import ANYWHERE, CLOSE, EXACT, WAYS, WHOLE
from bot.language.source.yaml_tree import Node

_WAYS = "whole, anywhere in a longer text, or close to it in spelling too"


def _way(*ways: str) -> Form[str]:
    one_way = one_of(*ways, default=WHOLE)
    return Form(one_way.schema, partial(_match_of, one_way), absent=WHOLE)


def _match_of(one_way: Form[Any], node: Node, problems: Problems, what: str) -> str:
    how: str = one_way.read(node, problems, what) or WHOLE
    if how == CLOSE:
        import rapidfuzz.distance  # noqa: F401 - its 20 ms are spent here, by bots that need it, and by no turn
    if how == ANYWHERE:
        import regex  # noqa: F401 - likewise
    return how


def _pattern_of(node: Node, problems: Problems, what: str) -> Any:
    """A regular expression; None where it cannot be used."""
    written = text_of(node, problems, what)
    if written is None:
        return None
    try:
        return compiled(written)
    except BadPattern as bad:
        problems.add("E305", node.mark, f"{what}: it cannot be read: {bad}", bad.fix)
    return None


MATCH = KeySpec("match", _way(*WAYS), f"How words are matched: {_WAYS}; whole if left out.")
"""One of `bot.language.source.word_matching.WAYS`."""
CHOICE_MATCH = KeySpec(
    "match", _way(EXACT, *WAYS), f"How choices are matched: exact (no numbers), {_WAYS}; whole if left out."
)
"""The same, or `bot.language.source.word_matching.EXACT`."""
PATTERN = KeySpec("pattern", Form(ANY_TEXT, _pattern_of), "A regular expression that the text matches in full.")


_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?P<(?P<name>\w+)>|\?.|)|[)|]", re.DOTALL)
_PLAIN = ("(?:", "(?P<")  # of those that begin with a question mark; others may match without what stands in them
_OPTIONAL = ("?", "*", "{0", "{,")


@mutable
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
    """The groups that have text whenever a bracket takes part: also its own, unless it matches an empty text."""
    found = [] if bracket.either else bracket.names
    return [*found, bracket.name] if bracket.name is not None and not _fits_nothing(inside) else found


def _fits_nothing(source: str) -> bool:
    import regex

    try:
        return regex.fullmatch(source, "") is not None
    except regex.error:
        return True
