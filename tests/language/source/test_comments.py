"""What of a YAML file is a comment, and what only looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Map, Scalar, comments, read


def found(text: str) -> list[tuple[int, int, str, bool]]:
    return [(c.mark.line, c.mark.column, c.text, c.alone) for c in comments("f.yml", text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: b # c\n", [(1, 6, "# c", False)]),
        ("# first\na: b\n", [(1, 1, "# first", True)]),
        ("a:\n  # within\n  b: c\n", [(2, 3, "# within", True)]),
        ("a: {b: c} # d # e\n", [(1, 11, "# d # e", False)]),
        ("a: | # head\n  # text\n\n# after\nb: c\n", [(1, 6, "# head", False), (4, 1, "# after", True)]),
        ("a: >-  \n  x # text\n", []),
        ("a: b#c\n", []),
        ("a: 'b # c' # d\n", [(1, 12, "# d", False)]),
        ('a: "b\n  # c\n  d"\n', []),
        ("'a # b': c\n", []),
        ("a: b\n---\n# between\nc: d # e\n", [(3, 1, "# between", True), (4, 6, "# e", False)]),
        ("a: Hérïssön 🦔 # b\n", [(1, 15, "# b", False)]),
        ("a: b # c\r\nd: e # f\r\n", [(1, 6, "# c", False), (2, 6, "# f", False)]),
        ("a: |", []),
        ("# only", [(1, 1, "# only", True)]),
        ("", []),
    ],
)
def test_a_comment_is_what_is_no_text(text: str, expected: list[tuple[int, int, str, bool]]) -> None:
    assert found(text) == expected


TEXTS = st.text(alphabet="ab #:'\"|>-\n{}", min_size=1, max_size=12)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.sampled_from(["'", '"', "|"]))
def test_no_text_is_ever_taken_for_a_comment(texts: list[str], style: str) -> None:
    lines = []
    for number, text in enumerate(texts):
        written = text.replace("\n", " ")
        if style == "|":
            lines.append(f"k{number}: |2 # c{number}\n  .{written}\n")
        else:
            quoted = written.replace("\\", "\\\\").replace('"', '\\"') if style == '"' else written.replace("'", "''")
            lines.append(f"k{number}: {style}{quoted}{style} # c{number}\n")
    whole = "".join(lines)
    problems = Problems()
    (node,) = read("f.yml", whole, problems)
    assert not problems and isinstance(node, Map)
    assert all(isinstance(value, Scalar) for _, value in node.entries)
    assert [text for _, _, text, _ in found(whole)] == [f"# c{number}" for number in range(len(texts))]
