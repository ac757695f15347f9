"""A template's name, its language, and what fills it (spec: Template send object)."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from decimal import Decimal, InvalidOperation
from typing import Any

from bot.core import messages
from bot.core.immutable import immutable
from bot.language.expressions.templates import Template
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import (
    LITERAL,
    TEMPLATE,
    Form,
    KeySet,
    KeySpec,
    either,
    integer,
    mapped,
    nested,
    one_or_several,
    shared,
)
from bot.language.keys.fields import Fields
from bot.language.keys.text_shapes import MAY, TEXT
from bot.language.source.problems import Mark, Problems
from bot.language.source.yaml_tree import List, Node
from bot.language.steps.message_parts import (
    NAMED_LOCATION,
    OWN_FILE,
    LocationPart,
    link_to_file,
    media_address,
    read_location,
    written_source,
)
from bot.language.steps.step_facts import SentFile, SentPart, SentText, StepFailed, Used

FIXED = "fixed"
"""The kind of a header without placeholders: nothing fills it, but the gateway may want it to be named."""


@immutable
class TemplateParameter:
    """One value that fills a template: its type, and what it is made of, by the names of the specification."""

    kind: str
    parts: Mapping[str, Template]
    place: LocationPart | None = None

    def wire(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        """The parameter object. Raises `StepFailed` for an amount or coordinates that are no numbers."""
        if (file := self.parts.get(OWN_FILE.name)) is not None:
            return {"type": self.kind, self.kind: {"link": link_to_file(scope, self.kind, file)}}
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


@immutable
class UrlButton:
    """The text that is added to the address of a link button. ``index`` is its place among the buttons, if written."""

    text: Template
    index: int | None = None


@immutable
class TemplateToSend:
    """A template with what fills it: also what `window_closed` sends instead of a message. ``mark`` is its place."""

    name: str
    language: str
    mark: Mark = field(compare=False)
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
        if self.header is not None:
            for by, own in (("link", False), (OWN_FILE.name, True)):
                if by in self.header.parts:
                    yield SentFile(self.header.kind, self.header.parts[by], own)

    def sent_texts(self) -> Iterator[SentText]:
        """The texts that fill it; the gateway refuses a template of which one is missing."""
        for parameter in (*((self.header,) if self.header else ()), *self.body):
            shown = parameter.kind in ("text", "currency", "date_time")
            for name, text in parameter.parts.items():
                yield SentText(name, text, None, needed=True, parameter=shown)
        for button in self.buttons:
            yield SentText("buttons", button.text, None, needed=True, parameter=True)

    def uses(self) -> Iterator[Used]:
        """Every text that fills the template."""
        for parameter in (*((self.header,) if self.header else ()), *self.body):
            yield from map(Used, parameter.uses())
        for button in self.buttons:
            yield Used(button.text)


def _read_template(fields: Fields) -> TemplateToSend:
    name, language = _NAME.read(fields) or "", _LANGUAGE.read(fields) or ""
    return TemplateToSend(name, language, fields.mark, _HEADER.read(fields), _BODY.read(fields), _BUTTONS.read(fields))


def _read_header(node: Node, problems: Problems, what: str) -> TemplateParameter | None:
    if isinstance(node, List) and not node.items:
        return TemplateParameter(FIXED, {})
    return _HEADER_PARAMETER.read(node, problems, what)


def _of_one_text(kind: str, part: str, text: Form[Template | None]) -> Form[TemplateParameter | None]:
    return mapped(text, lambda found: TemplateParameter(kind, {part: found}))


def _read_parts(kind: str, *keys: KeySpec[Template | None]) -> Form[TemplateParameter | None]:
    """A parameter that is made of several texts, by their names."""

    def of(fields: Fields) -> TemplateParameter | None:
        texts = {key.name: text for key in keys if (text := key.read(fields)) is not None}
        whole = all(key.name in texts for key in keys if key.required)
        return TemplateParameter(kind, texts) if whole else None

    return nested(KeySet(*keys), of, "{amount: 12.50, code: EUR}")


def _read_place(fields: Fields) -> TemplateParameter | None:
    place = read_location(fields)
    return None if place is None else TemplateParameter("location", {}, place)


def _parameter(*kinds: KeySpec[TemplateParameter | None]) -> Form[TemplateParameter | None]:
    """A text, or a map with one key: the parameter's type."""

    def of(fields: Fields) -> TemplateParameter | None:
        found = [kind for kind in kinds if kind.written(fields)]
        if len(found) == 1:
            return found[0].read(fields)
        names = ", ".join(kind.name for kind in kinds)
        fields.report("E107", fields.mark, "one type of parameter is expected", f"write a text, or one of {names}")
        return None

    return either(_of_one_text("text", "text", TEMPLATE), nested(KeySet(*kinds, most=1), of))


def _read_button(fields: Fields) -> UrlButton | None:
    text = _URL.read(fields)
    return None if text is None else UrlButton(text, _INDEX.read(fields))


def _currency(texts: Mapping[str, str]) -> dict[str, Any]:
    try:
        amount = round(Decimal(texts["amount"]) * 1000)
    except (InvalidOperation, ValueError, OverflowError):
        raise StepFailed("mismatch", "the amount is no number") from None
    shown = texts.get("text") or f"{texts['amount']} {texts['code']}"
    return {"fallback_value": shown, "code": texts["code"], "amount_1000": amount}


def _location(place: messages.LocationMessage) -> dict[str, Any]:
    return {"latitude": place.latitude, "longitude": place.longitude, "name": place.name, "address": place.address}


def _media(kind: str, *others: KeySpec[Template | None]) -> Form[TemplateParameter | None]:
    """The file of a header: its address, or a map that says where it comes from."""
    sources = (OWN_FILE, *others)

    def of(fields: Fields) -> TemplateParameter | None:
        by = written_source(fields, sources)
        source = None if by is None else by.read(fields)
        return None if by is None or source is None else TemplateParameter(kind, {by.name: source})

    return either(_of_one_text(kind, "link", media_address(kind)), nested(KeySet(*sources), of, "{file: a.jpg}"))


_ID = KeySpec("id", TEMPLATE, "Its id at the gateway.")
_TEXT = KeySpec("text", _of_one_text("text", "text", TEMPLATE), "A text.")
_IMAGE = KeySpec("image", _media("image", _ID), "An image, by its address.")
_VIDEO = KeySpec("video", _media("video"), "A video, by its address.")
_DOCUMENT = KeySpec("document", _media("document"), "A document, by its address.")
_PLACE = KeySpec("location", nested(NAMED_LOCATION, _read_place), "A place on the map.")
_CURRENCY = KeySpec(
    "currency",
    _read_parts(
        "currency",
        KeySpec("amount", TEMPLATE, "How much, like 12.50.", required=True),
        KeySpec("code", TEMPLATE, "The currency's code, like EUR.", required=True),
        KeySpec("text", TEMPLATE, "How it is written; the amount and the code by default."),
    ),
    "An amount of money.",
)
_DATE_TIME = KeySpec("date_time", _of_one_text("date_time", "text", TEMPLATE), "A date or a time, as it is written.")
_HEADER_PARAMETER = _parameter(_TEXT, _IMAGE, _VIDEO, _DOCUMENT, _PLACE)
_URL = KeySpec("url", TEMPLATE, "The text that is added to the address of the button.", required=True)
_INDEX = KeySpec("index", integer(0, 9), "Its place among the template's buttons; behind the replies by default.")
_BUTTON = either(mapped(TEMPLATE, UrlButton), nested(KeySet(_URL, _INDEX), _read_button))
_NAME = KeySpec("name", LITERAL, "The template's name at the gateway.", required=True, texts=MAY)
_LANGUAGE = KeySpec("language", LITERAL, "The template's language, like en or pt_BR.", required=True, texts=MAY)
_HEADER = KeySpec(
    "header",
    Form(key_schemas.either(_HEADER_PARAMETER.schema, {"type": "array", "maxItems": 0}), _read_header),
    "The value that fills the header.",
    texts=TEXT,
)
_BODY = KeySpec(
    "body",
    one_or_several(_parameter(_TEXT, _CURRENCY, _DATE_TIME)),
    "The values that fill the placeholders of the body, in order.",
    texts=TEXT,
)
_BUTTONS = KeySpec("buttons", one_or_several(_BUTTON), "Texts that are added to links of its buttons.", texts=MAY)
TEMPLATE_MESSAGE = shared(
    "map-of-template",
    nested(KeySet(_NAME, _LANGUAGE, _HEADER, _BODY, _BUTTONS), _read_template, "{name: its_name, language: en}"),
)


@immutable
class SentTemplate(SentPart):
    """A template of the gateway's that a step sends, and the titles of the quick replies that it waits for."""

    notice: "TemplateToSend"
    replies: tuple[str, ...] = ()
