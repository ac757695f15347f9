import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.ai.thinking import Thoughts


def shown(*pieces: str) -> str:
    thoughts = Thoughts()
    return "".join([*(thoughts.feed(piece) for piece in pieces), thoughts.end()])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Yes", "Yes"),
        ("<think>Hm.</think>\n\nYes", "Yes"),
        ("<THINK>Hm.</Think>Yes", "Yes"),
        ("a<think>b</think> c<think>d</think>e", "a ce"),
        ("<think>a<think>b</think>c", "c"),
        ("</think>Yes", "Yes"),
        ("Yes <think>never closed", "Yes "),
        ("1 < 2 <t> <thin", "1 < 2 <t> <thin"),
        ("<<think>x</think>", "<"),
        ("  \n", ""),
        ("<think></think>", ""),
    ],
)
def test_thoughts_are_taken_out(text: str, left: str) -> None:
    assert shown(text) == left
    assert shown(*text) == left


@given(st.lists(st.sampled_from(["<", "think", ">", "</think>", "<think>", "/", " ", "a", "THI"])), st.integers(0, 60))
def test_a_cut_changes_nothing(parts: list[str], at: int) -> None:
    text = "".join(parts)
    assert shown(text[:at], text[at:]) == shown(text) == shown(*text)


def test_what_can_be_no_tag_is_shown_at_once() -> None:
    thoughts = Thoughts()
    assert [thoughts.feed(piece) for piece in ("Yes <", "b>", "</thinK", "s> x")] == ["Yes ", "<b>", "", "</thinKs> x"]
