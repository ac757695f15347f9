"""The base of all types of variables: their answers, their values, and what the checker may conclude."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any, ClassVar, Self

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.text import as_meant
from bot.core.values import Location, Media
from bot.language.answers.readers import Reading
from bot.language.expressions.abstract_values import AbstractValues, ValueKind, bounded, just, some
from bot.language.expressions.template_failures import kind_of
from bot.language.expressions.templates import Expression, Template
from bot.language.keys.declared_keys import BOOLEAN, STRING, KeySet, KeySpec
from bot.language.keys.fields import Fields
from bot.language.source.languages import CONTACT_LANGUAGE
from bot.language.source.problems import Mark

NEEDED = KeySpec("needed", BOOLEAN, "Whether a start that does not give it is refused; false by default.")
SENT_AS = KeySpec("sent_as", STRING, "The name that it has in the data of programs; its own by default.")
KEEP = KeySpec("keep", BOOLEAN, "Whether its value stays with the contact for good, for all flows that declare it so.")


class InvalidAnswer(BotError):
    """A contact's answer is no value of the variable. The text does not repeat the answer.

    ``objection`` is what the contact gets instead of the step's `retry`, where the variable says so, and ``it``
    what is called so in that text. ``bounds`` are the least and the greatest answer, where it is a value beyond them;
    None is no bound.
    """

    def __init__(
        self,
        reason: str,
        objection: Template | None = None,
        it: Any = None,
        bounds: tuple[Any, Any] | None = None,
    ) -> None:
        super().__init__(reason)
        self.objection = objection
        self.it = it
        self.bounds = bounds


class UnsureAnswer(InvalidAnswer):
    """An answer by which people mean different ``values``. The contact can be asked which it is.

    ``open``: its words leave the value open, also if there is only one ("almost 3").
    """

    def __init__(self, values: Sequence[Any], *, open: bool) -> None:
        super().__init__("it may mean several values")
        self.values = values
        self.open = open


class TypeMismatch(BotError):
    """A value that a flow or a handler gives does not fit the variable. The text does not repeat the value."""

    bounds: tuple[Any, Any] | None = None


class OutOfBounds(TypeMismatch):
    """A value of the variable's type lies beyond its bounds: the least and the greatest; None is no bound."""

    def __init__(self, reason: str, least: Any, most: Any) -> None:
        super().__init__(reason)
        self.bounds = least, most


@immutable
class Answer:
    """A contact's message in answer to a question."""

    text: str | None = None
    media: Media | None = None
    location: Location | None = None
    files: tuple[Media, ...] = ()  # where it is made of several messages

    @property
    def all_files(self) -> tuple[Media, ...]:
        """Its files, also where it is one message."""
        return self.files if self.media is None else (self.media,)


@immutable
class AnswerCheck:
    """A condition that an answer (``it``) must satisfy, and the text for the contact if it does not."""

    condition: Expression
    error: Template | None = None


@immutable
class Variable:
    """A declared variable, which starts at ``value``. Each type of variables is a subclass, listed in `type_registry`.

    A type says everything about itself here: how its settings are read, which answers and values it takes, and what the
    checker may conclude. It must declare ``type`` and ``kind``; for the rest there are defaults that claim nothing.

    ``error`` is what a contact gets whose answer is no value of it, in place of the step's `retry`.
    """

    name: str
    mark: Mark
    value: Any = None
    keep: bool = field(default=False, kw_only=True)  # it is kept with the contact, for good
    required: bool = field(default=False, kw_only=True)  # a start of the flow must give it
    sent_as: str | None = field(default=None, kw_only=True)  # its name in the data of programs, if it is another one
    checks: tuple[AnswerCheck, ...] = field(default=(), kw_only=True)
    error: Template | None = field(default=None, kw_only=True)
    type: ClassVar[str] = ""
    kind: ClassVar[ValueKind]  # of all its values, null aside
    whole: ClassVar[bool] = False  # whether its values are whole numbers
    made_of: ClassVar[frozenset[ValueKind]] = frozenset(ValueKind)  # kinds of which some values can be converted
    answered: ClassVar[bool] = True  # whether something that a contact sends becomes a value of it
    written: ClassVar[bool] = True  # whether its answers are texts, not files or places
    keep_key: ClassVar[KeySpec[Any]] = KEEP
    keys: ClassVar[KeySet] = KeySet()  # the settings that this type has of its own
    # those that fit whatever the settings are, for conversations that are explored
    example_answers: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if cls.type and not hasattr(cls, "kind"):
            raise TypeError(f"{cls.__name__}: declare `kind`, the ValueKind of its values")

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read the settings that this type has of its own."""
        return cls(name, fields.mark, value)

    def kept_as(self, keep: bool | str) -> Self:
        """The variable with this value of its `keep`."""
        return replace(self, keep=keep is True)

    @property
    def sent_name(self) -> str:
        """Its name in the data of programs."""
        return self.sent_as or self.name

    @property
    def values(self) -> tuple[Any, ...] | None:
        """All the values that it can have, where they can be listed."""
        return None

    @property
    def described(self) -> Any:
        """Its values in words for a model; a record or a list of these where it has declared fields."""
        return self.type

    @property
    def takes_every(self) -> bool:
        """True if every value of its kind belongs to the type, whatever its settings say."""
        return False

    @property
    def takes_any_words(self) -> bool:
        """True if nothing but their length tells an answer from other words."""
        return False

    @property
    def abstract_values(self) -> AbstractValues:
        """The possible values, without null."""
        return some(self.kind, whole=self.whole) if self.values is None else bounded(map(just, self.values))

    @property
    def samples(self) -> tuple[Any, ...]:
        """Some of its values, the longest among them if it is ``bounded``, that texts are tried out with."""
        return self.values or ()

    @property
    def bounded(self) -> bool:
        """True if it is known how long its values can be as texts."""
        return bool(self.samples)

    def may_be_made_of(self, kind: ValueKind) -> bool:
        """True if any value of a kind can be converted to this type. Every type has null."""
        return kind in (ValueKind.NULL, ValueKind.ANY) or kind in self.made_of

    def surely_takes(self, values: AbstractValues) -> bool:
        """True if each of these values belongs to the type, however large it is. Null belongs to each type."""
        known = [value for value in values if value.kind is not ValueKind.NULL]
        return self.takes_every and all(value.kind is self.kind and value.whole >= self.whole for value in known)

    def accept(self, answer: Answer, now: datetime, scope: Mapping[str, Any] | None = None) -> Any:
        """The value of an answer that passes all checks. ``now`` is in the bot's time zone, ``scope`` is the turn's.

        Raises `InvalidAnswer`, which is `UnsureAnswer` where people mean different values by it, and `TemplateFailed`
        if a check fails.
        """
        scope = scope or {}
        try:
            value = self._taken(answer, now, scope.get(CONTACT_LANGUAGE))
        except UnsureAnswer as unsure:
            return _only(unsure.values, lambda value: self._checked(value, answer, scope), unsure.open)
        except (InvalidAnswer, TypeMismatch) as reason:
            raise InvalidAnswer(str(reason), self.error, answer.text, reason.bounds) from reason
        return self._checked(value, answer, scope)

    def _checked(self, value: Any, answer: Answer, scope: Mapping[str, Any]) -> Any:
        """The value of an answer, where it passes all checks. Raises `InvalidAnswer`, and `TemplateFailed`."""
        for check in self.checks:
            if not check.condition.evaluate({**scope, "it": value}):
                objection, it = (self.error, answer.text) if check.error is None else (check.error, value)
                raise InvalidAnswer("it does not pass the check", objection, it)
        return value

    def texts(self) -> Iterator[Template | Expression]:
        """The texts and conditions that are evaluated for an answer, which is ``it`` there."""
        if self.error is not None:
            yield self.error
        for check in self.checks:
            yield check.condition
            if check.error is not None:
                yield check.error

    def prepare(self, languages: Iterable[str]) -> None:
        """Load the data for understanding answers in these languages, so that no contact waits for it."""

    def coerce(self, value: Any, now: datetime | None) -> Any:
        """A value as one of this variable's; null stays null. Raises `TypeMismatch`.

        ``now``, in the bot's time zone, is None while a flow is checked. Bounds that move with it, as a date's,
        are for answers only: a day that was right when it was given may have passed since.
        """
        return None if value is None else self._bounded(self._from_value(value, now))

    def _taken(self, answer: Answer, now: datetime, language: str | None) -> Any:
        """The value of an answer, within the bounds. Raises `InvalidAnswer` or `TypeMismatch`."""
        text = as_meant(answer.text or "")
        if not text:
            raise InvalidAnswer("a text is expected")
        reading = self._read_text(text, now, language)
        if reading is None:
            values = self._values_left_open(text, now, language)
            if not values:
                raise InvalidAnswer(f"it is no {self.type}")
            return _only(values, lambda value: self._answer_bounded(value, now), True)
        return _only([reading.value, *reading.others], lambda value: self._answer_bounded(value, now))

    def _values_left_open(self, text: str, now: datetime, language: str | None) -> list[Any]:
        """The values of an answer whose words leave its value open, by the first way to read it."""
        for way in self._left_open(text, language):
            known = [reading for piece in way if (reading := self._read_text(piece, now, language)) is not None]
            if len(known) == len(way):
                return list(dict.fromkeys(value for reading in known for value in (reading.value, *reading.others)))
        return []

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[Any] | None:
        raise InvalidAnswer(f"{self.type} is no answer that can be written")

    def _left_open(self, text: str, language: str | None) -> Sequence[Sequence[str]]:
        """The texts of the values that an answer leaves open, in each way to read it, if the contact is asked back."""
        return ()

    def _answer_bounded(self, value: Any, now: datetime) -> Any:
        """A value within the bounds for answers. Raises `InvalidAnswer` or `TypeMismatch`."""
        return self._bounded(value)

    def _from_value(self, value: Any, now: datetime | None) -> Any:
        raise NotImplementedError

    def _bounded(self, value: Any) -> Any:
        return value


def _only(values: Iterable[Any], fit: Callable[[Any], Any], left_open: bool = False) -> Any:
    """The only value that fits, as ``fit`` returns it. Raises `UnsureAnswer`, or what ``fit`` raises for the first."""
    fitting, reasons = [], []
    for value in values:
        try:
            fitting.append(fit(value))
        except (InvalidAnswer, TypeMismatch) as reason:
            reasons.append(reason)
    if not fitting:
        raise reasons[0]
    if len(fitting) > 1 or left_open:
        raise UnsureAnswer(fitting, open=left_open)
    return fitting[0]


def mismatch(value: Any, wanted: str) -> TypeMismatch:
    """The error for a value of the wrong kind."""
    return TypeMismatch(f"{kind_of(value)} is not {wanted}")
