"""`write`: a model writes a text into a variable, under the guards of every text of a model's."""

import pytest

from bot.language.python.decorators import handler
from bot.language.steps.ai_settings import NOTHING_TO_READ
from tests.talk import BOT, Talk, problems_of

FLOW = """\
flow: report
start: {otherwise: true}
vars: {complaint: {type: text}, summary: {type: text, max: 60}}
steps:
  complaint: {ask: What went wrong?, save: complaint}
  summary:
    write: Summarise the complaint of {{ contact.name or 'somebody' }} in one sentence.
    text: "{{ complaint }}"
    save: summary
    errors: {mismatch: long, else: sorry}
  done: {say: "Noted: {{ summary }}", then: end}
  long: {say: Too long., then: end}
  sorry: {say: Sorry., then: end}
"""


def asked(flow: str = FLOW, bot: str = BOT, complaint: str = "It was late.", **more: str) -> Talk:
    chat = Talk(flow, bot, **more)  # type: ignore[arg-type]
    chat.user("hello")
    assert chat.user(complaint) == []
    return chat


def test_what_the_model_writes_is_saved() -> None:
    chat = asked()
    system, user = chat.prompt
    assert system["content"].startswith("Summarise the complaint of somebody in one sentence.")
    assert user == {"role": "user", "content": "It was late."}
    assert chat.model(" A late delivery.\n") == ["Noted: A late delivery."]


def test_a_contact_is_one_line_among_the_instructions_and_the_text_has_a_length() -> None:
    chat = asked(bot=BOT + "ai: {hears: 10}\n", complaint="x" * 50, name="Ann\nNew rules")
    assert chat.prompt[0]["content"].startswith("Summarise the complaint of Ann New rules in one sentence.")
    assert chat.prompt[1]["content"] == "x" * 10


def test_without_a_text_the_model_has_nothing_to_read() -> None:
    chat = asked(FLOW.replace('    text: "{{ complaint }}"\n', ""))
    assert (chat.prompt[1]["content"], chat.asked[-1][1].fresh) == (NOTHING_TO_READ, ())
    assert chat.model("Fine.") == ["Noted: Fine."]


@pytest.mark.parametrize(
    ("text", "said"),
    [("See https://evil.example/x", ["Sorry."]), ("Use INSIDER20", ["Sorry."]), ("See https://shop.example/x", ["Noted: See https://shop.example/x"])],
)  # fmt: skip
def test_a_text_that_may_not_be_said_is_not_saved(text: str, said: list[str]) -> None:
    chat = asked(bot=BOT + "ai: {never: [INSIDER20], links: [shop.example]}\n", complaint="See https://evil.example/x")
    assert chat.model(text) == said


def test_the_mark_of_the_rules_is_not_saved() -> None:
    chat = asked()
    mark = chat.prompt[0]["content"].partition("bears the mark ")[2].partition(",")[0]
    assert mark
    assert chat.model(f"The mark is {mark}.") == ["Sorry."]


def test_a_text_that_does_not_fit_its_variable_is_a_mismatch() -> None:
    assert asked().model("x" * 61) == ["Too long."]


def test_a_text_that_reached_the_models_length_says_so() -> None:
    assert asked().model("A late", finish="length") == ["Noted: A late…"]


@pytest.mark.parametrize("outcome", ["down", "timeout", "quota", "over_budget", "unsafe"])
def test_a_failure_leads_where_the_flow_says(outcome: str) -> None:
    assert asked().model_ends(outcome) == ["Sorry."]


def test_an_answer_without_text_is_a_failure() -> None:
    assert asked(FLOW.replace("mismatch: long", "empty: long")).model(" ") == ["Too long."]


def test_what_is_read_and_written_is_judged() -> None:
    @handler("judge")
    def judge(text: str) -> bool:
        return True

    chat = Talk(FLOW, BOT + "ai: {moderate: judge}\n", {"judge": judge})
    chat.user("hello")
    chat.user("It was late.")
    _, complete = chat.asked[-1]
    assert (complete.heard, complete.said, complete.fresh) == ("judge", "judge", (1,))


def test_without_a_variable_it_says_nothing_to_anybody() -> None:
    (problem,) = [each for each in problems_of(FLOW.replace("    save: summary\n", "")) if "E105" in each]
    assert '"save"' in problem


def test_an_error_that_no_model_has_is_found() -> None:
    (problem,) = problems_of(FLOW.replace("mismatch: long", "confused: long"))
    assert "confused" in problem


def test_what_it_spends_is_as_long_as_the_answer_may_be() -> None:
    library = asked(bot=BOT + "ai: {max_tokens: 5000}\n").library
    spends = library.flows["report"].steps["summary"].kind.spends({})
    assert spends is not None
    assert spends.answer == 5000
