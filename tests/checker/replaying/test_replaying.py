"""A recorded conversation is compared with edited flows, up to the first difference."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot import handler
from bot.checker.replaying.conversation_replay import BEGUN_BEFORE, EDITED, replay
from bot.checker.replaying.differences import DifferenceKind, ReplayDifference, same_effect
from bot.core.effects import Send
from bot.core.events import Event
from bot.core.messages import TextMessage
from bot.core.own_addresses import OwnAddresses
from bot.core.turn import Conversation
from bot.language.flow.library import Library
from tests.checker.replaying.recorded import Tape
from tests.engine.test_random import EVENTS, Contact, bots
from tests.searches import tries
from tests.talk import BOT, CONTACT, Talk, library_of

SHOP = """
flow: main
start: {otherwise: true}
vars: {cups: {type: integer}, price: {type: number}, city: {type: text, keep: true}}
steps:
  hello: {say: "Hello, {{ contact.name | default('you') }}."}
  city: {ask: Which city?, save: city, timeout: {after: 3h, say: Bye., then: end}}
  size: {ask: Which size?, options: {Small: next, Large: next, Stop: end}}
  cups: {ask: How many?, save: cups}
  price: {call: price, with: {cups: "{{ cups }}"}, save: price, errors: {else: end}}
  sure: {ask: "{{ price }}, sure?", options: {"Yes": thanks, "No": cups}}
  thanks: {say: Thank you., tag: buyer, then: end}
"""
HELLO, PRICE = (f"{line}\n" for line in SHOP.splitlines() if line.startswith(("  hello:", "  price:")))


@handler("price")
def price(cups: int) -> float:
    return cups * 1.5


class Taped(Talk):
    """A talk with the shop that is recorded."""

    def __init__(self, flows: str = SHOP, bot: str = BOT) -> None:
        super().__init__(flows, bot, {"price": price})
        self.tape = Tape()

    def take(self, event: Event) -> list[Any]:
        before = self.session
        said = super().take(event)
        assert self.turn is not None
        self.tape.add(before, event, self.turn)
        return said

    def against(self, flows: str, bot: str = BOT) -> list[ReplayDifference | None]:
        """The first difference of each conversation, with these flows."""
        library = library_of(flows, bot, {"price": price})
        return [replay(library, conversation).difference for conversation in self.tape.conversations(self.session)]


@pytest.fixture
def talk() -> Taped:
    """Somebody has bought three cups."""
    talk = Taped()
    talk.user("hi"), talk.user("Oslo"), talk.tap("Small"), talk.user("3"), talk.returns(4.5), talk.tap("Yes")
    assert talk.at is None and talk.session.tags == ("buyer",)
    return talk


def the(differences: list[ReplayDifference | None]) -> ReplayDifference:
    (found,) = differences
    assert found is not None
    return found


def shown(found: ReplayDifference) -> tuple[DifferenceKind, str, tuple[str, ...], tuple[str, ...]]:
    return found.kind, found.at or found.was_at, found.before, found.after


def test_the_same_flows_do_the_same(talk: Taped) -> None:
    assert talk.against(SHOP) == [None]


def test_a_voice_note_says_again_what_it_said() -> None:
    bot = BOT + "transcribe: {http: 'POST https://speech.example/x', form: {file: '{{ voice }}'}}\n"
    talk = Taped(bot=bot)
    talk.voice(), talk.returns({"status": 200, "answer": "hi"})
    talk.voice(), talk.returns({"status": 200, "answer": {"text": "Oslo"}})
    talk.reset()
    assert [each for each in talk.against(SHOP, bot) if each is not None] == []
    found = the(talk.against(SHOP, BOT)[:1])
    assert found.before[0] == "transcribe the voice note"
    found = the(talk.against(SHOP.replace("Which size?", "How large?"), bot)[-1:])
    assert (found.before[0], found.after[0]) == ("Which size?", "How large?")


def test_an_edited_text_is_the_difference_at_its_step_and_line(talk: Taped) -> None:
    found = the(talk.against(SHOP.replace("How many?", "How many cups?")))
    assert shown(found) == (DifferenceKind.SAYS, "main/cups", ("How many?",), ("How many cups?",))
    assert (found.mark.line if found.mark else 0, found.number) == (9, 3)


def test_a_text_after_another_in_one_turn_is_that_of_its_step(talk: Taped) -> None:
    found = the(talk.against(SHOP.replace("Which city?", "What city?")))
    assert shown(found) == (DifferenceKind.SAYS, "main/city", ("Which city?",), ("What city?",))


def test_an_option_that_is_gone_is_a_difference_in_the_choices(talk: Taped) -> None:
    found = the(talk.against(SHOP.replace("Large: next, ", "")))
    assert found.kind is DifferenceKind.OFFERS and "[Large]" in found.before and "[Large]" not in found.after


def test_a_new_message_and_one_that_is_gone_stand_beside_nothing(talk: Taped) -> None:
    greeted = SHOP.replace("  hello: {", "  first: {say: Welcome!}\n  hello: {")
    assert shown(the(talk.against(greeted))) == (DifferenceKind.MORE, "main/first", (), ("Welcome!",))
    silent = SHOP.replace(HELLO, "")
    assert shown(the(talk.against(silent))) == (DifferenceKind.LESS, "main/hello", ("Hello, you.",), ())


def test_renamed_steps_do_the_same_and_what_was_tapped_is_theirs(talk: Taped) -> None:
    renamed = SHOP.replace("  cups: {ask", "  count: {ask").replace('"No": cups', '"No": count')
    renamed = renamed.replace("  price: {call", "  work_out: {call").replace("  size: {", "  a: {set: {}}\n  format: {")
    assert talk.against(renamed) == [None]


def test_the_same_choice_that_leads_elsewhere_is_found_where_it_leads(talk: Taped) -> None:
    found = the(talk.against(SHOP.replace('"Yes": thanks', '"Yes": hello')))
    assert shown(found) == (DifferenceKind.SAYS, "main/hello", ("Thank you.",), ("Hello, you.",))
    assert found.number == 6


def test_how_long_a_result_is_waited_for_is_no_difference(talk: Taped) -> None:
    assert talk.against(SHOP.replace("save: price,", "save: price, within: 30s, tries: 3,")) == [None]


def test_a_call_with_other_arguments_has_no_recorded_result(talk: Taped) -> None:
    found = the(talk.against(SHOP.replace('"{{ cups }}"', '"{{ cups + 1 }}"')))
    assert shown(found) == (DifferenceKind.ASKS, "main/price", ("call price", "cups: 3"), ("call price", "cups: 4"))


def test_a_call_that_is_not_made_any_more_is_told(talk: Taped) -> None:
    assert the(talk.against(SHOP.replace(PRICE, ""))).kind is DifferenceKind.ASKS_NOT


def test_what_falls_due_sooner_is_something_that_happens_by_itself() -> None:
    talk = Taped()
    talk.user("hi")
    talk.pass_time(timedelta(hours=2))
    talk.user("Oslo")
    found = the(talk.against(SHOP.replace("after: 3h", "after: 1h")))
    assert shown(found) == (DifferenceKind.BY_ITSELF, "main/city", (), ("Bye.",))
    assert found.when == talk.now - timedelta(hours=1)
    assert talk.against(SHOP.replace("after: 3h", "after: 150m")) == [None]


def test_what_falls_due_later_does_not_happen_yet() -> None:
    talk = Taped()
    talk.user("hi")
    talk.wait("4h")
    found = the(talk.against(SHOP.replace("after: 3h", "after: 5h")))
    assert shown(found) == (DifferenceKind.LESS, "main/city", ("Bye.",), ())


def test_a_bot_that_was_asleep_has_woken_nobody_too_early() -> None:
    talk = Taped()
    talk.user("hi")
    talk.pass_time(timedelta(hours=4))  # nobody took the time-out
    talk.user("Oslo")
    assert talk.against(SHOP) == [None]


def test_what_stays_behind_otherwise_is_told(talk: Taped) -> None:
    found = the(talk.against(SHOP.replace("save: city, t", "t")))
    assert found.kind is DifferenceKind.LEAVES and "city: Oslo" in found.before and "city: Oslo" not in found.after


def test_what_fails_now_says_why(talk: Taped) -> None:
    found = the(talk.against(SHOP.replace("say: Thank you.", 'say: "{{ 1 / 0 }}"')))
    assert found.kind is DifferenceKind.LESS and "main/thanks" in str(found.why)


def test_each_conversation_begins_with_what_was_known_then(talk: Taped) -> None:
    talk.user("hello"), talk.user("Rome"), talk.tap_id(talk.shown[-1].id, "Stop")
    first, second = talk.tape.conversations(talk.session)
    assert (len(first.turns), len(second.turns)) == (6, 3)
    assert second.turns[0].session is not None and second.turns[0].session.kept_variables == {"city": "Oslo"}
    assert talk.against(SHOP) == [None, None]
    ours, theirs = talk.against(SHOP.replace("Thank you.", "Thanks."))
    assert ours is not None and theirs is None


def test_a_conversation_whose_beginning_is_not_kept_is_not_compared(talk: Taped) -> None:
    (whole,) = talk.tape.conversations(talk.session)
    cut = Conversation(whole.contact, whole.turns[1:], whole.left)
    assert replay(talk.library, cut).stopped == BEGUN_BEFORE


def test_a_conversation_that_has_met_another_edit_is_compared_up_to_there() -> None:
    talk = Taped()
    talk.user("hi")
    talk.library = library_of(SHOP.replace("Which city?", "What city?"), BOT, {"price": price})
    talk.user("Oslo")
    (conversation,) = talk.tape.conversations(talk.session)
    assert replay(library_of(SHOP, BOT, {"price": price}), conversation).stopped == EDITED


def test_a_model_that_is_told_something_else_has_not_answered_that() -> None:
    ask = "flow: main\nstart: {otherwise: true}\nsteps: {help: {ai: Be kind., exits: {done: end}, errors: {else: end}}}"
    talk = Taped(ask)
    talk.user("hi"), talk.model("Hello!")
    assert talk.against(ask) == [None]
    found = the(talk.against(ask.replace("Be kind.", "Be brief.")))
    assert found.kind is DifferenceKind.ASKS
    assert any("Be brief." in line for line in found.after) and not any("Be brief." in line for line in found.before)


class TapedContact(Contact):
    """Somebody who does anything, recorded."""

    def __init__(self, library: Library, other: Library) -> None:
        super().__init__(library, other)
        self.tape = Tape()

    def take(self, event: Event) -> list[Any]:
        before = self.session
        said = super().take(event)
        assert self.turn is not None
        self.tape.add(before, event, self.turn)
        return said


@settings(max_examples=tries(4, 15))
@given(bots(), st.lists(EVENTS.filter(lambda event: event[0] != "edit"), min_size=5, max_size=20))
def test_whatever_happens_unedited_flows_do_the_same(
    bots: tuple[Library, Library], events: list[tuple[str, Any]]
) -> None:
    contact = TapedContact(*bots)
    contact.user("hi")
    for kind, detail in events:
        contact.meet(kind, detail)
    for conversation in contact.tape.conversations(contact.session):
        assert replay(contact.library, conversation).difference is None
        edited = replay(contact.other, conversation)
        assert edited.difference is None or edited.difference.before != edited.difference.after


def test_the_address_of_a_signal_is_no_difference_whatever_key_the_store_has() -> None:
    ours, theirs = (
        Send(TextMessage(f"Pay: {OwnAddresses(base, key).signal('paid', CONTACT, 1, 1)}"))
        for base, key in (("https://bot.example", "a"), ("https://other.example", "b"))
    )
    assert same_effect(ours, theirs)
    assert not same_effect(ours, Send(TextMessage("Pay: https://pay.example")))
