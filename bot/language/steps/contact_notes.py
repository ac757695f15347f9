"""Notes about a contact that a model makes at an AI step and is given again in later conversations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import without_controls
from bot.language.answers.credentials import credentials_in
from bot.language.answers.titles import has_word
from bot.language.answers.words import Kind
from bot.language.keys.fields import Fields
from bot.language.source.problems import did_you_mean
from bot.language.source.word_matching import normalise
from bot.language.source.yaml_tree import Map
from bot.language.steps.ai_settings import REMEMBER_KEY
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
_DECLARED = f"{{type: list, max: 10, keep: true, fields: {{{TEXT}: text, {DAY}: date}}}}"
_NOT_HERE = "; or write remember: none on the step"
_TYPES = {TEXT: TextVariable, DAY: DateVariable}
_ENDS = lazy_pattern(r"[.!?,;:\n。！？，、؟]+")


def check_remember(fields: Fields, remember: Mapping[str, str], variables: Mapping[str, Variable]) -> dict[str, str]:
    """The lists of notes that a step's flow declares, each with what the model notes in it; others are reported."""
    marks, of_bot = {}, not REMEMBER_KEY.written(fields)
    node = fields.raw(REMEMBER_KEY.name)
    if isinstance(node, Map):
        marks = {key.text: key.mark for key, _ in node.entries}
    found: dict[str, str] = {}
    for name, about in remember.items():
        variable, mark = variables.get(name), marks.get(name, fields.mark)
        what = f"{REMEMBER_KEY.name} of bot.yml" if of_bot else REMEMBER_KEY.name
        fix = f"declare it under vars: {name}: {_DECLARED}" + (_NOT_HERE if of_bot else "")
        if variable is None:
            near = fix if of_bot else did_you_mean(name, variables, fix)
            fields.report("E301", mark, f'{what}: no variable "{name}"', near)
        elif not _holds_notes(variable):
            fields.report("E303", mark, f'{what}: "{name}" is no kept list of at most {MOST_NOTES} notes', fix)
        else:
            found[name] = about
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
    language = context.contact_language
    denied = has_word(part, (Kind.AGAINST,), language) and not has_word(note, (Kind.AGAINST,), language)
    return not denied and SaidValues([part], context).has_words(note)
