"""Names of people in answers: one of each kind, in each language with built-in texts."""

import pytest

from bot.language.answers.names import INTRODUCTIONS, OPENINGS, SENTENCES, possible_name, read_name
from bot.language.source.languages import WORDINGS


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("en", "ann", "ann"),
        ("en", "Her name is Bella", "Bella"),
        ("en", "we call him Rex", "Rex"),
        ("es", "a nombre de Ana", "Ana"),
        ("de", "er heißt Ben", "Ben"),
        ("en", "Or Cohen", "Or Cohen"),
        ("en", "Ann!", "Ann"),
        ("en", "Ann 😊", "Ann"),
        ("en", "I'm Ann", "Ann"),
        ("en", "Maria Gonzalez here", "Maria Gonzalez"),
        ("en", "Hi, my name is Ann Smith.", "Ann Smith"),
        ("en", "ann o'neill", "ann o'neill"),
        ("en", "Smith, Jean-Luc", "Smith, Jean-Luc"),
        ("en", "Dr. Smith", "Dr. Smith"),
        ("en", "Will Young", "Will Young"),
        ("en", "No Min-jun", "No Min-jun"),
        ("en", "Nguyen My", "Nguyen My"),
        ("en", "Long Nguyen", "Long Nguyen"),
        ("fr", "le gall", "le gall"),
        ("en", "李小龙", "李小龙"),
        ("en", "Me llamo Ana", "Ana"),
        ("en", "thanks, I'm Eva", "Eva"),
        ("en", "Saya Tanaka", "Saya Tanaka"),
        ("es", "María de la Cruz", "María de la Cruz"),
        ("es", "soy Ana", "Ana"),
        ("id", "nama saya Budi", "Budi"),
        ("pt", "meu nome é João", "João"),
        ("fr", "Je m’appelle Zoé", "Zoé"),
        ("de", "Ich heiße Jörg", "Jörg"),
        ("it", "mi chiamo D'Angelo", "D'Angelo"),
        ("nl", "Ik heet Jan", "Jan"),
        ("tr", "adım Ayşe", "Ayşe"),
        ("ru", "меня зовут Ольга", "Ольга"),
        ("ar", "اسمي أحمد", "أحمد"),
        ("hi", "मेरा नाम राहुल है", "राहुल"),
    ],
)
def test_a_name_is_taken_as_it_is_written(language: str, text: str, name: str) -> None:
    assert read_name(text, language) == name


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "how much does it cost?!"),
        ("en", "how much does it cost"),
        ("en", "why do you need that"),
        ("en", "Ann?"),
        ("en", "Ann2"),
        ("en", "ann@example.com"),
        ("en", "hi"),
        ("en", "wow"),
        ("en", "nice weather"),
        ("en", "same as last time"),
        ("en", "Broken washing machine"),
        ("de", "immer noch derselbe"),
        ("en", "Keine Ahnung"),
        ("en", "ni idea"),
        ("de", "je ne sais pas"),
        ("fr", "não sei"),
        ("en", "Ann or Annie"),
        ("de", "Ann oder Anna"),
        ("en", "thanks!"),
        ("en", "good morning"),
        ("en", "stop"),
        ("en", "I'm busy"),
        ("en", "i am peter"),
        ("en", "yes Eva"),
        ("en", "Still here"),
        ("en", "call me tomorrow"),
        ("en", "leave me alone"),
        ("en", "👍"),
        ("en", ""),
        ("es", "cuanto cuesta"),
        ("id", "berapa harganya"),
        ("pt", "quanto custa"),
        ("fr", "combien ça coûte"),
        ("de", "was kostet das"),
        ("it", "quanto costa"),
        ("nl", "wat kost het"),
        ("tr", "ne kadar"),
        ("ru", "сколько стоит"),
        ("ar", "كم السعر"),
        ("hi", "कितना लगेगा"),
    ],
)
def test_a_question_a_sentence_or_a_greeting_is_no_name(language: str, text: str) -> None:
    assert read_name(text, language) is None


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("en", "i'm ann smith", "ann smith"),
        ("en", "Bob here", "Bob"),
        ("en", "ok Eva", "Eva"),
        ("en", "soy ana", "ana"),
        ("id", "saya budi", "budi"),
        ("es", "yo soy ana", "ana"),
        ("pt", "sou joao", "joao"),
        ("fr", "c'est luc", "luc"),
        ("de", "hier ist peter", "peter"),
        ("it", "sono maria", "maria"),
        ("nl", "ik ben jan", "jan"),
        ("ru", "я иван", "иван"),
        ("en", "I'm Ann", None),
        ("en", "ann", None),
        ("en", "i am hungry", None),
        ("en", "i am", None),
        ("en", "Still here", None),
        ("en", "ok when do you open", None),
        ("de", "ich bin müde", None),
    ],
)
def test_words_that_may_introduce_something_else_leave_a_name_open(language: str, text: str, name: str | None) -> None:
    assert possible_name(text, language) == name


def test_each_language_with_built_in_texts_has_the_words() -> None:
    assert INTRODUCTIONS.keys() == OPENINGS.keys() == SENTENCES.keys() == WORDINGS["yes"].keys()
