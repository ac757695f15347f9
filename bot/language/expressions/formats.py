"""How values read as text: plain (`shown`), and dates, numbers and amounts in the contact's language (CLDR, by babel).

English without a country writes 12 May 2030 and 09:00, and so does a bot that names no language. CLDR changes its data
each year. The forms that must not change are therefore written here: those of this English, and how many decimals an
amount has.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import date, datetime, time, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal, InvalidOperation
from decimal import Context as Precision
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import pass_context
from jinja2.runtime import Context

from bot.core.values import Location, Media, Record
from bot.language.expressions.template_failures import TemplateFailed, kind_of
from bot.language.source import wall_clock
from bot.language.source.languages import CONTACT_LANGUAGE, ENGLISH, without_country

if TYPE_CHECKING:  # importing babel takes 70 ms: only other languages than plain English need it
    from babel import Locale


MAX_TEXT = 64 * 1024  # characters of one rendered text, and of every text on the way there
_SEVERAL = frozenset({list, tuple, dict, Record})


def shown(value: Any) -> str:
    """A value as a contact reads it: null is nothing, numbers are at their shortest, lists have commas."""
    match value:
        case str():
            return str(value)
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() | Decimal():
            return _shortest(value)
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case time():
            return f"{value:%H:%M}"
        case timedelta():
            return wall_clock.duration_words(value)
        case list() | tuple() | dict() | Record():
            return "".join(_pieces(value))
        case Media(url=url):
            return url
        case Location(latitude=latitude, longitude=longitude):
            return f"{latitude}, {longitude}"
    return str(value)


def written(value: Any) -> str:
    """A value as text within a template. Raises `TemplateFailed` if it has more than `MAX_TEXT` characters."""
    kind = type(value)
    if kind is str or kind is int:
        return str(value)
    return bounded(_pieces(value)) if kind in _SEVERAL else shown(value)


def bounded(pieces: Iterable[str]) -> str:
    """A text of its pieces. Raises `TemplateFailed` as soon as they have more than `MAX_TEXT` characters."""
    texts, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_TEXT:
            too_long()
        texts.append(piece)
    return "".join(texts)


def too_long() -> NoReturn:
    """Raise `TemplateFailed`."""
    raise TemplateFailed(f"a text longer than {MAX_TEXT} characters")


def _pieces(several: Sequence[Any] | Mapping[str, Any]) -> Iterator[str]:
    """The text of a list or a record in pieces; a list that contains another one many times is stopped early."""
    comma = ""
    for name in several:
        item, named = (several[name], f"{comma}{name}: ") if isinstance(several, Mapping) else (name, comma)
        if type(item) in _SEVERAL:
            yield named
            yield from _pieces(item)
        else:
            yield named + shown(item)
        comma = ", "


def _shortest(number: float | Decimal) -> str:
    exact = number if isinstance(number, Decimal) else Decimal(repr(number))
    if not exact.is_finite() or abs(exact.adjusted()) > 30:
        return str(number)
    text = f"{exact:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_NAMED = ("short", "medium", "long", "full")
_ENGLISH_FORMS = {
    "date": dict(zip(_NAMED, ("dd/MM/y", "d MMM y", "d MMMM y", "EEEE d MMMM y"), strict=True)),
    "time": dict(zip(_NAMED, ("HH:mm", "HH:mm:ss", "HH:mm:ss z", "HH:mm:ss zzzz"), strict=True)),
}
_LONGEST_PATTERN = 60  # characters
_MOST_DIGITS = 40  # before the point, and behind it
_EXACT = Precision(prec=2 * _MOST_DIGITS, rounding=ROUND_HALF_UP)
_CURRENCIES = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_DECIMALS = {code: decimals for decimals, codes in _CURRENCIES.items() for code in codes.split()}
"""How many decimals an amount has by ISO 4217, where it is not two."""
_NO_BREAK = str.maketrans("\u00a0\u202f", "  ")  # in a chat they look alike, and in a test they cannot be typed


def prepare(languages: Iterable[str]) -> None:
    """Load the data of these languages and of English, so that the first contact does not wait for it."""
    for language in (*languages, ENGLISH):
        _locale(language)


@lru_cache(maxsize=256)
def _locale(language: str) -> "Locale":
    """Babel's data of a language: with its country, without it, or of English."""
    from babel import Locale, UnknownLocaleError

    for known in (language, without_country(language)):
        try:
            return Locale.parse(known, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return Locale.parse(ENGLISH)


@lru_cache(maxsize=1)
def _plain_english() -> "Locale":
    """British English (weekdays, am and pm), but that short months have three letters: Sep, not Sept."""
    from babel import Locale

    class PlainEnglish(Locale):
        months = Locale("en").months

    return PlainEnglish("en", "GB")


def language_name(language: str) -> str:
    """The English name of a language, such as ``Indonesian``; its code if it has none."""
    from babel import Locale, UnknownLocaleError

    try:
        return Locale.parse(language, sep="-").english_name or language
    except (UnknownLocaleError, ValueError):
        return language


def decimal_sign(language: str) -> str:
    """The sign before the fraction of a number in a language: a point or a comma."""
    from babel.numbers import get_decimal_symbol

    return get_decimal_symbol(_locale(language))


def country_names(language: str) -> list[str]:
    """The names of countries and regions in a language."""
    return list(_locale(language).territories.values())


def _spoken(context: Context) -> str:
    language: str = context.parent.get(CONTACT_LANGUAGE) or ENGLISH
    return language


def local(context: Context, value: Any) -> Any:
    """A time with a zone as the bot's clock shows it; anything else is that already."""
    return _at_home(value, context.parent)


def _at_home(value: Any, scope: Mapping[str, Any]) -> Any:
    now = scope.get("now")
    if isinstance(value, datetime) and value.tzinfo is not None and isinstance(now, datetime):
        return wall_clock.in_zone(value, wall_clock.zone_of(now))
    return value


@pass_context
def _date(context: Context, value: Any, form: str = "long") -> str:
    """``{{ day | date }}``: 12 May 2030, in the bot's time zone. ``date("full")``, ``date("EEEE d MMM, HH:mm")``."""
    if not isinstance(value, date):
        raise TemplateFailed(f"{kind_of(value)} is no date")
    moment, language = local(context, value), _spoken(context)
    return _in_words(moment, language) if form == "long" else _formatted(moment, language, form, "date")


@pass_context
def _time(context: Context, value: Any, form: str = "short") -> str:
    """``{{ starts | time }}``: 09:00, in the bot's time zone. ``time("medium")``, ``time("h:mm a")``."""
    if not isinstance(value, datetime | time):
        raise TemplateFailed(f"{kind_of(value)} has no time of day")
    moment, language = local(context, value), _spoken(context)
    return _on_the_clock(moment, language) if form == "short" else _formatted(moment, language, form, "time")


def as_spoken(value: Any, scope: Mapping[str, Any]) -> str:
    """A date, a time or a number in the form of the contact's language; any other value as it is shown."""
    value, language = _at_home(value, scope), scope.get(CONTACT_LANGUAGE) or ENGLISH
    if isinstance(value, datetime):
        return f"{_in_words(value, language)}, {_on_the_clock(value, language)}"
    if isinstance(value, date):
        return _in_words(value, language)
    if isinstance(value, time):
        return _on_the_clock(value, language)
    try:
        return _grouped(_decimal(value), language) if is_number(value) else shown(value)
    except TemplateFailed:
        return shown(value)


def as_asked(value: Any, scope: Mapping[str, Any]) -> str:
    """A value as the contact is asked about it: a day with its weekday."""
    value, language = _at_home(value, scope), scope.get(CONTACT_LANGUAGE) or ENGLISH
    if not isinstance(value, date):
        return as_spoken(value, scope)
    day = (
        f"{value:%A}, {_in_words(value, language)}"
        if language == ENGLISH
        else _formatted(value, language, "full", "date")
    )
    return f"{day}, {_on_the_clock(value, language)}" if isinstance(value, datetime) else day


def as_title(value: Any, scope: Mapping[str, Any]) -> str:
    """A value on a button: ``Wed 8 May 2030``, ``Wed 8 May, 15:00``; the weekday only where there is room."""
    value, language = _at_home(value, scope), scope.get(CONTACT_LANGUAGE) or ENGLISH
    if not isinstance(value, date):
        return as_spoken(value, scope)
    behind = f", {_on_the_clock(value, language)}" if isinstance(value, datetime) else ""
    if language == ENGLISH:
        return f"{value:%a} {value.day} {value:%b}" + (behind or f" {value.year}")
    from babel import dates

    forms = ("MMMEd", "MMMd") if behind else ("yMMMEd", "yMMMd")
    days = (str(dates.format_skeleton(form, value, locale=_locale(language))).translate(_NO_BREAK) for form in forms)
    titles = [day + behind for day in days]
    return next((title for title in titles if len(title) <= _LONGEST_TITLE), titles[-1])


def _in_words(day: date, language: str) -> str:
    if language == ENGLISH:
        return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
    return _formatted(day, language, "long", "date")


def day_and_month(day: date, language: str) -> str:
    """A day without its year: ``12 May``, ``12 Mei``, ``12. Mai``."""
    if language == ENGLISH:
        return f"{day.day} {MONTHS[day.month - 1]}"
    from babel import dates

    return str(dates.format_skeleton("MMMMd", day, locale=_locale(language))).translate(_NO_BREAK)


def weekday_name(day: date, language: str, form: str) -> str:
    """``Mon``, ``Sen`` (EEE); ``Monday``, ``Senin`` (EEEE)."""
    if language == ENGLISH:
        name = wall_clock.WEEKDAYS[day.weekday()].capitalize()
        return name[:3] if form == "EEE" else name
    return _formatted(day, language, form, "date")


def _on_the_clock(moment: datetime | time, language: str) -> str:
    return f"{moment:%H:%M}" if language == ENGLISH else _formatted(moment, language, "short", "time")


def _grouped(exact: Decimal, language: str, pattern: str | None = None) -> str:
    from babel import numbers

    locale = _locale(language)
    return str(numbers.format_decimal(exact, pattern, locale, decimal_quantization=False)).translate(_NO_BREAK)


def _formatted(moment: Any, language: str, form: str, name: str) -> str:
    """A date or a time in one of the language's own forms, or by a pattern of CLDR."""
    from babel import dates

    locale, own = _locale(language), {}
    if str(locale) == ENGLISH:
        locale, own = _plain_english(), _ENGLISH_FORMS[name]
    named: Any = dates.get_date_format if name == "date" else dates.get_time_format
    try:
        if len(form) > _LONGEST_PATTERN:
            raise ValueError
        pattern = named(form, locale) if form in _NAMED and not own else dates.parse_pattern(own.get(form, form))
        return str(pattern.apply(moment, locale)).translate(_NO_BREAK)
    except (ValueError, TypeError, AttributeError, KeyError):
        fix = f"write one of {', '.join(_NAMED)}, or a pattern like EEEE d MMM"
        raise TemplateFailed(f"{name}(): a form that does not go with {kind_of(moment)}: {fix}") from None


@pass_context
def _number(context: Context, value: Any, places: int | None = None) -> str:
    """``{{ total | number }}``: 1,234.5; ``number(2)``: 1,234.50, half away from zero."""
    exact, pattern = _decimal(value), None
    if places is not None:
        kept = _places(places, "number")
        exact, pattern = _EXACT.quantize(exact, Decimal(1).scaleb(-kept)), f"#,##0.{'0' * kept}".rstrip(".")
    return _grouped(exact, _spoken(context), pattern)


@pass_context
def _currency(context: Context, value: Any, code: str) -> str:
    """``{{ total | currency("EUR") }}``: €12.50, half away from zero, with the decimals that ISO 4217 gives."""
    from babel import numbers

    if not isinstance(code, str) or not numbers.is_currency(code):
        raise TemplateFailed("currency() takes the code of a currency, like EUR")
    locale, decimals = _locale(_spoken(context)), _DECIMALS.get(code, 2)
    pattern = copy(locale.currency_formats["standard"])
    pattern.frac_prec = (decimals, decimals)
    exact = _EXACT.quantize(_decimal(value), Decimal(1).scaleb(-decimals))
    return str(numbers.format_currency(exact, code, pattern, locale, currency_digits=False)).translate(_NO_BREAK)


def _places(places: Any, name: str) -> int:
    if not is_whole(places):
        raise TemplateFailed(f"{name}() takes how many places, not {kind_of(places)}")
    return max(0, min(int(places), MOST_PLACES))


def _decimal(value: Any) -> Decimal:
    if not is_number(value):
        raise TemplateFailed(f"{kind_of(value)} is no number")
    exact = Decimal(str(value))
    if not exact.is_finite() or abs(exact.adjusted()) > _MOST_DIGITS:
        raise TemplateFailed("a number that is too large or too small")
    return exact


FORMAT_FILTERS: dict[str, Callable[..., Any]] = {"currency": _currency, "date": _date, "number": _number, "time": _time}


MOST_DIGITS = 400  # of a decimal: more than any float has. "1e999999999" is short, and fills the memory written out
MOST_PLACES = 12  # of a number that is rounded
_LONGEST = 40  # characters
_LONGEST_TITLE = 20  # characters, as on a button


def exact(value: Any) -> Any:
    """A number with a point as a decimal, so that 0.1 is 0.1; anything else is that already."""
    return Decimal(repr(value)) if type(value) is float else value


def is_number(value: Any) -> bool:
    """True if a value is a number, which true and false are not."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """True if a value is a whole number by its type."""
    return isinstance(value, int) and not isinstance(value, bool)


def _absolute(value: Any) -> Any:
    """``{{ change | abs }}``: a number without its sign."""
    return abs(value)


def _round(value: Any, places: int = 0) -> Decimal:
    """``{{ total | round(2) }}``: half away from zero, at most 12 places."""
    if not is_number(value):
        raise TemplateFailed(f"{kind_of(value)} cannot be rounded")
    return _EXACT.quantize(Decimal(str(value)), Decimal(1).scaleb(-_places(places, "round")))


def _as_number(value: Any) -> Any:
    """``{{ answer.total | as_number }}``: the number that a text from elsewhere is, as programs write them."""
    if not isinstance(value, str):
        if not is_number(value):
            raise TemplateFailed(f"{kind_of(value)} is no number")
        return value
    try:
        number = Decimal(value.strip()) if len(value) <= _LONGEST else Decimal("nan")
    except InvalidOperation:
        raise TemplateFailed("this text is no number") from None
    if not number.is_finite() or abs(number.adjusted()) > _LONGEST:
        raise TemplateFailed("this text is no number")
    return number


def _floor(value: Any) -> int:
    """``{{ total | floor }}``: the next whole number below."""
    return int(_decimal(value).to_integral_value(ROUND_FLOOR))


def _ceil(value: Any) -> int:
    """``{{ total | ceil }}``: the next whole number above."""
    return int(_decimal(value).to_integral_value(ROUND_CEILING))


NUMBER_FILTERS: dict[str, Callable[..., Any]] = {
    "abs": _absolute,
    "as_number": _as_number,
    "ceil": _ceil,
    "floor": _floor,
    "round": _round,
}
