"""The page on the emulator names every switch and every value of it."""

import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from bot.testing.emulator.completion import CompletionBehaviour, ModelAnswer

PAGE = (
    (Path(__file__).parents[4] / "docs" / "emulator.md")
    .read_text()
    .partition("# The chat-completion API's emulator")[2]
)
NAMED = set(re.findall(r"`(\w+)`", PAGE)) | set(re.findall(r"`(\w+)[(=]", PAGE))


@pytest.mark.parametrize("switch", get_type_hints(CompletionBehaviour))
def test_every_switch_is_documented(switch: str) -> None:
    values = {value for value in get_args(get_type_hints(CompletionBehaviour)[switch]) if isinstance(value, str)}
    assert {switch, *values} <= NAMED


@pytest.mark.parametrize("field", sorted(set(get_type_hints(ModelAnswer)) - {"text", "endless"}))
def test_every_field_of_an_answer_is_documented(field: str) -> None:
    assert field in NAMED
