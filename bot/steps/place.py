"""A place on the map, as a message or as the header of a template."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.core.messages import LocationMessage
from bot.expressions.templates import Template
from bot.keys.fields import Fields
from bot.keys.key_schemas import ANY_TEXT, STRING, Schemas, either, number, takes
from bot.steps.kind import StepFailed

PLACE_KEYS: Schemas = {
    "latitude": takes(either(number(-90, 90), STRING), "Its latitude, in degrees."),
    "longitude": takes(either(number(-180, 180), STRING), "Its longitude, in degrees."),
    "name": takes(ANY_TEXT, "What it is called."),
    "address": takes(ANY_TEXT, "Its address."),
}
COORDINATES = ("latitude", "longitude")


@dataclass(frozen=True, slots=True)
class Place:
    """A place on the map; coordinates are numbers or templates of numbers."""

    coordinates: Mapping[str, Template | float]
    name: Template | None
    address: Template | None

    def message(self, scope: Mapping[str, Any]) -> LocationMessage:
        """The place with its coordinates worked out; raises `StepFailed` where they are no numbers."""
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


def read_place(fields: Fields) -> Place | None:
    """Read a place: its coordinates, in degrees, and perhaps its name and address."""
    coordinates: dict[str, Template | float] = {}
    for key, limit in (("latitude", 90), ("longitude", 180)):
        if not fields.require(key):
            continue
        number = fields.template(key) if fields.is_text(key) else fields.number(key, -limit, limit)
        if number is not None:
            coordinates[key] = number
    name, address = fields.template("name"), fields.template("address")
    fields.close()
    return Place(coordinates, name, address) if len(coordinates) == 2 else None
