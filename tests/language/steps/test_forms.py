"""Questions with a form: what is sent, where it leads, and what the check says of them."""

from typing import Any

import pytest

from bot.core.messages import LinkButton, TextMessage
from bot.core.own_addresses import EXAMPLE, OwnAddresses
from tests.checker.proved import only
from tests.talk import BOT, CONTACT, Talk, library_of, problems_of

FILLED: dict[str, Any] = {"cups": 4} | {"name": "Ann"}
FORM = "title: Fill in, fields: {name: Your name, cups: How many?}, then: done"
FLOW = f"""
flow: order
start: {{otherwise: true}}
vars: {{name: {{type: text}}, cups: {{type: integer, min: 1}}, photo: media, rows: list}}
steps:
  name: {{ask: Your name?, save: name, form: {{{FORM}}}}}
  cups: {{ask: How many?, save: cups}}
  done: {{say: "{{{{ name }}}}: {{{{ cups }}}}", then: end}}
"""


def test_a_question_has_a_button_that_opens_its_form() -> None:
    talk = Talk(FLOW)
    talk.user("hi")
    (question,) = talk.sent
    assert isinstance(question, LinkButton) and (question.body, question.title) == ("Your name?", "Fill in")
    name, token = question.url.split("/")[-2:]
    visit = talk.session.frames[-1].visit
    assert (name, EXAMPLE.read_form(name, token)) == ("order.name", (CONTACT, visit, visit))


def test_it_leads_on_by_the_form_or_by_answers_in_the_chat() -> None:
    talk = Talk(FLOW)
    talk.user("hi")
    assert talk.signal("order.name", **FILLED) == ["Ann: 4"]
    talk = Talk(FLOW)
    talk.user("hi")
    assert talk.user("Bo") == ["How many?"] and talk.user("2") == ["Bo: 2"]
    assert talk.signal("order.name", **FILLED) == []


def test_the_same_button_is_there_when_it_is_asked_again() -> None:
    talk = Talk(FLOW.replace("name: {type: text}", "name: {type: email}"))
    talk.user("hi")
    talk.user("what?")
    first, second = talk.sent
    assert isinstance(first, LinkButton) and isinstance(second, LinkButton) and first.url == second.url


def test_the_button_still_opens_the_form_after_an_interruption() -> None:
    flow = FLOW.replace("name: {type: text}", "name: {type: email}").replace("vars:", "interrupted: resume\nvars:")
    talk = Talk(f"{flow}---\nflow: hours\nstart: {{words: [hours]}}\nsteps: {{a: {{ask: Today?}}}}\n")
    talk.user("hi")
    assert talk.user("hours") == ["Today?"]
    talk.user("yes")
    first, _, again = talk.sent
    assert isinstance(first, LinkButton) and isinstance(again, LinkButton) and first.url == again.url


def test_without_a_public_address_the_chat_alone_asks() -> None:
    talk = Talk(library_of(FLOW).with_addresses(OwnAddresses(None, "key")))
    talk.user("hi")
    assert talk.sent == [TextMessage("Your name?")]


def test_all_that_a_form_asks_for_has_a_value_where_it_leads() -> None:
    assert only("W301").found(FLOW) == []
    (missing,) = only("W301").found(FLOW.replace("{name: Your name, cups: How many?}", "{name: Your name}"))
    assert '"cups"' in missing


def test_what_may_be_left_empty_has_no_value_and_that_is_seen_by_the_check() -> None:
    flow = FLOW.replace("then: done}", "optional: cups, then: done}")
    talk = Talk(flow.replace("{{ cups }}", "{{ cups or 1 }}"))
    talk.user("hi")
    assert talk.signal("order.name", name="Ann") == ["Ann: 1"]
    (missing,) = only("W301").found(flow)
    assert '"cups"' in missing


@pytest.mark.parametrize(
    ("form", "at", "expected"),
    [
        ("title: Fill in, fields: {name: x}", "{title", "E105 step"),
        ("title: Fill in, fields: {nam: x}, then: done", "nam:", 'E301 no variable "nam" in flow order (did you mean "name"?)'),
        ("title: Fill in, fields: {photo: x}, then: done", "photo", 'E303 form: no page asks for "photo": it is of type media'),
        ("title: Fill in, fields: {rows: x}, then: done", "rows", 'E303 form: no page asks for "rows": it is of type list'),
        ("title: Fill in all of this at once, fields: {name: x}, then: done", "Fill in all", "E402 step"),
        ("title: Fill in, fields: {name: x}, then: gone", "gone", 'E102 no step "gone"'),
        ('title: Fill in, fields: {name: "{{ cups }}"}, then: done', '"{{ cups', "E106 step"),
        ("title: Fill in, fields: {name: x}, optional: nam, then: done", "nam,", 'E301 step "name": form: no field "nam" (did you mean "name"?)'),
    ],
)  # fmt: skip
def test_the_check_says_what_is_wrong_and_where(form: str, at: str, expected: str) -> None:
    text = FLOW.replace(FORM, form)
    column = text.splitlines()[5].index(f"form: {{{form}") + 1
    column = text.splitlines()[5].index(at, column) + 1
    (problem,) = problems_of(text)
    assert problem.startswith(f"flows/test.yml:6:{column}: {expected}")


def test_a_form_needs_a_question_that_fits_beside_its_button() -> None:
    assert [problem for problem in problems_of(FLOW.replace("Your name?, save", '"", save')) if "E105" in problem]
    (problem,) = problems_of(FLOW.replace("ask: Your name?", f"ask: {'x' * 1025}"))
    assert "E402" in problem and "1024 are allowed" in problem


def test_no_other_signal_has_its_name() -> None:
    (problem,) = problems_of(FLOW, f"{BOT}signals: {{order.name: {{}}}}\n")
    assert "E306" in problem and 'signal "order.name"' in problem


def test_a_form_beside_choices_is_a_problem() -> None:
    (problem,) = problems_of(FLOW.replace("ask: Your name?,", "ask: Your name?, buttons: [Ann, Bo],"))
    assert 'E121 step "name": "form" beside choices' in problem or '"form" beside choices' in problem


def test_its_signal_is_no_other() -> None:
    assert library_of(FLOW, BOT).bot.signals["order.name"]["cups"].required
