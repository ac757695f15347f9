"""What the choices of a question take: for editors."""

from bot.keys.key_schemas import (
    ANY_TEXT,
    BOOLEAN,
    EMPTY,
    EXPRESSION,
    Schema,
    Schemas,
    choice,
    either,
    integer,
    list_of,
    map_of,
    record,
    shared,
    takes,
    with_key,
)
from bot.keys.patterns import MATCH_KEYS
from bot.steps.transition_keys import CONDITION, TARGET, TEXTS, TRANSITION_KEYS

_CHOICE: Schemas = {
    "value": takes(either(ANY_TEXT, EMPTY), "What is saved; without it a choice with a transition saves nothing."),
    "about": takes(ANY_TEXT, "A line below the title, in a list."),
    "words": takes(TEXTS, "What means the same as the title."),
    **CONDITION,
    **TRANSITION_KEYS,
}
_FIXED = map_of(shared("choice", either(TARGET, record(_CHOICE))))
_TITLES = list_of(ANY_TEXT)
_EXTRA: Schemas = {"extra": takes(either(_TITLES, _FIXED), "Choices below the others, on every page.")}
_MADE: Schemas = {
    "from": takes(EXPRESSION, "A list, of which each element becomes a choice; it is called it below."),
    "title": takes(ANY_TEXT, "The choice's title; the element itself where nothing is said."),
    "value": takes(ANY_TEXT, "What is saved; the element where nothing is said."),
    "about": takes(ANY_TEXT, "A line below the title, in a list."),
    "words": takes(TEXTS, "What means the same as the title."),
    **CONDITION,
}


def _choices(made: Schemas) -> Schema:
    """Titles in a list, titles with their transitions, or what is made of a list."""
    return either(_TITLES, with_key("from", record(made, "from"), _FIXED))


_CHOICES = shared("choices", _choices({**_MADE, **_EXTRA}))
_LIST: Schemas = {
    "button": takes(ANY_TEXT, "What opens the list; a word for choose where nothing is said."),
    "rows": takes(_choices(_MADE), "The rows to choose from."),
    "sections": takes(map_of(either(_TITLES, _FIXED)), "The rows below their headings."),
    **_EXTRA,
}
_MANY: Schemas = {
    "min": takes(integer(0, 100), "How many answers there must be; one where nothing is said."),
    "max": takes(integer(1, 100), "How many answers there may be."),
    "done": takes(ANY_TEXT, "The title of what ends the answers; a word for done where nothing is said."),
}
SKIP = either(TEXTS, record({"words": takes(TEXTS, "The words."), **TRANSITION_KEYS}, "words"))
CHOICES_KEYS: Schemas = {
    "options": takes(_CHOICES, "What there is to choose from, shown as buttons or as a list, as fits."),
    "buttons": takes(_CHOICES, "What there is to choose from, as buttons: three at the most."),
    "list": takes(record(_LIST), "What there is to choose from, as a list that a button opens."),
    **MATCH_KEYS,
    "many": takes(either(BOOLEAN, record(_MANY)), "Whether several may be chosen; false where nothing is said."),
    "show": takes(choice("numbers"), "Shows the choices as numbered lines of the text."),
}
