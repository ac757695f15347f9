"""A failure in words: both sides stand beside each other from where they differ."""

from bot.language.source.problems import Mark
from bot.testing.conversations.comparison import ExpectationDifference
from bot.testing.conversations.spoken_lines import SpokenLine
from bot.testing.conversations.transcript import BotLine
from bot.testing.conversations.transcript_run import FailedTest, explained
from bot.testing.simulation.phone import ListRow, ShownMessage

MARK = Mark("t.yml", 1, 1)


def lines(failure: FailedTest, width: int = 100) -> list[str]:
    return list(explained(failure, width=width))


def said(*expected: BotLine, found: tuple[ShownMessage, ...] = ()) -> list[str]:
    return lines(FailedTest(MARK, "the bot says something else", expected=expected, found=found))[1:]


def test_a_message_stands_beside_the_one_that_came() -> None:
    came = ShownMessage("Tea?", header="Café", buttons=("Sure", "Never"))
    assert said(BotLine(MARK, {"says": "Tee?", "buttons": ("Sure",)}), found=(came,)) == [
        "expected               got",
        "Tee?                 ≠ Tea?",
        "                     | header: Café",
        "[Sure]               ≠ [Sure] [Never]",
    ]


def test_what_fits_is_shown_and_not_marked() -> None:
    assert said(
        BotLine(MARK, {"contains": ("Hi", "!"), "rows": ("A",)}), found=(ShownMessage("Hi!", rows=(ListRow("B"),)),)
    ) == [
        "expected               got",
        "... Hi ... ! ...     | Hi!",
        "rows: A              ≠ rows: B",
    ]


def test_all_messages_up_to_the_next_line_that_acts_are_compared() -> None:
    expected = (BotLine(MARK, {"says": "One"}, alone=True), BotLine(MARK, {"says": "Two"}, alone=True))
    assert said(*expected, found=(ShownMessage("Two"),)) == [
        "expected               got",
        "One                  ≠ Two",
        "Two                  ≠",
    ]
    assert said(found=(ShownMessage("More"),)) == ["expected               got", "                     ≠ More"]


def test_long_lines_wrap_in_their_column_and_breaks_are_kept() -> None:
    expected, came = "a very long text that has to be wrapped", "one\ntwo"
    failure = FailedTest(MARK, "x", expected=(BotLine(MARK, {"says": expected}),), found=(ShownMessage(came),))
    assert lines(failure, width=50)[1:] == [
        "expected                 got",
        "a very long text that  ≠ one",
        "has to be wrapped        two",
    ]


def test_what_was_expected_of_the_conversation_stands_beside_what_it_knows() -> None:
    differences = (ExpectationDifference("step", "cups", "drink"), ExpectationDifference("tags", "[a]", "[]"))
    assert lines(FailedTest(MARK, "x", differences))[1:] == [
        "expected               got",
        "step: cups           ≠ step: drink",
        "tags: [a]            ≠ tags: []",
    ]


def test_the_talk_comes_first_and_complaints_come_last() -> None:
    message = ShownMessage("Which?", buttons=("A", "B"))
    conversation = (SpokenLine("user", "hi"), SpokenLine("bot", "Which?", message), SpokenLine("restart", ""))
    assert lines(FailedTest(MARK, "x", conversation=conversation, complaints=("It was refused.",))) == [
        "user   hi",
        "bot    Which?",
        "       [A] [B]",
        "restart",
        "",
        "Went wrong: It was refused.",
    ]
