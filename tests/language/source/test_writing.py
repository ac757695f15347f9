"""Writing YAML: whatever is written is read as the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.source.problems import Problems
from bot.language.source.writing import block_style, flow_style
from bot.language.source.yaml_tree import plain, read

SPELLED = st.characters(exclude_categories=["Cs"]) | st.sampled_from(list(" \n\t:#-{}[]'\"|>%@`&*!?,0~"))
TEXTS = st.text(SPELLED, max_size=40) | st.sampled_from(
    ["yes", "null", "true", "1.5", "0x1f", "~", "---", "a: b", "a #b"]
)
SCALARS = TEXTS | st.booleans() | st.integers(-(10**9), 10**9)
KEYS = TEXTS.filter(lambda text: len(text) < 40)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, min_size=1, max_size=3),
    max_leaves=6,
)


def read_back(text: str) -> Any:
    problems = Problems()
    (document,) = read("f.yml", text, problems)
    assert problems.sorted() == [], text
    return plain(document)


@given(KEYS, VALUES)
def test_a_block_is_read_as_what_was_written(key: str, value: Any) -> None:
    assert read_back("\n".join(block_style(key, value)) + "\n") == {key: value}


@given(KEYS, VALUES)
def test_a_line_is_read_as_what_was_written(key: str, value: Any) -> None:
    assert read_back(flow_style({key: value})) == {key: value}


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (None, ["k:"]),
        ("Hi {{ name }}, how are you?", ["k: Hi {{ name }}, how are you?"]),
        ("{{ name }}", ['k: "{{ name }}"']),
        ("One: two", ['k: "One: two"']),
        ("12", ['k: "12"']),
        ("yes", ["k: yes"]),
        ("a\nb\n", ["k: |", "  a", "  b"]),
        ("a\n\nb", ["k: |-", "  a", "", "  b"]),
        (["tea", "no, thanks"], ['k: [tea, "no, thanks"]']),
        ({"any": ["Hi", "Hello"]}, ["k:", "  any: [Hi, Hello]"]),
    ],
)
def test_a_block_reads_as_a_person_would_write_it(value: Any, lines: list[str]) -> None:
    assert list(block_style("k", value)) == lines
