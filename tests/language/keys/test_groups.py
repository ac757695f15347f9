"""What the named groups of a pattern are certain to have."""

import pytest
import regex

from bot.language.keys.patterns import certain_groups


@pytest.mark.parametrize(
    ("pattern", "certain"),
    [
        (r"(?i)form (?P<code>[a-z]{2,10}-\d{1,4})", {"code"}),
        (r"(?P<a>x)?(?P<b>.+)", {"b"}),
        (r"(?P<a>x)|(?P<b>y)", set()),
        (r"(?:(?P<a>x)|y)(?P<b>z|w)", {"b"}),
        (r"(?P<a>.*)", set()),
        (r"a[)(](?P<a>\))", {"a"}),
        (r"(?:(?P<a>x)){0,2}", set()),
        (r"((?P<a>x)y)+", {"a"}),
        (r"(?!(?P<a>x)).*", set()),
    ],
)
def test_a_group_is_certain_where_nothing_around_it_is_optional(pattern: str, certain: set[str]) -> None:
    assert certain_groups(regex.compile(pattern)) == certain
