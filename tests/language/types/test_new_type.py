"""A new type of variables: what it says of itself is all that anything else needs to know of it."""

from datetime import datetime
from typing import Any, ClassVar

import pytest

from bot.checker.run_rules import run_rules
from bot.core.immutable import immutable
from bot.language.expressions.abstract_values import ValueKind
from bot.language.types.type_registry import TYPES
from bot.language.types.variable import TypeMismatch, Variable
from tests.checker.proved import BOT
from tests.talk import library_of

FLOW = """
flow: a
start: {words: [a]}
vars:
  plate: {type: plate}
  other: {type: plate, optional: true}
  note: text
  size: integer
steps:
  ask: {ask: 'Which car?', save: plate, retry: {say: 'Like AB 123', max: 2, else: end}}
  copy: {set: {note: '{{ plate }}', other: '{{ note | upper }}'}}
  tell:
    branch:
      - {if: other == none, then: end}
      - {if: 'plate == other and size > 1', then: end}
      - {else: show}
  show: {ask: 'Your car: {{ plate | default("none") }}, {{ other }}', options: {A: end}}
"""


@immutable
class PlateVariable(Variable):
    """A car's number plate: the least that a type says of itself."""

    type: ClassVar[str] = "plate"
    kind: ClassVar[ValueKind] = ValueKind.TEXT

    def _from_text(self, text: str, now: datetime, language: str | None) -> str:
        return text.upper()

    def _from_value(self, value: Any, now: datetime | None) -> str:
        if not isinstance(value, str):
            raise TypeMismatch("it is no plate")
        return value


def test_a_bot_with_a_variable_of_a_new_type_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TYPES, "plate", PlateVariable)
    found = [str(finding) for finding in run_rules(library_of(FLOW, BOT))]
    assert not [each for each in found if "never fits" in each], found


def test_a_type_that_does_not_say_what_kind_its_values_are_is_refused_when_it_is_defined() -> None:
    with pytest.raises(TypeError, match="NewVariable: declare `kind`"):

        class NewVariable(Variable):
            type: ClassVar[str] = "new"
