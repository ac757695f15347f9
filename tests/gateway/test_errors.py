"""The error tree: every code of the specification has a class that says what it means and what to do."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.emulator.request_rules import CODES
from bot.gateway.gateway_answers import (
    BY_CODE,
    ChannelNotFound,
    GatewayError,
    GatewayRateLimited,
    GatewayRefused,
    GatewayUnauthorized,
    InteractiveError,
    InvalidRequest,
    InvalidUrl,
    SendFailed,
    TemplateError,
    TemplateRequired,
)

VALIDATION = ["INVALID_PHONE", "MISSING_TYPE", "MISSING_FIELD", "INVALID_TYPE", "INVALID_URL", "FILE_TOO_LARGE"]
TEMPLATE = ["132000", "132001", "132005", "132006", "132007", "132008", "132012", "132015"]
INTERACTIVE = ["INVALID_TYPE", "INVALID_BUTTON", "INVALID_URL", "INVALID_LIST", "BODY_EMPTY"]
SPECIFIED: dict[str, type[GatewayError]] = {
    **{f"VALIDATION_{code}": InvalidRequest for code in VALIDATION},
    **dict.fromkeys(TEMPLATE, TemplateError),
    **{f"INTERACTIVE_{code}": InteractiveError for code in INTERACTIVE},
    "WHATSAPP_TEMPLATE_REQUIRED": TemplateRequired,
    "WHATSAPP_SEND_FAILED": SendFailed,
    "WHATSAPP_CHANNEL_NOT_FOUND": ChannelNotFound,
    "RATE_LIMIT_EXCEEDED": GatewayRateLimited,
    "unauthorized": GatewayUnauthorized,
}


def _tree(root: type[GatewayError]) -> Iterator[type[GatewayError]]:
    for child in root.__subclasses__():
        yield child
        yield from _tree(child)


def test_every_code_of_the_specification_has_its_class_and_no_other() -> None:
    assert set(BY_CODE) == set(SPECIFIED)


@pytest.mark.parametrize("code", SPECIFIED)
def test_each_class_says_what_it_means_and_what_to_do(code: str) -> None:
    error = BY_CODE[code]
    assert issubclass(error, SPECIFIED[code])
    assert error.__doc__ and error.advice
    assert error.retry is (error is GatewayRateLimited)


def test_a_text_has_the_gateways_words_its_details_and_the_advice() -> None:
    details = {"parameter": "2", "nested": {"a": 1}, "received": 7, "field": "image.link"}
    error = InvalidUrl("the address is not public", details)
    assert str(error) == (
        "VALIDATION_INVALID_URL: the address is not public (field: image.link; received: 7; parameter: 2) "
        "(the address must be public, and lead to a file of the right type)"
    )
    assert error.details == details


def test_endless_details_are_cut() -> None:
    error = InvalidUrl("no", {f"d{n}": "x" * 10_000 for n in range(100)})
    assert len(str(error)) < 1500


ROOT = Path(__file__).parent.parent.parent
ROWS = dict(re.findall(r"^\| `([A-Za-z0-9_]+)` \| (.*) \|$", (ROOT / "docs/errors.md").read_text(), re.MULTILINE))


def first_line(error: type[GatewayError]) -> str:
    return " ".join((error.__doc__ or "").split("\n\n")[0].split())


@pytest.mark.parametrize("code", SPECIFIED)
def test_each_code_is_documented_as_it_is(code: str) -> None:
    error = BY_CODE[code]
    http = "not shown" if code.startswith("INTERACTIVE_") else str(CODES[code])
    assert ROWS[code].split(" | ") == [http, first_line(error), "yes" if error.retry else "no", error.advice]


def test_each_class_without_a_code_is_documented_as_it_is() -> None:
    leaves = [error for error in _tree(GatewayError) if not error.code and not error.__subclasses__()]
    for error in leaves:
        assert ROWS[error.__name__].split(" | ") == [
            first_line(error),
            "yes" if error.retry else "no",
            error.advice or "-",
        ]
    assert len(ROWS) == len(SPECIFIED) + len(leaves)


def test_an_unknown_code_is_kept() -> None:
    error = GatewayRefused("no such luck", code="BAD_LUCK")
    assert (error.code, str(error)) == ("BAD_LUCK", "BAD_LUCK: no such luck")
