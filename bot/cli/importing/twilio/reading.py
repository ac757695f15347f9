"""A Studio flow definition, read from its JSON."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.cli.importing.imported import UnreadableExport

ENTRIES = ("incomingMessage", "incomingConversationMessage", "incomingRequest", "incomingParent")
"""The events of a trigger that start a flow here, the one that begins the flow first. Calls start none."""


_SAME = {"is_less_than": "less_than", "is_greater_than": "greater_than", "matches_regex": "regex"}
_OPPOSITES = {
    "not_equal_to": "equal_to",
    "does_not_equal": "equal_to",
    "is_not_equal_to": "equal_to",
    "is_not_blank": "is_blank",
    "has_any_value": "is_blank",
    "does_not_contain": "contains",
    "not_contains": "contains",
    "does_not_start_with": "starts_with",
    "does_not_match_any_of": "matches_any_of",
    "not_matches_any_of": "matches_any_of",
}
_ENDINGS = {
    "video": ("mp4", "3gp"),
    "audio": ("mp3", "ogg", "amr", "aac"),
    "document": ("pdf",),
    "image": ("jpg", "jpeg", "png", "webp", "gif"),
}


@dataclass(frozen=True)
class StudioCondition:
    """A condition of a split: what is tested, how, and against what."""

    kind: str
    argument: str
    value: str

    @property
    def test(self) -> tuple[str, bool]:
        """The kind by its shortest name, and whether its opposite must hold: `not_equal_to` is `equal_to`, True."""
        if self.kind in _OPPOSITES:
            return _OPPOSITES[self.kind], True
        return _SAME.get(self.kind, self.kind), False


@dataclass(frozen=True)
class StudioTransition:
    """Where a widget leads for an event; None: the execution ends."""

    event: str
    target: str | None
    conditions: tuple[StudioCondition, ...] = ()


@dataclass(frozen=True)
class StudioWidget:
    """A widget with its settings and transitions."""

    name: str
    kind: str
    properties: Mapping[str, Any]
    transitions: tuple[StudioTransition, ...]

    def leads(self, *events: str) -> str | None:
        """The widget that follows one of these events, in any case; None: the execution ends."""
        wanted = {event.lower() for event in events}
        return next((each.target for each in self.transitions if each.event.lower() in wanted), None)

    @property
    def conditions(self) -> list[StudioCondition]:
        """The conditions of all its transitions."""
        return [condition for each in self.transitions for condition in each.conditions]

    def text(self, key: str) -> str:
        """A setting as text; "" if it is missing."""
        value = self.properties.get(key)
        return "" if value is None else str(value)

    @property
    def pairs(self) -> list[tuple[str, str, bool]]:
        """The keys and values of its variables or parameters, and whether a value is read as JSON."""
        listed = self.properties.get("variables" if self.kind == "set-variables" else "parameters") or []
        return [
            (str(each.get("key", "")), "" if each.get("value") is None else str(each["value"]), _as_json(each))
            for each in listed
            if isinstance(each, Mapping)
        ]


@dataclass(frozen=True)
class StudioFlow:
    """A flow: its title, its id if the export has it, and its widgets by name."""

    title: str
    sid: str
    widgets: Mapping[str, StudioWidget]
    trigger: StudioWidget
    astray: tuple[str, ...] = ()  # places of transitions to widgets that are not there

    def place(self, widget: StudioWidget) -> str:
        """Where a widget stands, as the report names it."""
        return f'{self.title} > "{widget.name}" ({widget.kind})'


def read_flow(path: Path, data: Any) -> StudioFlow:
    """The flow of an export: a definition, or what the API returns with a definition in it."""
    title, sid = path.stem, ""
    if isinstance(data, Mapping) and isinstance(data.get("definition"), Mapping):
        title, sid = str(data.get("friendly_name") or title), str(data.get("sid") or "")
        data = data["definition"]
    if not is_flow(data):
        raise UnreadableExport(
            f'{path}: this is no Studio flow: $.states must be a list (export it by "Show Flow JSON")'
        )
    widgets = {each.name: each for each in (_widget(path, index, state) for index, state in enumerate(data["states"]))}
    astray = []
    for widget in widgets.values():
        found = [each.target for each in widget.transitions if each.target not in (None, *widgets)]
        if found:
            astray += [f'{title} > "{widget.name}" > "{target}"' for target in dict.fromkeys(found)]
            kept = (replace(each, target=None) if each.target in found else each for each in widget.transitions)
            widgets[widget.name] = replace(widget, transitions=tuple(kept))
    trigger = widgets.get(str(data.get("initial_state", "Trigger")))
    if trigger is None:
        raise UnreadableExport(f"{path}: $.initial_state names no widget of $.states")
    return StudioFlow(title, sid, widgets, trigger, tuple(astray))


def is_flow(data: Any) -> bool:
    """True if this is the definition of a Studio flow, or has one in it."""
    if isinstance(data, Mapping) and isinstance(data.get("definition"), Mapping):
        data = data["definition"]
    return isinstance(data, Mapping) and isinstance(data.get("states"), list) and "initial_state" in data


def _widget(path: Path, index: int, state: Any) -> StudioWidget:
    if (
        not isinstance(state, Mapping)
        or not isinstance(state.get("name"), str)
        or not isinstance(state.get("type"), str)
    ):
        raise UnreadableExport(f"{path}: $.states[{index}] must have a name and a type")
    properties = state.get("properties")
    transitions = state.get("transitions")
    return StudioWidget(
        state["name"],
        state["type"],
        properties if isinstance(properties, Mapping) else {},
        tuple(_transition(each) for each in _maps(transitions)),
    )


def _maps(value: Any) -> list[Mapping[str, Any]]:
    """The maps of a list; none where the export has no list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _transition(data: Mapping[str, Any]) -> StudioTransition:
    conditions = _maps(data.get("conditions"))
    return StudioTransition(
        str(data.get("event", "")), str(data["next"]) if data.get("next") else None, tuple(map(_condition, conditions))
    )


def _condition(data: Mapping[str, Any]) -> StudioCondition:
    arguments = data.get("arguments")
    argument = str(arguments[0]) if isinstance(arguments, list) and arguments else ""
    value = data.get("value")
    return StudioCondition(str(data.get("type", "")), argument, "" if value is None else str(value))


def media_kind(address: str) -> str:
    """The kind of the file at an address, by its ending; "" if that does not say it."""
    ending = re.sub(r"[?#].*", "", address).rpartition(".")[2].lower()
    return next((kind for kind, endings in _ENDINGS.items() if ending in endings), "")


def _as_json(pair: Mapping[str, Any]) -> bool:
    return bool(pair.get("parse_as_object_enabled") or pair.get("type") == "object")
