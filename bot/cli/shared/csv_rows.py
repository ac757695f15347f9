"""Files with a row for each contact (CSV, .xlsx), and a broadcast's recipients with their parameters or values."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, time
from decimal import Decimal
from itertools import count, takewhile
from pathlib import Path
from typing import Any, ClassVar

from bot.cli.shared.operate import CommandRefused, number
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import LINKED, MEDIA_SUFFIXES, is_link
from bot.core.text import head, in_one_form, is_phone, unguarded_cell


@immutable
class CsvRow:
    """A line of the file. ``cells`` has those of the other columns by name, without spaces around them."""

    line: int
    phone: str
    cells: Mapping[str, str]


@immutable
class CsvTable:
    """A file's columns, without ``phone``, and its rows."""

    columns: tuple[str, ...]
    rows: tuple[CsvRow, ...]


def read_table(path: Path) -> CsvTable:
    """Read a file. Raises `CommandRefused` with every problem, as ``file:line: what is wrong``.

    A workbook (.xlsx) needs one sheet with a column ``phone``. In a CSV file, cells are separated by commas, semicolons
    or tabs. Spreadsheets may name the separator in a first line: ``sep=;``.
    """
    content = path.read_bytes()
    lines = _of_workbook(path, content) if content.startswith(_WORKBOOK) else _of_text(path, content)
    first, header = next(lines, (1, []))
    names = [_PHONE if name.strip().lower() == _PHONE else name for name in header]
    problems = [f"{path}:{first}: {problem}" for problem in _problems_of_header(names)]
    rows: list[CsvRow] = []
    seen: dict[str, int] = {}
    try:
        for line, cells in lines if not problems else ():
            problems += [f"{path}:{line}: {problem}" for problem in _problems_of_row(names, cells, seen)]
            named = {name: cell for name, cell in zip(names, cells, strict=False) if name}
            phone = number(named.pop(_PHONE, ""))
            seen.setdefault(in_one_form(phone), line)
            rows.append(CsvRow(line, phone, {name: unguarded_cell(cell.strip()) for name, cell in named.items()}))
    except _Unreadable as error:
        problems.append(str(error))
    if problems:
        raise CommandRefused("\n".join(problems))
    return CsvTable(tuple(name for name in names if name not in ("", _PHONE)), tuple(rows))


_PHONE = "phone"
_WORKBOOK = b"PK"  # a spreadsheet's own file is a zip archive
_OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"  # also one with a password
_SEPARATOR = lazy_pattern(r"sep=([,;\t])\r?\n")


class _Unreadable(Exception):
    """A line of the file that cannot be read, with what is wrong; none behind it is read."""


def _of_text(path: Path, content: bytes) -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV file that have cells, each with its number."""
    if content.startswith(_OLD_WORKBOOK):
        raise CommandRefused(
            f"{path} is an old workbook, or has a password: save it as .xlsx without one, or as CSV UTF-8"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandRefused(f"{path} is not in UTF-8: save it as CSV UTF-8") from None
    separator = _SEPARATOR.match(text)
    skipped = 0 if separator is None else 1  # lines
    text = text if separator is None else text[separator.end() :]
    delimiter = _delimiter(text) if separator is None else separator[1]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from ((reader.line_num + skipped, cells) for cells in reader if cells)
    except csv.Error as error:
        raise _Unreadable(f"{path}:{reader.line_num + skipped}: {error}") from None


def _delimiter(text: str) -> str:
    header = text.partition("\n")[0]
    return next((each for each in ",;\t" if each in header), ",")


def _of_workbook(path: Path, content: bytes) -> Iterator[tuple[int, list[str]]]:
    """The rows of a workbook's sheet that have cells, each with its number."""
    from openpyxl import load_workbook

    try:
        sheets = load_workbook(io.BytesIO(content), read_only=True, data_only=True).worksheets
        found = [sheet for sheet in sheets if _PHONE in {str(cell).strip().lower() for cell in _first_row(sheet)}]
        rows = [] if not found else list(found[0].iter_rows(values_only=True))
    except Exception as error:  # of a damaged or strange file the library raises whatever it meets
        raise CommandRefused(f"{path} cannot be read as a workbook ({error}): save its sheet as CSV UTF-8") from None
    if len(found) != 1:
        names = " and ".join(f'"{sheet.title}"' for sheet in found)
        what = f"the sheets {names} have" if found else "no sheet has"
        raise CommandRefused(f'{path}: {what} a column "phone" in the first row: one sheet must have it')
    width = max(place for place, cell in enumerate(rows[0], 1) if cell is not None)
    for line, row in enumerate(rows, 1):
        if any(cell is not None for cell in row):
            cells = [_cell_text(cell) for cell in row]
            more = len(cells) > width and any(cells[width:])
            yield line, cells if more else cells[:width] + [""] * (width - len(cells))


def _first_row(sheet: Any) -> tuple[Any, ...]:
    return next(sheet.iter_rows(max_row=1, values_only=True), ())


def _cell_text(value: Any) -> str:
    """A workbook's cell as a CSV file would have it: 6281234567890 for the number 6281234567890.0."""
    match value:
        case None:
            return ""
        case float() if value.is_integer():
            return str(int(value))
        case float():
            return f"{Decimal(repr(value)):f}"
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
    return str(value)


def _problems_of_header(names: Sequence[str]) -> Iterator[str]:
    if "phone" not in names:
        yield 'there is no column "phone" (the first line names the columns)'
    for name in dict.fromkeys(names):
        if name and names.count(name) > 1:
            yield f'there is more than one column "{name}"'


def _problems_of_row(names: Sequence[str], cells: Sequence[str], seen: Mapping[str, int]) -> Iterator[str]:
    if len(cells) != len(names):
        yield f"there are {'more' if len(cells) > len(names) else 'fewer'} cells than columns"
    if any("\0" in cell for cell in cells):
        yield "there is a NUL character in a cell (save the file anew as CSV UTF-8)"
    for name, cell in zip(names, cells, strict=False):
        if cell in _FAILED_FORMULAS:
            yield f'the formula in the column "{name}" has no value: {cell}'
    written = dict(zip(names, cells, strict=False)).get(_PHONE, "")
    phone = number(written)
    if not is_phone(phone):
        yield f'"{head(written, 40)}" is no phone number (digits with the country code; format the column as text)'
    elif (person := in_one_form(phone)) in seen:
        yield f"{phone} is in line {seen[person]} already"


_FAILED_FORMULAS = frozenset({"#N/A", "#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#NUM!", "#NULL!"})
_COLUMN = lazy_pattern(r"\{\{\s*([^{}]*?)\s*\}\}")
Recipient = dict[str, Any]


@immutable
class BodyTexts:
    """The parameters of a template's body: a text for each, with ``{{column}}`` where a cell goes."""

    texts: tuple[str, ...]
    option: ClassVar[str] = "--body"

    def recipient(self, contact: str, filled: Sequence[str]) -> Recipient:
        """The recipient with these texts."""
        return {"contact": contact, "body": list(filled)}

    def problems_of(self, recipient: Recipient) -> Iterator[str]:
        """The problems of a recipient's texts."""
        for position, text in enumerate(recipient["body"], 1):
            if not text.strip():
                yield f"parameter {position} is empty, and the gateway accepts no empty parameter"


@immutable
class FlowValues:
    """The values that a flow is started with, by the names of its variables; texts may have ``{{column}}`` where a cell
    goes.

    ``judge`` returns the mistake in the values of one recipient; an empty text if there is none.
    """

    written: Mapping[str, Any]
    judge: Callable[[Mapping[str, Any]], str]
    option: ClassVar[str] = "--with"

    @property
    def texts(self) -> tuple[str, ...]:
        """The values that differ by recipient."""
        return tuple(value for value in self.written.values() if _differs(value))

    def recipient(self, contact: str, filled: Sequence[str]) -> Recipient:
        """The recipient with these texts in place of those that differ; an empty text is no value."""
        texts = iter(filled)
        data = {name: next(texts).strip() if _differs(value) else value for name, value in self.written.items()}
        return {"contact": contact, "data": {name: value for name, value in data.items() if value != ""}}

    def problems_of(self, recipient: Recipient) -> Iterator[str]:
        """The reason why the flow cannot be started with a recipient's values, if there is one."""
        if wrong := self.judge(recipient["data"]):
            yield wrong


def _differs(value: Any) -> bool:
    return isinstance(value, str) and "{{" in value


def read_recipients(path: Path, own: BodyTexts | FlowValues) -> list[Recipient]:
    """The rows of a file as recipients. Raises `CommandRefused` with every problem, as ``file:line: what is wrong``.

    Without texts the columns named 1, 2 and so on are the parameters of a template's body.
    """
    table, problems = read_table(path), list[str]()
    if isinstance(own, BodyTexts) and not own.texts:
        numbered = [*takewhile(table.columns.__contains__, map(str, count(1)))]
        own = BodyTexts(tuple(f"{{{{{name}}}}}" for name in numbered))
        if unused := [name for name in table.columns if name.isdecimal() and name not in numbered]:
            missing = len(numbered) + 1
            problems.append(
                f'{path}:1: there is a column "{unused[0]}" and none "{missing}": parameters are numbered from 1'
            )
    problems += _problems_of_texts(own, table)
    rows = table.rows if not problems else ()
    recipients = [own.recipient(row.phone, [filled_in(text, row.cells) for text in own.texts]) for row in rows]
    wrong = [
        (row.line, problem) for row, each in zip(rows, recipients, strict=True) for problem in own.problems_of(each)
    ]
    if len(wrong) == len(rows) > 1 and len({problem for _, problem in wrong}) == 1:
        problems.append(f"{own.option}: {wrong[0][1]}")  # the same for all rows
    else:
        problems += [f"{path}:{line}: {problem}" for line, problem in wrong]
    if not problems and not recipients:
        problems.append(f"{path}: there is nobody to send to")
    if problems:
        raise CommandRefused("\n".join(problems))
    return recipients


def filled_in(text: str, cells: Mapping[str, str]) -> str:
    """A text with the cells that it names."""
    return _COLUMN.sub(lambda found: cells[found[1]], text)


def header(text: str) -> dict[str, Any]:
    """A header's parameter: a file if the text is a file's address, else the text itself."""
    suffix = text.rpartition(".")[2].lower()
    kind = next((kind for kind in LINKED if suffix in MEDIA_SUFFIXES[kind]), "")
    if kind and is_link(text):
        return {"type": kind, kind: {"link": text}}
    return {"type": "text", "text": text}


def _problems_of_texts(own: BodyTexts | FlowValues, table: CsvTable) -> Iterator[str]:
    for name in dict.fromkeys(name for text in own.texts for name in _COLUMN.findall(text)):
        if name not in table.columns:
            known = ", ".join(table.columns) or "none but phone"
            yield f'{own.option} names a column "{name}", which is not there (there are: {known})'
