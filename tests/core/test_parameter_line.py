"""The text of a template's parameter, as the platform takes it."""

import pytest

from bot.core.messages import TemplateMessage
from bot.core.text import parameter_line
from bot.services.gateway.gateway_client import content


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("line one\nline  two\tthree      four", "line one line two three four"),
        ("a\r\n\r\nb\u2028c", "a b c"),
        ("\n a \n", "a"),
        ("a     b", "a b"),
        ("a    b  c", "a    b  c"),
        ("1\u00a0000", "1\u00a0000"),
        ("", ""),
    ],
)
def test_a_text_with_lines_tabs_or_runs_of_spaces_gets_single_spaces(text: str, line: str) -> None:
    assert parameter_line(text) == line


def test_all_texts_of_a_template_that_contacts_read_are_sent_on_one_line() -> None:
    place = {"latitude": 1.5, "longitude": 2, "name": "a\nb", "address": "c\td"}
    currency = {"fallback_value": "5\n\u20ac", "code": "EUR", "amount_1000": 5000}
    sent = content(
        TemplateMessage(
            "sale",
            "en",
            {"type": "location", "location": place},
            (
                {"type": "text", "text": "e\nf"},
                {"type": "currency", "currency": currency},
                {"type": "date_time", "date_time": {"fallback_value": "1\n2"}},
            ),
            ("go\non",),
            ((1, "g\nh"),),
        )
    )
    header, body, reply, url = (component["parameters"] for component in sent["components"])
    assert header[0]["location"] == {**place, "name": "a b", "address": "c d"}
    assert [body[0]["text"], body[1]["currency"], body[2]["date_time"]] == [
        "e f",
        {**currency, "fallback_value": "5 \u20ac"},
        {"fallback_value": "1 2"},
    ]
    assert (reply[0]["payload"], url[0]["text"]) == ("go\non", "g h")
