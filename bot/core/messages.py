"""The messages a bot can send, and every limit that the gateway sets for them.

Source of each number: the gateway's specification, "Limits" and "POST send-message".
"""

from dataclasses import dataclass
from typing import Any

from bot.core.codec import stored

TEXT_BODY = 4096
CAPTION = 1024
INTERACTIVE_BODY = 1024
HEADER_TEXT = 60
FOOTER_TEXT = 60
BUTTONS = 3
BUTTON_TITLE = 20
REPLY_ID = 256
URL = 2000
SECTIONS = 10
ROWS_PER_SECTION = 10
ROW_TITLE = 24
SECTION_TITLE = 24
ROW_DESCRIPTION = 72
MEDIA_KINDS = ("image", "audio", "video", "document")
MEDIA_SUFFIXES = {
    "image": ("jpg", "jpeg", "png"),
    "audio": ("mp3", "ogg", "amr"),
    "video": ("mp4",),
    "document": ("pdf", "docx", "xlsx", "txt"),
}
MEDIA_BYTES = {"image": 5 << 20, "audio": 16 << 20, "video": 16 << 20, "document": 100 << 20}
CAPTIONED = ("image", "video", "document")
_OTHER_SUFFIXES = frozenset({
    *("gif", "webp", "svg", "heic", "bmp", "tiff", "wav", "m4a", "aac", "mov", "avi", "mkv", "webm", "3gp"),
    *("doc", "xls", "ppt", "pptx", "csv", "zip", "html"),
}).union(*MEDIA_SUFFIXES.values())  # fmt: skip


@stored
@dataclass(frozen=True, slots=True)
class Text:
    """A plain message."""

    body: str
    preview_url: bool = False


@stored
@dataclass(frozen=True, slots=True)
class MediaMessage:
    """An image, audio, video or document, by its public address."""

    kind: str
    link: str
    caption: str | None = None
    filename: str | None = None


@stored
@dataclass(frozen=True, slots=True)
class LocationMessage:
    """A place, in degrees."""

    latitude: float
    longitude: float
    name: str | None = None
    address: str | None = None


@stored
@dataclass(frozen=True, slots=True)
class Choice:
    """A reply button, or a row of a list (only rows show a description)."""

    id: str
    title: str
    description: str | None = None


@stored
@dataclass(frozen=True, slots=True)
class Buttons:
    """A question with up to three quick reply buttons. A header, no footer (see docs: decisions)."""

    body: str
    buttons: tuple[Choice, ...]
    header: str | None = None


@stored
@dataclass(frozen=True, slots=True)
class LinkButton:
    """A message with one button that opens an address (``cta_url``)."""

    body: str
    title: str
    url: str
    header: str | None = None
    footer: str | None = None


@stored
@dataclass(frozen=True, slots=True)
class Section:
    """A titled group of rows."""

    title: str
    rows: tuple[Choice, ...]


@stored
@dataclass(frozen=True, slots=True)
class ListMessage:
    """A question with a list that opens by a button. A footer, no header (see docs: decisions)."""

    body: str
    button: str
    sections: tuple[Section, ...]
    footer: str | None = None


@stored
@dataclass(frozen=True, slots=True)
class Template:
    """An approved template with its parameters.

    ``header`` and each of ``body`` and ``url_buttons`` are parameter objects as the gateway's
    specification has them (``{"type": "text", "text": ...}``; ``{}`` for a header without any); ``replies`` are the payloads of its quick
    reply buttons, in order, at the places that ``url_buttons`` leave.
    """

    name: str
    language: str
    header: dict[str, Any] | None = None
    body: tuple[dict[str, Any], ...] = ()
    replies: tuple[str, ...] = ()
    url_buttons: tuple[tuple[int, str], ...] = ()


Message = Text | MediaMessage | LocationMessage | Buttons | LinkButton | ListMessage | Template


def in_plain_text(message: Message | None) -> str:
    """What a message with buttons, a list or a link says, without them; empty for any other message.

    ``Buttons("Go on?", (yes, no))  -> "Go on?\\n\\n• Yes\\n• No"``
    """
    match message:
        case Buttons(body, buttons, header):
            return _lines(header, body, [f"• {button.title}" for button in buttons], None)
        case LinkButton(body, title, url, header, footer):
            return _lines(header, body, [f"{title}: {url}"], footer)
        case ListMessage(body, _, sections, footer):
            rows = [row for section in sections for row in section.rows]
            return _lines(None, body, [f"• {row.title}" for row in rows], footer)
    return ""


def _lines(header: str | None, body: str, lines: list[str], footer: str | None) -> str:
    return clip("\n\n".join(part for part in (header, body, "\n".join(lines), footer) if part), TEXT_BODY)


def wrong_suffix(kind: str, link: str) -> str | None:
    """What a media address ends in, where that is a type that the gateway does not take for this kind.

    An address without an ending, or with one that says nothing, may be right: None.
    """
    path = link.partition("#")[0].partition("?")[0].partition("://")[2].partition("/")[2]
    name = path.rpartition("/")[2]
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    return suffix if suffix in _OTHER_SUFFIXES and suffix not in MEDIA_SUFFIXES[kind] else None


def clip(text: str, limit: int) -> str:
    """Shorten a text to a limit, marked with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
