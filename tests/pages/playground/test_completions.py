"""The words that may stand at a place of a step's YAML, which is often unfinished."""

import pytest

from bot.pages.playground.completions import completions
from bot.testing.conversations.documents_schema import documents_schema

SCHEMA = documents_schema({})


def offered(text: str) -> list[str]:
    """The words at the sign |."""
    at = text.index("|")
    return [each.word for each in completions(SCHEMA, text.replace("|", ""), at, ["hello", "bye"], ["main"])]


def test_settings_are_offered_for_variables() -> None:
    text = "vars:\n  day: {type: date, ke"
    assert [each.word for each in completions(SCHEMA, text, len(text), [], [], of_step=False)] == ["keep"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello:\n  sa|", ["say"]),
        ("hello:\n  te|\n  then: bye", ["template"]),
        ("hello: {say: Hi, fo|}", ["footer"]),
        ("hello: {say: Hi, fo|", ["footer"]),
        ("hello: {say: Hi, pre|: true}", ["preview_url"]),
        ("hello:\n  ask: Which?\n  buttons:\n    Tea: {value: tea, th|", ["then"]),
        ("hello:\n  ask: How many?\n  retry: {ma|, else: bye}\n  save: cups", ["max"]),
        ("hello:\n  branch:\n    - {if: x, th|}", ["then"]),
    ],
)
def test_the_keys_that_are_allowed_there(text: str, words: list[str]) -> None:
    assert offered(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello: {say: Hi, then: b|}", ["bye", "back"]),
        ("hello: {say: Hi, then: /|", ["/main"]),
        ("hello:\n  say: Hi\n  preview_url: |", ["true", "false"]),
        ("hello: {ask: Which?, match: wh|}", ["whole"]),
    ],
)
def test_the_values_that_are_allowed_there(text: str, words: list[str]) -> None:
    assert offered(text) == words


def test_keys_of_another_verb_and_keys_that_stand_there_are_not_offered() -> None:
    assert "list" in offered("hello: {ask: Which?, |}") and "list" not in offered("hello: {say: Hi, |}")
    assert "say" not in offered("hello: {say: Hi, |}")


@pytest.mark.parametrize(
    "text", ["|", "hello|", ": |", "[|", "hello: |", "hello: 'a|", "- - {|", "hello:\n\t|", "a: {b: [}|"]
)
def test_where_nothing_can_be_read_nothing_is_offered(text: str) -> None:
    assert offered(text) == []


def test_each_word_says_what_it_means() -> None:
    (say,) = completions(SCHEMA, "hello: {sa", 10, [], [])
    assert (say.insert, say.about) == ("say: ", "The text that is said.")
