"""W003: comments that look like a part of the text before them."""

import pytest

from tests.checker.proved import only

BEGIN = "flow: a\nstart: {words: [a]}\nsteps:\n"


@pytest.mark.parametrize(
    ("line", "column", "text", "comment"),
    [
        ("  b:\n    say: Room #5 is free.", 15, "Room", "#5 is free."),
        ("  b:\n    say: See # 5", 14, "See", "# 5"),
        ("  b:\n    say: Follow us at #tea", 23, "Follow us at", "#tea"),
        ("  q:\n    ask: Which?\n    options:\n      - Room #5", 14, "Room", "#5"),
    ],
)
def test_what_looks_like_a_number_or_a_hashtag_is_found(line: str, column: int, text: str, comment: str) -> None:
    number = BEGIN.count("\n") + line.count("\n") + 1
    assert only("W003").found(BEGIN + line) == [
        f'flow1.yml:{number}:{column}: W003 "{text}" ends here: "{comment}" is a comment to YAML '
        "(put the whole text in quotes; if it is a comment, begin it with # and a space)"
    ]


@pytest.mark.parametrize(
    "line",
    [
        '  b: {say: "Room #5 is free.", then: end}',
        "  b:\n    say: Room # five of them are free",
        "  b:\n    say: Room # 5 of them are free",
        "  b: {say: Room, then: end}  #5 rooms",
        "  b:\n    say: A#5",
        "  b:\n    say: |\n      Room #5 is free.",
        "  b:\n    say: Room\n    then: end #5",
        "  b:\n    say: Room\n    #tag: later",
        "  b:\n    say: Room\n    tag: seen  ## -- 5",
    ],
)
def test_a_comment_that_begins_like_one_is_none_of_the_text(line: str) -> None:
    assert only("W003").found(BEGIN + line) == []


def test_it_is_allowed_like_any_other() -> None:
    assert only("W003").found(BEGIN + "  b:\n    # allow W003: we write them like this\n    say: Hello #todo") == []
