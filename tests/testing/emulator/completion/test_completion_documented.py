"""The help that the page on the emulator names has every switch and its values, and every field of an answer."""

import re
from typing import get_args, get_type_hints

import pytest

from bot.testing.emulator.completion import CompletionBehaviour, ModelAnswer


def named(documented: type) -> set[str]:
    return set(re.findall(r"``(\w+)``", documented.__doc__ or ""))


@pytest.mark.parametrize("switch", get_type_hints(CompletionBehaviour))
def test_every_switch_is_documented(switch: str) -> None:
    values = {value for value in get_args(get_type_hints(CompletionBehaviour)[switch]) if isinstance(value, str)}
    assert {switch, *values} <= named(CompletionBehaviour)


@pytest.mark.parametrize("field", sorted(set(get_type_hints(ModelAnswer)) - {"text"}))
def test_every_field_of_an_answer_is_documented(field: str) -> None:
    assert field in named(ModelAnswer)
