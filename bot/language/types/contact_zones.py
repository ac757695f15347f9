"""The contact's own time zone: the one that a flow has set, else that of the number's country."""

from functools import cache, lru_cache
from pkgutil import get_data
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.core.immutable import immutable
from bot.language.expressions.abstract_values import ValueKind
from bot.language.types.text_types import TextVariable
from bot.language.types.variable import TypeMismatch


def zone_named(name: str) -> ZoneInfo | None:
    """The time zone of this name, such as ``Asia/Jakarta``; None if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


@lru_cache(maxsize=4096)
def zone_of_number(number: str, home: ZoneInfo) -> ZoneInfo:
    """The time zone in the country of a number, which is written as digits with its country code.

    A country with several zones: the bot's ``home`` if it is one of them, else the zone in which most people live.
    ``home`` where the country is not known.
    """
    import phonenumbers  # 70 ms, which bots without zones for contacts need not spend

    try:
        country = phonenumbers.region_code_for_number(phonenumbers.parse(f"+{number}"))
    except phonenumbers.NumberParseException:
        return home
    zones = _zones().get(country or "", ())
    if not zones or home.key in zones:
        return home
    return zone_named(_MOST_PEOPLE.get(country or "", zones[0])) or home


_MOST_PEOPLE = {
    "AU": "Australia/Sydney",
    "BR": "America/Sao_Paulo",
    "CA": "America/Toronto",
    "RU": "Europe/Moscow",
    "UA": "Europe/Kyiv",
}
"""Where most people live in countries whose first zone in the table is a remote one."""


@cache
def _zones() -> dict[str, list[str]]:
    """The time zones of each country, in the order of the IANA's table: the most populous first, but for some."""
    found: dict[str, list[str]] = {}
    for line in (get_data("tzdata", "zoneinfo/zone.tab") or b"").decode().splitlines():
        if not line.startswith("#"):
            country, _, zone = line.split("\t")[:3]
            found.setdefault(country, []).append(zone)
    return found


TIMEZONE = "timezone"
"""The name that the contact's time zone has in flows whose bot has a zone for each contact."""


@immutable
class TimezoneVariable(TextVariable):
    """The name of a time zone."""

    kind = ValueKind.TEXT
    made_of = frozenset({ValueKind.TEXT})

    def _bounded(self, value: str) -> str:
        if zone_named(value) is None:
            raise TypeMismatch("it is no time zone like Asia/Jakarta")
        return value
