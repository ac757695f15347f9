"""The contact's phone: a message as it is shown, and the buttons and rows that can be tapped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.messages import MEDIA_KINDS
from bot.core.own_addresses import EXAMPLE, FileAddress

if TYPE_CHECKING:  # it serves HTTP, and printing messages does not need that
    from bot.testing.emulator import InteractiveChoice


Json = Mapping[str, Any]


MadeText = Callable[[FileAddress, str], str]
"""Returns the text of the file at an address."""


def _no_text(file: FileAddress, link: str) -> str:
    return ""


@immutable
class ListRow:
    """One row of a list."""

    title: str
    description: str = ""


@immutable
class ShownLink:
    """A button that opens an address."""

    title: str
    url: str


@immutable
class ShownFile:
    """An image, audio, video or document by its address, which is empty where only the gateway has the file.

    A file of the bot's own has its path as ``link``, a file that a handler has made its name, and its ``address``; a
    file that is made of a text has that ``text``, and no link.
    """

    kind: str
    link: str
    filename: str = ""
    text: str = ""
    address: str = ""

    @classmethod
    def at(cls, kind: str, link: str, filename: str = "", made: MadeText = _no_text) -> Self:
        """The file at an address. ``made`` returns the text of a file that is made of a text."""
        own = EXAMPLE.file_at(link)
        if own is None:
            return cls(kind, link, filename)
        if own.kept_as:
            return cls(kind, own.name, filename, address=link)
        return cls(kind, "", filename, made(own, link)) if own.made_for else cls(kind, own.path, filename)

    @property
    def name(self) -> str:
        """The file's name, or else the last part of its address."""
        return self.filename or PurePosixPath(urlsplit(self.link).path).name or self.link


@immutable
class ShownMessage:
    """One message.

    ``body`` and ``header`` of a template are its parameters, but a file or a place in its header is ``file`` or
    ``place``; ``opens`` is the title of a list's button.

    ``buttons`` can be tapped, ``rows`` picked; ``ids`` are what the gateway calls them, in their order. ``place`` is a
    location's name, or its coordinates.
    """

    text: str = ""
    header: str | None = None
    footer: str | None = None
    buttons: tuple[str, ...] = ()
    rows: tuple[ListRow, ...] = ()
    opens: str | None = None
    link: ShownLink | None = None
    file: ShownFile | None = None
    place: str | None = None
    template: str | None = None
    language: str | None = None
    body: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[str, ...]:
        """The titles of all that can be tapped or picked, in order."""
        return self.buttons or tuple(row.title for row in self.rows)


def message_from_request(
    kind: str, request: Json, replies: tuple[str, ...] = (), made: MadeText = _no_text
) -> ShownMessage:
    """Read the gateway's request for a message of a type (spec: POST send-message).

    ``replies`` are the titles of a template's quick reply buttons, and ``made`` returns the texts of files that are
    made: the request does not say them.
    """
    content = request[kind]
    if kind == "text":
        return ShownMessage(content["body"])
    if kind in MEDIA_KINDS:
        file = ShownFile.at(kind, content["link"], content.get("filename", ""), made)
        return ShownMessage(content.get("caption", ""), file=file)
    if kind == "location":
        return ShownMessage(content.get("address", ""), place=_place(content))
    return _template(content, replies) if kind == "template" else _interactive(content)


def _interactive(content: Json) -> ShownMessage:
    text, action = content["body"]["text"], content["action"]
    header, footer = (content.get(part, {}).get("text") for part in ("header", "footer"))
    match content["type"]:
        case "button":
            titles = tuple(button["reply"]["title"] for button in action["buttons"])
            ids = tuple(button["reply"]["id"] for button in action["buttons"])
            return ShownMessage(text, header, footer, buttons=titles, ids=ids)
        case "cta_url":
            return ShownMessage(text, header, footer, link=ShownLink(action["display_text"], action["url"]))
    rows = [row for section in action["sections"] for row in section["rows"]]
    listed = tuple(ListRow(row["title"], row.get("description", "")) for row in rows)
    ids = tuple(row["id"] for row in rows)
    return ShownMessage(text, header, footer, rows=listed, opens=action["button"], ids=ids)


def _template(content: Json, replies: tuple[str, ...]) -> ShownMessage:
    parameters = {part["type"]: part["parameters"] for part in content.get("components", ())}
    body = tuple(_parameter(given) for given in parameters.get("body", ()))
    language = content["language"]["code"]
    buttons = (part for part in content.get("components", ()) if part["type"] == "button")
    ids = tuple(_parameter(part["parameters"][0]) for part in buttons if part["sub_type"] == "quick_reply")
    shown = ShownMessage(template=content["name"], language=language, body=body, buttons=replies, ids=ids)
    return replace(shown, **_header(*parameters.get("header", ())))


def _header(parameter: Json | None = None) -> dict[str, Any]:
    """The part of a `ShownMessage` that shows a template's header."""
    if parameter is None:
        return {}
    kind, value = parameter["type"], parameter[parameter["type"]]
    if kind in MEDIA_KINDS:
        return {"file": ShownFile.at(kind, value.get("link", ""), value.get("filename") or value.get("id", ""))}
    if kind == "location":
        return {"place": _place(value)}
    return {"header": _parameter(parameter)}


def _place(value: Json) -> str:
    return value.get("name") or f"{value['latitude']}, {value['longitude']}"


def _parameter(parameter: Json) -> str:
    value = parameter[parameter["type"]]
    return str(value["fallback_value"] if isinstance(value, Mapping) else value)


class NotOnScreen(BotError):
    """The contact was never shown the button or row that a line taps."""


def newest_choice(shown: "Sequence[InteractiveChoice]", title: str, *, picks: bool) -> "InteractiveChoice":
    """The newest button with a title, of a message or a template; or, if the contact ``picks``, the newest row.

    Raises `NotOnScreen`.
    """
    what, else_it_is = ("row", "a button: `tap` it") if picks else ("button", "a row of a list: `pick` it")
    called = [choice for choice in shown if choice.title == title]
    meant = [choice for choice in called if (choice.kind == "list") is picks]
    if not meant:
        others = [choice for choice in shown if (choice.kind == "list") is picks]
        instead = f", but {else_it_is}" if called else _instead(others)
        raise NotOnScreen(f'there is no {what} "{title}"{instead}')
    return meant[-1]


def choice_of(messages: Sequence[ShownMessage], title: str, of: str) -> str:
    """The id of a button or row of the newest message that has it, and has ``of`` in its text, or is or shows that as a
    template. Raises `NotOnScreen`.
    """
    called = [each for each in reversed(messages) if of in each.text or of in (each.template, *each.body)]
    found = next((each for each in called if title in each.choices), None)
    if not called:
        raise NotOnScreen(f'there is no message with "{of}"')
    if found is None:
        offered = next((each for each in called if each.choices), called[0])
        there = ", ".join(offered.choices) or "nothing to choose"
        raise NotOnScreen(f'the message with "{of}" has no "{title}", but {there}')
    return dict(zip(found.choices, found.ids, strict=False)).get(title, title)


def _instead(on_screen: "list[InteractiveChoice]") -> str:
    newest = list(dict.fromkeys(choice.title for choice in reversed(on_screen)))[:10]
    return f", but there is {', '.join(reversed(newest))}" if newest else "; nothing can be chosen"
