"""What a bot's own Python is told of a conversation: decided in the turn, as effects."""

from typing import Any

from bot import on
from bot.core.effects import RunHook
from tests.talk import BOT, CONTACT, Talk

FLOWS = """
flow: main
start: {otherwise: true}
vars: {name: text, n: {type: integer, value: 0}}
steps:
  name: {ask: Your name?, save: name, skip: [skip], timeout: {after: 1h, then: end}}
  find: {call: find, with: {name: "{{ name }}"}, errors: {NotFound: end, else: sorry}}
  person: {handoff: {team: sales, note: "It is {{ name }}.", say: Wait.}, closed: end}
  sorry: {say: Sorry., then: end}
---
flow: broken
start: {words: [broken]}
steps: {a: {say: "{{ 1 / 0 }}", then: end}}
---
flow: hello
start: {words: [hello]}
steps: {a: {say: Hello., then: end}}
---
flow: outer
start: {words: [outer]}
steps: {a: {run: /hello}, b: {ask: More?, options: [Yes]}}
"""


class NotFound(LookupError): ...


def talk(*hooks: Any, flows: str = FLOWS, bot: str = BOT) -> Talk:
    from bot import handler

    @handler("find", errors=[NotFound])
    def find(name: str | None) -> None: ...

    return Talk(flows, bot, handlers={"find": find, **{hook.__name__: hook for hook in hooks}})


def told(talk: Talk) -> list[RunHook]:
    return [effect for effect in talk.effects if isinstance(effect, RunHook)]


@on("end")
def ended(contact: str) -> None: ...


@on("error")
def failed(reason: str) -> None: ...


@on("handoff")
def handed(team: str) -> None: ...


def test_a_hook_is_told_when_the_contact_is_in_no_flow_any_more() -> None:
    going = talk(ended)
    going.user("hi")
    assert told(going) == []
    going.wait("1h")
    (tell,) = told(going)
    at, variables = tell.told.pop("at"), tell.told.pop("vars")
    assert tell == RunHook("end/ended", {"contact": CONTACT, "flow": "main", "expired": True})
    assert (at, variables["name"]) == (going.now, None)


def test_a_conversation_of_one_turn_ends_too() -> None:
    going = talk(ended)
    going.user("hello")
    assert [(tell.told["flow"], tell.told["expired"]) for tell in told(going)] == [("hello", False)]


def test_who_leaves_by_a_word_has_not_let_the_time_expire() -> None:
    going = talk(ended, bot="name: T\ndefaults: {timeout: {after: 20h, then: end}}\nwords: {stop: {then: end}}\n")
    going.user("hi")
    going.user("stop")
    assert [(tell.told["flow"], tell.told["expired"]) for tell in told(going)] == [("main", False)]


def test_a_flow_that_returns_to_its_caller_is_no_end() -> None:
    going = talk(ended)
    going.user("outer")
    assert told(going) == []
    going.user("Yes")
    assert [tell.told["flow"] for tell in told(going)] == ["outer"]


def test_a_reset_is_an_end_and_where_nothing_was_nothing_ends() -> None:
    going = talk(ended)
    going.reset()
    assert told(going) == []
    going.user("hi")
    going.reset()
    assert [tell.told["flow"] for tell in told(going)] == ["main"]


def test_a_hook_of_a_flow_hears_of_that_flow_only() -> None:
    @on("end", flow="hello")
    def of_hello() -> None: ...

    @on("end", flow="main")
    def of_main() -> None: ...

    going = talk(of_hello, of_main)
    going.user("hello")
    assert [tell.hook for tell in told(going)] == ["end/of_hello"]


def test_a_failure_that_only_the_transition_for_all_others_takes_is_told() -> None:
    going = talk(failed)
    going.user("hi")
    going.user("Ann")
    going.fails("timeout")
    (tell,) = told(going)
    assert (tell.told["flow"], tell.told["step"], tell.told["reason"]) == ("main", "find", "it went wrong")


def test_a_failure_with_a_transition_of_its_own_is_expected() -> None:
    going = talk(failed)
    going.user("hi")
    going.user("Ann")
    going.fails("NotFound")
    assert told(going) == []


def test_a_failure_that_nothing_takes_is_told_once_and_then_the_end() -> None:
    going = talk(failed, ended)
    going.user("broken")
    error, end = told(going)
    assert (error.hook, error.told["flow"], error.told["step"]) == ("error/failed", "broken", "a")
    assert "a division by zero" in error.told["reason"]
    assert (end.hook, end.told["flow"]) == ("end/ended", "broken")


def test_a_hand_over_is_told_with_its_team_and_note() -> None:
    going = talk(handed)
    going.user("hi")
    going.user("Ann")
    going.returns()
    (tell,) = told(going)
    del tell.told["at"]
    assert tell.told == {
        "contact": CONTACT, "flow": "main", "step": "person", "team": "sales", "note": "It is Ann.",
    }  # fmt: skip


def test_without_hooks_nothing_is_told() -> None:
    going = talk()
    going.user("hello")
    assert told(going) == []
