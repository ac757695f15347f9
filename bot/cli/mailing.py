"""What a broadcast sends to whom: the rows of a CSV file, and the template's parameters out of their cells."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from bot.cli.csv_rows import Row, Table, read_table
from bot.cli.operate import Refused
from bot.core.messages import MEDIA_SUFFIXES

_COLUMN = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_LINKED = ("image", "video", "document")
Recipient = dict[str, Any]


def read_recipients(path: Path, body: Sequence[str]) -> list[Recipient]:
    """The rows of a file as recipients. Raises `GatewayRefused` with every problem, as ``file:line: what is wrong``.

    ``body`` has a text for each parameter, with ``{{column}}`` where a cell goes. Without it the columns named 1, 2
    and so on are the parameters.
    """
    table = read_table(path)
    texts = tuple(body) or tuple(f"{{{{{name}}}}}" for name in _numbered(table))
    problems = [*_problems_of_texts(texts, table)]
    if not body and (unused := [name for name in table.columns if name.isdecimal() and name not in _numbered(table)]):
        missing = len(texts) + 1
        problems.append(
            f'{path}:1: there is a column "{unused[0]}" and none "{missing}": parameters are numbered from 1'
        )
    recipients = []
    for row in table.rows if not problems else ():
        filled = [filled_in(text, row.cells) for text in texts]
        problems += [f"{path}:{row.line}: {problem}" for problem in _problems_of_row(row, filled)]
        recipients.append({"contact": row.phone, "body": filled})
    if not problems and not recipients:
        problems.append(f"{path}: there is nobody to send to")
    if problems:
        raise Refused("\n".join(problems))
    return recipients


def filled_in(text: str, cells: Mapping[str, str]) -> str:
    """A text with the cells that it names."""
    return _COLUMN.sub(lambda found: cells[found[1]], text)


def header(text: str) -> dict[str, Any]:
    """A header's parameter: a file by its address where the text is that of one, else the text itself."""
    suffix = text.rpartition(".")[2].lower()
    kind = next((kind for kind in _LINKED if suffix in MEDIA_SUFFIXES[kind]), "")
    if kind and text.startswith(("https://", "http://")):
        return {"type": kind, kind: {"link": text}}
    return {"type": "text", "text": text}


def _numbered(table: Table) -> Iterator[str]:
    return takewhile(table.columns.__contains__, map(str, count(1)))


def _problems_of_texts(texts: Sequence[str], table: Table) -> Iterator[str]:
    for name in dict.fromkeys(name for text in texts for name in _COLUMN.findall(text)):
        if name not in table.columns:
            known = ", ".join(table.columns) or "none but phone"
            yield f'--body names a column "{name}", which is not there (there are: {known})'


def _problems_of_row(row: Row, filled: Sequence[str]) -> Iterator[str]:
    for position, text in enumerate(filled, 1):
        if not text.strip():
            yield f"parameter {position} is empty, and the gateway takes no empty one"
