"""Paragraphs: each is there as soon as it is complete, and what belongs together stays together."""

import pytest

from bot.runtime.model_answer import Paragraphs

TEXT = """\
Hello.
How are you?

Our cups:

- red
  and shiny

- blue

1. first

And code:

```
one

two
```

## Prices

They vary.


The end"""
CUT = [
    "Hello.\nHow are you?",
    "Our cups:\n\n- red\n  and shiny\n\n- blue\n\n1. first",
    "And code:\n\n```\none\n\ntwo\n```",
    "## Prices\n\nThey vary.",
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1000])
def test_however_a_text_is_cut_into_pieces_the_paragraphs_are_the_same(size: int) -> None:
    for text in (TEXT, TEXT.replace("\n", "\r\n")):
        paragraphs = Paragraphs()
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert [paragraph for piece in pieces for paragraph in paragraphs.feed(piece)] == CUT
        assert paragraphs.rest() == "The end"


def test_a_paragraph_is_complete_with_the_blank_line_after_it() -> None:
    paragraphs = Paragraphs()
    assert paragraphs.feed("Hello.\n") == []
    assert paragraphs.feed("\n") == ["Hello."]
    assert paragraphs.rest() == ""


def test_a_list_is_complete_when_something_else_follows() -> None:
    paragraphs = Paragraphs()
    assert paragraphs.feed("* one\n\n") == []
    assert paragraphs.feed("* two\n\n") == []
    assert paragraphs.feed("Any") == []
    assert paragraphs.feed("thing.\n") == ["* one\n\n* two"]
    assert paragraphs.rest() == "Anything."


def test_code_that_never_ends_is_the_rest() -> None:
    paragraphs = Paragraphs()
    assert paragraphs.feed("~~~\na\n\nb\n\nc\n") == []
    assert paragraphs.rest() == "~~~\na\n\nb\n\nc"


@pytest.mark.parametrize("text", ["", "\n", "\n\n\n", " \n \n", "\r\n\r\n"])
def test_blank_lines_alone_are_nothing(text: str) -> None:
    paragraphs = Paragraphs()
    assert paragraphs.feed(text) == []
    assert paragraphs.rest() == ""
