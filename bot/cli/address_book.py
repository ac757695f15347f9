"""Contacts as a CSV file: ``phone, name, email, tags``, with semicolons between the tags."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.cli.csv_rows import Row, guarded, read_table
from bot.cli.operate import Refused
from bot.lang.problems import did_you_mean

COLUMNS = ("phone", "name", "email", "tags")


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the file: what it says of a contact, None or nothing where it is silent."""

    line: int
    phone: str
    name: str | None
    email: str | None
    tags: tuple[str, ...]


def read_book(path: Path) -> list[Entry]:
    """Read a file. Raises `GatewayRefused` with every problem, as ``file:line: what is wrong``."""
    table = read_table(path)
    strange = [name for name in table.columns if name not in COLUMNS]
    if strange:
        problems = (f'no use for a column "{name}" ({did_you_mean(name, COLUMNS, "take it out")})' for name in strange)
        raise Refused("\n".join(f"{path}:1: there is {problem}" for problem in problems))
    return [_entry(row) for row in table.rows]


def written_book(contacts: Iterable[Mapping[str, Any]]) -> str:
    """The gateway's contacts as the text of a file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for contact in contacts:
        cells = (contact["name"], contact["email"], ";".join(contact["tags"]))
        writer.writerow((contact["phone"], *(guarded(cell or "") for cell in cells)))
    return text.getvalue()


def _entry(row: Row) -> Entry:
    name, email, tags = (row.cells.get(column) or "" for column in COLUMNS[1:])
    each = dict.fromkeys(tag.strip() for tag in tags.split(";"))
    return Entry(row.line, row.phone, name or None, email or None, tuple(tag for tag in each if tag))
