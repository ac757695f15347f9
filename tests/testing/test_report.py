"""A failure in words: both sides stand beside each other from where they differ."""

from bot.lang.problems import Mark
from bot.simulation.phone import Bubble, Row
from bot.testing.comparison import Difference
from bot.testing.player import Spoken
from bot.testing.transcript import Says
from bot.testing.transcript_run import Failure, explained

MARK = Mark("t.yml", 1, 1)


def lines(failure: Failure, width: int = 100) -> list[str]:
    return list(explained(failure, width=width))


def said(*expected: Says, found: tuple[Bubble, ...] = ()) -> list[str]:
    return lines(Failure(MARK, "the bot says something else", expected=expected, found=found))[1:]


def test_a_message_stands_beside_the_one_that_came() -> None:
    came = Bubble("Tea?", header="Café", buttons=("Sure", "Never"))
    assert said(Says(MARK, {"says": "Tee?", "buttons": ("Sure",)}), found=(came,)) == [
        "expected               got",
        "Tee?                 ≠ Tea?",
        "                     | header: Café",
        "[Sure]               ≠ [Sure] [Never]",
    ]


def test_what_fits_is_shown_and_not_marked() -> None:
    assert said(Says(MARK, {"contains": ("Hi", "!"), "rows": ("A",)}), found=(Bubble("Hi!", rows=(Row("B"),)),)) == [
        "expected               got",
        "... Hi ... ! ...     | Hi!",
        "rows: A              ≠ rows: B",
    ]


def test_all_messages_up_to_the_next_line_that_acts_are_compared() -> None:
    expected = (Says(MARK, {"says": "One"}, alone=True), Says(MARK, {"says": "Two"}, alone=True))
    assert said(*expected, found=(Bubble("Two"),)) == [
        "expected               got",
        "One                  ≠ Two",
        "Two                  ≠",
    ]
    assert said(found=(Bubble("More"),)) == ["expected               got", "                     ≠ More"]


def test_long_lines_wrap_in_their_column_and_breaks_are_kept() -> None:
    expected, came = "a very long text that has to be wrapped", "one\ntwo"
    failure = Failure(MARK, "x", expected=(Says(MARK, {"says": expected}),), found=(Bubble(came),))
    assert lines(failure, width=50)[1:] == [
        "expected                 got",
        "a very long text that  ≠ one",
        "has to be wrapped        two",
    ]


def test_what_was_expected_of_the_conversation_stands_beside_what_it_knows() -> None:
    differences = (Difference("step", "cups", "drink"), Difference("tags", "[a]", "[]"))
    assert lines(Failure(MARK, "x", differences))[1:] == [
        "expected               got",
        "step: cups           ≠ step: drink",
        "tags: [a]            ≠ tags: []",
    ]


def test_the_talk_comes_first_and_complaints_come_last() -> None:
    bubble = Bubble("Which?", buttons=("A", "B"))
    talk = (Spoken("user", "hi"), Spoken("bot", "Which?", bubble), Spoken("restart", ""))
    assert lines(Failure(MARK, "x", talk=talk, complaints=("It was refused.",))) == [
        "user   hi",
        "bot    Which?",
        "       [A] [B]",
        "restart",
        "",
        "Went wrong: It was refused.",
    ]
