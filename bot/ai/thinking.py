"""Thoughts are no part of an answer: ``<think>`` blocks that the service has left in are taken out."""

import re

_TAG = re.compile(r"<(/?)think>", re.IGNORECASE)
_TAGS = ("<think>", "</think>")


class Thoughts:
    """Takes thoughts out of a text that comes in pieces, which may be cut anywhere, within a tag too.

    White space before the answer's first word goes with them, and so does a block that is never closed.
    """

    def __init__(self) -> None:
        self._held = ""  # the beginning of a tag, perhaps
        self._thinking = False
        self._begun = False

    def feed(self, piece: str) -> str:
        """What there is to show after this piece."""
        text = self._held + piece
        shown = []
        at = 0
        for tag in _TAG.finditer(text):
            shown.append("" if self._thinking else text[at : tag.start()])
            self._thinking = not tag[1]
            at = tag.end()
        rest = text[at:]
        self._held = _begun_tag(rest)
        shown.append("" if self._thinking else rest[: len(rest) - len(self._held)])
        return self._show("".join(shown))

    def end(self) -> str:
        """What is left to show when no piece follows."""
        held, self._held = self._held, ""
        return "" if self._thinking else self._show(held)

    def _show(self, text: str) -> str:
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        return text


def _begun_tag(text: str) -> str:
    """The end of a text that may be the beginning of a tag."""
    start = text.rfind("<")
    end = text[start:].lower() if start >= 0 else ""
    return text[start:] if end and any(tag.startswith(end) for tag in _TAGS) else ""
