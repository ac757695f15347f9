"""The names and texts that importers write."""

import pytest

from bot.cli.importing.imported import name_of, written_out
from tests.talk import Talk


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Ask the name?", "ask_the_name"),
        ("  Größe (cm) ", "groe_cm"),
        ("123", "step_123"),
        ("你好", "step"),
        ("end", "end_2"),
        ("message", "message_2"),
        ("for", "for_2"),
        ("taken", "taken_2"),
    ],
)
def test_a_name_can_be_written_and_is_not_taken(title: str, name: str) -> None:
    assert name_of(title, {"taken"}) == name


@pytest.mark.parametrize("text", ["{{ a }}", "{% if %}", "{# no #}", "a }} b {{", "{", "}", "Like {this}"])
def test_braces_of_a_text_are_said_as_they_are(text: str) -> None:
    written = written_out(text).replace("'", "''")
    talk = Talk(f"flow: main\nstart: {{otherwise: true}}\nsteps: {{a: {{say: 'x{written}x', then: end}}}}\n")
    assert talk.user("hi") == [f"x{text}x"]
