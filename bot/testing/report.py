"""A failed test in words: the talk as it went, and what was expected beside what came instead."""

from collections.abc import Iterator
from itertools import zip_longest

from bot.simulation.bubble import Bubble
from bot.testing.columns import Paint, Row, beside
from bot.testing.compare import PARTS, differences_of
from bot.testing.player import Spoken
from bot.testing.run import Failure
from bot.testing.transcript import Says

COLOURS = {"bot": "cyan", "wait": "yellow"}
WHO_WIDTH = 7
WIDTH = 100  # of a terminal of which nothing is known


def plain(text: str, colour: str) -> str:
    """The text without a colour."""
    return text


def explained(failure: Failure, paint: Paint = plain, width: int = WIDTH) -> Iterator[str]:
    """The lines of a failure: the talk so far, both sides from where they differ, and what else went wrong."""
    for spoken in failure.talk:
        yield from _spoken(spoken, paint)
    rows = rows_of(failure)
    if rows:
        yield ""
        yield from beside(rows, ("expected", "got"), paint, width)
    for complaint in failure.complaints:
        yield ""
        yield f"Went wrong: {complaint}"


def rows_of(failure: Failure) -> list[Row]:
    """Both sides from where they differ: messages part by part, or what was expected of the conversation."""
    if failure.expected or failure.found:
        pairs = zip_longest(failure.expected, failure.found)
        return [row for says, bubble in pairs for row in _message_rows(says, bubble)]
    return [Row(f"{each.what}: {each.expected}", f"{each.what}: {each.found}", True) for each in failure.differences]


def _message_rows(says: Says | None, bubble: Bubble | None) -> Iterator[Row]:
    """A message that is expected and one that came, part by part; what is neither expected nor wrong is shown too."""
    wanted = {} if says is None else says.parts
    there = {} if bubble is None else {key: part(bubble) for key, part in PARTS.items()}
    if "contains" in wanted:
        there["contains"] = there.pop("says", "")
    if says is None or bubble is None:
        differing = {*wanted, *there}
    else:
        differing = {difference.what for difference in differences_of(says, bubble)}
    for key in ("contains", *PARTS):
        left, right = _part(key, wanted.get(key)), _part(key, there.get(key), found=True)
        if left or right:
            yield Row(left, right, key in differing)


def _part(key: str, value: str | tuple[str, ...] | None, found: bool = False) -> str:
    """A part of a message in one line."""
    if not value:
        return ""
    match key:
        case "says":
            return str(value)
        case "contains":
            return str(value) if found else f"... {' ... '.join(value)} ..."
        case "buttons":
            return " ".join(f"[{title}]" for title in value)
        case "rows" | "body":
            return f"{key}: {' | '.join(value)}"
    return f"{key}: {value}"


def _spoken(spoken: Spoken, paint: Paint) -> Iterator[str]:
    """A line of the talk: who, and what was said, with what there was to choose from."""
    lines = [spoken.text] if spoken.bubble is None else lines_of(spoken.bubble) or [""]
    for number, line in enumerate(lines):
        who = f"{spoken.who if number == 0 else '':{WHO_WIDTH}}"
        yield f"{paint(who, COLOURS.get(spoken.who, 'white'))}{line}".rstrip()


def lines_of(bubble: Bubble) -> list[str]:
    """A message with all that there is to see of it."""
    parts = [_part(key, part(bubble)) for key, part in PARTS.items()]
    return [line for part in parts if part for line in part.split("\n")]
