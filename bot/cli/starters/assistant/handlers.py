"""Functions that the model can call.

Their arguments are checked by their types, their docstrings explain them to the model.
"""

from datetime import date

from bot import handler

ROOMS = 12
SATURDAY = 5


@handler("rooms.free")
def free(day: date) -> int:
    """How many rooms are free on a day.

    day: the day of the arrival
    """
    return 0 if day.weekday() == SATURDAY else ROOMS - day.day % ROOMS  # ask your booking system here


@handler("rooms.reserve")
def reserve(name: str, day: date, nights: int, idempotency_key: str) -> str:
    """Reserve a room. The guest is asked for consent first.

    name: what the guest is called
    day: the day of the arrival
    nights: how many nights they stay
    """
    return f"R-{day:%m%d}-{nights}"  # book it here, once for each key, and return the number of the reservation
