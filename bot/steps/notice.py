"""A template's name, its language, and what fills it (spec: Template send object)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from bot.core import messages
from bot.expressions.templates import Template
from bot.keys.fields import Fields, template_of
from bot.keys.text_shapes import MAY, TEXT, Shape
from bot.lang.nodes import List, Map, Node
from bot.steps.declared import SentFile, SentText, Used
from bot.steps.kind import StepFailed
from bot.steps.limits import check_media
from bot.steps.place import Place, read_place

NOTICE_TEXTS: Mapping[str, Shape] = {"name": MAY, "language": MAY, "header": TEXT, "body": TEXT, "buttons": MAY}
MEDIA = ("image", "video", "document")
BODY_KINDS = ("text", "currency", "date_time")
HEADER_KINDS = ("text", *MEDIA, "location")
FIXED = "fixed"
"""What fills a header without placeholders, of which the gateway may want to be told that it is there: nothing."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One value that fills a template: its type, and what it is made of, by the names of the specification."""

    kind: str
    parts: Mapping[str, Template]
    place: Place | None = None

    def wire(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        """The parameter object. Raises `StepFailed` for an amount or coordinates that are no numbers."""
        texts = {name: text.render(scope) for name, text in self.parts.items()}
        match self.kind:
            case "text":
                return {"type": "text", "text": texts["text"]}
            case "fixed":
                return {}
            case "date_time":
                return {"type": "date_time", "date_time": {"fallback_value": texts["text"]}}
            case "currency":
                return {"type": "currency", "currency": _currency(texts)}
            case "location":
                assert self.place is not None
                return {"type": "location", "location": _location(self.place.message(scope))}
        return {"type": self.kind, self.kind: texts}

    def uses(self) -> Iterator[Template]:
        """Every text of it."""
        yield from self.parts.values()
        if self.place is not None:
            yield from self.place.uses()


@dataclass(frozen=True, slots=True)
class UrlButton:
    """What is added to the address of a link button. ``index`` is its place among the buttons, if it is written."""

    text: Template
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A template with what fills it: also what `window_closed` sends instead of a message."""

    name: str
    language: str
    header: Parameter | None = None
    body: tuple[Parameter, ...] = ()
    buttons: tuple[UrlButton, ...] = ()

    def message(self, scope: Mapping[str, Any], replies: tuple[str, ...] = ()) -> messages.TemplateMessage:
        """The message. ``replies`` are the payloads of its quick reply buttons.

        A link button stands behind the quick replies unless its place is written; those take the places left.
        """
        header = None if self.header is None else self.header.wire(scope)
        body = tuple(parameter.wire(scope) for parameter in self.body)
        places = self.url_places(len(replies))
        urls = tuple((place, button.text.render(scope)) for place, button in zip(places, self.buttons, strict=True))
        return messages.TemplateMessage(self.name, self.language, header, body, replies, urls)

    def url_places(self, replies: int) -> tuple[int, ...]:
        """The places of the link buttons among all buttons, of which so many are quick replies."""
        return tuple(
            replies + number if button.index is None else button.index for number, button in enumerate(self.buttons)
        )

    def files(self) -> Iterator[SentFile]:
        """The file of its header."""
        if self.header is not None and "link" in self.header.parts:
            yield SentFile(self.header.kind, self.header.parts["link"])

    def sent_texts(self) -> Iterator[SentText]:
        """The texts that fill it; the gateway refuses a template of which one is missing."""
        for parameter in (*((self.header,) if self.header else ()), *self.body):
            yield from (SentText(name, text, None, needed=True) for name, text in parameter.parts.items())
        yield from (SentText("buttons", button.text, None, needed=True) for button in self.buttons)

    def uses(self) -> Iterator[Used]:
        """Every text that fills the template."""
        for parameter in (*((self.header,) if self.header else ()), *self.body):
            yield from map(Used, parameter.uses())
        for button in self.buttons:
            yield Used(button.text)


def read_notice(fields: Fields) -> Notice:
    """Read a template's name, language and what fills it."""
    fields.require("name")
    fields.require("language")
    name, language = fields.string("name"), fields.string("language")
    notice = Notice(
        name or "",
        language or "",
        _read_header(fields),
        tuple(_read_body(fields)),
        tuple(_read_buttons(fields)),
    )
    fields.close()
    return notice


def _read_header(fields: Fields) -> Parameter | None:
    node = fields.raw("header")
    if isinstance(node, List) and not node.items:
        return Parameter(FIXED, {})
    return _read_parameter(node, fields, "header", HEADER_KINDS)


def _read_body(fields: Fields) -> Iterator[Parameter]:
    for node in fields.one_or_more("body"):
        parameter = _read_parameter(node, fields, "body", BODY_KINDS)
        if parameter is not None:
            yield parameter


def _read_buttons(fields: Fields) -> Iterator[UrlButton]:
    for node in fields.one_or_more("buttons"):
        if not isinstance(node, Map):
            text = template_of(node, fields.problems, f"{fields.what}: buttons")
            if text is not None:
                yield UrlButton(text)
            continue
        inner = Fields(node, fields.problems, f"{fields.what}: buttons")
        inner.require("url")
        text, index = inner.template("url"), inner.integer("index", 0, 9)
        inner.close()
        if text is not None:
            yield UrlButton(text, index)


def _read_parameter(node: Node | None, fields: Fields, key: str, kinds: tuple[str, ...]) -> Parameter | None:
    """Read a text, or a map with one key: the parameter's type."""
    if node is None:
        return None
    if not isinstance(node, Map):
        text = template_of(node, fields.problems, f"{fields.what}: {key}")
        return None if text is None else Parameter("text", {"text": text})
    inner = Fields(node, fields.problems, f"{fields.what}: {key}")
    found = [kind for kind in kinds if inner.has(kind)]
    inner.close()
    if len(found) != 1:
        what = f"{inner.what}: one type of parameter is expected"
        fields.problems.add("E107", node.mark, what, f"write a text, or one of {', '.join(kinds)}")
        return None
    return _read_typed(inner, found[0])


def _read_typed(fields: Fields, kind: str) -> Parameter | None:
    if kind == "location":
        inner = fields.fields(kind)
        whole = inner is not None and inner.require("name") and inner.require("address")
        place = read_place(inner) if inner is not None and whole else None
        return None if place is None else Parameter(kind, {}, place)
    if not isinstance(fields.raw(kind), Map):
        return _read_short(fields, kind)
    inner = fields.fields(kind)
    assert inner is not None
    if kind == "image":
        inner.require("id")
        parts = {"id": inner.template("id")}
    elif kind == "currency":
        given = inner.require("amount") and inner.require("code")
        parts = {name: inner.template(name) for name in ("amount", "code", "text") if inner.has(name)}
        parts = parts if given else {}
    else:
        fields.problems.add("E106", inner.mark, f"{inner.what}: a text is expected", "write the text alone")
        return None
    inner.close()
    texts = {name: text for name, text in parts.items() if text is not None}
    return Parameter(kind, texts) if texts else None


def _read_short(fields: Fields, kind: str) -> Parameter | None:
    """A type whose value is one text: an address for media."""
    text = fields.template(kind)
    if text is None:
        return None
    if kind in MEDIA:
        check_media(fields, kind, kind, text)
        return Parameter(kind, {"link": text})
    if kind == "currency":
        what = f"{fields.what}: currency: an amount and a code are expected"
        fields.problems.add("E106", fields.mark_of(kind), what, "write currency: {amount: 12.50, code: EUR}")
        return None
    return Parameter(kind, {"text": text})


def _currency(texts: Mapping[str, str]) -> dict[str, Any]:
    try:
        amount = round(Decimal(texts["amount"]) * 1000)
    except (InvalidOperation, ValueError, OverflowError):
        raise StepFailed("mismatch", "the amount is no number") from None
    shown = texts.get("text") or f"{texts['amount']} {texts['code']}"
    return {"fallback_value": shown, "code": texts["code"], "amount_1000": amount}


def _location(place: messages.LocationMessage) -> dict[str, Any]:
    return {"latitude": place.latitude, "longitude": place.longitude, "name": place.name, "address": place.address}
