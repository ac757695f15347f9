"""Files with a row for each contact are read as spreadsheets write them."""

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from bot.cli.shared.csv_rows import read_table
from bot.cli.shared.operate import CommandRefused


@pytest.mark.parametrize(
    "text",
    [
        "phone,town\n6281234567890,Rome\n",
        "Phone,town\r\n6281234567890,Rome\r\n",
        "phone;town\n6281234567890;Rome\n",
        "PHONE\ttown\n6281234567890\tRome\n",
        "sep=;\r\nphone;town\r\n6281234567890;Rome\r\n",
        "sep=,\nphone,town\n6281234567890,Rome\n",
    ],
)
def test_the_separator_and_the_columns_of_a_spreadsheet_are_understood(tmp_path: Path, text: str) -> None:
    (tmp_path / "people.csv").write_bytes(text.encode("utf-8-sig"))
    table = read_table(tmp_path / "people.csv")
    assert table.columns == ("town",)
    assert [(row.phone, dict(row.cells)) for row in table.rows] == [("6281234567890", {"town": "Rome"})]


def test_lines_are_counted_as_the_file_has_them(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sep=;\nphone;town\n6281234567890;Rome\n62;Oslo\n")
    with pytest.raises(CommandRefused, match=r'people\.csv:4: "62" is no phone number'):
        read_table(tmp_path / "people.csv")


# -- workbooks


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_workbook_is_read_with_its_numbers_and_days_as_texts(tmp_path: Path) -> None:
    people = workbook(
        tmp_path / "people.xlsx",
        Notes=[["call Ann"]],
        People=[
            ["Phone", "town", "due", "price"],
            [6281234567890, "Rome", datetime(2030, 5, 6), 2.5],
            [],
            ["+62 812-3456-7891", None, datetime(2030, 5, 6, 9, 30), 3.0],
        ],
    )
    table = read_table(people)
    assert table.columns == ("town", "due", "price")
    assert [(row.line, row.phone, dict(row.cells)) for row in table.rows] == [
        (2, "6281234567890", {"town": "Rome", "due": "2030-05-06", "price": "2.5"}),
        (4, "6281234567891", {"town": "", "due": "2030-05-06 09:30", "price": "3"}),
    ]


HEADER = ["phone", "town"]


@pytest.mark.parametrize(
    ("sheets", "problem"),
    [
        ({"A": [HEADER, [62, "Rome"]]}, r':2: "62" is no phone number'),
        ({"A": [HEADER, [6281234567890, "Rome", "Italy"]]}, ":2: there are more cells than columns"),
        ({"A": [HEADER, [6281234567890, "#N/A"]]}, ':2: the formula in the column "town" has no value: #N/A'),
        ({"A": [["number"]]}, ': no sheet has a column "phone" in the first row'),
        ({"A": [HEADER], "B": [HEADER]}, ': the sheets "A" and "B" have a column "phone"'),
    ],
)
def test_a_problem_of_a_workbook_is_named_with_its_row(tmp_path: Path, sheets: Any, problem: str) -> None:
    with pytest.raises(CommandRefused, match=r"people\.xlsx" + re.escape(problem)):
        read_table(workbook(tmp_path / "people.xlsx", **sheets))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"PK\x03\x04 and so on", "cannot be read as a workbook"),
        (b"\xd0\xcf\x11\xe0 and so on", "is an old workbook, or has a password: save it as .xlsx without one"),
        ("phone,town\n6281234567890,Málaga\n".encode("latin-1"), "is not in UTF-8: save it as CSV UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_says_in_which_form_to_save_it(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "people.xlsx").write_bytes(content)
    with pytest.raises(CommandRefused, match=re.escape(problem)):
        read_table(tmp_path / "people.xlsx")
