"""Dataclasses that are made several times in a turn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def immutable(cls: type[T], /) -> type[T]: ...
@overload
def immutable(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True)
def immutable(cls: type[T] | None = None, /, *, kw_only: bool = False) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a dataclass with slots whose fields are never assigned: mypy sees to that, as with ``frozen=True``.

    At run time nothing does, because a frozen dataclass takes six times as long to make.
    """
    make: Callable[[type[T]], type[T]] = dataclass(slots=True, unsafe_hash=True, kw_only=kw_only)
    return make if cls is None else make(cls)
