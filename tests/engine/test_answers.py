"""What conversations do with answers in people's words: checks, the variable's own words, languages, places."""

from bot.core.events import MessageReceived
from bot.core.values import Location
from tests.talk import CONTACT, Talk, problems_of

BOT = """
name: Test
timezone: Europe/Berlin
languages: [en, id]
defaults: {retry: {max: 2, else: /main/gone, say: Once more.}, timeout: {after: 20h, then: end}, errors: {else: /main/broken}}
"""
FLOWS = """
flow: main
start: {otherwise: true}
vars:
  taken: {type: list, value: [Ann]}
  nick: {type: text, max: 10, check: it not in taken, error: "Not {{ it }}."}
  day: {type: date, after: today, check: {if: (it | weekday) != "sunday", error: "{{ it | date }} is a Sunday."}}
steps:
  nick: {ask: Your name?, save: nick}
  day: {ask: Which day?, save: day}
  done: {say: "{{ nick }}, {{ day }}", then: end}
  gone: {say: Never mind., then: end}
  broken: {say: Something broke., then: end}
"""


def talk_of(flows: str = FLOWS) -> Talk:
    talk = Talk(flows, BOT)
    talk.user("hi")
    return talk


def test_the_variables_own_words_stand_in_place_of_the_retrys() -> None:
    talk = talk_of()
    assert talk.user("Ann") == ["Not Ann."]
    assert talk.user("a name that is far too long") == ["Not a name that is far too long."]
    assert talk.user("Ann") == ["Never mind."]


def test_a_check_has_an_error_of_its_own_and_other_answers_the_retry() -> None:
    talk = talk_of()
    assert talk.user("Bo") == ["Which day?"]
    assert talk.user("Sunday") == ["12 May 2030 is a Sunday."]
    assert talk.user("sometime") == ["Once more."]
    assert talk.user("Monday") == ["Bo, 2030-05-13"]


def test_an_answer_is_understood_in_the_contacts_language() -> None:
    talk = talk_of(FLOWS.replace("save: nick}", "save: nick, set: {language: id}}"))
    talk.user("Bo")
    assert talk.user("besok") == ["Bo, 2030-05-07"]


def test_a_check_that_cannot_be_worked_out_is_a_failure() -> None:
    talk = talk_of(FLOWS.replace("it not in taken", "it < 3"))
    assert talk.user("Bo") == ["Something broke."]


def test_a_place_on_the_map_answers_a_question_for_one() -> None:
    flows = """
flow: main
start: {otherwise: true}
vars: {place: {type: location, error: Please send your location.}}
steps:
  ask: {ask: Where are you?, save: place}
  done: {say: "{{ place.latitude }}, {{ place.name }}", then: end}
  gone: {say: Never mind., then: end}
  broken: {say: Something broke., then: end}
"""
    talk = talk_of(flows)
    assert talk.user("at home") == ["Please send your location."]
    place = Location(38.71, -9.14, "Home")
    sent = MessageReceived(talk.next_id(), CONTACT, talk.now, talk.now, "location", location=place)
    assert talk.take(sent) == ["38.71, Home"]


def test_names_in_checks_and_errors_have_to_be_declared() -> None:
    flows = FLOWS.replace("it not in taken", "it not in tken").replace("Not {{ it }}.", "Not {{ itt }}.")
    assert [problem.split()[1:5] for problem in problems_of(flows, BOT)] == [
        ["E301", "no", "variable", '"tken"'],
        ["E301", "no", "variable", '"itt"'],
    ]


def test_a_list_that_would_grow_without_end_is_a_mismatch() -> None:
    flows = """
flow: main
start: {otherwise: true}
vars: {list: {type: list, value: [1]}}
steps:
  grow: {ask: More?, set: {list: "{{ [list, list, list, list, list, list, list, list] }}"}, then: grow}
  gone: {say: Never mind., then: end}
  broken: {say: Something broke., then: end}
"""
    talk = talk_of(flows)
    said = [talk.user("yes") for _ in range(5)]
    assert said == [["More?"]] * 4 + [["Something broke."]]
