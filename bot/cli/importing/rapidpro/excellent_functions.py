"""The functions and tests of RapidPro's expressions, as it defines them.

An imported bot gets the source of those that it uses in its `handlers.py`, so each stands alone with the others of
this file and the standard library. A test returns what it matched as a text, or None; it never fails.
"""

import calendar
import json
import math
import re
import unicodedata
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo


def shown(value: Any) -> str:
    """Return a value as a text of a message has it: `[a, b]` for a list, `{name: value}` for a record."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case Decimal():
            return f"{value.normalize():f}"
        case float():
            return f"{Decimal(str(value)).normalize():f}"
        case datetime():
            return iso_datetime(value)
        case date():
            return value.isoformat()
        case time():
            return value.strftime("%H:%M:%S.%f")
        case list() | tuple():
            return f"[{', '.join(shown(each) for each in value)}]"
    if hasattr(value, "items"):
        names = sorted(str(name) for name in value)
        return f"{{{', '.join(f'{name}: {shown(value[name])}' for name in names)}}}"
    return str(value)


def iso_datetime(value: datetime) -> str:
    """Return a time with its offset, such as `2030-05-12T15:00:00.000000-05:00`; `Z` for UTC."""
    offset = value.strftime("%z")
    zone = "Z" if offset in ("", "+0000") else f"{offset[:3]}:{offset[3:]}"
    return value.strftime("%Y-%m-%dT%H:%M:%S.%f") + zone


def to_number(value: Any) -> Decimal:
    """Return the number of a value or a text. Raises `ValueError`."""
    try:
        found = Decimal(shown(value).strip())
    except InvalidOperation:
        raise ValueError("no number") from None
    if not found.is_finite():
        raise ValueError("no number")
    return found


def truth(value: Any) -> bool:
    """False for an empty value, 0, and the text `false`."""
    if isinstance(value, str):
        return value != "" and value.lower() != "false"
    return bool(value)


def words_of(text: Any) -> list[str]:
    """Return the words of a text: letters, digits and signs that are words by themselves, such as emoji."""
    found: list[str] = []
    inside = False
    for char in shown(text):
        kind = unicodedata.category(char)
        if kind[0] in "LNM" or char == "_" or (char == "'" and inside):
            if inside:
                found[-1] += char
            else:
                found.append(char)
            inside = True
        else:
            if kind in ("So", "Sk"):
                found.append(char)
            inside = False
    return [word.rstrip("'") for word in found if word.strip("'")]


def has_any_word(text: Any, words: Any) -> str | None:
    """One of the words stands in the text."""
    wanted = words_of(shown(words).lower())
    found = [word for word in words_of(text) if word.lower() in wanted]
    return " ".join(found) or None


def has_all_words(text: Any, words: Any) -> str | None:
    """All of the words stand in the text, in any order."""
    wanted = words_of(shown(words).lower())
    found = [word for word in words_of(text) if word.lower() in wanted]
    return " ".join(found) if wanted and {word.lower() for word in found} >= set(wanted) else None


def has_phrase(text: Any, phrase: Any) -> str | None:
    """The words of the phrase follow each other in the text."""
    has, wanted = words_of(text), words_of(shown(phrase).lower())
    for start in range(len(has) - len(wanted) + 1):
        found = has[start : start + len(wanted)]
        if [word.lower() for word in found] == wanted:
            return " ".join(found)
    return None


def has_only_phrase(text: Any, phrase: Any) -> str | None:
    """The text has the words of the phrase, and no others."""
    has = words_of(text)
    return " ".join(has) if [word.lower() for word in has] == words_of(shown(phrase).lower()) else None


def has_only_text(text: Any, other: Any) -> str | None:
    """Both texts are the same, also in capitals."""
    return shown(text) if shown(text) == shown(other) else None


def has_text(text: Any) -> str | None:
    """The text has any characters but spaces."""
    return shown(text).strip() or None


def has_beginning(text: Any, beginning: Any) -> str | None:
    """The text begins so."""
    has, wanted = shown(text).strip(), shown(beginning).strip()
    begins = wanted and has.lower().startswith(wanted.lower())
    return has[: len(wanted)] if begins else None


def pattern_groups(text: Any, pattern: Any) -> dict[str, str] | None:
    """Return the groups of a regular expression that is found in a text, by their numbers."""
    try:
        found = re.search(shown(pattern).strip(), shown(text).strip(), re.IGNORECASE | re.MULTILINE)
    except re.error:
        return None
    if found is None:
        return None
    return {str(place): group or "" for place, group in enumerate([found[0], *found.groups()])}


def has_pattern(text: Any, pattern: Any) -> str | None:
    """The regular expression is found in the text."""
    found = pattern_groups(text, pattern)
    return found["0"] if found else None


def numbers_in(text: Any) -> list[Decimal]:
    """Return the numbers in a text; a comma groups digits."""
    found = []
    for written in re.findall(r"[-+]?[\dlO,]*[\dlO]+(?:\.[\dlO]+)?", shown(text)):
        try:
            digits = written.replace(",", "")
            found.append(
                Decimal(digits.replace("l", "1").replace("O", "0") if any(map(str.isdigit, digits)) else digits)
            )
        except InvalidOperation:
            continue
    return found


def number_where(text: Any, fits: Callable[[Decimal], bool]) -> str | None:
    """Return the first number in a text that fits."""
    try:
        return next((shown(found) for found in numbers_in(text) if fits(found)), None)
    except ValueError:
        return None


def has_number(text: Any) -> str | None:
    """A number stands in the text."""
    return number_where(text, lambda found: True)


def has_number_between(text: Any, least: Any, most: Any) -> str | None:
    """A number from ``least`` to ``most`` stands in the text."""
    return number_where(text, lambda found: to_number(least) <= found <= to_number(most))


def has_number_eq(text: Any, other: Any) -> str | None:
    """This number stands in the text."""
    return number_where(text, lambda found: found == to_number(other))


def has_number_lt(text: Any, other: Any) -> str | None:
    """A smaller number stands in the text."""
    return number_where(text, lambda found: found < to_number(other))


def has_number_lte(text: Any, other: Any) -> str | None:
    """This number or a smaller one stands in the text."""
    return number_where(text, lambda found: found <= to_number(other))


def has_number_gt(text: Any, other: Any) -> str | None:
    """A larger number stands in the text."""
    return number_where(text, lambda found: found > to_number(other))


def has_number_gte(text: Any, other: Any) -> str | None:
    """This number or a larger one stands in the text."""
    return number_where(text, lambda found: found >= to_number(other))


def day_in(text: str) -> date | None:
    """Return the day that is written in digits in a text: the year first, or the day first."""
    gap = r"[-.\\/_ ]"
    for order, pattern in (("ymd", rf"\b(\d{{4}}){gap}(\d{{1,2}}){gap}(\d{{1,2}})\b"),
                           ("dmy", rf"\b(\d{{1,2}}){gap}(\d{{1,2}}){gap}(\d{{4}}|\d{{2}})\b")):  # fmt: skip
        for found in re.finditer(pattern, text.replace("T", " ")):
            parts = dict(zip(order, map(int, found.groups()), strict=True))
            try:
                year = parts["y"] if parts["y"] > 99 else 1900 + parts["y"] if parts["y"] > 68 else 2000 + parts["y"]
                return date(year, parts["m"], parts["d"])
            except ValueError:
                continue
    return None


def time_in(text: str) -> time | None:
    """Return the time of day that is written in digits in a text."""
    pattern = r"(?<![\d.])(\d{1,2})(?::(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?\s*([ap]\.?m\b)?"
    for hour, minute, second, part, half in re.findall(pattern, text.replace("T", " "), re.IGNORECASE):
        if not minute and not half:
            continue
        hours = int(hour) % 12 + 12 * (half[0].lower() == "p") if half and int(hour) <= 12 else int(hour)
        try:
            return time(hours, int(minute or 0), int(second or 0), int((part or "0").ljust(6, "0")))
        except ValueError:
            continue
    return None


def moment(value: Any, now: datetime, fill: bool = False) -> datetime:
    """Return the day and time of a value or a text. ``fill``: without a time it is now. Raises `ValueError`."""
    if isinstance(value, datetime):
        return value
    text = value.isoformat() if isinstance(value, date) else shown(value)
    exact = re.fullmatch(r"\s*(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[-+]\d{2}:?\d{2}))\s*", text)
    if exact:
        return datetime.fromisoformat(exact[1])
    day = day_in(text)
    if day is None:
        raise ValueError("no day")
    hour = time_in(re.sub(r"\d{1,4}[-./_ ]\d{1,2}[-./_ ]\d{1,4}", " ", text, count=1))
    return datetime.combine(day, hour or (now.time() if fill else time()), now.tzinfo)


def day_where(text: Any, now: datetime, fits: Callable[[date], bool]) -> str | None:
    """Return the day and time in a text if the day fits."""
    try:
        found = moment(text, now, fill=True)
        return iso_datetime(found) if fits(found.astimezone(now.tzinfo).date()) else None
    except ValueError:
        return None


def has_date(text: Any, now: datetime) -> str | None:
    """A day stands in the text."""
    return day_where(text, now, lambda found: True)


def has_date_eq(text: Any, other: Any, now: datetime) -> str | None:
    """This day stands in the text."""
    return day_where(text, now, lambda found: found == moment(other, now).date())


def has_date_lt(text: Any, other: Any, now: datetime) -> str | None:
    """An earlier day stands in the text."""
    return day_where(text, now, lambda found: found < moment(other, now).date())


def has_date_gt(text: Any, other: Any, now: datetime) -> str | None:
    """A later day stands in the text."""
    return day_where(text, now, lambda found: found > moment(other, now).date())


def has_time(text: Any) -> str | None:
    """A time of day stands in the text."""
    found = time_in(shown(text))
    return shown(found) if found else None


def has_email(text: Any) -> str | None:
    """An e-mail address stands in the text."""
    found = re.search(r"[^\W_][-.\w]*@[^\W_][-\w]*(?:\.[^\W_][-\w]*)+", shown(text))
    return found[0] if found else None


def has_phone(text: Any, country: Any = "") -> str | None:
    """A phone number stands in the text: with its country code, or of this country."""
    codes = {
        "US": "1", "CA": "1", "GB": "44", "RW": "250", "UG": "256", "KE": "254", "TZ": "255", "NG": "234",
        "ZA": "27", "GH": "233",
        "IN": "91", "ID": "62", "PK": "92", "BD": "880", "PH": "63", "BR": "55", "MX": "52", "EC": "593",
        "CO": "57", "PE": "51",
        "AR": "54", "ES": "34", "FR": "33", "DE": "49", "IT": "39", "PT": "351", "NL": "31", "SN": "221",
        "ML": "223", "MW": "265",
    }  # fmt: skip
    for found in re.findall(r"\+?\d[\d\s().-]{5,18}\d", shown(text)):
        digits = re.sub(r"\D", "", found)
        code = codes.get(shown(country).upper(), "")
        if found.startswith("+"):
            return f"+{digits}"
        if code and 7 <= len(digits) <= 12:
            return f"+{digits}" if digits.startswith(code) and len(digits) > 10 else f"+{code}{digits.lstrip('0')}"
    return None


def has_group(groups: Any, group: Any) -> str | None:
    """The contact is in the group."""
    return shown(group) if shown(group) in [shown(each) for each in groups or []] else None


def has_value(value: Any) -> str | None:
    """The value is not empty."""
    return shown(value) or None


def has_error(value: Any) -> str | None:
    """Never: an expression with an error ends its step."""
    return None


def is_error(value: Any) -> bool:
    """Return false: an expression with an error ends its step."""
    return False


def location_in(text: Any, places: Any) -> str | None:
    """Return the path of the place whose name stands in a text. ``places`` are paths: `Rwanda > Kigali City`."""
    said = f" {' '.join(words_of(shown(text).lower()))} "
    for place in places:
        name = " ".join(words_of(place.split(" > ")[-1].lower()))
        if shown(text).strip().lower() == place.lower() or f" {name} " in said or f" {name.split(' ')[0]} " in said:
            return str(place)
    return None


def format_location(place: Any) -> str:
    """Return the last name of a path: `Kigali` of `Rwanda > Kigali`."""
    return shown(place).split(" > ")[-1].strip()


def format_datetime(value: Any, form: Any = "YYYY-MM-DD tt:mm", zone: Any = "", *, now: datetime) -> str:
    """Return a day and time in a form such as `DD-MM-YYYY tt:mm`."""
    at = moment(value, now)
    at = at.astimezone(ZoneInfo(shown(zone)) if zone else now.tzinfo)
    hour = at.hour % 12 or 12
    texts = {
        "YYYY": f"{at.year:04}", "YY": f"{at.year % 100:02}", "MMMM": calendar.month_name[at.month],
        "MMM": calendar.month_abbr[at.month], "MM": f"{at.month:02}", "M": str(at.month), "DD": f"{at.day:02}",
        "D": str(at.day),
        "EEEE": calendar.day_name[at.weekday()], "EEE": calendar.day_abbr[at.weekday()], "tt": f"{at.hour:02}",
        "t": str(at.hour),
        "hh": f"{hour:02}", "h": str(hour), "mm": f"{at.minute:02}", "m": str(at.minute), "ss": f"{at.second:02}",
        "s": str(at.second), "fff": f"{at.microsecond // 1000:03}", "ffffff": f"{at.microsecond:06}",
        "aa": "am" if at.hour < 12 else "pm", "AA": "AM" if at.hour < 12 else "PM", "ZZZ": iso_datetime(at)[26:],
        "Z": iso_datetime(at)[26:],
    }  # fmt: skip
    tokens = re.findall(r"Y+|M+|D+|E+|t+|h+|m+|s+|f+|a+|A+|Z+|[^YMDEthmsfaAZ]+", shown(form))
    return "".join(texts.get(token, token) for token in tokens)


def format_date(value: Any, form: Any = "YYYY-MM-DD", *, now: datetime) -> str:
    """Return a day in a form such as `DD-MM-YYYY`."""
    return format_datetime(value, form, now=now)


def format_time(value: Any, form: Any = "tt:mm", *, now: datetime) -> str:
    """Return a time of day in a form such as `h:mm aa`."""
    at = time_in(shown(value))
    if at is None:
        raise ValueError("no time")
    return format_datetime(datetime.combine(now.date(), at, now.tzinfo), form, now=now)


def parse_datetime(text: Any, form: Any, *, now: datetime) -> str:
    """Return the day and time that a text says in a form such as `DD-MM-YYYY`."""
    kinds = {"YYYY": "%Y", "YY": "%y", "MM": "%m", "M": "%m", "DD": "%d", "D": "%d", "tt": "%H", "t": "%H",
    "hh": "%I", "h": "%I",
             "mm": "%M", "m": "%M", "ss": "%S", "s": "%S", "ffffff": "%f", "aa": "%p", "AA": "%p"}  # fmt: skip
    tokens = re.findall(r"Y+|M+|D+|t+|h+|m+|s+|f+|a+|A+|[^YMDthmsfaA]+", shown(form))
    found = datetime.strptime(shown(text), "".join(kinds.get(token, token) for token in tokens))
    return iso_datetime(found.replace(tzinfo=now.tzinfo))


def datetime_add(value: Any, count: Any, unit: Any, *, now: datetime) -> str:
    """Return a later time. Units are Y (years), M (months), W, D, h, m and s (seconds)."""
    at, amount = moment(value, now), int(to_number(count))
    name = shown(unit)
    if name in ("Y", "M"):
        months = at.year * 12 + at.month - 1 + amount * (12 if name == "Y" else 1)
        year, month = divmod(months, 12)
        day = min(at.day, calendar.monthrange(year, month + 1)[1])
        return iso_datetime(at.replace(year=year, month=month + 1, day=day))
    spans = {"W": timedelta(weeks=1), "D": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}
    return iso_datetime(at + spans.get(name, timedelta(seconds=1)) * amount)


def legacy_add(first: Any, second: Any, *, now: datetime) -> Any:
    """Return the sum of two numbers, or of a day and a number of days."""
    for day, days in ((first, second), (second, first)):
        try:
            return datetime_add(day, days, "D", now=now)
        except ValueError:
            continue
    return to_number(first) + to_number(second)


def datetime_diff(first: Any, second: Any, unit: Any, *, now: datetime) -> int:
    """Return how many years, months, weeks, days, hours, minutes or seconds the second time is later."""
    start, end = moment(first, now), moment(second, now)
    name = shown(unit)
    if name in ("Y", "M"):
        return end.year - start.year if name == "Y" else (end.year - start.year) * 12 + end.month - start.month
    seconds = {"W": 604800, "D": 86400, "h": 3600, "m": 60}.get(name, 1)
    return int((end - start).total_seconds() / seconds)


def datetime_of(value: Any, *, now: datetime) -> str:
    """Return the day and time of a value or a text."""
    return iso_datetime(moment(value, now))


def date_of(value: Any, *, now: datetime) -> str:
    """Return the day of a value or a text."""
    return moment(value, now).astimezone(now.tzinfo).date().isoformat()


def date_from_parts(year: Any, month: Any, day: Any) -> str:
    """Return a day of its year, month and day."""
    return (date(int(to_number(year)), int(to_number(month)), 1) + timedelta(days=int(to_number(day)) - 1)).isoformat()


def weekday(value: Any, *, now: datetime) -> int:
    """Return the day of the week: 0 is Sunday."""
    return (moment(value, now).weekday() + 1) % 7


def epoch(value: Any, *, now: datetime) -> Decimal:
    """Return the seconds since 1970."""
    return Decimal(str(moment(value, now).timestamp()))


def current_time(*, now: datetime) -> str:
    """Return the time of now."""
    return iso_datetime(now)


def current_day(*, now: datetime) -> str:
    """Return the day of today."""
    return now.date().isoformat()


def format_number(value: Any, places: Any = -1, humanize: Any = True) -> str:
    """Return a number with groups of digits."""
    found, digits = to_number(value), int(to_number(places))
    found = found.normalize() if digits < 0 else found.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{found:,f}" if truth(humanize) else f"{found:f}"


def rounded(value: Any, places: Any, mode: str) -> Decimal:
    """Return a number with so many places."""
    return to_number(value).quantize(Decimal(1).scaleb(-int(to_number(places))), mode)


def round_half(value: Any, places: Any = 0) -> Decimal:
    """Return the nearest number with so many places."""
    return rounded(value, places, ROUND_HALF_UP)


def round_up(value: Any, places: Any = 0) -> Decimal:
    """Return the next larger number with so many places."""
    return rounded(value, places, ROUND_CEILING)


def round_down(value: Any, places: Any = 0) -> Decimal:
    """Return the next smaller number with so many places."""
    return rounded(value, places, ROUND_FLOOR)


def percentage(value: Any) -> str:
    """Return a part as a percentage."""
    return f"{rounded(to_number(value) * 100, 0, ROUND_HALF_UP)}%"


def power(base: Any, exponent: Any) -> Decimal:
    """Return a number to a power."""
    return (
        Decimal(str(float(to_number(base)) ** float(to_number(exponent))))
        if to_number(exponent) % 1
        else to_number(base) ** int(to_number(exponent))
    )


def modulo(value: Any, divisor: Any) -> Decimal:
    """Return what a division leaves, with the sign of the divisor."""
    by = to_number(divisor)
    return to_number(value) - by * Decimal(math.floor(to_number(value) / by))


def mean(values: Any) -> Decimal:
    """Return the average of numbers."""
    return sum(map(to_number, values), Decimal(0)) / len(values)


def largest(values: Any) -> Decimal:
    """Return the largest of numbers."""
    return max(map(to_number, values))


def smallest(values: Any) -> Decimal:
    """Return the smallest of numbers."""
    return min(map(to_number, values))


def title_case(text: Any) -> str:
    """Return a text with each word capitalised."""
    return re.sub(r"\w+", lambda word: word[0][:1].upper() + word[0][1:].lower(), shown(text))


def cleaned(text: Any) -> str:
    """Return a text without control characters."""
    return "".join(char for char in shown(text) if unicodedata.category(char) != "Cc")


def split_parts(text: Any, delimiters: Any) -> list[str]:
    """Return the parts of a text between any of these characters."""
    return [part for part in re.split(f"[{re.escape(shown(delimiters))}]+", shown(text)) if part] if shown(text) else []


def words_between(text: Any, delimiters: Any = "") -> list[str]:
    """Return the words of a text, or its parts between these characters."""
    return split_parts(text, delimiters) if shown(delimiters) else words_of(text)


def word_at(text: Any, place: Any, delimiters: Any = "") -> str:
    """Return one word of a text; -1 is the last."""
    return words_between(text, delimiters)[int(to_number(place))]


def word_count(text: Any, delimiters: Any = "") -> int:
    """Return how many words a text has."""
    return len(words_between(text, delimiters))


def word_slice(text: Any, start: Any, end: Any = -1, delimiters: Any = "") -> str:
    """Return some words of a text."""
    last = int(to_number(end))
    return " ".join(words_between(text, delimiters)[int(to_number(start)) : last if last >= 0 else None])


def remove_first_word(text: Any) -> str:
    """Return a text without its first word."""
    return re.sub(r"^\W*\w+[^\w\s]*\s*", "", shown(text))


def field_at(text: Any, place: Any, delimiter: Any) -> str:
    """Return one part of a text; an empty text if it has fewer."""
    by = shown(delimiter)
    parts = [part for part in shown(text).split(by) if part or by != " "]
    return parts[int(to_number(place))].strip() if int(to_number(place)) < len(parts) else ""


def text_slice(text: Any, start: Any, end: Any = None) -> str:
    """Return a part of a text."""
    return shown(text)[int(to_number(start)) : None if end is None else int(to_number(end))]


def text_length(text: Any) -> int:
    """Return how many characters a text has."""
    return len(shown(text))


def text_compare(first: Any, second: Any) -> int:
    """Return -1, 0 or 1, as the first text comes before the second."""
    return (shown(first) > shown(second)) - (shown(first) < shown(second))


def repeat(text: Any, count: Any) -> str:
    """Return a text several times."""
    return shown(text) * min(int(to_number(count)), 10_000)


def replaced(text: Any, needle: Any, replacement: Any, count: Any = -1) -> str:
    """Return a text with another text in place of one."""
    return shown(text).replace(shown(needle), shown(replacement), int(to_number(count)))


def regex_match(text: Any, pattern: Any, group: Any = 0) -> str:
    """Return what a regular expression finds in a text."""
    try:
        found = re.search(shown(pattern), shown(text))
    except re.error as error:
        raise ValueError(f"this is no pattern: {error}") from error
    return (found[int(to_number(group))] or "") if found else ""


def read_chars(text: Any) -> str:
    """Return a code as it is read aloud."""
    said = shown(text).lstrip("+")
    size = 3 if len(said) % 3 == 0 and len(said) > 3 else 4 if len(said) % 4 == 0 and len(said) > 4 else 0
    parts = [said[at : at + size] for at in range(0, len(said), size)] if size else [said]
    return " , ".join(" ".join(part) for part in parts)


def char_of(code: Any) -> str:
    """Return the character of a code."""
    return chr(int(to_number(code)))


def char_code(text: Any) -> int:
    """Return the code of the first character."""
    return ord(shown(text)[0])


def url_encode(text: Any) -> str:
    """Return a text as a part of an address."""
    return quote(shown(text), safe="-_.~")


def to_json(value: Any) -> str:
    """Return a value as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=json_part, sort_keys=True)


def json_part(value: Any) -> Any:
    """Return a value that JSON has no word for as one that it has."""
    if hasattr(value, "items"):
        return dict(value.items())
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return shown(value)


def parse_json(text: Any) -> Any:
    """Return the value of a JSON text."""
    return json.loads(shown(text), parse_float=Decimal)


def part_of(value: Any, key: Any) -> Any:
    """Return a property of a record or an element of a list, or an empty text if it is missing."""
    if isinstance(value, list | tuple):
        place = int(to_number(key))
        return value[place] if -len(value) <= place < len(value) else ""
    if isinstance(value, str):
        return value if key == "name" else ""  # a group is its name
    if hasattr(value, "items"):
        return next((each for name, each in value.items() if str(name).lower() == shown(key).lower()), "")
    return ""


def concatenated(first: Any, second: Any) -> str:
    """Return two texts as one."""
    return shown(first) + shown(second)


def joined(values: Any, separator: Any) -> str:
    """Return the elements of a list as one text."""
    return shown(separator).join(shown(each) for each in values or [])


def count_of(value: Any) -> int:
    """Return how many elements a list or a record has."""
    return len(value or [])


def unique_values(values: Any) -> list[Any]:
    """Return the elements of a list, each once."""
    return [each for place, each in enumerate(values) if each not in values[:place]]


def reversed_values(values: Any) -> list[Any]:
    """Return the elements of a list, the last first."""
    return list(values)[::-1]


def urn_parts(urn: Any) -> dict[str, str]:
    """Return the parts of an address of a contact."""
    scheme, _, path = shown(urn).partition(":")
    path, _, display = path.partition("#")
    return {"scheme": scheme, "path": path, "display": display}


def format_urn(urn: Any) -> str:
    """Return an address of a contact without its kind: `tel:+14155550123` is `+14155550123`."""
    return urn_parts(urn)["path"]


def attachment_parts(attachment: Any) -> dict[str, str]:
    """Return the kind and the address of a file."""
    kind, _, url = shown(attachment).partition(":")
    return {"content_type": kind, "url": url}


def absolute(value: Any) -> Decimal:
    """Return a number without its sign."""
    return abs(to_number(value))


def trimmed(text: Any) -> str:
    """Return a text without the spaces around it."""
    return shown(text).strip()


def lines_of(values: Any) -> str:
    """Return the values of a record that are not empty, each on its line: `Age: 23`."""
    return "\n".join(f"{name}: {shown(value)}" for name, value in sorted(values.items()) if shown(value))


def first_word(text: Any) -> str:
    """Return the first word of a text."""
    return (shown(text).split() or [""])[0]


def time_of(value: Any) -> str:
    """Return the time of day of a value or a text."""
    at = time_in(shown(value))
    if at is None:
        raise ValueError("no time")
    return shown(at)


def replace_time(value: Any, hour: Any, *, now: datetime) -> str:
    """Return a day with another time of day."""
    at = time_in(shown(hour))
    if at is None:
        raise ValueError("no time")
    return iso_datetime(datetime.combine(moment(value, now).date(), at, now.tzinfo))


def fits_query(value: Any, sign: Any, other: Any) -> bool:
    """True if a value fits a comparison of a group's query."""
    has, wanted = shown(value).strip().lower(), shown(other).strip().lower()
    match sign:
        case "=":
            return has == wanted or (has != "" and wanted != "" and numbers_in(has)[:1] == numbers_in(wanted)[:1] != [])
        case "!=":
            return has != wanted
        case "~":
            return wanted in has
    try:
        first, second = to_number(has), to_number(wanted)
    except ValueError:
        return False
    return {">": first > second, ">=": first >= second, "<": first < second, "<=": first <= second}[sign]


def with_extra(extra: Any, name: Any, value: Any) -> dict[str, Any]:
    """Return the values of `@legacy_extra` with those of a result."""
    parts = dict(value.items()) if hasattr(value, "items") else {}
    if isinstance(value, list | tuple):
        parts = {str(place): each for place, each in enumerate(value)}
    return {**dict((extra or {}).items()), **parts, **({shown(name): to_json(value)} if name else {})}
