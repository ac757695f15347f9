"""A question of the bot's own that is answered by yes or no, and what it asks about."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bot.core.errors import BotError
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import INTERACTIVE_BODY, Buttons, Choice, clip
from bot.core.text import head, visible
from bot.language.answers.readers import read_yes_no
from bot.language.expressions.formats import as_spoken
from bot.language.source.languages import wording
from bot.language.source.word_matching import normalise
from bot.language.steps.step_kind import Reply, StepContext, value_hash

MOST_TEXT = 200  # characters of one text among what is asked about
MOST_VALUES = INTERACTIVE_BODY // 3  # more do not fit, with their commas
_ANSWERS = ("yes", "no")
_WORD = lazy_pattern(r"[^\W_]+")
_SHORT = 2  # letters of a word that says too little to be a repetition
_DOUBTED = lazy_pattern(r"[?？؟~\"“”„«»]|^\s*>")


class QuestionTooLong(BotError):
    """The text is too long for one question."""


def question(context: StepContext, body: str, number: int | str = 0) -> Buttons:
    """The question as buttons. ``number`` tells it from others that the same step asks in one visit."""
    buttons = (
        Choice(_id(context, choice, number), wording(context.scope, name)) for choice, name in enumerate(_ANSWERS)
    )
    return Buttons(clip(body, INTERACTIVE_BODY), tuple(buttons))


def agreed(context: StepContext, reply: Reply, number: int | str = 0, asked: str = "") -> bool | None:
    """True for yes, False for no; None if the reply is no answer.

    ``asked`` is the question: "yes, cancel it" repeats its words. A yes that asks, is quoted or struck out does not
    count.
    """
    if reply.tap is not None:
        return {_id(context, choice, number): name == "yes" for choice, name in enumerate(_ANSWERS)}.get(str(reply.tap))
    if reply.text is None or reply.is_foreign or _DOUBTED.search(reply.text):
        return None
    titles = {normalise(wording(context.scope, name)): name == "yes" for name in _ANSWERS}
    known = titles.get(normalise(reply.text))
    if known is not None:
        return known
    language = context.contact_language
    said = read_yes_no(reply.text, language)
    if said is None and asked:
        said = read_yes_no(_without_words_of(reply.text, asked), language)
    return None if said is None else said.value


def _without_words_of(text: str, asked: str) -> str:
    repeated = {word for word in map(normalise, _WORD.findall(asked)) if len(word) > _SHORT}
    return _WORD.sub(lambda found: "" if normalise(found[0]) in repeated else found[0], text)


def asked_about(values: Mapping[str, Any], scope: Mapping[str, Any]) -> Iterator[str]:
    """Each value on a line of its own, as the contact's language writes it. Raises `QuestionTooLong`.

    Only a long text is cut, by itself: ``{"number": "A1", "amount": 1000000}`` is ``number: A1`` and ``amount:
    1,000,000``.
    """
    for name, value in harmless(values).items():
        yield f"{name}: {_spoken(value, scope) or '–'}"


def harmless(value: Any) -> Any:
    """A copy: each text is one line, hides nothing, and is cut where it is long. Raises `QuestionTooLong`."""
    left = MOST_VALUES

    def copied(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise QuestionTooLong(f"more than {MOST_VALUES} values")
        if isinstance(value, Mapping):
            return {_short(str(name)): copied(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [copied(item) for item in value]
        return _short(value) if isinstance(value, str) else value

    return copied(value)


def _short(text: str) -> str:
    """A text in one line, and how much of it is cut; a chat shows text between two tildes as struck out."""
    line = visible(text).replace("~", "∼")
    return line if len(line) <= MOST_TEXT else f"{(shown := head(line, MOST_TEXT))}… (+{len(line) - len(shown)})"


def _spoken(value: Any, scope: Mapping[str, Any], *, inner: bool = False) -> str:
    """A value as it is shown; within a list or an object texts are quoted, so that none looks like two."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False) if inner else value
        case Mapping():
            pairs = ", ".join(f"{name}: {_spoken(item, scope, inner=True)}" for name, item in value.items())
            return f"{{{pairs}}}" if inner else pairs
        case list():
            items = ", ".join(_spoken(item, scope, inner=True) for item in value)
            return f"[{items}]" if inner else items
        case bool():
            return wording(scope, "yes" if value else "no")
        case None:
            return "–"
    return as_spoken(value, scope)


def _id(context: StepContext, choice: int, number: int | str) -> str:
    return context.reply_id(choice, value_hash(_ANSWERS[choice], {"question": number}))
