"""What tells who a contact is, is masked however it is written; ids, dates and addresses of machines stay."""

import pytest

from bot.core.contact_masks import mask_answers, mask_emails, mask_numbers


@pytest.mark.parametrize(
    "number",
    [
        "6281234567890", "+6281234567890", "+62 812-3456-7890", "62 812 3456 7890", "62.812.3456.7890", "(62) 812/3456/7890",
        "62\u00a0812\u202f3456\u20097890", "62\u2011812\u20133456\u22127890", "62_812_3456_7890", "6 2 8 1 2 3 4 5 6 7 8 9 0", "62 - 812 - 34567890", "7890890",
    ],
)  # fmt: skip
def test_a_number_is_masked_however_it_is_written(number: str) -> None:
    assert mask_numbers(f"sale: vip {number}, 5 off", "…", 3).removeprefix("sale: vip (") in (
        "sale: vip …890, 5 off",
        "…890, 5 off",
    )


@pytest.mark.parametrize(
    "text",
    [
        "2030-05-06 10:00:00.123456 and 2030-05-06T10:00:00+00:00", "took 123456 of 999999 at 10:00:00.123456", "at 203.0.113.177:8000 port 8000",
        "8000 3 2030-05-06 4", "operator:c0ffee00112233445566778899001122#0", "1.0.3 on 3.11.4", "refused with 132000 (5 times)",
    ],
)  # fmt: skip
def test_what_is_no_number_stays(text: str) -> None:
    assert mask_numbers(text, "…", 2) == text


@pytest.mark.parametrize("number", ["٦٢٨١٢٣٤٥٦٧٨٩٠", "６２８１２３４５６７８９０"])
def test_digits_of_all_scripts_are_digits(number: str) -> None:
    assert mask_numbers(number, "…", 2) == f"…{number[-2:]}"


def test_an_email_address_is_masked_and_that_of_a_database_stays() -> None:
    assert mask_emails("for ann.b+c@mail.zoo.example.", "…") == "for …."
    assert (
        mask_emails("ann@office at postgresql://bot@db.example/bot", "…")
        == "ann@office at postgresql://bot@db.example/bot"
    )


def test_a_rule_quotes_no_answer() -> None:
    assert mask_answers('start of order: answers email "a", size "b"', "…") == "start of order: answers …"
    assert mask_answers('word "menu"', "…") == 'word "menu"'


def test_a_rule_names_no_contact_who_has_no_number() -> None:
    assert mask_answers("line runs for ann.smith", "…") == "line runs for …"
