"""The paragraphs of an answer, each as soon as it is complete."""

import re

_FENCE = ("```", "~~~")
_ITEM = re.compile(r"\s*([-*+•]|\d+[.)])\s")
_HEADING = re.compile(r"#{1,6}\s")


class Paragraphs:
    """Cuts text that comes in pieces at its blank lines.

    What belongs together stays so: a list, a block of code, and what is introduced by a heading or a colon.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []  # of the paragraph that is not complete
        self._line: list[str] = []  # the pieces of its last line
        self._in_code = False

    def feed(self, piece: str) -> list[str]:
        """The paragraphs that are complete with this piece of text."""
        first, *rest = piece.split("\n")
        self._line.append(first)
        complete = []
        for start in rest:
            complete += self._take("".join(self._line).rstrip())
            self._line = [start]
        return complete

    def rest(self) -> str:
        """All that belongs to no complete paragraph."""
        return "\n".join([*self._lines, "".join(self._line)]).strip()

    def _take(self, line: str) -> list[str]:
        """Add a line. The paragraph that is complete before it, or with it, if one is."""
        complete = []
        if not line and not self._in_code and not self._may_go_on():
            return self._end()
        if line and not self._in_code and self._lines[-1:] == [""] and not self._goes_on(line):
            complete = self._end()
        if line.lstrip().startswith(_FENCE):
            self._in_code = not self._in_code
        self._lines.append(line)
        return complete

    def _end(self) -> list[str]:
        paragraph = "\n".join(self._lines).strip()
        self._lines = []
        return [paragraph] if paragraph else []

    def _last(self) -> str:
        return next((line for line in reversed(self._lines) if line), "")

    def _may_go_on(self) -> bool:
        """True when a blank line may stand in the middle of what is here."""
        return _introduces(self._last()) or _is_of_list(self._last())

    def _goes_on(self, line: str) -> bool:
        return _introduces(self._last()) or _is_of_list(line)


def _introduces(line: str) -> bool:
    return line.endswith(":") or bool(_HEADING.match(line))


def _is_of_list(line: str) -> bool:
    return bool(_ITEM.match(line)) or line.startswith("  ")
