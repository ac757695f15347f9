"""The wishes of customers, in many words: "can you squeeze me in" and "a table for two" both wish to book.

A flow whose start words, title in the menu or slots have one phrase of a wish is reached by all of them (`wishes` in
`words/*.yml`).
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from bot.language.answers.denials import affirmed, denies
from bot.language.answers.sentences import is_told
from bot.language.answers.stems import stems
from bot.language.answers.topics import COMPLAINT, CRISIS, EXISTING, topics_in
from bot.language.answers.words import words_of
from bot.language.source.languages import ENGLISH, without_country
from bot.language.source.word_matching import contains, normalise

OF_SOMETHING = ("cancel", "change", "return", "track", "repair")
"""The wishes about something that the contact has already. A text with one of them wishes for nothing else."""
WISHES = (
    *OF_SOMETHING, "apply", "join", "learn", "play", "feedback", "remind", "account", "vote", "pay", "deliver", "call",
    "talk", "book", "order",
)  # fmt: skip
"""The wishes in the order in which they count: "cancel my order" wishes to cancel, "pay for the delivery" to pay."""
ASKED_FOR = frozenset({"cancel", "change", "return", "track", "book", "order"})
"""The wishes that also a question has: "any slots on Friday?". The question "do you fix lamps?" wishes nothing."""
_MOST_OF_PHRASE = 6  # words
Meanings = Mapping[tuple[str, ...], tuple[str, ...]]
"""The meanings of phrases, by the stems of their words."""


def wishes_in(text: str, language: str | None) -> dict[str, str]:
    """The wishes of a text, each with its phrase, in the order of `WISHES`; in the language and in English.

    ``wishes_in("a booking, please", "en")  -> {"book": "booking"}``
    """
    found = dict[str, str]()
    for spoken in dict.fromkeys((without_country(language or ENGLISH), ENGLISH)):
        for wish, phrase in phrases_in(text, _phrases(spoken), spoken):
            found.setdefault(wish, phrase)
    return {wish: found[wish] for wish in WISHES if wish in found}


def phrases_in(text: str, meanings: Meanings, language: str | None) -> Iterator[tuple[str, str]]:
    """Each meaning of the phrases that a text has, also with other endings, the longest first, with the words there."""
    words, said, start = normalise(text).split(), stemmed(text, language), 0
    while start < len(said):
        ends = range(min(len(said), start + _MOST_OF_PHRASE), start, -1)
        end = next((end for end in ends if said[start:end] in meanings), start)
        for meaning in meanings[said[start:end]] if end > start else ():
            yield meaning, " ".join(words[start:end])
        start = max(end, start + 1)


def wished(text: str, language: str | None) -> dict[str, str]:
    """The wishes of a message that it neither denies nor tells of. A complaint, or a text about what somebody has
    already, has those of `OF_SOMETHING` alone.
    """
    topics = topics_in(text)
    if CRISIS in topics:
        return {}
    has_something = COMPLAINT in topics or EXISTING in topics
    meant = {}
    for wish, phrase in wishes_in(text, language).items():
        of_something = wish in OF_SOMETHING
        if (of_something or not has_something) and says(text, phrase, language):
            meant[wish] = phrase
        if of_something:
            break
    return meant


def says(text: str, phrase: str, language: str | None) -> bool:
    """True if a text neither denies a phrase in it nor tells of it."""
    is_affirmed = denies(phrase, language) or contains(normalise(affirmed(text, language)), phrase)
    return is_affirmed and not is_told(text, phrase, language)  # "not working" denies nothing


def asks_to_do(text: str, language: str | None) -> bool:
    """True if a question asks for something that the contact wants done."""
    modals = words_of(language).modals | words_of(ENGLISH).modals
    return not modals.isdisjoint(normalise(text).split())


@lru_cache(maxsize=16)
def _phrases(language: str) -> Meanings:
    """The wishes of each phrase of a language."""
    wishes = words_of(language).wishes
    return meanings_of(((phrase, wish) for wish, phrases in wishes.items() for phrase in phrases), language)


def meanings_of(phrases: Iterable[tuple[str, str]], language: str | None) -> Meanings:
    """The meanings of phrases, by the stems of their words."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for phrase, meaning in phrases:
        words = stemmed(phrase, language)
        found[words] = tuple(dict.fromkeys((*found.get(words, ()), meaning)))
    return found


def stemmed(text: str, language: str | None) -> tuple[str, ...]:
    """The stems of the words of a text."""
    spoken = without_country(language or ENGLISH)
    return tuple(stems(word, spoken)[-1] for word in normalise(text).split())
