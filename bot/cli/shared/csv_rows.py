"""CSV files with a row for each contact: reading them, and a broadcast's recipients with their parameters or values."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any, ClassVar

from bot.cli.shared.operate import CommandRefused, number
from bot.core.immutable import immutable
from bot.core.messages import MEDIA_SUFFIXES, is_link
from bot.core.text import head, is_phone, unguarded_cell


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

    Cells are separated by commas, semicolons or tabs. Spreadsheets may name the separator in a first line: ``sep=;``.
    """
    content = path.read_bytes()
    if content.startswith(_WORKBOOK):
        raise CommandRefused(f"{path} is a workbook: save its sheet as CSV UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandRefused(f"{path} is not in UTF-8: save it as CSV UTF-8") from None
    separator = _SEPARATOR.match(text)
    skipped = 0 if separator is None else 1  # lines
    text = text if separator is None else text[separator.end() :]
    delimiter = _delimiter(text) if separator is None else separator[1]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restkey="", strict=True)
    reader.fieldnames = [_PHONE if name.strip().lower() == _PHONE else name for name in reader.fieldnames or ()]
    rows: list[CsvRow] = []
    problems: list[str] = []
    try:
        problems += [f"{path}:{1 + skipped}: {problem}" for problem in _problems_of_header(reader.fieldnames or ())]
        lines: dict[str, int] = {}
        for cells in reader if not problems else ():
            problems += [f"{path}:{reader.line_num + skipped}: {problem}" for problem in _problems_of_row(cells, lines)]
            phone = number(cells["phone"] or "")
            lines.setdefault(phone, reader.line_num + skipped)
            named = {
                name: unguarded_cell((cell or "").strip()) for name, cell in cells.items() if name not in ("", "phone")
            }
            rows.append(CsvRow(reader.line_num + skipped, phone, named))
    except csv.Error as error:
        problems.append(f"{path}:{reader.line_num + skipped}: {error}")
    if problems:
        raise CommandRefused("\n".join(problems))
    return CsvTable(tuple(name for name in reader.fieldnames or () if name != "phone"), tuple(rows))


_PHONE = "phone"
_WORKBOOK = b"PK"  # a spreadsheet's own file is a zip archive
_SEPARATOR = re.compile(r"sep=([,;\t])\r?\n")


def _delimiter(text: str) -> str:
    header = text.partition("\n")[0]
    return "," if "," in header else next((each for each in ";\t" if each in header), ",")


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
        yield f'"{head(written, 40)}" is no phone number (digits with the country code; format the column as text)'
    elif phone in lines:
        yield f"{phone} is in line {lines[phone]} already"


_COLUMN = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_LINKED = ("image", "video", "document")
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
        problems.append(f"{own.option}: {wrong[0][1]}")  # of all rows alike
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
    kind = next((kind for kind in _LINKED if suffix in MEDIA_SUFFIXES[kind]), "")
    if kind and is_link(text):
        return {"type": kind, kind: {"link": text}}
    return {"type": "text", "text": text}


def _problems_of_texts(own: BodyTexts | FlowValues, table: CsvTable) -> Iterator[str]:
    for name in dict.fromkeys(name for text in own.texts for name in _COLUMN.findall(text)):
        if name not in table.columns:
            known = ", ".join(table.columns) or "none but phone"
            yield f'{own.option} names a column "{name}", which is not there (there are: {known})'
