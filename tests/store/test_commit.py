"""The statements of a commit."""

from bot.store import commit


def test_each_statement_has_one_place_in_the_order() -> None:
    """Rows are kept by statement: two subjects with the same text would write each other's rows."""
    assert len(commit._ORDER) == len({*commit._ORDER}) > 40
