"""Days, moments and times of day as programs write them (ISO 8601)."""

import re
from datetime import date, datetime, time

DAY = re.compile(r"\d{4}-\d\d-\d\d")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")
_SHORT_HOUR = re.compile(r"(?<=[T ])\d(?=:)")  # which people write, and ISO does not


def read_iso(text: str, form: re.Pattern[str] | None = None) -> date | None:
    """The day or the date-time that a text is; None for any other text.

    ``form`` is `DAY` or `MOMENT` where it has to be written out like that, and not in another way that ISO has.
    """
    if form is not None and form.fullmatch(text) is None:
        return None
    text = _SHORT_HOUR.sub(r"0\g<0>", text.strip())
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def read_clock(text: str) -> time | None:
    """A time of day as programs and flows write it: ``9:00``, ``15:30``, ``15:30:10``."""
    try:
        return time.fromisoformat(text.zfill(5)) if ":" in text else None
    except ValueError:
        return None
