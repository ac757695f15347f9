"""Messages that the contact wrote before the waiting question was put are no wrong answers to it."""

from datetime import timedelta
from typing import Any

from bot.core.events import MessageReceived
from bot.core.values import Media
from tests.talk import BOT, CONTACT, Talk

FLOW = """\
flow: main
start: {words: [photo]}
words: {help: {say: Send a photo.}}
vars: {photo: {type: media, kinds: [image]}, number: {type: integer}}
defaults: {retry: {say: Pardon?, max: 2, else: /gave_up}, remind: {after: 1h, say: Still there?}}
steps:
  photo: {ask: Photo?, save: photo}
  number: {ask: How many?, save: number}
  done: {say: "{{ number }}!", then: end}
---
flow: gave_up
steps: {sorry: {say: I give up., then: end}}
"""
KEPT = """\
flow: main
start: {words: [photo]}
vars: {photo: {type: media, kinds: [image], keep: true}}
defaults: {retry: {say: Pardon?, max: 1, else: /gave_up}}
steps:
  photo: {ask: Photo?, save: photo, errors: {TooLarge: {say: "Smaller, please.", then: stay}, else: end}}
  done: {say: Thanks!, then: end}
---
flow: gave_up
steps: {sorry: {say: I give up., then: end}}
"""
PHOTO = Media("image", "https://files.example/1.jpg")
EARLY = "written before the question: not heard"


def sends(talk: Talk, ago: float, text: str | None = None, came_ago: float = 0) -> list[Any]:
    """Send a picture, or a text, that was written some seconds ago, and came some seconds ago."""
    sent_at, at = talk.now - timedelta(seconds=ago), talk.now - timedelta(seconds=came_ago)
    kind, media = ("image", PHOTO) if text is None else ("text", None)
    return talk.take(MessageReceived(talk.next_id(), CONTACT, at, sent_at, kind, text, media))


def later(talk: Talk, seconds: float = 10) -> None:
    assert talk.wait(f"{seconds:g}s") == []


def rule(talk: Talk) -> str:
    assert talk.turn is not None
    return talk.turn.trace.rule


def at_photo(flow: str = FLOW, bot: str = BOT) -> Talk:
    talk = Talk(flow, bot)
    talk.user("photo")
    later(talk)
    return talk


def test_the_other_pictures_of_an_album_are_no_wrong_answers_to_the_next_question() -> None:
    talk = at_photo()
    assert sends(talk, 1) == ["How many?"]
    for seconds in (1, 1, 1, 2):
        talk.now += timedelta(milliseconds=100)
        assert sends(talk, seconds) == [] and rule(talk) == EARLY
    assert talk.session.frame is not None and talk.session.frame.question.retries == 0
    later(talk)
    assert sends(talk, 0) == ["Pardon?"]
    assert talk.user("3") == ["3!"]


def test_an_album_that_is_no_answer_is_one_wrong_answer() -> None:
    talk = at_photo()
    sends(talk, 1)
    later(talk)
    assert [sends(talk, 1) for _ in range(4)] == [["Pardon?"], [], [], []]


def test_the_time_goes_on_as_if_it_had_not_come() -> None:
    talk = at_photo()
    sends(talk, 1)
    talk.now += timedelta(minutes=59)
    assert sends(talk, 3540.5) == [] and rule(talk) == EARLY
    assert talk.wait("1m") == ["Still there?"]


def test_an_answer_a_word_and_a_late_wrong_answer_count() -> None:
    talk = at_photo()
    sends(talk, 1)
    assert sends(talk, 1, "help") == ["Send a photo."]
    assert sends(talk, 1, "3") == ["3!"]


def test_a_message_that_was_delivered_late_is_none() -> None:
    talk = at_photo()
    sends(talk, 1)
    later(talk)
    assert sends(talk, 30, "hello?") == [] and rule(talk) == EARLY


def test_a_text_of_the_second_in_which_the_bot_asked_may_be_an_answer() -> None:
    talk = at_photo()
    sends(talk, 0)
    talk.now += timedelta(milliseconds=200)
    assert sends(talk, 0.5, "abc") == ["Pardon?"]
    talk.now += timedelta(seconds=1)
    assert sends(talk, 2.5, "abc") == [] and rule(talk) == EARLY


def test_a_gateway_whose_clock_is_behind_makes_no_bot_silent() -> None:
    talk = Talk(FLOW)
    hour = 3600
    sends(talk, hour, "photo")
    later(talk)
    assert sends(talk, hour, "and?") == ["Pardon?"]
    later(talk)
    assert sends(talk, hour, "so what?") == ["Pardon?"]


def test_a_transcribed_voice_note_is_heard_although_it_was_written_before_it_was_read() -> None:
    talk = at_photo()
    sends(talk, 1)
    later(talk)
    note = MessageReceived(
        talk.next_id(), CONTACT, talk.now, talk.now - timedelta(hours=1), "audio", "hm", transcribed=True
    )
    assert talk.take(note) == ["Pardon?"]


def test_what_leads_elsewhere_by_other_is_not_heard_either() -> None:
    talk = at_photo(FLOW.replace("save: number}", "save: number, other: {say: Another time., then: end}}"))
    sends(talk, 1)
    assert sends(talk, 1) == [] and rule(talk) == EARLY
    assert sends(talk, 0) == ["Another time."]


def test_a_message_that_waited_for_a_call_came_before_the_question() -> None:
    talk = at_photo(
        FLOW.replace("kinds: [image]}", "kinds: [image], keep: true}").replace(
            "save: photo}", "save: photo, errors: {else: end}}"
        )
    )
    assert sends(talk, 1) == []
    later(talk)
    assert talk.returns(PHOTO) == ["How many?"]
    assert sends(talk, 4, "hello?", came_ago=4) == [] and rule(talk) == EARLY
    assert sends(talk, 3, "5", came_ago=3) == ["5!"]


def test_gathered_messages_are_heard_by_a_gateway_whose_clock_is_behind() -> None:
    flow = "flow: main\nstart: {words: [hi]}\nvars: {text: {type: text, check: {if: 'len(it) < 5', error: Shorter!}}}\nsteps:\n"
    flow += (
        '  what: {ask: What?, save: text, gather: 3s, retry: {say: Pardon?}}\n  noted: {say: "{{ text }}", then: end}\n'
    )
    flow = flow.replace("len(it)", "it | length")
    talk = Talk(flow)
    sends(talk, 3600, "hi")
    later(talk)
    assert sends(talk, 3600, "The tap") == [] == sends(talk, 3600, "drips")
    assert talk.wait("3s") == ["Shorter!"]


def test_the_large_pictures_of_an_album_are_one_wrong_answer() -> None:
    talk = at_photo(KEPT)
    sends(talk, 1)
    assert talk.fails("TooLarge") == ["Smaller, please."]
    for _ in range(3):
        talk.now += timedelta(milliseconds=100)
        assert sends(talk, 1, came_ago=0.05) == []
        assert talk.fails("TooLarge") == ["Smaller, please."]
        assert talk.at == "main/photo"
    later(talk)
    sends(talk, 0)
    assert talk.fails("TooLarge") == ["Smaller, please.", "I give up."]
