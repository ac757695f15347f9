"""A text is cut into words, figures and signs, in every script."""

import unicodedata

import regex

from bot.language.answers.tokens import Spelling, split
from bot.language.source.word_matching import folded


def test_words_figures_and_signs_are_tokens() -> None:
    found = split("Twelve o'clock, 30€ für  ĐẶNG… हिन्दी 5pm", Spelling())
    assert found.tokens == ["twelve", "oclock", "30", "€", "fur", "đang", "हिन्दी", "5", "pm"]
    assert found.text[found.starts[1] : found.ends[1]] == "o'clock"


def test_letters_and_marks_are_those_of_unicode() -> None:
    assigned = (char for char in map(chr, range(0x80, 0x3000)) if unicodedata.category(char) != "Cn")
    chars = [char for char in assigned if folded(char) == char and char not in "’ʼ´"]
    found = split(" ".join(f"x{char}x" for char in chars), Spelling())
    joined = {found.text[start + 1] for start, end in zip(found.starts, found.ends, strict=True) if end == start + 3}
    assert len(joined) > 3_000
    assert joined == {char for char in chars if regex.match(r"[\p{L}\p{M}]", char)}
