"""A template's name, its language, and what fills it (spec: Template send object)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from bot.core import messages
from bot.expressions.templates import Template
from bot.keys.fields import Fields, template_of
from bot.keys.key_schemas import ANY_TEXT, Schema, Schemas, either, integer, one_or_several, record, shared, takes
from bot.keys.text_shapes import MAY, TEXT, Shape
from bot.lang.source import List, Map, Node
from bot.steps.message_parts import LOCATION, LocationPart, check_media, read_location
from bot.steps.step_facts import SentFile, SentText, StepFailed, Used

TEMPLATE_TEXTS: Mapping[str, Shape] = {"name": MAY, "language": MAY, "header": TEXT, "body": TEXT, "buttons": MAY}
MEDIA = ("image", "video", "document")
BODY_KINDS = ("text", "currency", "date_time")
HEADER_KINDS = ("text", *MEDIA, "location")
FIXED = "fixed"
"""What fills a header without placeholders, of which the gateway may want to be told that it is there: nothing."""


@dataclass(frozen=True, slots=True)
class TemplateParameter:
    """One value that fills a template: its type, and what it is made of, by the names of the specification."""

    kind: str
    parts: Mapping[str, Template]
    place: LocationPart | None = None

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
class TemplateToSend:
    """A template with what fills it: also what `window_closed` sends instead of a message."""

    name: str
    language: str
    header: TemplateParameter | None = None
    body: tuple[TemplateParameter, ...] = ()
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


def read_template_message(fields: Fields) -> TemplateToSend:
    """Read a template's name, language and what fills it."""
    fields.require("name")
    fields.require("language")
    name, language = fields.string("name"), fields.string("language")
    notice = TemplateToSend(
        name or "",
        language or "",
        _read_header(fields),
        tuple(_read_body(fields)),
        tuple(_read_buttons(fields)),
    )
    fields.close()
    return notice


def _read_header(fields: Fields) -> TemplateParameter | None:
    node = fields.raw("header")
    if isinstance(node, List) and not node.items:
        return TemplateParameter(FIXED, {})
    return _read_parameter(node, fields, "header", HEADER_KINDS)


def _read_body(fields: Fields) -> Iterator[TemplateParameter]:
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


def _read_parameter(node: Node | None, fields: Fields, key: str, kinds: tuple[str, ...]) -> TemplateParameter | None:
    """Read a text, or a map with one key: the parameter's type."""
    if node is None:
        return None
    if not isinstance(node, Map):
        text = template_of(node, fields.problems, f"{fields.what}: {key}")
        return None if text is None else TemplateParameter("text", {"text": text})
    inner = Fields(node, fields.problems, f"{fields.what}: {key}")
    inner.declare(kinds)
    found = [kind for kind in kinds if inner.has(kind)]
    inner.close()
    if len(found) != 1:
        what = f"{inner.what}: one type of parameter is expected"
        fields.problems.add("E107", node.mark, what, f"write a text, or one of {', '.join(kinds)}")
        return None
    return _read_typed(inner, found[0])


def _read_typed(fields: Fields, kind: str) -> TemplateParameter | None:
    if kind == "location":
        inner = fields.fields(kind)
        whole = inner is not None and inner.require("name") and inner.require("address")
        place = read_location(inner) if inner is not None and whole else None
        return None if place is None else TemplateParameter(kind, {}, place)
    if not isinstance(fields.raw(kind), Map):
        return _read_short(fields, kind)
    inner = fields.fields(kind)
    assert inner is not None
    if kind == "image":
        inner.require("id")
        parts = {"id": inner.template("id")}
    elif kind == "currency":
        given = inner.require("amount") and inner.require("code")
        names = ("amount", "code", "text")
        inner.declare(names)
        parts = {name: inner.template(name) for name in names if inner.has(name)}
        parts = parts if given else {}
    else:
        fields.problems.add("E106", inner.mark, f"{inner.what}: a text is expected", "write the text alone")
        return None
    inner.close()
    texts = {name: text for name, text in parts.items() if text is not None}
    return TemplateParameter(kind, texts) if texts else None


def _read_short(fields: Fields, kind: str) -> TemplateParameter | None:
    """A type whose value is one text: an address for media."""
    text = fields.template(kind)
    if text is None:
        return None
    if kind in MEDIA:
        check_media(fields, kind, kind, text)
        return TemplateParameter(kind, {"link": text})
    if kind == "currency":
        what = f"{fields.what}: currency: an amount and a code are expected"
        fields.problems.add("E106", fields.mark_of(kind), what, "write currency: {amount: 12.50, code: EUR}")
        return None
    return TemplateParameter(kind, {"text": text})


def _currency(texts: Mapping[str, str]) -> dict[str, Any]:
    try:
        amount = round(Decimal(texts["amount"]) * 1000)
    except (InvalidOperation, ValueError, OverflowError):
        raise StepFailed("mismatch", "the amount is no number") from None
    shown = texts.get("text") or f"{texts['amount']} {texts['code']}"
    return {"fallback_value": shown, "code": texts["code"], "amount_1000": amount}


def _location(place: messages.LocationMessage) -> dict[str, Any]:
    return {"latitude": place.latitude, "longitude": place.longitude, "name": place.name, "address": place.address}


_PARAMETERS: Schemas = {
    "text": takes(ANY_TEXT, "A text."),
    "image": takes(
        either(ANY_TEXT, record({"id": takes(ANY_TEXT, "Its id at the gateway.")}, "id")), "An image, by its address."
    ),
    "video": takes(ANY_TEXT, "A video, by its address."),
    "document": takes(ANY_TEXT, "A document, by its address."),
    "location": takes(record(LOCATION.schemas, *LOCATION.required, "name", "address"), "A place on the map."),
    "currency": takes(
        record(
            {
                "amount": takes(ANY_TEXT, "How much, like 12.50."),
                "code": takes(ANY_TEXT, "The currency's code, like EUR."),
                "text": takes(ANY_TEXT, "How it is written; the amount and the code where nothing is said."),
            },
            "amount",
            "code",
        ),
        "An amount of money.",
    ),
    "date_time": takes(ANY_TEXT, "A date or a time, as it is written."),
}


def _parameter(kinds: tuple[str, ...]) -> Schema:
    return either(ANY_TEXT, record({kind: _PARAMETERS[kind] for kind in kinds}, most=1))


_BUTTON: Schemas = {
    "url": takes(ANY_TEXT, "What is added to the address of the button."),
    "index": takes(integer(0, 9), "Its place among the template's buttons; behind the replies where nothing is said."),
}
TEMPLATE_MESSAGE = shared(
    "map-of-template",
    record(
        {
            "name": takes(ANY_TEXT, "The template's name at the gateway."),
            "language": takes(ANY_TEXT, "The template's language, like en or pt_BR."),
            "header": takes(
                either(_parameter(HEADER_KINDS), {"type": "array", "maxItems": 0}), "What fills the header."
            ),
            "body": takes(one_or_several(_parameter(BODY_KINDS)), "What fills the placeholders of the body, in order."),
            "buttons": takes(
                one_or_several(either(ANY_TEXT, record(_BUTTON, "url"))), "What is added to links of its buttons."
            ),
        },
        "name",
        "language",
    ),
)


@dataclass(frozen=True, slots=True)
class SentTemplate:
    """A template of the gateway's that a step sends, and the titles of the quick replies that it waits for."""

    notice: "TemplateToSend"
    replies: tuple[str, ...] = ()
