import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.services.ai.chat_completion import Thoughts


def shown(*pieces: str) -> str:
    thoughts, left, unopened = Thoughts(), "", 0
    for piece in pieces:
        text = thoughts.feed(piece)
        left = text if thoughts.unopened > unopened else left + text
        unopened = thoughts.unopened
    return left + thoughts.end()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Yes", "Yes"),
        ("[THINK]Hm.[/THINK]Yes", "Yes"),
        ("Hm.[/THINK]Yes", "Yes"),
        ('Yes [TOOL_CALLS][{"name": "find"}]', "Yes "),
        ("<s>Yes</s>Contact: more", "Yes"),
        ("<unused94>thought Hm.<unused95>Yes", "Yes"),
        ("<seed:think>Hm.</seed:think>Yes", "Yes"),
        ("<antThinking>Hm.</antThinking>Yes", "Yes"),
        ("See [THIS] and [TOOL] at [", "See [THIS] and [TOOL] at ["),
        ("<think>Hm.</think>\n\nYes", "Yes"),
        ("<THINK>Hm.</Think>Yes", "Yes"),
        ("a<think>b</think> c<think>d</think>e", "a ce"),
        ("<think>a<think>b</think>c", "c"),
        ("</think>Yes", "Yes"),
        ("They are rude.\n\nVery.</think>\n\nYes", "Yes"),
        ("Hm.</Reasoning >Yes<think>a</think>.", "Yes."),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("a</think>b</think>c", "c"),
        ("Yes.</tool_call>", "Yes."),
        ("Yes <think>never closed", "Yes "),
        ("1 < 2 <t> <thin", "1 < 2 <t> <thin"),
        ("<<think>x</think>", "<"),
        ("  \n", ""),
        ("<think></think>", ""),
        ("<thinking>Hm.</thinking>Yes", "Yes"),
        ('<reasoning effort="high">Hm.</reasoning>Yes', "Yes"),
        ("Yes <thought>Hm.</thought >.", "Yes ."),
        ('One moment.<tool_call>{"name": "orders_cancel"}</tool_call>', "One moment."),
        ("<function=orders_find><parameter=number>1</parameter></function>Yes", "Yes"),
        ("Yes <tool_call>never closed", "Yes "),
        ("Yes<|im_end|>\n<|im_start|>user\nAnd then?", "Yes"),
        ("Yes<｜end▁of▁sentence｜>more", "Yes"),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes", "Yes"),
        ("Yes.<|tool_calls_section_begin|><|tool_call_begin|>x:0<|tool_call_end|><|tool_calls_section_end|>", "Yes."),
        ("<|begin_of_text|>Yes", "Yes"),
        ('Yes.<|python_tag|>orders_find.call(number="1")', "Yes."),
        ('Yes.<invoke name="x"><parameter name="number">1</parameter></invoke>', "Yes."),
        ("a <b> c <|> d <functional> e", "a <b> c <|> d <functional> e"),
    ],
)
def test_thoughts_are_taken_out(text: str, left: str) -> None:
    assert shown(text) == left
    assert shown(*text) == left


@given(
    st.lists(
        st.sampled_from(
            [
                "<",
                "think",
                ">",
                "</think>",
                "<think>",
                "/",
                " ",
                "a",
                "THI",
                "<|",
                "|>",
                "channel",
                "message",
                "final",
                "<tool_call x",
                "im_end",
                "\uff5c",
            ]
        )
    ),
    st.integers(0, 60),
)
def test_a_cut_changes_nothing(parts: list[str], at: int) -> None:
    text = "".join(parts)
    assert shown(text[:at], text[at:]) == shown(text) == shown(*text)


def test_what_can_be_no_tag_is_shown_at_once() -> None:
    thoughts = Thoughts()
    assert [thoughts.feed(piece) for piece in ("Yes <", "b>", "</thinK", "s> x")] == ["Yes ", "<b>", "", "</thinKs> x"]
