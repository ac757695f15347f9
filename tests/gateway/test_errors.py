"""The error tree: every code of the specification has a class that says what it means and what to do."""

import pytest

from bot.gateway.errors import (
    BY_CODE,
    ChannelNotFound,
    GatewayError,
    InteractiveError,
    InvalidRequest,
    InvalidUrl,
    RateLimited,
    Refused,
    SendFailed,
    TemplateError,
    TemplateRequired,
    Unauthorized,
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
    "RATE_LIMIT_EXCEEDED": RateLimited,
    "unauthorized": Unauthorized,
}


def test_every_code_of_the_specification_has_its_class_and_no_other() -> None:
    assert set(BY_CODE) == set(SPECIFIED)


@pytest.mark.parametrize("code", SPECIFIED)
def test_each_class_says_what_it_means_and_what_to_do(code: str) -> None:
    error = BY_CODE[code]
    assert issubclass(error, SPECIFIED[code])
    assert error.__doc__ and error.advice
    assert error.retry is (error is RateLimited)


def test_a_text_has_the_gateways_words_its_details_and_the_advice() -> None:
    error = InvalidUrl("the address is not public", {"field": "image.link", "secret": "x"})
    assert str(error) == (
        "VALIDATION_INVALID_URL: the address is not public (field: image.link) (the address must be public)"
    )
    assert error.details["secret"] == "x"


def test_an_unknown_code_is_kept() -> None:
    error = Refused("no such luck", code="BAD_LUCK")
    assert (error.code, str(error)) == ("BAD_LUCK", "BAD_LUCK: no such luck")
