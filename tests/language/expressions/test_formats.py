"""Dates, numbers and money in the contact's language."""

import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.language.expressions.templates import TemplateFailed, compile_template
from bot.language.source.languages import CONTACT_LANGUAGE
from bot.language.source.problems import Mark, Problems

MARK = Mark("flows/f.yml", 1, 1)
SCOPE: dict[str, Any] = {
    "now": datetime(2030, 5, 6, 10, tzinfo=ZoneInfo("Asia/Jakarta")),
    "day": date(2030, 5, 12),
    "starts": datetime(2030, 5, 12, 2, 5, tzinfo=UTC),  # 09:05 in Jakarta
    "clock": time(14, 30),
    "total": 1234.5,
    "big": Decimal("1234567.891"),
}


def written(source: str, language: str | None = None) -> str:
    problems = Problems()
    template = compile_template(source, MARK, problems)
    assert not problems.sorted()
    return template.render({**SCOPE, CONTACT_LANGUAGE: language} if language else SCOPE)


@pytest.mark.parametrize(
    ("source", "language", "text"),
    [
        ("{{ day | date }}", None, "12 May 2030"),
        ("{{ day | date }}", "en", "12 May 2030"),
        ("{{ day | date }}", "en-US", "May 12, 2030"),
        ("{{ day | date }}", "id", "12 Mei 2030"),
        ("{{ day | date }}", "pt-BR", "12 de maio de 2030"),
        ("{{ day | date }}", "de", "12. Mai 2030"),
        ("{{ day | date }}", "xx", "12 May 2030"),
        ("{{ day | date('short') }}", "en", "12/05/2030"),
        ("{{ day | date('full') }}", "id", "Minggu, 12 Mei 2030"),
        ("{{ day | date('EEEE') }}", "id", "Minggu"),
        ("{{ day | date('EEE d MMM') }}", "en", "Sun 12 May"),
        ("{{ day | add_months(4) | date('d MMM') }}", "en", "12 Sep"),
        ("{{ day | add_months(4) | date('medium') }}", None, "12 Sep 2030"),
        ("{{ day | add_months(4) | date('MMMM') }}", "en", "September"),
        ("{{ day | add_months(4) | date('d MMM') }}", "en-GB", "12 Sept"),
        ("{{ clock | time('h:mm a') }}", "en", "2:30 pm"),
        ("{{ starts | date('d MMM, HH:mm') }}", "id", "12 Mei, 09:05"),
        ("{{ starts | time }}", None, "09:05"),
        ("{{ starts | time }}", "en", "09:05"),
        ("{{ starts | time }}", "id", "09.05"),
        ("{{ clock | time }}", "en-US", "2:30 PM"),
        ("{{ clock | time('medium') }}", "en", "14:30:00"),
        ("{{ total | number }}", None, "1,234.5"),
        ("{{ big | number }}", "id", "1.234.567,891"),
        ("{{ big | number }}", "fr", "1 234 567,891"),
        ("{{ big | number }}", "hi", "12,34,567.891"),
        ("{{ total | number(2) }}", "de", "1.234,50"),
        ("{{ 2.5 | number(0) }} {{ 2.345 | number(2) }}", "en", "3 2.35"),
        ("{{ total | currency('EUR') }}", "en", "€1,234.50"),
        ("{{ total | currency('USD') }}", "en", "$1,234.50"),
        ("{{ total | currency('EUR') }}", "de", "1.234,50 €"),
        ("{{ total | currency('JPY') }}", "en", "¥1,235"),
        ("{{ total | currency('IDR') }}", "id", "Rp1.234,50"),
        ("{{ 0.5 | currency('IDR') }}", "id", "Rp0,50"),
        ("{{ total | currency('HUF') }}", "hu", "1 234,50 Ft"),
        ("{{ total | currency('KWD') }}", "en", "KWD1,234.500"),
        ("{{ 1234567.5 | currency('INR') }}", "hi", "₹12,34,567.50"),
        ("{{ -0.5 | currency('JPY') }} {{ 0.4 | currency('VND') }}", "en", "-¥1 ₫0"),
        ("{{ day | date('full') }}", "en", "Sunday 12 May 2030"),
        ("{{ clock | time('long') }}", "en", "14:30:00 UTC"),
    ],
)
def test_a_value_is_written_as_the_language_writes_it(source: str, language: str | None, text: str) -> None:
    assert written(source, language) == text


ISO_4217 = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    2: "AED ALL AMD BRL CHF CNY COP CRC CZK EUR GBP HUF IDR INR IRR LAK LBP MGA MMK MUR MYR PHP PKR RSD SGD SOS SYP THB TWD TZS USD UZS YER",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}


@pytest.mark.parametrize(("decimals", "codes"), ISO_4217.items())
def test_an_amount_has_the_decimals_of_iso_4217_in_every_language(decimals: int, codes: str) -> None:
    for code in codes.split():
        for language, point in (("en", "."), ("id", ","), ("hu", ",")):
            text = written(f"{{{{ 21 | currency('{code}') }}}}", language)
            assert re.findall(r"21\S*?(?=$|\s|[^\d.,])", text) == [f"21{point}{'0' * decimals}".rstrip(".,")], (
                code,
                language,
            )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ total | currency('IDR') }}", "IDR1,234.50"),
        ("{{ day | date('short') }} {{ day | date('medium') }} {{ day | date('full') }}", "12/05/2030 12 May 2030 Sunday 12 May 2030"),
        ("{{ clock | time }} {{ clock | time('medium') }}", "14:30 14:30:00"),
    ],
)  # fmt: skip
def test_prices_and_plain_english_do_not_change_with_the_data_of_the_year(
    source: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever CLDR says of a currency's decimals, or of the forms of British English."""
    from babel import core

    monkeypatch.setitem(core.get_global("currency_fractions"), "IDR", (0, 0, 0, 0))
    british = core.Locale("en", "GB")
    for forms in (british.date_formats, british.time_formats):
        for form in ("short", "medium", "full"):
            monkeypatch.setitem(forms, form, "another")
    assert written(source, "en") == text


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ total | date }}", "a number is no date"),
        ("{{ day | time }}", "a date has no time of day"),
        ("{{ 'x' | number }}", "a text is no number"),
        ("{{ true | currency('EUR') }}", "true or false is no number"),
        ("{{ total | currency('EURO') }}", "takes the code of a currency"),
        ("{{ total | currency(3) }}", "takes the code of a currency"),
        ("{{ total | number('2') }}", "takes how many places, not a text"),
        ("{{ (10.0 ** 200) | number }}", "too large"),
        ("{{ day | date('HH:mm') }}", "a form that does not go with a date"),
        ("{{ day | date('QQQQQQQQ') }}", "a form that does not go with a date"),
        ("{{ day | date(['full']) }}", "a form that does not go with a date"),
        ("{{ day | date(3) }}", "a form that does not go with a date"),
        ("{{ day | date('d' ~ 'y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y') }}", "a form that"),
    ],
)
def test_what_cannot_be_written_fails_in_words(source: str, reason: str) -> None:
    with pytest.raises(TemplateFailed, match=reason):
        written(source, "en")
