"""Messages beside the gateway's limits: what breaks them, and what is cut so that it fits."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from bot.core.messages import (
    BUTTON_TITLE,
    BUTTONS,
    CAPTION,
    CAPTIONED,
    FOOTER_TEXT,
    HEADER_TEXT,
    INTERACTIVE_BODY,
    MEDIA_KINDS,
    REPLY_ID,
    ROW_DESCRIPTION,
    ROW_TITLE,
    ROWS_PER_SECTION,
    SECTION_TITLE,
    SECTIONS,
    TEXT_BODY,
    URL,
    Buttons,
    Choice,
    LinkButton,
    ListMessage,
    LocationMessage,
    MediaMessage,
    Message,
    Section,
    Template,
    Text,
    clip,
    wrong_suffix,
)


def violations(message: Message) -> list[str]:
    """Every limit of the gateway that a message breaks, in words; empty when it can be sent."""
    if isinstance(message, Text) and message.body.strip() and len(message.body) <= TEXT_BODY:
        return []  # nearly every message
    return list(_violations(message))


def _violations(message: Message) -> Iterator[str]:
    match message:
        case Text(body):
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
        case Template(name, language, header):
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
    yield from _choices(tuple(row for section in message.sections for row in section.rows), "row", ROW_TITLE)


def clipped(message: Message) -> Message:
    """The message with every over-long text shortened to its limit: what is not known before it is sent."""
    match message:
        case Text(body):
            return message if len(body) <= TEXT_BODY else replace(message, body=clip(body, TEXT_BODY))
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


def _address(what: str, url: str) -> Iterator[str]:
    if not url.startswith(("https://", "http://")) or any(c.isspace() for c in url):
        yield f'{what} "{url}" is not an http or https address'


def _media(kind: str, link: str) -> Iterator[str]:
    yield from _address(f"the {kind}'s address", link)
    if (suffix := wrong_suffix(kind, link)) is not None:
        yield f"the gateway takes no .{suffix} as {kind}"
