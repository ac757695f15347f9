"""How contacts call off, thank, praise and decline, and what only looks like it."""

import pytest

from bot.language.answers.closings import calls_off, declines, kind_words


@pytest.mark.parametrize(
    "text",
    [
        "hmm thats a bit expensive. forget it",
        "sorry something came up, forget about it",
        "no i dont want to give that, lets stop here",
        "forget it, too pricey",
        "you know what, cancel please",
        "please stop texting me",
        "zu teuer, vergiss es",
        "olvídalo, es muy caro",
        "laissez tomber, merci",
        "gak jadi deh, kemahalan",
        "laat maar, te duur",
        "боюсь, это дорого, забудьте",
    ],
)
def test_a_last_clause_or_one_before_reasons_calls_off(text: str) -> None:
    assert calls_off(text)


@pytest.mark.parametrize(
    "text",
    [
        *("don't forget it", "I won't forget it", "please don't cancel it", "do not cancel", "can I cancel?"),
        *("forget it, I'll take tea", "never mind, friday is fine", "cancel that, 3 cups", "forget it if it is cold"),
        *(
            "too many, make it two",
            "leave it at the door",
            "stop by tomorrow",
            "I want to quit smoking",
            "the bus stop",
        ),
        *('my friend said "forget it"', "he told me to forget it", "my ex won't leave me alone"),
        *("this is terrible, forget it", "I don't want to live anymore", "let me talk to someone, forget it"),
        *(
            "never mind, yes",
            "nvm yes please",
            "egal, ja",
            "laisse tomber, oui",
            "it says: stop",
            "unless it rains, cancel it",
        ),
        *("a tea, it's for my wife, not for me", "friday, no forget that", "two with milk, cancel that"),
        *("no cancelar", "non annullare", "vergiss es nicht", "jangan batalkan", "não esqueça", "не отменяйте"),
    ],
)
def test_what_denies_it_asks_goes_on_or_tells_of_it_calls_nothing_off(text: str) -> None:
    assert not calls_off(text)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("thank u for the lovely breakfast on sunday 🌞", "thanks"),
        ("ok thanks doc, see you then 👋", "thanks"),
        ("we had a brilliant time, thank you all!", "thanks"),
        ("ok thank you, see you at 6 then", "thanks"),
        ("just wanted to say the chocolate cake was AMAZING, everybody loved it 😍", "praise"),
        ("you guys are awesome", "praise"),
        ("great job on the radio!", "praise"),
    ],
)
def test_thanks_and_praise_are_known_with_what_is_told_beside_them(text: str, topic: str) -> None:
    assert kind_words(text, "en") == topic


@pytest.mark.parametrize(
    ("text", "language"),
    [("danke für die schnelle reparatur", "de"), ("gracias por la ayuda de ayer", "es"), ("merci pour hier", "fr")],
)
def test_thanks_are_known_in_the_contacts_language(text: str, language: str) -> None:
    assert kind_words(text, language) == "thanks"


@pytest.mark.parametrize(
    "text",
    [
        *("thanks, the coffee was cold", "thank you for nothing", "thanks but no thanks", "thanks for the cold coffee"),
        *("thanks, I want a tea", "thanks, a croissant too", "thanks, friday at 8", "thanks, can you call me"),
        *("thanks to your driver we are late", "thanks for ruining my day", "thanks, still waiting"),
        *("it would be lovely to come on friday", "it was not great", "it was great until the bill came"),
        *("the food was great and the waiter was slow", "perfect cake for my mum", "I would love a coffee"),
        *("thanks it hurts", "thanks everything hurts", "it is unbelievable how long it took"),
        *("you are amazing at losing parcels", "is the coffee amazing", "see you in court", "best time is 8"),
    ],
)
def test_complaints_wishes_and_doubts_are_no_kind_words(text: str) -> None:
    assert kind_words(text, "en") is None


@pytest.mark.parametrize("text", ["I'd rather not say, sorry", "none of your business", "das ist privat"])
def test_a_refusal_to_answer_is_known(text: str) -> None:
    assert declines(text)


@pytest.mark.parametrize("text", ["I'd rather not wait", "skip this and tell me the price", "a private room"])
def test_a_refusal_of_something_else_declines_nothing(text: str) -> None:
    assert not declines(text)
