"""Dates, numbers and money in the contact's language."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.expressions.templates import TemplateFailed, compile_template
from bot.lang.languages import CONTACT_LANGUAGE
from bot.lang.problems import Mark, Problems

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
    ],
)
def test_a_value_is_written_as_the_language_writes_it(source: str, language: str | None, text: str) -> None:
    assert written(source, language) == text


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
        ("{{ day | date(3) }}", "a form that does not go with a date"),
        ("{{ day | date('d' ~ 'y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y') }}", "a form that"),
    ],
)
def test_what_cannot_be_written_fails_in_words(source: str, reason: str) -> None:
    with pytest.raises(TemplateFailed, match=reason):
        written(source, "en")
