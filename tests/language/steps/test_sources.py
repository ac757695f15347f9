"""The values of a model's answer must stand in a source, however they are written."""

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from babel.dates import format_date
from babel.numbers import format_decimal

from bot.language.steps.sources import KINDS, Sources, Unsupported
from tests.searches import search, tries

NOW = datetime(2030, 5, 6, 14, 5)  # a Monday
SLOT = re.compile(r"\{(\S) ([^{}]+)\}")
ANSWERS = Path(__file__).parent / "sourced_answers.yml"
HELD_OUT = Path(__file__).parent / "sourced_answers_held_out.yml"
SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "INR": "₹", "IDR": "Rp", "TRY": "₺", "RUB": "₽", "BRL": "R$"}
MONEY = {
    ("EUR", "en"): "euros", ("EUR", "de"): "Euro", ("EUR", "es"): "euros", ("EUR", "fr"): "euros", ("EUR", "it"): "euro", ("EUR", "nl"): "euro", ("USD", "en"): "dollars",
    ("GBP", "en"): "pounds", ("BRL", "pt"): "reais", ("IDR", "id"): "rupiah", ("RUB", "ru"): "рублей", ("INR", "hi"): "रुपये", ("TRY", "tr"): "TL",
}  # fmt: skip
DAYS = {
    "en": "days",
    "de": "Tagen",
    "es": "días",
    "fr": "jours",
    "it": "giorni",
    "pt": "dias",
    "nl": "dagen",
    "id": "hari",
    "tr": "gün",
    "ru": "дней",
    "ar": "أيام",
    "hi": "दिन",
}
HOURS = {
    "en": "hours",
    "de": "Stunden",
    "es": "horas",
    "fr": "heures",
    "it": "ore",
    "pt": "horas",
    "nl": "uur",
    "id": "jam",
    "tr": "saat",
    "ru": "часов",
    "ar": "ساعات",
    "hi": "घंटे",
}
NUMERALS = {
    "en": {
        3: "three",
        5: "five",
        7: "seven",
        12: "twelve",
        14: "fourteen",
        15: "fifteen",
        20: "twenty",
        24: "twenty-four",
        30: "thirty",
    },
    "de": {5: "fünf", 14: "vierzehn", 30: "dreißig", 48: "achtundvierzig"},
    "es": {4: "cuatro", 15: "quince", 90: "noventa"},
    "fr": {2: "deux", 11: "onze", 14: "quatorze"},
    "it": {8: "otto", 20: "venti"},
    "pt": {7: "sete"},
    "nl": {14: "veertien"},
    "id": {7: "tujuh"},
}
SPOKEN = {
    "en": {
        (9, 30): "half past nine",
        (8, 30): "half past eight",
        (18, 0): "six in the evening",
        (16, 45): "quarter to five",
        (11, 15): "a quarter past eleven",
    },
    "de": {(9, 30): "halb zehn", (18, 30): "halb sieben"},
    "es": {(21, 15): "nueve y cuarto", (19, 30): "siete y media"},
    "it": {(9, 30): "nove e mezza"},
    "nl": {(17, 30): "half zes"},
}


def _of_time(text: str, language: str) -> Iterator[str]:
    hour, minute = map(int, text.split(":"))
    clock = time(hour, minute)
    yield f"{clock.hour}:{clock.minute:02}"
    yield f"{clock:%H:%M}"
    yield {"de": f"{clock.hour}:{clock.minute:02} Uhr", "fr": f"{clock.hour}h{clock.minute:02}", "pt": f"{clock.hour}h{clock.minute:02}", "en": f"{clock:%I:%M %p}".lstrip("0"), "id": f"{clock:%H.%M}",
           "nl": f"{clock:%H.%M} uur", "ru": f"{clock:%H.%M}", "es": f"{clock:%H:%M} h"}.get(language, f"{clock:%H:%M}")  # fmt: skip
    if clock.minute == 0:
        yield {
            "en": f"{clock:%I} {clock:%p}".lstrip("0").lower(),
            "de": f"{clock.hour} Uhr",
            "fr": f"{clock.hour} h",
            "pt": f"{clock.hour}h",
            "nl": f"{clock.hour} uur",
        }.get(language, f"{clock:%H:%M}")
    if (spoken := SPOKEN.get(language, {}).get((clock.hour, clock.minute))) is not None:
        yield spoken


def _of_price(text: str, language: str) -> Iterator[str]:
    amount, currency = text.split()
    plain, whole = Decimal(amount), Decimal(amount) == int(Decimal(amount))
    grouped = format_decimal(plain, locale=language, format="#,##0" if whole else "#,##0.00").translate(ARABIC)
    word = MONEY.get((currency, language), currency)
    yield f"{grouped} {word}"
    yield f"{grouped} {currency}"
    yield f"{SIGNS[currency]}{grouped}" if language in ("en", "id", "pt", "hi") else f"{grouped} {SIGNS[currency]}"
    yield f"{format_decimal(plain, locale=language, format='0' if whole else '0.00').translate(ARABIC)} {SIGNS[currency]}"
    if plain in NUMERALS.get(language, {}):
        yield f"{NUMERALS[language][int(plain)]} {word}"


def _of_day(text: str, language: str) -> Iterator[str]:
    day = date.fromisoformat(text)
    yield _formatted(day, "d MMMM", language)
    yield _formatted(day, "EEEE, d MMMM" if language != "de" else "EEEE, d. MMMM", language)
    yield (
        f"{day.day}.{day.month}.{day.year}" if language in ("de", "ru", "tr") else _formatted(day, "d MMMM y", language)
    )
    if language == "en":
        yield f"{day:%B} {day.day}, {day.year}"
    if language == "de":
        yield f"{day.day}. {_formatted(day, 'MMMM', 'de')}"


def _formatted(day: date, pattern: str, language: str) -> str:
    return format_date(day, pattern, locale=language).translate(ARABIC)


ARABIC = str.maketrans("٠١٢٣٤٥٦٧٨٩", "0123456789")


def _of_weekday(text: str, language: str) -> Iterator[str]:
    day = date(2030, 5, 5) + timedelta(days=int(text))  # a Sunday
    yield _formatted(day, "EEEE", language)


def _of_number(text: str, language: str) -> Iterator[str]:
    yield text
    yield format_decimal(int(text), locale=language)
    if int(text) in NUMERALS.get(language, {}) and int(text) > 10:
        yield NUMERALS[language][int(text)]


def _of_share(text: str, language: str) -> Iterator[str]:
    written = format_decimal(Decimal(text), locale=language)
    yield f"{written} %"
    yield f"{written}%"
    yield f"{written} {({'en': 'percent', 'de': 'Prozent', 'es': 'por ciento'}).get(language, '%')}"


def _of_span(names: dict[str, str]) -> Callable[[str, str], Iterator[str]]:
    def of(text: str, language: str) -> Iterator[str]:
        yield f"{text} {names[language]}"
        if int(text) in NUMERALS.get(language, {}):
            yield f"{NUMERALS[language][int(text)]} {names[language]}"
        if names is DAYS and int(text) == 14 and language == "en":
            yield "two weeks"
        if names is HOURS and int(text) == 48 and language == "de":
            yield "2 Tagen"

    return of


def _of_code(text: str, language: str) -> Iterator[str]:
    yield text
    yield text.lower()
    yield re.sub(r"(?<=[A-Z])(?=\d)", "-", text)


WAYS: dict[str, Callable[[str, str], Iterator[str]]] = {
    "t": _of_time, "p": _of_price, "d": _of_day, "w": _of_weekday, "n": _of_number, "%": _of_share, "D": _of_span(DAYS), "H": _of_span(HOURS), "c": _of_code,
}  # fmt: skip


def _other(kind: str, text: str, dice: Random) -> str:
    """Another value of the kind, as a model makes it up."""
    match kind:
        case "t":
            hour, minute = map(int, text.split(":"))
            return f"{(hour + dice.choice((1, 2, 23, 22))) % 24}:{dice.choice((0, 30, minute)):02}"
        case "p":
            amount, currency = text.split()
            return f"{(Decimal(amount) + dice.choice((1, 5, 10, Decimal('0.5'), 100))).normalize():f} {currency}"
        case "d":
            return str(date.fromisoformat(text) + timedelta(days=dice.choice((-3, -1, 1, 2, 3, 5, 10, 31))))
        case "w":
            return str((int(text) + dice.choice((1, 3, 4))) % 7)
        case "n" | "D" | "H":
            return str(int(text) + dice.choice((1, 2, 3, 5, 10, 60)))
        case "%":
            return str(Decimal(text) + dice.choice((1, 5, 10)))
        case _:
            place = dice.choice([place for place, char in enumerate(text) if char.isdigit()][-2:])
            return text[:place] + str((int(text[place]) + dice.randrange(1, 10)) % 10) + text[place + 1 :]


def _sources(row: dict[str, Any]) -> Sources:
    ours = [row[key] for key in ("facts", "tool") if key in row]
    return Sources(ours, ours, [], [], [row.get("heard", "")], row["in"], NOW)


def _written(row: dict[str, Any], dice: Random, planted: int | None = None) -> str:
    """The answer with each value written in some way; the value at ``planted`` is a wrong one."""
    places = iter(range(100))
    values = {found.groups() for found in SLOT.finditer(row["answer"])}

    def way(found: re.Match[str]) -> str:
        kind, value = found.groups()
        if next(places) == planted:
            others = (_other(kind, value, dice) for _ in range(100))
            value = next(other for other in others if (kind, other) not in values)
        return dice.choice(list(WAYS[kind](value, row["in"])))

    return SLOT.sub(way, row["answer"])


def right_answers(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Answers with nothing but sourced values, in other ways of writing."""
    dice, rows = Random(1), yaml.safe_load(path.read_text())
    while True:
        for row in rows:
            yield row, _written(row, dice)


def wrong_answers(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Answers with one planted wrong value, or a promise."""
    dice, rows = Random(2), yaml.safe_load(path.read_text())
    while True:
        for row in rows:
            places = [*range(len(SLOT.findall(row["answer"]))), *(["promise"] if "promise" in row else [])]
            place = dice.choice(places)
            if place == "promise":
                yield row, f"{_written(row, dice)} {row['promise']}"
            else:
                yield row, _written(row, dice, place)


def held(answers: Iterator[tuple[dict[str, Any], str]], most: int) -> list[tuple[str, list[Unsupported]]]:
    return [(text, _sources(row).lacking(text, KINDS)) for row, text in islice(answers, most)]


@search
@pytest.mark.parametrize("path", [ANSWERS, HELD_OUT], ids=["tuned", "held out"])
def test_of_500_answers_with_a_planted_value_490_are_held_and_of_500_right_ones_5_at_most(path: Path) -> None:
    most = tries(60, 500)
    passed = [text for text, lacking in held(wrong_answers(path), most) if not lacking]
    refused = [(text, lacking) for text, lacking in held(right_answers(path), most) if lacking]

    assert len(passed) * 50 <= most, passed
    assert len(refused) * 100 <= most, refused


def test_answers_in_peoples_own_words_are_not_held() -> None:
    rows = yaml.safe_load((Path(__file__).parent / "paraphrased_answers.yml").read_text())
    assert [(row["answer"], found) for row in rows if (found := _sources(row).lacking(row["answer"], KINDS))] == []


def lacking(text: str, *ours: str, heard: str = "", said: str = "", **more: Any) -> list[str]:
    sources = Sources(ours, ours, [], [said], [heard], "en", NOW)
    return [found.written for found in sources.lacking(text, KINDS, **more)]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("It comes tomorrow, on Tuesday.", '{"eta": "2030-05-07"}'),
        ("We are open on Wednesday and tomorrow.", "Mon-Fri 9-18"),
        ("We are open on Sunday, too.", "Open daily from 9 to 18."),
        ("Open until 6 pm.", "Open 9-18"),
        ("You have two weeks.", "The trial is 14 days."),
        ("You have 3 orders.", '[{"id": "A1"}, {"id": "A2"}, {"id": "A3"}]'),
        ("There are 2 ways:\n- by phone\n- here", ""),
        ("1. Open the app.\n2. Write to us.", ""),
        ("One moment, there are two options. First, open the app: that may take one minute.", ""),
        ("It is 14:05 on 6 May 2030.", ""),
        ("It costs 1.250 euros.", "The price is 1,250 EUR."),
        ("See https://shop.example/pay/7 or call +49 30 1234567.", ""),
    ],
)
def test_these_values_have_a_source_or_are_none(text: str, source: str) -> None:
    assert lacking(text, source) == []


@pytest.mark.parametrize(
    ("text", "source", "found"),
    [
        ("It costs 30 euros.", "Returns within 30 days.", ["30 euros"]),
        ("It costs 30 dollars.", "It costs 30 euros.", ["30 dollars"]),
        ("You save 9 percent.", "Open at 9:00.", ["9 percent"]),
        ("Open until 21:00.", "Open from 9:00.", ["21:00"]),
        ("It comes in two hours.", "It comes in two days.", ["two hours"]),
        ("You get your money back.", "There is no money back.", ["money back"]),
        ("No problem, it is free.", "", ["free"]),
        ("It has 1'000,000 parts.", "It has 5 parts.", ["1"]),
        ("; ".join(["7 pieces"] * 300), "7 pieces", ["200 values or more"]),
    ],
)
def test_these_values_have_none(text: str, source: str, found: list[str]) -> None:
    assert lacking(text, source) == found


def test_what_the_bot_said_is_a_source_but_a_bare_number_is_no_price_by_that() -> None:
    assert lacking("Yes, 30 euros.", said="It costs 30 euros.") == []
    assert lacking("It costs 50 euros.", said="You wrote 50.") == ["50 euros"]


@pytest.mark.parametrize(
    "text",
    [
        "Together 65 euros.",
        "The second one is 25 euros less.",
        "Three are 60 euros.",
        "It ends on 5 June 2030.",
        "That is in 4 days, after 45 minutes.",
    ],
)
def test_sums_differences_and_multiples_have_a_source_where_that_is_said(text: str) -> None:
    source = "One is 20 euros, the other 45 euros; 3 at most, within 30 days. From 9:00 to 9:45. Due on 2030-05-10."
    assert lacking(text, source, sums=True) == []
    assert lacking(text, source) != []
