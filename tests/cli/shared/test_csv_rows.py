"""Files with a row for each contact are read as spreadsheets write them."""

from pathlib import Path

import pytest

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


def test_a_workbook_is_told_from_a_text(tmp_path: Path) -> None:
    (tmp_path / "people.xlsx").write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(CommandRefused, match=r"people\.xlsx is a workbook: save its sheet as CSV UTF-8"):
        read_table(tmp_path / "people.xlsx")
