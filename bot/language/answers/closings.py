"""Messages that call off what is going on; thanks and praise in words of their own: "thanks for the quick repair".

Each clause must be accounted for: a text that says more closes nothing. The phrases are data, in `phrases/*.yml`.
"""

from collections.abc import Iterable
from functools import lru_cache

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.denials import denies
from bot.language.answers.phrases import all_phrases, consists_of, phrases
from bot.language.answers.titles import has_word
from bot.language.answers.topics import COMPLAINT, CRISIS, PERSON, is_question, opts_out, topics_in
from bot.language.answers.words import Kind
from bot.language.source.languages import ENGLISH, without_country
from bot.language.source.word_matching import normalise

_MOST_CHARACTERS = 120
_CLAUSES = lazy_pattern(r"[,.;:!\n،؛।…]+|\s[-–—]\s")
_QUOTES = lazy_pattern(r"[\"“”„«»]")
_COLON = lazy_pattern(r":\s+\w")
_COURTESIES = ("thanks", "bye", "smile")


@lru_cache(maxsize=128)  # several ask this of one message
def calls_off(text: str) -> bool:
    """True for a message that wants to leave what is going on: its last clause says so, or a clause before reasons.

    "something came up, forget it" and "forget it, too dear", but not "forget it, I take a tea", "don't forget it" nor
    "the sign says: stop".
    """
    if len(text) > _MOST_CHARACTERS or "?" in text or _QUOTES.search(text) or _COLON.search(text):
        return False
    if {CRISIS, COMPLAINT, PERSON} & topics_in(text).keys() or _has_any(text, all_phrases("conditions")):
        return False
    clauses = clauses_of(text)
    last = max((at for at, clause in enumerate(clauses) if _calls_off(clause)), default=None)
    if last is None:
        return _calls_off(normalise(text)) or wants_silence(text)  # "on second thought, no"
    return all(_is_courtesy(clause) or _is_reason(clause) for clause in clauses[last + 1 :])


def wants_silence(text: str) -> bool:
    """True for a clause like "please stop texting me", but not for "he won't leave me alone"."""
    return any(map(_begins_to_opt_out, clauses_of(text)))


def _begins_to_opt_out(clause: str) -> bool:
    found = opts_out(clause)
    before = "" if found is None else clause[: clause.index(found)]
    return found is not None and consists_of(before.split(), all_phrases("beside calling off").__contains__)


def _calls_off(clause: str) -> bool:
    """True for a clause of one language's words for it: "no" before a Spanish verb denies it."""
    return any(
        _has_any(clause, known)
        and consists_of(clause.split(), {*known, *phrases("beside calling off")[each]}.__contains__)
        for each, known in phrases("calling off").items()
    )


def _is_courtesy(clause: str) -> bool:
    known = all_phrases("beside calling off").union(*(all_phrases("small talk", topic) for topic in _COURTESIES))
    return consists_of(clause.split(), known.__contains__)


def _is_reason(clause: str) -> bool:
    return not any(map(str.isdigit, clause)) and _begins_with(clause, all_phrases("reasons to call off"))


def clauses_of(text: str) -> list[str]:
    """The clauses of a text, normalised."""
    return [clause for part in _CLAUSES.split(text) if any(map(str.isalnum, clause := normalise(part)))]


def declines(text: str) -> bool:
    """True for a text that declines to answer: "sorry, I'd rather not say"."""
    clauses, known = clauses_of(text), all_phrases("declining")
    beside = known | all_phrases("beside calling off")
    return _has_any(text, known) and all(consists_of(clause.split(), beside.__contains__) for clause in clauses)


def tells(clause: str, language: str | None) -> bool:
    """True for a clause that tells something, or gives a reason, without a wish and without figures."""
    wants = any(map(str.isdigit, clause)) or _has_any(clause, _spoken("wanting", language))
    begins = _begins_with(clause, _spoken("telling", language) | all_phrases("reasons to call off"))
    return not wants and (begins or has_word(clause, (Kind.REASON,), language))


def _begins_with(clause: str, phrases: Iterable[str]) -> bool:
    return any(f"{clause} ".startswith(f"{phrase} ") for phrase in filter(clause.startswith, phrases))


def _has_any(text: str, known: Iterable[str]) -> bool:
    said = f" {normalise(text)} "
    return any(f" {phrase} " in said for phrase in filter(said.__contains__, known))


@lru_cache(maxsize=1024)
def kind_words(text: str, language: str | None) -> str | None:
    """The topic of a text that only thanks or praises, perhaps beside a farewell or a statement; else None.

    ``kind_words("Thank you for the quick repair, it works", "en")  -> "thanks"``
    """
    if len(text) > _MOST_CHARACTERS or "?" in text or _QUOTES.search(text) or is_question(text) or topics_in(text):
        return None
    is_unsure = denies(text, language) or has_word(text, (Kind.SUPPOSED,), language)
    if is_unsure or _has_any(text, _spoken("turning", language)):
        return None
    clauses = clauses_of(text)
    found = [_kind_of(clause, language) for clause in clauses]
    kind = next((topic for topic in ("thanks", "praise") if topic in found), None)
    parts = (part for clause in clauses for part in _AND.split(clause))
    return None if None in found or (kind == "praise" and any(map(_is_unpraised, parts))) else kind


def _kind_of(clause: str, language: str | None) -> str | None:
    """The topic of a clause, or `_TOLD` for a statement without wishes and figures; None for any other."""
    if _begins_with(clause, _spoken("farewells", language)) and len(clause.split()) <= _MOST_OF_FAREWELL:
        return _TOLD
    words, beside, thanks = clause.split(), _beside(), _spoken("small talk", language, "thanks")
    if _has_any(clause, thanks) and (consists_of(words, (beside | thanks).__contains__) or _with_a_name(words, thanks)):
        return "thanks"
    if consists_of(words, beside.__contains__):
        return _TOLD
    said = _bare(clause, language)
    thanked = max((each for each in _spoken("thanking", language) if _begins_with(said, (each,))), key=len, default="")
    if any(map(str.isdigit, clause)) or _has_any(said.removeprefix(thanked), _spoken("wanting", language)):
        return None
    if thanked:
        return "thanks"
    is_past = has_word(clause, (Kind.PAST,), language)
    if praises(clause) and (is_past or _begins_with(said, _spoken("praising", language))):
        return "praise"
    return _TOLD if is_past or _begins_with(said, _spoken("telling", language)) else None


_TOLD = "told"
_MOST_OF_FAREWELL = 7  # words
_AND = lazy_pattern(r"\band\b")


def praises(text: str) -> bool:
    """True if a text has a word of praise."""
    return _has_any(text, all_phrases("small talk", "praise"))


def _is_unpraised(told: str) -> bool:
    return has_word(told, (Kind.PAST,), None) and not praises(told)


def _with_a_name(words: list[str], thanks: frozenset[str]) -> bool:
    """True for thanks and one word that may be a name: "thanks doc", but not "thanks it hurts"."""
    known = thanks | all_phrases("beside calling off")
    but_one = (words[:place] + words[place + 1 :] for place in range(len(words)))
    return any(consists_of(each, known.__contains__) for each in but_one)


def _bare(clause: str, language: str | None) -> str:
    """A clause without words before it that say nothing: "ok, so"."""
    begins = frozenset[str]().union(*(_spoken(key, language) for key in ("thanking", "telling", "praising")))
    while not _begins_with(clause, begins) and clause.partition(" ")[0] in _beside():
        clause = clause.partition(" ")[2]
    return clause


def _beside() -> frozenset[str]:
    return all_phrases("beside calling off") | all_phrases("around small talk")


def _spoken(key: str, language: str | None, meaning: str | None = None) -> frozenset[str]:
    """The phrases of a language and of English: the words of others may mean something else."""
    spoken = {without_country(language or ENGLISH), ENGLISH}
    return frozenset(phrase for each in spoken for phrase in phrases(key, meaning).get(each, ()))
