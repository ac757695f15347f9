"""The rules for interactive messages (spec: "POST chat/interactive", "Interactive limits")."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from bot.testing.emulator import request_rules
from bot.testing.emulator.gateway_behaviour import Behaviour
from bot.testing.emulator.request_rules import refuse

BODY_MAX = 1024
HEADER_MAX = 60
FOOTER_MAX = 60
BUTTONS_MAX = 3
LABEL_MAX = 20
ID_MAX = 256
URL_MAX = 2000
SECTIONS_MAX = 10
ROWS_MAX = 10
ROW_TITLE_MAX = 24
SECTION_TITLE_MAX = 24
DESCRIPTION_MAX = 72
_CODES = {
    "button": "INTERACTIVE_INVALID_BUTTON",
    "cta_url": "INTERACTIVE_INVALID_URL",
    "list": "INTERACTIVE_INVALID_LIST",
}


@dataclass(frozen=True, slots=True)
class InteractiveChoice:
    """Something that a contact was shown and can tap: ``kind`` is ``button``, ``list`` or ``template``."""

    id: str
    title: str
    kind: str


class _Check:
    """The checks of one message, all under its kind's error code."""

    def __init__(self, kind: str, value: Mapping[str, Any], behaviour: Behaviour) -> None:
        self._kind = kind
        self._code = _CODES[kind]
        self._value = value
        self._behaviour = behaviour

    def texts(self) -> None:
        """Body, header and footer."""
        self._text(self._value["body"]["text"], "body.text", BODY_MAX)
        header = self._part("header", self._kind != "list" or self._behaviour.list_header)
        if header is not None:
            if header.get("type") != "text":
                self.refuse("header.type", "header.type must be text")
            self._text(header.get("text"), "header.text", HEADER_MAX)
        allowed = {"button": self._behaviour.button_footer, "list": self._behaviour.list_footer}.get(self._kind, True)
        footer = self._part("footer", allowed)
        if footer is not None:
            self._text(footer.get("text"), "footer.text", FOOTER_MAX)

    def buttons(self, action: Mapping[str, Any]) -> list[InteractiveChoice]:
        """Up to three quick reply buttons."""
        buttons = self._items(action.get("buttons"), "action.buttons", BUTTONS_MAX)
        choices = []
        for index, button in enumerate(buttons):
            field = f"action.buttons[{index}]"
            if button.get("type") != "reply" or not isinstance(button.get("reply"), dict):
                self.refuse(f"{field}.type", "a button is {type: reply, reply: {id, title}}")
            choices.append(self._choice(button["reply"], f"{field}.reply", LABEL_MAX, "button"))
        return self._distinct(choices, "action.buttons")

    def link(self, action: Mapping[str, Any]) -> list[InteractiveChoice]:
        """One button that opens an address. The gateway reports no tap on it."""
        label = action.get("display_text")
        if not isinstance(label, str) or not label.strip() or len(label) > LABEL_MAX:
            refuse(
                "INTERACTIVE_INVALID_BUTTON",
                f"action.display_text must have 1 to {LABEL_MAX} characters",
                field="action.display_text",
                max=LABEL_MAX,
                received=len(label) if isinstance(label, str) else None,
            )
        url = action.get("url")
        if request_rules.web_address(url) is None:
            self.refuse("action.url", "action.url is no valid address")
        self._text(url, "action.url", URL_MAX)
        return []

    def rows(self, action: Mapping[str, Any]) -> list[InteractiveChoice]:
        """Sections of rows, behind an opening button."""
        self._text(action.get("button"), "action.button", LABEL_MAX)
        choices: list[InteractiveChoice] = []
        for s, section in enumerate(self._items(action.get("sections"), "action.sections", SECTIONS_MAX)):
            field = f"action.sections[{s}]"
            if section.get("title") or not self._behaviour.untitled_sections:
                self._text(section.get("title"), f"{field}.title", SECTION_TITLE_MAX)
            for r, row in enumerate(self._items(section.get("rows"), f"{field}.rows", ROWS_MAX)):
                choices.append(self._choice(row, f"{field}.rows[{r}]", ROW_TITLE_MAX, "list"))
                if row.get("description") is not None:
                    self._text(row["description"], f"{field}.rows[{r}].description", DESCRIPTION_MAX)
        return self._distinct(choices, "action.sections")

    def refuse(self, field: str, message: str, **details: Any) -> NoReturn:
        """Refuse under the code of this kind of message."""
        refuse(self._code, message, field=field, **details)

    def _part(self, name: str, allowed: bool) -> Mapping[str, Any] | None:
        part = self._value.get(name)
        if part is None:
            return None
        if not allowed:
            self.refuse(name, f"a {self._kind} message has no {name}")
        if not isinstance(part, dict):
            self.refuse(name, f"{name} must be an object")
        return dict(part)

    def _text(self, value: Any, field: str, maximum: int) -> None:
        if not isinstance(value, str) or not value.strip():
            self.refuse(field, f"{field} must be a text that is not empty")
        if len(value) > maximum:
            self.refuse(field, f"{field} is too long", max=maximum, received=len(value))

    def _items(self, value: Any, field: str, maximum: int) -> list[dict[str, Any]]:
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.refuse(field, f"{field} must be an array of objects")
        if not 1 <= len(value) <= maximum:
            self.refuse(field, f"{field} must have 1 to {maximum} entries", max=maximum, received=len(value))
        return list(value)

    def _choice(self, value: Mapping[str, Any], field: str, title_max: int, kind: str) -> InteractiveChoice:
        self._text(value.get("id"), f"{field}.id", ID_MAX)
        self._text(value.get("title"), f"{field}.title", title_max)
        return InteractiveChoice(value["id"], value["title"], kind)

    def _distinct(self, choices: list[InteractiveChoice], field: str) -> list[InteractiveChoice]:
        if not self._behaviour.duplicate_choices:
            for values in ([c.id for c in choices], [c.title for c in choices]):
                value, count = Counter(values).most_common(1)[0]
                if count > 1:
                    self.refuse(field, f"{value!r} stands there {count} times")
        return choices


def check(value: Mapping[str, Any], behaviour: Behaviour) -> list[InteractiveChoice]:
    """Check an ``interactive`` object. Returns what the contact can tap. Raises `Refusal`."""
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in _CODES:
        hint = "button, cta_url or list"
        refuse("INTERACTIVE_INVALID_TYPE", "the interactive type is not known", field="type", received=kind, hint=hint)
    body = value.get("body")
    text = body.get("text") if isinstance(body, dict) else None
    if not isinstance(text, str) or not text.strip():
        refuse("INTERACTIVE_BODY_EMPTY", "body.text must not be empty", field="body.text")
    checker = _Check(kind, value, behaviour)
    checker.texts()
    action = value.get("action")
    if not isinstance(action, dict):
        checker.refuse("action", "action must be an object")
    match kind:
        case "button":
            return checker.buttons(action)
        case "cta_url":
            return checker.link(action)
        case _:
            return checker.rows(action)
