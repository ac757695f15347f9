"""Rows of a CSV file that each begin with whom they are about: a column ``phone``."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.cli.numbers import number
from bot.cli.operate import Refused
from bot.core.text import is_phone

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would run


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the file. ``cells`` has those of the other columns by name, without spaces around them."""

    line: int
    phone: str
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """A file's columns, without ``phone``, and its rows."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def read_table(path: Path) -> Table:
    """Read a file. Raises `GatewayRefused` with every problem, as ``file:line: what is wrong``."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(f"{path} is not in UTF-8: save it as CSV UTF-8") from None
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=_delimiter(text), restkey="", strict=True)
    rows: list[Row] = []
    problems: list[str] = []
    try:
        problems += [f"{path}:1: {problem}" for problem in _problems_of_header(reader.fieldnames or ())]
        lines: dict[str, int] = {}
        for cells in reader if not problems else ():
            problems += [f"{path}:{reader.line_num}: {problem}" for problem in _problems_of_row(cells, lines)]
            phone = number(cells["phone"] or "")
            lines.setdefault(phone, reader.line_num)
            named = {
                name: _unguarded((cell or "").strip()) for name, cell in cells.items() if name not in ("", "phone")
            }
            rows.append(Row(reader.line_num, phone, named))
    except csv.Error as error:
        problems.append(f"{path}:{reader.line_num}: {error}")
    if problems:
        raise Refused("\n".join(problems))
    return Table(tuple(name for name in reader.fieldnames or () if name != "phone"), tuple(rows))


def guarded(cell: str) -> str:
    """A cell that no spreadsheet runs as a formula: an apostrophe in front keeps it from that."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _delimiter(text: str) -> str:
    header = text.partition("\n")[0]
    return ";" if ";" in header and "," not in header else ","


def _problems_of_header(names: Sequence[str]) -> Iterator[str]:
    if "phone" not in names:
        yield 'there is no column "phone" (the first line names the columns)'
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f'there is more than one column "{name}"'


def _problems_of_row(cells: Mapping[str, str], lines: Mapping[str, int]) -> Iterator[str]:
    if "" in cells:
        yield "there are more cells than columns"
    if None in cells.values():
        yield "there are fewer cells than columns"
    if any("\0" in (cell or "") for name, cell in cells.items() if name):
        yield "there is a NUL character in a cell (save the file anew as CSV UTF-8)"
    written = cells["phone"] or ""
    phone = number(written)
    if not is_phone(phone):
        yield f'"{written[:40]}" is no phone number (digits with the country code; format the column as text)'
    elif phone in lines:
        yield f"{phone} stands in line {lines[phone]} already"


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell
