"""The result of an import: flows, settings, Python and the rows of the report."""

import re
import unicodedata
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from keyword import kwlist
from pathlib import Path
from typing import Any

from bot.cli.importing.conversations import SourceConversation
from bot.core.errors import BotError
from bot.core.immutable import immutable, mutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import MEDIA_SUFFIXES, URL, is_link, wrong_suffix
from bot.language.expressions.grammar import RESERVED_NAMES
from bot.language.steps.transition import RESERVED


class UnreadableExport(BotError):
    """A file is no export that can be imported. The text names the file, the place in it and the cure."""


@immutable
class ExportFile:
    """A file of an export, and the values that its JSON or YAML holds."""

    path: Path
    data: Any


class Fate(StrEnum):
    """The three ends of a node."""

    SAME = "same"
    NEARLY = "nearly"
    LOST = "lost"


@immutable
class ImportedNode:
    """A row of the report: a node at a ``place`` of the export, and the step that it became.

    ``note`` says what differs, or why the node is lost and what to write instead. ``flow`` and ``step`` are empty where
    nothing in the new bot stands for the node.
    """

    place: str
    fate: Fate
    note: str = ""
    flow: str = ""
    step: str = ""


@immutable
class ImportedFunction:
    """A function of `handlers.py`.

    ``decorator`` is ``handler`` (called by a step, outside of turns) or ``function`` (called in expressions).
    ``parameters`` are names with their annotations, ``body`` is its lines.
    """

    name: str
    decorator: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    returns: str = "Any"
    doc: str = ""
    body: tuple[str, ...] = ('raise NotImplementedError("write this function")',)


@mutable
class ImportedBot:
    """A bot that an importer fills. ``flows`` are the documents by name, without their key ``flow``.

    ``sources`` are further functions of `handlers.py`, as they are written there, and ``imports`` what they import.
    """

    system: str
    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    flows: dict[str, dict[str, Any]] = field(default_factory=dict)
    functions: dict[str, ImportedFunction] = field(default_factory=dict)
    imports: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    locales: dict[str, dict[str, Any]] = field(default_factory=dict)
    nodes: list[ImportedNode] = field(default_factory=list)
    conversations: list[SourceConversation] = field(default_factory=list)

    def same(self, place: str, flow: str = "", step: str = "") -> None:
        """Report a node that does the same here."""
        self.nodes.append(ImportedNode(place, Fate.SAME, "", flow, step))

    def nearly(self, place: str, note: str, flow: str = "", step: str = "") -> None:
        """Report a node that does nearly the same: ``note`` says what differs."""
        self.nodes.append(ImportedNode(place, Fate.NEARLY, note, flow, step))

    def lost(self, place: str, note: str, flow: str = "", step: str = "") -> None:
        """Report a node that is lost: ``note`` says why, and what to write instead."""
        self.nodes.append(ImportedNode(place, Fate.LOST, note, flow, step))

    def report(self, place: str, flow: str, step: str, nearly: Sequence[str], lost: Sequence[str] = ()) -> None:
        """Report a node with the notes on it: what has no counterpart, and what differs."""
        fate = Fate.LOST if lost else Fate.NEARLY if nearly else Fate.SAME
        self.nodes.append(ImportedNode(place, fate, "; ".join(dict.fromkeys([*lost, *nearly])), flow, step))

    def untranslatable(
        self, name: str, original: str, parameters: Mapping[str, str] | None = None, decorator: str = "handler"
    ) -> str:
        """Add a function that raises, with the original in its docstring. Returns the function's name."""
        doc = f"Write this in Python. The original ({self.system}):\n\n{original}"
        self.functions[name] = ImportedFunction(name, decorator, parameters or {}, "Any", doc)
        return name


_BRACES = lazy_pattern(r"\{(?:[{%#]|\Z)|[}%#]\}|\A\}")


def written_out(text: str) -> str:
    """A text as it stands in a flow: braces that would be an expression there are texts of one."""
    return _BRACES.sub(lambda found: f'{{{{ "{found[0]}" }}}}', text)


def tokens_in(text: str, pattern: re.Pattern[str], unreadable: Callable[[str], Exception]) -> list[tuple[str, str]]:
    """The tokens of a text, each behind the name of its group in the pattern.

    Raises what ``unreadable`` makes of the rest of the text where no token follows.
    """
    found: list[tuple[str, str]] = []
    text, at = text.rstrip(), 0
    while at < len(text):
        match = pattern.match(text, at)
        if match is None:
            raise unreadable(text[at:])
        kind = str(match.lastgroup)
        found.append((kind, match[kind]))
        at = match.end()
    return found


def unsendable(kind: str, url: str) -> str:
    """Why the gateway takes no such file, and what to do; empty where it takes the file."""
    if not is_link(url) or len(url) > URL:
        return f'the {kind} is left out: "{url:.60}" is no address (write one with https://)'
    suffix = wrong_suffix(kind, url)
    fix = f"use {', '.join(MEDIA_SUFFIXES[kind])}"
    return f"the {kind} is left out: the gateway takes no .{suffix} ({fix})" if suffix else ""


def shortened(titles: Sequence[str], most: int) -> list[str]:
    """The titles of choices as the platform takes them: cut to ``most`` characters, and each unlike the others."""
    found: list[str] = []
    for title in titles:
        short, number = title if len(title) <= most else f"{title[: most - 1].rstrip()}…", 2
        while short in found or (short != title and short in titles):
            end = f"… {number}"
            short, number = title[: most - len(end)].rstrip() + end, number + 1
        found.append(short)
    return found


_MOST = 40  # characters of a name
NOT_VARIABLES = ("language", "timezone", "event", "answer", "status", "all")
"""Names that mean something else where a text reads them."""
_NOT_FREE = {*RESERVED, *RESERVED_NAMES, *kwlist, "true", "false", "none"}


def name_of(title: str, taken: Container[str], default: str = "step") -> str:
    """A name for a flow, a step or a variable: small ASCII letters, digits and underscores, and not taken yet."""
    ascii_text = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().casefold()
    name = re.sub(r"[^a-z0-9]+", "_", ascii_text).strip("_")[:_MOST].rstrip("_") or default
    name = f"{default}_{name}" if name[0].isdigit() else name
    number, found = 2, name
    while found in taken or found in _NOT_FREE:
        found, number = f"{name}_{number}", number + 1
    return found
