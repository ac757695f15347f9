"""The types text, name and choice."""

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Self

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import KEPT_CHARACTERS
from bot.language.answers.names import possible_name, read_name
from bot.language.answers.readers import Reading
from bot.language.answers.segments import says_nothing
from bot.language.answers.titles import is_known
from bot.language.expressions.abstract_values import ValueKind
from bot.language.keys.declared_keys import STRING, STRINGS, KeySet, KeySpec, integer
from bot.language.keys.fields import Fields
from bot.language.keys.patterns import PATTERN
from bot.language.keys.text_shapes import Keys, Part
from bot.language.source.text_patterns import matches
from bot.language.source.word_matching import normalise
from bot.language.source.yaml_tree import Scalar, one_or_more
from bot.language.types.variable import TypeMismatch, Variable, mismatch

LONGEST = KEPT_CHARACTERS  # of a message: what a contact writes beyond them is cut
FILLER = "m"  # of which a text of the greatest length is made
_DIGIT = lazy_pattern(r"\d")
_NAMED = lazy_pattern(
    r"(?i)\b(?:(?:order|booking|tracking|customer|invoice|ticket|case) )?(?:no|nr|number|ref|reference|id|code)\b[.:]?"
)
_AROUND_CODE = " .,;:!?()\"'“”„«»#"
_CLOCK_AND_CALENDAR = frozenset({ValueKind.DATE, ValueKind.DATETIME, ValueKind.TIME})


_MAX = KeySpec("max", integer(1, LONGEST), f"How many characters it may have; {LONGEST} if left out.")
LONGEST_NAME = 60
_MAX_OF_NAME = KeySpec("max", integer(1, LONGEST), f"How many characters it may have; {LONGEST_NAME} if left out.")
_EXAMPLE = KeySpec("example", STRING, "An example that fits, for people and models.")
_OF = KeySpec("of", STRINGS, "The texts of which it is one.", required=True, texts=Keys({}, Part.WORD))


@immutable
class TextVariable(Variable):
    """Any text, or one that matches a pattern in full.

    ``code: {type: text, pattern: '[A-Z]{2}[0-9]{4}', example: AB1234}``
    """

    pattern: Any = None
    most: int = LONGEST
    example: str | None = None
    type = "text"
    kind = ValueKind.TEXT
    made_of = frozenset({ValueKind.TEXT, ValueKind.NUMBER}) | _CLOCK_AND_CALENDAR
    keys = KeySet(PATTERN, _MAX, _EXAMPLE)

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `pattern`, `max` and `example`."""
        example = _EXAMPLE.read(fields)
        variable = cls(name, fields.mark, value, PATTERN.read(fields), _MAX.read(fields) or LONGEST, example)
        if example is not None:
            try:
                variable._bounded(example)
            except TypeMismatch as error:
                what = f'the example "{example}" does not fit: {error}'
                _EXAMPLE.report(fields, "E303", what, "change the example, or what the variable takes")
        return variable

    @property
    def described(self) -> str:
        """``text of at most 60 characters, like AB1234``."""
        most = f" of at most {self.most} characters" if self.bounded else ""
        return f"{self.type}{most}{'' if self.example is None else f', like {self.example}'}"

    @property
    def takes_every(self) -> bool:
        """True if it has no pattern and no bound of its own."""
        return self.pattern is None and self.most == LONGEST

    @property
    def bounded(self) -> bool:
        """True if it has a `max`: without it, a text from elsewhere may be longer than any message."""
        return self.most != LONGEST

    @property
    def takes_any_words(self) -> bool:
        """True if it has no pattern and no check."""
        return self.pattern is None and not self.checks

    @property
    def samples(self) -> tuple[Any, ...]:
        """Its example, and a text of the greatest length where no pattern is in the way."""
        given = () if self.example is None else (self.example,)
        return (*given, FILLER * self.most) if self.pattern is None and self.bounded else given

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[str] | None:
        """The text; or where that does not fit the pattern, the piece with a digit that does: "it's ab 123456"."""
        if self.pattern is None or matches(self.pattern, text):
            return Reading(text)
        words = text.split()
        for first, end in ((at, at + length) for length in (1, 2) for at in range(len(words))):
            if end > first + 1 and not words[first].isupper() and is_known(normalise(words[first]), language):
                continue  # "it is 1234" is no IS1234
            piece = "".join(words[first:end]).strip(_AROUND_CODE)
            found = next((form for form in (piece, piece.upper()) if matches(self.pattern, form)), None)
            if found is not None and _DIGIT.search(found):
                around = _NAMED.sub("", " ".join((*words[:first], *words[end:])))
                return Reading(found if says_nothing(around, language) else text)
        return Reading(text)

    def _from_value(self, value: Any, now: datetime | None) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, int | float | Decimal | date | time) and not isinstance(value, bool):
            return str(value)
        raise mismatch(value, "a text")

    def _bounded(self, value: str) -> str:
        if len(value) > self.most:
            raise TypeMismatch(f"it is longer than {self.most} characters")
        if self.pattern is not None and not matches(self.pattern, value):
            raise TypeMismatch("it does not match the pattern")
        return value


@immutable
class NameVariable(TextVariable):
    """The name of a person: no question, no sentence, no digit. "I'm Ann" is Ann.

    ``name: {type: name, keep: true}``
    """

    most: int = LONGEST_NAME
    type = "name"
    keys = KeySet(_MAX_OF_NAME)
    example_answers = ("Ann",)

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `max`."""
        return cls(name, fields.mark, value, None, _MAX_OF_NAME.read(fields) or LONGEST_NAME)

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[str] | None:
        name = read_name(text, language)
        return None if name is None else Reading(name)

    def _left_open(self, text: str, language: str | None) -> Sequence[Sequence[str]]:
        name = possible_name(text, language)
        return () if name is None else ((name,),)


@immutable
class ChoiceVariable(Variable):
    """One of a few texts. ``also`` are their equals in other languages, in the same order.

    ``size: {type: choice, of: [S, M, L]}``
    """

    of: tuple[str, ...] = ()
    also: tuple[tuple[str, ...], ...] = ()
    type = "choice"
    kind = ValueKind.TEXT
    made_of = TextVariable.made_of | {ValueKind.BOOLEAN}
    keys = KeySet(_OF)

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `of`."""
        also = tuple(item.also if isinstance(item, Scalar) else () for item in one_or_more(fields.raw(_OF.name)))
        return cls(name, fields.mark, value, _OF.read(fields), also)

    @property
    def described(self) -> str:
        """``one of: S, M, L``."""
        return f"one of: {', '.join(self.of)}"

    @property
    def values(self) -> tuple[str, ...]:
        """The texts of which it is one."""
        return self.of

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[str] | None:
        wanted = normalise(text)
        foreign = [choice for choice, words in zip(self.of, self.also, strict=False) if wanted in map(normalise, words)]
        return Reading(self._one([*(choice for choice in self.of if normalise(choice) == wanted), *foreign]))

    def _from_value(self, value: Any, now: datetime | None) -> str:
        return self._one([choice for choice in self.of or (str(value),) if choice == str(value)])

    def _one(self, found: Sequence[str]) -> str:
        if not found:
            raise TypeMismatch(f"it is none of {', '.join(self.of)}")
        return found[0]
