"""The tables of verbs and of step options in the docs have the keys that the steps declare, and no others."""

import re
from pathlib import Path

import pytest

from bot.language.steps import KINDS
from bot.language.steps.step_options import STEP_OPTIONS

PAGE = (Path(__file__).parents[2] / "docs/language/README.md").read_text()
OTHERS = "and [others]"
"""What a row says where not all keys stand in it."""


def row_of(verb: str) -> list[str]:
    """The cells of a verb's row: the verb, its keys, its outcomes."""
    rows = re.findall(rf"^\| \[?`{verb}`.*$", PAGE.partition("| verb |")[2].partition("\n\n")[0], re.MULTILINE)
    assert len(rows) == 1, f"docs/language/README.md has {len(rows)} rows for `{verb}` in the table of verbs, not 1"
    (row,) = rows
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def names_in(text: str) -> set[str]:
    """What stands in code: `with` `save`."""
    return set(re.findall(r"`([a-z_]+)`", text))


@pytest.mark.parametrize("verb", KINDS)
def test_a_verbs_row_has_the_keys_that_its_kind_declares(verb: str) -> None:
    kind, row = KINDS[verb], row_of(verb)
    missing = {name for name in kind.keys.names if name != verb} - names_in(" ".join(row))
    assert missing == set() or OTHERS in row[1]


@pytest.mark.parametrize("verb", KINDS)
def test_a_verbs_row_has_no_other_keys(verb: str) -> None:
    kind = KINDS[verb]
    below = re.findall(r'"([a-z_]+)": \{', str(kind.keys.schemas[verb]).replace("'", '"'))  # of a map under the verb
    assert names_in(row_of(verb)[1]) <= {*kind.keys.names, *STEP_OPTIONS.names, *below}


def test_the_table_of_step_options_has_all_of_them() -> None:
    table = PAGE.partition("| option |")[2].partition("\n\n")[0]
    first = [line.split(" | ")[0] for line in table.splitlines()[2:]]
    assert names_in(" ".join(first)) == {*STEP_OPTIONS.names}
