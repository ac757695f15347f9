"""The clinic's calendar, in memory."""

from dataclasses import dataclass
from datetime import date, datetime, time

from bot import handler

SATURDAY = 5


class Taken(RuntimeError):
    pass


@dataclass
class Slot:
    id: str
    time: str
    doctor: str
    starts: datetime


BOOKED: set[str] = set()


@handler("clinic.free")
def free(service: str, day: date) -> list[Slot]:
    """The free slots of a day, at most nine."""
    hours = (9, 11) if day.weekday() == SATURDAY else (9, 11, 14)
    slots = [Slot(f"{day}-{h}", f"{h:02}:00", "Dr Lee", datetime.combine(day, time(h))) for h in hours]
    return [s for s in slots if s.id not in BOOKED]


@handler("clinic.book", errors=[Taken])
def book(slot: str, contact: str, email: str | None = None) -> None:
    """Reserve a slot."""
    if slot in BOOKED:
        raise Taken(slot)
    BOOKED.add(slot)


@handler("clinic.cancel")
def cancel(slot: str) -> None:
    """Free a slot again."""
    BOOKED.discard(slot)
