"""The topics of messages, in each language with built-in texts, and the opening hours in words."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from bot.language.expressions.opening_hours import Hours
from bot.language.source.languages import WORDINGS
from bot.language.steps.small_talk_texts import (
    BYE,
    GREETING,
    HELP,
    MOMENT,
    OPENING_HOURS,
    SMILE,
    THANKS,
    hours_in_words,
    topic_of,
)

MONDAY = datetime(2030, 5, 6, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Thanks!!", THANKS),
        ("ok, thank you very much", THANKS),
        ("hi, thanks for the help 🙏", THANKS),
        ("muchas gracias", THANKS),
        ("Vielen Dank", THANKS),
        ("شكرا", THANKS),
        ("thanks so much, everybody loved it", THANKS),
        ("thanks, I'd like a table", None),
        ("thank you, lovely coffee!! ❤️", THANKS),
        ("never mind wrong number sorry", BYE),
        ("actually nothing", BYE),
        ("no time right now", MOMENT),
        ("oh wait, forget it", BYE),
        ("actually nvm", BYE),
        ("I've changed my mind, I want tea", None),
        ("i need time to think lol", MOMENT),
        ("not now, im at work", MOMENT),
        ("not sure.. maybe later", MOMENT),
        ("jetzt nicht, ich fahre", MOMENT),
        ("not now", BYE),
        ("not now, cancel my booking", None),
        ("good morning :)", GREETING),
        ("hello?", GREETING),
        ("Hola", GREETING),
        ("👋🏽", GREETING),
        ("👍", SMILE),
        ("❤️", SMILE),
        ("Okay", SMILE),
        ("help!", HELP),
        ("can you help me please", HELP),
        ("what can you do?", HELP),
        ("Hilfe", HELP),
        ("What time do you close", OPENING_HOURS),
        ("do you work on saturdays", OPENING_HOURS),
        ("are you guys there on saturday?", OPENING_HOURS),
        ("hi, r u there tmrw morning?", OPENING_HOURS),
        ("do u work weekends or on tuesdays", OPENING_HOURS),
        ("when can i get hold of a real person on saturdays?", OPENING_HOURS),
        ("when can i talk to a human", None),
        ("do you work on saturdays with kids", None),
        ("do you work with wood", None),
        ("are you there?", None),
        ("are you there for me tonight, i feel so alone", None),
        ("what do you sell?", HELP),
        ("r u open today?", OPENING_HOURS),
        ("hi, are you open on sunday?", OPENING_HOURS),
        ("what days r u closed", OPENING_HOURS),
        ("until when are you there on a saturday", OPENING_HOURS),
        ("how late can I come today?", OPENING_HOURS),
        ("bis wann seid ihr da?", OPENING_HOURS),
        ("until when can I cancel", None),
        ("à quelle heure fermez-vous ?", OPENING_HOURS),
        ("Öffnungszeiten", OPENING_HOURS),
        ("आज खुला है?", OPENING_HOURS),
        ("no thanks", BYE),
        ("got it, thanks", THANKS),
        ("ok cool", SMILE),
        ("haha ok", SMILE),
        ("great evening", None),
        ("thanks but no", None),
        ("?", None),
        ("...", None),
        ("12", None),
        ("help me choose a cake", None),
        ("hello I want a table", None),
        ("thanks " * 20, None),
    ],
)
def test_a_message_has_a_topic_if_it_says_nothing_else(text: str, topic: str | None) -> None:
    assert topic_of(text) == topic


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("seid ihr am Samstag da?", "de"),
        ("¿trabajan los domingos?", "es"),
        ("vous travaillez le samedi ?", "fr"),
        ("apakah kalian ada hari minggu?", "id"),
    ],
)
def test_days_are_heard_in_the_language_of_the_contact(text: str, language: str) -> None:
    assert topic_of(text, language) == OPENING_HOURS


def test_each_wording_is_there_in_each_of_these_languages() -> None:
    assert all({*texts} == {*WORDINGS["yes"]} for texts in WORDINGS.values())


def test_the_hours_say_when_it_opens_next_on_the_clocks_of_the_office() -> None:
    day, night = ((480, 720), (780, 1080)), ((1320, 1560),)
    week = (day, day, (), (), night, (), ())
    hours = Hours("shop", week, {MONDAY.date(): ()}, ZoneInfo("Europe/Lisbon"))
    days = "Mon-Tue 8:00-12:00, 13:00-18:00; Fri 22:00-2:00."
    assert hours_in_words(hours, {}, MONDAY) == f"{days} Closed now, open again: Tuesday 8:00."
    assert (
        hours_in_words(hours, {}, datetime(2030, 5, 7, 11, 30, tzinfo=UTC)) == f"{days} Closed now, open again: 13:00."
    )
    assert hours_in_words(hours, {}, datetime(2030, 5, 11, 0, 30, tzinfo=UTC)) == f"{days} Now open until 2:00."


def test_a_whole_week_and_hours_that_never_come() -> None:
    hours = Hours("shop", (((0, 1440),),) * 7, {}, ZoneInfo("UTC"))
    assert hours_in_words(hours, {}, MONDAY).startswith("Mon-Sun 0:00-24:00.")
    never = Hours("shop", ((),) * 7, {}, ZoneInfo("UTC"))
    assert hours_in_words(never, {}, MONDAY) == ""


def test_many_phrases_in_a_row_are_read_in_one_pass() -> None:
    assert topic_of(" ".join(["hi"] * 26)) == GREETING
    assert topic_of(" ".join([*["hi"] * 25, "x"])) is None
