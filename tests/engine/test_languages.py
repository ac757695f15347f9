"""A bot that speaks several languages, at the engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.effects import Send
from bot.core.messages import ListMessage, TemplateMessage
from bot.core.session import Session
from bot.language.flow.documents import Source, read_documents
from bot.language.flow.library import Library, load
from bot.language.flow.translations import Locale, all_spots, extracted
from bot.language.keys.text_shapes import Spot
from bot.language.python.gathered import Extensions
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Scalar
from tests.talk import CONTACT, Talk, choices_of, said

BOT = """
name: T
languages: [en, id, de]
words:
  stop: {say: Bye, then: end}
  bahasa: {set: {language: id}, then: again}
  deutsch: {set: {language: de}, say: Gut.}
  menu: /main
defaults:
  timeout: {after: 20h, then: end}
  retry: {say: Pardon?, max: 3, else: end}
  window_closed: {template: {name: back, language: en}}
"""
FLOW = """
flow: main
start: {words: [hi]}
interrupted: ask
vars: {drink: {type: choice, of: [Tea, Gift, Coffee]}, size: {type: text}}
steps:
  drink: {ask: What to drink?, options: [Tea, Gift, Coffee], save: drink}
  size: {ask: Which size?, buttons: {Small: {value: s}, Large: {value: l}}, save: size, skip: [whatever]}
  done: {say: "{{ drink }}, {{ size | default('any size') }}, {{ today | date }}."}
  rate: {ask: Fine?, list: {sections: {Good: [Great, Well], Bad: [Poor]}}}
---
flow: speak
start: {words: [speak]}
steps:
  which: {ask: "Now {{ language }}. Which?", options: {English: {value: en}, Indonesian: {value: id}}, accepts: text, save: language, errors: {else: no}}
  said: {say: This is English., then: end}
  no: {say: Not that., then: end}
---
flow: news
start: {words: [news]}
steps:
  tell: {template: {name: news, language: en, body: [Today]}, replies: {More: more, Enough: end}}
  more: {say: Nothing more., then: end}
"""
INDONESIAN = """
main:
  start: {words: [halo]}
  drink: {ask: Mau minum apa?, options: {Tea: Teh, Gift: Hadiah, Coffee: {title: Kopi, words: [kopi panas]}}}
  size: {ask: Ukuran apa?, buttons: {Small: Kecil, Large: Besar}, skip: terserah}
  done: {say: "{{ drink }}, {{ size | default('apa saja') }}, {{ today | date }}."}
  rate: {ask: Bagus?, list: {sections: {Good: {title: Bagus, Great: Hebat, Well: Baik}, Bad: {title: Buruk, Poor: Jelek}}}}
speak: {which: {ask: "Sekarang {{ language }}. Yang mana?"}, said: {say: Ini bahasa Indonesia.}}
news: {tell: {template: {language: id, body: [Hari ini]}, replies: {More: Lagi}}}
bot:
  words: {stop: {words: [berhenti], say: Dadah}}
  defaults: {retry: {say: Bagaimana?}, window_closed: {template: {language: id}}}
"""
GERMAN = """
main:
  drink: {options: {Tea: Gift, Gift: Geschenk}}
bot: {words: {stop: [aufhören]}}
"""


def library(bot: str = BOT, flow: str = FLOW, **locales: str) -> Library:
    files = {"bot.yml": bot, "flows/all.yml": flow, **{f"locales/{name}.yml": text for name, text in locales.items()}}
    found = load([Source(name, text.encode()) for name, text in files.items()], Extensions())
    assert found.library is not None, "\n".join(map(str, found.problems))
    return found.library


@pytest.fixture
def talk() -> Talk:
    return Talk(library(id=INDONESIAN, de=GERMAN))


def test_the_first_language_is_the_one_of_the_flows(talk: Talk) -> None:
    assert talk.user("halo") == [["What to drink?", "Tea", "Gift", "Coffee"]]
    assert talk.session.language is None


def test_a_word_changes_the_language_in_the_middle_of_a_question(talk: Talk) -> None:
    talk.user("hi")
    assert talk.user("bahasa") == [["Mau minum apa?", "Teh", "Hadiah", "Kopi"]]
    assert talk.session.language == "id"
    assert talk.user("hmm") == ["Bagaimana?"]
    assert talk.user("kopi") == [["Ukuran apa?", "Kecil", "Besar"]]


def test_a_word_changes_the_language_of_a_contact_who_is_in_no_flow(talk: Talk) -> None:
    assert talk.user("deutsch") == ["Gut."]
    assert talk.session.language == "de"


def test_an_answer_in_one_language_is_known_in_the_others(talk: Talk) -> None:
    talk.user("hi")
    talk.user("kopi panas")
    assert talk.vars["drink"] == "Coffee"
    assert talk.user("kecil")[0].startswith("Coffee, s, 6 May 2030")
    talk.user("menu")
    talk.user("bahasa")
    talk.user("tea")
    assert talk.vars["drink"] == "Tea"
    assert talk.user("whatever")[0].startswith("Tea, apa saja, 6 Mei 2030")


def test_a_title_in_the_contacts_own_language_counts_before_another_languages(talk: Talk) -> None:
    talk.user("hi")
    talk.user("gift")
    assert talk.vars["drink"] == "Gift"
    talk.user("menu")
    talk.user("deutsch")
    talk.user("gift")
    assert talk.vars["drink"] == "Tea"


def test_of_other_languages_that_of_the_flows_counts_first_and_where_two_more_disagree_it_is_no_answer() -> None:
    flow = "flow: main\nstart: {words: [hi]}\nsteps: {a: {ask: A, options: {Gift: end, Tea: {say: Tea!, then: again}}}}"
    locale = "main: {a: {options: {Gift: %s, Tea: %s}}}"
    others = {"id": locale % ("Hadiah", "Teh"), "de": locale % ("Mus", "Gift"), "nl": locale % ("Kado", "Mus")}
    talk = Talk(library(BOT.replace("[en, id, de]", "[en, id, de, nl]"), flow, **others))
    talk.user("hi")
    talk.user("bahasa")
    assert talk.user("mus") == ["Pardon?"]
    assert talk.user("gift") == []
    assert talk.at is None


def test_a_button_of_before_the_change_is_the_same_answer(talk: Talk) -> None:
    talk.user("hi")
    (coffee,) = (choice.id for choice in talk.shown if choice.title == "Coffee")
    talk.user("bahasa")
    assert talk.tap_id(coffee) == [["Ukuran apa?", "Kecil", "Besar"]]
    assert talk.vars["drink"] == "Coffee"


def test_a_choice_that_is_written_is_known_in_every_language() -> None:
    flow = """
flow: main
start: {words: [hi]}
vars: {colour: {type: choice, of: [red, blue]}}
steps: {a: {ask: Which colour?, save: colour}, b: {say: "{{ colour }}", then: a}}
"""
    talk = Talk(library(flow=flow, id="main: {vars: {colour: {of: {red: merah, blue: [biru, nila]}}}}"))
    talk.user("hi")
    assert [talk.user(text)[0] for text in ("Merah!", "nila", "blue", "kuning")] == ["red", "blue", "blue", "Pardon?"]


def test_headings_are_translated_and_what_stands_below_is_one_answer(talk: Talk) -> None:
    talk.user("hi")
    talk.user("bahasa")
    talk.user("teh")
    last = talk.user("besar")
    assert last[-1] == ["Bagus?", "Hebat", "Baik", "Jelek"]
    assert isinstance(shown := talk.sent[-1], ListMessage)
    assert [section.title for section in shown.sections] == ["Bagus", "Buruk"]
    talk.user("poor")
    assert talk.at is None


def test_words_of_every_language_are_heard_in_all_of_them(talk: Talk) -> None:
    talk.user("halo")
    assert talk.user("aufhören") == ["Bye"]
    talk.user("hi")
    talk.user("bahasa")
    assert talk.user("stop") == ["Dadah"]


def test_a_question_saves_the_language_which_stays_with_the_contact(talk: Talk) -> None:
    assert talk.user("speak") == [["Now en. Which?", "English", "Indonesian"]]
    assert talk.user("indonesian") == ["Ini bahasa Indonesia."]
    assert talk.at is None
    assert talk.user("speak") == [["Sekarang id. Yang mana?", "English", "Indonesian"]]


def test_what_is_no_choice_is_one_of_the_languages_or_no_answer(talk: Talk) -> None:
    talk.user("speak")
    assert talk.user("xx") == ["Pardon?"]
    talk.user("de")
    assert talk.session.language == "de"


def test_a_value_that_the_bot_does_not_speak_is_a_mismatch() -> None:
    flow = "flow: f\nstart: {words: [hi]}\nsteps: {a: {say: A, set: {language: '{{ 1 ~ 2 }}'}, errors: {mismatch: b}}, b: {say: B}}"
    talk = Talk(library(flow=flow.replace("steps", "vars: {x: text}\nsteps"), bot=BOT.replace("  menu: /main\n", "")))
    assert talk.user("hi") == ["A", "B"]
    assert talk.session.language is None


def test_the_bots_own_words_are_in_the_language(talk: Talk) -> None:
    talk.user("hi")
    talk.user("bahasa")
    talk.user("news")
    talk.user("lagi")
    assert ["Lanjutkan yang tadi?", "Ya", "Tidak"] in [*map(said, talk.sent)]
    assert talk.user("ya") == [["Mau minum apa?", "Teh", "Hadiah", "Kopi"]]
    old = talk.shown[0].id
    talk.user("berhenti")
    assert talk.tap_id(old) == ["Itu pertanyaan sebelumnya."]


def test_a_template_goes_out_in_the_language_and_its_replies_are_known_in_all(talk: Talk) -> None:
    talk.user("deutsch")
    assert talk.user("news") == [["news", "Today"]]
    talk.user("lagi")
    assert talk.at is None
    talk.session.language = "id"
    assert talk.user("news") == [["news", "Hari ini"]]
    sent = talk.sent[-1]
    assert isinstance(sent, TemplateMessage) and sent.language == "id"
    assert talk.user("more") == ["Nothing more."]


def test_what_goes_when_the_window_is_closed_is_in_the_language(talk: Talk) -> None:
    talk.user("hi")
    talk.user("bahasa")
    assert isinstance(effect := talk.effects[-1], Send)
    assert effect.instead is not None and effect.instead.language == "id"


def test_a_language_that_the_bot_does_not_speak_any_more_is_the_first_one() -> None:
    talk = Talk(library(id=INDONESIAN))
    talk.session = Session(CONTACT, language="fr")
    assert talk.user("speak") == [["Now en. Which?", "English", "Indonesian"]]


def test_another_locale_is_no_edit_of_the_flow() -> None:
    talk = Talk(library(id=INDONESIAN))
    talk.user("hi")
    talk.user("bahasa")
    talk.library = library(id=INDONESIAN.replace("Mau minum apa?", "Minum apa?"))
    talk.user("teh")
    assert talk.vars["drink"] == "Tea"


def test_the_models_may_note_the_language() -> None:
    flow = """
flow: help
start: {otherwise: true}
steps:
  talk: {ai: "Answer in {{ language }}.", fill: {language: theirs}, exits: {done: thanks}, errors: {else: end}}
  thanks: {say: Thanks, then: end}
"""
    talk = Talk(library(BOT.replace("  menu: /main\n", ""), flow, id="help: {thanks: {say: Terima kasih}}"))
    talk.user("halo")
    assert "Answer in ⟦en⟧." in talk.prompt[0]["content"]
    assert talk.model("", ("remember", {"language": "id"}), ("leave_done", {})) == ["Terima kasih"]


SPOTS = [
    spot
    for spot in all_spots(
        read_documents([Source("bot.yml", BOT.encode()), Source("flows/all.yml", FLOW.encode())], Problems()), {}
    )
    if spot.required
]


@given(st.lists(st.sampled_from(SPOTS), unique_by=lambda spot: spot.path), st.data())
def test_whatever_is_translated_the_flows_go_the_same_ways(chosen: list[Spot], data: st.DataObject) -> None:
    """A contact who taps gets as far in any language, however much of it there is."""
    texts = {spot.path: Scalar(spot.node.mark, f"t{number}", f"t{number}") for number, spot in enumerate(chosen)}
    base = Talk(library(id=extracted(SPOTS, Locale("id", texts))))
    other = Talk(base.library)
    other.session = Session(CONTACT, language="id")
    other.checks = base.checks = False
    for talk in (base, other):
        talk.user("hi")
    while base.at is not None:
        index = data.draw(st.integers(0, len(offered(base)) - 1))
        base.tap_id(offered(base)[index])
        other.tap_id(offered(other)[index])
        assert (base.at, base.vars) == (other.at, other.vars)


def offered(talk: Talk) -> list[str]:
    return [choice.id for choice in choices_of(talk.sent[-1])]
