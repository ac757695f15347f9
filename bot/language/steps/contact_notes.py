"""Notes about a contact that a model makes at an AI step and is given again in later conversations."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from bot.core.text import without_controls
from bot.language.answers.credentials import credentials_in
from bot.language.answers.titles import has_word
from bot.language.answers.words import Kind
from bot.language.keys.declared_keys import STRING, KeySpec, map_of
from bot.language.keys.fields import Fields, entries_of, text_of
from bot.language.source.languages import CONTACT_LANGUAGE
from bot.language.source.problems import did_you_mean
from bot.language.source.word_matching import normalise
from bot.language.source.yaml_tree import Node, Scalar
from bot.language.steps.output_guard import accounts_in, links_in
from bot.language.steps.said_values import SaidValues
from bot.language.steps.step_kind import StepContext
from bot.language.types.date_types import DateVariable
from bot.language.types.structured_types import ListVariable
from bot.language.types.text_types import TextVariable
from bot.language.types.type_registry import Variable

MOST_NOTE = 120  # characters
MOST_NOTES = 100  # in one list
TEXT, DAY = "text", "day"
UNSAID_NOTE = "the contact has not said it"
REMEMBER_KEY: KeySpec[tuple[tuple[Scalar, Node], ...]] = KeySpec(
    "remember",
    map_of(STRING, entries_of, absent=()),
    "Kept lists to which the model adds notes about the contact, each with what to note.",
)
_DECLARED = f"{{type: list, max: 10, keep: true, fields: {{{TEXT}: text, {DAY}: date}}}}"
_TYPES = {TEXT: TextVariable, DAY: DateVariable}
_ENDS = re.compile(r"[.!?,;:\n。！？，、؟]+")


def read_remember(fields: Fields, variables: Mapping[str, Variable]) -> dict[str, str]:
    """Read `remember`: for each list of notes, what the model notes in it."""
    found: dict[str, str] = {}
    for name, item in REMEMBER_KEY.read(fields):
        about = text_of(item, fields.problems, f"{fields.what}: {REMEMBER_KEY.name}: {name.text}")
        variable = variables.get(name.text)
        fix = f"declare it under vars: {name.text}: {_DECLARED}"
        if variable is None:
            near = did_you_mean(name.text, variables, fix)
            fields.report("E301", name.mark, f'remember: no variable "{name.text}"', near)
        elif not _holds_notes(variable):
            what = f'remember: "{name.text}" is no kept list of at most {MOST_NOTES} notes'
            fields.report("E303", name.mark, what, fix)
        elif about is not None:
            found[name.text] = about
    return found


def _holds_notes(variable: Variable) -> bool:
    return (
        isinstance(variable, ListVariable)
        and variable.keep is True
        and most_notes(variable) <= MOST_NOTES
        and {name: type(field) for name, field in variable.fields.items()} == _TYPES
    )


def most_notes(variable: Variable) -> int:
    """How many notes a list holds."""
    most = variable.most if isinstance(variable, ListVariable) else None
    return MOST_NOTES + 1 if most is None else most


def note_about(about: str) -> str:
    """The description of a list for the model, which notes one thing at a time."""
    return f"{about} (one thing about the contact, in their own words, {MOST_NOTE} characters at most)"


def notes_of(value: Any) -> Iterator[tuple[date | None, str]]:
    """The day and the text of each note in a list."""
    return ((note[DAY], note[TEXT]) for note in value or () if note[TEXT])


def with_note(notes: Any, text: str, today: date, most: int) -> list[Mapping[str, Any]]:
    """The notes with a newer one, which takes the place of an equal one, else of the oldest if there are too many."""
    others = [note for note in notes or () if normalise(note[TEXT] or "") != normalise(text)]
    return [*others, {TEXT: without_controls(text).strip(), DAY: today}][-most:]


def no_note(text: Any, said: Iterable[str], context: StepContext) -> str | None:
    """The reason why a text is not noted about the contact, who has ``said`` these messages. None: it may be."""
    if not isinstance(text, str) or len(text) > MOST_NOTE or len(text.splitlines()) > 1:
        return f"a note is one line of at most {MOST_NOTE} characters"
    if any((next(links_in(text), None), next(accounts_in(text), None), credentials_in(text))):
        return "a note has no address, number of an account or a card, and no password"
    if not any(_says(part, text, context) for message in said for part in _parts(message)):
        return UNSAID_NOTE
    return None


def _parts(message: str) -> Sequence[str]:
    """The clauses of a message, and the whole of it."""
    return (*_ENDS.split(message), message)


def _says(part: str, note: str, context: StepContext) -> bool:
    """True if a part of a message has the words of a note, and no "not" that the note lacks."""
    language = context.scope.get(CONTACT_LANGUAGE)
    denied = has_word(part, (Kind.AGAINST,), language) and not has_word(note, (Kind.AGAINST,), language)
    return not denied and SaidValues([part], context).has_words(note)
