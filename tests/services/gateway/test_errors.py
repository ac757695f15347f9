"""The gateway's error table: every code of the specification has a row with its class and what to do."""

import re
from pathlib import Path

import pytest

from bot.core.errors import ErrorRow
from bot.services.gateway.gateway_answers import BY_CODE, ERRORS, GatewayError, GatewayRateLimited, GatewayRefused
from bot.testing.emulator.request_rules import CODES

ROOT = Path(__file__).parents[3]
ROWS = dict(re.findall(r"^\| `([A-Za-z0-9_]+)` \| (.*) \|$", (ROOT / "docs/errors.md").read_text(), re.MULTILINE))


def test_every_code_of_the_specification_has_one_row_and_no_other() -> None:
    assert set(BY_CODE) == set(CODES)
    assert len(BY_CODE) + len([row for row in ERRORS if not row.code]) == len(ERRORS)


def test_only_a_rate_limit_can_be_tried_again() -> None:
    assert [row.raises for row in BY_CODE.values() if row.retry] == [GatewayRateLimited]
    assert all(row.advice for row in BY_CODE.values())


def test_a_text_has_the_gateways_words_its_details_and_the_advice() -> None:
    details = {"parameter": "2", "nested": {"a": 1}, "received": 7, "field": "image.link"}
    error = GatewayRefused("the address is not public", details, code="VALIDATION_INVALID_URL")
    assert str(error) == (
        "VALIDATION_INVALID_URL: the address is not public (field: image.link; received: 7; parameter: 2) "
        "(the address must be public, and lead to a file of the right type)"
    )
    assert error.details == details


def test_endless_details_are_cut() -> None:
    error = GatewayRefused("no", {f"d{n}": "x" * 10_000 for n in range(100)})
    assert len(str(error)) < 1500


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: row.code or row.raises.__name__)
def test_each_error_is_documented_as_it_is(row: ErrorRow[GatewayError]) -> None:
    meaning, advice = ROWS[row.code or row.raises.__name__].split(" | ")
    assert (meaning.endswith(" Tried again."), advice) == (row.retry, row.advice or "-")


def test_no_error_is_documented_that_there_is_not() -> None:
    assert len(ROWS) == len(ERRORS)


def test_an_unknown_code_is_kept() -> None:
    error = GatewayRefused("no such luck", code="BAD_LUCK")
    assert (error.code, str(error)) == ("BAD_LUCK", "BAD_LUCK: no such luck")


def test_a_hint_of_the_gateways_own_takes_the_place_of_our_advice() -> None:
    said = GatewayRefused("no text", {"field": "text", "hint": "write one"}, code="VALIDATION_MISSING_FIELD")
    assert str(said) == "VALIDATION_MISSING_FIELD: no text (field: text; hint: write one)"
    assert "please report it" in str(GatewayRefused("no text", {"field": "text"}, code="VALIDATION_MISSING_FIELD"))
