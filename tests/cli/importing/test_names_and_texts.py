"""The names and texts that importers write."""

import pytest

from bot.cli.importing.imported import name_of, shortened, unsendable, written_out
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


def test_long_titles_are_cut_and_stay_different() -> None:
    titles = ["Give me something else to do", "Give me something else now", "Give me something else…", "Yes"]
    assert shortened(titles, 24) == [
        "Give me something els… 2",
        "Give me something els… 3",
        "Give me something else…",
        "Yes",
    ]


@pytest.mark.parametrize(
    ("kind", "url", "why"),
    [
        ("image", "https://shop.example/a.png?v=1", ""),
        ("image", "https://shop.example/a.webp", "the gateway takes no .webp (use jpg, jpeg, png)"),
        ("image", "data:image/svg+xml;utf8,<svg>", '"data:image/svg+xml;utf8,<svg>" is no address'),
        ("audio", "hello.mp3", "(write one with https://)"),
    ],
)
def test_a_file_that_the_gateway_does_not_take_is_left_out(kind: str, url: str, why: str) -> None:
    assert why in unsendable(kind, url) and bool(why) == bool(unsendable(kind, url))
