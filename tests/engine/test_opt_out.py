"""A contact who opts out is answered, and hears nothing that it does not ask for (docs/language/routing.md)."""

from typing import Any

import pytest

from bot import handler
from bot.core.effects import ReadContact
from bot.core.events import ContactChanged, ConversationAssigned, ConversationOpened, MessageReceived, SendEnded
from bot.core.session import Session
from bot.language.flow.documents import Source
from bot.language.flow.library import load
from bot.language.python.gathered import extensions_in
from tests.talk import BOT, CONTACT, Talk

OPT_OUT = BOT + "opt_out: {words: [stop, stop it], say: No more messages., back: [start]}\n"
FLOWS = """
flow: main
start: {words: [hi, start]}
vars: {size: {type: text}}
steps:
  size:
    ask: Which size?
    options: [Small, Large]
    save: size
    remind: {after: 1h, say: Still there?}
    timeout: {after: 3h, say: Another time., then: free}
    schedule: [{flow: news, after: 2h}, {flow: news, every: "0 9 * * 1", name: weekly}]
  done: {say: "{{ size }}.", then: end}
  free: {call: shop.free, then: freed, errors: {else: end}}
  freed: {say: It is free again., then: size}
---
flow: news
start: {event: conversation.opened}
steps: {say: {say: News!, then: end}}
---
flow: other
start: {otherwise: true}
steps: {say: {say: You are welcome., then: end}}
"""


@handler("shop.free")
def free() -> None:
    """Free what was kept for the contact."""


@pytest.fixture
def talk() -> Talk:
    return Talk(FLOWS, OPT_OUT, handlers={"free": free})


def rule(talk: Talk) -> str:
    assert talk.turn is not None
    return talk.turn.trace.rule


def notes(talk: Talk) -> list[str]:
    assert talk.turn is not None
    return talk.turn.trace.notes


@pytest.mark.parametrize(("said", "word"), [("stop", "stop"), (" STOP! ", "stop"), ("Stop it.", "stop it")])
def test_it_ends_all_flows_and_all_that_is_scheduled(talk: Talk, said: str, word: str) -> None:
    talk.user("hi"), talk.user("Small"), talk.user("hi")
    assert [plan.name for plan in talk.session.plans] == ["news", "weekly"]
    assert talk.user(said) == ["No more messages."]
    assert (talk.at, talk.session.plans, talk.session.tags) == (None, (), ("opted_out",))
    assert rule(talk) == f'opt-out "{word}"'
    assert notes(talk) == [
        "news is cancelled: the contact has opted out",
        "weekly is cancelled: the contact has opted out",
    ]
    assert talk.turn is not None and talk.turn.wake_at is None
    assert ReadContact() in talk.effects
    assert talk.wait("30d") == []


def test_it_is_heard_as_the_first_word_of_all_and_twice(talk: Talk) -> None:
    assert talk.user("stop") == ["No more messages."]
    assert talk.user("stop") == ["No more messages."]


def test_who_has_opted_out_is_answered(talk: Talk) -> None:
    talk.user("stop")
    assert talk.user("good to know") == ["You are welcome."]
    assert talk.user("hi") == [["Which size?", "Small", "Large"]]
    assert talk.user("Large") == ["Large."]
    assert talk.session.plans == ()
    assert notes(talk)[-2:] == [
        "news is cancelled: the contact has opted out",
        "weekly is cancelled: the contact has opted out",
    ]


def test_time_says_nothing_to_who_has_opted_out_and_what_is_to_be_done_is_done(talk: Talk) -> None:
    talk.user("stop"), talk.user("hi")
    assert talk.wait("2h") == []
    assert talk.at == "main/size"
    assert talk.wait("2h") == []
    assert [effect.handler for _, effect in talk.calls] == ["shop.free"]
    assert notes(talk) == ["not sent: the contact has opted out"]
    assert talk.returns() == []
    assert talk.at is None
    assert notes(talk)[-1] == "ended: the contact has opted out"
    assert talk.user("hi") == [["Which size?", "Small", "Large"]]


def test_a_result_that_the_contact_waits_for_is_told(talk: Talk) -> None:
    asks = "flow: main\nstart: {words: [hi]}\nsteps: {a: {call: shop.free, errors: {else: end}}, b: {say: Done., then: end}}\n"
    talk = Talk(asks, OPT_OUT, handlers={"free": free})
    talk.user("stop"), talk.user("hi")
    assert talk.returns() == ["Done."]


def test_a_question_that_only_time_would_put_ends_the_conversation() -> None:
    waits = "flow: main\nstart: {words: [hi]}\nsteps: {a: {wait: 2h}, b: {ask: And now?}}\n"
    talk = Talk(waits, OPT_OUT)
    talk.user("stop"), talk.user("hi")
    assert (talk.wait("3h"), talk.at) == ([], None)


def test_no_program_starts_a_flow(talk: Talk) -> None:
    talk.user("stop")
    for busy in ("after", "skip", "interrupt"):
        assert talk.start("news", busy) == []
        assert rule(talk) == "no start of news by api: the contact has opted out"
        assert talk.session.plans == ()


def test_no_event_of_the_gateway_starts_a_flow(talk: Talk) -> None:
    talk.user("stop")
    assert talk.take(ConversationOpened("o1", CONTACT, talk.now)) == []
    assert rule(talk) == "no start of news by conversation.opened: the contact has opted out"


def test_back_ends_it_and_is_taken_like_any_other_message(talk: Talk) -> None:
    talk.user("hi"), talk.user("stop")
    assert talk.user("Start!") == [["Which size?", "Small", "Large"]]
    assert talk.session.tags == ()
    assert ReadContact() in talk.effects
    assert talk.wait("1h") == ["Still there?"]
    assert talk.user("Small") == ["Small."]
    assert talk.wait("2h") == ["News!"]


def test_back_means_nothing_of_its_own_to_others(talk: Talk) -> None:
    assert talk.user("start") == [["Which size?", "Small", "Large"]]
    assert notes(talk) == []


@pytest.mark.parametrize("how", ["a flow", "an agent"])
def test_the_tag_means_the_same_wherever_it_comes_from(how: str) -> None:
    leave = "---\nflow: leave\nstart: {words: [leave]}\nsteps: {a: {say: Bye., tag: opted_out, then: end}}\n"
    talk = Talk(FLOWS + leave, OPT_OUT, handlers={"free": free})
    talk.user("hi"), talk.user("Small")
    if how == "a flow":
        assert talk.user("leave") == ["Bye."]
    else:
        talk.take(ContactChanged("c1", CONTACT, talk.now, "contact.updated", tags=("opted_out",)))
    assert talk.session.plans == ()
    talk.start("news")
    assert rule(talk) == "no start of news by api: the contact has opted out"


def test_it_is_heard_while_an_agent_has_the_conversation(talk: Talk) -> None:
    talk.user("hi")
    talk.take(ConversationAssigned("a1", CONTACT, talk.now, agent="Ann"))
    assert talk.user("stop") == ["No more messages."]
    assert (talk.at, talk.session.agent, talk.session.opted_out) == (None, "Ann", True)


def test_it_is_heard_where_an_edit_took_the_step_away(talk: Talk) -> None:
    talk.user("hi")
    talk.edit("flow: else\nstart: {otherwise: true}\nsteps: {a: {say: Hello., then: end}}\n", OPT_OUT)
    assert talk.user("stop") == ["No more messages."]


def test_a_say_that_fails_does_not_keep_anybody_in() -> None:
    talk = Talk(
        FLOWS, OPT_OUT.replace("No more messages.", '"{{ contact.tags[9] }}{{ 1 // 0 }}"'), handlers={"free": free}
    )
    talk.user("hi"), talk.user("stop")
    assert (talk.at, talk.session.opted_out, talk.session.plans) == (None, True, ())


def test_a_tap_on_a_choice_of_the_flow_is_no_opt_out_and_a_quick_reply_of_a_template_is(talk: Talk) -> None:
    talk.user("hi")
    assert talk.tap("Small") == ["Small."]
    assert talk.tap_id("whatever", "Stop") == ["No more messages."]


@pytest.mark.parametrize("say", ["Bye.", "{{ 1 / 0 }}"])
def test_a_link_that_fails_after_the_word_is_not_told_in_a_text(say: str) -> None:
    tells = "flow: main\nstart: {otherwise: true}\nsteps: {a: {say: Pay here., link: {title: Pay, url: 'https://a.example'}, then: end}}\n"
    talk = Talk(tells, OPT_OUT.replace("No more messages.", f"'{say}'"))
    talk.user("hi")
    ref, (link,) = talk.last_ref, talk.sent
    refused = SendEnded(f"failed:{ref}", CONTACT, talk.now, ref, "refused", "131026: no", link)
    talk.user("stop")
    assert talk.take(refused) == []
    assert talk.turn is not None and not talk.turn.in_plain_text, "so it is a dead letter"
    talk.user("hi")
    assert talk.take(refused) == ["Pay here.\n\nPay: https://a.example"]


def test_words_and_say_are_the_languages_own() -> None:
    bot = OPT_OUT + "languages: [en, id]\n"
    locale = (
        "bot: {opt_out: {words: [berhenti], say: Tidak ada pesan lagi., back: [mulai]}}\n"
        "main: {size: {ask: Ukuran apa?, options: {Small: Kecil, Large: Besar}, remind: {say: Masih ada?}, "
        "timeout: {say: Lain kali.}}, freed: {say: Ada lagi.}}\nnews: {say: {say: Berita!}}\n"
        "other: {say: {say: Terima kasih.}}\n"
    )
    sources = [
        Source("bot.yml", bot.encode()),
        Source("main.yml", FLOWS.encode()),
        Source("locales/id.yml", locale.encode()),
    ]
    library = load(sources, extensions_in([{"free": free}])).library
    assert library is not None
    talk = Talk(library)
    talk.session = Session(CONTACT, language="id")
    assert talk.user("berhenti") == ["Tidak ada pesan lagi."]
    assert (talk.user("mulai"), talk.session.opted_out) == (["Terima kasih."], False)
    assert talk.user("stop") == ["Tidak ada pesan lagi."]


def test_without_words_nobody_opts_out(talk: Talk) -> None:
    talk = Talk(FLOWS, handlers={"free": free})
    assert talk.user("stop") == ["You are welcome."]
    message: Any = MessageReceived("m1", CONTACT, talk.now, talk.now, "text", None)
    assert talk.take(message) == ["You are welcome."]


def test_an_edit_leads_on_also_after_a_start_that_is_refused(talk: Talk) -> None:
    talk.user("stop"), talk.user("hi")
    talk.edit("flow: other\nstart: {otherwise: true}\nsteps: {say: {say: Hello., then: end}}\n", OPT_OUT)
    talk.start("other")
    assert rule(talk) == "no start of other by api: the contact has opted out"
    assert talk.turn is not None and talk.turn.wake_at == talk.now
    assert talk.wait("1s") == []
    assert talk.at is None
