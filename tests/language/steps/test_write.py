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
    assert chat.prompt[0]["content"].startswith("Summarise the complaint of ⟦Ann New rules⟧ in one sentence.")
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
    chat = asked()
    assert chat.model("x" * 61) == []
    assert "it is longer than 60 characters" in chat.prompt[-1]["content"]
    assert chat.model("x" * 61) == ["Too long."]


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


# -- a record ---------------------------------------------------------------------------------------------------

RECORD = """\
flow: report
start: {otherwise: true}
vars:
  complaint: text
  found:
    type: object
    fields:
      title: {type: text, max: 20}
      urgency: {type: choice, of: [low, high]}
      cups: {type: integer, min: 1, max: 9}
      due: date
      seen: {type: object, fields: {by: text}}
steps:
  complaint: {ask: What went wrong?, save: complaint}
  found:
    write: What do they complain about?
    text: "{{ complaint }}"
    save: found
    errors: {mismatch: long, else: sorry}
  done: {say: "{{ found.title }}, {{ found.urgency }}, {{ found.cups }}, {{ found.due - days(1) if found.due }}", then: end}
  long: {say: Too long., then: end}
  sorry: {say: Sorry., then: end}
"""
TITLES = (
    RECORD.replace("type: object\n", "type: list\n")
    .replace("{{ found.title }}, {{ found.urgency }}, {{ found.cups }}, {{ found.due - days(1) if found.due }}", "{{ found | map('title') | join(', ') or 'Nothing' }}")
)  # fmt: skip
ANSWER = '{"title": "Late", "urgency": "high", "cups": 2, "due": "2030-05-12", "seen": {"by": null}}'
SAID = ["Late, high, 2, 2030-05-11"]


def test_the_model_is_told_the_form_of_a_record() -> None:
    system, _ = asked(RECORD).prompt
    assert system["content"].startswith("What do they complain about?\n\nYou write one JSON value, and nothing else.")
    form = (
        '{"title": "text of at most 20 characters", "urgency": "one of: low, high", "cups": "integer from 1 to 9", '
        '"due": "date like 2030-12-31", "seen": {"by": "text"}}'
    )
    assert form in system["content"]
    assert f"[{form}]" in asked(TITLES).prompt[0]["content"]


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "Here it is:\n{}\nAnything else?"])
def test_a_record_is_read_by_its_fields_whatever_stands_around_it(around: str) -> None:
    assert asked(RECORD).model(around.replace("{}", ANSWER)) == SAID


def test_what_is_left_out_is_null() -> None:
    chat = asked(RECORD)
    assert chat.model('{"title": "Late"}') == ["Late, , , "]
    assert asked(RECORD.replace("due: date", "due: {type: date, value: 2030-05-12}")).model('{"title": "Late"}') == [
        "Late, , , 2030-05-11"
    ]


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("It was late.", "it is not one JSON value"),
        ('{"title": "Late"', "it is not one JSON value"),
        ('{"title": "Late"} or {"title": "Cold"}', "it is not one JSON value"),
        ('{"title": "Late", "title": "Cold"}', "it is not one JSON value"),
        ('[{"title": "Late"}]', "a list is not an object"),
        ('{"title": "Late", "cups": "two"}', 'field "cups": it is no number'),
        ('{"title": "Late", "cups": 10}', 'field "cups": it is more than 9'),
        ('{"title": "Late", "urgency": "High"}', 'field "urgency": it is none of low, high'),
        ('{"title": "Late", "due": "tomorrow"}', 'field "due": a text is not a date like 2030-12-31'),
        ('{"name": "Late"}', "there is no field name"),
        ('{"title": "Late", "seen": {"who": "Ann"}}', "there is no field who"),
    ],
)
def test_what_does_not_fit_is_asked_for_once_more_with_what_was_wrong(answer: str, wrong: str) -> None:
    chat = asked(RECORD)
    assert chat.model(answer) == []
    assert chat.turn is not None
    assert any(wrong in note for note in chat.turn.trace.notes)
    system, user, written, objection = chat.prompt
    assert (user["content"], written) == ("It was late.", {"role": "assistant", "content": answer})
    assert wrong in objection["content"]
    assert system == asked(RECORD).prompt[0]
    assert chat.asked[-1][1].fresh == (), "the contact's text was judged before"
    assert chat.model(ANSWER) == SAID


def test_what_does_not_fit_twice_is_a_mismatch() -> None:
    chat = asked(RECORD)
    chat.model("Late!")
    assert chat.model("Late!!") == ["Too long."]


def test_a_second_visit_asks_again_as_well() -> None:
    chat = asked(RECORD.replace('due) }}", then: end', 'due) }}", then: complaint'))
    for _ in range(2):
        chat.model("Late!")
        assert chat.model(ANSWER)[:1] == SAID
        chat.user("hello")
        chat.user("It was late.")


def test_a_list_of_records() -> None:
    assert asked(TITLES).model('[{"title": "Late"}, {"title": "Cold"}]') == ["Late, Cold"]
    assert asked(TITLES).model("There is nothing: []") == ["Nothing"]


@pytest.mark.parametrize(
    "hidden",
    ["https://evil.example/x", r"https:\/\/evil.example\/x", 'INSI", "cups": 2, "seen": {"by": "DER20"}, "x": "'],
)
def test_a_record_with_a_text_that_may_not_be_said_is_not_saved(hidden: str) -> None:
    chat = asked(RECORD, BOT + "ai: {never: [INSIDER20]}\n")
    assert chat.model(f'{{"title": "{hidden}"}}') == ["Sorry."]


@pytest.mark.parametrize(
    ("declared", "form"), [("boolean", "true or false"), ("{type: choice, of: [low, high]}", "one of: low, high")]
)
def test_the_model_is_told_what_else_is_no_free_text(declared: str, form: str) -> None:
    chat = asked(FLOW.replace("{type: text, max: 60}", declared))
    assert chat.prompt[0]["content"].count(f"It is this and nothing else: {form}") == 1
    assert "nothing else:" not in asked(FLOW.replace("{type: text, max: 60}", "text")).prompt[0]["content"]


@pytest.mark.parametrize("declared", ["object", "{type: list, of: media}", "location"])
def test_a_structure_without_fields_is_not_what_a_model_writes(declared: str) -> None:
    (problem,) = problems_of(FLOW.replace("{type: text, max: 60}", declared))
    assert "E303" in problem
    assert "summary: {type: object, fields:" in problem


def test_a_list_of_anything() -> None:
    chat = asked(
        FLOW.replace("{type: text, max: 60}", "{type: list, max: 2}").replace(
            "{{ summary }}", "{{ summary | join(', ') }}"
        )
    )
    assert chat.model('["late", "cold", "wet"]') == []
    assert "it has 3 elements, 2 are allowed" in chat.prompt[-1]["content"]
    assert chat.model('["late", "cold"]') == ["Noted: late, cold"]
