"""Dataclasses that cost little, to define and to make: there are three hundred, and a turn makes many objects."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from operator import attrgetter, eq, ge, gt, le, lt
from reprlib import recursive_repr
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_origin, overload

T = TypeVar("T")
Method = Callable[..., Any]


@overload
def immutable(cls: type[T], /) -> type[T]: ...
@overload
def immutable(*, eq: bool = True, order: bool = False, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def immutable(
    cls: type[T] | None = None, /, *, eq: bool = True, order: bool = False, kw_only: bool = False
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a dataclass with slots whose fields are never assigned: mypy sees to that, as with ``frozen=True``.

    At run time nothing does, because an object of a frozen dataclass takes six times as long to make. The standard
    library's decorator would also look at each field and compile nine functions for each class as it is imported, which
    was a seventh of the start: here that is done for a class when its first object is made or its fields are asked for.
    """

    methods = _METHODS | (_EQUALITY | {"__hash__": _hash} if eq else {}) | (_ORDER if order else {})
    return partial(_dataclass, methods, kw_only) if cls is None else _dataclass(methods, kw_only, cls)


@dataclass_transform(field_specifiers=(dataclasses.field,))
def mutable(cls: type[T]) -> type[T]:
    """Make a dataclass with slots whose fields may be assigned, as cheaply. It has no hash."""
    made = _dataclass(_METHODS | _EQUALITY, False, cls)
    made.__hash__ = None  # type: ignore[assignment]
    return made


def _dataclass(methods: Mapping[str, Callable[[type], Method]], kw_only: bool, cls: type[T]) -> type[T]:
    """The class with slots for its fields, and with those of the ``methods`` that it does not define itself."""
    own = vars(cls)
    annotations: dict[str, Any] = own.get("__annotations__", {})
    fields = [name for name, annotation in annotations.items() if get_origin(annotation) is not ClassVar]
    inherited = {slot for base in cls.__mro__[1:] for slot in vars(base).get("__slots__", ())}
    written = {name: own[name] for name in fields if name in own}
    left = {"__dict__", "__weakref__", *written}
    owner: list[type] = []
    body: dict[str, Any] = {name: _made_late(owner, name, make) for name, make in methods.items()}
    body |= {name: value for name, value in own.items() if name not in left}
    slots = [name for name in fields if name not in inherited]
    if not cls.__mro__[1].__dictoffset__ and any(isinstance(value, cached_property) for value in own.values()):
        slots.append("__dict__")
    body |= {"__qualname__": cls.__qualname__, "__slots__": tuple(slots)}
    body |= _ASKED_FOR | {"__written__": (written, annotations, kw_only)}
    metaclass: Any = type(cls)
    made: type[T] = metaclass(cls.__name__, cls.__bases__, body)
    owner.append(made)
    for value in body.values():  # what `super()` in them means
        method = getattr(value, "fget", getattr(value, "__func__", value))
        code = getattr(method, "__code__", None)
        if code is not None and "__class__" in code.co_freevars:
            method.__closure__[code.co_freevars.index("__class__")].cell_contents = made
    return made


def with_defaults_from(value: T, others: T, **changes: Any) -> T:
    """A copy of a dataclass's object with these changes. Fields that are None get the values of another object."""
    names = (field.name for field in dataclasses.fields(value))  # type: ignore[arg-type]
    empty = {name: getattr(others, name) for name in names if getattr(value, name) is None}
    return dataclasses.replace(value, **empty | changes)  # type: ignore[type-var]


class _AskedFor:
    """An attribute of dataclasses that is found when it is asked for, from what was ``__written__`` of the fields."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, cls: type) -> Any:
        owner = next(base for base in cls.__mro__ if vars(base).get(self._name) is self)
        written, annotations, kw_only = vars(owner)["__written__"]
        itself = {"__annotations__": annotations, "__module__": owner.__module__, "__doc__": "Its own fields."}
        own: Any = type(owner.__name__, (), {**written, **itself})
        own = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(own)
        fields: dict[str, dataclasses.Field[Any]] = {}
        for base in reversed(owner.__mro__[1:]):
            fields |= getattr(base, "__dataclass_fields__", {})
        fields |= own.__dataclass_fields__
        found = {
            "__dataclass_fields__": fields,
            "__dataclass_params__": own.__dataclass_params__,
            "__match_args__": tuple(field.name for field in fields.values() if field.init and not field.kw_only),
        }
        for name, value in found.items():
            setattr(owner, name, value)
        return found[self._name]


_ASKED_FOR = {name: _AskedFor(name) for name in ("__dataclass_fields__", "__dataclass_params__", "__match_args__")}


def _made_late(owner: list[type], name: str, make: Callable[[type], Method]) -> Method:
    """A method that is replaced by the one that ``make`` makes for its owner, when it is called."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = make(owner[0])
        setattr(owner[0], name, made)
        return made(self, *args, **kwargs)

    return method


def _init(cls: type) -> Callable[..., None]:
    names: dict[str, Any] = {"MISSING": dataclasses.MISSING}
    positional, by_name, body = ["self"], ["*"], []
    for field in dataclasses.fields(cls):
        name, value, default = field.name, field.name, ""
        if field.default is not dataclasses.MISSING:
            names[f"default_{name}"] = field.default
            default = f"default_{name}"
            value = name if field.init else default
        elif field.default_factory is not dataclasses.MISSING:
            names[f"make_{name}"] = field.default_factory
            default = "MISSING"
            value = f"make_{name}() if {name} is MISSING else {name}" if field.init else f"make_{name}()"
        if field.init:
            (by_name if field.kw_only else positional).append(f"{name}={default}" if default else name)
        if field.init or default:
            body.append(f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    parameters = ", ".join(positional + by_name[len(by_name) == 1 :])
    exec(f"def __init__({parameters}):\n" + ("\n".join(body) or " pass"), names)
    compiled: Callable[..., None] = names["__init__"]
    compiled.__qualname__ = f"{cls.__qualname__}.__init__"
    return compiled


def _repr(cls: type) -> Method:
    names = [field.name for field in dataclasses.fields(cls) if field.repr]

    @recursive_repr()
    def text(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return text


def _values(cls: type) -> Callable[[Any], Any]:
    """The function that gets from an object what it is compared by."""
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    return attrgetter(*names) if len(names) > 1 else lambda self: tuple(getattr(self, name) for name in names)


def _comparison(compare: Callable[[Any, Any], bool], cls: type) -> Method:
    values = _values(cls)
    return lambda self, other: (
        compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented
    )


def _hash(cls: type) -> Method:
    values = _values(cls)
    return lambda self: hash(values(self))


_METHODS: dict[str, Callable[[type], Method]] = {"__init__": _init, "__repr__": _repr}
_EQUALITY: dict[str, Callable[[type], Method]] = {"__eq__": partial(_comparison, eq)}
_ORDER: dict[str, Callable[[type], Method]] = {
    name: partial(_comparison, compare)
    for name, compare in {"__lt__": lt, "__le__": le, "__gt__": gt, "__ge__": ge}.items()
}
