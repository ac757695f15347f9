"""Errors of the YAML parser in the words of a flow's author. Most of them are a text that needs quotes."""

import re
from contextlib import suppress
from typing import Any, NamedTuple

import yaml

from bot.core.lazy_patterns import lazy_pattern
from bot.language.source.problems import lookalike

QUOTE = "put the whole text in quotes"
MISALIGNED = "this line fits neither the lines above nor their indentation"
NO_KEY_HERE = "a key is not expected here"
_NO_SPACE = lazy_pattern(r"\s*([A-Za-z_]\w*:(?=[^\s/:])|-(?=[{\[A-Za-z]))")
NEVER_CLOSED = "the quote that opens here is never closed"
_OPENS = lazy_pattern(r":\s*(\s#.*)?$")  # the end of a line whose key has its value below
_GOES_ON = ",:{["  # a line that ends with one of these is not the last one of what stands between brackets


class _Place(NamedTuple):
    """A line and a column, 0-based."""

    line: int
    column: int


class Explained(NamedTuple):
    """A problem's code, where it is (the parser's mark, 0-based), what is wrong and what to do."""

    code: str
    place: Any
    what: str
    fix: str


class SyntaxFault:
    """An error of the parser. ``last`` is the event that was read just before it, ``text`` the source."""

    def __init__(self, error: Any, last: Any, text: str) -> None:
        self._at = error.problem_mark or error.context_mark
        self._began = error.context_mark
        self._context: str = error.context or ""
        self._problem: str = error.problem or ""
        self._last = last
        self._text = text

    def explained(self) -> Explained:
        """The first reading of it that fits."""
        readings = (
            self._tab, self._no_space, self._quoted, self._never_closed, self._directive, self._first_character, self._colon, self._bracket, self._more,
            self._alignment,
        )  # fmt: skip
        for reading in readings:
            if (found := reading()) is not None:
                return found
        what = f"this is no YAML: {self._problem}"
        return Explained("E002", self._at, what, "look at the lines above and the indentation")

    def _tab(self) -> Explained | None:
        if "tab character" not in self._problem:
            return None
        return Explained("E002", self._at, "a tab where the indentation is", "indent with spaces")

    def _quoted(self) -> Explained | None:
        if "quoted scalar" not in self._context:
            return None
        if "escape" in self._problem:
            fix = r"write \\ for a backslash, or put the text in single quotes"
            return Explained("E002", self._at, r"a \ before something that it cannot escape", fix)
        return Explained("E002", self._began, NEVER_CLOSED, "close it")

    def _never_closed(self) -> Explained | None:
        """The quote of the next text has ended one that is never closed."""
        last = self._last
        if (
            not isinstance(last, yaml.ScalarEvent)
            or last.style not in ('"', "'")
            or _line(last.end_mark) != self._at.line
        ):
            return None
        ends: Any = last.end_mark
        before = self._text[: ends.index - 1].rpartition("\n")[2]
        if _line(last.start_mark) < self._at.line and before.endswith((": ", "- ", "{", "[", ", ")):
            return Explained("E002", last.start_mark, NEVER_CLOSED, "close it")
        return None

    def _directive(self) -> Explained | None:
        if "directive" not in self._context:
            return None
        return Explained("E002", self._began, "a line that begins with % is a directive", "leave it out")

    def _first_character(self) -> Explained | None:
        """A text that begins with a character that means something to YAML."""
        place = self._at
        if any(said in self._context for said in ("scanning an alias", "scanning an anchor", "block scalar")):
            place = self._began
        elif self._problem.startswith("mapping values") or not any(
            said in self._problem for said in ("start any token", "not allowed", "node content")
        ):
            return None
        character = self._character(place)
        if character == "\t":
            return Explained("E002", place, "a tab where the indentation is", "indent with spaces")
        if not character.strip():
            return None
        if self._text[place.index : place.index + 3] == "```":
            what = "a line of ``` stands around an example, and is no part of it"
            return Explained("E002", place, what, "leave it out, and the one at the end, too")
        return Explained("E007", place, f'a text without quotes cannot begin with "{character}"', QUOTE)

    def _colon(self) -> Explained | None:
        if "mapping values" not in self._problem:
            return None
        if self._follows_plain_text():
            return Explained("E007", self._last.start_mark, 'a text without quotes has ": " in it', self._quote())
        return self._no_colon() or Explained(
            "E002", self._at, NO_KEY_HERE, "align the line with the keys that it belongs to"
        )

    def _quote(self) -> str:
        """The fix for the unquoted text that was read last."""
        return lookalike(self._last.value[0]) or QUOTE

    def _no_space(self) -> Explained | None:
        """A line, or the one above, that has no space behind its dash or its key's colon."""
        lines = self._text.split("\n")
        for number in (self._at.line, self._at.line - 1):
            found = _NO_SPACE.match(lines[number]) if 0 <= number < len(lines) else None
            if found is not None:
                what = f"no space behind the {'dash' if found[1] == '-' else 'colon of a key'}"
                return Explained("E002", _Place(number, found.end()), what, "write a space there")
        return None

    def _no_colon(self) -> Explained | None:
        """The line above has no colon, so this line continues it."""
        lines = self._text.split("\n")
        above = [number for number in range(int(self._at.line) - 1, -1, -1) if lines[number].strip()]
        if not above:
            return None
        here, column = lines[self._at.line], _indentation(lines[above[0]])
        is_first = column == _indentation(here) and len(above) > 1 and _OPENS.search(lines[above[1]]) is not None
        if not is_first and re.fullmatch(r"\s*[\w/]+( [\w/]+)?\s*", lines[above[0]]) is None:
            return None
        return self._no_key(_Place(above[0], column), "add the colon with a space behind it")

    def _no_key(self, place: Any, fix: str) -> Explained:
        """A line that is nothing to YAML. ``fix`` is what to do where the line itself does not show it."""
        line = self._text.split("\n")[place.line].strip()
        if line.startswith("//"):
            fix = "a comment begins with #"
        elif re.fullmatch(r"[-=_*–—]+", line):
            fix = "a line of --- stands between two documents"
        return Explained("E002", place, 'a line that is neither "key: value" nor "- item"', fix)

    def _bracket(self) -> Explained | None:
        """Inside of ``{...}`` or ``[...]``."""
        if "flow" not in self._context:
            return None
        began = self._began if self._text[self._began.index :].strip() else self._left_open()
        bracket = self._character(began)
        line, mark, _ = self._text[began.index :].partition("\n")[0].partition(" #")
        is_whole = self._at.line > began.line and line.rstrip()[-1:] not in _GOES_ON
        if mark and is_whole:
            what = f'what follows " #" is a comment, so the "{bracket}" that opens here is never closed'
            return Explained("E007", began, what, "quote the text that has the # in it")
        if is_whole or not self._text[self._at.index :].strip():
            what = f'the "{bracket}" that opens here is never closed'
            return Explained("E002", began, what, "close it; if it belongs to a text, quote the text")
        if self._follows_plain_text():
            what = f'inside "{bracket}" a text with any of : {{ }} [ ] needs quotes'
            key = re.search(r"\s([a-z]\w*)$", self._text[self._last.start_mark.index : self._at.index])
            fix = self._quote() if key is None else f"{self._quote()}; or: {_no_comma(key[1])}"
            return Explained("E007", self._last.start_mark, what, fix)
        return self._after_quotes() or Explained(
            "E007", self._at, f'this does not fit inside "{bracket}"', "close the bracket, or quote the text"
        )

    def _left_open(self) -> Any:
        """The mark of the innermost bracket that is open where the text ends."""
        opened: list[Any] = []
        with suppress(yaml.YAMLError):
            for token in yaml.scan(self._text):
                if isinstance(token, (yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken)):
                    opened.append(token.start_mark)
                elif isinstance(token, (yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)):
                    opened.pop()
        return opened[-1]

    def _more(self) -> Explained | None:
        """Something goes on in the line where a value has ended."""
        if "block" not in self._context or self._last is None or self._last.end_mark.line != self._at.line:
            return None
        if isinstance(self._last, yaml.CollectionEndEvent) and self._character(self._last.start_mark) in "}]":
            what = f'the text goes on after its closing "{self._character(self._last.start_mark)}"'
            return Explained("E007", self._at, what, QUOTE)
        return self._after_quotes()

    def _after_quotes(self) -> Explained | None:
        last = self._last
        if isinstance(last, yaml.ScalarEvent) and last.style in ('"', "'") and _line(last.end_mark) == self._at.line:
            fix = f"{QUOTE}; where one is a part of it, use the others around it"
            if (key := re.match(r"\s*(\w+):", self._text[self._at.index :])) is not None:
                fix = _no_comma(key[1])
            return Explained("E007", last.start_mark, "the text goes on after its closing quote", fix)
        return None

    def _alignment(self) -> Explained | None:
        if "expected ':'" in self._problem:
            fix = "add the colon with a space behind it, or indent it as a part of the text above"
            return self._no_key(self._began, fix)
        if "block" in self._context:
            fix = "align it with the keys that it belongs to"
            if (above := self._less_indented()) is not None:
                fix += f', or indent "{above}" above further'
            return Explained("E002", self._at, MISALIGNED, fix)
        return None

    def _less_indented(self) -> str | None:
        """The key above, indented less than the line, between which and the keys above it the line would fit."""
        lines = [line for line in self._text.split("\n")[: self._at.line] if line.strip()]
        indents = [_indentation(line) for line in lines]
        found = next((at for at in range(len(lines) - 1, 0, -1) if indents[at] < self._at.column), None)
        fits = found is not None and self._at.column in indents[:found]
        return lines[found].strip() if found is not None and fits else None

    def _character(self, place: Any) -> str:
        return self._text[place.index : place.index + 1]

    def _follows_plain_text(self) -> bool:
        last = self._last
        if not isinstance(last, yaml.ScalarEvent) or last.style or not last.value:
            return False
        return bool(_line(last.start_mark) == self._at.line)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _no_comma(key: str) -> str:
    return f'if "{key}" is a key, put a comma before it'


def _line(place: Any) -> int:
    return int(place.line)
