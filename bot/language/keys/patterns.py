"""The keys `match`, `pattern` and `payload`: how a text is matched. Patterns are bounded in size and in time."""

import re
from dataclasses import field
from functools import partial
from typing import Any

from bot.core.immutable import immutable, mutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.keys.declared_keys import Form, KeySpec, one_of
from bot.language.keys.fields import text_of
from bot.language.keys.key_schemas import ANY_TEXT
from bot.language.source.problems import Mark, Problems
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


@immutable
class PayloadPattern:
    """A payload with values in it: ``PAY:{id}``. A value ends where the character after it comes."""

    written: str
    mark: Mark
    names: tuple[str, ...]
    compiled: re.Pattern[str]

    def values_in(self, payload: str) -> dict[str, str] | None:
        """The values in a payload, as texts; None if it is another payload: ``PAY:17`` -> ``{"id": "17"}``"""
        found = self.compiled.fullmatch(payload.strip())
        return None if found is None else found.groupdict()


_VALUE = lazy_pattern(r"\{([a-z][a-z0-9_]*)\}")


def _payload_of(node: Node, problems: Problems, what: str) -> PayloadPattern | None:
    """A payload's pattern: a text, then values with a text between two, so that a payload is read in one way."""
    written = text_of(node, problems, what)
    if written is None:
        return None
    between, names = _VALUE.split(written)[::2], _VALUE.findall(written)
    if not between[0].strip() or any("{" in text or "}" in text for text in between):
        problems.add("E305", node.mark, f'{what}: "{written}" is no payload', "begin with a word, as in PAY:{id}")
        return None
    if not all(between[1:-1]) or len(names) > len({*names}):
        fix = "write each name once, and a sign such as : between two of them"
        problems.add("E305", node.mark, f'{what}: nobody can tell the values of "{written}" apart', fix)
        return None
    ends = [re.escape(text[0]) if text else "" for text in between[1:]]
    values = [f"(?P<{name}>[^{end}]+)" if end else f"(?P<{name}>.+)" for name, end in zip(names, ends, strict=True)]
    parts = [re.escape(text) for text in between]
    whole = parts[0] + "".join(value + text for value, text in zip(values, parts[1:], strict=True))
    return PayloadPattern(written, node.mark, tuple(names), re.compile(whole, re.DOTALL))


PAYLOAD_PATTERN = KeySpec(
    "payload", Form(ANY_TEXT, _payload_of), "The payload of a button that is tapped, with names of values: PAY:{id}."
)
PATTERN = KeySpec("pattern", Form(ANY_TEXT, _pattern_of), "A regular expression that the text matches in full.")


_TOKEN = lazy_pattern(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?P<(?P<name>\w+)>|\?.|)|[)|]", re.DOTALL)
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
    """The groups that have text in every match in which a bracket takes part; its own, unless it can match nothing."""
    found = [] if bracket.either else bracket.names
    return [*found, bracket.name] if bracket.name is not None and not _fits_nothing(inside) else found


def _fits_nothing(source: str) -> bool:
    import regex

    try:
        return regex.fullmatch(source, "") is not None
    except regex.error:
        return True
