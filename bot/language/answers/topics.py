"""The topics by which a flow can start (`start: {topics: [complaint, question]}`): kinds of messages that are known
without a model, because people say them with the same words in every trade.

The phrases are data (`bot.language.answers.phrases`). All languages are heard in every bot.
"""

from collections.abc import Mapping
from functools import cache, lru_cache

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.phrases import all_phrases, phrases
from bot.language.answers.stems import filling
from bot.language.source.languages import ENGLISH
from bot.language.source.word_matching import normalise, singular

TOPICS = CRISIS, COMPLAINT, EXISTING, PRICE, PLACE, PERSON, QUESTION = (
    "crisis", "complaint", "existing", "price", "place", "person", "question"
)  # fmt: skip
"""The topics by their names, in the order in which they are heard: a cry for help comes before all else."""

EXAMPLES = {
    CRISIS: "I want to die",
    COMPLAINT: "I have a complaint",
    EXISTING: "Where is my order?",
    PRICE: "How much is it?",
    PLACE: "Where are you?",
    PERSON: "Can I talk to somebody?",
    QUESTION: "May I ask something?",
}
"""A message of each topic, for those who try a bot."""
_ASKS = lazy_pattern("[?？؟]")
_MOST_TO_OPT_OUT = 8  # words
_FEWEST = 2  # words of a question: "what?" says nothing
_CLAUSE = lazy_pattern(r"[.,;:!\n،؛।]+|\b(?:and|but)\b")
_MOST_OF_BEGINNING = 4  # words
_LEADS_IN = 5  # words before the beginning of a question: "hi there, quick one: do you ..."


@cache
def _topics() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The topics of each phrase, by its words, in the order of `TOPICS`."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for topic in TOPICS:
        for phrase in all_phrases("topics", topic) if topic != QUESTION else ():
            words = _words(phrase)
            found[words] = (*found.get(words, ()), topic)
    return found | {words: (*found.get(words, ()), PERSON) for words in _people()}


@cache
def _people() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The languages of each word for a person."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for language, names in phrases("people").items():
        for words in map(_words, names):
            found[words] = (*found.get(words, ()), language)
    return found


def _is_called(words: tuple[str, ...], end: int, languages: tuple[str, ...]) -> bool:
    """True if a person is asked for whose word ends there: "someone there?", "I want a human please"."""
    before, behind = words[max(end - 3, 0) : end], words[end:]
    if not any(word in all_phrases("not called") or word.isdecimal() for word in before):
        fillers = frozenset[str]().union(*map(filling, (ENGLISH, *languages)))
        if fillers.issuperset(behind):
            return True
    return any(word.startswith(phrases("contact")[language]) for language in languages for word in words)


@cache
def _longest() -> int:
    return max(map(len, _topics()))


def _words(text: str) -> tuple[str, ...]:
    return tuple(normalise(text).split())


@lru_cache(maxsize=128)  # several ask this of one message
def topics_in(text: str) -> Mapping[str, str]:
    """The topics of a message but for `question`, each with its longest phrase. Words that only say how much may stand
    within it: "was really cold".
    """
    words, found, degrees = _words(text), dict[str, str](), all_phrases("degrees")
    places = [place for place, word in enumerate(words) if word not in degrees]
    for kept in (range(len(words)), places) if len(places) < len(words) else (places,):
        for length in range(min(_longest(), len(kept)), 0, -1):
            for first in range(len(kept) - length + 1):
                piece = tuple(words[place] for place in kept[first : first + length])
                known = piece if piece in _topics() else (*piece[:-1], singular(piece[-1]))
                end = kept[first + length - 1] + 1
                is_called = known not in _people() or _is_called(words, end, _people()[known])
                for topic in _topics().get(known, ()) if is_called else ():
                    found.setdefault(topic, " ".join(words[kept[first] : end]))
    return found


def is_request(text: str) -> bool:
    """True if a message asks for something as people order: "can I get a tea?" asks nothing."""
    words = _words(text)
    pieces = (" ".join(words[first : first + length]) for first in range(len(words)) for length in (1, 2, 3))
    return any(piece in all_phrases("requests") for piece in pieces) or asks_if_free(text)


def asks_if_free(text: str) -> bool:
    """True for the wish for a place in the form of a question: "is there a table free for two"."""
    return _FREE.search(normalise(text)) is not None


_FREE = lazy_pattern(r"\b(?:is there|are there|do you have|have you got|any)\b.* (?:free|available)\b.* for\b")


def is_asked(text: str) -> bool:
    """True if a text begins as a question, or is one about a topic: "a table for two?" is no question."""
    return any(map(_begins_as_question, _CLAUSE.split(text))) or bool(topics_in(text))


def opts_out(text: str) -> str | None:
    """The phrase of a short message that asks for no more messages; None if it has none."""
    words = _words(text)
    if len(words) > _MOST_TO_OPT_OUT or _ASKS.search(text):
        return None
    within = (" ".join(words[first:end]) for first in range(len(words)) for end in range(first + 2, len(words) + 1))
    pieces, known = (" ".join(words), *within), all_phrases("opting out")
    return next((piece for piece in pieces if piece in known), None)


def is_question(text: str) -> bool:
    """True if a message of some words asks something."""
    if len(_words(text)) < _FEWEST:
        return False
    return _ASKS.search(text) is not None or any(map(_begins_as_question, _CLAUSE.split(text)))


def only_asks(text: str) -> bool:
    """True for a question that requests nothing: "do you have tea?", not "can I get a tea?"."""
    return is_question(text) and not is_request(text)


def _begins_as_question(clause: str) -> bool:
    """True for ``hi there do you have oat milk``: one word must begin a clause, several may have a few before them."""
    words = _words(clause)
    lengths = range(1, min(_MOST_OF_BEGINNING, len(words)) + 1)
    return any(
        " ".join(words[first : first + length]) in all_phrases("questions")
        for first in range(min(_LEADS_IN, len(words)))
        for length in lengths
        if first == 0 or length > 1
    )
