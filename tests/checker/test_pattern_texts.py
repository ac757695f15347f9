"""Texts that are made from patterns."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.checker.pattern_texts import slow_text, text_matching
from tests.searches import tries


@settings(max_examples=tries(10, 50))
@given(st.lists(st.sampled_from(["[A-Z]{2}", r"\d{1,4}", "(a|bc)", "x?", "[^0-9]", "-", r"\w+", "(?:no|yes)", ".*"])))
def test_a_text_is_found_for_a_pattern(parts: list[str]) -> None:
    pattern = "".join(parts)
    (text,) = text_matching(pattern)
    assert re.fullmatch(pattern, text)


def test_a_text_that_keeps_a_pattern_busy_leads_to_the_repetition_and_has_the_greatest_length() -> None:
    text = slow_text(r"no [0-9]{2}: ([a-z]+\.?)+;", 4000)
    assert text is not None and text.startswith("no 00: aaaa") and len(text) == 4000


def test_there_is_none_for_a_pattern_that_is_read_in_time() -> None:
    assert slow_text(r"[a-z]+(\.[a-z]+)*;", 4096) is None
