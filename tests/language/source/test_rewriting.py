"""Replacing a text of a YAML file: it reads back as exactly this text, and no other byte changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.source.problems import Mark, Problems
from bot.language.source.rewriting import Unwritable, block_at, with_block, with_more, with_text, without_item
from bot.language.source.yaml_tree import List, Map, Node, Scalar, plain, read
from tests.language.source.test_writing import KEYS, TEXTS, VALUES

FILE = """\
# The café's flow.  ☕
flow: main   # its name

start: {words: [hi,  'good day', "hé\\u00e9" ], x: }
steps:
    hello:
        say: Hello there # a note
        folded: >-
            One line
            and more.

            Another paragraph.


        literal: |   # kept
            A list:
              - one
              - two

        kept: |+
            End

        number: 12
        empty:
        - &
    "quoted key" : 'It''s ''quoted'''
    long: a plain text
        over two lines
    list:
    - first
    -   second   # a note behind it
    - {title: A, 'say': "two
        lines", about: "\\t"}
    - key: |-
        in a list
      'Ja, bitte':   x
---
last:   the end"""
FILE = FILE.replace("        - &\n", "")


def scalars(content: bytes) -> list[Scalar]:
    """The texts and keys of a file, in its order."""
    problems = Problems()
    found = [scalar for node in read("f.yml", content, problems) for scalar in below(node)]
    assert problems.sorted() == []
    return found


def below(node: Node) -> list[Scalar]:
    match node:
        case Scalar():
            return [node]
        case List(items=items):
            return [scalar for item in items for scalar in below(item)]
        case Map(entries=entries):
            return [scalar for key, value in entries for scalar in (key, *below(value))]


def span(content: bytes, number: int) -> tuple[int, int]:
    """Where a text may begin and end in a file: from its mark to the next one's line, or the next one in its line."""
    text, found = content.decode(), scalars(content)
    offsets = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    starts = [offsets[each.mark.line - 1] + each.mark.column - 1 for each in found]
    return starts[number], [*starts, len(text)][number + 1]


FILES = {
    "file": FILE.encode(),
    "windows": FILE.replace("\n", "\r\n").encode(),
    "mark": b"\xef\xbb\xbf" + FILE.encode(),
    "newline": f"{FILE}\n\n# the end\n".encode(),
}
COUNT = len(scalars(FILES["file"]))


@given(st.sampled_from(sorted(FILES)), st.integers(0, COUNT - 1), TEXTS)
def test_any_text_reads_back_as_itself_and_all_else_stays(name: str, number: int, text: str) -> None:
    before = FILES[name]
    old = scalars(before)
    try:
        after = with_text(before, old[number].mark, text)
    except Unwritable as error:
        assert "a second" in str(error), error  # a key that is there already
        return
    new = scalars(after)
    assert [each.text for each in new] == [*(each.text for each in old[:number]), text, *(
        each.text for each in old[number + 1 :]
    )]  # fmt: skip
    assert isinstance(new[number].value, str) or new[number].text == text
    text_before, text_after = before.decode("utf-8-sig"), after.decode("utf-8-sig")
    start, end = span(text_before.encode(), number)
    behind = len(text_before) - end
    assert text_after[:start] == text_before[:start]
    assert text_after[len(text_after) - behind :] == text_before[end:]
    assert after.startswith(b"\xef\xbb\xbf") == before.startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_same_text_changes_no_byte(name: str) -> None:
    content = FILES[name]
    for scalar in scalars(content):
        if isinstance(scalar.value, str):
            assert with_text(content, scalar.mark, scalar.text) == content, scalar


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("k: Hi # note\n", "Hello", "k: Hello # note\n"),
        ("k: Hi # note\n", "a: b", 'k: "a: b" # note\n'),
        ("k: Hi # note\n", "a\nb", 'k: "a\\nb" # note\n'),
        ("k: Hi\n", "a\n\nb", "k: |-\n  a\n\n  b\n"),
        ("k: Hi\n", "12", 'k: "12"\n'),
        ("k: Hi\n", "", 'k: ""\n'),
        ("k: Hi\n", "yes", "k: yes\n"),
        ("k: 'Hi'\n", "It's", "k: 'It''s'\n"),
        ('k: "Hi"\n', 'Say "x"', 'k: "Say \\"x\\""\n'),
        ("k: {a: Hi, b: c}\n", "x, y", 'k: {a: "x, y", b: c}\n'),
        ("k:\nl: m\n", "new", "k: new\nl: m\n"),
        ("k: |\n    a\n    b\n\n# note\n", "c\n", "k: |\n    c\n\n# note\n"),
        ("k: |\n    a\n    b\n\n# note\n", "c", "k: |-\n    c\n\n# note\n"),
        ("k: |\n  a\n", " deep\nflat\n", "k: |2\n   deep\n  flat\n"),
        (
            "k: >-\n  a b c d e f g h i j\n  k\n",
            "One two three four five six",
            "k: >-\n  One two three four\n  five six\n",
        ),
    ],
)
def test_a_text_keeps_the_style_of_the_file(before: str, text: str, after: str) -> None:
    value = next(each for each in scalars(before.encode()) if each.text not in ("k", "a" if "{" in before else "k"))
    assert with_text(before.encode(), value.mark, text).decode() == after


@pytest.mark.parametrize(
    ("content", "text", "why"),
    [
        ("k: &a x\n", "y", 'the file has a problem, correct it first: f.yml:1:4: E005 "&a" is an anchor'),
        ("k: *a\n", "y", 'correct it first: f.yml:1:4: E005 "\\*a" is an alias'),
        ("k: [\n", "y", "correct it first: f.yml:"),
        ("k: x\n", "half \ud800", "half a character"),
    ],
)
def test_what_cannot_be_written_is_refused_in_words(content: str, text: str, why: str) -> None:
    with pytest.raises(Unwritable, match=why):
        with_text(content.encode(), Mark("f.yml", 1, 4), text)


def test_a_key_that_is_there_already_and_a_place_without_a_text_are_refused() -> None:
    with pytest.raises(Unwritable, match='this text cannot stand there: a second "a"'):
        with_text(b"a: 1\nb: 2\n", Mark("f.yml", 2, 1), "a")
    with pytest.raises(Unwritable, match="half a character"):
        with_block(b"a: 1\n", Mark("f.yml", 1, 1), "a: \udcff")
    with pytest.raises(Unwritable, match="no text begins there any more"):
        with_text(b"a: 1\nb: 2\n", Mark("f.yml", 2, 2), "a")


def test_a_block_is_the_lines_that_are_indented_further() -> None:
    lines = FILE.split("\n")
    first, end = block_at(lines, 6)
    assert (lines[first], lines[end - 1]) == ("    hello:", "        empty:")
    changed = with_block(FILES["windows"], Mark("f.yml", 6, 5), "hello:\n  say: Hi\n\n  then: end\n").decode()
    assert "    hello:\r\n      say: Hi\r\n\r\n      then: end\r\n    \"quoted key\" : 'It''s" in changed


def collections(node: Node) -> list[Node]:
    """The maps, lists and empty values of a node."""
    match node:
        case Map(entries=entries):
            return [node, *(each for _, value in entries for each in collections(value))]
        case List(items=items):
            return [node, *(each for item in items for each in collections(item))]
    return [node] if node.value is None else []


@given(st.sampled_from(sorted(FILES)), st.integers(0, 9), KEYS, VALUES)
def test_whatever_is_added_reads_back_and_all_else_stays(name: str, number: int, key: str, value: object) -> None:
    before = FILES[name]
    documents = read("f.yml", before, Problems())
    found = [each for document in documents for each in collections(document)]
    node = found[number % len(found)]
    key = f"new {key}"
    added = {key: value} if isinstance(node, Map) else [value] if isinstance(node, List) else value
    try:
        after = with_more(before, node, added)
    except Unwritable:
        assert node.mark.line in (4, 5, 6), node  # behind a text of which empty lines are a part, or an empty value
        return
    problems = Problems()
    assert list(map(plain, read("f.yml", after, problems))) != list(map(plain, documents)) or value is None
    assert problems.sorted() == []
    more = len(after) - len(before)
    assert any(after[:at] + after[at + more :] == before for at in range(len(before) + 1))


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("a:\n  b: c  # note\n# end\n", {"d": {"e": "f: g"}}, 'a:\n  b: c  # note\nd:\n  e: "f: g"\n# end\n'),
        ("a: [b,  c]  # note\n", {"d": ["e", "f"]}, "a: [b,  c]  # note\nd: [e, f]\n"),
        ("{a: b}", {"c": "d"}, "{a: b, c: d}"),
        ("{ }", {"c": "d"}, "{c: d }"),
        ("- a\n- b", ["c"], "- a\n- b\n- c"),
        ("- a\r\n", ["c"], "- a\r\n- c\r\n"),
    ],
)
def test_what_is_added_stands_at_the_end(before: str, value: object, after: str) -> None:
    (document,) = read("f.yml", before, Problems())
    assert with_more(before.encode(), document, value).decode() == after


@pytest.mark.parametrize(
    ("before", "number", "after"),
    [
        ("a: [b,  c, d] # note\n", 0, "a: [c, d] # note\n"),
        ("a: [b,  c, d] # note\n", 1, "a: [b, d] # note\n"),
        ("a: [b,  c, d] # note\n", 2, "a: [b,  c] # note\n"),
        ("a:\n- b # one\n- 'c' # two\n# three\n- d", 1, "a:\n- b # one\n# three\n- d"),
        ("a:\n- b # one\n- 'c' # two\n# three\n- d", 0, "a:\n- 'c' # two\n# three\n- d"),
        ("a:\n- b\n- d", 1, "a:\n- b\n"),
        ("a:\n- - b\n  - d\n", 0, "a:\n- - d\n"),
    ],
)
def test_a_text_of_a_list_is_left_out(before: str, number: int, after: str) -> None:
    (document,) = read("f.yml", before, Problems())
    found = next(each for each in collections(document)[::-1] if isinstance(each, List))
    assert without_item(before.encode(), found, found.items[number].mark).decode() == after
