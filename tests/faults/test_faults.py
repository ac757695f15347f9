"""The short form of the fault table: the rows that are quick. ``python -m tests.faults`` has all."""

import re
from pathlib import Path

from tests.faults.harness import Fault
from tests.faults.table import FAULTS
from tests.searches import over

PAGE = Path(__file__).with_name("README.md")
QUICK = [fault for fault in FAULTS if fault.quick]


@over(4, "fault", QUICK)
def test_every_promise_holds(fault: Fault) -> None:
    row = fault.run(quick=True)
    assert {promise: cell.fact for promise, cell in row.items() if cell.ok is False} == {}


def test_the_page_shows_each_row() -> None:
    assert re.findall(r"^\| (?!Fault )([^|]+) \|", PAGE.read_text(), re.MULTILINE) == [fault.name for fault in FAULTS]
