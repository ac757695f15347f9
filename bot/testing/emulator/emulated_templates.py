"""The template registry and the rules for sending one (spec: "Template send object", "Template-send errors")."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from bot.testing.emulator import request_rules
from bot.testing.emulator.gateway_behaviour import Behaviour
from bot.testing.emulator.interactive import InteractiveChoice
from bot.testing.emulator.request_rules import refuse

TEXTUAL = ("text", "currency", "date_time")
"""The types of parameters that replace a placeholder in a text."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_media(value: Any) -> bool:
    return isinstance(value, dict) and request_rules.web_address(value.get("link")) is not None


def _is_image(value: Any) -> bool:
    return _is_media(value) or (isinstance(value, dict) and "link" not in value and _is_text(value.get("id")))


def _is_location(value: Any) -> bool:
    numbers = isinstance(value, dict) and _is_number(value.get("latitude")) and _is_number(value.get("longitude"))
    return numbers and _is_text(value.get("name")) and _is_text(value.get("address"))


def _is_currency(value: Any) -> bool:
    texts = isinstance(value, dict) and _is_text(value.get("fallback_value")) and _is_text(value.get("code"))
    return texts and _is_number(value.get("amount_1000"))


def _is_date_time(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("fallback_value"))


SHAPES: dict[str, Callable[[Any], bool]] = {
    "text": _is_text,
    "payload": _is_text,
    "currency": _is_currency,
    "date_time": _is_date_time,
    "image": _is_image,
    "video": _is_media,
    "document": _is_media,
    "location": _is_location,
}
"""A function for each type of parameter that returns whether a value is valid."""


MESSAGES = {
    "132000": "Template param mismatch",
    "132001": "Template missing parameters",
    "132005": "Template text too long",
    "132006": "Template paused",
    "132007": "Template rejected",
    "132008": "Template language mismatch",
    "132012": "Template does not exist",
    "132015": "Template category mismatch",
}
_PLACEHOLDER = re.compile(r"\{\{\s*(\d+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class TemplateButton:
    """A template's button; a ``url`` button is dynamic when its address has a placeholder (``.../{{1}}``)."""

    kind: Literal["quick_reply", "url"]
    title: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class MessageTemplate:
    """A template as it was registered: texts with ``{{1}}``, ``{{2}}``, ... in place of parameters.

    ``header`` is a text, or ``header_media`` one of ``image``, ``video``, ``document``, ``location``. ``fits`` False:
    every send is refused with 132015, because nothing in a request names the kind of campaign.
    """

    name: str
    language: str = "en"
    body: str = ""
    header: str = ""
    header_media: Literal["", "image", "video", "document", "location"] = ""
    footer: str = ""
    buttons: tuple[TemplateButton, ...] = ()
    category: Literal["AUTHENTICATION", "UTILITY", "MARKETING", "SERVICE"] = "UTILITY"
    status: Literal["APPROVED", "PENDING", "REJECTED", "PAUSED"] = "APPROVED"
    fits: bool = True

    def listed(self) -> dict[str, Any]:
        """The item of a template list."""
        parts = {
            "HEADER": self.header or self.header_media,
            "BODY": self.body,
            "FOOTER": self.footer,
            "BUTTONS": self.buttons,
        }
        components = [name for name, part in parts.items() if part]
        item = {"name": self.name, "language": self.language, "category": self.category, "status": self.status}
        return {**item, "components": components}


class Templates:
    """The templates that are registered for the account's channel, each by its name and language."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, MessageTemplate]] = {}

    def add(self, *templates: MessageTemplate) -> None:
        """Register templates; one of the same name and language is replaced."""
        for template in templates:
            self._known.setdefault(template.name, {})[template.language] = template

    def __iter__(self) -> Iterator[MessageTemplate]:
        return (template for languages in list(self._known.values()) for template in list(languages.values()))

    def check(
        self, value: Mapping[str, Any], behaviour: Behaviour, *, upper_case: bool = False
    ) -> list[InteractiveChoice]:
        """Check a ``template`` object. Returns what the contact can tap. Raises `Refusal`."""
        template = self._find(value, behaviour)
        components = value.get("components") or []
        if not isinstance(components, list) or not all(isinstance(component, dict) for component in components):
            _refuse("132001", "template.components", "an array of objects")
        return _Sending(template, behaviour, upper_case).check(components)

    def _find(self, value: Mapping[str, Any], behaviour: Behaviour) -> MessageTemplate:
        name = request_rules.text(value.get("name"), "template.name")
        language = request_rules.text(
            request_rules.required_object(value, "language").get("code"), "template.language.code"
        )
        if name not in self._known:
            _refuse("132012", "template.name", "see the template list")
        template = self._known[name].get(language)
        if template is None:
            _refuse("132008", "template.language.code", f"one of {', '.join(self._known[name])}")
        status = {"PAUSED": "132006", "REJECTED": "132007", "PENDING": behaviour.pending_template}
        if template.status in status:
            _refuse(status[template.status], "template.name", f"the template is {template.status}")
        if not template.fits:
            _refuse("132015", "template.name", f"the category is {template.category}")
        return template


def _refuse(code: str, field: str, hint: str) -> NoReturn:
    refuse(code, MESSAGES.get(code, "Template not approved"), field=field, hint=hint)


class _Sending:
    """The checks of one send against its template."""

    def __init__(self, template: MessageTemplate, behaviour: Behaviour, upper_case: bool) -> None:
        self._template = template
        self._behaviour = behaviour
        self._upper_case = upper_case

    def check(self, components: list[dict[str, Any]]) -> list[InteractiveChoice]:
        """Check all components of the send, then those that are missing."""
        seen: set[str] = set()
        payloads: dict[int, str] = {}
        for position, component in enumerate(components):
            field = f"template.components[{position}]"
            kind = self._kind(component, field)
            if kind == "button":
                index, payload = self._button(component, field)
                kind = f"button {index}"
                payloads[index] = payload
            elif kind == "header":
                media = self._template.header_media
                count = 1 if media else _placeholders(self._template.header)
                self._parameters(component, field, count, (media,) if media else TEXTUAL)
            else:
                self._parameters(component, field, _placeholders(self._template.body), TEXTUAL)
            if kind in seen:
                _refuse("132001", field, f"a second {kind}")
            seen.add(kind)
        self._complete(seen)
        return self._choices(payloads)

    def _kind(self, component: Mapping[str, Any], field: str) -> str:
        kind = component.get("type")
        if self._upper_case and isinstance(kind, str):
            kind = kind.lower()
        if kind not in ("header", "body", "button"):
            _refuse("132001", f"{field}.type", "header, body or button")
        return str(kind)

    def _parameters(
        self, component: Mapping[str, Any], field: str, count: int, wanted: tuple[str, ...]
    ) -> list[dict[str, Any]]:
        """The parameters of a component: so many, each of a wanted type."""
        parameters = component.get("parameters", [])
        if not isinstance(parameters, list) or not all(isinstance(parameter, dict) for parameter in parameters):
            _refuse("132001", f"{field}.parameters", "an array of objects")
        if len(parameters) != count:
            code = "132000" if len(parameters) > count else self._behaviour.too_few_parameters
            _refuse(code, f"{field}.parameters", f"{count} wanted, {len(parameters)} received")
        for position, parameter in enumerate(parameters):
            self._parameter(parameter, wanted, f"{field}.parameters[{position}]")
        return parameters

    def _button(self, component: Mapping[str, Any], field: str) -> tuple[int, str]:
        index, kind = component.get("index"), component.get("sub_type")
        buttons = self._template.buttons
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(buttons):
            _refuse("132001", f"{field}.index", f"an integer below {len(buttons)}")
        if kind != buttons[index].kind:
            _refuse("132001", f"{field}.sub_type", f"button {index} is a {buttons[index].kind} button")
        count, wanted = (1, "payload") if kind == "quick_reply" else (_placeholders(buttons[index].url), "text")
        parameters = self._parameters(component, field, count, (wanted,))
        return index, str(parameters[0][wanted]) if parameters else ""

    def _parameter(self, parameter: Mapping[str, Any], wanted: tuple[str, ...], field: str) -> None:
        kind = parameter.get("type")
        if kind not in wanted:
            _refuse("132001", f"{field}.type", f"one of {', '.join(wanted)}")
        value = parameter.get(kind)
        if not SHAPES[kind](value):
            _refuse("132001", f"{field}.{kind}", "missing, empty or of the wrong shape")
        if isinstance(value, str) and len(value) > self._behaviour.template_parameter_max:
            _refuse("132005", f"{field}.{kind}", f"at most {self._behaviour.template_parameter_max} characters")

    def _complete(self, seen: set[str]) -> None:
        template = self._template
        header = template.header_media or _placeholders(template.header)
        if (header or (template.header and self._behaviour.static_header_needed)) and "header" not in seen:
            _refuse("132001", "template.components", "the template has a header")
        if _placeholders(template.body) and "body" not in seen:
            _refuse("132001", "template.components", "the template's body has parameters")
        for index, button in enumerate(template.buttons):
            if _placeholders(button.url) and f"button {index}" not in seen:
                _refuse("132001", "template.components", f"the address of button {index} has a parameter")

    def _choices(self, payloads: Mapping[int, str]) -> list[InteractiveChoice]:
        return [
            InteractiveChoice(payloads.get(index, button.title), button.title, "template")
            for index, button in enumerate(self._template.buttons)
            if button.kind == "quick_reply"
        ]


def _placeholders(text: str) -> int:
    return len(set(_PLACEHOLDER.findall(text)))
