"""Texts of flows, as short as a drawing needs them."""

import re
from collections.abc import Sequence

LABEL = 32  # characters
LISTED = 2  # labels that are written out
_VALUE = re.compile(r"\{\{-?\s*([\w.]*)(.*?)-?\}\}", re.DOTALL)
_STATEMENT = re.compile(r"\{%.*?%\}", re.DOTALL)
_MADE_UP = re.compile(r"if \d+: (?P<condition>.*)|exits\.(?P<exit>.*)|\[(?P<choice>.*)\]", re.DOTALL)
_JOINS = "\u200d"  # emoji


def plain(text: str) -> str:
    """A text in one line, with the names of the values in it: ``Hi {contact.name}!``."""
    text = _VALUE.sub(lambda value: f"{{{value[1] or '…'}}}", _STATEMENT.sub(" ", text))
    return " ".join("".join(char if char.isprintable() or char == _JOINS else " " for char in text).split())


def short(text: str, most: int) -> str:
    """The beginning of a text, up to a word's end where there is one near."""
    text = plain(text)
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    at_word = cut.rpartition(" ")[0]
    return (at_word if len(at_word) > most // 2 else cut).rstrip(" ,;:") + "…"


def listed(texts: Sequence[str], most: int = LISTED) -> str:
    """Some texts in a line: ``Mon, Tue, +3``."""
    shown = [short(text, LABEL) for text in texts[:most]]
    return ", ".join([*shown, f"+{len(texts) - most}"] if len(texts) > most else shown)


def of_outcome(outcome: str) -> str:
    """What a way out is called on its line: nothing where it is the one that needs no name."""
    made_up = _MADE_UP.fullmatch(outcome)
    if made_up is None:
        return "" if outcome == "then" else outcome
    condition = made_up["condition"]
    return f"if {condition}" if condition else made_up["exit"] or made_up["choice"] or ""
