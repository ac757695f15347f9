"""`immutable` makes what the standard library's decorator makes."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import pytest

from bot.core.immutable import immutable, mutable


def standard(*, eq: bool = True, order: bool = False, kw_only: bool = False) -> Callable[[type], type]:
    return dataclasses.dataclass(frozen=True, slots=True, eq=eq, order=order, kw_only=kw_only)


def point_of(decorator: Any) -> Any:
    @decorator(order=True)
    class Point:
        x: int
        tags: list[str] = dataclasses.field(default_factory=list, compare=False)
        note: str | None = dataclasses.field(default=None, repr=False)
        here: int = dataclasses.field(default=3, init=False)
        unit: str = dataclasses.field(default="m", kw_only=True)

    return Point


def child_of(decorator: Any) -> Any:
    @decorator(kw_only=True)
    class Child(point_of(decorator)):  # type: ignore[misc]
        y: int

        def __repr__(self) -> str:
            return "its own"

    return Child


@immutable
class Sent:
    """At the top of a module, so that it can be pickled."""

    key: str
    texts: tuple[str, ...] = ()


MADE: list[Callable[[Any], object]] = [
    lambda point: point(1),
    lambda point: point(1, ["a"], "b", unit="km"),
    lambda point: dataclasses.replace(point(1), x=2),
    lambda point: dataclasses.asdict(point(1)),
    lambda point: [field.name for field in dataclasses.fields(point)],
    lambda point: point.__match_args__,
    lambda point: point(1) == point(1, ["not compared"]),
    lambda point: point(1) == point(2),
    lambda point: point(1) == 1,
    lambda point: (point(1) < point(2), point(1) >= point(2), point(2) > point(1, unit="a"), point(1) <= point(1)),
    lambda point: hash(point(1)) == hash(point(1)) != hash(point(2)),
    lambda point: copy.deepcopy(point(1, ["a"])),
]


@pytest.mark.parametrize("made", MADE)
def test_an_object_is_as_one_of_the_standard_library(made: Callable[[Any], object]) -> None:
    ours, theirs = made(point_of(immutable)), made(point_of(standard))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("arguments", [{}, {"x": 1, "y": 2, "z": 3}])
def test_wrong_arguments_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(TypeError):
        point_of(immutable)(**arguments)


def test_a_class_inherits_fields_and_keeps_what_it_defines() -> None:
    ours, theirs = child_of(immutable)(x=1, y=2), child_of(standard)(x=1, y=2)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert repr(ours) == "its own"


def test_without_eq_an_object_equals_only_itself() -> None:
    @immutable(eq=False)
    class Task:
        name: str

    first, second = Task("a"), Task("a")
    assert first == first and first != second and len({first, second}) == 2


def test_a_pickled_object_is_the_same() -> None:
    sent = Sent("k", ("a",))
    assert pickle.loads(pickle.dumps(sent)) == sent and not hasattr(sent, "__dict__")


def test_a_mutable_object_is_as_one_of_the_standard_library() -> None:
    def counter_of(decorator: Any) -> Any:
        @decorator
        class Counter:
            name: str
            count: int = 0
            seen: list[str] = dataclasses.field(default_factory=list)

        return Counter

    ours, theirs = (counter_of(decorator)("a") for decorator in (mutable, dataclasses.dataclass(slots=True)))
    for counter in (ours, theirs):
        counter.count += 1
        counter.seen.append("b")
    assert repr(ours) == repr(theirs) and dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert ours == dataclasses.replace(ours) and ours != dataclasses.replace(ours, name="b")
    for counter in (ours, theirs):
        with pytest.raises(TypeError):
            hash(counter)


def test_fields_that_were_never_asked_for_are_inherited() -> None:
    @mutable
    class Parent:
        x: int
        unit: ClassVar[str] = "m"

    @dataclasses.dataclass
    class Child(Parent):
        y: int = 2

    assert dataclasses.asdict(Child(1)) == {"x": 1, "y": 2} and Child.unit == "m"
    assert Parent.__match_args__ == ("x",) and dataclasses.is_dataclass(Parent)


def test_what_a_class_defines_can_call_what_its_base_defines() -> None:
    class Base:
        def name(self) -> str:
            return "base"

    @immutable
    class Child(Base):
        x: int

        @property
        def twice(self) -> str:
            return 2 * super().name()

    @immutable
    class Grandchild(Child):
        def name(self) -> str:
            return f"{super().name()} of {self.x}"

    assert Child(3).twice == "basebase"
    assert Grandchild(3).name() == "base of 3"


def test_it_may_have_cached_properties() -> None:
    @immutable
    class Order:
        cups: int

        @cached_property
        def price(self) -> list[int]:
            return [3 * self.cups]

    order = Order(2)
    assert order.price == [6] and order.price is order.price
    assert dataclasses.replace(order, cups=3).price == [9] and order == Order(2)
