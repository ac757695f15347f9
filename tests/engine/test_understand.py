"""`understand: model`: a model points at the words of a reply that answer the waiting question. The pure engine."""

import pytest

from tests.talk import Talk, problems_of

TRIP = """
flow: trip
start: {words: [trip]}
vars: {day: {type: date, after: today}, guests: {type: integer, min: 1, max: 9}, code: {type: text, pattern: '[A-Z]{2}[0-9]{2}'}, name: {type: text, max: 12}, dishes: list}
steps:
  day: {ask: Which day?, save: day, understand: model, retry: {say: "A day, please."}}
  guests: {ask: How many?, save: guests, understand: model, retry: {say: "A number, please."}}
  size: {ask: Which size?, options: [Small, Large], understand: model, retry: {say: "Small or large?"}}
  code: {ask: Which code?, save: code, understand: model, retry: {say: "A code, please."}}
  name: {ask: Whose name?, save: name, understand: model, retry: {say: "A short name."}}
  dishes: {ask: Which dishes?, many: true, options: [Soup, Fish, Cake], save: dishes, understand: model, retry: {say: "Dishes, please."}}
  done: {say: "{{ day }} {{ guests }} {{ code }} {{ name }} {{ dishes | join('+') }}", then: end}
"""


def at(step: str, flow: str = TRIP) -> Talk:
    answers = {"day": "Friday", "guests": "3", "size": "Small", "code": "AB12", "name": "Ann"}
    chat = Talk(flow)
    chat.user("trip")
    for known, text in answers.items():
        if known == step:
            break
        chat.user(text)
    assert chat.at == f"trip/{step}"
    return chat


@pytest.mark.parametrize(
    ("step", "text", "words", "following"),
    [
        ("day", "the gig of my sister is on Friday so then it must be", "Friday", "guests"),
        ("guests", "me and my gang, that makes five in the end I suppose", "five", "size"),
        ("size", "gosh we are hungry, give us the large thing", "large", "code"),
        ("code", "the sticker on the box reads AB12 I believe", "AB12", "name"),
        ("name", "people have called me Ann since forever", "Ann", "dishes"),
    ],
)
def test_the_words_are_read_as_the_answer(step: str, text: str, words: str, following: str) -> None:
    chat = at(step)
    assert chat.user(text) == []
    assert step in chat.prompt[0]["content"] and "word for word" in chat.prompt[0]["content"]
    chat.model(f'{{"{step}": "{words}"}}')
    assert chat.at == f"trip/{following}"


def test_what_the_readers_understand_asks_no_model() -> None:
    chat = at("day")
    chat.user("on Friday please")
    assert chat.asked == []
    assert chat.at == "trip/guests"


@pytest.mark.parametrize(
    ("step", "text", "words", "reason"),
    [
        ("day", "whenever my sister marries", "Friday", "the message does not say it"),
        ("day", "the gig of my sister is on Friday so then", "2030-05-10", "the message does not say it"),
        ("day", "you see I really cannot make it, not on Friday", "Friday", "other words speak against it"),
        ("day", "the wedding is Friday and the party is Saturday", "Saturday", "the message has another answer"),
        ("guests", "there will be 2 adults and 1 child in our gang", "2", "the message has another answer"),
        ("guests", "the house at 15 is ours", "5", "the message does not say it"),
        ("guests", "the sofa3 is ours", "3", "the message does not say it"),
        ("guests", "all of us and our neighbours", "neighbours", "it is no answer"),
        ("size", "we like the large but it is not small either", "small", "other words speak against it"),
    ],
)
def test_words_that_do_not_bear_the_answer_are_a_wrong_reply(step: str, text: str, words: str, reason: str) -> None:
    chat = at(step)
    assert chat.user(text) == []
    said = chat.model(f'{{"{step}": "{words}"}}')
    assert said and chat.at == f"trip/{step}"
    assert chat.turn is not None
    assert any(reason in note for note in chat.turn.trace.notes), chat.turn.trace.notes


def test_a_failing_model_is_a_wrong_reply() -> None:
    chat = at("day")
    chat.user("the gig of my sister is on Friday so then it must be")
    assert chat.model_ends("timeout") == ["A day, please."]
    assert chat.at == "trip/day"


def test_words_that_pick_one_of_many_keep_the_question_open() -> None:
    chat = at("dishes")
    chat.user("oh my gosh the soup your mother makes")
    chat.model('{"dishes": "soup"}')
    assert chat.at == "trip/dishes"
    assert any(choice.title.endswith("Soup") and choice.title != "Soup" for choice in chat.shown)


def test_a_question_that_takes_every_text_needs_no_model() -> None:
    flow = "flow: a\nstart: {words: [a]}\nvars: {x: text}\nsteps:\n  q: {ask: What?, save: x, understand: model}\n"
    assert any("E123" in problem and "understand" in problem for problem in map(str, problems_of(flow)))
