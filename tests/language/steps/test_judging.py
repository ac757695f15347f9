"""`judge` of AI settings: which answers of a model are judged, and what the judge is shown."""

import json

import pytest

from bot.core.effects import JudgeAnswer
from bot.language.python.decorators import handler
from bot.language.steps.judging import AnswerSample, read_verdict
from tests.talk import BOT, Talk, problems_of

FLOW = """\
flow: talk
start: {otherwise: true}
steps:
  talk:
    ai: You help.
    facts: facts.md
    tools: [find]
    exits: {done: {when: all is said, then: end}}
    errors: {else: end}
"""
JUDGED = BOT + "ai: {judge: {share: 100%, questions: [Is it polite?, Is it true?]}}\n"


@handler("find")
def _handler(number: str) -> str:
    """Find an order."""
    return number


def talk(bot: str = JUDGED, flow: str = FLOW) -> Talk:
    return Talk(flow, bot, {"find": _handler}, documents={"flows/facts.md": "Open from 9 to 18."})


def judged(chat: Talk) -> list[JudgeAnswer]:
    return [effect for effect in chat.effects if isinstance(effect, JudgeAnswer)]


def test_a_turn_that_is_over_is_judged_by_each_question() -> None:
    chat = talk()
    chat.user("are you open?")
    assert chat.model("From 9 to 18.") == ["From 9 to 18."]
    assert [each.question for each in judged(chat)] == ["Is it polite?", "Is it true?"]
    assert chat.at == "talk/talk" and chat.user("thanks") == []


def test_the_judge_sees_the_question_the_results_of_tools_the_answer_and_the_facts() -> None:
    chat = talk()
    chat.user("where is 17?")
    chat.model("", ("find", {"number": "17"}))
    chat.returns("sent")
    chat.model("It is sent.", ("leave_done", {}))
    first, _ = judged(chat)
    system, user = (message["content"] for message in first.by.messages)
    assert "Open from 9 to 18." in system
    case, question = user.removeprefix("The case:\n\n").split("\n\nThe question: ")
    assert [(line["who"], line["says"]) for line in json.loads(case)["conversation"]] == [
        ("contact", "where is 17?"),
        ("tool", "sent"),
        ("chatbot", "It is sent."),
    ]
    assert question == "Is it polite?"


def test_a_turn_is_judged_once_when_it_is_over() -> None:
    chat = talk()
    chat.user("where is 17?")
    chat.model("One moment.", ("find", {"number": "17"}))
    assert judged(chat) == []
    chat.returns("sent")
    chat.model("It is sent.")
    assert len(judged(chat)) == 2


def test_another_model_than_has_answered_judges_unless_one_is_named() -> None:
    chat = talk()
    chat.user("hi")
    chat.model("Hello.")
    assert {(each.answered_by, each.by.models) for each in judged(chat)} == {("m", ())}
    chat = talk(JUDGED.replace("100%", "100%, model: wise"))
    chat.user("hi")
    chat.model("Hello.")
    assert {(each.answered_by, each.by.models) for each in judged(chat)} == {("", ("wise",))}


def test_a_step_has_a_sample_of_its_own_and_without_one_nothing_is_judged() -> None:
    chat = talk(BOT)
    chat.user("hi")
    chat.model("Hello.")
    assert judged(chat) == []
    chat = talk(flow=FLOW.replace("    errors", "    judge: {share: 100%, questions: [Is it short?]}\n    errors"))
    chat.user("hi")
    chat.model("Hello.")
    assert [each.question for each in judged(chat)] == ["Is it short?"]


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_a_share_of_all_events_is_in_the_sample_the_same_each_time(share: float) -> None:
    sample = AnswerSample(share, ("Is it polite?",))
    taken = [sample.takes(f"call:{number}") for number in range(4000)]
    assert sum(taken) / 4000 == pytest.approx(share, abs=0.02)
    assert taken == [sample.takes(f"call:{number}") for number in range(4000)]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Yes, it is.", ("yes", "it is.")),
        ("**No**: it is rude", ("no", "it is rude")),
        ("Well", ("none", "Well")),
        ("Nobody knows", ("none", "Nobody knows")),
    ],
)
def test_a_verdict_begins_with_yes_or_no(answer: str, said: tuple[str, str]) -> None:
    verdict, reason = read_verdict(answer)
    assert verdict == said[0] and reason.strip(": *") == said[1]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("{share: 2, questions: [a]}", 'E106 bot: ai: judge: share: "2" is no share (write one like 2% or 0.5%)'),
        ("{share: 200%, questions: [a]}", 'E106 bot: ai: judge: share: "200%" is no share (write one like 2% or 0.5%)'),
        ("{share: 2%}", 'E105 bot: ai: judge: "questions" is missing (add questions:)'),
        (
            "{share: 2%, questions: [a, b, c, d, e, f]}",
            "E105 bot: ai: judge: 6 questions (write 5 at most: each is a request to a model)",
        ),
    ],
)
def test_a_sample_is_read(written: str, problem: str) -> None:
    found = [
        text.partition(" ")[2]
        for text in problems_of(
            FLOW.replace("    facts: facts.md\n    tools: [find]\n", ""), BOT + f"ai: {{judge: {written}}}\n"
        )
    ]
    assert found == [problem]
