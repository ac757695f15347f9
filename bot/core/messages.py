"""The messages a bot can send, and every limit that the gateway sets for them.

Source of each number: the gateway's specification, "Limits" and "POST send-message".
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import head
from bot.core.values import stored

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
CAPTIONED = LINKED = ("image", "video", "document")
"""The kinds of files that have a caption, and of headers that a file's address fills."""
_LINK = lazy_pattern(r"https?://[^\s/?#:@]\S*")
_OTHER_SUFFIXES = frozenset({
    *("gif", "webp", "svg", "heic", "bmp", "tiff", "wav", "m4a", "aac", "mov", "avi", "mkv", "webm", "3gp"),
    *("doc", "xls", "ppt", "pptx", "csv", "zip", "html"),
}).union(*MEDIA_SUFFIXES.values())  # fmt: skip


@stored
@immutable
class TextMessage:
    """A plain message."""

    body: str
    preview_url: bool = False


@stored
@immutable
class MediaMessage:
    """An image, audio, video or document, by its public address. ``content`` is the text of a file made for it."""

    kind: str
    link: str
    caption: str | None = None
    filename: str | None = None
    content: str | None = None


@stored
@immutable
class LocationMessage:
    """A place, in degrees."""

    latitude: float
    longitude: float
    name: str | None = None
    address: str | None = None


@stored
@immutable
class Choice:
    """A reply button, or a row of a list (only rows show a description)."""

    id: str
    title: str
    description: str | None = None


@stored
@immutable
class Buttons:
    """A question with up to three quick reply buttons. A header, no footer (see docs: decisions)."""

    body: str
    buttons: tuple[Choice, ...]
    header: str | None = None


@stored
@immutable
class LinkButton:
    """A message with one button that opens an address (``cta_url``)."""

    body: str
    title: str
    url: str
    header: str | None = None
    footer: str | None = None


@stored
@immutable
class Section:
    """A titled group of rows."""

    title: str
    rows: tuple[Choice, ...]


@stored
@immutable
class ListMessage:
    """A question with a list, which a button opens. It may have a footer, but no header (docs/decisions.md)."""

    body: str
    button: str
    sections: tuple[Section, ...]
    footer: str | None = None

    @property
    def rows(self) -> tuple[Choice, ...]:
        """The rows of all sections."""
        return tuple(row for section in self.sections for row in section.rows)


@stored
@immutable
class TemplateMessage:
    """An approved template with its parameters.

    ``header`` and each of ``body`` and ``url_buttons`` are parameter objects as the gateway's specification has them
    (``{"type": "text", "text": ...}``; ``{}`` for a header without any); ``replies`` are the payloads of its quick
    reply buttons, in order, at the places that ``url_buttons`` leave.
    """

    name: str
    language: str
    header: dict[str, Any] | None = None
    body: tuple[dict[str, Any], ...] = ()
    replies: tuple[str, ...] = ()
    url_buttons: tuple[tuple[int, str], ...] = ()


Message = TextMessage | MediaMessage | LocationMessage | Buttons | LinkButton | ListMessage | TemplateMessage


def in_plain_text(message: Message | None) -> str:
    """The text of a message with buttons, a list or a link, with these as lines; empty for any other message.

    ``Buttons("Go on?", (yes, no))  -> "Go on?\\n\\n• Yes\\n• No"``
    """
    match message:
        case Buttons(body, buttons, header):
            return _lines(header, body, [f"• {button.title}" for button in buttons], None)
        case LinkButton(body, title, url, header, footer):
            return _lines(header, body, [f"{title}: {url}"], footer)
        case ListMessage(body=body, footer=footer):
            return _lines(None, body, [f"• {row.title}" for row in message.rows], footer)
    return ""


def in_words(message: Message) -> str:
    """The text of a message without its choices; a part that is no text stands in brackets.

    ``MediaMessage("image", "https://cafe.example/a.jpg", "Our cake")  -> "(an image) Our cake"``
    """
    match message:
        case TextMessage(body) | Buttons(body) | LinkButton(body) | ListMessage(body):
            return body
        case MediaMessage(kind, _, caption):
            return file_in_words(kind, caption)
        case LocationMessage(latitude, longitude):
            return f"(a place: {latitude}, {longitude})"
        case TemplateMessage(name):
            return f"(the template {name})"


def says(template: TemplateMessage, message: Message) -> bool:
    """True if one of a template's values has the whole text of a message, which is nothing but a text."""
    if not isinstance(message, TextMessage) or not message.body.strip():
        return False
    return any(message.body.strip() in str(value.get("text", "")) for value in template.body)


def file_in_words(kind: str, caption: str | None) -> str:
    """A file and its caption: ``(an image) Our cake``."""
    return f"({'an' if kind[0] in 'aeiou' else 'a'} {kind}) {caption or ''}".strip()


def _lines(header: str | None, body: str, lines: list[str], footer: str | None) -> str:
    return clip("\n\n".join(part for part in (header, body, "\n".join(lines), footer) if part), TEXT_BODY)


def suffix_of(link: str) -> str:
    """The ending of an address, in small letters; an empty text if it has none."""
    path = link.partition("#")[0].partition("?")[0].partition("://")[2].partition("/")[2]
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""


def wrong_suffix(kind: str, link: str) -> str | None:
    """The ending of a media address if it is a type that the gateway does not take for this kind; else None.

    An address without an ending, or with one that says nothing, may be right.
    """
    suffix = suffix_of(link)
    return suffix if suffix in _OTHER_SUFFIXES and suffix not in MEDIA_SUFFIXES[kind] else None


def clip(text: str, limit: int) -> str:
    """Shorten a text to a limit, marked with an ellipsis."""
    return text if len(text) <= limit else head(text, limit - 1).rstrip() + "…"


def violations(message: Message) -> list[str]:
    """Every limit of the gateway that a message breaks, in words; empty when it can be sent."""
    return [] if fits(message) else list(_violations(message))


def fits(message: Message) -> bool:
    """True for most messages: a text, or plain buttons, within all limits."""
    if isinstance(message, TextMessage):
        return len(message.body) <= TEXT_BODY and not message.body.isspace() and message.body != ""
    if not isinstance(message, Buttons) or message.header is not None or not 1 <= len(message.buttons) <= BUTTONS:
        return False
    body, titles, ids = message.body, set(), set()
    for choice in message.buttons:
        title, id = choice.title, choice.id
        if not 0 < len(title) <= BUTTON_TITLE or title.isspace() or choice.description is not None:
            return False
        if not 0 < len(id) <= REPLY_ID or id.isspace():
            return False
        titles.add(title)
        ids.add(id)
    return 0 < len(body) <= INTERACTIVE_BODY and not body.isspace() and len(titles) == len(ids) == len(message.buttons)


def _violations(message: Message) -> Iterator[str]:
    match message:
        case TextMessage(body):
            yield from _needed("the text", body)
            yield from _over("the text", body, TEXT_BODY)
        case MediaMessage(kind, link, caption, filename):
            yield from _media(kind, link)
            yield from _over("the caption", caption, CAPTION)
            if caption is not None and kind not in CAPTIONED:
                yield f"a caption goes with {', '.join(CAPTIONED)}, and not with {kind}"
            if filename is not None and kind != "document":
                yield f"a filename goes with a document, and not with {kind}"
        case LocationMessage(latitude, longitude):
            if not -90 <= latitude <= 90:
                yield f"latitude {latitude} is not between -90 and 90"
            if not -180 <= longitude <= 180:
                yield f"longitude {longitude} is not between -180 and 180"
        case TemplateMessage(name, language, header):
            yield from _needed("the template's name", name)
            yield from _needed("the template's language", language)
            kind = header["type"] if header else ""
            if header and kind in MEDIA_KINDS and "link" in header[kind]:
                yield from _media(kind, header[kind]["link"])
        case _:
            yield from _interactive(message)


def _interactive(message: Buttons | LinkButton | ListMessage) -> Iterator[str]:
    yield from _needed("the text", message.body)
    yield from _over("the text", message.body, INTERACTIVE_BODY)
    match message:
        case Buttons(_, buttons, header):
            if not 1 <= len(buttons) <= BUTTONS:
                yield f"{len(buttons)} buttons, 1 to {BUTTONS} are allowed"
            yield from _choices(buttons, "button", BUTTON_TITLE)
            yield from _over("the header", header, HEADER_TEXT)
        case LinkButton(_, title, url, header, footer):
            yield from _needed("the link's title", title)
            yield from _over("the link's title", title, BUTTON_TITLE)
            yield from _address("the link", url)
            yield from _over("the link", url, URL)
            yield from _over("the header", header, HEADER_TEXT)
            yield from _over("the footer", footer, FOOTER_TEXT)
        case ListMessage():
            yield from _list(message)


def _list(message: ListMessage) -> Iterator[str]:
    yield from _needed("the list's button", message.button)
    yield from _over("the list's button", message.button, BUTTON_TITLE)
    yield from _over("the footer", message.footer, FOOTER_TEXT)
    if not 1 <= len(message.sections) <= SECTIONS:
        yield f"{len(message.sections)} sections, 1 to {SECTIONS} are allowed"
    for section in message.sections:
        yield from _needed("a section's title", section.title)
        yield from _over(f'section "{section.title}"', section.title, SECTION_TITLE)
        if not 1 <= len(section.rows) <= ROWS_PER_SECTION:
            yield f'section "{section.title}": {len(section.rows)} rows, 1 to {ROWS_PER_SECTION} are allowed'
    yield from _choices(message.rows, "row", ROW_TITLE)


def clipped(message: Message) -> Message:
    """The message with every too long text cut at its limit. Its length is only known when it is sent."""
    if fits(message):
        return message
    match message:
        case TextMessage(body):
            return replace(message, body=clip(body, TEXT_BODY))
        case MediaMessage():
            return replace(message, caption=_clip_if(message.caption, CAPTION))
        case Buttons(body, buttons, header):
            choices = tuple(_clipped_choice(button, BUTTON_TITLE) for button in buttons)
            return Buttons(clip(body, INTERACTIVE_BODY), choices, _clip_if(header, HEADER_TEXT))
        case LinkButton(body, title, url, header, footer):
            text, title = clip(body, INTERACTIVE_BODY), clip(title, BUTTON_TITLE)
            return LinkButton(text, title, url, _clip_if(header, HEADER_TEXT), _clip_if(footer, FOOTER_TEXT))
        case ListMessage(body, button, sections, footer):
            text, button = clip(body, INTERACTIVE_BODY), clip(button, BUTTON_TITLE)
            return ListMessage(text, button, tuple(map(_clipped_section, sections)), _clip_if(footer, FOOTER_TEXT))
    return message


def _clip_if(text: str | None, limit: int) -> str | None:
    return None if text is None else clip(text, limit)


def _clipped_choice(choice: Choice, limit: int) -> Choice:
    if len(choice.title) <= limit and (choice.description is None or len(choice.description) <= ROW_DESCRIPTION):
        return choice
    return replace(choice, title=clip(choice.title, limit), description=_clip_if(choice.description, ROW_DESCRIPTION))


def _clipped_section(section: Section) -> Section:
    return Section(clip(section.title, SECTION_TITLE), tuple(_clipped_choice(row, ROW_TITLE) for row in section.rows))


def _over(what: str, text: str | None, limit: int) -> Iterator[str]:
    if text is not None and len(text) > limit:
        yield f"{what} has {len(text)} characters, {limit} are allowed"


def _needed(what: str, text: str) -> Iterator[str]:
    if not text.strip():
        yield f"{what} is empty"


def _choices(choices: tuple[Choice, ...], what: str, title_limit: int) -> Iterator[str]:
    for choice in choices:
        yield from _needed(f"a {what}'s title", choice.title)
        yield from _over(f'{what} "{choice.title}"', choice.title, title_limit)
        yield from _needed(f'{what} "{choice.title}"\'s id', choice.id)
        yield from _over(f'{what} "{choice.title}"\'s id', choice.id, REPLY_ID)
        yield from _over(f'{what} "{choice.title}"\'s description', choice.description, ROW_DESCRIPTION)
    for field in ("id", "title"):
        values = [getattr(choice, field) for choice in choices]
        for value, count in Counter(values).items() if len({*values}) < len(values) else ():
            if count > 1:
                yield f'{count} {what}s have the {field} "{value}"'


def is_link(url: str) -> bool:
    """True if a text is an http or https address: it names a host, and has no spaces."""
    return _LINK.fullmatch(url) is not None


def _address(what: str, url: str) -> Iterator[str]:
    if not is_link(url):
        yield f'{what} "{url}" is not an http or https address'


def _media(kind: str, link: str) -> Iterator[str]:
    yield from _address(f"the {kind}'s address", link)
    if (suffix := wrong_suffix(kind, link)) is not None:
        yield f"the gateway takes no .{suffix} as {kind}"
