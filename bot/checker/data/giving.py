"""Variables that may be null, and what giving them values makes of that."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bot.checker.data.nulls import Names, Nulls, Read, Text
from bot.flow.definition import Flow
from bot.lang.domains import surely_fits
from bot.lang.templates import Template
from bot.steps.declared import Null, Used
from bot.steps.transition import templates_in

Written = tuple[str, Any]
"""A variable's name, and its value as `bot.steps.transition.value_of` read it."""


@dataclass(frozen=True, slots=True)
class State:
    """The variables of a frame that may be null: ``unset`` ones had no value in it yet, ``emptied`` ones were given null.

    Those that the frame has not declared yet are unset.
    """

    unset: Names = 0
    emptied: Names = 0

    @property
    def null(self) -> Names:
        """All that may be null."""
        return self.unset | self.emptied

    def __or__(self, other: "State") -> "State":
        return State(self.unset | other.unset, self.emptied | other.emptied)

    def known(self, names: Names) -> "State":
        """The same, where these have a value."""
        return State(self.unset & ~names, self.emptied & ~names) if names & self.null else self

    def empty(self, names: Names) -> "State":
        """The same, where these may have been given null."""
        return State(self.unset & ~names, self.emptied | names) if names else self


Seen = Callable[[Text, Read], None]
"""Is told of each text that is worked out."""


def ignore(text: Text, read: Read) -> None:
    """Nobody needs to know."""


def shown(texts: Sequence[Text], state: State, seen: Seen) -> State:
    """Work out texts, in whatever order: where one fails for certain because of null, nobody comes further with it."""
    if not texts:
        return state
    stops = 0
    for text in texts:
        read = text.read(state.null)
        seen(text, read)
        stops |= read.stops
    return state.known(stops)


def bits_of(names: Names) -> Iterator[Names]:
    """Each of a set alone."""
    while names:
        yield names & -names
        names &= names - 1


class Gifts:
    """Values that variables are given at once, each worked out of what was known before."""

    def __init__(self, *gifts: "Gift") -> None:
        self._gifts = gifts
        self.names: Names = 0
        for gift in gifts:
            self.names |= gift.bit
        self.texts = [text for gift in gifts for text in gift.texts if not text.constant]

    @classmethod
    def of(cls, given: Iterable[Written], flow: Flow, nulls: Nulls, told: frozenset[str] = frozenset()) -> "Gifts":
        """What a flow gives; the values may use the names in ``told`` beside the flow's own."""
        gifts = [Gift(name, value, flow, nulls, told) for name, value in given]
        return cls(*gifts) if gifts else NOTHING

    @cached_property
    def never_fail(self) -> bool:
        """Whether each can be worked out and fits its variable, but for null."""
        return all(gift.never_fails for gift in self._gifts)

    def given(self, state: State, seen: Seen) -> State:
        """What may be null afterwards."""
        before = shown(self.texts, state, seen)
        return self.into(before, before)

    def into(self, state: State, of: State) -> State:
        """The same, where the values are given in one frame and worked out in another."""
        for gift in self._gifts:
            state = state.empty(gift.bit) if gift.may_be_null(of.null) else state.known(gift.bit)
        return state

    def copied(self, name: Names, null: Names) -> Names:
        """The variables that made one null which was given their value."""
        gift = next((gift for gift in self._gifts if gift.bit == name), None)
        return 0 if gift is None else sum(bit for bit in bits_of(null & gift.names) if gift.may_be_null(bit))


class Gift:
    """One value that a variable is given."""

    def __init__(self, name: str, value: Any, flow: Flow, nulls: Nulls, told: frozenset[str]) -> None:
        self.bit = nulls.of(name)
        self.texts = [nulls.text(Used(text, told, Null.TAKEN), flow) for text in templates_in(value)]
        self._value = value
        self._variable = flow.variables.get(name)

    @property
    def names(self) -> Names:
        """The variables that it is worked out of."""
        return self.texts[0].names if isinstance(self._value, Template) else 0

    def may_be_null(self, null: Names) -> bool:
        """Whether it may come to null: a list or a record does not, whatever is in it."""
        return self._value is None or (isinstance(self._value, Template) and self.texts[0].read(null).nothing)

    @property
    def never_fails(self) -> bool:
        """Whether it can be worked out, and fits the variable; what is written out was held against it before."""
        if not all(text.never_fails for text in self.texts):
            return False
        alone = isinstance(self._value, Template) and not self._value.constant
        return not alone or self._variable is None or surely_fits(self.texts[0].kinds, self._variable)


NOTHING = Gifts()
