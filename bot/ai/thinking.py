"""What a service leaves in an answer that was never meant for the contact is taken out.

Blocks of thoughts and of calls (``<think>...</think>``, ``<tool_call>...``), and the tokens by which models mark roles,
channels and ends (``<|im_end|>``, ``<|channel|>analysis<|message|>``).
"""

import re

_BLOCKS = (
    *("think", "thinking", "thought", "reasoning", "reflection", "scratchpad", "analysis", "invoke", "function"),
    *("function_call", "function_calls", "tool_call", "tool_calls", "tool_code", "tool_use", "tool_response"),
)
_NAMES = "|".join(_BLOCKS)
_LONGEST = 100  # characters of a tag
_TAG = re.compile(
    rf"<(?P<closing>/?)(?:{_NAMES})(?:[\s=][^<>]{{0,60}})?>|<[|｜](?P<token>[^<>|｜]{{1,60}})[|｜]>", re.I
)
_BEGUN = re.compile(rf"<(?:/?(?P<name>[a-z_]*)|/?(?:{_NAMES})[\s=][^<>]{{0,60}}|[|｜][^<>|｜]{{0,60}}[|｜]?)", re.I)
_ENDS = ("im_end", "endoftext", "eot_id", "end_of_text", "end▁of▁sentence", "end_of_turn", "python_tag")
_FINAL = "final"  # the one channel that is for the contact


class Thoughts:
    """Takes thoughts out of a text that comes in pieces, which may be cut anywhere, within a tag too.

    White space before the answer's first word goes with them, and so does a block that is never closed.
    """

    def __init__(self) -> None:
        self._held = ""  # the beginning of a tag, perhaps
        self._thinking = False
        self._channel: list[str] | None = None  # the pieces of a channel's name, while it comes
        self._begun = False

    def feed(self, piece: str) -> str:
        """What there is to show after this piece."""
        text = self._held + piece
        shown = []
        at = 0
        for tag in _TAG.finditer(text):
            shown.append(self._pass(text[at : tag.start()]))
            self._take(tag)
            at = tag.end()
        rest = text[at:]
        self._held = _begun_tag(rest)
        shown.append(self._pass(rest[: len(rest) - len(self._held)]))
        return self._show("".join(shown))

    def end(self) -> str:
        """What is left to show when no piece follows."""
        held, self._held = self._held, ""
        return self._show(self._pass(held))

    def _take(self, tag: re.Match[str]) -> None:
        token = tag["token"]
        if token is None:
            self._thinking = not tag["closing"]
        elif token in ("start", "channel"):
            self._channel = []
        elif token == "message" and self._channel is not None:
            self._thinking = "".join(self._channel).strip().lower() != _FINAL
            self._channel = None
        elif token in _ENDS:
            self._thinking = True  # what follows is no answer: the model plays the contact, or writes a call as code
        elif token.startswith("tool"):
            self._thinking = not token.endswith("end")

    def _pass(self, text: str) -> str:
        if self._channel is not None:
            self._channel.append(text)
            return ""
        return "" if self._thinking else text

    def _show(self, text: str) -> str:
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        return text


def _begun_tag(text: str) -> str:
    """The end of a text that may be the beginning of a tag."""
    start = text.rfind("<", max(0, len(text) - _LONGEST))
    begun = _BEGUN.fullmatch(text, start) if start >= 0 else None
    if begun is None:
        return ""
    name = (begun["name"] or "").lower()
    return text[start:] if any(block.startswith(name) for block in _BLOCKS) else ""
