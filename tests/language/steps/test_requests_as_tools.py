"""Requests as tools of an `ai` step: what a model gives goes into them, typed and quoted, and their answers go to the model."""

from typing import Any

import pytest

from bot import handler
from bot.core.effects import HttpRequest
from tests.talk import BOT, Talk, problems_of

SERVICES = BOT + 'http: {stock: {base: "https://stock.example/v1"}}\n'
FLOW = """\
flow: shop
start: {otherwise: true}
vars: {note: {type: text}}
steps:
  talk:
    ai: You sell.
    tools:
      - http: "GET stock:/colours/{{ it.colour }}"
        name: find_colour
        about: Find out whether there is a colour.
        takes: {colour: the colour in English}
        query: {who: "{{ contact.id }}"}
        within: 5s
      - http: POST stock:/orders
        name: order
        about: Order something.
        takes: {cups: {type: integer, about: how many cups}, day: {type: date, about: when}}
        json: {cups: "{{ it.cups }}", day: "{{ it.day }}"}
        confirm: "{{ it.cups }} cups on {{ it.day }}?"
        times: 1
    exits: {done: {when: they have ordered, needs: [order], then: end}}
    errors: {else: end}
"""


def asked(flow: str = FLOW) -> Talk:
    chat = Talk(flow, SERVICES)
    chat.user("red?")
    return chat


def sent(chat: Talk) -> HttpRequest:
    request = chat.calls[-1][1]
    assert isinstance(request, HttpRequest)
    return request


def result(chat: Talk) -> str:
    return str(next(each for each in reversed(chat.prompt) if each["role"] == "tool")["content"])


def test_the_model_is_told_of_the_request_and_what_it_gives() -> None:
    tools = {tool["function"]["name"]: tool["function"] for tool in asked().asked[-1][1].tools}
    assert tools["find_colour"] == {
        "name": "find_colour",
        "description": "Find out whether there is a colour.",
        "parameters": {
            "type": "object",
            "properties": {"colour": {"type": "string", "description": "the colour in English"}},
            "required": ["colour"],
            "additionalProperties": False,
        },
    }
    assert tools["order"]["parameters"]["properties"]["cups"] == {"type": "integer", "description": "how many cups"}


def test_the_request_has_what_the_model_gave_quoted_and_what_the_flow_gives() -> None:
    chat = asked()
    chat.model("One moment.", ("find_colour", {"colour": "red/../x?y"}))
    request = sent(chat)
    assert request.address == "stock:/colours/red%2F..%2Fx%3Fy?who=6281234567890"
    assert (request.method, request.seconds, request.tries) == ("GET", 5.0, 1)
    chat.returns({"status": 200, "answer": {"left": 3}})
    assert result(chat) == '{"left": 3}'
    assert chat.model("Yes, three.") == ["Yes, three."]


def test_what_goes_wrong_is_told_by_its_name() -> None:
    chat = asked()
    chat.model("", ("find_colour", {"colour": "red"}))
    chat.fails("404", "the service's own words")
    assert result(chat) == "Failed: 404"


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (("find_colour", {"colour": ".."}), "Not done: a value in the address's path is empty or consists of dots."),
        (("find_colour", {}), "Not done: the argument colour is missing."),
        (("find_colour", {"colour": "red", "who": "6280000000000"}), "There is no argument who."),
        (("order", {"cups": "many", "day": "2030-05-07"}), "Not done: the argument cups: Input should be a valid integer"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_not_sent_and_the_model_hears_why(call: tuple[str, dict[str, Any]], why: str) -> None:
    chat = asked()
    chat.model("", call)
    assert not chat.calls
    assert result(chat).startswith(why)


def test_the_contact_is_asked_with_typed_values_and_the_request_carries_them() -> None:
    chat = asked()
    (question,) = chat.model("", ("order", {"cups": 2, "day": "2030-05-07"}))
    assert question[0] == "2 cups on 2030-05-07?"
    chat.tap("Yes")
    assert (sent(chat).method, sent(chat).body) == ("POST", '{"cups": 2, "day": "2030-05-07"}')
    chat.returns({"status": 201, "answer": None})
    assert chat.model("Done.", ("leave_done", {})) == ["Done."]
    assert chat.at is None


def test_a_request_is_sent_so_often_and_opens_its_exit_only_by_success() -> None:
    chat = asked()
    chat.model("", ("leave_done", {}))
    assert result(chat).startswith("Not yet: order must have succeeded first.")
    for day, done in (("2030-05-07", "null"), ("2030-05-08", "Not done: it has been called as often")):
        chat.model("", ("order", {"cups": 2, "day": day}))
        if done == "null":
            chat.tap("Yes")
            chat.returns({"status": 201, "answer": None})
        assert result(chat).startswith(done)


def test_mistakes_in_a_request_are_found() -> None:
    flow = (
        FLOW.replace("it.colour", "it.color")
        .replace("name: order", "name: remember")
        .replace("stock:/orders", "stok:/orders")
    )
    found = "\n".join(problems_of(flow, SERVICES))
    assert 'http: a model gives "find_colour" no "color" (did you mean "colour"?)' in found
    assert 'the name "remember" means something else to a model' in found
    assert 'no service "stok"' in found
    found = "\n".join(problems_of(FLOW.replace("        about: Order something.\n", ""), SERVICES))
    assert "E105" in found and '"about"' in found
    found = "\n".join(problems_of(FLOW.replace("type: integer", "type: list"), SERVICES))
    assert "E109" in found and '"list"' in found
    found = "\n".join(problems_of(FLOW.replace("{{ it.cups }} cups on ", ""), SERVICES))
    assert 'confirm: nobody sees the argument "cups"' in found


@handler("find.colour")
def find_colour(colour: str) -> str:
    return ""


def test_an_edit_that_makes_a_request_of_a_handler_meets_a_result_of_the_handler() -> None:
    head, rest = FLOW.split("      - http", 1)
    called = f"{head}      - find.colour\n    exits{rest.rpartition('    exits')[2].replace(', needs: [order]', '')}"
    requested = called.replace("- find.colour", '- {http: "GET stock:/red", name: find_colour, about: Find a colour.}')
    chat = Talk(called, SERVICES, {"find_colour": find_colour})
    chat.user("red?")
    chat.model("", ("find_colour", {"colour": "red"}))
    chat.edit(requested, SERVICES)
    chat.returns("dark red")
    assert result(chat) == "dark red"
