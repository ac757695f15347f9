"""Denials in a sentence: "no onions" names onions, and does not ask for them."""

from collections.abc import Iterator, Sequence

from bot.language.answers.credentials import BREAKS, phrase_pattern
from bot.language.answers.sentences import is_denied, place_of, words_in
from bot.language.source.languages import ENGLISH, without_country
from bot.language.source.word_matching import normalise

_DENIALS = {
    "en": "no|not|never|none|without|except|nor|neither|dont|cant|cannot|wont|doesnt|didnt|isnt|arent|wasnt|shouldnt",
    "de": "nie|niemals|nicht|nichts|kein|keine|keinen|keinem|keiner|ohne|außer|weder",
    "es": "no|nunca|jamás|ningún|ninguno|ninguna|sin|ni|tampoco|excepto|salvo",
    "fr": "ne|pas|jamais|aucun|aucune|sans|ni|sauf",
    "pt": "não|nunca|jamais|nenhum|nenhuma|sem|nem|exceto",
    "it": "non|mai|nessuno|nessun|nessuna|senza|né|tranne",
    "nl": "nooit|niet|niets|geen|zonder|noch|behalve",
    "id": "jangan|tidak|tak|bukan|tanpa|kecuali|nggak|gak",
    "ru": "не|нет|никогда|ни|нельзя|без|кроме",
    "tr": "asla|hiç|değil|istemiyorum|istemiyoruz|istemem|olmasın|yok|hariç|olmadan",
    "ar": "لا|لن|لم|ليس|بدون|دون|غير|إلا",
    "hi": "नहीं|न|मत|बिना",
}
_BEHIND = ("hi", "tr")  # there, "not" stands behind what it denies
_ANSWERS = phrase_pattern(
    "i|im|id|ill|it|its|he|she|we|were|well|you|they|this|that|the|a|an|my|our|make|please|thanks|sorry|actually|wait"
)
"""Words before which "no" is an answer by itself: "no make it two"."""
_ENDS = (",", ".", ";", ":", "!", "?", "،", "؛", "؟", "।", "。", "，", "\n")


def affirmed(text: str, language: str | None) -> str:
    """The text without what it denies: ``affirmed("Two teas and no sugar, thanks", "en")  -> Two teas and thanks``.

    A "not" denies what follows in its clause, or all of the clause where it stands at the end.
    """
    return " ".join(word for clause in _clauses(words_in(text)) for word in _affirmed(clause, language))


def is_negated(text: str, phrase: str, language: str | None) -> bool:
    """True if a "not" stands before a phrase, apart from harmless words: "I don't want to order", not "all cold"."""
    words = words_in(text)
    span = place_of(phrase, words)
    before = () if span is None else range(span[0])
    return any(_is_denial(words, at, language) for at in before) and is_denied(text, phrase, language)


def denies(text: str, language: str | None) -> bool:
    """True if a text has a "not"."""
    words = words_in(text)
    return any(_is_denial(words, place, language) for place in range(len(words)))


def _affirmed(clause: Sequence[str], language: str | None) -> Sequence[str]:
    for place in range(len(clause)):
        if _is_denial(clause, place, language):
            behind = place + 1 == len(clause) or _code(language) in _BEHIND
            return () if behind else clause[:place]
    return clause


def _is_denial(words: Sequence[str], place: int, language: str | None) -> bool:
    word = normalise(words[place])
    if phrase_pattern(_DENIALS.get(_code(language), _DENIALS[ENGLISH])).fullmatch(word) is None:
        return False
    following = words[place + 1] if word == "no" and place + 1 < len(words) else ""
    is_number = any(map(str.isdigit, following))  # "order no 17"
    return not (is_number or (following and _ANSWERS.fullmatch(normalise(following))))


def _code(language: str | None) -> str:
    return without_country(language or ENGLISH)


def _clauses(words: Sequence[str]) -> Iterator[Sequence[str]]:
    clause: list[str] = []
    for word in words:
        if phrase_pattern(BREAKS).fullmatch(normalise(word)):
            yield clause
            clause = []
        clause.append(word)
        if word.endswith(_ENDS):
            yield clause
            clause = []
    yield clause
