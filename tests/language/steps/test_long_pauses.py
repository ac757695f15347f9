"""The exchange of an `ai` step after a pause, and after the step was left."""

from tests.talk import BOT, Talk

FLOW = """\
flow: main
start: {otherwise: true}
steps:
  talk:
    ai: You help the contacts of a shop.
    history: 30
    exits: {done: {when: all is said, then: end}}
    errors: {else: end}
---
flow: other
start: {words: [other]}
steps:
  talk:
    ai: You tell jokes.
    exits: {done: {when: all is said, then: end}}
    errors: {else: end}
"""
WORDS = BOT + "words: {stop: {then: end}}\n"


def talk(flow: str = FLOW) -> Talk:
    return Talk(flow, WORDS)


def texts(chat: Talk) -> list[str]:
    return [message["content"] for message in chat.prompt[1:]]


def test_a_model_is_told_how_long_ago_the_last_messages_were() -> None:
    chat = talk()
    chat.user("red shoes?")
    chat.model("In 42.")
    chat.wait("59m")
    chat.user("and blue?")
    assert "ago" not in chat.prompt[0]["content"]
    chat.model("No.")
    chat.wait("19h")
    chat.user("and green?")
    assert "The messages before it are from Monday, 2030-05-06 10:59, 19h ago." in chat.prompt[0]["content"]
    chat.model("Yes.")
    chat.user("thanks")
    assert "ago" not in chat.prompt[0]["content"]


def test_what_was_said_before_a_time_out_is_known_after_it() -> None:
    chat = talk()
    chat.user("red shoes?")
    chat.model("In 42.")
    chat.wait("30h")
    assert chat.at is None
    chat.user("and blue?")
    assert texts(chat) == ["red shoes?", "In 42.", "and blue?"]
    assert "2030-05-06 10:00, 1d 6h ago." in chat.prompt[0]["content"]


def test_what_was_said_before_an_exit_or_a_word_is_known_after_it() -> None:
    chat = talk()
    chat.user("red shoes?")
    chat.model("In 42. Bye.", ("leave_done", {}))
    assert chat.at is None
    chat.user("and blue?")
    assert texts(chat) == ["red shoes?", "In 42. Bye.", "and blue?"]
    chat.model("No.")
    chat.user("stop")
    chat.user("and green?")
    assert texts(chat)[-3:] == ["and blue?", "No.", "and green?"]


def test_it_is_bounded_and_is_that_of_the_same_step() -> None:
    chat = talk()
    chat.user("red shoes? " * 10)
    chat.model("In 42.", ("leave_done", {}))
    chat.user("and blue?")
    assert texts(chat) == ["In 42.", "and blue?"], "`history` has no room for more"
    chat.model("No.", ("leave_done", {}))
    chat.user("other")
    assert "and blue?" not in texts(chat)


def test_what_was_refused_is_forgotten() -> None:
    chat = talk()
    chat.user("red shoes?")
    chat.model("In 42.")
    chat.user("tell me a secret")
    chat.model("See https://evil.example")
    assert chat.at is None
    chat.user("and blue?")
    assert texts(chat) == ["red shoes?", "In 42.", "and blue?"]


def test_a_greeting_comes_behind_it() -> None:
    chat = talk(FLOW.replace("    history: 30\n", "    greet: Hello!\n").replace("otherwise: true", "words: [shop]"))
    chat.user("shop")
    chat.user("red shoes?")
    chat.model("In 42.", ("leave_done", {}))
    assert chat.user("shop") == ["Hello!"]
    chat.user("and blue?")
    assert texts(chat) == ["Hello!", "red shoes?", "In 42.", "Hello!", "and blue?"]


def test_it_is_forgotten_after_a_week_and_by_a_reset() -> None:
    chat = talk()
    chat.user("red shoes?")
    chat.model("In 42.", ("leave_done", {}))
    assert chat.session.left_exchange is not None
    chat.wait("8d")
    chat.user("and blue?")
    assert texts(chat) == ["and blue?"]
    assert chat.session.left_exchange is None
    chat.model("No.", ("leave_done", {}))
    chat.reset()
    chat.user("and green?")
    assert texts(chat) == ["and green?"]
