"""What the messages of several kinds have: texts within the gateway's limits, addresses, a place; and how sending fails."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.core.messages import MEDIA_SUFFIXES, URL, LocationMessage, wrong_suffix
from bot.expressions.templates import Template
from bot.keys.declared_keys import TEMPLATE, KeySet, KeySpec, raw_node
from bot.keys.fields import Fields
from bot.keys.key_schemas import STRING, either, number
from bot.keys.text_shapes import MAY
from bot.lang.problems import did_you_mean
from bot.lang.source import Map
from bot.steps.step_facts import StepFailed


def check_length(fields: Fields, key: str, text: Template | None, most: int) -> None:
    """A text that is written out in the flow fits the gateway's limit (spec: Limits)."""
    for wording in () if text is None else text.wordings:
        if wording.constant and len(wording.source) > most:
            what = f"{fields.what}: {key} has {len(wording.source)} characters, {most} are allowed"
            fields.problems.add("E402", wording.mark, what, "shorten it")


def check_text(fields: Fields, name: str, text: Template | None, most: int, fix: str = "shorten it") -> None:
    """The same for a text further inside, which is called by a name."""
    if text is not None and text.constant and len(text.source) > most:
        what = f"{fields.what}: {name} has {len(text.source)} characters, {most} are allowed"
        fields.problems.add("E402", text.mark, what, fix)


def check_address(fields: Fields, key: str, url: Template | None) -> None:
    """An address that is written out in the flow is one that the gateway can fetch or open."""
    if url is None or not url.constant:
        return
    address = url.source
    if not address.startswith(("https://", "http://")) or len(address) > URL or any(c.isspace() for c in address):
        fix = "write it out, with https://"
        if address.startswith(("https://", "http://")):
            fix = f"shorten it: {URL} characters are allowed" if len(address) > URL else "write %20 in place of a space"
        fields.problems.add("E405", fields.mark_of(key), f'{fields.what}: "{address}" is no address', fix)


def check_media(fields: Fields, key: str, kind: str, link: Template | None) -> None:
    """An address of media that is written out in the flow ends in no type that the gateway refuses for this kind."""
    check_address(fields, key, link)
    suffix = wrong_suffix(kind, link.source) if link is not None and link.constant else None
    if suffix is not None:
        fields.problems.add(
            "E404",
            fields.mark_of(key),
            f"{fields.what}: the gateway takes no .{suffix} as {kind}",
            f"use {', '.join(MEDIA_SUFFIXES[kind])}",
        )


_NAME = KeySpec("name", TEMPLATE, "What it is called.", texts=MAY)
_ADDRESS = KeySpec("address", TEMPLATE, "Its address.", texts=MAY)
LOCATION = KeySet(
    KeySpec("latitude", raw_node(either(number(-90, 90), STRING)), "Its latitude, in degrees.", required=True),
    KeySpec("longitude", raw_node(either(number(-180, 180), STRING)), "Its longitude, in degrees.", required=True),
    _NAME,
    _ADDRESS,
)


@dataclass(frozen=True, slots=True)
class LocationPart:
    """A place on the map; coordinates are numbers or templates of numbers."""

    coordinates: Mapping[str, Template | float]
    name: Template | None
    address: Template | None

    def message(self, scope: Mapping[str, Any]) -> LocationMessage:
        """The place with its coordinates evaluated. Raises `StepFailed` if they are not numbers."""
        numbers = {}
        for key, written in self.coordinates.items():
            value = written.value(scope) if isinstance(written, Template) else written
            try:
                numbers[key] = float(value)
            except (TypeError, ValueError):
                raise StepFailed("mismatch", f"{key} is no number") from None
        return LocationMessage(
            numbers["latitude"],
            numbers["longitude"],
            None if self.name is None else self.name.render(scope),
            None if self.address is None else self.address.render(scope),
        )

    def uses(self) -> Iterator[Template]:
        """Every template of the place."""
        for written in (*self.coordinates.values(), self.name, self.address):
            if isinstance(written, Template):
                yield written


def read_location(fields: Fields) -> LocationPart | None:
    """Read a place: its coordinates, in degrees, and perhaps its name and address."""
    coordinates: dict[str, Template | float] = {}
    for key, limit in (("latitude", 90), ("longitude", 180)):
        if not fields.require(key):
            continue
        number = fields.template(key) if fields.is_text(key) else fields.number(key, -limit, limit)
        if number is not None:
            coordinates[key] = number
    LOCATION.declared_in(fields)
    name, address = _NAME.read(fields), _ADDRESS.read(fields)
    fields.close()
    return LocationPart(coordinates, name, address) if len(coordinates) == 2 else None


ELSE = "else"
SENDING = ("refused", "mismatch", "failed")
"""How a step that sends a message can fail."""


def check_error_names(
    fields: Fields, known: Collection[str], whose: str, fix: str, also: re.Pattern[str] | None = None
) -> None:
    """The step's own `errors` are those that it can end with: inherited ones are for other steps too.

    ``whose`` says what has no such error, ``also`` which names it takes beside those that are ``known``.
    """
    own = fields.raw("errors")
    named = own.entries if isinstance(own, Map) and own.get("then") is None else ()
    for name, _ in named:
        if name.text not in (*known, ELSE) and not (also is not None and also.fullmatch(name.text)):
            what = f'{fields.what}: {whose} "{name.text}"'
            fields.problems.add("E504", name.mark, what, did_you_mean(name.text, [*known, ELSE], fix))
