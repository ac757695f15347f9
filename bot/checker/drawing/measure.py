"""How much room a text takes, as far as that can be told without its font: rather too much than too little."""

import unicodedata

_NARROW, _WIDE = frozenset("ijltfrI.,:;'|!()[]{} "), frozenset("mwMW@%—…→▶")


def width(text: str, size: float) -> float:
    """The width of a text in pixels, in letters of so many pixels."""
    return size * sum(map(_share, text))


def _share(char: str) -> float:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.15
    if char in _NARROW:
        return 0.4
    if char in _WIDE:
        return 1.0
    return 0.74 if char.isupper() else 0.63


def wrapped(text: str, size: float, room: float) -> list[str]:
    """A text in lines that have room. A word that is longer than a line is cut."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and width(f"{line} {word}", size) > room:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
        while width(line, size) > room:
            head = _fitting(line, size, room)
            lines.append(line[:head])
            line = line[head:]
    return [*lines, line] if line else lines


def _fitting(word: str, size: float, room: float) -> int:
    """How many characters of a word have room: one at least."""
    taken = 0.0
    for index, char in enumerate(word):
        taken += size * _share(char)
        if taken > room and index:
            return index
    return len(word)
